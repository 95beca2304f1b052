"""Who is on a device, as a table: one row for each, and what is wrong with it below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placetui.grid.inspector.occupants import Describer, OccupantGroup
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
from placetui.grid.pen import STATE_STYLES
from placetui.observe.model import DeviceSample, ProcessSample, RankState
from placetui.placement.problems import Path
from placetui.placement.wording import GIB, count, duration, share_figure

METER = 14
"""Columns of what a rank holds of the memory, where there is room."""

WIDEST_RULE = 30
DROPPED = ("line", "visible", "up", "local", "share", "pid", "GPUs", "rule", "memory", "state")
"""Columns that go where there is little room, the first one first."""

RIGHT = ("line",)
"""Columns of figures, which end at the same place."""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of the table, and the rule that it is about."""

    runs: Line
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    chip: Run
    cells: dict[str, Line]
    """By the title of a column."""

    ground: Ground | None = None
    below: tuple[Run, ...] = ()
    path: Path | None = None


def resident_table(
    describer: Describer,
    groups: Sequence[OccupantGroup],
    sample: DeviceSample | None,
    *,
    header: bool = True,
    others: bool = True,
) -> list[TableLine]:
    """A header, then a row for each rank, or for each component where there are many; then unknown processes."""
    width = describer.flow.width
    meter = METER if width >= 90 else METER // 2 if width >= 60 else 0
    rows = [_rank(describer, group, sample, meter) for group in groups]
    rows += [_foreign_process(describer, one, sample, meter) for one in _foreign_processes(sample) if others]
    if not rows:
        return []
    measure = describer.flow.measure
    titles = [title for title in rows[0].cells if any(row.cells.get(title) for row in rows)]
    widths = {
        title: max(len(title) if title != "memory" else 0, *(measure(row.cells.get(title, ())) for row in rows))
        for title in titles
    }
    chip = max(len(row.chip.text) for row in rows)
    for dropped in DROPPED:
        if chip + sum(widths[title] + 2 for title in titles) <= width or len(titles) == 1:
            break
        titles = [title for title in titles if title != dropped]
    titled = LineBuilder.empty()
    places: dict[str, int] = {}
    x = chip + 1
    for title in titles:
        places[title] = x
        titled.put(x + (widths[title] - len(title) if title in RIGHT else 0), title, FAINT)
        x += widths[title] + 2
    found = [TableLine(_cut(describer, titled.finish(0)))] if header else []
    for row in rows:
        found += _lines(describer, row, titles, places, widths, chip)
    return found


def _lines(
    describer: Describer,
    row: _Row,
    titles: Sequence[str],
    places: dict[str, int],
    widths: dict[str, int],
    chip: int,
) -> Iterator[TableLine]:
    pen, width = describer.flow.pen, describer.flow.width
    blank = Style(ground=row.ground)
    line = LineBuilder.empty()
    line.add(*row.chip)
    for title in titles:
        runs = row.cells.get(title, ())
        at = places[title] + (widths[title] - describer.flow.measure(runs) if title in RIGHT else 0)
        line.add(" " * (at - line.column), blank)
        for run in runs:
            line.add(run.text, pen.on(run.style, row.ground), pen.measure(run.text))
    line.add(" " * (width - line.column if row.ground else 0), blank)
    yield TableLine(_cut(describer, tuple(line.runs)), row.path)
    if row.below:
        corner = "- " if pen.ascii else "└ "
        below = LineBuilder.empty()
        below.add(" " * (chip + 1) + corner, pen.on(row.below[0].style, row.ground))
        for run in row.below:
            below.add(run.text, pen.on(run.style, row.ground), pen.measure(run.text))
        below.add(" " * (width - below.column if row.ground else 0), blank)
        yield TableLine(_cut(describer, tuple(below.runs)), row.path)


def _cut(describer: Describer, line: Line) -> Line:
    return describer.flow.cut((line,))


def _rank(describer: Describer, group: OccupantGroup, sample: DeviceSample | None, meter: int) -> _Row:
    pen, name = describer.flow.pen, group.component.name
    states = [describer.observation.rank(name, rank) for rank in group.ranks] if describer.observation else []
    state = states[0] if len(group.ranks) == 1 and states else None
    which = pen.ranks(group.ranks) if len(group.ranks) > 1 else str(group.ranks[0])
    unfixed = "" if pen.is_fixed(name, group.ranks[0]) else f" {pen.glyphs.unfixed}"
    times = f" {pen.glyphs.times}{len(group.ranks)}" if len(group.ranks) > 1 else ""
    wrong = state is not None and state.state == "dead"
    cells: dict[str, Line] = {
        "rank": (Run(f"{pen.clean(name)} {which}{times}{unfixed}", NAME if wrong else TEXT),),
        "share": (Run("" if group.share is None else share_figure(group.share), MUTED),),
    }
    if describer.observation is None:
        cells |= _planned(describer, group)
    else:
        cells["state"] = _state(describer, group, state)
        cells["memory"] = _memory(describer, group, sample, meter)
        cells["pid"] = (Run(str(state.pid), Style("muted", strike=wrong)),) if state and state.pid else ()
        since = getattr(state, "since", None)
        if since is not None:
            cells["up"] = (Run(duration(max(0.0, describer.observation.time - since)), MUTED),)
    rule = group.component.rule
    text = f"{pen.clean(','.join(rule.keys) or name)}: {pen.clean(rule.text)}"
    cells["rule"] = (Run(pen.cut(text, WIDEST_RULE), BODY),)
    place = describer.locate(rule.path)
    cells["line"] = (Run(str(place[0]), MUTED),) if place else ()
    ground: Ground | None = "error" if wrong else "warning" if state and state.state == "restarting" else None
    return _Row(pen.chip(name), cells, ground, _reason(describer, state), rule.path)


def _planned(describer: Describer, group: OccupantGroup) -> dict[str, Line]:
    """What the plan gives a rank."""
    if len(group.ranks) > 1:
        return {"GPUs": (), "local": (), "visible": ()}
    placement = group.component.placements[group.ranks[0]]
    return {
        "GPUs": (Run(describer.numbers(placement.devices), TEXT),),
        "local": (Run(str(placement.local_rank), MUTED),),
        "visible": (Run(",".join(placement.visible) or "none", MUTED),),
    }


def _state(describer: Describer, group: OccupantGroup, state: RankState | None) -> Line:
    """`· alive`, `✗ dead`; of many how many are in which."""
    pen = describer.flow.pen
    if len(group.ranks) > 1:
        pieces = list(describer.state(group))
        return tuple(
            run for number, piece in enumerate(pieces) for run in ((Run(" ", TEXT),) if number else ()) + piece
        )
    if state is None:
        return (Run("not seen", MUTED),)
    return (Run(f"{pen.glyphs.states[state.state]} {state.state}", STATE_STYLES[state.state]),)


def _memory(describer: Describer, group: OccupantGroup, sample: DeviceSample | None, meter: int) -> Line:
    """A thin meter and what it says."""
    ranks = set(group.ranks)
    found = [
        one.memory
        for one in (sample.processes if sample else ())
        if one.kind == "rank" and one.component == group.component.name and one.rank in ranks
    ]
    style = describer.flow.pen.style("component", group.component.name)
    return _held(describer, sum(one or 0 for one in found) if found else None, sample, meter, style)


def _held(describer: Describer, held: int | None, sample: DeviceSample | None, meter: int, style: Style) -> Line:
    total = sample.memory_total if sample else None
    part = held / total if held and total else 0.0
    bar = describer.flow.pen.thin(part, meter, style) if meter else ()
    figure = "n/a" if held is None else f"{held / GIB:.1f}"
    return (*bar, Run(figure.rjust(6), MUTED if held is None else TEXT), Run("" if held is None else "G", MUTED))


def _reason(describer: Describer, state: RankState | None) -> tuple[Run, ...]:
    if state is None or not (state.reason or state.restarts):
        return ()
    style = ERROR._replace(bold=False) if state.state == "dead" else MUTED
    words = [describer.flow.pen.clean(state.reason)] if state.reason else []
    if state.restarts:
        words.append(count(state.restarts, "restart"))
    return (Run(describer.flow.pen.glyphs.dot.join(words), style),)


def _foreign_processes(sample: DeviceSample | None) -> list[ProcessSample]:
    """Processes that are no rank of the plan, largest first."""
    found = [one for one in (sample.processes if sample else ()) if one.kind != "rank"]
    return sorted(found, key=lambda one: -(one.memory or 0))


def _foreign_process(describer: Describer, process: ProcessSample, sample: DeviceSample | None, meter: int) -> _Row:
    pen = describer.flow.pen
    foreign = process.kind in ("foreign", "gone")
    name = process.actor or process.component or process.command or "unknown process"
    style = WARNING if foreign else MUTED
    words = {"foreign": "not ours", "gone": "gone"}.get(process.kind, process.kind)
    job = f" of job {pen.clean(process.job)}" if process.job else ""
    cells: dict[str, Line] = {
        "rank": (Run(pen.cut(pen.clean(name), WIDEST_RULE) + job, TEXT),),
        "state": (Run(f"{pen.glyphs.states['stale']} {words}" if foreign else words, style),),
        "memory": _held(describer, process.memory, sample, meter, style),
        "pid": (Run(str(process.pid), MUTED),),
    }
    return _Row(Run(" ? " if foreign else "   ", style), cells, "warning" if foreign else None)
