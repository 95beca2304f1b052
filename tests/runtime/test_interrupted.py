"""Ctrl-C and kill -9, of the command and of its child, before and after `up` leaves a trace: no half job stays."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess

    from tests.runtime.conftest import TestCluster

pytestmark = pytest.mark.ray

Write = Callable[..., Path]

QUICK = ("launch",)


def at_steps(*steps: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "step", [pytest.param(step, marks=() if step in QUICK else pytest.mark.slow) for step in steps]
    )


@pytest.fixture(autouse=True)
def clean(one_node: TestCluster) -> Iterator[None]:
    yield
    one_node.clean_up()


@pytest.fixture
def at_step(one_node: TestCluster, write: Write, tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    """An `up` that has come to a step and never gets ready by itself."""

    def begin(step: str) -> subprocess.Popen[str]:
        (tmp_path / "never.py").write_text("import time\nclass Worker:\n  def __init__(self): time.sleep(1000)")
        file = write("actor: 0-1", more="placetui:\n  launch: {actor: {worker: 'never:Worker'}}\n")
        process = one_node.start("up", file, "--yes", "--json", PYTHONPATH=str(tmp_path))
        one_node.read_until(process, step)
        return process

    return begin


def child_of(pid: int) -> int:
    """The one process that a command started, from whichever of its threads."""
    listed = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    (found,) = [int(one) for ones in listed for one in ones]
    return found


def wait_for_end(pid: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


@at_steps("connect", "reserve", "probe", "launch")
def test_ctrl_c(one_node: TestCluster, at_step: Callable[[str], subprocess.Popen[str]], step: str) -> None:
    process = at_step(step)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 130, err
    one_node.assert_clean(2.0)


@at_steps("reserve", "launch")
def test_kill_of_the_command(one_node: TestCluster, at_step: Callable[[str], subprocess.Popen[str]], step: str) -> None:
    process = at_step(step)
    child = child_of(process.pid)
    process.kill()
    process.communicate()
    wait_for_end(child, 40)
    one_node.assert_clean()


@at_steps("check", "probe", "launch")
def test_kill_of_the_child(one_node: TestCluster, at_step: Callable[[str], subprocess.Popen[str]], step: str) -> None:
    process = at_step(step)
    os.kill(child_of(process.pid), signal.SIGKILL)
    begun = time.monotonic()
    out, err = process.communicate(timeout=40)
    assert time.monotonic() - begun < 20
    assert process.returncode == 3
    assert "the process that talks to Ray ended: killed by SIGKILL" in err
    assert '"step": "failed"' in out
    left = one_node.jobs()
    assert [(job["name"], job["state"]) for job in left] in ([], [("job", "incomplete")])
    if step in ("reserve", "probe", "launch"):
        assert left
    for job in left:
        assert one_node.down(job["name"]).code == 0
    one_node.assert_clean()
