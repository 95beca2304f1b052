"""What stands beside the heat wall: its scale, a map of all nodes, how the values spread, and the highest of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import nlargest, nsmallest
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import NamedTuple

from placetui.grid.densities import METRICS, HeatMetric, Place
from placetui.grid.densities.heat import COLDEST, HOTTEST, heat_of
from placetui.grid.drawing import Drawing
from placetui.grid.look.meters import graded
from placetui.grid.look.style import (
    FAINT,
    LEVELS,
    MUTED,
    NAME,
    SHADED,
    TEXT,
    WARNING,
    WHITE,
    Ground,
    Line,
    LineBuilder,
    Run,
    Style,
    level_of,
    paint,
    plain,
)
from placetui.grid.overlay import URGENCY
from placetui.observe.model import State
from placetui.observe.totals import Totals
from placetui.placement.plan import GPU
from placetui.placement.wording import GIB

LABEL = 7
"""Columns of a label, and of a figure beside a meter."""

MOST_ASKED = 64
"""Nodes of which the memory of a GPU is taken for all."""


class HeatValue(NamedTuple):
    """One GPU and its value on the scale."""

    percent: float
    node: int
    device: int


class HeatPanels:
    """The panels of one drawing; make new ones for another. What they need is worked out once, on first use."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._pen = drawing.pen
        self.metric: HeatMetric = drawing.metric
        self._maps: dict[tuple[int, int], list[list[int | None]]] = {}
        """What the map shows, by its lines and columns."""

    def follow(self, other: HeatPanels) -> bool:
        """Whether they stand beside the same wall, with other values."""
        return self._drawing.shares_layout(other._drawing)

    @cached_property
    def values(self) -> list[HeatValue]:
        """The values of all GPUs that are known, by node."""
        overlay = self._drawing.overlay
        if overlay is None:
            return []
        return [
            HeatValue(value, node.rank, device.index)
            for node in overlay.observation.nodes
            if not node.stale
            for device in node.devices
            if (value := heat_of(device, self.metric)) is not None
        ]

    @property
    def ends(self) -> tuple[str, str, str]:
        """What the scale begins with, has in its middle and ends with: `0`, `40`, `80 GiB`."""
        if self.metric == "temperature":
            return f"{COLDEST}", f"{(COLDEST + HOTTEST) // 2}", f"{HOTTEST}{self._pen.glyphs.degree}"
        if self.metric == "memory" and (total := self._total):
            return "0", f"{total / GIB / 2:.0f}", f"{total / GIB:.0f} GiB"
        return "0", "50", "100%"

    @cached_property
    def _total(self) -> int | None:
        """Memory of a GPU, where nodes all over the cluster have the same."""
        overlay = self._drawing.overlay
        nodes = overlay.observation.nodes if overlay else ()
        asked = nodes[:: max(1, len(nodes) // MOST_ASKED)]
        found = {node.devices[0].memory_total for node in asked if node.devices} - {None}
        return found.pop() if len(found) == 1 else None

    def title(self) -> Line:
        """The values that the wall can have, and which it has."""
        line = LineBuilder()
        line.add("Heat wall", NAME)
        line.add("  M ", NAME)
        for metric in METRICS:
            shown = metric == self.metric
            line.add(
                f" {metric} ", Style("text", bold=True, ground="white") if shown else MUTED._replace(ground="raised")
            )
        return tuple(line.runs)

    def scale(self, width: int) -> Line:
        """`0 ▉▉▉▉▉▉ 80 GiB   ✗ dead   ▲ above threshold`, as much of it as fits."""
        line = LineBuilder()
        if self.metric != "state":
            low, _, high = self.ends
            line.add(f"{low} ", MUTED)
            steps = max(4, min(16, width // 6))
            for step in range(steps):
                level = round(step / max(1, steps - 1) * (LEVELS - 1))
                shown = self._pen.glyphs.eighths[-1] if self._pen.color else str(step * 10 // steps)
                line.add(shown, Style("heat", level=level) if self._pen.color else TEXT)
            line.add(f" {high}", MUTED)
        for sign, meaning in self._drawing.signs():
            if line.column + len(sign.text) + len(meaning) + 4 > width:
                break
            line.put(line.column + (3 if line.column else 0), sign.text, sign.style)
            line.add(f" {meaning}", MUTED)
        return tuple(line.runs)

    def cluster(self, width: int, totals: Totals) -> list[Line]:
        """All of it in figures: `memory ━━━━━── 455/640T`."""
        gpus, nodes = self._drawing.free
        alive = Style("error", bold=True) if totals.dead else NAME
        rows: list[tuple[str, float | None, Sequence[Run]]] = [
            ("memory", totals.memory_percent, _amounts(totals.memory_used, totals.memory_total)),
            ("load", totals.load, [Run("n/a", MUTED)] if totals.load is None else _with(f"{totals.load:.0f}", "%")),
            ("temp", None, self._temperatures),
            ("ranks", None, [Run(f"{totals.ranks_alive:,}", alive), Run(f"/{totals.ranks:,} alive", MUTED)]),
            (
                "free",
                None,
                [*_with(f"{gpus:,}", " GPUs, "), *_with(f"{nodes:,}", " nodes")] if gpus else [Run("none", FAINT)],
            ),
        ]
        lines: list[Line] = []
        for label, percent, figures in rows:
            used = self._pen.width(figures)
            head = f"{label:<7}"[: max(0, width - used)]
            room = max(0, min(2 * LABEL, width - len(head) - max(used, LABEL) - 1))
            meter = graded(self._pen.glyphs, room, percent) if percent is not None and room > 2 else []
            gap = width - len(head) - used - self._pen.width(meter)
            lines.append((Run(head, MUTED), *meter, Run(" " * max(0, gap), TEXT), *figures))
        return lines

    @cached_property
    def _temperatures(self) -> list[Run]:
        overlay = self._drawing.overlay
        nodes = overlay.observation.nodes if overlay else ()
        found = [one.temperature for node in nodes for one in node.devices if one.temperature is not None]
        if not found:
            return [Run("n/a", MUTED)]
        degree = self._pen.glyphs.degree
        return [*_with(f"{median(found):.0f}", f"{degree} median, "), *_with(f"{max(found)}", f"{degree} max")]

    def minimap(self, width: int, height: int, first: int, last: int) -> list[Line]:
        """All nodes in `height` lines; between two bars the lines of the wall in view, from `first` up to `last`."""
        nodes = self._drawing.nodes
        if not len(nodes):
            return []
        counts = self._drawing.nodes_by_letters
        labels = max(map(len, counts)) + 2 + len(str(len(nodes)))
        cells = max(1, width - 4 - labels)
        left, right = tuple(self._pen.glyphs.cursor)
        across = self._drawing.across
        whole = first <= 0 and last * across >= len(nodes)
        levels = self._map_levels(height, cells)
        shown: str | None = None
        lines: list[Line] = []
        for y in range(height):
            start, end = (len(nodes) * row // height for row in (y, y + 1))
            in_view = start < last * across and max(end, start + 1) > first * across
            line = LineBuilder()
            line.add(f"{left} " if in_view and not whole else "  ", WHITE)
            for top, bottom in zip(levels[2 * y], levels[2 * y + 1], strict=True):
                line.add(*self._cell(top, bottom, shaded=not in_view))
            line.add(f" {right}" if in_view and not whole else "  ", WHITE)
            letters = self._drawing.letters_of(nodes[min(start, len(nodes) - 1)])
            name = plain(letters)
            if name != shown:
                shown = name
                line.extend((Run(" ", TEXT), *letters), 1 + len(name))
                line.add(str(counts[name]).rjust(width - line.column), MUTED)
            lines.append(line.finish(width))
        return lines

    def _map_levels(self, height: int, cells: int) -> list[list[int | None]]:
        """What half a cell of the map shows: the level in the middle of some nodes; None where nothing is known."""
        key = height, cells
        if key not in self._maps:
            nodes = self._drawing.nodes
            ends = [len(nodes) * number // (2 * height * cells) for number in range(2 * height * cells + 1)]
            found = [self._level_of(nodes[start : max(start + 1, end)]) for start, end in pairwise(ends)]
            self._maps[key] = [found[row * cells : (row + 1) * cells] for row in range(2 * height)]
        return self._maps[key]

    def _level_of(self, nodes: Sequence[int]) -> int | None:
        overlay = self._drawing.overlay
        if self.metric == "state" and overlay is not None:
            states = {state for node in nodes for state in self._states.get(node, ())}
            return paint("error_border") if "dead" in states else paint("text") if states else SHADED + paint("muted")
        known = [mean for node in nodes if (mean := self._means.get(node)) is not None]
        return level_of(sum(known) / len(known)) if known else None

    @cached_property
    def _states(self) -> dict[int, set[str]]:
        """States of the ranks on a node, where not all are alive."""
        found: dict[int, set[str]] = {}
        for (node, _), state in self._drawing.overlay.not_alive.items() if self._drawing.overlay else ():
            found.setdefault(node, set()).add(state)
        return found

    @cached_property
    def _means(self) -> dict[int, float]:
        found: dict[int, list[float]] = {}
        for value in self.values:
            found.setdefault(value.node, []).append(value.percent)
        return {node: sum(values) / len(values) for node, values in found.items()}

    def _cell(self, top: int | None, bottom: int | None, *, shaded: bool) -> Run:
        if not self._pen.color or self._pen.ascii:
            known = [level for level in (top, bottom) if level is not None and level >= 0]
            return Run(str(min(9, max(known) * 10 // LEVELS)) if known else " ", MUTED if shaded else TEXT)
        paints = [paint("track") if level is None else level for level in (top, bottom)]
        upper, lower = (SHADED + level if shaded else level for level in paints)
        return Run("▀", Style("heat", level=upper, ground="heat", under=lower))

    def spread(self, width: int, height: int) -> list[Line]:
        """How many GPUs have which value, on a scale of roots so that few are seen beside many; then the axis.

        Of states, how many ranks are in which.
        """
        if self.metric == "state":
            return self._ranks_by_state(width)
        columns = [0] * width
        for value in self.values:
            columns[min(width - 1, max(0, int(value.percent / 100 * width)))] += 1
        most = sqrt(max(1, *columns))
        eighths = [round(sqrt(number) / most * height * 8) or (1 if number else 0) for number in columns]
        ramp = self._pen.glyphs.ramp
        lines: list[Line] = []
        for y in reversed(range(height)):
            line = LineBuilder()
            for column, filled in enumerate(eighths):
                level = round(column / max(1, width - 1) * (LEVELS - 1))
                line.add(ramp[min(8, max(0, filled - 8 * y))], Style("heat", level=level))
            lines.append(tuple(line.runs))
        low, middle, high = (one.replace(" GiB", "G") for one in self.ends)
        before = max(0, width // 2 - len(low) - len(middle) // 2)
        axis = low + " " * before + middle
        return [*lines, (Run(axis + high.rjust(width - len(axis)), FAINT),)]

    def _ranks_by_state(self, width: int) -> list[Line]:
        overlay = self._drawing.overlay
        ranks = overlay.observation.ranks.values() if overlay else ()
        found = Counter(one.state for states in ranks for one in states)
        signs = [(self._pen.state(state), state, found[state]) for state in URGENCY if state != "stale"]
        return [
            (sign, Run(f" {state}", MUTED), Run(f"{number:,}".rjust(width - len(state) - 2), NAME if number else FAINT))
            for sign, state, number in signs
        ]

    def highest(self, width: int, number: int) -> list[tuple[Line, Place]]:
        """`▲ 541/1 ━━━━━ 79.4 99%`: the GPUs with the highest values, and where they are; of states, the worst ones."""
        overlay = self._drawing.overlay
        if overlay is None:
            return []
        if self.metric == "state":
            worst = nsmallest(number, overlay.not_alive.items(), key=lambda one: (URGENCY.index(one[1]), one[0]))
            return [
                (self._state_entry(node, index, state, width), Place(node, GPU, index))
                for (node, index), state in worst
            ]
        return [
            (self._entry(one, width, one[1:] in overlay.marked), Place(one.node, GPU, one.device))
            for one in nlargest(number, self.values)
        ]

    def _state_entry(self, node: int, index: int, state: State, width: int) -> Line:
        ground: Ground | None = "error" if state == "dead" else "warning" if state == "restarting" else None
        sign = self._pen.state(state)
        runs = [sign, Run(f" {node}/{index}".ljust(9), TEXT), Run(state.ljust(width - 10), sign.style)]
        return self._pen.tinted(runs, ground)

    def _entry(self, value: HeatValue, width: int, marked: bool) -> Line:
        ground: Ground | None = "warning" if marked else None
        pen = self._pen
        sign = f"{pen.glyphs.above} " if marked else "  "
        name = f"{value.node}/{value.device}"
        figures = list(self._figures(value))
        room = max(0, min(12, width - len(sign) - max(7, len(name)) - pen.width(figures) - 2))
        runs = [Run(sign, WARNING), Run(name.ljust(7), TEXT), Run(" ", TEXT)]
        runs += graded(pen.glyphs, room, value.percent) if room else ()
        used = pen.width((*runs, *figures))
        runs += [Run(" " * max(1, width - used), TEXT), *figures]
        return pen.tinted(runs, ground)

    def _figures(self, value: HeatValue) -> Iterator[Run]:
        if self.metric == "temperature":
            yield from _with(f"{COLDEST + value.percent / 100 * (HOTTEST - COLDEST):.0f}", self._pen.glyphs.degree)
            return
        if self.metric == "memory" and self._total:
            yield Run(f"{value.percent / 100 * self._total / GIB:.1f}", NAME)
            yield Run(f" {value.percent:3.0f}%", MUTED)
            return
        yield from _with(f"{value.percent:3.0f}", "%")


def _with(figure: str, unit: str) -> tuple[Run, Run]:
    return Run(figure, NAME), Run(unit, MUTED)


def _amounts(used: int | None, total: int | None) -> list[Run]:
    """`455/640T`, `1.1/1.2T`: bytes in the larger unit of the two."""
    if used is None or total is None:
        return [Run("n/a", MUTED)]
    unit, size = ("T", 1024 * GIB) if total >= 1024 * GIB else ("G", GIB)
    figures = [f"{part / size:,.{int(unit == 'T' and total < 10 * size)}f}" for part in (used, total)]
    return [Run(figures[0], NAME), Run(f"/{figures[1]}{unit}", MUTED)]
