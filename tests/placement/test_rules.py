"""The shortest rule for some processes gives exactly these processes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.placement.ranks import parse_rule, spread
from placetui.placement.rules import CannotExpress, shortest_rule
from placetui.placement.wording import ranges


def processes_of(rule: str, total: int) -> list[list[int]]:
    return [list(range(first, first + size)) for first, size in spread(parse_rule(rule, total))]


@pytest.mark.parametrize(
    ("rule", "total", "shortest"),
    [
        ("0-7", 8, "all"),
        ("0-7", 16, "0-7"),
        ("0,1,2,3,8,9,10,11", 16, "0-3,8-11"),
        ("0:0-1,1:2-3,2-3:4-7", 8, "0-3:0-7"),
        ("0-1:0,2-3:1,4-7:2-3", 8, "all:0-3"),
        ("0-1:0,2-3:1,4-7:2-3", 16, "0-7:0-3"),
        ("all:0-15", 8, "all:0-15"),
        ("0-1:0-3,3-5,7-10:7-14", 16, "0-1:0-3,3-5,7-10:7-14"),
        ("0-3:0,4:1", 8, "0-3:0,4"),
        ("0:0", 1, "0"),
        ("0", 1, "0"),
    ],
)
def test_a_person_would_write_it_so(rule: str, total: int, shortest: str) -> None:
    assert shortest_rule(processes_of(rule, total), total, may_use_all=True) == shortest


def test_all_is_not_introduced_where_the_topology_is_assumed() -> None:
    assert shortest_rule([[0], [1]], 2, may_use_all=False) == "0-1"
    assert shortest_rule([[0, 1]], 2, may_use_all=False) == "0-1:0"


@pytest.mark.parametrize(
    ("processes", "reason"),
    [
        ([], "this would leave no process"),
        ([[0], []], "rank 1 would have no device"),
        ([[1], [0]], "ranks would be out of order: rank 1 on 0, after rank 0 on 1"),
        ([[0, 2]], "the devices of rank 0 are not adjacent: 0 and 2"),
        ([[0, 1], [0, 1]], "ranks 0 and 1 would share devices 0 and 1"),
        ([[0, 1], [1]], "ranks 0 and 1 would share device 1, and not all"),
        ([[0], [0, 1]], "out of order"),
        ([[3], [4]], "number 4 does not exist: there are 4"),
        ([[-1]], "number -1 does not exist"),
    ],
)
def test_what_no_rule_can_say_is_refused_with_the_reason(processes: list[list[int]], reason: str) -> None:
    with pytest.raises(CannotExpress) as caught:
        shortest_rule(processes, 4, may_use_all=True)
    assert reason in caught.value.reason


SHAPES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 4), st.integers(1, 3), st.booleans()), min_size=1, max_size=12
)


@given(SHAPES, st.integers(0, 3), st.booleans())
def test_every_reachable_list_comes_back(
    shapes: list[tuple[int, int, int, bool]], room: int, may_use_all: bool
) -> None:
    processes: list[list[int]] = []
    naive: list[str] = []
    at = 0
    for gap, size, repeat, several_processes in shapes:
        for index in range(repeat):
            at += gap if not index else 0
            if several_processes:
                naive.append(f"{at}:{len(processes)}-{len(processes) + size - 1}" if size > 1 else str(at))
                processes += [[at]] * size
                at += 1
            else:
                naive.append(f"{at}-{at + size - 1}:{len(processes)}" if size > 1 else str(at))
                processes.append(list(range(at, at + size)))
                at += size
    total = at + room
    rule = shortest_rule(processes, total, may_use_all=may_use_all)
    assert processes_of(rule, total) == processes
    assert len(rule) <= len(",".join(naive))
    assert may_use_all or "all" not in rule


@given(st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=1, max_size=5))
def test_whatever_is_accepted_is_meant(processes: list[list[int]]) -> None:
    try:
        rule = shortest_rule(processes, 7, may_use_all=True)
    except CannotExpress:
        return
    assert processes_of(rule, 7) == processes


@given(st.sets(st.integers(0, 30), min_size=1))
def test_ranges_of_numbers(numbers: set[int]) -> None:
    rule = ranges(sorted(numbers))
    assert [number for segment in parse_rule(rule, 31) for number in segment.resources] == sorted(numbers)
