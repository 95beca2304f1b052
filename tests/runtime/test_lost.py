"""A head that dies while somebody looks at it or launches on it; addresses where there is no cluster."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = pytest.mark.ray

Write = Callable[..., Path]

SECONDS = 20.0
"""In which a command says what is wrong, also on a busy machine. Ray's own client takes a minute."""

SHORT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
"""How long a head is waited for that was there before."""


@pytest.fixture
def mortal(start_cluster: Callable[..., TestCluster]) -> TestCluster:
    """A cluster that may be killed."""
    return start_cluster({"gpus": 2})


def kill_head(cluster: TestCluster) -> None:
    for pid in cluster.processes[0]["gcs_server"]:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_the_head_dies_while_we_look(mortal: TestCluster) -> None:
    process = mortal.start("ps", "--json", "--watch")
    assert process.stdout is not None
    assert process.stdout.readline() == '{"jobs": []}\n'
    kill_head(mortal)
    begun = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, time.monotonic() - begun < SECONDS) == (3, True)
    assert f"at {mortal.address}" in err


@pytest.mark.slow
def test_the_head_dies_while_we_launch(mortal: TestCluster, write: Write, tmp_path: Path) -> None:
    (tmp_path / "never.py").write_text("import time\nclass Worker:\n  def __init__(self): time.sleep(1000)")
    file = write("actor: 0-1", more="placetui:\n  launch: {actor: {worker: 'never:Worker'}}\n")
    process = mortal.start("up", file, "--yes", "--json", PYTHONPATH=str(tmp_path), **SHORT)  # type: ignore[arg-type]
    mortal.read_until(process, "launch")
    kill_head(mortal)
    begun = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert time.monotonic() - begun < SECONDS
    assert f"the head of the cluster at {mortal.address} does not answer" in err


def test_nobody_listens(nowhere: TestCluster, write: Write) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    begun = time.monotonic()
    done = nowhere.run("up", write("actor: 0"), "--yes", "--json", "--address", address, address=False)
    assert time.monotonic() - begun < SECONDS
    assert (done.code, done.steps) == (3, ["failed"])
    assert f"nothing listens at {address}" in done.err
    assert nowhere.run("ps", "--address", "no-such-host.invalid:6379", address=False).code == 3


def test_somebody_else_listens(nowhere: TestCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def chat() -> None:
            while not stop.is_set():
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=chat, daemon=True)
        thread.start()
        port = server.getsockname()[1]
        done = nowhere.run("ps", "--address", f"127.0.0.1:{port}", address=False)
        stop.set()
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join()
    assert done.code == 3
    assert "is not the head of a Ray cluster" in done.err


def test_somebody_listens_and_says_nothing(nowhere: TestCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        done = nowhere.run("ps", "--address", address, address=False)
    assert done.code == 3
    assert f"the server at {address} accepts connections but does not respond" in done.err


@pytest.mark.slow
def test_a_head_that_hangs_is_not_taken_for_something_else(mortal: TestCluster) -> None:
    heads = mortal.processes[0]["gcs_server"]
    for pid in heads:
        os.kill(pid, signal.SIGSTOP)
    try:
        done = mortal.run("ps")
    finally:
        for pid in heads:
            os.kill(pid, signal.SIGCONT)
    assert done.code == 3
    assert f"the server at {mortal.address} accepts connections but does not respond" in done.err
    assert mortal.jobs() == []


@pytest.mark.parametrize("address", ["here", "ray://head.invalid:10001", "10.0.0.1:99999"])
def test_what_is_no_address_in_the_environment(nowhere: TestCluster, address: str) -> None:
    done = nowhere.run("ps", address=False, RAY_ADDRESS=address)
    assert done.code == 3
    assert f"RAY_ADDRESS is {address}" in done.err


def test_an_embedded_cluster_belongs_to_its_command(nowhere: TestCluster) -> None:
    assert nowhere.run("ps", "--address", "local", address=False).code == 2
    assert nowhere.run("down", "job", "--yes", "--address", "local", address=False).code == 2


def test_ray_that_is_not_installed(nowhere: TestCluster, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "ray.py").write_text("raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')")
    done = nowhere.run("ps", address=False, PYTHONPATH=str(broken))
    assert done.code == 3
    assert "ray is not installed here" in done.err
    assert "pip install" in done.err
