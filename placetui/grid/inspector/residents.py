"""Who is on a device, as a table: one row for each, and what is wrong with it below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placetui.grid.inspector.occupants import MOST, Describer, OccupantGroup, numbers
from placetui.grid.inspector.readings import LEAST_METER
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
from placetui.observe.drift import owner_of
from placetui.observe.model import DeviceSample, ProcessSample, RankState
from placetui.placement.problems import Path
from placetui.placement.wording import GIB, count, duration, place_text, share_figure

METER, WIDEST_METER = 14, 40
"""Columns of what a rank holds of the memory, where there is room."""

WIDEST_NAME, WIDEST_RULE, RULE, LEAST_RULE = 30, 48, 24, 16
WIDE = 130
"""Columns from which on a rank that runs also says which devices it sees."""

TITLES = ("rank", "share", "state", "memory", "pid", "up", "GPUs", "local", "visible", "rule", "line")
"""All columns in their order; those that no row has anything for are left out."""

CONCESSIONS = (
    *(("rule", RULE), ("meter", LEAST_METER), ("up", 0), ("rule", LEAST_RULE), ("meter", 0)),
    *((title, 0) for title in ("line", "visible", "local", "share", "pid", "GPUs", "rule", "memory", "state")),
)
"""What becomes narrower where there is little room, the first one first, and the columns that it keeps; 0: it goes."""

RIGHT = ("line", "up")
"""Columns of figures, which end at the same place."""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of the table, and the rule that it is about."""

    runs: Line
    path: Path | None = None


@dataclass(slots=True)
class _Row:
    chip: Run
    cells: dict[str, Line]
    """By the title of a column."""

    ground: Ground | None = None
    part: float = 0.0
    """Of the memory of the GPU, 0 to 1."""

    hue: Style = MUTED
    """Of the meter."""

    below: Run | None = None
    path: Path | None = None


def others_of(groups: Sequence[OccupantGroup], sample: DeviceSample | None) -> list[ProcessSample]:
    """All processes that are not of these groups; what takes most memory comes first."""
    ours = {(group.component.name, rank) for group in groups for rank in group.ranks}
    processes = sample.processes if sample else ()
    rest = [one for one in processes if one.kind != "rank" or (one.component, one.rank) not in ours]
    return sorted(rest, key=lambda one: -(one.memory or 0))


def resident_table(
    describer: Describer,
    groups: Sequence[OccupantGroup],
    sample: DeviceSample | None,
    others: Sequence[ProcessSample],
    *,
    stale: float | None = None,
    rows: int | None = None,
) -> list[TableLine]:
    """A header, then a row for each of the first groups and for each of the other processes.

    Where this takes more than so many `rows`, there is no header, reasons are left out, those of dead ranks last, and
    where something is wrong comes first. What was read is `stale` for so many seconds; None: it is not.
    """
    table = _ResidentTable(describer, sample, stale)
    found = [*map(table.rank, groups[:MOST]), *map(table.other_process, others)]
    if rows is None:
        return table.lines(found, header=True) if found else []
    rest = max(0, len(groups) - MOST)
    if len(found) + bool(rest) > rows:
        found.sort(key=lambda row: (row.ground != "error", row.ground is None))
        rest += len(found) - (rows - 1)
        found = found[: rows - 1]
    explained = sorted((row for row in found if row.below), key=lambda row: row.ground != "error")
    for row in explained[max(0, rows - bool(rest) - len(found)) :]:
        row.below = None
    needed = len(found) + sum(row.below is not None for row in found) + bool(rest)
    lines = table.lines(found, header=needed < rows) if found else []
    more = describer.flow.cut([describer.flow.text(f"and {rest} more", MUTED)])
    return [*lines, TableLine(more)] if rest else lines


class _ResidentTable:
    """Writes the rows of one device, and then their lines."""

    def __init__(self, describer: Describer, sample: DeviceSample | None, stale: float | None) -> None:
        self.describer = describer
        self.stale = stale
        self.flow = describer.flow
        self.pen = describer.flow.pen
        self.total = sample.memory_total if sample else None
        self.processes = sample.processes if sample else ()

    def lines(self, rows: Sequence[_Row], header: bool) -> list[TableLine]:
        flow = self.flow
        chip = max(len(row.chip.text) for row in rows)
        widths, meter = self._fitted(
            {
                title: max(len(title), *(flow.measure(row.cells.get(title, ())) for row in rows))
                for title in TITLES
                if any(row.cells.get(title) for row in rows)
            },
            flow.width - chip + 1,
        )
        titled = LineBuilder()
        places: dict[str, int] = {}
        """Where the cells of a column begin; where those end that are aligned to the right."""
        x = chip + 1
        for title, width in widths.items():
            room = width + (meter + 1 if title == "memory" and meter else 0)
            places[title] = x + (room if title in RIGHT else 0)
            titled.put(places[title] - (len(title) if title in RIGHT else 0), title, FAINT)
            x += room + 2
        found = [TableLine(flow.cut((titled.finish(0),)))] if header else []
        for row in rows:
            line = LineBuilder()
            line.add(*row.chip)
            for title, place in places.items():
                runs = row.cells.get(title, ())
                if title == "rule":
                    runs = tuple(Run(self.pen.cut(run.text, widths["rule"]), run.style) for run in runs)
                elif title == "memory" and runs:
                    blank = Run(" " * (widths["memory"] - flow.measure(runs) + bool(meter)), TEXT)
                    runs = (*(self.pen.thin(row.part, meter, row.hue) if meter else ()), blank, *runs)
                at = place - (flow.measure(runs) if title in RIGHT else 0)
                self._add(line, (Run(" " * (at - line.column), TEXT), *runs), row.ground)
            found.append(self._finished(line, row))
            if row.below:
                line = LineBuilder()
                corner = " " * (chip + 1) + ("- " if self.pen.ascii else "└ ")
                self._add(line, (Run(corner, row.below.style), row.below), row.ground)
                found.append(self._finished(line, row))
        return found

    def _fitted(self, widths: dict[str, int], room: int) -> tuple[dict[str, int], int]:
        """The columns that there is room for, and the width of a meter beside the memory."""
        sizes = {**widths, **({"meter": METER} if "memory" in widths else {})}

        def left() -> int:
            return room - sum(size + (1 if name == "meter" else 2) for name, size in sizes.items())

        for name, least in CONCESSIONS:
            if left() >= 0 or len(sizes) == 1:
                break
            if name in sizes and least:
                sizes[name] = max(min(least, sizes[name]), sizes[name] + left())
            else:
                sizes.pop(name, None)
        if "rule" in sizes:
            sizes["rule"] += max(0, min(widths["rule"] - sizes["rule"], left()))
        if "meter" in sizes:
            sizes["meter"] += max(0, min(WIDEST_METER - sizes["meter"], left() // 2))
        elif "memory" in sizes and left() > LEAST_METER:
            sizes["meter"] = min(METER, left() - 1)
        if "rule" in sizes:  # what stands behind it ends at the edge
            sizes["rule"] += max(0, left())
        meter = sizes.pop("meter", 0)
        return sizes, meter if "memory" in sizes else 0

    def _add(self, line: LineBuilder, runs: Line, ground: Ground | None) -> None:
        for run in runs:
            line.add(run.text, self.pen.on(run.style, ground), self.pen.measure(run.text))

    def _finished(self, line: LineBuilder, row: _Row) -> TableLine:
        if row.ground:
            line.add(" " * (self.flow.width - line.column), Style(ground=row.ground))
        return TableLine(self.flow.cut((tuple(line.runs),)), row.path)

    def rank(self, group: OccupantGroup) -> _Row:
        describer, pen, name, rule = self.describer, self.pen, group.component.name, group.component.rule
        observation = describer.observation
        state = observation.rank(name, group.ranks[0]) if observation and len(group.ranks) == 1 else None
        unfixed = "" if pen.is_fixed(name, group.ranks[0]) else f" {pen.glyphs.unfixed}"
        times = f" {pen.glyphs.times}{len(group.ranks)}" if len(group.ranks) > 1 else ""
        wrong = state is not None and state.state == "dead"
        cells: dict[str, Line] = {
            "rank": (Run(f"{pen.clean(name)} {pen.ranks(group.ranks)}{times}{unfixed}", NAME if wrong else TEXT),),
            "share": (Run("" if group.share is None else share_figure(group.share), MUTED),),
        }
        held = None
        if observation is None:
            cells |= self._planned(group)
        else:
            held = self._memory_of(group)
            cells["state"] = self._state(group, state)
            cells["memory"] = self._held(held)
            cells["pid"] = (Run(str(state.pid), Style("muted", strike=wrong)),) if state and state.pid else ()
            cells["up"] = ()
            if state is not None and state.since is not None and not wrong:
                cells["up"] = (Run(duration(max(0.0, observation.time - state.since)), MUTED),)
            if self.flow.width >= WIDE:
                cells |= self._planned(group)
        text = f"{pen.clean(','.join(rule.keys) or name)}: {pen.clean(rule.text)}"
        cells["rule"] = (Run(pen.cut(text, WIDEST_RULE), BODY),)
        place = describer.locate(rule.path)
        cells["line"] = (Run(str(place[0]), MUTED),) if place else ()
        ground: Ground | None = "error" if wrong else "warning" if state and state.state == "restarting" else None
        part = held / self.total if held and self.total else 0.0
        style = pen.style("component", name)
        return _Row(pen.chip(name), cells, ground, part, style, self._reason(state), rule.path)

    def _planned(self, group: OccupantGroup) -> dict[str, Line]:
        if len(group.ranks) > 1:
            return {"GPUs": (), "local": (), "visible": ()}
        placement = group.component.placements[group.ranks[0]]
        return {
            "GPUs": (Run(numbers(placement.devices), TEXT),),
            "local": (Run(str(placement.local_rank), MUTED),),
            "visible": (Run(numbers(placement.visible) or "none", MUTED),),
        }

    def _state(self, group: OccupantGroup, state: RankState | None) -> Line:
        """`· alive`, `✗ dead`; of many how many are in which."""
        if len(group.ranks) > 1:
            pieces = self.describer.states(group)
            return tuple(run for piece in pieces for run in (Run(" ", TEXT), *piece))[1:]
        if state is None:
            return (Run("not seen", MUTED),)
        if self.stale is not None and state.state != "dead":
            word, since = self.pen.state_word("stale"), duration(self.stale)
        else:
            word, since = self.pen.state_word(state.state), self.describer.died(state)
        return (Run(f"{word.text} {since}".rstrip(), word.style),)

    def _memory_of(self, group: OccupantGroup) -> int | None:
        name, ranks = group.component.name, set(group.ranks)
        ours = [one for one in self.processes if one.kind == "rank" and one.component == name and one.rank in ranks]
        return sum(one.memory or 0 for one in ours) if ours else None

    def _held(self, held: int | None) -> Line:
        if held is None:
            return (Run("n/a ", MUTED),)
        return (Run(f"{held / GIB:.1f}", TEXT), Run("G", MUTED))

    def _reason(self, state: RankState | None) -> Run | None:
        if state is None or not (state.reason or state.restarts):
            return None
        restarts = count(state.restarts, "restart") if state.restarts else ""
        words = filter(None, (self.pen.clean(state.reason or ""), restarts))
        return Run(self.pen.glyphs.dot.join(words), ERROR._replace(bold=False) if state.state == "dead" else MUTED)

    def other_process(self, process: ProcessSample) -> _Row:
        if (unplanned := self._unplanned(process)) is not None:
            return unplanned
        pen, foreign = self.pen, process.kind in ("foreign", "gone")
        name = process.actor or process.component or process.command or "unknown process"
        if process.actor is None and process.component is not None and process.rank is not None:
            name = f"{process.component} {process.rank}"
        style = WARNING if foreign else MUTED
        job = f" of job {pen.clean(process.job)}" if process.job else ""
        more = [f"user {process.user}"] if process.user else []
        more += [process.command] if process.command and process.command != name else []
        cells: dict[str, Line] = {
            "rank": (Run(pen.cut(pen.clean(name) + job, WIDEST_NAME), TEXT),),
            "state": (Run(f"{pen.glyphs.states['stale']} {process.kind}" if foreign else process.kind, style),),
            "memory": self._held(process.memory),
            "pid": (Run(str(process.pid), MUTED),),
            "rule": (Run(pen.clean(pen.glyphs.dot.join(more)), MUTED),),
        }
        part = process.memory / self.total if process.memory and self.total else 0.0
        return _Row(Run(" ? " if foreign else "   ", style), cells, "warning" if foreign else None, part, style)

    def _unplanned(self, process: ProcessSample) -> _Row | None:
        """A rank of the followed job that the plan does not have here."""
        pen, plan, observation = self.pen, self.describer.plan, self.describer.observation
        owner = owner_of(process, observation.job) if observation and process.kind == "rank" else None
        if owner is None or owner[0] not in plan.components:
            return None
        name, rank = owner
        planned = next(iter(plan.components[name].placements[rank : rank + 1]), None)
        if planned is not None and not planned.fixed:
            return None  # it may be anywhere
        where = "not in the plan"
        if planned is not None:
            node = pen.node_name(planned.cluster_node_rank)
            where = f"planned on {place_text(node, plan.kind_of(planned), planned.devices)}"
        cells: dict[str, Line] = {
            "rank": (Run(f"{pen.clean(name)} {rank}", TEXT),),
            "state": (Run(f"{pen.glyphs.differs} not planned", WARNING),),
            "memory": self._held(process.memory),
            "pid": (Run(str(process.pid), MUTED),),
            "rule": (Run(pen.clean(where), MUTED),),
        }
        part = process.memory / self.total if process.memory and self.total else 0.0
        return _Row(pen.chip(name), cells, "warning", part, pen.style("component", name))
