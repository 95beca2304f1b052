"""Lines that come one after the other: a rank's log, or what Ray prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Log, Static

from placetui.grid import clean
from placetui.observe.operations import Failure
from placetui.tui.cluster.requests import ClusterRequest, failure_words
from placetui.tui.dialogs.dialog import Dialog

MOST_LINES = 20_000
LOOK_AGAIN = 0.5
"""Seconds between looks at a file."""

LAST_BYTES = 256 * 1024
"""Of a file that is there already, as much as is shown."""


class LogScreen(Dialog[None]):
    """Follows what comes as long as its end is in view."""

    CHIP = "LOG"
    KEYS = (("↑ ↓", "scroll"), ("end", "follow"), ("home", "start"), ("escape", "close"))

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back"),
        Binding("end,G", "end", "end", show=False),
        Binding("home,g", "home", "start", show=False),
    ]

    def __init__(self, title: str, ascii: bool) -> None:
        super().__init__(title, ascii=ascii)

    def compose(self) -> ComposeResult:
        with self.box(classes="-full -log"):
            yield Log(max_lines=MOST_LINES, auto_scroll=True)
            yield Static(id="log-says", classes="muted", markup=False)

    def add(self, lines: Iterable[str]) -> None:
        # Textual drops empty lines.
        self.query_one(Log).write_lines([clean(line.expandtabs(4), self._ascii) or " " for line in lines])

    def say(self, words: str) -> None:
        """Something about the log rather than of it."""
        self.query_one("#log-says", Static).update(Content(clean(words, self._ascii)))

    def action_end(self) -> None:
        self.query_one(Log).scroll_end(animate=False)

    def action_home(self) -> None:
        self.query_one(Log).scroll_home(animate=False)


class RankLogScreen(LogScreen):
    """The log of a rank, as the cluster sends it."""

    def __init__(self, title: str, ascii: bool, begin: Callable[[], ClusterRequest]) -> None:
        super().__init__(title, ascii)
        self._begin = begin

    def on_mount(self) -> None:
        self.say("waiting for output")
        self._follow()

    @work
    async def _follow(self) -> None:
        request = self._begin()
        try:
            async for step in request:
                self._take(step)
        finally:
            request.interrupt()  # nobody reads on
        if isinstance(request.outcome, Failure):
            self.say(failure_words(request.outcome))
        else:
            self.say("the rank has ended; the log is complete")

    def _take(self, step: Mapping[str, Any]) -> None:
        lines = step.get("lines")
        if lines is not None:
            self.say("")
            self.add(map(str, lines))
        elif step.get("step") == "rank":
            why = f": {step['reason']}" if step.get("reason") else ""
            self.say(f"the rank is {step.get('state')}{why}")


class ChildLogScreen(LogScreen):
    """What Ray and the process that talks to it print: a file on this machine."""

    def __init__(self, title: str, ascii: bool, find: Callable[[], Path | None]) -> None:
        super().__init__(title, ascii)
        self._find = find
        self._path: Path | None = None
        self._read = 0
        self._rest = ""

    def on_mount(self) -> None:
        self._look()
        self.set_interval(LOOK_AGAIN, self._look)

    def _look(self) -> None:
        path = self._find()
        if path is None:
            self.say("no cluster was contacted yet")
            return
        if path != self._path:
            self._path, self._read, self._rest = path, 0, ""
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                if not self._read and size > LAST_BYTES:
                    self._read = size - LAST_BYTES
                file.seek(self._read)
                data = file.read()
        except OSError as problem:
            self.say(f"{path}: {problem.strerror}")
            return
        self._read += len(data)
        *lines, self._rest = (self._rest + data.decode("utf-8", "replace")).split("\n")
        self.add(lines)
        self.say(str(path) if self._read else f"{path}: nothing was printed yet")
