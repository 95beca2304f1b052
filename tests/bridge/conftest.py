"""A subscriber that writes down what it is told and waits for what it should be, and children that misbehave."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from placetui.bridge.client import Bridge
from placetui.bridge.messages import Message
from placetui.bridge.process import child_command
from placetui.observe.model import Observation
from placetui.observe.ports import Status
from placetui.observe.simulation import LayoutComponent, LayoutNode, SimulatedLayout

PATIENCE = 20.0
"""Seconds a test waits at most for what should be there in tenths of one."""


class Notebook:
    """All that a source or a bridge told; a `Subscriber` and a `Listener`."""

    def __init__(self) -> None:
        self.updates: list[Observation] = []
        self.statuses: list[Status] = []
        self.messages: list[Message] = []
        self._changed = threading.Condition()

    def updated(self, update: Observation) -> None:
        self._note(self.updates, update)

    def status_changed(self, status: Status) -> None:
        self._note(self.statuses, status)

    def received(self, message: Message) -> None:
        self._note(self.messages, message)

    def wait(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        with self._changed:
            met = self._changed.wait_for(condition, seconds)
        assert met, f"still waiting after {seconds} s; told so far: {self.statuses}, {len(self.updates)} updates"

    def wait_for_link(self, link: str) -> Status:
        self.wait(lambda: any(status.link == link for status in self.statuses))
        return next(status for status in self.statuses if status.link == link)

    def wait_for_message(self, text: str) -> Status:
        self.wait(lambda: any(text in status.message for status in self.statuses))
        return next(status for status in self.statuses if text in status.message)

    def wait_for_updates(self, number: int) -> None:
        goal = len(self.updates) + number
        self.wait(lambda: len(self.updates) >= goal)

    def _note(self, book: list[Any], entry: Any) -> None:
        with self._changed:
            book.append(entry)
            self._changed.notify_all()


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


@pytest.fixture
def layout() -> SimulatedLayout:
    return SimulatedLayout(
        (LayoutNode("a", "10.0.0.1", 2), LayoutNode("b", "10.0.0.2", 2)),
        (LayoutComponent("actor", "train", tuple((node, (gpu,)) for node in range(2) for gpu in range(2))),),
    )


@pytest.fixture
def open_bridge(tmp_path: Path) -> Iterator[Callable[..., Bridge]]:
    """Makes bridges, and closes them at the end of the test."""
    opened: list[Bridge] = []

    def make(command: list[str] | None = None, **options: Any) -> Bridge:
        bridge = Bridge(tmp_path / "logs", command, **{"delays": (0.05,), **options})
        opened.append(bridge)
        return bridge

    yield make
    for bridge in opened:
        bridge.close()


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], list[str]]:
    """The command that runs a text as a child."""

    def write(text: str) -> list[str]:
        (tmp_path / "odd_child.py").write_text(text)
        command = child_command("odd_child")
        return [*command, str(tmp_path)]

    return write


def process_exists(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    try:
        return not Path("/proc/self").exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while process_exists(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there after {seconds} s"
        time.sleep(0.01)


@pytest.fixture
def gone() -> Callable[[int, float], None]:
    """Waits for the end of a process."""
    return wait_until_gone
