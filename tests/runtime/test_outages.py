"""A head that is killed and comes back, as one with Redis does: neither a launch nor a stop ends with it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.runtime.conftest import node, running_cluster
from tests.runtime.heads import free_port

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed"),
]

Write = Callable[..., Path]

SECONDS = 5.0
PATIENT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "150"}

SLOW = """
import time
class Worker:
    def __init__(self):
        time.sleep(3)
"""


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    port = free_port()
    directory = tempfile.mkdtemp(prefix="pt-redis-")
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def lasting(redis: str) -> Iterator[TestCluster]:
    """One node of two GPUs whose head persists its tables."""
    port = free_port()
    settings = {"RAY_REDIS_ADDRESS": redis, **PATIENT}
    with running_cluster([node(2, gcs_server_port=port)], **settings) as cluster:
        yield cluster


@pytest.mark.soak
def test_a_launch_goes_on_after_an_outage_at_each_of_its_steps(
    lasting: TestCluster, write: Write, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    # GPU 0 is left out, so that reserving takes several calls.
    file = write("actor: 1", more="placetui:\n  launch: {actor: {worker: 'slow:Worker'}}\n")
    up = lasting.start("up", file, "--yes", "--json", "--job", "often", PYTHONPATH=str(tmp_path))
    for step in ("connect", "match", "check", "reserve", "probe", "launch"):
        lasting.read_until(up, step)
        with lasting.head_away(SECONDS):
            pass
    events = lasting.read_until(up, "ready")
    assert events[-1]["ranks"][0]["gpu_ids"] == ["1"]
    assert up.wait(60) == 0
    assert lasting.down("often").code == 0
    lasting.assert_clean()


def test_a_stop_goes_on_after_an_outage(lasting: TestCluster, write: Write) -> None:
    assert lasting.up(write("actor: 0-1"), "--job", "ended").code == 0
    down = lasting.start("down", "ended", "--yes")
    with lasting.head_away(SECONDS):
        pass
    _, err = down.communicate(timeout=120)
    if down.returncode:
        # Before the command had reached the head at all, it says so.
        assert "nothing listens" in err
        assert lasting.down("ended").code == 0
    lasting.assert_clean()


def test_what_fails_during_an_outage_is_rolled_back_after_it(
    lasting: TestCluster, write: Write, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    code = SLOW.replace("time.sleep(3)", f"open({str(begun)!r}, 'w').close(); time.sleep(3)")
    (tmp_path / "failing.py").write_text(code + "        raise ValueError('no such checkpoint')\n")
    file = write("actor: 0-1", more="placetui:\n  launch: {actor: {worker: 'failing:Worker'}}\n")
    up = lasting.start("up", file, "--yes", "--json", "--timeout", "120", PYTHONPATH=str(tmp_path))
    while not begun.exists():
        assert up.poll() is None
        time.sleep(0.1)
    with lasting.head_away(SECONDS):
        pass
    out, err = up.communicate(timeout=120)
    assert up.returncode == 3
    assert "no such checkpoint" in out + err
    lasting.assert_clean()


@pytest.mark.soak
def test_a_launch_goes_on_after_a_minute(lasting: TestCluster, write: Write, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    file = write("actor: 0-1", more="placetui:\n  launch: {actor: {worker: 'slow:Worker'}}\n")
    begun = time.monotonic()
    up = lasting.start("up", file, "--yes", "--json", "--job", "minute", PYTHONPATH=str(tmp_path), **PATIENT)  # type: ignore[arg-type]
    lasting.read_until(up, "reserve")
    with lasting.head_away(60.0):
        pass
    lasting.read_until(up, "ready")
    assert time.monotonic() - begun > 60
    assert up.wait(60) == 0
    assert lasting.down("minute").code == 0
    lasting.assert_clean()
