"""Lines of the tables: never wider than asked, never an instruction to the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.planner import resolve
from placetui.grid import cell_width, clean, plain
from placetui.grid.inspector.flow import Flow
from placetui.grid.pen import Pen
from placetui.grid.tables.rows import ORDERS, Row, Sorting, TableName
from placetui.grid.tables.table import COLUMNS, TablePen, row_lines
from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift
from placetui.observe.model import BundleState, Claim, DeviceSample, GroupState, NodeSample, ProcessSample, RankState
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


def test_every_column_that_is_shown_can_be_sorted_by_and_is_found_by_the_mouse() -> None:
    for table, columns in COLUMNS.items():
        pen = TablePen(table, Pen(PLAN), 200)
        assert {column.name for column in columns} == set(ORDERS[table])
        assert [pen.column_at(slot.x) for slot in pen.slots] == [column.name for column in columns]
        assert pen.column_at(500) is None
