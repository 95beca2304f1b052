"""The heat wall: half a cell for a GPU, or a whole one, coloured by one of its values; outliers have a mark.

Of a plan without live data the value is how much of a GPU is promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from weakref import ref

from placetui.grid.densities.base import CursorMark, DensityLayout, HeatMetric, LayoutRequest, Place, Region
from placetui.grid.densities.rows import Extent
from placetui.grid.look.style import (
    FAINT,
    MUTED,
    NAME,
    SHADED,
    TEXT,
    Line,
    LineBuilder,
    Run,
    Style,
    level_of,
    paint,
    plain,
)
from placetui.grid.overlay import Overlay
from placetui.grid.pen import MOST_LETTERS
from placetui.observe.model import DeviceSample, NodeSample
from placetui.placement.plan import GPU, SHARE_UNITS

NATURAL_WIDTH = 120
NARROWEST_BODY = 8
COLDEST, HOTTEST = 20, 100
"""Ends of the scale of temperatures, in °C."""

PROMISED = 0.5
"""Part of the scale for a GPU that is promised whole: in a plan that is as it should be, and no heat."""

PEERS = 1024
"""GPUs of a component that are sampled to find the usual value."""

FAR_BELOW = 0.5
"""A value below this part of what nearly all of its peers reach is an outlier."""

NEARLY_ALL = 20
"""One in so many may be below: where more are, they wait for something together, and none is an outlier."""

STEP = 5
"""Percent in which that value is taken."""

NOTICEABLE = 20
"""Percent from which on there is something to fall far below of."""

UPPER = "▀"
ABSENT = Run(" ", TEXT)
SIGNED = Style("text", bold=True, ground="white")
DEAD = Style("white", bold=True, ground="alarm")
TRACK = paint("track")


def heat_of(sample: DeviceSample | None, metric: HeatMetric) -> float | None:
    """A value of a GPU in percent of its scale; None where it is not known."""
    if sample is None:
        return None
    if metric == "memory":
        return sample.memory_percent
    if metric == "load":
        return sample.utilization
    if metric == "temperature" and sample.temperature is not None:
        return 100 * (sample.temperature - COLDEST) / (HOTTEST - COLDEST)
    return None


class Heat(DensityLayout):
    """The layout and the lines of the heat wall."""

    pitch = 1

    def __init__(self, request: LayoutRequest) -> None:
        super().__init__(request)
        pen, nodes, width = request.pen, request.nodes, request.width
        self.metric = request.metric
        self._component = None if request.component is None else pen.order.get(request.component)
        """Number of the component that it is about."""

        gpus = max((pen.plan.nodes[node].gpus for node in nodes), default=0)
        self._whole = request.spare > 0
        """Whether there is a whole cell for each GPU."""

        self.columns = max(1, gpus if self._whole else -(-gpus // 2))
        """Cells of a node: the first half of its GPUs above, the others below, if not one for each."""

        self._block = self.columns + max(1, request.spare)
        self._digits = len(str(max(nodes, default=0)))
        self._letters = 1 if self.live else max(1, min(MOST_LETTERS, self.census.most_components))
        """Letters beside a line: of a plan nothing else says who is there."""

        self.gutter = self._digits + 2 + self._letters + bool(pen.plan.unfixed_nodes)
        fits = max(1, ((width or NATURAL_WIDTH) - self.gutter + 1) // self._block)
        across = min(fits, max(1, len(nodes)))
        # Round numbers of nodes in a line are easier to count.
        step = next((one for one in (10, 8, 4, 2) if across >= 2 * one and across % one <= across // 8), 1)
        self.across = across - across % step if across < len(nodes) else across
        self.width = self.gutter + max(NARROWEST_BODY, self.across * self._block - 1)
        self.least_width = self.gutter + max(NARROWEST_BODY, self._block)
        self._runs: dict[tuple[int, int], Run] = {}
        self._known: dict[Extent, Line] = {}
        """Plans of nodes that look alike."""
        self._aside: dict[Extent, frozenset[int]] = {}
        """By what is on a node, the GPUs without the component that the wall is about."""
        self._cells: dict[int, tuple[tuple[int, ...], ...]] = {}
        """By the number of a node's GPUs: those of each cell, the upper one first."""
        self._last: dict[int, tuple[NodeSample | None, Line]] = {}
        """How nodes of which there is nothing to say were drawn last: most of them have not changed since."""
        self._floors: tuple[ref[Overlay] | None, dict[int, float]] = None, {}
        """By component, what is far below its peers in the overlay drawn last, which is not kept alive for it."""
        self._fallen: set[int] = set()
        """Nodes that were drawn with a GPU far below its peers."""

    # Where things are

    def _x(self, position: int) -> int:
        return self.gutter + position % self.across * self._block

    def position_at(self, x: int, y: int) -> int | None:
        block = (x - self.gutter) // self._block
        if not 0 <= y < self.height or x < self.gutter or block >= self.across:
            return None
        position = y * self.across + block
        return position if position < len(self.nodes) else None

    def locate(self, position: int, index: int, kind: str) -> Region | None:
        node = self.node(position)
        if kind != GPU or index >= node.gpus:
            return None
        return Region(self._x(position) + index % self.columns, position // self.across, 1, 1)

    def at(self, x: int, y: int) -> Place | None:
        """The GPU in the upper half of a cell."""
        position = self.position_at(x, y)
        if position is None:
            return None
        node, index = self.node(position), x - self._x(position)
        return Place(node.rank, GPU, index) if index < min(self.columns, node.gpus) else None

    def cursor(self, position: int, index: int, kind: str, overlay: Overlay | None) -> Iterator[CursorMark]:
        """The node between two bars, and the number of the GPU; a sign stays in view."""
        region = self.locate(position, index, kind)
        if region is None:
            return
        x = self._x(position)
        left, right = tuple(self.pen.glyphs.cursor)
        yield CursorMark(x - 1, region.y, 1, right, inverse=False)
        yield CursorMark(x + self.columns, region.y, 1, left, inverse=False)
        if plain(self._node(self.nodes[position], overlay))[region.x - x] == UPPER:
            yield CursorMark(region.x, region.y, 1, str(index)[-1])
        else:
            yield CursorMark(region.x, region.y, 1)

    @cached_property
    def header(self) -> tuple[Line, ...]:
        """How many nodes after the first of its line each one is, where they follow each other."""
        first = self.nodes[0] if len(self.nodes) else 0
        if any(node != first + position for position, node in enumerate(self.nodes)):
            return ()
        line = LineBuilder()
        every = -(-(len(str(self.across)) + 2) // self._block)
        for node in range(0, self.across, every):
            line.put(self.gutter + node * self._block, f"+{node}", FAINT)
        return (line.finish(self.width),)

    def key(self) -> Iterator[tuple[Run, str]]:
        glyphs = self.pen.glyphs
        if not self.live:
            for percent, value in ((0, ".00"), (50, ".50"), (100, "1.0 promised")):
                yield self._sample(percent, PROMISED), value
            yield (Run(glyphs.eighths[-1], Style("track")) if self._colored else Run(glyphs.empty, FAINT)), "free"
            yield from self.pen.unfixed_key()
            yield Run(glyphs.states["dead"], DEAD), "oversubscribed"
            return
        yield from self.pen.unfixed_key()
        yield Run(glyphs.above, SIGNED), "above threshold"
        yield Run(glyphs.differs, SIGNED), "not as planned"
        if self.metric in ("memory", "load"):
            yield Run(glyphs.below, SIGNED), "far below"
        yield Run(glyphs.states["restarting"], SIGNED), "restarting"
        yield Run(glyphs.states["dead"], DEAD), "dead"
        yield Run("??", NAME), "stale"

    @property
    def drawn_signs(self) -> frozenset[str]:
        return frozenset(["far below"] if self._fallen else [])

    # Drawing

    def draw(self, band: int, overlay: Overlay | None) -> tuple[Line, ...]:
        """One line: the number and letters of its first node, then all its nodes."""
        first = band * self.across
        line = LineBuilder()
        node = self.nodes[first]
        line.add(str(node).rjust(self._digits), MUTED)
        letters = self.pen.letters(self.census[node].components)[: self._letters]
        line.put(self._digits + 1, "")
        line.extend(letters, len(letters))
        positions = range(first, min(first + self.across, len(self.nodes)))
        if any(self.nodes[position] in self.pen.plan.unfixed_nodes for position in positions):
            line.put(self._digits + 1 + self._letters, self.pen.glyphs.unfixed, MUTED)
        for position in positions:
            line.put(self._x(position), "")
            line.extend(self._node(self.nodes[position], overlay), self.columns)
        return (line.finish(self.width),)

    def _node(self, node: int, overlay: Overlay | None) -> Line:
        extent = self.census[node]
        seen = overlay.observation.node(node) if overlay else None
        if overlay is not None and seen is not None and seen.stale:
            signs = Run("?" * min(2, self.columns), NAME)
            before = max(0, self.columns - 2) // 2
            hatch = [Run(self.pen.glyphs.hatch * cells, FAINT) for cells in (before, self.columns - 2 - before)]
            return _joined([hatch[0], signs, hatch[1]])
        if overlay is None:
            if extent not in self._known:
                whole, shown = extent.promised, extent.promised_to(self._component)
                self._known[extent] = _joined(self._planned(whole, shown, halves) for halves in self._cells_of(extent))
            return self._known[extent]
        floors = self._floors_in(overlay)
        quiet = node not in overlay.noted_nodes and self.metric != "state"
        if quiet and (last := self._last.get(node)) is not None and last[0] is seen:
            return last[1]
        self._fallen.discard(node)
        runs = _joined(
            self._measured(node, halves, overlay, seen, floors) if halves else ABSENT
            for halves in self._cells_of(extent)
        )
        if quiet:
            self._last[node] = seen, runs
        return runs

    def _cells_of(self, extent: Extent) -> tuple[tuple[int, ...], ...]:
        if extent.gpus not in self._cells:
            columns = ((column,) if self._whole else (column, column + self.columns) for column in range(self.columns))
            self._cells[extent.gpus] = tuple(
                tuple(index for index in column if index < extent.gpus) for column in columns
            )
        return self._cells[extent.gpus]

    def _planned(self, whole: Sequence[int | None], shown: Sequence[int | None], halves: Sequence[int]) -> Run:
        """What is promised of GPUs, by what is promised of all of them as a whole, and what is shown of that."""
        if not halves:
            return ABSENT
        if any((whole[index] or 0) > SHARE_UNITS for index in halves):
            return Run(self.pen.glyphs.states["dead"], DEAD)
        promised = [None if (units := shown[index]) is None else 100 * units / SHARE_UNITS for index in halves]
        if self._colored:
            return self._half_blocks([TRACK if one is None else level_of(PROMISED * one) for one in promised])
        known = [one for one in promised if one is not None]
        return self._sample(max(known)) if known else Run(self.pen.glyphs.empty, FAINT)

    def _sample(self, percent: float, part: float = 1.0) -> Run:
        """A value as the wall shows it, in colours of so great a part of the scale."""
        if self._colored:
            return Run(self.pen.glyphs.eighths[-1], Style("heat", level=level_of(part * percent)))
        return Run(str(min(9, int(percent / 10))), TEXT)

    @property
    def _colored(self) -> bool:
        return self.pen.color and not self.pen.ascii

    def _half_blocks(self, paints: Sequence[int]) -> Run:
        key = paints[0], paints[-1] if len(paints) > 1 or self._whole else paint("ground")
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = Run(UPPER, Style("heat", level=key[0], ground="heat", under=key[1]))
        return run

    def _measured(
        self, node: int, halves: Sequence[int], overlay: Overlay, seen: NodeSample | None, floors: Mapping[int, float]
    ) -> Run:
        residents, aside = self.census[node].largest, self._set_aside(self.census[node])
        paints: list[int] = []
        warmest: float | None = None
        for index in halves:
            shade = SHADED if index in aside else 0
            if (node, index) in overlay.noted and (sign := self._sign(node, index, overlay)):
                return sign
            if self.metric == "state":
                paints.append(shade + _state_paint(overlay, node, index, residents[index]))
                continue
            value = heat_of(seen.device(index) if seen else None, self.metric)
            if value is None:
                paints.append(shade + TRACK)
                continue
            component = residents[index]
            if component is not None and value < floors.get(component, 0.0):
                self._fallen.add(node)
                return Run(self.pen.glyphs.below, SIGNED)
            paints.append(shade + level_of(value))
            if warmest is None or value > warmest:
                warmest = value
        if self._colored:
            return self._half_blocks(paints)
        if self.metric == "state":
            state = overlay.state_on(node, halves[0])
            return self.pen.state(state) if state else Run(self.pen.glyphs.empty, FAINT)
        if warmest is None:
            return Run(" ", TEXT)
        return self._sample(warmest)._replace(style=FAINT if aside.issuperset(halves) else TEXT)

    def _set_aside(self, extent: Extent) -> frozenset[int]:
        """GPUs of a node that the wall is not about."""
        if self._component is None:
            return frozenset()
        if extent not in self._aside:
            promised = extent.promised_to(self._component)
            self._aside[extent] = frozenset(index for index, units in enumerate(promised) if units is None)
        return self._aside[extent]

    def _sign(self, node: int, index: int, overlay: Overlay) -> Run | None:
        """Marks that are independent of the metric."""
        state = overlay.state_on(node, index)
        if state == "dead":
            return Run(self.pen.glyphs.states["dead"], DEAD)
        if overlay.is_drifting(node, index):
            return Run(self.pen.glyphs.differs, SIGNED)
        if alerts := overlay.alerts_on(node, index):
            return Run(self.pen.glyphs.below if alerts == {"load_below"} else self.pen.glyphs.above, SIGNED)
        if state == "restarting":
            return Run(self.pen.glyphs.states["restarting"], SIGNED)
        return None

    def _floors_in(self, overlay: Overlay) -> Mapping[int, float]:
        if self._floors[0] is None or self._floors[0]() is not overlay:
            usual = self._reached_values(overlay) if self.metric in ("memory", "load") else {}
            # In whole steps, so that they seldom move and what was drawn by them holds.
            floors = {
                one: FAR_BELOW * STEP * round(value / STEP) for one, value in usual.items() if value >= NOTICEABLE
            }
            if floors != self._floors[1]:
                self._last.clear()
            self._floors = ref(overlay), floors
        return self._floors[1]

    def _reached_values(self, overlay: Overlay) -> dict[int, float]:
        """By component, what nearly all reach; of many GPUs a sample."""
        found: dict[int, list[float]] = {}
        nodes = overlay.observation.nodes
        for sample in nodes[:: max(1, 8 * len(nodes) // PEERS)]:
            if not 0 <= sample.rank < len(self.pen.plan.nodes) or sample.stale:
                continue
            residents = self.census[sample.rank].largest
            for device in sample.devices:
                component = residents[device.index] if 0 <= device.index < len(residents) else None
                value = heat_of(device, self.metric)
                if component is not None and value is not None:
                    found.setdefault(component, []).append(value)
        return {
            component: sorted(values)[max(1, len(values) // NEARLY_ALL)]
            for component, values in found.items()
            if len(values) > 2
        }


def _joined(runs: Iterable[Run]) -> Line:
    """Runs of one look as one."""
    line = LineBuilder()
    for run in runs:
        line.add(run.text, run.style)
    return tuple(line.runs)


def _state_paint(overlay: Overlay, node: int, index: int, resident: int | None) -> int:
    state = overlay.state_on(node, index)
    if state == "starting":
        return paint("text")
    if state == "pending" or resident is None:
        return TRACK
    return SHADED + paint("muted")
