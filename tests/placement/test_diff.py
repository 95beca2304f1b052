"""The difference of two plans: nothing is missed, nothing is made up, and it reads well."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.planner import resolve
from placetui.placement.diff import Difference, diff_plans, difference_lines
from placetui.placement.plan import Plan
from placetui.placement.topology import Node


def plan_of(rules: dict[str, Any], nodes: int = 4, **more: Any) -> Plan:
    return resolve({"cluster": {"num_nodes": nodes, "component_placement": rules}, **more})


def lines(before: Plan, after: Plan) -> list[str]:
    return list(difference_lines(diff_plans(before, after)))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"rollout": "0-7"}, {"rollout": "8-15"}, ["rollout 0-7: node0/gpu0-7 → node1/gpu0-7"]),
        ({"a": "0-3"}, {"a": "4-7"}, ["a 0-3: node0/gpu0-3 → node0/gpu4-7"]),
        ({"a": "0-2"}, {"a": "0,2-3"}, ["a 1-2: node0/gpu1-2 → node0/gpu2-3"]),
        (
            {"a": "0-15"},
            {"a": "16-31"},
            ["a 0-15: node0 … node1, GPU 0-7 each → node2 … node3, GPU 0-7 each"],
        ),
        (
            {"a": "0-3:0-1"},
            {"a": "0-1:0-1"},
            ["a 0-1: node0/gpu0-1 2-3 → node0/gpu0-1"],
        ),
        ({"a": "0-7"}, {"a": "0-9"}, ["a: 8 ranks → 10", "a 8-9: added on node1/gpu0-1"]),
        ({"a": "0-7"}, {"a": "0-3"}, ["a: 8 ranks → 4", "a 4-7: removed from node0/gpu4-7"]),
        ({"a": "0", "b": "1"}, {"b": "1"}, ["a 0: removed from node0/gpu0"]),
        ({"b": "1"}, {"b": "1", "a": "8"}, ["a 0: added on node1/gpu0"]),
        (
            {"actor": "0-7"},
            {"actor": "0-7", "rollout": "0-7"},
            ["actor 0-7: share 1.00 → 0.80", "rollout 0-7: added on node0/gpu0-7"],
        ),
        (
            {"a": {"node_group": "node", "placement": "0:0-9"}},
            {"a": {"node_group": "node", "placement": "1:0-9"}},
            ["a 0-9: node0 → node1"],
        ),
        (
            {"a": "0"},
            {"a": {"node_group": "node", "placement": "0"}},
            ["a: flexible → node strategy", "a 0: node0/gpu0 → node0", "a 0: share 1.00 → -"],
        ),
    ],
)
def test_it_reads_well(before: dict[str, Any], after: dict[str, Any], expected: list[str]) -> None:
    assert lines(plan_of(before), plan_of(after))[:-1] == expected


def test_it_ends_with_counts() -> None:
    before = plan_of({"actor": "0-15", "reward": "0"})
    after = plan_of({"actor": "0-7,16-19", "critic": "24-25"})
    assert lines(before, after)[-1] == "4 ranks move, 2 ranks added, 5 ranks removed, 12 shares change, 8 stay"
    assert lines(before, before) == ["no difference: 17 ranks as before"]


def test_nodes_that_differ_are_named_together() -> None:
    rules = {"a": "0"}
    assert lines(plan_of(rules, 2), plan_of(rules, 1024))[0] == "node2 … node1023: absent → 8 GPUs"
    small = resolve({"cluster": {"num_nodes": 1, "component_placement": rules}}, [Node(4, name="x")])
    assert lines(plan_of(rules, 1), small)[0] == "x: node0 with 8 GPUs → x with 4 GPUs"


def test_a_thousand_nodes_in_step_are_one_line() -> None:
    before, after = plan_of({"a": "0-8183"}, 1024), plan_of({"a": "8-8191"}, 1024)
    assert lines(before, after) == [
        "a 0-8183: node0 … node1022, GPU 0-7 each → node1 … node1023, GPU 0-7 each",
        "8,184 ranks move, 0 stay",
    ]


def test_the_data_has_a_schema() -> None:
    found = diff_plans(plan_of({"a": "0-1", "b": "0"}), plan_of({"a": "0,8"})).to_dict()
    assert found == {
        "schema": 1,
        "before": "",
        "after": "",
        "differ": True,
        "counts": {"moves": 1, "appears": 0, "vanishes": 1, "stays": 1, "shares": 2},
        "nodes": [],
        "components": {
            "a": {
                "happening": "changes",
                "world_size": [2, 2],
                "strategy": ["flexible", "flexible"],
                "moves": [
                    {
                        "rank": 1,
                        "before": {"node": 0, "kind": "gpu", "devices": (1,)},
                        "after": {"node": 1, "kind": "gpu", "devices": (0,)},
                    }
                ],
                "appears": [],
                "vanishes": [],
                "shares": [{"ranks": (0, 1), "before": 0.5, "after": 1.0}],
            },
            "b": {
                "happening": "vanishes",
                "world_size": [1, 0],
                "strategy": ["flexible", None],
                "moves": [],
                "appears": [],
                "vanishes": [{"rank": 0, "node": 0, "kind": "gpu", "devices": (0,)}],
                "shares": [],
            },
        },
    }


def rule() -> st.SearchStrategy[str]:
    """Single GPUs, runs, and processes over two GPUs, somewhere on four nodes of eight."""
    chosen = st.sets(st.integers(0, 31), min_size=1, max_size=12).map(lambda gpus: ",".join(map(str, sorted(gpus))))
    pairs = st.tuples(st.integers(0, 6), st.integers(1, 4)).map(
        lambda start: f"{start[0] * 4}-{start[0] * 4 + 3}:0-{1 if start[1] % 2 else 3}"
    )
    return chosen | pairs


rules = st.dictionaries(st.sampled_from(["actor", "critic", "rollout", "reward"]), rule(), min_size=1)


def spots(plan: Plan) -> dict[tuple[str, int], tuple[int, str, tuple[int, ...]]]:
    return {
        (name, one.rank): (one.cluster_node_rank, plan.kind_of(one), tuple(one.local_hardware_ranks))
        for name, component in plan.components.items()
        for one in component.placements
    }


@given(rules, rules)
def test_the_difference_leads_from_one_plan_to_the_other(one: dict[str, str], other: dict[str, str]) -> None:
    before, after = plan_of(one), plan_of(other)
    found = diff_plans(before, after)
    place = spots(before)
    for component in found.components:
        for move in component.moves:
            assert place[component.component, move.rank] == move.before != move.after
            place[component.component, move.rank] = move.after
        for rank, spot in component.vanishes:
            assert place.pop((component.component, rank)) == spot
        for rank, spot in component.appears:
            assert (component.component, rank) not in place
            place[component.component, rank] = spot
    assert place == spots(after)
    counts = found.counts
    assert counts["moves"] + counts["vanishes"] + counts["stays"] == len(spots(before))
    assert counts["moves"] + counts["appears"] + counts["stays"] == len(spots(after))


@given(rules, rules)
def test_back_is_the_same_way(one: dict[str, str], other: dict[str, str]) -> None:
    there, back = diff_plans(plan_of(one), plan_of(other)), diff_plans(plan_of(other), plan_of(one))
    assert there.counts["moves"] == back.counts["moves"]
    assert there.counts["appears"] == back.counts["vanishes"]
    assert bool(there) == bool(back)


@given(rules)
def test_a_plan_does_not_differ_from_itself(one: dict[str, str]) -> None:
    plan, again = plan_of(one), plan_of(one)
    for found in (diff_plans(plan, again), diff_plans(plan, resolve_anew(one))):
        assert not found
        assert found.counts["stays"] == sum(component.world_size for component in plan.components.values())


def resolve_anew(rules: dict[str, str]) -> Plan:
    """On other nodes that look the same, so that no placement is shared."""
    nodes = [Node(8, ip=f"10.9.9.{rank}") for rank in range(4)]
    return resolve({"cluster": {"num_nodes": 4, "component_placement": rules}}, nodes)


@given(rules, rules)
def test_the_words_name_exactly_the_ranks_that_differ(one: dict[str, str], other: dict[str, str]) -> None:
    found = diff_plans(plan_of(one), plan_of(other))
    named: set[tuple[str, int]] = set()
    for line in difference_lines(found):
        match = re.match(r"(\w+) (\d+)(?:-(\d+))?: (?!share)", line)
        if match:
            first, last = int(match[2]), int(match[3] or match[2])
            named |= {(match[1], rank) for rank in range(first, last + 1)}
    assert named == moved(found)


def moved(found: Difference) -> set[tuple[str, int]]:
    ranks: set[tuple[str, int]] = set()
    for component in found.components:
        ranks |= {(component.component, move.rank) for move in component.moves}
        ranks |= {(component.component, rank) for rank, _ in (*component.appears, *component.vanishes)}
    return ranks
