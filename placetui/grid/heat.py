"""Heat density: several devices per character, many nodes per line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from placetui.grid.census import Extent, has_lanes
from placetui.grid.columns import GUTTER_GAP
from placetui.grid.pen import Pen
from placetui.grid.places import Place, Region
from placetui.grid.style import EMPTY, ERROR, FAINT, HEADER, LEVELS, NODE_NAME, TEXT, Line, LineBuilder, Run, Style
from placetui.placement.plan import GPU, SHARE_UNITS

NATURAL_WIDTH = 120
MANY_NODES = 2048
"""From here on a character stands for four devices rather than two."""

OFFSETS = 5
"""Every how many nodes the header counts."""

WIDEST_NAME = 16
NARROWEST_BODY = 8
ATTENTION = "!"
NOTICEABLE = 0.05
"""Part of a free GPU's memory from which on somebody uses it."""

ABSENT = Run(" ", TEXT)


class Cell(NamedTuple):
    """One character of a node, live data apart."""

    run: Run
    component: int | None
    """The component whose turn it is; None where the cell has nothing to measure."""

    first: int
    """First device."""

    end: int
    """Device after the last."""


class Heat:
    """The layout and the lines of the heat density."""

    def __init__(self, pen: Pen, nodes: Sequence[int], width: int | None, extents: Sequence[Extent]) -> None:
        self.pen = pen
        self.nodes = nodes
        self._extents = extents
        shown = [pen.plan.nodes[node] for node in nodes]
        self.per_cell = 4 if len(nodes) > MANY_NODES else 2
        self._cells = -(-max((node.gpus for node in shown), default=0) // self.per_cell)
        self._has_lane = has_lanes(pen.plan, shown)
        # A divider and one cell for robots and for processes on the node.
        self._block = max(1, self._cells + 2 * self._has_lane) + 1
        names = (pen.name_width(node.name) for node in shown)
        self.gutter = min(WIDEST_NAME, max((4, *names))) + GUTTER_GAP
        fits = max(1, ((width or NATURAL_WIDTH) - self.gutter + 1) // self._block)
        across = min(fits, max(1, len(nodes)))
        # Whole tens of nodes per line are easier to count.
        self.across = across - across % 10 if across >= 20 and across < len(nodes) else across
        self.width = self.gutter + max(NARROWEST_BODY, self.across * self._block - 1)
        self._known: dict[Extent, tuple[Cell, ...]] = {}

    @property
    def height(self) -> int:
        return -(-len(self.nodes) // self.across)

    def header(self) -> tuple[Line, ...]:
        line = LineBuilder.empty()
        line.put(0, "node", HEADER)
        for offset in range(0, self.across, OFFSETS):
            text = f"+{offset}"
            if self.gutter + offset * self._block + len(text) <= self.width:
                line.put(self.gutter + offset * self._block, text, HEADER)
        return (line.finish(self.width),)

    def top(self, position: int) -> int:
        return position // self.across

    def position_at(self, x: int, y: int) -> int | None:
        block = (x - self.gutter) // self._block
        if not 0 <= y < self.height or x < self.gutter or block >= self.across:
            return None
        position = y * self.across + block
        return position if position < len(self.nodes) else None

    def draw_row(self, y: int) -> Line:
        """One line: the name of its first node, then all its nodes."""
        first = y * self.across
        line = LineBuilder.empty()
        name = self.pen.plan.nodes[self.nodes[first]].name
        self.pen.put_name(line, 0, name, self.gutter - GUTTER_GAP, NODE_NAME)
        for position in range(first, min(first + self.across, len(self.nodes))):
            node = self.nodes[position]
            line.put(self._x(position), "")
            for cell in self._node(node):
                line.add(*(cell.run if self.pen.overlay is None else self._live(node, cell)))
        return line.finish(self.width)

    def _x(self, position: int) -> int:
        return self.gutter + position % self.across * self._block

    def _node(self, node: int) -> tuple[Cell, ...]:
        """Nodes that look alike are worked out once."""
        extent = self._extents[node]
        cells = self._known.get(extent)
        if cells is None:
            cells = self._known[extent] = self._work_out(extent)
        services = self.pen.services.get(node)
        if self._has_lane and services and not extent.on_node and not extent.robot_components:
            return *cells, Cell(Run(":", FAINT), None, 0, 0), Cell(Run(services[0][0], Style("service")), None, 0, 0)
        return cells

    def _work_out(self, extent: Extent) -> tuple[Cell, ...]:
        present: list[set[int]] = [set() for _ in range(extent.gpus)]
        held = [0] * extent.gpus
        for component, devices, units in extent.holdings:
            for device in devices:
                if device < extent.gpus:
                    present[device].add(component)
                    held[device] += units
        cells: list[Cell] = []
        for number in range(self._cells):
            first = number * self.per_cell
            end = min(first + self.per_cell, extent.gpus)
            cells.append(self._gpus(number, first, end, present[first:end], held[first:end]))
        if self._has_lane and (extent.robot_components or extent.on_node):
            cells += [Cell(Run(":", FAINT), None, 0, 0), Cell(self._lane(extent), None, 0, 0)]
        return tuple(cells)

    def _gpus(self, number: int, first: int, end: int, present: Sequence[set[int]], held: Sequence[int]) -> Cell:
        """The components of a cell take turns from cell to cell, so that a shared node shows all of them."""
        turns = sorted(set().union(*present))
        if not present:
            return Cell(ABSENT, None, first, end)
        if not turns:
            return Cell(Run(self.pen.glyphs.empty, EMPTY), None, first, end)
        component = turns[number % len(turns)]
        if max(held) > SHARE_UNITS:
            return Cell(Run(ATTENTION, ERROR), None, first, end)
        fill = sum(held) / len(held) / SHARE_UNITS
        level = min(LEVELS - 1, round(fill * (LEVELS - 1)))
        mark = self._mark(component, full=all(present))
        return Cell(Run(mark, Style("tile", component, level=level)), component, first, end)

    def _lane(self, extent: Extent) -> Run:
        turns = sorted(set().union(extent.on_node, *extent.robot_components))
        if not turns:
            return Run(self.pen.glyphs.empty, EMPTY)
        return Run(self._mark(turns[0], full=all(extent.robot_components)), Style("component", turns[0]))

    def _mark(self, component: int, *, full: bool) -> str:
        mark = self.pen.by_index[component].mark[0]
        return mark if full else mark.lower()

    def _live(self, node: int, cell: Cell) -> Run:
        """The memory in use, or that something needs attention."""
        overlay = self.pen.overlay
        if overlay is None or (cell.component is None and cell.run.style != EMPTY):
            return cell.run
        known: list[float] = []
        for device in range(cell.first, cell.end):
            live = overlay.device(node, device)
            if live is None:
                continue
            if live.alert or live.state == "dead":
                return Run(ATTENTION, ERROR)
            if (memory := live.memory) is not None:
                known.append(memory)
        # A GPU that nobody is planned on is free, whatever its driver keeps; but not if somebody is there.
        if not known or (cell.component is None and max(known) < NOTICEABLE):
            return cell.run
        ramp = self.pen.glyphs.ramp
        return _gauge(ramp[max(1, round(sum(known) / len(known) * (len(ramp) - 1)))], cell.component)

    def locate(self, position: int, index: int, kind: str) -> Region | None:
        node = self.pen.plan.nodes[self.nodes[position]]
        if kind == GPU:
            if index >= node.gpus:
                return None
            return Region(self._x(position) + index // self.per_cell, self.top(position), 1, 1)
        if any(device.kind == kind and device.index == index for device in self.pen.plan.devices_of(node.rank)):
            return Region(self._x(position) + self._cells + 1, self.top(position), 1, 1)
        return None

    def at(self, x: int, y: int) -> Place | None:
        """The first device of the cell."""
        position = self.position_at(x, y)
        if position is None:
            return None
        node = self.pen.plan.nodes[self.nodes[position]]
        cell = x - self._x(position)
        if cell < self._cells:
            index = cell * self.per_cell
            return Place(node.rank, GPU, index) if index < node.gpus else None
        if not self._has_lane or cell != self._cells + 1:
            return None
        others = (device for device in self.pen.plan.devices_of(node.rank) if device.kind != GPU)
        return next((Place(node.rank, device.kind, device.index) for device in others), None)


@lru_cache(maxsize=256)
def _gauge(glyph: str, component: int | None) -> Run:
    return Run(glyph, TEXT if component is None else Style("component", component))
