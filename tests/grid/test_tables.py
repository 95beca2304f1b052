"""Lines of the tables: never wider than asked, never an instruction to the terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.planner import resolve
from placetui.grid import cell_width, clean, plain
from placetui.grid.inspector.flow import Flow
from placetui.grid.panels import event_entries
from placetui.grid.pen import Pen
from placetui.grid.tables.rows import ORDERS, Row, Sorting, TableName
from placetui.grid.tables.table import COLUMNS, LEAST_SLOT, TablePen, group_lines, row_lines
from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift
from placetui.observe.events import Event
from placetui.observe.model import (
    BundleState,
    Claim,
    DeviceSample,
    GroupState,
    NodeSample,
    Observation,
    ProcessSample,
    RankState,
)
from placetui.observe.rows import Held, ProcessRow, RankRow
from placetui.placement.topology import Node

PLAN = resolve({"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-3"}}}, [Node(4, name="gpu-0")])
TEXT = st.text(max_size=30)
MEMORY = st.none() | st.integers(0, 1 << 40)
DEVICE = DeviceSample(3, memory_total=80 << 30)

PROCESSES = st.builds(
    lambda name, text, user, memory, kind, stale: ProcessRow(
        NodeSample(0, name, stale=stale),
        DEVICE,
        ProcessSample(7, memory, actor=text or None, kind=kind, user=user, command=text, note=user, actor_id="a"),
        Claim("a", text, class_name=user, namespace=name, placement_group=text, bundle=2),
    ),
    TEXT,
    TEXT,
    TEXT,
    MEMORY,
    st.sampled_from(["actor", "foreign", "gone"]),
    st.booleans(),
)
RANKS = st.builds(
    lambda name, job, reason, memory, restarts: RankRow(
        name,
        3,
        job,
        RankState(name, 3, "dead", reason, restarts, 7, 0),
        0.25,
        Held(memory, ((0, 1), (0, 2)), None),
        None,
    ),
    TEXT | st.just("actor"),
    TEXT,
    TEXT,
    MEMORY,
    st.integers(0, 9999),
)
NOTICES = st.builds(lambda text: Drift("dead_rank", text, text, 3, 5), TEXT) | st.builds(
    lambda text: Alert("memory_above", text, 0, 3), TEXT
)
GROUPS = st.builds(
    lambda name, text: GroupState("ab", name, text, text, text, (BundleState(0, 1.0), BundleState(None))), TEXT, TEXT
)
ROWS = st.one_of(
    st.tuples(st.just("processes"), PROCESSES),
    st.tuples(st.just("ranks"), RANKS),
    st.tuples(st.just("drift"), NOTICES),
    st.tuples(st.just("groups"), GROUPS),
)


@given(ROWS, st.integers(1, 220), st.booleans())
def test_a_line_is_as_wide_as_asked_and_harmless(row: tuple[TableName, Row], width: int, ascii: bool) -> None:
    pen = Pen(PLAN, ascii)
    table = TablePen(row[0], pen, width)
    header = table.header(Sorting(next(iter(ORDERS[row[0]])), descending=True))
    lines = [table.line(row[1]), header]
    assert [cell_width(plain(line)) for line in lines] == [width, width]
    lines += row_lines(Flow(pen, max(20, width)), row[1])
    text = "".join(map(plain, lines))
    assert text == clean(text)
    assert text.isascii() or not ascii


def test_every_column_is_shown_where_there_is_room_and_found_by_the_mouse() -> None:
    for table, columns in COLUMNS.items():
        pen = TablePen(table, Pen(PLAN), 300)
        assert {column.name for column in columns} >= set(ORDERS[table])
        assert [pen.column_at(slot.x) for slot in pen.slots] == [column.name for column in columns]
        assert pen.column_at(500) is None


def test_an_event_stands_in_columns_and_is_tinted_while_it_holds() -> None:
    died = Event(1000.0, "rank_died", 0, None, "actor", 2, "actor:2 died: killed by signal 9")
    dead = Observation(1200.0, "ray", ranks={"actor": tuple(RankState("actor", rank, "dead") for rank in range(4))})
    (entry,) = event_entries(Pen(PLAN), [died], dead, 80)
    assert plain(entry.lines[0]).split()[1:] == "✗ A actor 2 gpu-0/gpu2 died: killed by signal 9".split()
    assert {run.style.ground for run in entry.lines[0]} == {"error"}
    alive = replace(dead, ranks={"actor": tuple(RankState("actor", rank, "alive") for rank in range(4))})
    assert {run.style.ground for run in event_entries(Pen(PLAN), [died], alive, 80)[0].lines[0]} == {None}
    row = plain(TablePen("events", Pen(PLAN), 200).line(died, dead))
    assert row.split()[1:] == "✗ A actor 2 gpu-0/gpu2 died: killed by signal 9 rank died".split()


def test_where_there_is_little_room_whole_columns_go_the_least_important_first() -> None:
    def columns(width: int) -> list[str]:
        return [slot.column.name for slot in TablePen("processes", Pen(PLAN), width).slots]

    assert set(columns(120)) - set(columns(76)) >= {"state", "share", "up"}
    assert {"node", "gpu", "who", "memory"} <= set(columns(38))
    assert "rule" in columns(256)


def test_bundles_of_a_group_never_take_more_lines_than_there_are() -> None:
    group = GroupState("ab", "mine", bundles=tuple(BundleState(number // 8, 1.0, 1.0) for number in range(8 * 99)))
    for rows in range(4, 60, 7):
        lines = group_lines(Flow(Pen(PLAN), 100), group, rows)
        assert len(lines) <= rows
        assert max(cell_width(plain(line)) for line in lines) <= 100


@pytest.mark.parametrize("table", COLUMNS)
@pytest.mark.parametrize("width", [30, 40, 50, 80])
def test_a_column_without_room_for_a_word_is_left_out(table: TableName, width: int) -> None:
    _, *others = TablePen(table, Pen(PLAN), width).slots
    assert all(slot.width >= min(LEAST_SLOT, slot.column.width or LEAST_SLOT) for slot in others)
