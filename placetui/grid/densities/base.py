"""What every density answers: where nodes and devices are, and their lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, get_args

from placetui.grid.densities.rows import Census
from placetui.grid.look.style import ERROR, FAINT, MUTED, WARNING, Line, Run, Style
from placetui.grid.overlay import Overlay, ShownState
from placetui.grid.pen import Pen
from placetui.placement.topology import Node

HeatMetric: TypeAlias = Literal["memory", "load", "temperature", "state"]
METRICS: tuple[HeatMetric, ...] = get_args(HeatMetric)

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
    """What shows the cursor on one line."""

    x: int
    y: int
    width: int
    text: str = ""
    """Signs in place of what is there; empty: what is there."""

    inverse: bool = True
    """Whether these stand on white; else they are written in white."""


@dataclass(frozen=True, slots=True)
class LayoutRequest:
    """What all layouts of a drawing depend on."""

    pen: Pen
    nodes: Sequence[int]
    """Ranks of the nodes, in their order."""

    width: int | None
    """Columns to fill; None for the natural size."""

    live: bool
    census: Census
    metric: HeatMetric = "memory"
    component: str | None = None
    """The component that the heat wall is about; None for all."""

    spare: int = 0
    """Lines for each node beyond what it needs."""


class DensityLayout(ABC):
    """Nodes of a plan in one density and width, in bands from top to bottom.

    A band is what is drawn at once: a node with all its lines, or a line of several nodes. A layout knows whether live
    data is shown, since that takes room, but not which: it serves any number of observations.
    """

    width: int
    """Columns of every line."""

    least_width: int
    """Columns from which on all devices of a node are in view at once."""

    gutter: int
    """Columns of the node names, which stay in view."""

    pitch: int
    """Columns from one device to the next."""

    across = 1
    """Nodes in a band."""

    def __init__(self, request: LayoutRequest) -> None:
        self.pen = request.pen
        self.nodes = request.nodes
        self.live = request.live
        self.census = request.census

    def node(self, position: int) -> Node:
        return self.pen.plan.nodes[self.nodes[position]]

    @property
    def height(self) -> int:
        """Lines, the header not counted."""
        return -(-len(self.nodes) // self.across)

    @cached_property
    def header(self) -> tuple[Line, ...]:
        """Lines that stay above the drawing."""
        return ()

    def top(self, band: int) -> int:
        """First line of a band."""
        return band

    def band_at(self, y: int) -> int:
        """The band of a line that the drawing has."""
        return y

    def position_at(self, x: int, y: int) -> int | None:
        """Which of the nodes is at a column and line."""
        return self.band_at(y) if 0 <= y < self.height else None

    @abstractmethod
    def draw(self, band: int, overlay: Overlay | None) -> tuple[Line, ...]:
        """All lines of a band."""

    @abstractmethod
    def at(self, x: int, y: int) -> Place | None:
        """The device at a column and line; the first where a cell stands for several."""

    @abstractmethod
    def locate(self, position: int, index: int, kind: str) -> Region | None:
        """Where a device of a node is drawn; None if it has no such device."""

    @abstractmethod
    def cursor(self, position: int, index: int, kind: str, overlay: Overlay | None) -> Iterator[CursorMark]:
        """What shows that the cursor is on a device, as it is drawn with live data."""

    @property
    def drawn_signs(self) -> frozenset[str]:
        """What occurs that only drawing finds out, in the words of the key."""
        return frozenset()

    @abstractmethod
    def key(self) -> Iterator[tuple[Run, str]]:
        """The signs of this density, and what they mean."""

    def shared_key(
        self, states: Sequence[ShownState], warning: Style = WARNING, error: Style = ERROR
    ) -> Iterator[tuple[Run, str]]:
        """The signs of all densities that show who is on a GPU; of the states, those that have one there."""
        glyphs = self.pen.glyphs
        yield Run(glyphs.span * 3, Style("component")), "one process"
        yield Run(glyphs.left + glyphs.right, Style("component")), "not adjacent"
        yield Run(glyphs.empty, FAINT), "free"
        yield Run(glyphs.absent, FAINT), "no GPU"
        yield Run(glyphs.service, MUTED), "service"
        yield from self.pen.unfixed_key()
        if self.live:
            yield from ((self.pen.state(state), state) for state in states)
            yield Run(glyphs.differs, warning), "not as planned"
            yield Run(glyphs.above, warning), "above threshold"
        else:
            yield Run(glyphs.states["dead"], error), "oversubscribed"
