"""Tables of processes, ranks and drift, line by line: only what is on screen is ever drawn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from placetui.grid.inspector.flow import Flow
from placetui.grid.look.style import ERROR, FAINT, MUTED, OK, TEXT, TRACK, WARNING, Line, LineBuilder, Run, Style
from placetui.grid.pen import STATE_STYLES, Pen
from placetui.grid.tables.rows import Notice, Row, Sorting, TableName, held_gpus
from placetui.observe.drift import Drift
from placetui.observe.events import Event
from placetui.observe.model import BundleState, Claim, GroupState
from placetui.observe.rows import ProcessRow, RankRow
from placetui.placement.wording import count, gib, ranges, share_figure

GAP = 1
BAR = 6
"""Columns of the bar beside a process's memory."""

MOST_BUNDLES = 8
"""Kinds of bundles that are described."""

REST = 0
"""Width of a column that takes what is left."""

KIND_STYLES: dict[str, Style] = {"rank": MUTED, "actor": TEXT, "foreign": WARNING, "gone": ERROR}


@dataclass(frozen=True, slots=True)
class Column:
    """A column, where there is room for it."""

    name: str
    title: str
    width: int
    right: bool = False
    needs: int = 0
    """Columns of the whole table from which on it is shown."""


COLUMNS: dict[TableName, tuple[Column, ...]] = {
    "processes": (
        Column("node", "node", 12),
        Column("gpu", "gpu", 4, right=True),
        Column("pid", "pid", 8, right=True),
        Column("who", "who", 20),
        Column("memory", "memory", 9, right=True),
        Column("kind", "kind", 7),
        Column("job", "job", 12, needs=100),
        Column("user", "user", 9, needs=120),
        Column("note", "note", REST),
    ),
    "ranks": (
        Column("who", "rank", 20),
        Column("state", "state", 12),
        Column("memory", "memory", 9, right=True),
        Column("share", "share", 5, right=True),
        Column("restarts", "new", 4, right=True),
        Column("node", "where", 16),
        Column("pid", "pid", 8, right=True, needs=84),
        Column("job", "job", 12, needs=110),
        Column("note", "why", REST),
    ),
    "groups": (
        Column("who", "placement group", 24),
        Column("state", "state", 12),
        Column("bundles", "bundles", 8, right=True),
        Column("gpus", "gpus", 6, right=True),
        Column("node", "on", 16),
        Column("namespace", "namespace", 14, needs=100),
        Column("note", "why", REST),
    ),
    "drift": (Column("kind", "what", 19), Column("node", "where", 14), Column("note", "why", REST)),
    "events": (
        Column("time", "time", 8),
        Column("kind", "what", 16),
        Column("node", "where", 14),
        Column("note", "message", REST),
    ),
}


@dataclass(frozen=True, slots=True)
class ColumnSlot:
    """A column on the screen."""

    column: Column
    x: int
    width: int


class TablePen:
    """Draws the rows of one table in lines of a width."""

    def __init__(self, table: TableName, pen: Pen, width: int) -> None:
        self.table = table
        self.pen = pen
        self.width = width
        longest = max((pen.name_width(node.name) for node in pen.plan.nodes), default=0)
        self.slots = tuple(_slots(table, width, longest))
        self._widths = {slot.column.name: slot.width for slot in self.slots}

    def header(self, sorting: Sorting) -> Line:
        """Titles; the one that rows are sorted by has an arrow."""
        line = LineBuilder()
        arrows = ("^", "v") if self.pen.ascii else ("▲", "▼")
        for slot in self.slots:
            title = slot.column.title
            if slot.column.name == sorting.column:
                title = f"{title[: slot.width - 1]}{arrows[sorting.descending]}"
            self._put(line, slot, ((Run(title, FAINT)),))
        return line.finish(self.width)

    def line(self, row: Row) -> Line:
        line, cells = LineBuilder(), self._cells(row)
        for slot in self.slots:
            self._put(line, slot, cells[slot.column.name])
        return line.finish(self.width)

    def _cells(self, row: Row) -> dict[str, Line]:
        """By column, what a row says."""
        if isinstance(row, ProcessRow):
            return self._process(row)
        if isinstance(row, RankRow):
            return self._rank(row)
        if isinstance(row, GroupState):
            return self._group(row)
        return self._event(row) if isinstance(row, Event) else self._notice(row)

    def column_at(self, x: int) -> str | None:
        return next((slot.column.name for slot in self.slots if slot.x <= x < slot.x + slot.width + GAP), None)

    def _put(self, line: LineBuilder, slot: ColumnSlot, cell: Line) -> None:
        used = sum(self.pen.measure(run.text) for run in cell)
        if cell:
            line.put(slot.x + (max(0, slot.width - used) if slot.column.right else 0), "")
        self.pen.write(line, cell, slot.width)

    def _text(self, text: str | None, style: Style = TEXT) -> Line:
        return (Run(self.pen.clean(text), style),) if text else ()

    def _name(self, component: str | None, who: str, style: Style = TEXT) -> Line:
        marks = self.pen.marks
        if component in marks:
            return (
                Run(f"{marks[component].letter:<2}", self.pen.letter_style(component)),
                Run(self.pen.clean(who), TEXT),
            )
        return (Run("  ", TEXT), *self._text(who, style))

    def _memory(self, memory: int | None) -> Line:
        if memory is None:
            return (Run("n/a", MUTED),)
        return (Run(gib(memory), TEXT if memory else FAINT),)

    def _place(self, node: int | None, device: int | None) -> str:
        where = f"/gpu{device}" if device is not None else ""
        return "" if node is None else f"{self.pen.node_name(node)}{where}"

    def _process(self, row: ProcessRow) -> dict[str, Line]:
        node = self.pen.cut(self.pen.clean(row.node.name), self._widths.get("node", 0), keep="ends")
        bar = self._bar(row.memory_percent) if self._widths.get("memory", 0) > 9 else ()
        stale = (Run("stale " if not row.note else "stale: ", WARNING),) if row.stale else ()
        return {
            "node": (Run(node, MUTED if row.stale else TEXT),),
            "gpu": self._text(str(row.device.gpu_id)),
            "pid": self._text(str(row.pid or ""), MUTED),
            "who": self._name(row.component, row.who, WARNING if row.kind in ("foreign", "gone") else TEXT),
            "memory": (*self._memory(row.memory), *bar),
            "kind": (Run(row.kind, KIND_STYLES[row.kind]),),
            "job": self._text(row.job, MUTED),
            "user": self._text(row.user, MUTED),
            "note": (*stale, *self._text(row.note, MUTED)),
        }

    def _bar(self, percent: float | None) -> Line:
        used = round(min(100.0, max(0.0, percent or 0.0)) * BAR / 100)
        glyphs = self.pen.glyphs
        return (Run(" ", TEXT), Run(glyphs.bar * used, TEXT), Run(glyphs.rest * (BAR - used), TRACK))

    def _rank(self, row: RankRow) -> dict[str, Line]:
        state = Run(f"  {row.status}", WARNING if row.held is None else MUTED)
        if row.state is not None:
            state = Run(f"{self.pen.glyphs.states[row.status]} {row.status}", STATE_STYLES[row.state.state])
        return {
            "who": self._name(row.component, row.who),
            "state": (state,),
            "memory": self._memory(row.memory),
            "share": self._text(None if row.share is None else share_figure(row.share), MUTED),
            "restarts": self._text(f"{self.pen.glyphs.times}{row.restarts}" if row.restarts else None, WARNING),
            "node": self._text(self._where(row), MUTED),
            "pid": self._text(None if row.pid is None else str(row.pid), MUTED),
            "job": self._text(row.job, MUTED),
            "note": self._text(row.note, MUTED),
        }

    def _where(self, row: RankRow) -> str:
        if row.node is None:
            return ""
        devices = sorted(index for node, index in row.places if node == row.node)
        return f"{self.pen.node_name(row.node)}{f'/gpu{ranges(devices)}' if devices else ''}"

    def _group(self, row: GroupState) -> dict[str, Line]:
        nodes = list(dict.fromkeys(bundle.node for bundle in row.bundles if bundle.node is not None))
        where = self.pen.node_name(nodes[0]) if len(nodes) == 1 else count(len(nodes), "node")
        return {
            "who": self._text(row.name or row.id),
            "state": self._text(row.state, OK if row.state == "created" else WARNING),
            "bundles": self._text(str(len(row.bundles))),
            "gpus": self._text(f"{held_gpus(row):g}"),
            "node": self._text(where, MUTED),
            "namespace": self._text(row.namespace, MUTED),
            "note": self._text(row.reason, MUTED),
        }

    def _event(self, row: Event) -> dict[str, Line]:
        style = ERROR if row.kind in ("rank_died", "node_lost") else WARNING if row.is_problem else TEXT
        return {
            "time": self._text(time.strftime("%H:%M:%S", time.localtime(row.time)), MUTED),
            "kind": self._text(row.kind.replace("_", " "), style),
            "node": self._text(self._place(row.node, row.device), MUTED),
            "note": self._text(row.message),
        }

    def _notice(self, row: Notice) -> dict[str, Line]:
        style = ERROR if row.kind in ("dead_rank", "missing_rank") else WARNING
        where = self._place(row.node, row.device)
        if isinstance(row, Drift) and row.component and row.node is not None and row.device is None:
            where = f"{row.component}:{row.rank} "
        return {
            "kind": (Run("! ", style), Run(row.kind, style)),
            "node": self._text(where, MUTED),
            "note": self._text(row.message),
        }


def row_lines(flow: Flow, row: Row) -> list[Line]:
    """All that a row says, however wide."""
    if isinstance(row, GroupState):
        return flow.lines(list(_bundles(flow, row)), head=(*flow.text(row.name or row.id), Run("   ", TEXT)), indent=2)
    if not isinstance(row, ProcessRow):
        return []  # the place that it is about says the same
    pieces = [flow.text(row.kind, KIND_STYLES[row.kind])]
    if row.pid:
        pieces.append(flow.text(f"pid {row.pid}"))
    held = "memory not known" if row.memory is None else gib(row.memory)
    pieces.append(flow.text(held))
    pieces += [flow.text(f"{what} {value}", MUTED) for what, value in (("user", row.user), ("job", row.job)) if value]
    claim = row.claim
    if claim is not None:
        books = "nothing reserved" if claim.reserved is None else f"reserved {share_figure(claim.reserved)}"
        pieces.append(flow.text(f"{books}, {'assigned' if claim.claimed else 'not assigned'}", MUTED))
        pieces += [flow.text(text, MUTED) for text in _origin(claim)]
    lines = flow.lines(pieces, head=(*flow.text(row.who), Run("   ", TEXT)), indent=2)
    return [*lines, *(flow.sentence(row.note, MUTED, 2) if row.note else [])]


def _bundles(flow: Flow, group: GroupState) -> Iterator[Line]:
    """`bundles 0-7 on gpu-3: 1 GPU, 1 CPU each`, for those that are alike."""
    alike: dict[BundleState, list[int]] = {}
    for number, bundle in enumerate(group.bundles):
        alike.setdefault(bundle, []).append(number)
    for bundle, numbers in list(alike.items())[:MOST_BUNDLES]:
        where = "without a node" if bundle.node is None else f"on {flow.pen.node_name(bundle.node)}"
        which = f"bundle {numbers[0]}" if len(numbers) == 1 else f"bundles {ranges(numbers)}"
        yield flow.text(f"{which} {where}: {bundle.gpus:g} GPU, {bundle.cpus:g} CPU", MUTED)
    if len(alike) > MOST_BUNDLES:
        yield flow.text(f"and on {len(alike) - MOST_BUNDLES} more", MUTED)


def _origin(claim: Claim) -> Iterator[str]:
    """Where an actor of another program comes from."""
    if claim.class_name and claim.class_name != claim.actor:
        yield f"class {claim.class_name}"
    if claim.namespace:
        yield f"namespace {claim.namespace}"
    if claim.placement_group:
        bundle = f" bundle {claim.bundle}" if claim.bundle is not None else ""
        yield f"placement group {claim.placement_group}{bundle}"


def _slots(table: TableName, width: int, longest: int) -> Iterator[ColumnSlot]:
    """Where the columns are; names of nodes take no more than the `longest` one needs."""
    x = 0
    spare = max(0, width - 100)
    for column in COLUMNS[table]:
        if width < column.needs:
            continue
        room = column.width
        if column.width == REST:
            room = max(0, width - x)
        elif column.name == "who":
            room += min(24, spare // 3)
        elif column.name == "node":
            devices = 0 if table == "processes" else len("/gpu0-7")
            room = max(len(column.title) + 1, min(longest + devices, room + min(10, spare // 6)))
        elif column.name == "memory" and table == "processes" and width >= 100:
            room += BAR + 1
        room = min(room, max(0, width - x))
        if room:
            yield ColumnSlot(column, x, room)
        x += room + GAP
