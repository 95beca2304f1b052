"""Styled text without a terminal: runs of characters that say what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal[
    "white",
    "text",
    "body",
    "muted",
    "faint",
    "ghost",
    "track",
    "border",
    "component",
    "chip",
    "heat",
    "ok",
    "warning",
    "error",
    "warning_border",
    "error_border",
]
"""What a run means; a theme decides what it looks like."""

Ground: TypeAlias = Literal[
    "tile", "raised", "track", "warning", "error", "alarm", "component", "moved", "heat", "white", "ok"
]
"""What a run stands on; `component` and `moved` are tints of the hue of the run."""


class Style(NamedTuple):
    """What a run of characters means. Small and hashable: a theme can be a dictionary of these."""

    role: Role = "text"
    hue: int | None = None
    """Number of the hue of its component."""

    bold: bool = False
    level: int | None = None
    """How hot, 0 to `LEVELS` - 1; with the role `heat` only."""

    underline: bool = False
    component: str | None = None
    """The component that it belongs to."""

    ground: Ground | None = None
    """None: the ground of the page."""

    under: int | None = None
    """How hot the ground is; with the ground `heat` only."""

    strike: bool = False


class Run(NamedTuple):
    """Characters of one style."""

    text: str
    style: Style


Line: TypeAlias = tuple[Run, ...]

LEVELS = 33
"""Steps of `Style.level`."""

WHITE = Style("white", bold=True)
TEXT = Style("text")
BODY = Style("body")
MUTED = Style("muted")
FAINT = Style("faint")
GHOST = Style("ghost")
TRACK = Style("track")
NAME = Style("text", bold=True)
OK = Style("ok")
WARNING = Style("warning", bold=True)
ERROR = Style("error", bold=True)


@dataclass(slots=True)
class LineBuilder:
    """Collects runs from left to right; gaps become blanks."""

    runs: list[Run] = field(default_factory=list)
    column: int = 0
    """Columns written so far."""

    def put(self, column: int, text: str, style: Style = TEXT, cells: int | None = None) -> None:
        """Write `text` at `column`; `cells` is its width where that is not its length."""
        if column > self.column:
            self.add(" " * (column - self.column))
        self.add(text, style, cells)

    def add(self, text: str, style: Style = TEXT, cells: int | None = None) -> None:
        """Write `text` right after what is there."""
        self.column += len(text) if cells is None else cells
        last = self.runs[-1] if self.runs else None
        if text and last and (last.style is style or last.style == style):
            self.runs[-1] = Run(last.text + text, style)
        elif text:
            self.runs.append(Run(text, style))

    def extend(self, runs: Line, cells: int) -> None:
        """Write runs of this many columns right after what is there."""
        self.runs.extend(runs)
        self.column += cells

    def finish(self, width: int) -> Line:
        """The line, blank up to `width`."""
        self.put(width, "")
        return tuple(self.runs)


def plain(line: Line) -> str:
    """The characters of a line."""
    return "".join(run.text for run in line)


def level_of(percent: float) -> int:
    """The step of a percentage, 0 to `LEVELS` - 1."""
    return round(min(100.0, max(0.0, percent)) / 100 * (LEVELS - 1))


PAINTS = ("ground", "track", "muted", "text", "error_border")
"""Colours beside heat and hues that half a cell can have."""

SHADED = 1000
"""Added to the number of a colour: half of it is the ground of the page."""


def paint(color: str | int) -> int:
    """The number of a colour for half a cell: a hue by its number, or one of `PAINTS`; heat is its level."""
    return LEVELS + color if isinstance(color, int) else -1 - PAINTS.index(color)
