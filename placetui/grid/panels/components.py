"""The components of a plan: who they are, where they belong, how many of their ranks are alive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from placetui.grid.look.style import (
    BODY,
    ERROR,
    FAINT,
    MUTED,
    NAME,
    TEXT,
    WARNING,
    Ground,
    Line,
    LineBuilder,
    Run,
    Style,
)
from placetui.grid.overlay import SLOW, Overlay
from placetui.grid.panels.entries import Entry, spread, wrapped
from placetui.grid.pen import Pen
from placetui.observe.totals import Totals
from placetui.placement.plan import Component
from placetui.placement.wording import GIB, count, pattern_text, share_figure

MOST_GIB = 10_000
"""Memory from which on it is in TiB."""

MOST_SQUARES = 20
"""Ranks that have a square each; more of them are a bar."""

COLUMN = 38
"""Columns that an entry of a panel with two columns takes."""


def component_entries(
    pen: Pen,
    width: int,
    *,
    live: Overlay | None = None,
    totals: Totals | None = None,
    chosen: str | None = None,
    was: str = "",
) -> list[Entry]:
    """Two lines for each component: name, share, rule and count; then its ranks and what they hold.

    `was` is how the rule of the chosen one read before.
    """
    components = pen.plan.components
    longest = max((pen.name_width(name) for name in components), default=4)
    longest = min(longest, width // 2)
    return [
        Entry(tuple(_lines(pen, one, width, longest, live, totals, was if one.name == chosen else None)), one.name)
        for one in components.values()
    ]


def component_rows(pen: Pen, width: int) -> list[Line]:
    """As little as names them: two beside each other where there is room."""
    cells = [_short(pen, one) for one in pen.plan.components.values()]
    across = 2 if width >= 2 * COLUMN else 1
    starts = [place * (width // across) for place in range(across)]
    return [pen.across(cells[first : first + across], starts, width) for first in range(0, len(cells), across)]


def component_table(pen: Pen, names: Sequence[str], width: int) -> list[Line]:
    """A row for each component: rule, share and ranks."""
    components = [pen.plan.components[name] for name in names]
    titles = ("component", "ranks", "share", "rule")
    rows = [
        (pen.clean(one.name), f"{one.world_size:,}", _share(one), pen.clean(one.rule.text.strip()))
        for one in components
    ]
    wide = [min(width // 2, max(pen.measure(cell) for cell in column)) for column in zip(titles, *rows, strict=True)]

    def row(head: Run, cells: Sequence[str], styles: Sequence[Style]) -> Line:
        line = LineBuilder()
        line.add(*head)
        x = 4
        for place, (cell, style) in enumerate(zip(cells, styles, strict=True)):
            shown = pen.cut(cell, wide[place] if place < 3 else max(0, width - x))
            right = wide[place] - pen.measure(shown) if place in (1, 2) else 0
            line.put(x + right, shown, style, pen.measure(shown))
            x += wide[place] + 2
        return tuple(line.runs)

    lines = [row(Run("", TEXT), titles, [FAINT] * 4)]
    return lines + [
        row(pen.chip(one.name), cells, (TEXT, TEXT, MUTED, BODY)) for one, cells in zip(components, rows, strict=True)
    ]


def component_lines(pen: Pen, names: Sequence[str], width: int, rows: int) -> list[Line]:
    """Components, then the nodes and devices of their ranks as far as there is room."""
    lines = component_table(pen, names, width)
    room = max(0, rows - len(lines))
    if room > 2 * len(names):
        lines, room = [*lines, ()], room - 1
    for number, name in enumerate(names):
        share = room // (len(names) - number)
        found = _places(pen, pen.plan.components[name], width, share, len(names) > 1)
        room -= len(found)
        lines += found
    return lines[:rows]


def _places(pen: Pen, component: Component, width: int, rows: int, named: bool) -> list[Line]:
    """A line for each node; the last one says how many ranks are left."""
    found: list[Line] = []
    left = component.world_size
    for node, group in groupby(component.placements, key=attrgetter("cluster_node_rank")):
        if len(found) == rows:
            break
        placements = list(group)
        last = len(found) == rows - 1 and left > len(placements)
        left -= len(placements)
        kind = pen.plan.kind_of(placements[0])
        devices = pattern_text(kind, [one.local_hardware_ranks for one in placements])
        label = f"  {pen.marks[component.name].letter} " if named else "    "
        runs = [Run(label, pen.letter_style(component.name))]
        if last:
            runs.append(Run(f"and {left + len(placements)} more ranks", MUTED))
        else:
            words = f"rank{'s' if len(placements) > 1 else ''} {pen.ranks([one.rank for one in placements])}"
            runs += [Run(f"{pen.clean(pen.node_name(node)):<10}  ", TEXT), Run(f"{devices:<16}  ", BODY)]
            runs.append(Run(words, MUTED))
        found.append(pen.fitted(runs, width))
    return found


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
    pen: Pen,
    component: Component,
    width: int,
    column: int,
    live: Overlay | None,
    totals: Totals | None,
    was: str | None,
) -> Iterator[Line]:
    """`was` is None for those that are not chosen."""
    chosen = was is not None
    ground: Ground | None = "raised" if chosen else None
    name, rule = pen.cut(pen.clean(component.name), column), pen.clean(component.rule.text.strip())
    alive = None if totals is None else totals.alive.get(component.name)
    figure = [Run(f"{component.world_size:,}", MUTED)]
    if alive is not None:
        style = ERROR if totals and component.name in totals.dead else NAME
        figure = [Run(f"{alive:,}", style), Run(f"/{component.world_size:,}", MUTED)]
    padded = name + " " * (column - pen.measure(name))
    left = [
        Run(f"{pen.marks[component.name].letter} ", pen.letter_style(component.name)),
        Run(padded, NAME if chosen else TEXT),
        Run(f" {_share(component):>4}", MUTED),
    ]
    room = width - pen.width((*left, *figure)) - 3
    fits = pen.measure(rule) <= room
    yield spread(pen, [*left, Run(f"  {rule}", MUTED)] if fits else left, figure, width, ground)
    if not fits:
        yield from wrapped(pen, rule, width, MUTED, ground)
    held = None if totals is None else totals.held.get(component.name)
    size, unit = (GIB * 1024, "T") if (held or 0) >= MOST_GIB * GIB else (GIB, "G")
    amount = [] if not held else [Run(f"{held / size:,.0f}", TEXT), Run(unit, MUTED)]
    if was:
        amount = [Run(pen.cut(f"was {pen.clean(was)}", width // 2), MUTED)]
    room = width - 2 - pen.width(amount) - bool(amount)
    yield spread(pen, [Run("  ", TEXT), *_squares(pen, component, live, alive, room)], amount, width, ground)


def _squares(pen: Pen, component: Component, live: Overlay | None, alive: int | None, room: int) -> Iterator[Run]:
    style, size = pen.style("component", component.name), component.world_size
    if size <= min(MOST_SQUARES, room):
        for rank in range(size):
            state = (live.state_of(component.name, rank) if live else None) or "alive"
            if live is not None and alive is not None and live.observation.rank(component.name, rank) is None:
                state = "pending"
            slow = live is not None and (live.seconds_starting(component.name, rank) or 0.0) >= SLOW
            look = ERROR if state in ("dead", "stale") else WARNING if slow else style
            yield Run(pen.glyphs.squares[state], look)
    else:
        part = 1.0 if alive is None else alive / max(1, size)
        yield from pen.thin(part, min(room, MOST_SQUARES), style)
