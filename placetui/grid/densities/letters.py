"""Letters: one line per node, the residents of a GPU side by side, all else in a lane at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from placetui.grid.densities import lanes
from placetui.grid.densities.base import (
    GUTTER_GAP,
    MOST_DEVICES,
    CursorMark,
    DensityLayout,
    LayoutRequest,
    Place,
    Region,
)
from placetui.grid.densities.cell import Cell, worst
from placetui.grid.densities.rows import Extent, processes_on
from placetui.grid.look.style import FAINT, MUTED, NAME, TEXT, Line, LineBuilder, Run, Style
from placetui.grid.overlay import URGENCY, Overlay
from placetui.placement.plan import GPU

LEAST = 3
"""Columns of a GPU."""

NATURAL = 7
MOST = 15
"""Longer labels are shortened even where there is room for them."""

LANE = 30
"""Columns for robots and processes on nodes, where there are any."""

NARROW_LANE, LEAST_LANE = 20, 10
ROOMY = 100
"""From this width on there is room for groups and a wide lane."""

GROUPS = 12
"""Most columns that group names take beside the node's name."""

WIDEST_NAME = 22

Write = Callable[[Cell], list[Run]]


class Letters(DensityLayout):
    """The layout and the lines of the density that shows letters."""

    def __init__(self, request: LayoutRequest) -> None:
        super().__init__(request)
        pen, nodes, width = request.pen, request.nodes, request.width
        shown = [pen.plan.nodes[node] for node in nodes]
        roomy = width is None or width >= ROOMY
        self._lane_width = 0 if not lanes.has_lanes(pen, shown) else LANE if roomy else NARROW_LANE
        groups = min(GROUPS, max((pen.name_width(pen.groups(node)) for node in shown), default=0)) if roomy else 0
        names = min(WIDEST_NAME, max((4, *(pen.name_width(node.name) for node in shown))))
        self.devices = min(MOST_DEVICES, max((node.gpus for node in shown), default=0))
        across = max(1, self.devices)
        extents = {self.census[node] for node in nodes}
        self._ends = pen.glyphs.ends if pen.glyphs.ends in pen.moves.values() else ""
        """What can stand behind a rank."""
        self._longest = max((self._labels_of(extent)[0] for extent in extents), default=0)
        self._longest_short = max((self._labels_of(extent)[1] for extent in extents), default=0)
        self._mark = len(pen.glyphs.unfixed) if pen.plan.unfixed_nodes else 0
        """Columns of a cell for the sign that a place is not fixed."""
        wanted = min(MOST, max(NATURAL, self._longest + self.live + self._mark))
        lane = self._lane_width + 1 if self._lane_width else 0
        fixed = names + GUTTER_GAP + 1 + (groups + 2 if groups else 0) + lane
        self.cell = wanted
        if width is not None:
            fits = (width - fixed + 1) // across - 1
            if fits < LEAST:
                names = max(4, min(names, width - self._lane_width - across * (LEAST + 1)))
                groups = 0
            self.cell = max(LEAST, min(wanted, fits))
            # A lane gives way before lines get longer than they may be.
            over = names + 1 + across * (self.cell + 1) + lane - width + (groups + 2 if groups else 0)
            if lane and over > 0:
                self._lane_width = max(LEAST_LANE, self._lane_width - over)
                lane = self._lane_width + 1
        self._name = names
        self.gutter = names + 2 + (groups + 2 if groups else 0)
        self.pitch = self.cell + 1
        self._lane = self.gutter + across * self.pitch
        self.width = self._lane - 1 + lane
        if self._lane_width and width is not None:
            self.width = max(self.width, width)
        self.least_width = self.gutter + across * (LEAST + 1) - 1 + self._lane_width

    def _labels_of(self, extent: Extent) -> tuple[int, int]:
        """Columns that the labels on a device of such nodes take, where ranks have as many digits as they can.

        Also those where a rank that all on a device have is written once.
        """
        used, letters, ranks = [0] * extent.gpus, [0] * extent.gpus, [0] * extent.gpus
        for number, devices, _ in extent.holdings:
            mark = self.pen.by_number[number]
            label = mark.label(max(0, self.pen.world_sizes[number] - 1)) + self._ends
            for device in devices:
                used[device] += len(label)
                letters[device] += len(mark.letter)
                ranks[device] = max(ranks[device], len(label) - len(mark.letter))
        return max(used, default=0), max(map(sum, zip(letters, ranks, strict=True)), default=0)

    @cached_property
    def header(self) -> tuple[Line, ...]:
        line = LineBuilder()
        line.put(0, "node", FAINT)
        for device in range(self.devices):
            line.put(self._x(device), str(device)[-self.cell :], FAINT)
        if self._lane_width:
            line.put(self._lane + 2, "others", FAINT)
        return (line.finish(self.width),)

    def _x(self, device: int) -> int:
        return self.gutter + device * self.pitch

    def key(self) -> Iterator[tuple[Run, str]]:
        return self.shared_key(("restarting", "dead", "stale"), Style("warning"), Style("error"))

    def draw(self, band: int, overlay: Overlay | None) -> tuple[Line, ...]:
        node = self.node(band)
        gpus = [one for one in self.pen.plan.devices_of(node.rank) if one.kind == GPU and one.index < self.devices]
        cells = [Cell(self.pen, device, overlay) for device in gpus]
        line = LineBuilder()
        sign = worst(cells)
        self.pen.put_name(line, 0, node.name, self._name, sign.style if sign else NAME)
        if sign:
            line.put(self._name, sign.text[0], sign.style)
        room = self.gutter - self._name - 3
        if room > 2 and node.groups:
            self.pen.put_name(line, self._name + 2, self.pen.groups(node), room, MUTED)
        spans = {
            (process.component, process.rank): process.devices
            for process in processes_on(gpus, self.pen)
            if len(process.devices) > 1
        }
        for cell in cells:
            self._cell(line, cell, spans)
        for absent in range(len(cells), self.devices) if cells else ():
            line.put(self._x(absent), self.pen.glyphs.absent, FAINT)
        if self._lane_width:
            line.put(self._lane, self.pen.glyphs.divider, FAINT)
            lanes.write(self.pen, (line,), lanes.in_one_line(self.pen, node, self._lane + 2, self.width, overlay))
        return (line.finish(self.width),)

    @cached_property
    def _notation(self) -> Write:
        """Labels with ranks if all fit, in short if need be, else letters: all nodes look alike."""
        room = self.cell - (self.live or "oversubscribed" in self.census.signs) - self._mark
        if self._longest <= room:
            return self._labels
        return self._short_labels if self._longest_short <= room and self.census.same_ranks else self._letters

    def _labels(self, cell: Cell) -> list[Run]:
        """`A0R0`, `A8−R8−`."""
        return [
            run
            for one in cell.device.occupants
            for run in (self._letter(one.component, one.rank), *self._number(one.component, one.rank))
        ]

    def _letter(self, component: str, rank: int) -> Run:
        """On a tint, or underlined, if the rank moves to or comes from elsewhere; faint if it goes away."""
        letter, move = self.pen.label(component, "")[0], self.pen.moves.get((component, rank))
        if move is None:
            return letter
        if self._goes(component, rank):
            return Run(letter.text, FAINT)
        style, hue = letter.style, self.pen.marks[component].hue
        moved = style._replace(ground="moved", hue=hue) if self.pen.color else style._replace(underline=True)
        return Run(letter.text, moved)

    def _short_labels(self, cell: Cell) -> list[Run]:
        """`AR10`, `AW10R5`, `AR10−`: a rank that several components have is written once."""
        by_rank: dict[tuple[int, bool], list[str]] = {}
        for one in cell.device.occupants:
            by_rank.setdefault((one.rank, self._goes(one.component, one.rank)), []).append(one.component)
        runs: list[Run] = []
        for (rank, _), components in by_rank.items():
            runs += [self._letter(component, rank) for component in components]
            runs += self._number(components[-1], rank)
        return runs

    def _number(self, component: str, rank: int) -> list[Run]:
        """The rank, and the sign that it is removed."""
        number = self.pen.label(component, rank)[1]
        goes = self._goes(component, rank)
        return [number._replace(style=FAINT), Run(self.pen.glyphs.ends, FAINT)] if goes else [number]

    def _goes(self, component: str, rank: int) -> bool:
        """Whether a rank is removed, in the plan that is compared with this one."""
        return self.pen.moves.get((component, rank)) == self.pen.glyphs.ends

    def _letters(self, cell: Cell) -> list[Run]:
        """`AR`, `G×200`, `AB+`, `AR−`; where not all fit, those who need attention most come first."""
        occupants, overlay = cell.device.occupants, cell.overlay
        first = {one.component: one.rank for one in reversed(occupants)}
        present = list(dict.fromkeys(one.component for one in occupants))
        room = self.cell - self._mark - (len(cell.sign.text) if cell.sign else 0)
        runs: list[Run] = []
        if overlay is not None and sum(len(self.pen.marks[one].letter) for one in present) > room:
            ranks = [(one.component, one.rank) for one in occupants]
            worst = {name: overlay.worst_of(rank for rank in ranks if rank[0] == name) for name in present}
            present.sort(key=lambda name: URGENCY.index(worst[name] or "alive"))
        for position, component in enumerate(present):
            letter = self.pen.marks[component].letter
            used = _width(runs) + len(letter)
            if used > room or (used == room and position < len(present) - 1):
                runs.append(Run("+", MUTED))
                break
            runs.append(self._letter(component, first[component]))
        if len(present) == 1 and len(occupants) > 1:
            times = f"{self.pen.glyphs.times}{len(occupants)}"
            runs.append(Run(self.pen.cut(times, room - len(runs[0].text)), TEXT))
        if _width(runs) < room and all(self._goes(one.component, one.rank) for one in occupants):
            runs.append(Run(self.pen.glyphs.ends, FAINT))
        return runs

    def _cell(self, line: LineBuilder, cell: Cell, spans: dict[tuple[str, int], tuple[int, ...]]) -> None:
        pen, index, ground = self.pen, cell.index, cell.ground
        x = self._x(index)
        end = x + self.cell
        line.put(x, "")
        if cell.sign:
            line.add(cell.sign.text, pen.on(cell.sign.style, ground))
        runs = self._notation(cell) if cell.device.occupants else [Run(pen.glyphs.empty, FAINT)]
        if _width(runs) > end - line.column:
            runs = self._letters(cell)
        for run in runs:
            style = run.style if run.style.ground else pen.on(run.style, ground)
            line.add(run.text[: max(0, end - line.column)], style)
        if line.column < end and any(not pen.is_fixed(one.component, one.rank) for one in cell.device.occupants):
            line.add(pen.glyphs.unfixed, pen.on(MUTED, ground))
        for one in cell.device.occupants:
            others = spans.get((one.component, one.rank), ())
            style = pen.style("component", one.component, ground)
            if index + 1 in others:
                line.add(pen.glyphs.span * (end - line.column), style)
                line.add(pen.glyphs.span, pen.style("component", one.component))
                return
            if others and index - 1 not in others and line.column < end:
                line.add(pen.glyphs.right if others[0] == index else pen.glyphs.left, style)
                break
        line.add(" " * (end - line.column), pen.on(TEXT, ground))

    def locate(self, position: int, index: int, kind: str) -> Region | None:
        node = self.node(position)
        if kind == GPU:
            return Region(self._x(index), position, self.cell, 1) if index < min(node.gpus, self.devices) else None
        if not self._lane_width:
            return None
        place = Place(node.rank, kind, index)
        entries = lanes.in_one_line(self.pen, node, self._lane + 2, self.width)
        found = [one for one in entries if one.place == place]
        return Region(found[0].x, position, found[-1].x + found[-1].width - found[0].x, 1) if found else None

    def at(self, x: int, y: int) -> Place | None:
        position = self.position_at(x, y)
        if position is None or x < self.gutter:
            return None
        node = self.node(position)
        if x < self._lane:
            device, within = divmod(x - self.gutter, self.pitch)
            return Place(node.rank, GPU, device) if within < self.cell and device < node.gpus else None
        if not self._lane_width:
            return None
        entries = lanes.in_one_line(self.pen, node, self._lane + 2, self.width)
        return next((one.place for one in entries if one.x <= x < one.x + one.width), None)

    def cursor(self, position: int, index: int, kind: str, overlay: Overlay | None) -> Iterator[CursorMark]:
        if region := self.locate(position, index, kind):
            yield CursorMark(region.x, region.y, region.width)


def _width(runs: Sequence[Run]) -> int:
    return sum(len(run.text) for run in runs)
