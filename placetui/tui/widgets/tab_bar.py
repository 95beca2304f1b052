"""The tabs: where one is, and where else one can go. One line in short terminals, two in others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.reactive import reactive

from placetui.grid import Line, Run, Style, clean
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.style import ERROR, FAINT, MUTED, TEXT, WHITE, Ground
from placetui.grid.look.text import cut
from placetui.tui.actions import TABLES, View
from placetui.tui.widgets.panel import Bar

TABS: tuple[tuple[View, str, str], ...] = (
    ("grid", "Grid", "view_plan"),
    ("file", "File", "view_yaml"),
    ("processes", "Processes", "view_processes"),
    ("ranks", "Ranks", "view_ranks"),
    ("drift", "Drift", "view_drift"),
    ("groups", "Groups", "view_groups"),
    ("events", "Events", "view_events"),
)
"""View, label and action; the key of a tab is its number."""

LEAST_WORDS = 20
"""Columns that words at the right need at least."""


@dataclass(frozen=True, slots=True)
class Tabs:
    """What the tabs show."""

    view: View = "grid"
    live: bool = False
    """Whether there is anything behind those that need a cluster."""

    counts: dict[str, int] = field(default_factory=dict)
    """Of what there is to look after, by view."""

    words: tuple[tuple[str, bool], ...] = ()
    """What stands at the right, and whether it must not be missed."""

    ascii: bool = False


class _Tab(NamedTuple):
    start: int
    runs: tuple[Run, ...]
    width: int
    active: bool
    action: str


class TabBar(Bar):
    """Tabs, each with its key; a click goes there."""

    tabs: reactive[Tabs] = reactive(Tabs(), repaint=False)

    watch_tabs = Bar.update

    def _laid_out(self) -> list[_Tab]:
        tabs = list(self._tabs(short=False))
        return tabs if tabs[-1].start + tabs[-1].width <= self.size.width else list(self._tabs(short=True))

    def _tabs(self, short: bool) -> Iterator[_Tab]:
        one_line, x = self.size.height < 2, 1
        for number, (view, label, action) in enumerate(TABS, 1):
            active = self.tabs.view == view or (view, self.tabs.view) == ("file", "text")
            there = self.tabs.live or view not in TABLES
            ground: Ground | None = "raised" if active and one_line else None
            pad = Run(" ", TEXT._replace(ground=ground))
            name = WHITE if active else TEXT if there else FAINT
            runs = [pad, Run(str(number), (MUTED if there else FAINT)._replace(ground=ground))]
            if active or not short:
                runs.append(Run(f" {label}", name._replace(ground=ground)))
            if found := self.tabs.counts.get(view):
                dot = "!" if self.tabs.ascii else "•"
                runs.append(Run(f" {dot}{found}", ERROR._replace(ground=ground)))
            runs.append(pad)
            width = sum(cell_len(run.text) for run in runs)
            yield _Tab(x, tuple(runs), width, active, action)
            x += width + (0 if short else 1)

    def lines(self) -> list[Line]:
        """The tabs, then the line under them."""
        tabs = self._laid_out()
        return [tuple(self._labels(tabs)), tuple(self._rule(tabs))][: self.size.height]

    def _labels(self, tabs: list[_Tab]) -> list[Run]:
        runs, x = [], 0
        for tab in tabs:
            runs += [Run(" " * (tab.start - x), TEXT), *tab.runs]
            x = tab.start + tab.width
        words, room = list(self.tabs.words), self.size.width - x - 3
        ellipsis = glyphs(self.tabs.ascii).ellipsis
        while len(words) > 1 and (over := cell_len(_joined(words)) - room) > 0:
            # The last says how the link is; what stands before it is cut or dropped, the nearest first.
            place = next((at for at in reversed(range(len(words) - 1)) if not words[at][1]), 0)
            text, bad = words[place]
            if (left := cell_len(text) - over) >= LEAST_WORDS:
                words[place] = cut(text, left, ellipsis=ellipsis), bad
            else:
                del words[place]
        while words and cell_len(words[0][0]) > room >= LEAST_WORDS and ", " in words[0][0]:
            words = [(words[0][0].rpartition(", ")[0], words[0][1])]
        if words and cell_len(words[0][0]) > room:
            words = [(cut(words[0][0], room, ellipsis=ellipsis), words[0][1])] if room >= LEAST_WORDS else []
        if words:
            runs.append(Run(" " * (self.size.width - x - cell_len(_joined(words)) - 1), TEXT))
            for place, (text, bad) in enumerate(words):
                dot = " - " if self.tabs.ascii else " · "
                runs += [Run(dot if place else "", FAINT), Run(clean(text, self.tabs.ascii), ERROR if bad else MUTED)]
        return runs

    def _rule(self, tabs: list[_Tab]) -> list[Run]:
        line, bar = ("-", "=") if self.tabs.ascii else ("─", "━")
        active = next((tab for tab in tabs if tab.active), tabs[0])
        rest = max(0, self.size.width - active.start - active.width)
        rule = Style("border")
        return [
            Run(line * active.start, rule),
            Run(bar * active.width, WHITE),
            Run(line * rest, rule),
        ]

    async def on_click(self, event: events.Click) -> None:
        for tab in self._laid_out():
            if tab.start <= event.x < tab.start + tab.width:
                await self.run_action(f"app.act({tab.action!r})")
                return


def _joined(words: list[tuple[str, bool]]) -> str:
    return " · ".join(text for text, _ in words)
