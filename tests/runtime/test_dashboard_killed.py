"""kill -9 of the real dashboard, and of its child, at every step of a launch: no half job stays unnoticed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placetui.runtime.jobs import records
from tests.tui.test_program import Terminal, is_gone, needs_proc, terminal

if TYPE_CHECKING:
    from placetui.runtime.gcs.client import Head
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow, needs_proc]

Write = Callable[..., Path]

ESCAPE, CTRL_L = "\x1b", "\x0c"
PATIENCE = 60.0

WORKER = """
import os, time
class Worker:
    def __init__(self):
        while os.path.exists({gate!r}):
            time.sleep(0.05)
    def save(self):
        return "saved"
"""
LAUNCH = "placetui:\n  launch: {actor: {worker: 'waiting:Worker'}}\n"

DRY_RUN, READY = "dry run", "all alive"

STEPS: dict[str, Callable[[Head], object]] = {
    DRY_RUN: lambda head: True,
    "reserve": lambda head: records.find(head, "job"),
    "probe": lambda head: any(one.name == "job" and one.state == "CREATED" for one in head.groups()),
    "launch": lambda head: any(one.name == "job/actor:0" for one in head.living_actors()),
    "first rank alive": lambda head: any(
        one.name == "job/actor:0" and one.state == "ALIVE" for one in head.living_actors()
    ),
    READY: lambda head: (found := records.find(head, "job")) and found.state == records.READY,
}
"""Each with what the cluster shows when a launch has come to it."""


@dataclass
class Job:
    """A file whose job gets ready once the gate is open."""

    file: Path
    gate: Path

    def hold(self, step: str) -> None:
        """Keep it from getting ready unless that is the step to come to."""
        if step == READY:
            self.gate.unlink()
        else:
            self.gate.touch()


@pytest.fixture(autouse=True)
def clean(one_node: TestCluster) -> Iterator[None]:
    yield
    one_node.clean_up()


@pytest.fixture
def job(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    made = Job(write("actor: 0-1", more=LAUNCH), tmp_path / "gate")
    made.gate.touch()
    (tmp_path / "waiting.py").write_text(WORKER.format(gate=str(made.gate)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return made


@contextmanager
def dashboard(cluster: TestCluster, job: Job) -> Iterator[Terminal]:
    with terminal(str(job.file), "--write", "--address", cluster.address, "--no-sample") as desk:
        desk.sees("live every 1 s", "A1")
        yield desk


def launch_to(desk: Terminal, head: Head, job: Job, step: str) -> None:
    """Press keys until the dry run is shown, say yes to it, and wait for a step."""
    job.hold(step)
    desk.press("L")
    desk.sees("Name of the job")
    desk.press("\r")
    desk.sees("launch 2 ranks")
    if step == DRY_RUN:
        return
    desk.press(CTRL_L)
    deadline = time.monotonic() + PATIENCE
    while not STEPS[step](head):
        assert time.monotonic() < deadline, f"it did not come to {step}\n{desk.text}"
        time.sleep(0.002)


def states(cluster: TestCluster) -> list[tuple[str, str]]:
    return [(one["name"], one["state"]) for one in cluster.jobs()]


def assert_whole(cluster: TestCluster) -> None:
    """All of the job is there, and it can be ended."""
    assert states(cluster) == [("job", "running")]
    called = cluster.run("call", "job", "actor", "save")
    assert called.out.count("saved") == 2, called.err
    assert cluster.down("job").code == 0


@pytest.mark.parametrize("step", ["reserve", "first rank alive", READY])
def test_kill_of_the_dashboard(one_node: TestCluster, job: Job, step: str) -> None:
    """Its child takes back what is not ready, and what is ready stays."""
    with one_node.head() as head, dashboard(one_node, job) as desk:
        launch_to(desk, head, job, step)
        children = desk.children()
        assert len(children) == 2
        desk.process.kill()
        desk.process.wait()
        desk.until(lambda: all(map(is_gone, children)), "the children ended")
    if step == READY:
        assert_whole(one_node)
    else:
        assert states(one_node) == []
    one_node.assert_clean()


@pytest.mark.soak
def test_kill_of_its_child(one_node: TestCluster, job: Job) -> None:
    """The dashboard says so, goes on with another one, and lists what is left, where it can be stopped."""
    with one_node.head() as head, dashboard(one_node, job) as desk:
        (looking,) = desk.children()

        def kill_child(step: str) -> None:
            launch_to(desk, head, job, step)
            (doing,) = [pid for pid in desk.children() if pid != looking]
            os.kill(doing, signal.SIGKILL)

        for step in STEPS:
            if step == READY:
                continue
            kill_child(step)
            if step != DRY_RUN:
                desk.sees("launch of job failed: press L for details")
                desk.press("L")
            desk.sees("the process that talks to Ray ended: killed by SIGKILL", "list of jobs")
            back_to_grid(desk)
            assert states(one_node) == ([] if step == DRY_RUN else [("job", "incomplete")])
            if step != DRY_RUN:
                stop(desk)
            one_node.assert_clean()
        kill_child(READY)
        # Whether the dashboard heard of it before its child was gone is a matter of milliseconds.
        ended = ("job job is running", "launch of job failed")
        desk.until(lambda: any(words in desk.text for words in ended), "the end of the launch")
        assert_whole(one_node)
        desk.press("q")
        assert desk.ends() == 0
        desk.is_clean()


def back_to_grid(desk: Terminal) -> None:
    """From what is said of a launch that failed."""
    desk.press(ESCAPE)
    desk.until(lambda: "list of jobs" not in desk.text, "back at the grid")


def stop(desk: Terminal) -> None:
    """End what is left of the job, from the dashboard's own list."""
    desk.press("J")
    desk.sees("incomplete")
    desk.press("s")
    desk.sees("Type job")
    desk.press("job\r")
    desk.sees("stopped job")
    desk.until(lambda: "incomplete" not in desk.text, "back at the grid")
