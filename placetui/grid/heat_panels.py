"""What stands beside the heat wall: its scale, a map of all nodes, how the values spread, and the highest of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import nlargest
from math import sqrt
from typing import NamedTuple

from placetui.grid.densities import METRICS, HeatMetric, Place
from placetui.grid.densities.heat import COLDEST, HOTTEST, heat_of
from placetui.grid.drawing import Drawing
from placetui.grid.look.style import (
    FAINT,
    LEVELS,
    MUTED,
    NAME,
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
)
from placetui.placement.plan import GPU
from placetui.placement.wording import GIB


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
    def ends(self) -> tuple[str, str]:
        """What the scale begins and ends with: `0`, `80 GiB`."""
        if self.metric == "temperature":
            return f"{COLDEST}", f"{HOTTEST}{self._pen.glyphs.degree}"
        if self.metric == "memory" and (total := self._total):
            return "0", f"{total / GIB:.0f} GiB"
        return "0", "100%"

    @property
    def _total(self) -> int | None:
        """Memory of a GPU, where all have the same as the first."""
        overlay = self._drawing.overlay
        nodes = overlay.observation.nodes if overlay else ()
        return next((one.memory_total for node in nodes for one in node.devices if one.memory_total), None)

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
        """`0 ▉▉▉▉▉▉ 80 GiB   ▲ above a threshold   ✗ dead`, as much of it as fits."""
        line = LineBuilder()
        if self.metric != "state":
            low, high = self.ends
            line.add(f"{low} ", MUTED)
            steps = max(4, min(16, width - len(low) - len(high) - 2))
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

    def minimap(self, width: int, height: int, first: int, last: int) -> list[Line]:
        """All nodes in `height` lines; between two bars the lines of the wall in view, from `first` up to `last`."""
        nodes = self._drawing.nodes
        cells = max(1, width - 10)
        halves = 2 * height
        if not len(nodes):
            return []
        left, right = tuple(self._pen.glyphs.cursor)
        across = self._drawing.across
        shown: str | None = None
        lines: list[Line] = []
        for y in range(height):
            start, end = (len(nodes) * row // height for row in (y, y + 1))
            in_view = start < last * across and max(end, start + 1) > first * across
            line = LineBuilder()
            line.add(right if in_view else " ", WHITE)
            for column in range(cells):
                paints = [self._bucket(2 * y + half, column, halves, cells) for half in (0, 1)]
                line.add(*self._cell(paints))
            line.add(left if in_view else " ", WHITE)
            letter = self._drawing.letter_of(nodes[min(start, len(nodes) - 1)])
            if letter and letter.text != shown:
                shown = letter.text
                line.add(f" {letter.text}", letter.style)
                line.add(f"{self._counts[letter.text]:>5}", MUTED)
            lines.append(line.finish(width))
        return lines

    def _bucket(self, row: int, column: int, rows: int, columns: int) -> int | None:
        """The level in the middle of some nodes; None where nothing is known."""
        number = len(self._drawing.nodes)
        start = number * (row * columns + column) // (rows * columns)
        end = max(start + 1, number * (row * columns + column + 1) // (rows * columns))
        known = [mean for node in self._drawing.nodes[start:end] if (mean := self._means.get(node)) is not None]
        return level_of(sum(known) / len(known)) if known else None

    @cached_property
    def _means(self) -> dict[int, float]:
        found: dict[int, list[float]] = {}
        for value in self.values:
            found.setdefault(value.node, []).append(value.percent)
        return {node: sum(values) / len(values) for node, values in found.items()}

    def _cell(self, levels: Sequence[int | None]) -> Run:
        top, bottom = levels
        if not self._pen.color or self._pen.ascii:
            known = [level for level in levels if level is not None]
            return Run(str(min(9, max(known) * 10 // LEVELS)) if known else " ", TEXT)
        paints = [paint("track") if level is None else level for level in (top, bottom)]
        return Run("▀", Style("heat", level=paints[0], ground="heat", under=paints[1]))

    @cached_property
    def _counts(self) -> Counter[str]:
        """Nodes by the letter of the component with the largest share of their first GPU."""
        return Counter(letter.text for node in self._drawing.nodes if (letter := self._drawing.letter_of(node)))

    def spread(self, width: int, height: int) -> list[Line]:
        """How many GPUs have which value, on a scale of roots so that few are seen beside many; then the axis."""
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
        low, high = self.ends
        return [*lines, (Run(low + high.replace(" GiB", "G").rjust(width - len(low)), FAINT),)]

    def highest(self, width: int, number: int) -> list[tuple[Line, Place]]:
        """`▲ 541/1 ━━━━━ 79.4 99%`: the GPUs with the highest values, and where they are."""
        overlay = self._drawing.overlay
        marked = overlay.marked if overlay else frozenset()
        return [
            (self._entry(one, width, one[1:] in marked), Place(one.node, GPU, one.device))
            for one in nlargest(number, self.values)
        ]

    def _entry(self, value: HeatValue, width: int, marked: bool) -> Line:
        ground: Ground | None = "warning" if marked else None
        pen = self._pen
        sign = f"{pen.glyphs.above} " if marked else "  "
        name = f"{value.node}/{value.device}"
        figures = list(self._figures(value))
        room = max(0, min(12, width - len(sign) - max(7, len(name)) - sum(len(run.text) for run in figures) - 2))
        runs = [Run(sign, WARNING), Run(name.ljust(7), TEXT), Run(" ", TEXT)]
        level = level_of(value.percent)
        runs += pen.thin(value.percent / 100, room, Style("heat", level=level)) if room else ()
        runs += [Run(" ", TEXT), *figures]
        used = sum(len(run.text) for run in runs)
        runs.append(Run(" " * max(0, width - used), TEXT))
        return tuple(Run(run.text, pen.on(run.style, ground)) for run in runs)

    def _figures(self, value: HeatValue) -> Iterator[Run]:
        if self.metric == "temperature":
            yield Run(f"{COLDEST + value.percent / 100 * (HOTTEST - COLDEST):.0f}", NAME)
            yield Run(self._pen.glyphs.degree, MUTED)
            return
        if self.metric == "memory" and self._total:
            yield Run(f"{value.percent / 100 * self._total / GIB:.1f}", NAME)
            yield Run(f" {value.percent:3.0f}%", MUTED)
            return
        yield Run(f"{value.percent:3.0f}", NAME)
        yield Run("%", MUTED)
