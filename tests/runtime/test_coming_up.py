"""Ranks of a job that is being launched, and of one whose launch has ended: what `top FILE --once` says of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.runtime.test_interrupted import child_of

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@pytest.fixture(autouse=True)
def clean(one_node: TestCluster) -> Iterator[None]:
    yield
    one_node.clean_up()


def stopped_launch(cluster: TestCluster, file: Path) -> tuple[subprocess.Popen[str], int]:
    """An `up` that was stopped when it had reserved, and before there was a rank; and the pid of its child."""
    for _ in range(5):
        process = cluster.start("up", file, "--yes", "--json")
        cluster.read_until(process, "reserve")
        child = child_of(process.pid)
        os.kill(child, signal.SIGSTOP)
        with cluster.head() as head:
            if not any(one.name.startswith("job/") for one in head.living_actors()):
                return process, child
        # Too late, as on a machine that is very busy.
        os.kill(child, signal.SIGKILL)
        process.communicate(timeout=60)
        cluster.clean_up()
    raise AssertionError("no launch could be stopped in time")


def test_ranks_are_not_missed_while_they_are_launched_and_missed_when_nobody_does(
    one_node: TestCluster, write: Callable[..., Path]
) -> None:
    file = write("actor: 0-1")

    def top() -> tuple[int, dict[str, Any]]:
        done = one_node.run("top", file, "--once", "--json", "--no-sample")
        return done.code, json.loads(done.out)

    process, child = stopped_launch(one_node, file)
    try:
        code, seen = top()
        assert {(one["state"], one["reason"]) for one in seen["ranks"]} == {("pending", None)}
        assert (code, seen["drift"]) == (0, [])
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate(timeout=60)
    assert [one["state"] for one in one_node.jobs()] == ["incomplete"]
    deadline = time.monotonic() + 30
    while not (found := top())[0]:
        # The head has not noticed yet.
        assert time.monotonic() < deadline, found
    code, seen = found
    assert code == 1
    assert [(one["kind"], one["component"], one["rank"]) for one in seen["drift"]] == [
        ("missing_rank", "actor", 0),
        ("missing_rank", "actor", 1),
    ]
    assert seen["drift"][0]["message"] == ("actor 0 is not running: its launch ended before it started: down, then up")
