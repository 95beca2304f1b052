"""Who moves between two plans, rank by rank."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from placetui.grid.look.style import FAINT, MUTED, NAME, TEXT, Line, LineBuilder, Run
from placetui.grid.moves import ADDED
from placetui.grid.pen import Pen
from placetui.placement.diff import ComponentDifference, Difference, RankPosition
from placetui.placement.plan import NODE
from placetui.placement.wording import ranges


def move_lines(pen: Pen, difference: Difference, width: int, room: int) -> list[Line]:
    """A line for each rank that is elsewhere, added or removed, as far as there is room."""
    counts = difference.counts
    total = counts["moves"] + counts["appears"] + counts["vanishes"]
    if not total:
        return [(Run("no rank moves", FAINT),)]
    shown = max(1, room - 1 - (total > room - 1))
    rows = list(islice((row for one in difference.components for row in _rows(pen, one)), shown))
    old, new = (max(6, *(len(row[side]) for row in rows)) for side in (2, 3))
    arrow = width - new - 2
    head = LineBuilder()
    head.put(arrow - 7, "before", FAINT)
    head.put(arrow + 2, "after", FAINT)
    lines: list[Line] = [tuple(head.runs)]
    for letter, rank, before, after in rows:
        line = LineBuilder()
        pen.write(line, (letter, rank), max(0, arrow - old - 2))
        line.put(arrow - 1 - len(before), before, MUTED)
        line.put(arrow, pen.glyphs.goes, MUTED)
        line.put(arrow + 2, after, NAME)
        lines.append(tuple(line.runs))
    if total > len(rows):
        lines.append((Run(f"and {total - len(rows):,} more", MUTED),))
    return lines


def _rows(pen: Pen, one: ComponentDifference) -> Iterator[tuple[Run, Run, str, str]]:
    for move in one.moves:
        yield *_label(pen, one, move.rank), _place(move.before), _place(move.after)
    for rank, place in one.appears:
        yield *_label(pen, one, rank), ADDED, _place(place)
    for rank, place in one.vanishes:
        yield *_label(pen, one, rank), _place(place), pen.glyphs.ends


def _label(pen: Pen, one: ComponentDifference, rank: int) -> tuple[Run, Run]:
    return pen.label(one.component, rank) if one.component in pen.marks else (Run("", TEXT), Run(str(rank), TEXT))


def _place(place: RankPosition) -> str:
    """`0/gpu4`, `0/gpu4-7`, `node 1`."""
    return f"node {place.node}" if place.kind == NODE else f"{place.node}/{place.kind}{ranges(place.devices)}"
