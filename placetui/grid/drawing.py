"""`Drawing`: a plan as styled lines, any window of it at the same cost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Literal

from placetui.grid.densities import (
    DENSITIES,
    Census,
    CursorMark,
    Density,
    DensityLayout,
    HeatMetric,
    Place,
    Region,
    lay_out,
)
from placetui.grid.legend import key_lines, legend_lines
from placetui.grid.look.style import Line, Run
from placetui.grid.look.text import CellWidth, cell_width
from placetui.grid.marks import Mark
from placetui.grid.overlay import Overlay
from placetui.grid.pen import Pen
from placetui.placement.plan import GPU, Plan

LEGEND = 72
"""Columns that the legend takes at least."""

MOST_SPARE = 12
"""Lines that a node gets at most beyond what it needs."""

REMEMBERED = 512
"""Bands whose lines are kept."""


class Drawing:
    """A plan drawn in one density.

    Nothing of it changes: another width, density, order of nodes or live picture is another drawing, made from this
    one by `change`, which keeps what stays the same. Lines are drawn on demand.
    """

    def __init__(
        self,
        plan: Plan,
        density: Density = "tile",
        *,
        ascii: bool = False,
        color: bool = True,
        width: int | None = None,
        cell_width: CellWidth = cell_width,
        nodes: Sequence[int] | None = None,
        overlay: Overlay | None = None,
        metric: HeatMetric = "memory",
        moves: Mapping[tuple[str, int], str] | None = None,
    ) -> None:
        """Lay out a drawing.

        Args:
            plan: What to draw.
            density: `card`, `tile`, `small`, `letters` or `heat`.
            ascii: Print nothing but ASCII.
            color: Whether colours are shown; without, the heat wall has digits and letters.
            width: Columns to fill; None for the natural size. A drawing can be wider where devices do not fit.
            cell_width: Columns that a text takes; a terminal library knows better than the default.
            nodes: Ranks of the nodes to draw, in this order; None for all.
            overlay: Live data to show.
            metric: What the heat wall is coloured by.
            moves: By component and rank, where it goes or came from; shown in place of its share.
        """
        self.plan = plan
        self.density = density
        self.ascii = ascii
        self.requested_width = width
        self.nodes: Sequence[int] = range(len(plan.nodes)) if nodes is None else nodes
        self.overlay = overlay
        self.metric: HeatMetric = metric
        self.spare = 0
        """Lines of each node beyond what it needs; -1: one less, where GPUs are known by their columns."""

        self.pen = Pen(plan, ascii, cell_width, color=color, moves=moves)
        self._census = Census(plan)
        self._lines: OrderedDict[int, tuple[Line, ...]] = OrderedDict()
        self._layouts: dict[Density, DensityLayout] = {}
        """Those that were needed so far; shared with drawings that differ in density or live data only."""

    def change(
        self,
        *,
        density: Density | None = None,
        width: int | Literal["same"] | None = "same",
        nodes: Sequence[int] | Literal["same"] | None = "same",
        overlay: Overlay | Literal["same"] | None = "same",
        metric: HeatMetric | None = None,
        spare: int | None = None,
    ) -> Drawing:
        """The same plan drawn otherwise; with fresh live data, or in a density that was drawn before, at no cost."""
        drawing = copy(self)
        drawing._lines = OrderedDict()
        if overlay != "same":
            drawing.overlay = overlay
        if density is not None:
            drawing.density = density
        if metric is not None:
            drawing.metric = metric
        if spare is not None:
            drawing.spare = spare
        if width != "same":
            drawing.requested_width = width
        if nodes != "same":
            drawing.nodes = range(len(self.plan.nodes)) if nodes is None else nodes
            drawing.__dict__.pop("_positions", None)
        if drawing._fitted != self._fitted:
            drawing._layouts = {}
        return drawing

    @property
    def _fitted(self) -> tuple[object, ...]:
        """All that a layout depends on but the density."""
        return self.requested_width, self.nodes, self.overlay is None, self.metric, self.spare

    @property
    def _layout(self) -> DensityLayout:
        layout = self._layouts.get(self.density)
        if layout is None:
            live = self.overlay is not None
            width, census, metric = self.requested_width, self._census, self.metric
            layout = lay_out(self.density, self.pen, self.nodes, width, live, census, metric, self.spare)
            self._layouts[self.density] = layout
        return layout

    def fitted(self, height: int) -> Drawing:
        """In the most detailed density at which all nodes fit into the width and this many lines; else in the last."""
        drawing = self
        for density in DENSITIES:
            drawing = self.change(density=density, spare=0)
            if drawing._fits(height):
                return drawing.grown(height)
            if density == "small" and (tight := drawing.change(spare=-1))._fits(height):
                return tight
        return drawing

    def grown(self, height: int) -> Drawing:
        """With what is left of this many lines given to the nodes, where they show more then."""
        left = height - self.height - len(self.header())
        spare = min(MOST_SPARE, left // max(1, len(self.nodes)))
        return self.change(spare=spare) if spare > 0 and self.density == "card" and self.overlay else self

    def _fits(self, height: int) -> bool:
        room = self.width if self.requested_width is None else self.requested_width
        return self.height + len(self.header()) <= height and max(self.least_width, self.width) <= room

    @property
    def height(self) -> int:
        """Lines of the drawing, its header not counted."""
        return self._layout.height

    @property
    def width(self) -> int:
        """Columns of every line."""
        return self._layout.width

    @property
    def least_width(self) -> int:
        """Columns from which on all devices of a node are in view at once."""
        return self._layout.least_width

    @property
    def gutter(self) -> int:
        """Columns of the node names, which stay in view."""
        return self._layout.gutter

    @property
    def pitch(self) -> int:
        """Columns from one device to the next."""
        return self._layout.pitch

    @property
    def across(self) -> int:
        """Nodes that stand beside each other in a line."""
        return self._layout.across

    @property
    def marks(self) -> dict[str, Mark]:
        """Letter and hue of each component."""
        return self.pen.marks

    @property
    def cell_width(self) -> CellWidth:
        return self.pen.measure

    def header(self) -> tuple[Line, ...]:
        """Lines that stay above the drawing: device numbers."""
        return self._layout.header()

    def line(self, y: int) -> Line:
        """Line `y`, counted from 0 below the header."""
        layout = self._layout
        if not 0 <= y < layout.height:
            raise IndexError(f"line {y} of {layout.height}")
        band = layout.band_at(y)
        lines = self._lines.get(band)
        if lines is None:
            lines = self._lines[band] = layout.draw(band, self.overlay)
            if len(self._lines) > REMEMBERED:
                self._lines.popitem(last=False)
        return lines[y - layout.top(band)]

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[Line]:
        """Lines from `start` up to but not including `stop`."""
        for y in range(max(0, start), min(self.height, self.height if stop is None else stop)):
            yield self.line(y)

    def locate(self, node: int, index: int = 0, kind: str = GPU) -> Region | None:
        """Where a device is drawn; None if the drawing does not show it."""
        position = self.position_of(node)
        return None if position is None or index < 0 else self._layout.locate(position, index, kind)

    def cursor(self, place: Place) -> list[CursorMark]:
        """What shows that the cursor is on a device."""
        position = self.position_of(place.node)
        return [] if position is None else list(self._layout.cursor(position, place.index, place.kind))

    def at(self, x: int, y: int) -> Place | None:
        """The device at a column and line; the first of those in the cell."""
        return self._layout.at(x, y)

    def node_at(self, x: int, y: int) -> int | None:
        """Rank of the node at a column and line, its name and lanes included."""
        position = self._layout.position_at(x, y)
        return None if position is None else self.nodes[position]

    def position_of(self, node: int) -> int | None:
        """Place of a node in the order of the drawing; None if it is not shown."""
        if isinstance(self.nodes, range):
            return self.nodes.index(node) if node in self.nodes else None
        return self._positions.get(node)

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {node: position for position, node in enumerate(self.nodes)}

    def nodes_at(self, y: int) -> Sequence[int]:
        """Ranks of the nodes on a line."""
        first = self._layout.band_at(y) * self.across
        return self.nodes[first : first + self.across]

    def top_of(self, node: int) -> int | None:
        """First line of a node; None if the drawing does not show it."""
        position = self.position_of(node)
        return None if position is None else self._layout.top(position // self.across)

    def legend(self) -> tuple[Line, ...]:
        """What letters and signs mean: a line per component, then the signs."""
        return (*legend_lines(self.pen), *self.key(max(self.width, LEGEND)))

    def signs(self) -> Iterator[tuple[Run, str]]:
        """The signs of the density, and what they mean."""
        yield from self._layout.key()

    def letter_of(self, node: int) -> Run | None:
        """The letter of the component with the largest share of a node's first GPU; None if it is free."""
        first = self._census[node].largest[:1]
        if not first or first[0] is None:
            return None
        mark = self.pen.by_number[first[0]]
        return Run(mark.letter[0], self.pen.letter_style(mark.name))

    def key(self, width: int) -> tuple[Line, ...]:
        """What the signs mean, in lines of at most `width` columns."""
        return key_lines(self._layout.key(), width)
