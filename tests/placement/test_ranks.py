"""The rank grammar, rule by rule, with the part of the text that is meant."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.placement.ranks import MOST_PROCESSES, RankError, parse_node_ranks, parse_rule, shorten, spread


def refused(text: str, total: int | None = 8) -> tuple[str, str]:
    """Rule id, and the part of the text that the problem points at."""
    with pytest.raises(RankError) as caught:
        parse_rule(text, total)
    problem = caught.value.problem
    assert problem.message
    assert problem.hint
    assert len(problem.message) < 700
    return problem.rule, text[slice(*problem.span)] if problem.span else text


@pytest.mark.parametrize(
    ("text", "rule", "meant"),
    [
        ("a", "rank_format", "a"),
        ("0-3, x ,5", "rank_format", "x"),
        ("-1", "rank_format", "-1"),
        ("1--2", "rank_format", "1--2"),
        ("0-1-2", "rank_format", "0-1-2"),
        ("0-", "rank_format", "0-"),
        ("0..3", "rank_format", "0..3"),
        ("1.5", "rank_format", "1.5"),
        ("[0, 1]", "rank_format", "[0"),
        ("None", "rank_format", "None"),
        ("0-3:0-x", "rank_format", "0-x"),
        ("all-3", "rank_format", "all-3"),
        ("0,5-2", "resource_range_reversed", "5-2"),
        ("0-3:3-0", "process_range_reversed", "3-0"),
        ("0-8", "resource_out_of_range", "0-8"),
        ("0-3,9", "resource_out_of_range", "9"),
        ("0-999999999999", "resource_out_of_range", "0-999999999999"),
        ("0-3:0:1", "too_many_colons", "0-3:0:1"),
        ("0,1:1:1", "too_many_colons", "1:1:1"),
        (":0", "no_resource_ranks", ":0"),
        ("0-3:", "no_process_ranks", ""),
        ("0-3:all", "process_all", "all"),
        ("0-3: ALL", "process_all", "ALL"),
        ("0-3,2-5", "duplicate_resource", "2-5"),
        ("0,0", "duplicate_resource", "0"),
        ("4-5,0-1", "resource_order", "0-1"),
        ("0-1:0-1,2-3:1-2", "duplicate_process", "1-2"),
        ("0-1,2-3:0-1", "duplicate_process", "0-1"),
        ("0-1:0-1,2-3:5-6", "process_order", "5-6"),
        ("0-3:4-7", "process_start", "0-3:4-7"),
        ("0:3", "process_start", "0:3"),
        ("0-2:0-1", "not_divisible", "0-2:0-1"),
        ("0-1:0-200", "not_divisible", "0-1:0-200"),
        ("", "empty_placement", ""),
        (" , ,", "empty_placement", " , ,"),
        ("0:0-999999999999", "too_many_processes", "0:0-999999999999"),
    ],
)
def test_a_rule_that_breaks_the_grammar(text: str, rule: str, meant: str) -> None:
    assert refused(text) == (rule, meant)


def test_nothing_can_be_named_where_there_are_no_devices() -> None:
    assert refused("0", total=0) == ("resource_out_of_range", "0")
    assert refused("all", total=0) == ("no_resource_ranks", "all")


def test_what_is_out_of_range_is_said_in_the_words_of_the_cluster() -> None:
    with pytest.raises(RankError) as caught:
        parse_rule("0-8", 8, lambda: "group a800 has 8 devices on node0", "device")
    problem = caught.value.problem
    assert "device 8 of `0-8`" in problem.message
    assert "group a800 has 8 devices on node0" in f"{problem.message} {problem.hint}"
    assert "0 to 7" in problem.hint


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("0-1:0-200", ("0-199", "0-201")),
        ("0-2:0-1", ("2 or 4", "divides 3")),
        ("5-2", ("2-5",)),
        ("0-1:0-1,2-3:5-6", ("process 2",)),
    ],
)
def test_the_hint_says_what_to_write(text: str, hints: tuple[str, ...]) -> None:
    with pytest.raises(RankError) as caught:
        parse_rule(text, 8)
    for hint in hints:
        assert hint in caught.value.problem.hint


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("0-3", [(0, 1), (1, 1), (2, 1), (3, 1)]),
        (" 0 - 1 , 3 ", [(0, 1), (1, 1), (3, 1)]),
        ("0-3:0-1", [(0, 2), (2, 2)]),
        ("0-1:0-3", [(0, 1), (0, 1), (1, 1), (1, 1)]),
        ("0:0-2", [(0, 1)] * 3),
        ("all", [(number, 1) for number in range(16)]),
        ("ALL:0-1", [(0, 8), (8, 8)]),
        ("all:0-31", [(number // 2, 1) for number in range(32)]),
        ("+3,1_0", [(3, 1), (10, 1)]),
        ("٣", [(3, 1)]),
        ("0-1,,4", [(0, 1), (1, 1), (4, 1)]),
        (
            "0-1:0-3,3-5,7-10:7-14",
            [(0, 1), (0, 1), (1, 1), (1, 1), (3, 1), (4, 1), (5, 1)] + [(7 + i // 2, 1) for i in range(8)],
        ),
        ("0-1,4-5:2-3", [(0, 1), (1, 1), (4, 1), (5, 1)]),
    ],
)
def test_processes_are_spread_evenly(text: str, runs: list[tuple[int, int]]) -> None:
    assert spread(parse_rule(text, 16)) == runs


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4), st.booleans(), st.integers(0, 2)), min_size=1, max_size=6)
)
def test_every_process_gets_devices_and_every_device_a_process(pieces: list[tuple[int, int, bool, int]]) -> None:
    """Generated rules are right by construction; what comes out covers what was written, in order."""
    resource = process = 0
    written = []
    named: list[int] = []
    for size, factor, more_processes, gap in pieces:
        resource += gap
        resources = size if more_processes else size * factor
        processes = size * factor if more_processes else size
        written.append(f"{resource}-{resource + resources - 1}:{process}-{process + processes - 1}")
        named += range(resource, resource + resources)
        resource, process = resource + resources, process + processes
    runs = spread(parse_rule(",".join(written), resource))
    assert len(runs) == process
    covered = [number for first, size in runs for number in range(first, first + size)]
    assert covered == sorted(covered)
    assert sorted(set(covered)) == named


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("0-2", [0, 1, 2]),
        ("1,0,1", [0, 1]),
        ("all", [0, 1, 2, 3]),
        ("ALL", [0, 1, 2, 3]),
        ("", []),
        (",", []),
        ("2-3,0-2,1", [0, 1, 2, 3]),
        ("0-3,1-2", [0, 1, 2, 3]),
    ],
)
def test_node_ranks_are_a_union_in_order(text: str, ranks: list[int]) -> None:
    assert parse_node_ranks(text, range(4)) == ranks


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (" all ", "rank_format"),
        ("a", "rank_format"),
        ("3-1", "node_ranks_reversed"),
        ("0-4", "node_ranks_out_of_range"),
        ("0-999999999999", "node_ranks_out_of_range"),
    ],
)
def test_node_ranks_that_cannot_be(text: str, rule: str) -> None:
    with pytest.raises(RankError) as caught:
        parse_node_ranks(text, range(4))
    assert caught.value.problem.rule == rule


def test_no_nodes_have_no_ranks() -> None:
    with pytest.raises(RankError) as caught:
        parse_node_ranks("0", [])
    assert caught.value.problem.rule == "node_ranks_out_of_range"


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), max_size=8))
def test_node_ranks_are_what_a_set_would_hold(pieces: list[tuple[int, int]]) -> None:
    text = ",".join(f"{start}-{start + size}" for start, size in pieces)
    expected = {rank for start, size in pieces for rank in range(start, start + size + 1)}
    assert parse_node_ranks(text, range(51)) == sorted(expected)


NINES = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        "0-999999999999",
        "0:0-999999999999",
        f"0:0-{MOST_PROCESSES}",
        "0:0-99999999999999999999999",
        "0-99999999999999999999999:0",
        NINES,
        f"0-{NINES}",
        f"0:0-{NINES}",
        f"0-{'9' * 4000}",
        f"0:0-{'9' * 4000}",
        f"{'9' * 4000}-0",
        "0-0," * 100_000,
        "0," * 300_000,
        ":" * 300_000,
        "-" * 300_000,
        "," * 300_000,
    ],
    ids=lambda text: shorten(text, 20),
)
@pytest.mark.parametrize("total", [0, 8, None])
def test_absurd_texts_are_refused_at_once(text: str, total: int | None) -> None:
    before = time.process_time()
    refused(text, total)
    assert time.process_time() - before < 10  # a cost that grows with the square would take minutes


@pytest.mark.parametrize("piece", ["0-65535,", "0,", "65535,0,"])
def test_many_pieces_cost_what_they_are_long(piece: str) -> None:
    before = time.process_time()
    assert parse_node_ranks(piece * 50_000, range(65_536))[-1] <= 65_535
    assert time.process_time() - before < 10


@given(st.text(" 0123456789-,:alLx+_", max_size=30), st.one_of(st.none(), st.integers(0, 20)))
def test_any_text_is_parsed_or_refused(text: str, total: int | None) -> None:
    try:
        segments = parse_rule(text, total)
    except RankError as error:
        problem = error.problem
    else:
        assert segments[0].processes.start == 0
        assert total is None or segments[-1].resources[-1] < total
        return
    assert problem.message
    assert problem.span is None or 0 <= problem.span[0] <= problem.span[1] <= len(text)
