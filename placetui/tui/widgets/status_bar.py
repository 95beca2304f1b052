"""The top line: what is open, what it is drawn on, what is wrong with it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.widget import Widget

from placetui.grid import cell_width, clean
from placetui.grid.text import cut


@dataclass(frozen=True, slots=True)
class Status:
    """What the top line says."""

    file: str = ""
    topology: str = ""
    """`2 nodes × 8 GPUs (assumed)`."""

    mode: str = ""
    access: str = ""
    """Whether the opened file can be changed, or everything is a what-if."""

    marks: tuple[str, ...] = ()
    """Words that must not be missed: `old`, `tried`, `filtered`."""

    live: str = ""
    live_ok: bool = True
    drift: int = 0
    """Differences between plan and reality."""

    alerts: int = 0
    """Values beyond their thresholds."""

    errors: int = 0
    warnings: int = 0
    ascii: bool = False


class StatusBar(Widget):
    """One line, most telling parts first; what does not fit is left out from the middle."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "status-bar--name",
        "status-bar--file",
        "status-bar--mark",
        "status-bar--error",
        "status-bar--ok",
        "status-bar--muted",
    }

    status: reactive[Status] = reactive(Status())

    def render(self) -> Text:
        """The line."""
        status, width = self.status, self.size.width
        left, right = self._left(status, status.file), self._right(status)
        middles = [self._middle(status, drop) for drop in ((), ("mode",), ("mode", "topology"))]
        fitting = [text for text in middles if left.cell_len + text.cell_len + right.cell_len + 2 <= width]
        middle = fitting[0] if fitting else Text()
        if not fitting:
            # The end of a path tells more than its start, what runs more than its folders, and what must not be missed
            # more than anything.
            room = cell_width(status.file) - (left.cell_len + right.cell_len + 1 - width)
            least = min(cell_width(status.file), cell_width(os.path.basename(status.file)) + 1)
            live = middles[-1]
            if room - live.cell_len >= least:
                middle = live
            elif not status.live_ok:
                middle = live
                middle.truncate(max(0, room - least))
            room -= middle.cell_len
            short = cut(status.file, max(1, room), keep="end", ellipsis=".." if status.ascii else "…")
            left = self._left(status, short)
            left.truncate(max(8, width - right.cell_len - middle.cell_len - 1))
        room = width - left.cell_len - right.cell_len - middle.cell_len
        return Text.assemble(left, middle, " " * max(1, room), right, no_wrap=True, end="")

    async def on_click(self, event: events.Click) -> None:
        """What is counted at the right leads to the list of it."""
        counted = self.status.drift or self.status.alerts
        if counted and event.x >= self.size.width - self._right(self.status).cell_len:
            await self.run_action("screen.view_drift")

    def _style(self, name: str) -> str:
        return str(self.get_component_rich_style(f"status-bar--{name}", partial=True))

    def _left(self, status: Status, file: str) -> Text:
        text = Text.assemble((" placetui ", self._style("name")), "  ")
        text.append(clean(file, status.ascii) or "no file", self._style("file"))
        if status.access:
            text.append(f" ({status.access})", self._style("muted"))
        for mark in status.marks:
            text.append(f"  {mark} ", self._style("mark"))
        return text

    def _middle(self, status: Status, drop: tuple[str, ...]) -> Text:
        text = Text()
        for name, words in (("topology", status.topology), ("mode", status.mode), ("live", status.live)):
            if words and name not in drop:
                muted = name != "live" or status.live_ok
                text.append("   ")
                text.append(words, self._style("muted" if muted else "error"))
        return text

    def _right(self, status: Status) -> Text:
        if not (status.errors or status.warnings or status.drift or status.alerts):
            return Text("ok " if status.ascii else "✔ fine ", self._style("ok"))
        text = Text()
        if status.drift:
            text.append(f"{status.drift} drift ", self._style("error"))
        if status.alerts:
            text.append(f"{status.alerts} alert{'s' * (status.alerts != 1)} ", self._style("mark"))
        if status.errors:
            text.append(f"{status.errors} error{'s' * (status.errors != 1)} ", self._style("error"))
        if status.warnings:
            text.append(f"{status.warnings} warning{'s' * (status.warnings != 1)} ", self._style("mark"))
        return text
