"""The components of a plan: who they are, where they belong, how many of their ranks are alive."""

from __future__ import annotations

from collections.abc import Iterator

from placetui.grid.look.style import ERROR, MUTED, NAME, TEXT, Ground, Line, LineBuilder, Run
from placetui.grid.overlay import Overlay
from placetui.grid.panels.entries import Entry, spread, wrapped
from placetui.grid.pen import Pen
from placetui.observe.totals import Totals
from placetui.placement.plan import Component
from placetui.placement.wording import GIB, count, share_figure

MOST_SQUARES = 20
"""Ranks that have a square each; more of them are a bar."""

COLUMN = 38
"""Columns that an entry of a panel with two columns takes."""


def component_entries(
    pen: Pen, width: int, *, live: Overlay | None = None, totals: Totals | None = None, chosen: str | None = None
) -> list[Entry]:
    """Two lines for each component: name, share, rule and count; then its ranks and what they hold."""
    components = pen.plan.components
    longest = max((pen.name_width(name) for name in components), default=4)
    return [
        Entry(tuple(_lines(pen, one, width, min(longest, width // 2), live, totals, one.name == chosen)), one.name)
        for one in components.values()
    ]


def component_rows(pen: Pen, width: int) -> list[Line]:
    """As little as names them: two beside each other where there is room."""
    cells = [_short(pen, one) for one in pen.plan.components.values()]
    across = 2 if width >= 2 * COLUMN else 1
    lines: list[Line] = []
    for first in range(0, len(cells), across):
        line = LineBuilder()
        for place, runs in enumerate(cells[first : first + across]):
            end = (place + 1) * (width // across) - (place + 1 < across)
            line.put(place * (width // across), "")
            pen.write(line, runs, end - line.column)
        lines.append(tuple(line.runs))
    return lines


def _short(pen: Pen, component: Component) -> list[Run]:
    longest = min(14, max(pen.name_width(name) for name in pen.plan.components))
    name = pen.cut(pen.clean(component.name), longest)
    rule = pen.clean(component.rule.text.strip())
    ranks = count(component.world_size, "rank")
    return [
        pen.chip(component.name),
        Run(f" {name}{' ' * (longest - pen.measure(name))} ", TEXT),
        Run(f"{pen.cut(rule, 8):<8} ", TEXT),
        Run(f"{_share(component):>4}  ", MUTED),
        Run(ranks, MUTED),
    ]


def _share(component: Component) -> str:
    return "" if component.share is None else share_figure(component.share)


def _lines(
    pen: Pen, component: Component, width: int, column: int, live: Overlay | None, totals: Totals | None, chosen: bool
) -> Iterator[Line]:
    ground: Ground | None = "raised" if chosen else None
    name, rule = pen.cut(pen.clean(component.name), column), pen.clean(component.rule.text.strip())
    alive = None if totals is None else totals.alive.get(component.name)
    figure = [Run(str(component.world_size), MUTED)]
    if alive is not None:
        style = ERROR if totals and component.name in totals.dead else NAME
        figure = [Run(str(alive), style), Run(f"/{component.world_size}", MUTED)]
    padded = name + " " * (column - pen.measure(name))
    left = [
        Run(f"{pen.marks[component.name].letter} ", pen.letter_style(component.name)),
        Run(padded, NAME if chosen else TEXT),
        Run(f" {_share(component):>4}  ", MUTED),
    ]
    room = width - sum(pen.measure(run.text) for run in (*left, *figure)) - 1
    fits = pen.measure(rule) <= room
    yield spread(pen, [*left, Run(rule, MUTED)] if fits else left, figure, width, ground)
    if not fits:
        yield from wrapped(pen, rule, width, MUTED, ground)
    held = None if totals is None else totals.held.get(component.name)
    amount = [] if not held else [Run(f"{held / GIB:,.0f}", TEXT), Run("G", MUTED)]
    room = width - 2 - sum(len(run.text) for run in amount) - bool(amount)
    yield spread(pen, [Run("  ", TEXT), *_squares(pen, component, live, alive, room)], amount, width, ground)


def _squares(pen: Pen, component: Component, live: Overlay | None, alive: int | None, room: int) -> Iterator[Run]:
    style, size = pen.style("component", component.name), component.world_size
    if size <= min(MOST_SQUARES, room):
        for rank in range(size):
            state = (live.state_of(component.name, rank) if live else None) or "alive"
            if live is not None and alive is not None and live.observation.rank(component.name, rank) is None:
                state = "pending"
            yield Run(pen.glyphs.squares[state], ERROR if state in ("dead", "stale") else style)
    else:
        part = 1.0 if alive is None else alive / max(1, size)
        yield from pen.thin(part, min(room, MOST_SQUARES), style)
