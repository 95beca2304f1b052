"""Who is on a device, as a table: one row for each, and what is wrong with it below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placetui.grid.inspector.occupants import MOST, Describer, OccupantGroup
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
from placetui.placement.wording import GIB, count, duration, share_figure

LEAST_METER, METER, WIDEST_METER = 4, 14, 40
"""Columns of what a rank holds of the memory, where there is room."""

WIDEST_NAME, WIDEST_RULE, RULE, LEAST_RULE = 30, 48, 24, 16
WIDE = 130
"""Columns from which on a rank that runs also says which devices it sees."""

DROPPED = ("line", "visible", "local", "share", "pid", "GPUs", "rule", "memory", "state")
"""Columns that go where there is little room, the first one first."""

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


def resident_table(
    describer: Describer,
    groups: Sequence[OccupantGroup],
    sample: DeviceSample | None,
    *,
    header: bool = True,
    others: bool = True,
    rows: int | None = None,
) -> list[TableLine]:
    """A header, then a row for each of the first groups; then all other processes.

    Where this takes more than so many `rows`, reasons are left out, those of dead ranks last.
    """
    table = _ResidentTable(describer, sample)
    ours = {(group.component.name, rank) for group in groups for rank in group.ranks}
    rest = [one for one in table.processes if one.kind != "rank" or (one.component, one.rank) not in ours]
    rest.sort(key=lambda one: -(one.memory or 0))
    found = [*map(table.rank, groups[:MOST]), *(map(table.other_process, rest) if others else ())]
    if rows is not None:
        explained = sorted((row for row in found if row.below), key=lambda row: row.ground != "error")
        for row in explained[max(0, rows - header - len(found)) :]:
            row.below = None
    return table.lines(found, header) if found else []


class _ResidentTable:
    """Writes the rows of one device, and then their lines."""

    def __init__(self, describer: Describer, sample: DeviceSample | None) -> None:
        self.describer = describer
        self.flow = describer.flow
        self.pen = describer.flow.pen
        self.total = sample.memory_total if sample else None
        self.processes = sample.processes if sample else ()

    def lines(self, rows: Sequence[_Row], header: bool) -> list[TableLine]:
        flow = self.flow
        titles = [title for title in rows[0].cells if any(row.cells.get(title) for row in rows)]
        widths = {title: max(len(title), *(flow.measure(row.cells.get(title, ())) for row in rows)) for title in titles}
        chip = max(len(row.chip.text) for row in rows)
        titles, meter = self._fit(titles, widths, chip)
        titled = LineBuilder()
        places: dict[str, int] = {}
        """Where the cells of a column begin; where those end that are aligned to the right."""
        x = chip + 1
        for title in titles:
            room = widths[title] + (meter + 1 if title == "memory" and meter else 0)
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

    def _fit(self, titles: list[str], widths: dict[str, int], chip: int) -> tuple[list[str], int]:
        """The columns that there is room for, and the width of a meter; long rules are cut before columns go."""
        meter, rule = METER if "memory" in titles else 0, widths.get("rule", 0)

        def left() -> int:
            return self.flow.width - chip - sum(widths[title] + 2 for title in titles) - (meter + 1 if meter else 0) + 1

        if left() < 0 and rule:
            widths["rule"] = min(rule, RULE)
        if left() < 0 and meter:
            meter = max(LEAST_METER, meter + left())
        if left() < 0:
            titles = [title for title in titles if title != "up"]
        if left() < 0 and rule:
            widths["rule"] = min(rule, LEAST_RULE)
        if left() < 0:
            meter = 0
        for dropped in DROPPED:
            if left() >= 0 or len(titles) == 1:
                break
            titles = [title for title in titles if title != dropped]
        if "rule" in titles:
            widths["rule"] += max(0, min(rule - widths["rule"], left()))
        if meter:
            meter += max(0, min(WIDEST_METER - meter, left() // 2))
        elif "memory" in titles and left() > LEAST_METER:
            meter = min(METER, left() - 1)
        if "rule" in titles:  # what stands behind it ends at the edge
            widths["rule"] += max(0, left())
        return titles, meter if "memory" in titles else 0

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
            "GPUs": (Run(self.describer.numbers(placement.devices), TEXT),),
            "local": (Run(str(placement.local_rank), MUTED),),
            "visible": (Run(self.describer.numbers(placement.visible) or "none", MUTED),),
        }

    def _state(self, group: OccupantGroup, state: RankState | None) -> Line:
        """`· alive`, `✗ dead`; of many how many are in which."""
        if len(group.ranks) > 1:
            pieces = self.describer.states(group)
            return tuple(run for piece in pieces for run in (Run(" ", TEXT), *piece))[1:]
        if state is None:
            return (Run("not seen", MUTED),)
        word, died = self.pen.state_word(state.state), self.describer.died(state)
        return (Run(f"{word.text} {died}".rstrip(), word.style),)

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
        words = {"foreign": "not ours", "gone": "gone"}.get(process.kind, process.kind)
        job = f" of job {pen.clean(process.job)}" if process.job else ""
        more = [f"user {process.user}"] if process.user else []
        more += [process.command] if process.command and process.command != name else []
        cells: dict[str, Line] = {
            "rank": (Run(pen.cut(pen.clean(name) + job, WIDEST_NAME), TEXT),),
            "state": (Run(f"{pen.glyphs.states['stale']} {words}" if foreign else words, style),),
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
        placements = plan.components[name].placements
        if rank < len(placements) and not placements[rank].fixed:
            return None  # it may be anywhere
        cells: dict[str, Line] = {
            "rank": (Run(f"{pen.clean(name)} {rank}", TEXT),),
            "state": (Run(f"{pen.glyphs.differs} not planned", WARNING),),
            "memory": self._held(process.memory),
            "pid": (Run(str(process.pid), MUTED),),
        }
        part = process.memory / self.total if process.memory and self.total else 0.0
        return _Row(pen.chip(name), cells, "warning", part, pen.style("component", name))
