"""The top line: the file, its topology, its problems, and the totals of the cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.reactive import reactive

from placetui.grid import Line, Run, Style, clean
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.meters import gradient
from placetui.grid.look.style import ERROR, MUTED, NAME, OK, TEXT, WARNING
from placetui.grid.look.text import cut
from placetui.grid.marks import ROLES
from placetui.observe.totals import Totals
from placetui.placement.wording import GIB, count
from placetui.tui.widgets.panel import Bar

STRIPES = tuple(ROLES.index(role) for role in ("actor", "rollout", "reward"))
"""Hues of the name."""

NAMED = 50
"""Columns from which on there is room for the program's name."""

METER = 7
"""Columns of a meter."""


@dataclass(frozen=True, slots=True)
class TopLine:
    """What the top line says."""

    file: str = ""
    topology: str = ""
    """`2 nodes × 8 GPUs (assumed)`."""

    mode: str = ""
    marks: tuple[str, ...] = ()
    """Words that must not be missed: `edited`, `what if`, `OLD`."""

    totals: Totals | None = None
    ranks: int = 0
    """As planned."""

    gpus: tuple[int, int] = (0, 0)
    """Planned GPUs in use, and all."""

    drift: int = 0
    """Differences between plan and reality."""

    alerts: int = 0
    """Values beyond their thresholds."""

    errors: int = 0
    warnings: int = 0
    figures: tuple[tuple[int, str], ...] = ()
    """Of a rule that is typed: how many ranks move, stay and so on."""
    stale: bool = False
    """Whether the cluster is not seen any more: then nothing is said to be fine."""

    note: str = ""
    """What stands at the right in place of figures."""

    ascii: bool = False


class Part(NamedTuple):
    """Something at the right of the top line."""

    weight: int
    """Parts of the largest weight are left out first."""

    runs: tuple[Run, ...]
    action: str = ""
    """What a click on it does."""

    gap: int = 2
    """Columns before it."""

    @property
    def width(self) -> int:
        return _width(self.runs) + self.gap


class StatusBar(Bar):
    """One line; the least important parts are dropped if they do not fit."""

    status: reactive[TopLine] = reactive(TopLine(), repaint=False)

    watch_status = Bar.update

    def lines(self) -> list[Line]:
        status, width = self.status, self.size.width
        head, tail = self._head(status), self._tail(status)
        mode = (Run(f"   {status.mode}", MUTED),) if status.mode else ()
        topology = (Run(f"   {status.topology}", MUTED),) if status.topology else ()
        parts = self._parts(status)
        all_of_it, most_of_it, least = (
            _width(tail) + sum(part.width for part in parts if part.weight < weight) for weight in (6, 4, 2)
        )
        name = os.path.basename(status.file)
        for middle, file, wanted in (
            ((*topology, *mode), status.file, all_of_it),
            ((*topology, *mode), name, all_of_it),
            (topology, name, all_of_it),
            (topology, name, most_of_it),
            ((), name, most_of_it),
            ((), name, least),
        ):
            if _width(head) + cell_len(file) + _width(middle) + wanted < width:
                break
        else:
            room = max(8, width - _width(head) - least - 1)
            file = cut(name, room, keep="end", ellipsis=glyphs(status.ascii).ellipsis)
            middle = ()
        left = [*head, Run(clean(file, status.ascii) or "no file", NAME), *tail, *middle]
        room = width - _width(left) - 1
        while parts and sum(part.width for part in parts) > room:
            heaviest = max(part.weight for part in parts)
            parts = [part for part in parts if part.weight < heaviest]
        right = [run for part in parts for run in (Run(" " * part.gap, TEXT), *part.runs)]
        gap = width - _width(left) - _width(right) - 1
        return [(*left, Run(" " * max(0, gap), TEXT), *right)]

    def _head(self, status: TopLine) -> list[Run]:
        stripes = [] if status.ascii else [Run("▌", Style("component", hue, ground="white")) for hue in STRIPES]
        if self.size.width < NAMED:
            return [*stripes, Run(" ", TEXT)]
        return [*stripes, Run(" placetui ", Style("text", bold=True, ground="white")), Run("  ", TEXT)]

    def _tail(self, status: TopLine) -> list[Run]:
        return [Run(f"  {mark}", WARNING) for mark in status.marks]

    def _parts(self, status: TopLine) -> list[Part]:
        """All that can stand at the right, from left to right."""
        if status.note:
            return [Part(0, (Run(status.note, MUTED),))]
        signs, totals = glyphs(status.ascii), status.totals
        dead, above = signs.states["dead"], signs.above
        parts: list[Part] = []
        if status.errors:
            parts.append(Part(0, (Run(f"{dead} {count(status.errors, 'error')}", ERROR),), "next_problem"))
        if status.warnings:
            parts.append(Part(1, (Run(f"{above} {count(status.warnings, 'warning')}", WARNING),), "next_problem"))
        dead_ranks = 0 if totals is None else sum(totals.dead.values())
        if status.drift > dead_ranks:  # dead ranks are said beside those that are alive
            differs = Run(f"{signs.differs} {status.drift - dead_ranks} drift", ERROR)
            parts.append(Part(6 if dead_ranks else 0, (differs,), "view_drift"))
        if status.alerts:
            parts.append(Part(1, (Run(f"{above} {count(status.alerts, 'alert')}", WARNING),), "view_drift"))
        well = not parts and not status.stale and (totals is None or totals.ranks_alive == totals.ranks)
        if well and (totals is None or not totals.ranks):
            parts.append(Part(1, (Run("ok" if status.ascii else "✓ fine", OK._replace(bold=True)),)))
        for figure, word in status.figures:
            weight = 3 if word == "stay" else 1
            parts.append(Part(weight, (Run(f"{figure:,}", NAME), Run(f" {word}", MUTED))))
        if totals is None or not totals.gpus:
            if status.ranks:
                ranks = " rank" if status.ranks == 1 else " ranks"
                parts.append(Part(2, (Run(f"{status.ranks:,}", TEXT), Run(ranks, MUTED)), "view_ranks"))
            if status.ranks and status.gpus[1]:
                used, gpus = status.gpus
                parts.append(Part(3, (Run(f"{used:,}", TEXT), Run(f"/{gpus:,} GPUs", MUTED))))
            return parts
        if totals.ranks:
            alive = totals.ranks_alive
            style = ERROR if totals.dead else NAME
            words = (Run(f"{alive:,}", style), Run(f"/{totals.ranks:,}", TEXT), Run(" ranks alive", MUTED))
            sign = Run(f"{dead} ", ERROR) if totals.dead else Run(f"{signs.done} " if well else "", OK)
            parts.append(Part(0 if totals.dead else 2, (sign, *words), "view_ranks"))
        if totals.memory_percent is not None:
            busy = Run(f"{totals.busy:,}", TEXT), Run(f"/{totals.gpus:,} GPUs busy", MUTED)
            parts.append(Part(6, busy, "view_processes"))
            parts.append(Part(3, (Run("mem", MUTED),)))
            parts.append(Part(5, tuple(gradient(signs, METER, totals.memory_percent)), gap=1))
            parts.append(Part(3, _memory(totals.memory_used or 0, totals.memory_total or 0), gap=1))
        if totals.load is not None:
            parts.append(Part(4, (Run("load", MUTED),)))
            parts.append(Part(5, tuple(gradient(signs, METER, totals.load)), gap=1))
            parts.append(Part(4, (Run(f"{totals.load:.0f}", NAME), Run(" %", MUTED)), gap=1))
        if totals.power is not None:
            size, unit = (1e6, "MW") if totals.power >= 1e6 else (1e3, "kW")
            parts.append(Part(7, (Run(f"{totals.power / size:.1f}", NAME), Run(f" {unit}", MUTED))))
        return parts

    async def on_click(self, event: events.Click) -> None:
        """What is counted at the right leads to the list of it."""
        x = self.size.width - 1
        parts = self._parts(self.status)
        shown = self.render().plain
        for part in reversed(parts):
            words = "".join(run.text for run in part.runs)
            if words not in shown:
                continue
            x -= part.width
            if event.x > x:
                if part.action:
                    await self.run_action(f"app.act({part.action!r})")
                return


def _memory(used: int, total: int) -> tuple[Run, ...]:
    size, unit = (GIB * 1024, "TiB") if total >= GIB * 1024 else (GIB, "GiB")
    figures = [f"{amount / size:.1f}" if amount / size < 10 else f"{amount / size:,.0f}" for amount in (used, total)]
    return Run(figures[0], NAME), Run(f"/{figures[1]} {unit}", MUTED)


def _width(runs: Sequence[Run]) -> int:
    return sum(cell_len(run.text) for run in runs)
