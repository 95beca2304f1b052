"""`Drawing`: a plan as styled lines, any window of it at the same cost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Literal, TypeAlias, get_args

from placetui.grid.census import Extent, census
from placetui.grid.compact import Compact
from placetui.grid.full import Full
from placetui.grid.heat import Heat
from placetui.grid.identity import Identity
from placetui.grid.legend import key_lines, legend_lines
from placetui.grid.live import Overlay
from placetui.grid.pen import Pen
from placetui.grid.places import Place, Region
from placetui.grid.style import Line
from placetui.grid.text import CellWidth, cell_width
from placetui.placement.plan import GPU, Plan

Density: TypeAlias = Literal["full", "compact", "heat"]
DENSITIES: tuple[Density, ...] = get_args(Density)
Layout: TypeAlias = Full | Compact | Heat

LEGEND = 72
"""Columns that the legend takes at least."""

REMEMBERED = 512
"""Nodes (or lines, in the heat density) whose lines are kept."""


class Drawing:
    """A plan drawn in one density.

    Nothing of it changes: another width, density, order of nodes or live picture is another drawing, made from this
    one by `change`, which keeps what stays the same. Lines are drawn when asked for.
    """

    def __init__(
        self,
        plan: Plan,
        density: Density = "full",
        *,
        ascii: bool = False,
        width: int | None = None,
        cell_width: CellWidth = cell_width,
        nodes: Sequence[int] | None = None,
        overlay: Overlay | None = None,
    ) -> None:
        """Lay out a drawing.

        Args:
            plan: What to draw.
            density: `full`, `compact` or `heat`.
            ascii: Print nothing but ASCII.
            width: Columns to fill; None for the natural size. A drawing can be wider where devices do not fit.
            cell_width: Columns that a text takes; a terminal library knows better than the default.
            nodes: Ranks of the nodes to draw, in this order; None for all.
            overlay: Live data to show.
        """
        self.plan = plan
        self.density = density
        self.ascii = ascii
        self.requested_width = width
        self.nodes: Sequence[int] = range(len(plan.nodes)) if nodes is None else nodes
        self.overlay = overlay
        self._pen = Pen(plan, ascii, cell_width, overlay)
        self._lines: OrderedDict[int, tuple[Line, ...]] = OrderedDict()
        self._layouts: dict[Density, Layout] = {}
        """Those that were needed so far, without live data; shared with drawings that differ in nothing else."""

        self._view = self._lay_out()

    def change(
        self,
        *,
        density: Density | None = None,
        width: int | Literal["same"] | None = "same",
        nodes: Sequence[int] | Literal["same"] | None = "same",
        overlay: Overlay | Literal["same"] | None = "same",
    ) -> Drawing:
        """The same plan drawn otherwise; with fresh live data, or in a density that was drawn before, at no cost."""
        drawing = copy(self)
        drawing._lines = OrderedDict()
        if overlay != "same":
            drawing.overlay, drawing._pen = overlay, self._pen.with_overlay(overlay)
        if density is not None:
            drawing.density = density
        if width != "same":
            drawing.requested_width = width
        if nodes != "same":
            drawing.nodes = range(len(self.plan.nodes)) if nodes is None else nodes
            drawing.__dict__.pop("_positions", None)
        if drawing._fitted != self._fitted:
            drawing._layouts = {}
        drawing._view = drawing._lay_out()
        return drawing

    @property
    def _fitted(self) -> tuple[object, ...]:
        """All that a layout depends on but the density."""
        return self.requested_width, self.nodes, self.overlay is None

    def _lay_out(self) -> Layout:
        view = self._layouts.get(self.density)
        if view is None:
            # It is kept without live data, or it would hold on to what was seen when it was made.
            view = self._layouts[self.density] = self._new_layout()
            view.pen = self._pen.with_overlay(None)
        view = copy(view)
        view.pen = self._pen
        return view

    def _new_layout(self) -> Layout:
        if self.density == "compact":
            return Compact(self._pen, self.nodes, self.requested_width)
        view = Full if self.density == "full" else Heat
        return view(self._pen, self.nodes, self.requested_width, self._extents)

    @cached_property
    def _extents(self) -> Sequence[Extent]:
        return census(self.plan)

    @property
    def height(self) -> int:
        """Lines of the drawing, its header not counted."""
        return self._view.height

    @property
    def width(self) -> int:
        """Columns of every line."""
        return self._view.width if isinstance(self._view, Heat) else self._view.columns.width

    @property
    def gutter(self) -> int:
        """Columns of the node names, which stay in view."""
        return self._view.gutter if isinstance(self._view, Heat) else self._view.columns.gutter

    @property
    def pitch(self) -> int:
        """Columns from one device to the next."""
        return 1 if isinstance(self._view, Heat) else self._view.columns.pitch

    @property
    def marks(self) -> dict[str, Identity]:
        """Letter, hue and pattern of each component."""
        return self._pen.marks

    @property
    def cell_width(self) -> CellWidth:
        return self._pen.measure

    def header(self) -> tuple[Line, ...]:
        """Lines that stay above the drawing: device numbers."""
        return self._view.header()

    def line(self, y: int) -> Line:
        """Line `y`, counted from 0 below the header."""
        if not 0 <= y < self.height:
            raise IndexError(f"line {y} of {self.height}")
        if isinstance(self._view, Heat):
            return self._block(y)[0]
        position = self._position(0, y)
        return self._block(position)[y - self._view.top(position)]

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[Line]:
        """Lines from `start` up to but not including `stop`."""
        for y in range(max(0, start), min(self.height, self.height if stop is None else stop)):
            yield self.line(y)

    def _block(self, position: int) -> tuple[Line, ...]:
        lines = self._lines.get(position)
        if lines is None:
            view = self._view
            lines = (view.draw_row(position),) if isinstance(view, Heat) else view.draw(position)
            self._lines[position] = lines
            if len(self._lines) > REMEMBERED:
                self._lines.popitem(last=False)
        return lines

    def _position(self, x: int, y: int) -> int:
        position = self._view.position_at(x, y)
        assert position is not None
        return position

    def locate(self, node: int, index: int = 0, kind: str = GPU) -> Region | None:
        """Where a device is drawn; None if the drawing does not show it."""
        position = self.position_of(node)
        return None if position is None or index < 0 else self._view.locate(position, index, kind)

    def at(self, x: int, y: int) -> Place | None:
        """The device at a column and line; in the heat density the first of those in the cell."""
        return self._view.at(x, y)

    def node_at(self, x: int, y: int) -> int | None:
        """Rank of the node at a column and line, its name and lanes included."""
        position = self._view.position_at(x, y)
        return None if position is None else self.nodes[position]

    @property
    def across(self) -> int:
        """Nodes that stand beside each other in a line; above 1 in the heat density only."""
        return self._view.across if isinstance(self._view, Heat) else 1

    def position_of(self, node: int) -> int | None:
        """Place of a node in the order of the drawing; None if it is not shown."""
        return self._in_range(node) if isinstance(self.nodes, range) else self._positions.get(node)

    def nodes_at(self, y: int) -> Sequence[int]:
        """Ranks of the nodes on a line."""
        if isinstance(self._view, Heat):
            return self.nodes[y * self.across : (y + 1) * self.across]
        position = self._position(0, y)
        return self.nodes[position : position + 1]

    def top_of(self, node: int) -> int | None:
        """First line of a node; None if the drawing does not show it."""
        position = self.position_of(node)
        return None if position is None else self._view.top(position)

    def _in_range(self, node: int) -> int | None:
        return self.nodes.index(node) if node in self.nodes else None

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {node: position for position, node in enumerate(self.nodes)}

    def legend(self) -> tuple[Line, ...]:
        """What letters, patterns and marks mean: a line per component, then the marks."""
        return (*legend_lines(self._pen), *self.key(max(self.width, LEGEND)))

    def key(self, width: int) -> tuple[Line, ...]:
        """What the marks mean, in lines of at most `width` columns."""
        return key_lines(self._pen, self.density, width)
