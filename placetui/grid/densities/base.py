"""What every density answers: where nodes and devices are, and their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from placetui.grid.look.style import Line, Run

if TYPE_CHECKING:
    from placetui.grid.overlay import Overlay

GUTTER_GAP = 1
"""Blank columns between the names and the devices."""

MOST_DEVICES = 1024
"""No drawing is wider than this many devices."""


@dataclass(frozen=True, slots=True)
class Place:
    """A device of the plan."""

    node: int
    """Rank of its node."""

    kind: str
    """`gpu`, `node`, or a hardware type."""

    index: int


class Region(NamedTuple):
    """A rectangle in columns and lines of the drawing, its header not counted."""

    x: int
    y: int
    width: int
    height: int

    def contains(self, x: int, y: int) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


class CursorMark(NamedTuple):
    """What shows the cursor on one line: signs in place of what is there, or what is there on white."""

    x: int
    y: int
    width: int
    text: str = ""
    """Signs in white; empty: what is there."""

    inverse: bool = True
    """Whether what is there stands on white; else it is written in white."""


class DensityLayout(Protocol):
    """Nodes of a plan in one density and width, in bands from top to bottom.

    A band is what is drawn at once: a node with all its lines, or a line of several nodes. A layout knows whether live
    data is shown, since that takes room, but not which: it serves any number of observations.
    """

    nodes: Sequence[int]
    """Ranks of the nodes, in their order."""

    width: int
    """Columns of every line."""

    least_width: int
    """Columns from which on all devices of a node are in view at once."""

    gutter: int
    """Columns of the node names, which stay in view."""

    pitch: int
    """Columns from one device to the next."""

    across: int
    """Nodes in a band."""

    @property
    def height(self) -> int:
        """Lines, the header not counted."""

    def header(self) -> tuple[Line, ...]:
        """Lines that stay above the drawing."""

    def top(self, band: int) -> int:
        """First line of a band."""

    def band_at(self, y: int) -> int:
        """The band of a line that the drawing has."""

    def draw(self, band: int, overlay: Overlay | None) -> tuple[Line, ...]:
        """All lines of a band."""

    def position_at(self, x: int, y: int) -> int | None:
        """Which of the nodes is at a column and line."""

    def at(self, x: int, y: int) -> Place | None:
        """The device at a column and line; the first where a cell stands for several."""

    def locate(self, position: int, index: int, kind: str) -> Region | None:
        """Where a device of a node is drawn; None if it has no such device."""

    def cursor(self, position: int, index: int, kind: str) -> Iterator[CursorMark]:
        """What shows that the cursor is on a device."""

    def key(self) -> Iterable[tuple[Run, str]]:
        """The signs of this density, and what they mean."""
