"""Cards, tiles and small tiles: a GPU as a filled ground with its residents and meters; a process over several is one.

What is well is silent; what is wrong tints the whole GPU and marks its node.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from placetui.grid.densities import lanes
from placetui.grid.densities.bank import Bank, TileSize
from placetui.grid.densities.base import MOST_DEVICES, CursorMark, DensityLayout, LayoutRequest, Place, Region
from placetui.grid.densities.cell import Cell, node_figures, worst
from placetui.grid.densities.rows import Extent, RowSlot, Shape, adjacent, arrange, departed, joined_tiles, shape_of
from placetui.grid.look.style import FAINT, MUTED, NAME, TEXT, Line, LineBuilder, Run
from placetui.grid.overlay import Overlay
from placetui.placement.plan import GPU, SHARE_UNITS
from placetui.placement.topology import Node

NARROWEST = 40
"""A drawing is at least this wide: the line of a node needs room."""

REMEMBERED = 8192
"""Residents that are not written again."""

WIDEST_NAME = 12
"""Columns of node names at the left."""


class Tiles(DensityLayout):
    """The layout and the lines of the three densities that show GPUs as tiles."""

    def __init__(self, size: TileSize, request: LayoutRequest) -> None:
        super().__init__(request)
        pen, nodes, width = request.pen, request.nodes, request.width
        if pen.compared and pen.compared.measured:
            size = size.with_memory()
        self.size = size = size.with_spare(request.spare, request.live)
        self._arranged: dict[Shape, tuple[RowSlot, ...]] = {}
        """Rows of processes, by shape: nodes mostly look alike."""

        self._areas: dict[tuple[Extent, Shape, int], list[tuple[int, ...]]] = {}
        """Lines on which rows begin where shares are areas, by what is on a node, who left it and its rows."""

        self.pieces: dict[tuple[object, ...], Line] = {}
        """Residents as they were written last."""

        shown = [pen.plan.nodes[node] for node in nodes]
        self.devices = min(MOST_DEVICES, max((node.gpus for node in shown), default=0))
        across = max(1, self.devices)
        name = min(WIDEST_NAME, max((4, *(pen.name_width(node.name) for node in shown)))) + 1
        fits = size.natural if width is None else (width - name + 1) // across - 1
        scrolls = width is not None and across * (size.squeezed + 1) - 1 > width
        # Names that stand above the GPUs would not stay in view where one has to scroll.
        self.gutter = name if scrolls or (size.names_left and fits >= size.least) else 0
        if width is not None:
            fits = (width - self.gutter + 1) // across - 1
        self.cell = min(size.most, max(size.squeezed, fits))
        self.inner = self.cell - 2 - 2 * size.border
        """Columns of a GPU between its padding."""

        self.pitch = self.cell + 1
        self.body = across * self.pitch - 1
        self.width = max(self.gutter + self.body, min(NARROWEST, max(lanes.SLOT, width or NARROWEST)))
        self.least_width = self.gutter + across * (size.least + 1) - 1
        self._head = 0 if self.gutter else 1
        self._tops = list(accumulate(map(self._height, range(len(nodes))), initial=0))

    @cached_property
    def shares(self) -> bool:
        """Whether ranks that have a GPU to themselves, or part of it, have their share beside them: all, or none."""
        extents = {self.census[node] for node in self.nodes}
        alone = {one for extent in extents for one, devices, units in extent.holdings if units and len(devices) == 1}
        sizes = self.pen.world_sizes
        labels = (len(self.pen.by_number[one].label(sizes[one] - 1)) for one in alone)
        beside = " .80 58.1G" if self.size.border and self.live else " .80"
        return self.cell >= 8 and max(labels, default=0) + len(beside) <= self.inner

    # Where things are

    @property
    def height(self) -> int:
        return self._tops[-1]

    def _cell_lines(self, node: Node) -> int:
        if not node.gpus:
            return 0
        own = self.size.lines if self.live else self.size.planned_lines
        return own + self.size.per_resident * self._rows(node)

    def _rows(self, node: Node) -> int:
        """Rows of residents, of those who left, and as many as the plan that it is compared with has."""
        rows = self.census[node.rank].gpu_rows
        if node.rank in self.pen.left:
            rows = max((slot.row for slot in self.slots(self._shape(node))), default=0) + 1
        if self.pen.compared and node.rank < len(self.pen.compared.rows):
            rows = max(rows, self.pen.compared.rows[node.rank])
        return rows

    def _row_tops(self, node: Node) -> Sequence[tuple[int, ...]]:
        """By GPU the lines on which the rows of its residents begin, and the one after the last."""
        rows, step, first = self._rows(node), self.size.per_resident, self.size.first_row(self.live)
        if not self.size.spread:
            return [tuple(range(first, first + rows * step + 1, step))] * node.gpus
        extent, shape = self.census[node.rank], self._shape(node)
        key = extent, shape, rows
        if key not in self._areas:
            self._areas[key] = self._share_areas(extent, shape, first, rows * step + self.size.spread)
        return self._areas[key]

    def _share_areas(self, extent: Extent, shape: Shape, first: int, lines: int) -> list[tuple[int, ...]]:
        """By GPU the lines of its rows, each as high as its share; alike on GPUs with a process in common."""
        slots = self.slots(shape)
        linked = [{index} for index in range(extent.gpus)]
        for slot in slots:
            joined = set().union(*(linked[index] for index in slot.devices))
            for index in joined:
                linked[index] = joined
        found: list[tuple[int, ...]] = []
        for gpus in linked:
            units = [0] * (1 + max((slot.row for slot in slots if slot.devices[0] in gpus), default=0))
            for slot in slots:
                if slot.devices[0] in gpus and not slot.left:
                    units[slot.row] = max(units[slot.row], sum(extent.holdings[one][2] for one in slot.processes))
            heights = _evened(units, self._heights(units, lines))
            found.append(tuple(first + round(end) for end in accumulate(heights, initial=0.0)))
        return found

    def _heights(self, units: Sequence[int], lines: int) -> list[float]:
        """Lines of each row in relation to its share of the GPU, at least as many as its words need."""
        least, whole = self.size.per_resident, max(SHARE_UNITS, sum(units))
        small: set[int] = set()
        while True:
            room, rest = lines - least * len(small), max(1, whole - sum(units[row] for row in small))
            more = {row for row, held in enumerate(units) if row not in small and held * room < least * rest}
            if not more:
                return [least if row in small else held * room / rest for row, held in enumerate(units)]
            small |= more

    def _shape(self, node: Node) -> Shape:
        return (*self.census[node.rank].shape, *shape_of(departed(node.rank, self.pen), self.pen))

    def _main(self, node: Node) -> int:
        """Lines above the lanes."""
        return self._head + self._cell_lines(node) if node.gpus else int(not self._lanes_beside)

    @property
    def _lanes_beside(self) -> bool:
        """Whether the lanes of a node without GPUs stand beside its name."""
        return bool(self.gutter) or self.width >= 2 * lanes.SLOT

    def _lane_start(self, node: Node) -> int:
        return self.gutter if node.gpus or self.gutter or not self._lanes_beside else lanes.SLOT

    def _lane_slots(self, node: Node) -> int:
        return max(1, (self.width - self._lane_start(node) + 2) // lanes.SLOT)

    def _lane_lines(self, node: Node) -> int:
        services, slots = len(self.pen.services.get(node.rank, ())), self._lane_slots(node)
        robots, on_node = sum(node.hardware.values()), self.census[node.rank].on_node
        taken = lanes.slots_of(robots, on_node, services, slots)
        return taken[-1] // slots + 1 if taken else 0

    def _height(self, position: int) -> int:
        """Lines of a node, and a blank one before the next; nodes without GPUs stand close to each other."""
        node, following = self.node(position), position + 1
        apart = following < len(self.nodes) and bool(node.gpus or self.node(following).gpus)
        return max(1, self._main(node) + self._lane_lines(node)) + apart

    def x(self, device: int) -> int:
        return self.gutter + device * self.pitch

    def top(self, band: int) -> int:
        return self._tops[band]

    def band_at(self, y: int) -> int:
        return bisect_right(self._tops, y) - 1

    def locate(self, position: int, index: int, kind: str) -> Region | None:
        node = self.node(position)
        top = self._tops[position]
        if kind == GPU:
            if index >= min(node.gpus, self.devices):
                return None
            return Region(self.x(index), top + self._head, self.cell, self._cell_lines(node))
        entries = [one for one in self._lane(node) if one.place == Place(node.rank, kind, index)]
        if not entries:
            return None
        top += self._main(node)
        first, last = entries[0], entries[-1]
        if first.line == last.line:
            return Region(first.x, top + first.line, last.x + last.width - first.x, 1)
        x = self._lane_start(node)
        return Region(x, top + first.line, self.width - x, last.line - first.line + 1)

    def at(self, x: int, y: int) -> Place | None:
        position = self.position_at(x, y)
        if position is None or not self.gutter <= x < self.width:
            return None
        node = self.node(position)
        device = (x - self.gutter) // self.pitch
        region = self.locate(position, device, GPU)
        if region and region.contains(x, y):
            return Place(node.rank, GPU, device)
        places = dict.fromkeys(one.place for one in self._lane(node) if one.place is not None)
        for place in places if y >= self._tops[position] + self._main(node) else ():
            region = self.locate(position, place.index, place.kind)
            if region and region.contains(x, y):
                return place
        return None

    def cursor(self, position: int, index: int, kind: str, overlay: Overlay | None) -> Iterator[CursorMark]:
        region = self.locate(position, index, kind)
        if region is None:
            return
        x, y, width, height = region
        if kind != GPU:
            yield from (CursorMark(x, y + line, width) for line in range(height))
            return
        left, right = ("", "") if self.size.border else tuple(self.pen.glyphs.cursor)
        tile, rows = self._spans(self.node(position), index)
        wide = tile != (index, index)
        if self.size.border:
            yield from (CursorMark(x, at, width, inverse=False) for at in (y, y + height - 1))
        else:
            number = str(self._number(self.node(position), index))
            yield CursorMark(x, y, 2 + len(number) if wide and self.size.numbered else width)
        for line in range(0 if wide else 1, height - self.size.border):
            first, last = rows.get(line, tile)
            # Signs within a resident that spans several GPUs would cover its words: they stand at its ends.
            yield CursorMark(self.x(first), y + line, 1, left, inverse=False)
            yield CursorMark(self.x(last) + width - 1, y + line, 1, right, inverse=False)

    def _spans(self, node: Node, index: int) -> tuple[tuple[int, int], dict[int, tuple[int, int]]]:
        """First and last GPU of the tile that a GPU belongs to, and by line of the resident that is there."""
        slots, tops = self.slots(self._shape(node)), self._row_tops(node)[index]
        tile = next((ends for ends in joined_tiles(slots) if ends[0] <= index <= ends[1]), (index, index))
        rows = {
            line: ends
            for slot in slots
            for ends in adjacent(slot.devices)
            if ends[0] <= index <= ends[1]
            for line in range(tops[slot.row], tops[slot.row + 1])
        }
        return tile, rows

    def key(self) -> Iterator[tuple[Run, str]]:
        glyphs = self.pen.glyphs
        if self.live or self.pen.memory:
            yield Run(glyphs.eighths[-1], MUTED), "memory GiB"
            if self.live and not self.size.names_left:
                yield Run(glyphs.ramp[3] if self.pen.ascii else "⣿", MUTED), "load"
            if self.live and self.shares:
                yield Run(".80", MUTED), "share"
        else:
            yield from self.pen.moves_key()
            if self.size.border:
                yield Run(glyphs.bar * 2, MUTED), "share"
            elif not self.size.spread:
                letters = "".join(mark.letter[0] for mark in self.pen.by_number[:2])
                yield Run(glyphs.foot * 2 if self.pen.color else letters, MUTED), "shares"
        yield from self.shared_key(("starting", "restarting", "pending", "dead", "stale"))

    # Drawing

    def slots(self, shape: Shape) -> tuple[RowSlot, ...]:
        """Rows of processes. Nodes mostly look alike: few shapes are ever worked out."""
        if shape not in self._arranged:
            self._arranged[shape] = arrange(shape)
        return self._arranged[shape]

    def keep(self, key: tuple[object, ...], piece: Line) -> None:
        if len(self.pieces) >= REMEMBERED:
            self.pieces.clear()
        self.pieces[key] = piece

    def _lane(self, node: Node, overlay: Overlay | None = None) -> list[lanes.LaneEntry]:
        return (
            lanes.in_slots(self.pen, node, self._lane_start(node), self.width, self._lane_slots(node), overlay)
            if self._lane_lines(node)
            else []
        )

    def draw(self, band: int, overlay: Overlay | None) -> tuple[Line, ...]:
        """All lines of one node, the blank one below it included."""
        node = self.node(band)
        lines = [LineBuilder() for _ in range(self._height(band))]
        gpus = [one for one in self.pen.plan.devices_of(node.rank) if one.kind == GPU and one.index < self.devices]
        cells = [Cell(self.pen, device, overlay) for device in gpus]
        if not node.gpus:
            self._line_without_gpus(lines, node, overlay)
            return tuple(line.finish(self.width) for line in lines)
        if self.gutter:
            self._names(lines, node, cells)
        else:
            self._node_line(lines[0], node, cells, overlay)
        body = lines[self._head : self._main(node)]
        Bank(self, cells, overlay, self._row_tops(node)).write(body)
        for device in range(len(cells), self.devices):
            body[0].put(self.x(device) + self.cell // 2, self.pen.glyphs.absent, FAINT)
        lanes.write(self.pen, lines[self._main(node) :], self._lane(node, overlay))
        return tuple(line.finish(self.width) for line in lines)

    def _names(self, lines: Sequence[LineBuilder], node: Node, cells: Sequence[Cell]) -> None:
        """At the left: the name, what is wrong, the numbers of the devices."""
        room = self.gutter - 1
        sign = worst(cells)
        self.pen.put_name(lines[0], 0, node.name, room, sign.style if sign else NAME)
        below = [Run(sign.text, sign.style)] if sign else []
        numbers = self._numbers(node)
        texts = self.pen.groups(node), numbers if len(numbers) <= room else "", node.ip
        below += [Run(text, MUTED) for text in texts if text]
        for line, run in zip(lines[1 : self._main(node)], below, strict=False):
            self.pen.put_name(line, 0, run.text, room, run.style, "start")

    def _number(self, node: Node, index: int) -> int:
        """What a GPU is called: its index, or the number by which rules name it."""
        return index + (self.pen.plan.topology.first_gpu[node.rank] if self.pen.compared else 0)

    def _numbers(self, node: Node) -> str:
        """`0-7`: the devices of a node, counted over all nodes."""
        first = self.pen.plan.topology.first_gpu[node.rank]
        return f"{first}-{first + node.gpus - 1}" if node.gpus > 1 else ""

    def _node_line(self, line: LineBuilder, node: Node, cells: Sequence[Cell], overlay: Overlay | None) -> None:
        """The name of a node and what is wrong at the left, how it is doing at the right."""
        pen, sign = self.pen, worst(cells)
        pen.put_name(line, 0, node.name, self.width // 3, NAME)
        if sign:
            line.put(line.column + 1, sign.text, sign.style)
        end = self.gutter + self.body
        figures = self._figures(node, cells, overlay, end - 24)
        sample = overlay.observation.node(node.rank) if overlay else None
        host = sample.name if sample and sample.name != node.name else ""
        numbers = f"devices {self._numbers(node)}" if node.gpus > 1 and overlay is None else ""
        for text in (host, node.ip, pen.groups(node), numbers):
            room = end - pen.width(figures) - line.column - 4
            if text and pen.name_width(text) <= room:
                pen.put_name(line, line.column + 2, text, room, MUTED, "end" if text == node.ip else "start")
        line.put(end - pen.width(figures), "")
        pen.write(line, figures, pen.width(figures))

    def _line_without_gpus(self, lines: Sequence[LineBuilder], node: Node, overlay: Overlay | None) -> None:
        """The name of a node, what is on it, and how it is doing, on one line if what is on it needs no more."""
        pen, line, start = self.pen, lines[0], self._lane_start(node) or self.width
        pen.put_name(line, 0, node.name, start - 1, NAME)
        entries, groups = self._lane(node, overlay), pen.groups(node) or "no GPU"
        if not self.gutter and line.column + 2 + pen.name_width(groups) < start:
            pen.put_name(line, line.column + 2, groups, start - line.column - 3, MUTED, "start")
        lanes.write(pen, lines[self._main(node) :], entries)
        end = self.gutter + self.body
        figures = self._figures(node, (), overlay, end - line.column - 2)
        if not self.gutter:
            line.put(end - pen.width(figures), "")
            pen.write(line, figures, pen.width(figures))

    def _figures(self, node: Node, cells: Sequence[Cell], overlay: Overlay | None, room: int) -> Line:
        """How a node is doing, or how many of its ranks are alive while they start; the first is dropped first."""
        pen, sample = self.pen, overlay.observation.node(node.rank) if overlay else None
        figures = list(node_figures(pen, sample, cells, roomy=bool(self.size.border) and self.width >= 120))
        if overlay is not None and overlay.launching:
            ranks = {(one.component, one.rank) for cell in cells for one in cell.device.occupants}
            states = [overlay.state_of(*rank) for rank in ranks]
            figures = [[Run(str(states.count("alive")), NAME), Run(f"/{len(states)} alive", MUTED)]] if states else []
        while figures and sum(pen.width(one) + 3 for one in figures) - 3 > room:
            figures.pop(0)
        return tuple(run for place, one in enumerate(figures) for run in ([Run("   ", TEXT)] * bool(place) + one))


def _evened(units: Sequence[int], heights: Sequence[float]) -> list[float]:
    """Heights with those of equal shares in equal whole lines; the largest share takes what that leaves or costs."""
    most = max(units)

    def evened(whole: Callable[[float], int]) -> list[float]:
        even = [whole(height) if held < most else 0 for held, height in zip(units, heights, strict=True)]
        each = (sum(heights) - sum(even)) / units.count(most)
        return [each if held == most else height for held, height in zip(units, even, strict=True)]

    rounded = evened(round)
    return rounded if rounded[units.index(most)] == max(rounded) else evened(int)
