"""Tables of processes, ranks, drift, groups and events, line by line: only what is on screen is ever drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placetui.grid.inspector.flow import Flow
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
from placetui.grid.panels.events import event_parts
from placetui.grid.panels.problems import DEADLY, notice_sign, notice_words
from placetui.grid.pen import Pen
from placetui.grid.tables.rows import Notice, Row, Sorting, TableName, held_gpus
from placetui.observe.drift import Drift
from placetui.observe.events import Event
from placetui.observe.model import BundleState, Claim, GroupState, Observation, RankState
from placetui.observe.rows import ProcessRow, RankRow
from placetui.placement.plan import Plan
from placetui.placement.wording import GIB, count, duration, gib, ranges, share_figure

MARGIN = 1
"""Columns at the left, where the cursor is."""

FIGURE = 7
"""Columns of an amount of memory."""

LEAST_METER, METER = 6, 40
"""Columns of the meter beside it, where there is room."""

LEAST_REST = 12
LEAST_SLOT = 6
"""Columns from which on the last of them says something, where even the important ones do not fit."""

SENTENCE: dict[TableName, int] = {"processes": 16, "ranks": 24, "groups": 24, "drift": 48, "events": 72}
"""Columns that a sentence is left: before columns of importance are left out for it, and before all others."""

WIDEST_NAME = 40
MOST_SQUARES = 16
"""Bundles of a node that have a square each."""

BUNDLE, MOST_ACROSS = 26, 8
"""Columns of a bundle, and nodes beside each other."""

MOST_BUNDLES = 8
"""Kinds of bundles that are described."""

LONGEST_RANGES = 32
"""Characters of the numbers of bundles; where they are longer, the bundles are counted."""

REST = 0
"""Width of a column that takes what is left."""

ALWAYS = 9
"""Of a column that is never left out."""

KIND_STYLES: dict[str, Style] = {"rank": MUTED, "actor": TEXT, "foreign": WARNING, "gone": ERROR}


@dataclass(frozen=True, slots=True)
class Column:
    """A column, where there is room for it."""

    name: str
    title: str
    width: int
    right: bool = False
    keep: int = ALWAYS
    """The least of them goes first where there is little room."""


COLUMNS: dict[TableName, tuple[Column, ...]] = {
    "processes": (
        Column("node", "node", 12),
        Column("gpu", "gpu", 4, right=True),
        Column("pid", "pid", 7, right=True, keep=7),
        Column("who", "who", 18),
        Column("kind", "kind", 9, keep=8),
        Column("state", "state", 12, keep=5),
        Column("share", "share", 5, right=True, keep=4),
        Column("memory", "memory", FIGURE),
        Column("up", "up", 6, right=True, keep=4),
        Column("job", "job", 12, keep=3),
        Column("user", "user", 9, keep=2),
        Column("rule", "rule", 22, keep=1),
        Column("note", "note", REST),
    ),
    "ranks": (
        Column("who", "rank", 18),
        Column("state", "state", 14),
        Column("memory", "memory", FIGURE),
        Column("share", "share", 5, right=True, keep=7),
        Column("restarts", "restarts", 9, right=True, keep=6),
        Column("node", "where", 16),
        Column("pid", "pid", 7, right=True, keep=5),
        Column("up", "up", 6, right=True, keep=4),
        Column("job", "job", 12, keep=3),
        Column("rule", "rule", 22, keep=2),
        Column("note", "why", REST),
    ),
    "groups": (
        Column("who", "placement group", 24),
        Column("state", "state", 14),
        Column("bundles", "bundles", 8, right=True),
        Column("gpus", "GPUs", 6, right=True, keep=7),
        Column("node", "on", 16, keep=8),
        Column("namespace", "namespace", 14, keep=6),
        Column("note", "why", REST),
    ),
    "drift": (
        Column("kind", "what", 20),
        Column("who", "who", 16, keep=5),
        Column("node", "where", 16),
        Column("note", "why", REST),
    ),
    "events": (
        Column("time", "time", 8),
        Column("who", "who", 18),
        Column("node", "where", 16, keep=8),
        Column("note", "what", REST),
        Column("kind", "kind", 16, keep=2),
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
        self.gap = 1 if width < 100 else 2 if width < 220 else 4
        self.slots = tuple(_slots(table, width, self.gap, _natural(table, pen)))
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

    def line(self, row: Row, seen: Observation | None = None) -> Line:
        """A row, with what the observation knows of its rank; on the ground of what is wrong."""
        line = LineBuilder()
        cells, ground = self._cells(row, seen)
        for slot in self.slots:
            self._put(line, slot, cells.get(slot.column.name, ()))
        runs = line.finish(self.width)
        return runs if ground is None else self.pen.tinted(runs, ground)

    def _cells(self, row: Row, seen: Observation | None) -> tuple[dict[str, Line], Ground | None]:
        """By column, what a row says."""
        if isinstance(row, ProcessRow):
            return self._process(row, seen)
        if isinstance(row, RankRow):
            return self._rank(row, seen)
        if isinstance(row, GroupState):
            return self._group(row)
        return self._event(row, seen) if isinstance(row, Event) else self._notice(row)

    def column_at(self, x: int) -> str | None:
        found = (slot.column.name for slot in self.slots if slot.x <= x < slot.x + slot.width + self.gap)
        return next(found, None)

    def _put(self, line: LineBuilder, slot: ColumnSlot, cell: Line) -> None:
        used = self.pen.width(cell)
        if cell:
            line.put(slot.x + (max(0, slot.width - used) if slot.column.right else 0), "")
        self.pen.write(line, cell, slot.width)

    def _text(self, text: str | None, style: Style = TEXT) -> Line:
        return (Run(self.pen.clean(text), style),) if text else ()

    def _name(self, component: str | None, rank: int | None, who: str, style: Style = TEXT) -> Line:
        """Letter and name; of what is no rank of the plan, the name alone."""
        marks = self.pen.marks
        if component in marks:
            text = component if rank is None else f"{component} {rank}"
            return (
                Run(f"{marks[component].letter:<2}", self.pen.letter_style(component)),
                Run(self.pen.clean(text), TEXT),
            )
        return (Run("  ", TEXT), *self._text(who, style))

    def _memory(self, memory: int | None, total: int | None, style: Style) -> Line:
        """A thin meter where there is room, and the amount."""
        width = self._widths.get("memory", 0)
        room = width - FIGURE - 1
        meter: Line = ()
        if room >= LEAST_METER:
            meter = self.pen.thin((memory or 0) / total if total else 0.0, room, style)
        figure = "n/a" if memory is None else f"{memory / GIB:,.1f}"
        faint = MUTED if memory is None else TEXT if memory else FAINT
        unit = Run("" if memory is None else "G", MUTED)
        return (*meter, Run(figure.rjust(width - len(meter and "x") * room - len(unit.text)), faint), unit)

    def _rule(self, component: str | None) -> Line:
        known = self.pen.plan.components.get(component or "")
        if known is None:
            return ()
        keys = ",".join(known.rule.keys) or known.name
        return self._text(f"{keys}: {known.rule.text.strip()}", MUTED)

    def _up(self, since: float | None, seen: Observation | None) -> Line:
        """Since when, in minutes at least: a figure that changes every second paints every row every second."""
        if since is None or seen is None:
            return ()
        seconds = seen.time - since
        return self._text(duration(seconds) if seconds >= 60 else "<1 min", MUTED)

    def _place(self, node: int | None, device: int | None) -> str:
        where = f"/gpu{device}" if device is not None else ""
        return "" if node is None else f"{self.pen.node_name(node)}{where}"

    def _process(self, row: ProcessRow, seen: Observation | None) -> tuple[dict[str, Line], Ground | None]:
        pen, component, rank = self.pen, row.component, row.rank
        one = row.process or row.claim
        known: RankState | None = None
        if seen is not None and component is not None and rank is not None and row.job in (None, seen.job):
            known = seen.rank(component, rank)
        state = known.state if known else one.state if one else None
        since = known.since if known else one.since if one else None
        planned = pen.plan.components.get(component or "")
        share = row.claim.reserved if row.claim else None
        if share is None and planned is not None and rank is not None and row.kind == "rank":
            share = planned.rank_share(rank) if rank < planned.world_size else None
        signs = {"foreign": f"{pen.glyphs.differs} ", "gone": f"{pen.glyphs.states['dead']} "}
        note, command = row.note, row.process.command if row.process else None
        if not note and command and (command != row.who or pen.name_width(command) > self._widths.get("who", 2) - 2):
            note = command
        stale = (Run("stale: " if note else "stale", WARNING),) if row.stale else ()
        hue = pen.style("component", component) if component in pen.marks and component else KIND_STYLES.get(row.kind)
        cells = {
            "node": (Run(pen.cut(pen.clean(row.node.name), self._widths.get("node", 0), keep="ends"), BODY),),
            "gpu": self._text(str(row.device.gpu_id)),
            "pid": self._text(str(row.pid or ""), MUTED),
            "who": self._name(component, rank, row.who, WARNING if row.kind in ("foreign", "gone") else TEXT),
            "kind": (Run(f"{signs.get(row.kind, '')}{row.kind}", KIND_STYLES.get(row.kind, MUTED)),),
            "state": () if state is None else (pen.state_word("stale" if row.stale and state != "dead" else state),),
            "share": self._text(None if share is None else share_figure(share), MUTED),
            "memory": self._memory(row.memory, row.device.memory_total, hue or MUTED),
            "up": self._up(since, seen),
            "job": self._text(row.job, MUTED),
            "user": self._text(row.user, MUTED),
            "rule": self._rule(component),
            "note": (*stale, *self._text(note, MUTED)),
        }
        grounds: dict[str, Ground] = {"foreign": "warning", "gone": "error"}
        return cells, grounds.get(row.kind, "error" if state == "dead" else None)

    def _rank(self, row: RankRow, seen: Observation | None) -> tuple[dict[str, Line], Ground | None]:
        pen, state = self.pen, row.state
        word = Run(f"{pen.glyphs.empty} {row.status}", FAINT)
        node = None if seen is None or row.node is None else seen.node(row.node)
        if state is not None and row.launched:
            stale = node is not None and node.stale and state.state != "dead"
            word = pen.state_word("stale" if stale else state.state)
        elif row.held is None:
            word = Run(f"{pen.glyphs.states['pending']} {row.status}", MUTED)
        samples = [seen.device(*place) for place in row.places] if seen is not None else []
        total = sum(sample.memory_total or 0 for sample in samples if sample is not None)
        hue = pen.style("component", row.component) if row.component in pen.marks else MUTED
        cells = {
            "who": self._name(row.component, row.rank, row.who),
            "state": (word,),
            "memory": self._memory(None if row.held is None and row.status == "dead" else row.memory, total, hue),
            "share": self._text(None if row.share is None else share_figure(row.share), MUTED),
            "restarts": self._text(f"{pen.glyphs.times}{row.restarts}" if row.restarts else None, WARNING),
            "node": self._text(self._where(row), MUTED),
            "pid": self._text(None if row.pid is None else str(row.pid), MUTED),
            "up": self._up(state.since if state and state.state != "dead" else None, seen),
            "job": self._text(row.job, MUTED),
            "rule": self._rule(row.component),
            "note": self._text(row.note, BODY),
        }
        grounds: dict[str, Ground] = {"dead": "error", "restarting": "warning"}
        return cells, grounds.get(row.status)

    def _where(self, row: RankRow) -> str:
        if row.node is None:
            return ""
        devices = sorted(index for node, index in row.places if node == row.node)
        return f"{self.pen.node_name(row.node)}{f'/gpu{ranges(devices)}' if devices else ''}"

    def _group(self, row: GroupState) -> tuple[dict[str, Line], Ground | None]:
        nodes = list(dict.fromkeys(bundle.node for bundle in row.bundles if bundle.node is not None))
        where = self.pen.node_name(nodes[0]) if len(nodes) == 1 else count(len(nodes), "node")
        sign, style = self.pen.glyphs.empty, FAINT
        if row.state != "created":
            sign, style = self.pen.glyphs.states["starting" if row.state == "prepared" else "pending"], WARNING
        cells = {
            "who": self._text(row.name or row.id),
            "state": self._text(f"{sign} {row.state}", style),
            "bundles": self._text(f"{len(row.bundles):,}"),
            "gpus": self._text(f"{held_gpus(row):,g}"),
            "node": self._text(where, MUTED),
            "namespace": self._text(row.namespace, MUTED),
            "note": self._text(row.reason, BODY),
        }
        return cells, None if row.state == "created" else "warning"

    def _event(self, row: Event, seen: Observation | None) -> tuple[dict[str, Line], Ground | None]:
        parts = event_parts(self.pen, row, seen)
        named = () if row.component in self.pen.marks else (Run("  ", TEXT),)
        cells = {
            "time": (parts.time,),
            "who": (parts.sign, Run(" ", TEXT), *named, *parts.who),
            "node": self._text(parts.place, MUTED),
            "note": self._text(parts.what, parts.style),
            "kind": self._text(row.kind.replace("_", " "), MUTED),
        }
        return cells, parts.ground

    def _notice(self, row: Notice) -> tuple[dict[str, Line], Ground | None]:
        sign, error = notice_sign(self.pen, row), row.kind in DEADLY
        *_, said = notice_words(self.pen, row)
        style = ERROR if error else WARNING
        component, rank = (row.component, row.rank) if isinstance(row, Drift) else (None, None)
        cells = {
            "kind": (Run(f"{sign} {row.title}", style),),
            "who": () if component is None else self._name(component, rank, f"{component} {rank}"),
            "node": self._text(self._place(row.node, row.device), BODY),
            "note": self._text((said if "who" in self._widths else "") or row.message),
        }
        return cells, "error" if error else "warning"


def group_lines(flow: Flow, group: GroupState, rows: int) -> list[Line]:
    """The bundles of a placement group: a square for each, node by node; then those that wait, and why."""
    pen, squares = flow.pen, flow.pen.glyphs.squares
    nodes: dict[int | None, list[int]] = {}
    for number, bundle in enumerate(group.bundles):
        nodes.setdefault(bundle.node, []).append(number)
    waiting = nodes.pop(None, [])
    placed = len(group.bundles) - len(waiting)
    head = (*flow.text("Bundles", NAME), *flow.text(f" of {group.name or group.id}", MUTED))
    lines = [flow.cut([(*head, *flow.text(f"  {placed:,} of {len(group.bundles):,} placed", MUTED))])]
    if waiting:
        why = flow.text(f": {group.reason}" if group.reason else "", WARNING)
        sum_of = (Run("waiting ", WARNING), *_squares(flow, squares["pending"], len(waiting), WARNING))
        each = flow.text(f" {_resources(group.bundles, waiting)}", BODY)
        lines.append(flow.cut([(*sum_of, *each, *why)]))
    placed_on = sorted((node, numbers) for node, numbers in nodes.items() if node is not None)
    room = max(1, rows - len(lines) - 1)
    each_line = max(1, (flow.width + 3) // BUNDLE)
    needed = sum(1 + -(-len(numbers) // each_line) for _, numbers in placed_on[:room])
    if needed <= room >= len(placed_on):
        for node, numbers in placed_on:
            lines += [()] * (needed + len(placed_on) <= room)
            lines += [flow.cut([(*flow.text(pen.node_name(node), NAME), *_sum(flow, group.bundles, numbers))])]
            cells = [_bundle(flow, group, number) for number in numbers]
            lines += _beside(flow, cells, BUNDLE, each_line)
        return lines
    name = max((pen.name_width(pen.node_name(node)) for node, _ in placed_on), default=0)
    cells = [
        (
            *flow.text(pen.node_name(node), TEXT),
            Run(" " * (name - pen.name_width(pen.node_name(node)) + 2), TEXT),
            *_squares(flow, squares["alive"], len(numbers), BODY),
            *_sum(flow, group.bundles, numbers),
        )
        for node, numbers in placed_on[: room * MOST_ACROSS]
    ]
    column = max(map(flow.measure, cells), default=0) + 3
    across = min(MOST_ACROSS, max(1, (flow.width + 3) // column))
    lines += _beside(flow, cells[: room * across], column, across)
    if len(placed_on) > room * across:
        lines.append(flow.text(f"and {count(len(placed_on) - room * across, 'more node')}", MUTED))
    return lines[:rows]


def _beside(flow: Flow, cells: Sequence[Line], column: int, across: int) -> Iterator[Line]:
    """So many cells in each line."""
    starts = range(0, across * column, column)
    for first in range(0, len(cells), across):
        yield flow.pen.across(cells[first : first + across], starts, flow.width)


def _bundle(flow: Flow, group: GroupState, number: int) -> Line:
    """`■ 3  1 GPU, 1 CPU`."""
    square = Run(f"{flow.pen.glyphs.squares['alive']} ", BODY)
    return (square, Run(f"{number:<4} ", TEXT), *flow.text(_resources(group.bundles, [number]), MUTED))


def _sum(flow: Flow, bundles: Sequence[BundleState], numbers: Sequence[int]) -> Line:
    which = ranges(numbers) if len(numbers) <= MOST_SQUARES else count(len(numbers), "bundle")
    return flow.text(f"  {_resources(bundles, numbers)}  bundle {which}", MUTED)


def _squares(flow: Flow, square: str, number: int, style: Style) -> Line:
    """A square for each, or how many where they are many."""
    shown = square * number if number <= MOST_SQUARES else f"{square}{flow.pen.glyphs.times}{number:,}"
    return (Run(shown, style),)


def _resources(bundles: Sequence[BundleState], numbers: Sequence[int]) -> str:
    gpus, cpus = (sum(getattr(bundles[number], what) for number in numbers) for what in ("gpus", "cpus"))
    return f"{_amount(gpus, 'GPU')}, {_amount(cpus, 'CPU')}"


def _amount(number: float, what: str) -> str:
    """`1 GPU`, `0.5 GPU`, `8 GPUs`."""
    return f"{number:,g} {what}{'s' if number > 1 or not number else ''}"


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
    name = row.who if row.component is None or row.rank is None else f"{row.component} {row.rank}"
    lines = flow.lines(pieces, head=(*flow.text(name), Run("   ", TEXT)), indent=2)
    return [*lines, *(flow.sentence(row.note, MUTED, 2) if row.note else [])]


def _bundles(flow: Flow, group: GroupState) -> Iterator[Line]:
    """`bundles 0-7 on gpu-3: 1 GPU, 1 CPU each`, for those that are alike; on many nodes, for all nodes together."""
    alike: dict[tuple[float, float, int | None], list[int]] = {}
    few = len({bundle.node for bundle in group.bundles}) <= MOST_BUNDLES
    for number, bundle in enumerate(group.bundles):
        node = bundle.node if few or bundle.node is None else 0
        alike.setdefault((bundle.gpus, bundle.cpus, node), []).append(number)
    for numbers in list(alike.values())[:MOST_BUNDLES]:
        nodes = {group.bundles[number].node for number in numbers}
        node = next(iter(nodes))
        where = "without a node" if node is None else f"on {flow.pen.node_name(node)}"
        where = f"on {count(len(nodes), 'node')}" if len(nodes) > 1 else where
        which = f"bundle {numbers[0]}" if len(numbers) == 1 else f"bundles {ranges(numbers)}"
        which = which if len(which) <= LONGEST_RANGES else count(len(numbers), "bundle")
        each = " each" if len(numbers) > 1 else ""
        yield flow.text(f"{which} {where}: {_resources(group.bundles, numbers[:1])}{each}", MUTED)
    if len(alike) > MOST_BUNDLES:
        yield flow.text(f"and {len(alike) - MOST_BUNDLES} other kinds", MUTED)


def _origin(claim: Claim) -> Iterator[str]:
    """Where an actor of another program comes from."""
    if claim.class_name and claim.class_name != claim.actor:
        yield f"class {claim.class_name}"
    if claim.namespace:
        yield f"namespace {claim.namespace}"
    if claim.placement_group:
        bundle = f" bundle {claim.bundle}" if claim.bundle is not None else ""
        yield f"placement group {claim.placement_group}{bundle}"


def _natural(table: TableName, pen: Pen) -> dict[str, int]:
    """Columns that names of the plan need."""
    plan: Plan = pen.plan
    nodes = max((pen.name_width(node.name) for node in plan.nodes), default=0)
    ranks = max(
        (pen.name_width(one.name) + 3 + len(str(max(0, one.world_size - 1))) for one in plan.components.values()),
        default=0,
    )
    rules = [f"{','.join(one.rule.keys) or one.name}: {one.rule.text.strip()}" for one in plan.components.values()]
    least = {"processes": 16, "groups": 24, "events": 14}.get(table, 0)
    return {
        "who": min(WIDEST_NAME, max(ranks + 2 * (table == "events"), least)),
        "node": max(6, nodes + (0 if table == "processes" else len("/gpu0-7"))),
        "rule": min(WIDEST_NAME, max(map(pen.name_width, rules), default=0)),
    }


def _slots(table: TableName, width: int, gap: int, natural: dict[str, int]) -> Iterator[ColumnSlot]:
    """Where the columns are: those of less importance where there is room, and the memory with a meter."""
    columns = list(COLUMNS[table])
    widths = {one.name: one.width or SENTENCE[table] for one in columns}
    for name, room in natural.items():
        # Of a name, what is beside it leaves it half of the width.
        widths[name] = min(room, width // 3) if name in widths else 0
    if "memory" in widths:
        widths["memory"] += 1 + LEAST_METER

    def needed() -> int:
        return MARGIN + sum(widths[one.name] + gap for one in columns) - gap

    def drop(limit: int) -> None:
        while needed() > width and (able := [one for one in columns if one.keep < limit]):
            columns.remove(min(able, key=lambda one: one.keep))

    drop(7)
    widths["note"] = LEAST_REST
    if needed() > width and "memory" in widths:
        widths["memory"] = FIGURE
    drop(ALWAYS)
    left = max(0, width - needed())
    for name, share, most in (("who", 6, WIDEST_NAME), ("memory", 3, FIGURE + 1 + METER), ("job", 6, WIDEST_NAME)):
        if name == "who" and table != "processes":
            continue
        if name in widths and widths[name] > FIGURE:
            more = max(0, min(left // share, most - widths[name]))
            widths[name] += more
            left -= more
    rest = sum(widths[one.name] + gap for one in columns[[one.name for one in columns].index("note") + 1 :])
    x = MARGIN
    for column in columns:
        room = max(0, width - x - rest) if column.width == REST else widths[column.name]
        room = min(room, max(0, width - x))
        if room and (x == MARGIN or room >= min(widths[column.name], LEAST_SLOT)):
            yield ColumnSlot(column, x, room)
        x += room + gap
