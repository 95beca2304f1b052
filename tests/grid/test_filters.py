"""The language of the tables' filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.grid.tables.filters import FilterError, read_filter
from placetui.grid.tables.rows import ORDERS, TableName, key_of, place_of
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
from placetui.observe.rows import ProcessRow, RankRow, TableRows
from placetui.placement.plan import Plan

GIB = 1 << 30
Build = Callable[..., Plan]


def processes() -> list[ProcessRow]:
    total = 80 * GIB
    first = DeviceSample(
        0,
        memory_total=total,
        processes=(
            ProcessSample(11, 70 * GIB, "rollout", 17, "mine", kind="rank"),
            ProcessSample(12, 8 * GIB, "actor", 0, "mine", kind="rank"),
        ),
    )
    second = DeviceSample(
        3,
        memory_total=total,
        processes=(
            ProcessSample(13, 2 * GIB, user="eve", command="python Train.py"),
            ProcessSample(0, GIB, kind="gone", note="no process holds it"),
            ProcessSample(15, None, "rollout", 2, "mine", kind="rank"),
        ),
        claims=(Claim("a", "Trainer", 14, None, None, "04", 0.5),),
    )
    roster = TableRows()
    nodes = (NodeSample(0, "gpu-a", devices=(first,)), NodeSample(3, "gpu-b", devices=(second,)))
    roster.update(Observation(1.0, "ray", nodes))
    return roster.processes()


def pids(text: str) -> list[int | None]:
    matches = read_filter(text, "processes").matches
    return [row.pid for row in processes() if matches is None or matches(row)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [11, 12, 13, 0, 15, 14]),
        ("component:rollout mem>60", [11]),
        ("component:ROLL", [11, 15]),
        ("rollout:17", [11]),
        ("roll:0-5,17", [11, 15]),
        ("kind:foreign", [13]),
        ("kind:foreign,gone", [13, 0]),
        ("kind:for", []),
        ("-kind:rank", [13, 0, 14]),
        ("!kind:rank mem>=1", [13, 0]),
        ("node:3", [13, 0, 15, 14]),
        ("node:0-2", [11, 12]),
        ("node:GPU-B", [13, 0, 15, 14]),
        ("host:gpu", [11, 12, 13, 0, 15, 14]),
        ("gpu:3 user:eve", [13]),
        ("mem > 80%", [11]),
        ("mem<2", [0, 14]),
        ("mem=0", [14]),
        ("memory<=8gib", [12, 13, 0, 14]),
        ("pid:11-12", [11, 12]),
        ("rank<10", [12, 15]),
        ("share>=0.5", [14]),
        ("train.PY", [13]),
        ("trainer", [14]),
        ("no process", [0]),
        ("job:mine -rollout", [12]),
        ("actor:train", [13, 14]),
        ("c++", []),
    ],
)
def test_a_filter_keeps_what_it_asks_for(text: str, found: list[int]) -> None:
    assert pids(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("actor:0", [12]),
        ("actor 0", [12]),
        ("ROLLOUT 0-5,17", [11, 15]),
        ("rollout:17 #0", [11]),
        ("A0", [12]),
        ("#3", [13, 0, 15, 14]),
        ("gpu-b/gpu3", [13, 0, 15, 14]),
        ("node0 / gpu 0", [11, 12]),
        ("-#0", [13, 0, 15, 14]),
        ("gpu3 rollout", [15]),
        ("actor:train", [13, 14]),
        ("rollout", [11, 15]),
    ],
)
def test_ranks_nodes_and_devices_are_called_as_everywhere(make_plan: Build, text: str, found: list[int]) -> None:
    ranks = {"actor": ("", 1, [(0, [0])]), "rollout": ("", 1, [(0, [0])] * 18)}
    plan = make_plan([4, 0, 0, 4], ranks, names=["gpu-a", "x", "y", "gpu-b"])
    matches = read_filter(text, "processes", plan).matches
    assert matches is not None
    assert [row.pid for row in processes() if matches(row)] == found


def test_a_node_that_is_not_there_is_said(make_plan: Build) -> None:
    with pytest.raises(FilterError, match="there is no node 7; the plan has nodes 0 to 1"):
        read_filter("#7", "ranks", make_plan([1, 1], {}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("knd:foreign", "there is no `knd` here; did you mean `kind`?"),
        ("colour:red", "there is no `colour` here; there is component, rank"),
        ("wight>3", "there is no `wight` here"),
        ("mem>lots", "`mem>lots` compares nothing"),
        (">3", "compares nothing"),
        ("user>3", "`user>3`: user is not a number"),
        ("rank>3%", "`rank>3%`: rank is not a part of something"),
        ("rank:x", "`rank:x`: rank is a number such as `3` or `0-3,5`"),
    ],
)
def test_a_word_that_means_nothing_is_said(text: str, says: str) -> None:
    with pytest.raises(FilterError) as error:
        read_filter(text, "processes")
    assert says in str(error.value)


def test_ranks_and_drift_have_words_of_their_own() -> None:
    states = (RankState("actor", 0, "alive", node=2), RankState("actor", 1, "dead", "killed by signal 9", restarts=3))
    ranks = [RankRow("actor", state.rank, "mine", state, 0.5, None, None) for state in states]
    for text, found in (
        ("state:dead", [1]),
        ("restarts>0", [1]),
        ("node:2", [0]),
        ("signal", [1]),
        ("share=0.5", [0, 1]),
    ):
        matches = read_filter(text, "ranks").matches
        assert [row.rank for row in ranks if matches is None or matches(row)] == found
    notices: list[Drift | Alert] = [
        Drift("dead_rank", "actor 1 is dead", "actor", 1, 4, 2),
        Alert("memory_above", "much", 5, 1),
    ]
    for text, found in (("kind:dead", [4]), ("component:act", [4]), ("node:5", [5]), ("gpu:1", [5]), ("much", [5])):
        matches = read_filter(text, "drift").matches
        assert [row.node for row in notices if matches is None or matches(row)] == found


def test_a_difference_stays_the_same_one_while_its_figures_change() -> None:
    holds = "actor 1 holds {} GiB of node0/gpu3, which is not one of its devices"
    one, other = (Drift("wrong_device", holds.format(size), "actor", 1, 0, 3) for size in ("1.5", "22.0"))
    assert key_of(one) == key_of(other)
    assert key_of(one) != key_of(Drift("wrong_device", holds.format("1.5"), "actor", 1, 0, 4))


def test_rows_lead_to_places() -> None:
    assert place_of(processes()[2]) == (3, 3)
    assert place_of(Alert("load_above", "", 1, 2)) == (1, 2)
    assert place_of(Drift("stale", "", node=7)) == (7, None)
    assert place_of(Drift("missing_rank", "")) is None


@pytest.mark.parametrize("table", list(ORDERS))
def test_every_order_takes_every_row(table: TableName) -> None:
    rows: dict[TableName, list[Any]] = {
        "processes": list(processes()),
        "ranks": [
            RankRow("actor", 1, "", None, None, None, None),
            RankRow("actor", 0, "j", RankState("actor", 0, "alive", node=1, pid=4), 0.5, None, None),
        ],
        "groups": [GroupState("b", "x", bundles=(BundleState(1, 1.0),)), GroupState("a", state="pending")],
        "drift": [Drift("stale", "b", node=7), Drift("missing_rank", "a"), Alert("load_above", "c", 1, 2)],
        "events": [Event(2.0, "rank_died", 1, 3, "actor", 0, "b"), Event(1.0, "node_lost", 7, message="a")],
    }
    for order in ORDERS[table].values():
        ordered = sorted(rows[table], key=order)
        assert list(map(order, ordered)) == list(map(order, sorted(rows[table], key=order, reverse=True)))[::-1]


@given(st.text(alphabet="component:rankmem><=!-0123456789,% é\t", max_size=40))
def test_any_text_is_a_filter_or_says_why_not(text: str) -> None:
    try:
        wanted = read_filter(text, "processes")
    except FilterError:
        return
    rows = processes()
    kept = [row for row in rows if wanted.matches is None or wanted.matches(row)]
    assert [row for row in rows if row in kept] == kept


@given(
    st.sampled_from(["kind:rank", "mem>2", "rollout", "node:3", "share>0.1"]),
    st.sampled_from(["gpu:0", "eve", "-gone"]),
)
def test_two_words_narrow_and_a_sign_turns_round(one: str, other: str) -> None:
    both, everyone = pids(f"{one} {other}"), pids("")
    assert both == [pid for pid in everyone if pid in pids(one) and pid in pids(other)]
    assert sorted(map(str, pids(f"-{one}") + pids(one))) == sorted(map(str, everyone))
