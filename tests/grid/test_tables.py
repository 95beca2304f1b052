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
from placetui.observe.events import Event, EventKind
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


def test_an_event_of_a_device_or_a_node_says_where_and_is_of_nobody() -> None:
    over = Event(1000.0, "alert_over", 0, 3, message="gpu-0/gpu3: 99% of the memory is in use", what="high memory")
    stale = Event(1000.0, "node_stale", 0, message="gpu-0 is stale: the node does not answer")
    lines = [plain(entry.lines[0]) for entry in event_entries(Pen(PLAN), [over, stale], None, 80)]
    assert lines[0].split()[1:] == "· gpu-0/gpu3 no longer: high memory".split()
    assert lines[1].split()[1:] == "? gpu-0 is stale: the node does not answer".split()
    assert lines[0].index("gpu-0") == lines[1].index("gpu-0")


@pytest.mark.parametrize(
    ("kind", "what", "said"),
    [
        ("drift", "foreign process", "foreign on 0/gpu3"),
        ("alert", "high memory", "full on 0/gpu3"),
        ("alert_over", "high memory", "not full 0/gpu3"),
        ("alert", "high temperature", "hot on 0/gpu3"),
    ],
)
def test_a_short_line_of_an_event_says_where(kind: EventKind, what: str, said: str) -> None:
    event = Event(1000.0, kind, 0, 3, message="something that nobody has room for", what=what)
    (entry,) = event_entries(Pen(PLAN), [event], None, 25)
    assert plain(entry.lines[0])[8:].rstrip() == said


def test_what_is_stale_is_called_so_with_its_sign() -> None:
    stale = Drift("stale", "gpu-0 is stale, read 36 s ago: the node does not answer", node=0)
    row = plain(TablePen("drift", Pen(PLAN), 120).line(stale))
    assert " ".join(row.split()) == "? stale gpu-0 read 36 s ago: the node does not answer"


def test_a_rank_on_a_stale_node_is_not_called_alive() -> None:
    state = RankState("actor", 3, "alive", None, 0, 7, 0)
    rank = RankRow("actor", 3, "job", state, 0.25, Held(1 << 30, ((0, 1),), None), None)
    seen = Observation(0.0, "ray", (NodeSample(0, "gpu-0", age=36.0, stale=True),), {"actor": (state,)})
    row = plain(TablePen("ranks", Pen(PLAN), 160).line(rank, seen))
    assert "? stale" in row
    assert "alive" not in row


@pytest.mark.parametrize(
    ("bundles", "said"),
    [
        ([BundleState(0, 1.0, 1.0)] * 8, "bundles 0-7 on gpu-0: 1 GPU, 1 CPU each"),
        ([BundleState(0, 8.0, 8.0)], "bundle 0 on gpu-0: 8 GPUs, 8 CPUs"),
        (
            [BundleState(number // 8, 1.0, 0.5) for number in range(8192)],
            "bundles 0-8191 on 1,024 nodes: 1 GPU, 0.5 CPU each",
        ),
        ([BundleState(None, 1.0, 0.0)], "bundle 0 without a node: 1 GPU, 0 CPUs"),
    ],
)
def test_bundles_that_are_alike_are_told_together(bundles: list[BundleState], said: str) -> None:
    (line,) = row_lines(Flow(Pen(PLAN), 100), GroupState("ab", "mine", bundles=tuple(bundles)))
    assert plain(line) == f"mine   {said}"


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
