"""Styled text without a terminal: runs of characters that say what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal[
    "text",
    "muted",
    "faint",
    "header",
    "node",
    "component",
    "rank",
    "share",
    "link",
    "bar",
    "track",
    "tile",
    "empty",
    "absent",
    "service",
    "memory",
    "memory_used",
    "ok",
    "warning",
    "error",
]
"""What a run means; a theme decides what it looks like."""


class Style(NamedTuple):
    """What a run of characters means. Small and hashable: a theme can be a dictionary of these."""

    role: Role = "text"
    component: int | None = None
    """Position of the component in the file; its hue follows from it."""

    bold: bool = False
    level: int | None = None
    """How full, 0 to 4; on tiles only."""


class Run(NamedTuple):
    """Characters of one style."""

    text: str
    style: Style


Line: TypeAlias = tuple[Run, ...]

LEVELS = 5
"""Steps of `Style.level`."""

TEXT = Style("text")
MUTED = Style("muted")
FAINT = Style("faint")
HEADER = Style("header")
NODE_NAME = Style("node", bold=True)
RANK = Style("rank")
SHARE = Style("share")
TRACK = Style("track")
EMPTY = Style("empty")
ABSENT = Style("absent")
SERVICE = Style("service")
MEMORY = Style("memory")
MEMORY_USED = Style("memory_used")
OK = Style("ok")
WARNING = Style("warning", bold=True)
ERROR = Style("error", bold=True)


@dataclass(slots=True)
class LineBuilder:
    """Collects runs from left to right; gaps become blanks."""

    runs: list[Run]
    column: int = 0
    """Columns written so far."""

    @classmethod
    def empty(cls) -> LineBuilder:
        return cls([])

    def put(self, column: int, text: str, style: Style = TEXT, cells: int | None = None) -> None:
        """Write `text` at `column`; `cells` is its width where that is not its length."""
        if column > self.column:
            self._append(" " * (column - self.column), TEXT)
        self._append(text, style)
        self.column = max(column, self.column) + (len(text) if cells is None else cells)

    def add(self, text: str, style: Style = TEXT, cells: int | None = None) -> None:
        """Write `text` right after what is there."""
        self._append(text, style)
        self.column += len(text) if cells is None else cells

    def _append(self, text: str, style: Style) -> None:
        if not text:
            return
        if self.runs and self.runs[-1].style == style:
            text = self.runs.pop().text + text
        self.runs.append(Run(text, style))

    def finish(self, width: int) -> Line:
        """The line, blank up to `width`."""
        if width > self.column:
            self._append(" " * (width - self.column), TEXT)
            self.column = width
        return tuple(self.runs)


def plain(line: Line) -> str:
    """The characters of a line."""
    return "".join(run.text for run in line)
