"""`up --address local`: an embedded cluster for as long as the command."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

Write = Callable[..., Path]


@pytest.mark.soak
def test_it_lives_as_long_as_the_command(nowhere: TestCluster, write: Write) -> None:
    topology = "placetui:\n  topology: {nodes: 2, gpus_per_node: 1}\n"
    file = write("actor,rollout: 0-1", nodes=2, more=topology)
    process = nowhere.start("up", file, "--address", "local", "--json", address=False, SECRET_OF_MINE="x")
    events = nowhere.read_until(process, "ready")
    assert [(one["node_rank"], one["gpu_ids"]) for one in events[-1]["ranks"]] == [(0, ["0"]), (1, ["0"])] * 2
    address = events[0]["address"]
    listed = nowhere.run("ps", "--json", "--address", address, address=False)
    assert json.loads(listed.out)["jobs"][0]["state"] == "running"
    pids = [one["pid"] for one in events[-1]["ranks"]]
    assert not [pid for pid in pids if b"SECRET_OF_MINE" in Path(f"/proc/{pid}/environ").read_bytes()]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, ""), err
    assert nowhere.run("ps", "--address", address, address=False).code == 3
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def test_it_is_small(nowhere: TestCluster, write: Write) -> None:
    file = write("actor: 0-39", nodes=5)
    done = nowhere.run("up", file, "--address", "local", "--json", address=False)
    assert done.code == 3
    assert "4 nodes and 64 ranks at most" in done.err


def test_nothing_stays_when_it_is_killed(nowhere: TestCluster, write: Write) -> None:
    file = write("actor: 0", more="placetui:\n  topology: {nodes: 1, gpus_per_node: 1}\n")
    process = nowhere.start("up", file, "--address", "local", "--json", address=False)
    events = nowhere.read_until(process, "ready")
    pid = events[-1]["ranks"][0]["pid"]
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_interrupted_before_it_is_ready(nowhere: TestCluster, write: Write) -> None:
    file = write("actor: 0-1", more="placetui:\n  topology: {nodes: 1, gpus_per_node: 2}\n")
    process = nowhere.start("up", file, "--address", "local", "--json", address=False)
    address = nowhere.read_until(process, "connect")[0]["address"]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["message"] == "interrupted"
    assert nowhere.run("ps", "--address", address, address=False).code == 3
