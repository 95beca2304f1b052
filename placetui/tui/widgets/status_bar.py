"""The top line: the file, its topology, its problems, and the totals of the cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len
from textual import events
from textual.reactive import reactive

from placetui.grid import Line, Run, Style, clean
from placetui.grid.look.glyphs import Glyphs, glyphs
from placetui.grid.look.meters import gradient
from placetui.grid.look.style import ERROR, MUTED, NAME, OK, TEXT, WARNING
from placetui.grid.look.text import cut
from placetui.grid.marks import ROLES
from placetui.observe.totals import Totals
from placetui.placement.wording import GIB
from placetui.tui.widgets.panel import Bar

STRIPES = tuple(ROLES.index(role) for role in ("actor", "rollout", "reward"))
"""Hues of the name."""

NAMED = 50
"""Columns from which on there is room for the program's name."""

METER = 7
"""Columns of a meter."""

MIN_NAME = 8
"""Columns of a file's name at least."""


Runs: TypeAlias = tuple[Run, ...]

GIVES_WAY = (
    *("power", "busy", "path", "mode", "source", "words", "meter", "model", "load", "unit", "memory", "topology"),
    *("ranks", "note"),
)
"""What is left out of a line that is too long, in this order."""


@dataclass(frozen=True, slots=True)
class TopLine:
    """What the top line says."""

    file: str = ""
    topology: str = ""
    """`2 nodes × 8 GPUs, assumed`."""

    mode: str = ""
    marks: tuple[str, ...] = ()
    """Words that must not be missed: `edited`, `what if`, `OLD`."""

    totals: Totals | None = None
    ranks: int = 0
    """As planned."""

    gpus: tuple[int, int] = (0, 0)
    """Planned GPUs in use, and all."""

    dead: int = 0
    """Ranks that are dead."""

    missing: int = 0
    """Ranks that are not seen."""

    drift: int = 0
    """All other differences between plan and reality, but for what is stale."""

    alerts: int = 0
    """Values beyond their thresholds."""

    stale: int = 0
    """Nodes that do not report."""

    errors: int = 0
    warnings: int = 0
    figures: tuple[tuple[int, str], ...] = ()
    """Of a rule that is typed: how many ranks move, stay and so on."""

    connected: bool = True
    """Whether the cluster is seen; if not, nothing is said to be fine."""

    note: str = ""
    """What stands at the right in place of figures."""

    ascii: bool = False


@dataclass(frozen=True, slots=True)
class BarPart:
    """Something in the top line."""

    runs: Runs
    shorter: tuple[tuple[str, Runs], ...] = ()
    """What is left of it once something gives way, by the name of that."""

    action: str = ""
    """What a click on it does."""

    gap: int = 2
    """Columns before it."""

    @classmethod
    def optional(cls, gives_way: str, *runs: Run, action: str = "", gap: int = 2) -> BarPart:
        """A part that is left out as a whole."""
        return cls(runs, ((gives_way, ()),), action, gap)

    def form(self, level: int) -> Runs:
        return self.shorter[level - 1][1] if level else self.runs

    def width(self, level: int) -> int:
        runs = self.form(level)
        return self.gap + _width(runs) if runs else 0


class StatusBar(Bar):
    """One line; the least important parts are shortened or left out if they do not fit."""

    status: reactive[TopLine] = reactive(TopLine(), repaint=False)

    watch_status = Bar.update

    _clickable: Sequence[tuple[int, int, str]] = ()
    """First column, the one after the last, and what a click there does."""

    def lines(self) -> list[Line]:
        status, width = self.status, self.size.width
        left, right = self._left(status), self._right(status)
        parts = fitted([*left, *right], width - 1)
        room = width - 1 - sum(part.width(0) for part in parts)
        if room < 0:
            (name,) = parts[1].runs
            shown = cut(name.text, max(MIN_NAME, cell_len(name.text) + room), ellipsis=glyphs(status.ascii).ellipsis)
            parts[1] = BarPart((name._replace(text=shown),), gap=0)
        line: list[Run] = []
        clickable: list[tuple[int, int, str]] = []
        x = 0
        for number, part in enumerate(parts):
            if number == len(left) and room > 0:
                line.append(Run(" " * room, TEXT))
                x += room
            line += [Run(" " * part.gap, TEXT), *part.runs]
            x += part.width(0)
            clickable.append((x - _width(part.runs), x, part.action))
        self._clickable = clickable
        return [(*line, Run(" " * max(0, width - x), TEXT))]

    def _left(self, status: TopLine) -> list[BarPart]:
        """The program, the file, and what is to be said of it."""
        stripes = [] if status.ascii else [Run("▌", Style("component", hue, ground="white")) for hue in STRIPES]
        program = Run(" placetui ", Style("text", bold=True, ground="white"))
        named = self.size.width >= NAMED
        path, name = (
            (Run(clean(one, status.ascii) or "no file", NAME),) for one in (status.file, os.path.basename(status.file))
        )
        parts = [
            BarPart((*stripes, program, Run("  ", TEXT)) if named else (*stripes, Run(" ", TEXT)), gap=0),
            BarPart(path, (("path", name),), gap=0),
            *(BarPart((Run(mark, WARNING),)) for mark in status.marks),
        ]
        if status.topology:
            shorter = zip(("source", "model", "unit"), _shorter(status.topology, status.ascii), strict=True)
            forms = ((name, (Run(words, MUTED),)) for name, words in shorter)
            parts.append(BarPart((Run(status.topology, MUTED),), (*forms, ("topology", ())), gap=3))
        if status.mode:
            parts.append(BarPart.optional("mode", Run(status.mode, MUTED), gap=3))
        return parts

    def _right(self, status: TopLine) -> list[BarPart]:
        """All that can stand at the right, from left to right."""
        if status.note:
            return [BarPart.optional("note", Run(status.note, MUTED))]
        parts, totals = list(self._wrong(status)), status.totals
        well = not parts and status.connected and (totals is None or totals.ranks_alive == totals.ranks)
        if well and (totals is None or not totals.ranks):
            parts.append(BarPart.optional("note", Run("ok" if status.ascii else "✓ fine", OK._replace(bold=True))))
        for figure, word in status.figures:
            words = Run(f"{figure:,}", NAME), Run(f" {word}", MUTED)
            parts.append(BarPart.optional("memory" if word == "stay" else "note", *words))
        if totals is None or not totals.gpus:
            if status.ranks:
                ranks = Run(f"{status.ranks:,}", TEXT), Run(" rank" if status.ranks == 1 else " ranks", MUTED)
                parts.append(BarPart.optional("ranks", *ranks, action="view_ranks"))
            if status.ranks and status.gpus[1]:
                used, gpus = status.gpus
                parts.append(BarPart.optional("memory", Run(f"{used:,}", TEXT), Run(f"/{gpus:,} GPUs", MUTED)))
            return parts
        return [*parts, *_figures(totals, glyphs(status.ascii), well)]

    def _wrong(self, status: TopLine) -> Iterator[BarPart]:
        """How much is wrong, by what it is: together as much as the tabs count."""
        signs = glyphs(status.ascii)
        lost = "missing" if not status.dead else "not alive" if status.missing else "dead"
        for number, sign, word, style, action in (
            (status.errors, signs.states["dead"], "errors", ERROR, "next_problem"),
            (status.warnings, signs.above, "warnings", WARNING, "next_problem"),
            (status.dead + status.missing, signs.states["dead"], lost, ERROR, "view_drift"),
            (status.drift, signs.differs, "drift", WARNING, "view_drift"),
            (status.alerts, signs.above, "alerts", WARNING, "view_drift"),
            (status.stale, signs.states["stale"], "stale", TEXT, "view_drift"),
        ):
            if number:
                word = word.removesuffix("s") if number == 1 else word
                short = (Run(f"{sign} {number:,}", style),)
                shorter = (("words", short),) if style is ERROR else (("words", short), ("note", ()))
                yield BarPart((Run(f"{sign} {number:,} {word}", style),), shorter, action)

    async def on_click(self, event: events.Click) -> None:
        """What is counted leads to the list of it."""
        for start, end, action in self._clickable:
            if action and start <= event.x < end:
                await self.run_action(f"app.act({action!r})")


def fitted(parts: Sequence[BarPart], width: int) -> list[BarPart]:
    """As much of some parts as fits: things give way in their order, and what has room in the end comes back."""
    steps = sorted(
        (GIVES_WAY.index(name), place, level)
        for place, part in enumerate(parts)
        for level, (name, _) in enumerate(part.shorter, 1)
    )
    levels = [0] * len(parts)
    room = width - sum(part.width(0) for part in parts)
    taken: list[tuple[int, int]] = []
    for _, place, level in steps:
        if room >= 0:
            break
        taken.append((place, level))
        room += parts[place].width(level - 1) - parts[place].width(level)
        levels[place] = level
    for place, level in reversed(taken):
        more = parts[place].width(level - 1) - parts[place].width(level)
        if levels[place] == level and more <= room:
            room -= more
            levels[place] = level - 1
    return [
        BarPart(runs, action=part.action, gap=part.gap if runs else 0)
        for part, level in zip(parts, levels, strict=True)
        for runs in [part.form(level)]
    ]


def _shorter(topology: str, ascii: bool) -> tuple[str, str, str]:
    """`2 nodes × 8 H100`, `2 nodes × 8` and `2 × 8` of `2 nodes × 8 H100, assumed`."""
    times = " x " if ascii else " × "
    whole = topology.partition(", ")[0]
    nodes, known, gpus = whole.partition(times)
    if not known:
        return whole, whole, whole
    each = gpus.partition(" ")[0]
    return whole, f"{nodes}{times}{each}", f"{nodes.partition(' ')[0]}{times}{each}"


def _figures(totals: Totals, signs: Glyphs, well: bool) -> Iterator[BarPart]:
    """Of the cluster: what is alive, and how full and busy it is."""
    if totals.ranks:
        alive = Run(f"{totals.ranks_alive:,}", ERROR if totals.dead else NAME)
        words = (alive, Run(f"/{totals.ranks:,}", TEXT), Run(" ranks alive", MUTED))
        yield BarPart.optional("ranks", *([Run(f"{signs.done} ", OK)] if well else []), *words, action="view_ranks")
    if totals.memory_percent is not None:
        busy = Run(f"{totals.busy:,}", TEXT), Run(f"/{totals.gpus:,} GPUs busy", MUTED)
        yield BarPart.optional("busy", *busy, action="view_processes")
        used = _memory(totals.memory_used or 0, totals.memory_total or 0)
        yield _metered("mem", signs, totals.memory_percent, used, "memory")
    if totals.load is not None:
        yield _metered("load", signs, totals.load, (Run(f"{totals.load:.0f}", NAME), Run(" %", MUTED)), "load")
    if totals.power is not None:
        size, unit = (1e6, "MW") if totals.power >= 1e6 else (1e3, "kW")
        yield BarPart.optional("power", Run(f"{totals.power / size:.1f}", NAME), Run(f" {unit}", MUTED))


def _metered(label: str, signs: Glyphs, percent: float, value: Runs, gives_way: str) -> BarPart:
    """A value with its meter, then without, then nothing."""
    begin, blank = Run(f"{label} ", MUTED), Run(" ", TEXT)
    whole = (begin, *gradient(signs, METER, percent), blank, *value)
    return BarPart(whole, (("meter", (begin, *value)), (gives_way, ())))


def _memory(used: int, total: int) -> tuple[Run, ...]:
    size, unit = (GIB * 1024, "TiB") if total >= GIB * 1024 else (GIB, "GiB")
    figures = [f"{amount / size:.1f}" if amount / size < 10 else f"{amount / size:,.0f}" for amount in (used, total)]
    return Run(figures[0], NAME), Run(f"/{figures[1]} {unit}", MUTED)


def _width(runs: Sequence[Run]) -> int:
    return sum(cell_len(run.text) for run in runs)
