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
from placetui.placement.wording import GIB, pattern_text, share_figure

MOST_GIB = 10_000
"""Memory from which on it is in TiB."""

MOST_SQUARES = 20
"""Ranks that have a square each; more of them are a bar."""

COLUMN = 38
"""Columns that an entry of a panel with two columns takes."""

FEW_LINES = 3
"""Lines of such a panel in which components may stand one by one."""

LEAST_RULE, LEAST_NAME = 6, 8


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
    components = pen.plan.components.values()
    shares = max((len(_share(one)) for one in components), default=0)
    room = width - 4 - shares - max((pen.width(_figure(one, totals)) for one in components), default=0)
    names = [pen.name_width(one.name) for one in components]
    # A name that takes the columns of the shares has a line without one.
    columns = max((one for one in names if one <= room), default=0), shares
    return [
        Entry(tuple(_lines(pen, one, width, columns, live, totals, was if one.name == chosen else None)), one.name)
        for one in components
    ]


def component_rows(pen: Pen, width: int, totals: Totals | None = None) -> list[Entry]:
    """As little as names them: two beside each other where there is room, unless one each fits and says more."""
    components = list(pen.plan.components.values())
    across = 2 if width >= 2 * COLUMN and len(components) > 1 else 1
    wide = width // across - (across > 1)
    cells, whole = _short(pen, components, totals, wide)
    if not whole and across > 1 and len(components) <= FEW_LINES:
        across, (cells, _) = 1, _short(pen, components, totals, width)
    starts = [place * (width // across) for place in range(across)]
    rows = ((components[at], cells[at : at + across]) for at in range(0, len(cells), across))
    return [Entry((pen.across(row, starts, width),), first.name, len(row)) for first, row in rows]


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
    room = rows - len(lines)
    if room < len(names):
        return lines[:rows]
    if room > 2 * len(names):
        lines, room = [*lines, ()], room - 1
    return [*lines, *place_lines(pen, names, width, room)]


def place_lines(pen: Pen, names: Sequence[str], width: int, rows: int) -> list[Line]:
    """The nodes and devices of the ranks of components, as many of each as there is room for."""
    lines: list[Line] = []
    for number, name in enumerate(names):
        share = (rows - len(lines)) // (len(names) - number)
        lines += _places(pen, pen.plan.components[name], width, share, len(names) > 1)
    return lines


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


def _short(
    pen: Pen, components: Sequence[Component], totals: Totals | None, width: int
) -> tuple[list[list[Run]], bool]:
    """Chip, name, rule, share and count of each in columns, and whether nothing is cut; counts never are."""
    names = [pen.clean(one.name) for one in components]
    rules = [pen.clean(one.rule.text.strip()) for one in components]
    figures = [_figure(one, totals) for one in components]
    name, rule = (max(map(pen.measure, texts), default=0) for texts in (names, rules))
    share, figure = max((len(_share(one)) for one in components), default=0), max(map(pen.width, figures), default=0)
    room = width - len(" A  ") - 1 - (share + 2 if share else 0) - figure - 2
    needed = name + rule
    name = min(name, max(LEAST_NAME, room - min(rule, LEAST_RULE)))
    rule = max(0, min(rule, room - name))
    noun = " ranks" if room - needed >= len(" ranks") else ""
    return [
        [
            pen.chip(one.name),
            Run(f" {_padded(pen, names[place], name)} ", TEXT),
            Run(_padded(pen, rules[place], rule), TEXT),
            Run(f"  {_share(one):>{share}}" if share else "", MUTED),
            Run(" " * (figure + 2 - pen.width(figures[place])), TEXT),
            *figures[place],
            Run(noun.removesuffix("s") if noun and one.world_size == 1 else noun, MUTED),
        ]
        for place, one in enumerate(components)
    ], needed <= room


def _padded(pen: Pen, text: str, width: int) -> str:
    shown = pen.cut(text, width)
    return shown + " " * (width - pen.measure(shown))


def _share(component: Component) -> str:
    return "" if component.share is None else share_figure(component.share)


def _figure(component: Component, totals: Totals | None) -> list[Run]:
    """How many ranks there are; of a job that runs also how many are alive."""
    alive = None if totals is None else totals.alive.get(component.name)
    if totals is None or alive is None:
        return [Run(f"{component.world_size:,}", MUTED)]
    style = ERROR if component.name in totals.dead else NAME
    return [Run(f"{alive:,}", style), Run(f"/{component.world_size:,}", MUTED)]


def _lines(
    pen: Pen,
    component: Component,
    width: int,
    columns: tuple[int, int],
    live: Overlay | None,
    totals: Totals | None,
    was: str | None,
) -> Iterator[Line]:
    """In columns of names and shares; `was` is None for those that are not chosen."""
    chosen, (names, shares) = was is not None, columns
    ground: Ground | None = "raised" if chosen else None
    name, rule, share = pen.clean(component.name), pen.clean(component.rule.text.strip()), _share(component)
    alive = None if totals is None else totals.alive.get(component.name)
    figure = _figure(component, totals)
    name = pen.cut(name, width - 3 - pen.width(figure))
    left = [
        Run(f"{pen.marks[component.name].letter} ", pen.letter_style(component.name)),
        Run(_padded(pen, name, max(names, pen.measure(name))), NAME if chosen else TEXT),
    ]
    if pen.measure(name) > names:
        rule = f"{share}  {rule}".strip()
    elif shares:
        left.append(Run(f" {share:>{shares}}", MUTED))
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
