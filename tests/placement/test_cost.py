"""What resolving costs: linear in the ranks, one component after one change, within memory."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from placetui.frameworks.planner import Planner, make_plan
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

planner = Planner()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept from earlier tests."""
    monkeypatch.setattr(sys.modules[__name__], "planner", Planner())


def config(nodes: int, **rules: Any) -> dict[str, Any]:
    return {
        "cluster": {
            "num_nodes": nodes,
            "component_placement": rules,
            "node_groups": [{"label": "half", "node_ranks": f"0-{max(0, nodes // 2 - 1)}"}],
        }
    }


def plan_of(nodes: int, gpus: int = 8, **rules: Any) -> Plan:
    plan = planner.plan(config(nodes, **rules), nodes=[Node(gpus)] * nodes)
    assert [problem.rule for problem in plan.problems if problem.rule != "group_unused"] == []
    return plan


ON_NODES = {"node_group": "node", "placement": "all"}
ON_HALF = {"node_group": "half", "placement": "all"}


# What is kept


def test_a_changed_rule_leaves_the_placements_of_the_others_alone() -> None:
    before = plan_of(2, actor="0-7", rollout="8-15", agent=ON_NODES, env=ON_HALF)
    after = plan_of(2, actor="0-7", rollout="8-11", agent=ON_NODES, env=ON_HALF)
    for name in ("actor", "agent", "env"):
        assert after.components[name].placements is before.components[name].placements
    assert after.components["rollout"].placements is not before.components["rollout"].placements
    assert after.components["rollout"].world_size == 4


def test_shares_follow_although_placements_are_kept() -> None:
    apart = plan_of(2, actor="0-7", rollout="8-15")
    together = plan_of(2, actor="0-7", rollout="0-7")
    assert together.components["actor"].placements is apart.components["actor"].placements
    assert (apart.components["actor"].share, together.components["actor"].share) == (1.0, 0.8)


def test_another_topology_is_placed_anew() -> None:
    eight = plan_of(2, actor="0-7")
    four = plan_of(2, gpus=4, actor="0-7")
    assert eight.components["actor"].placements[-1].cluster_node_rank == 0
    assert four.components["actor"].placements[-1].cluster_node_rank == 1
    named = make_plan(config(2, actor="0-7"), nodes=[Node(8, name="a"), Node(8, name="b")])
    assert named.components["actor"].placements[0].node_id == "a"
    assert eight.components["actor"].placements[0].node_id == "node0"


def test_isolation_is_part_of_what_is_kept() -> None:
    isolated = plan_of(1, actor="0-7")
    open_ = make_plan(config(1, actor="0-7"), nodes=[Node(8)], isolate_accelerator=False)
    assert isolated.components["actor"].placements[1].visible_accelerators == ["1"]
    assert len(open_.components["actor"].placements[1].visible_accelerators) == 8


def test_groups_are_part_of_what_is_kept() -> None:
    plan_of(2, env=ON_HALF)
    moved = config(2, env=ON_HALF)
    moved["cluster"]["node_groups"][0]["node_ranks"] = "1"
    plan = make_plan(moved, nodes=[Node(8)] * 2)
    assert plan.components["env"].placements[0].cluster_node_rank == 1


def test_an_empty_text_is_not_mistaken_for_one_that_could_not_be_resolved() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    broken = make_plan(config(1, actor="0") | {"cluster": config(1, actor="0")["cluster"] | {"num_nodes": deep}})
    assert [problem.rule for problem in broken.problems if problem.blocking]
    blank = make_plan(config(1, actor="0") | {"cluster": config(1, actor="0")["cluster"] | {"num_nodes": ""}})
    assert [problem.rule for problem in blank.problems if problem.blocking] == ["num_nodes_invalid"]


def test_what_is_kept_does_not_grow_with_each_rule_typed() -> None:
    def type_rules(number: int) -> int:
        for _ in range(number):
            plan_of(64, actor="all", env=f"0-{next(ends)}")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    ends = iter(range(511))
    tracemalloc.start()
    try:
        early, late = type_rules(10), type_rules(40)
    finally:
        tracemalloc.stop()
    assert late - early < 100_000
    assert len(planner._cache) < 20


def test_resolving_again_and_again_keeps_nothing_more() -> None:
    plan_of(1, actor="0-7", agent=ON_NODES)
    kept = len(planner._cache)
    for _ in range(10):
        plan_of(1, actor="0-7", agent=ON_NODES)
    assert len(planner._cache) == kept


def test_threads_may_share_a_planner() -> None:
    def plan_many(seed: int) -> None:
        for number in range(25):
            nodes = 64 + (seed + number) % 6
            plan_of(nodes, actor=f"0-{8 * nodes - 1 - (seed * number) % 97}", rollout=f"{number}-{number + seed}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(plan_many, seed) for seed in range(4)]:
            done.result()


def test_many_components_are_kept_as_well() -> None:
    rules: dict[str, Any] = {f"c{number}": f"0:0-{number}" for number in range(100)}
    before = plan_of(1, **rules)
    after = plan_of(1, **rules | {"c7": "1"})
    assert all(
        after.components[name].placements is before.components[name].placements for name in rules if name != "c7"
    )


# What it costs


def calls_during(work: Callable[[], object]) -> int:
    """Python and C functions called while working: a measure of cost that no busy machine can change."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


LAYOUTS: dict[str, dict[str, Any]] = {
    "collocated": {"actor": "all", "rollout": "all", "env": "all"},
    "several devices": {"actor": "all", "rollout": {"node_group": "half", "placement": "all"}},
    "on nodes": {"actor": "all", "agent": ON_NODES},
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_cost_is_linear_in_the_nodes(name: str) -> None:
    small = calls_during(lambda: plan_of(64, **LAYOUTS[name]))
    large = calls_during(lambda: plan_of(256, **LAYOUTS[name]))
    assert large < 4.4 * small


def test_the_cost_of_model_parallel_strides_is_linear() -> None:
    def place(nodes: int) -> None:
        sizes = {"actor": {"model": {"tensor_model_parallel_size": 4}}, "rollout": {"tensor_parallel_size": 2}}
        rules = config(nodes, **{"actor,rollout,reward": "all"})
        plan = make_plan(rules | sizes, nodes=[Node(8)] * nodes, mode="model_parallel")
        assert plan.components["rollout"].world_size == nodes * 4

    place(1)  # what is imported first would count
    assert calls_during(lambda: place(256)) < 4.4 * calls_during(lambda: place(64))


def test_the_cost_of_many_robots_is_linear() -> None:
    def place(nodes: int) -> None:
        rules = config(nodes, env={"node_group": "half", "placement": "all"})
        rules["cluster"]["node_groups"][0] |= {
            "node_ranks": "all",
            "hardware": {"type": "Turtle2", "configs": [{"node_rank": node} for node in range(nodes)]},
        }
        plan = make_plan(rules, nodes=[Node(8)] * nodes)
        assert plan.components["env"].world_size == nodes

    assert calls_during(lambda: place(256)) < 4.4 * calls_during(lambda: place(64))


def test_one_changed_rule_costs_one_component() -> None:
    rules: dict[str, Any] = {f"c{number}": f"0-{511 - number}" for number in range(8)}
    all_of_them = calls_during(lambda: plan_of(64, **rules))
    one = calls_during(lambda: plan_of(64, **rules | {"c3": "0-499"}))
    assert one < all_of_them / 3


def test_a_thousand_nodes_within_budget() -> None:
    before = time.process_time()
    plan = plan_of(1024, actor="all", rollout="all", env="0-8191")
    assert time.process_time() - before < 15
    assert sum(component.world_size for component in plan.components.values()) == 24_576
    last = plan.components["env"].placements[-1]
    assert (last.rank, last.cluster_node_rank, last.local_rank, last.visible_accelerators) == (8191, 1023, 7, ["7"])


def test_a_thousand_nodes_within_memory() -> None:
    tracemalloc.start()
    try:
        plan = plan_of(1024, actor="all", rollout="0-8191", env="0-4095,4096-8191")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(component.world_size for component in plan.components.values()) == 24_576
    assert peak < 100_000_000
