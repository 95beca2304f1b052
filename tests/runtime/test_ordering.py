"""From probed bundles to ranks on devices."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.planner import resolve
from placetui.frameworks.slime.order import sort_key
from placetui.placement.environment import rank_environment
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.launch.demand import demand_of
from placetui.runtime.launch.ordering import Probed, as_obtained, moves, order


def plan_of(placement: dict[str, Any], nodes: int = 1, gpus: int = 4, isolate: bool = True) -> Plan:
    config = {"cluster": {"num_nodes": nodes, "component_placement": placement}}
    return resolve(config, [Node(gpus)] * nodes, isolate_accelerator=isolate)


def nodes_of(gpus: dict[str, int]) -> list[RayNode]:
    """Nodes by their ids."""
    return [RayNode(name, "10.0.0.1", resources={"GPU": number}) for name, number in gpus.items()]


@given(st.integers(1, 3), st.integers(1, 12), st.randoms(use_true_random=False))
def test_slime_files_get_slimes_order(nodes: int, gpus: int, chance: random.Random) -> None:
    """Bundles come scrambled; after ordering, slot k is what slime's own key puts at place k."""
    config = {"slime": {"actor_num_nodes": nodes, "actor_num_gpus_per_node": gpus, "debug_train_only": True}}
    plan = resolve(config, [Node(gpus)] * nodes)
    demand = demand_of(plan)
    devices = [(f"10.0.0.{8 + node}", gpu) for node in range(nodes) for gpu in range(gpus)]
    chance.shuffle(devices)
    probed = [Probed(bundle, ip, str(gpu), gpu) for bundle, (ip, gpu) in enumerate(devices)]
    slime = sorted(((one.bundle, one.node, one.gpu) for one in probed), key=sort_key)
    result = order(demand, nodes_of({f"10.0.0.{8 + node}": gpus for node in range(nodes)}), probed)
    assert [one.bundle for one in result.bundles] == [bundle for bundle, _, _ in slime]
    assert moves(demand, result) == []


def test_more_than_ten_gpus_are_ordered_by_position_also_when_ids_are_text() -> None:
    plan = plan_of({"actor": "0-11"}, gpus=12)
    visible = tuple(str(20 - slot) for slot in range(12))
    probed = [Probed(11 - slot, "a", visible[slot], slot, visible) for slot in range(12)]
    result = order(demand_of(plan), nodes_of({"a": 12}), probed)
    assert [one.gpu for one in result.bundles] == list(visible)


def test_a_job_that_moved_says_so_rank_by_rank() -> None:
    plan = plan_of({"actor": "0-1", "rollout": "0-1:0"})
    result = order(demand_of(plan), nodes_of({"a": 4}), [Probed(0, "a", "3", 3), Probed(1, "a", "2", 2)])
    assert [move.sentence() for move in moves(demand_of(plan), result)] == [
        "actor:0 on node 0: planned GPU 0, got GPU 2",
        "actor:1 on node 0: planned GPU 1, got GPU 3",
        "rollout:0 on node 0: planned GPU 0, 1, got GPU 2, 3",
    ]
    obtained = as_obtained(plan, demand_of(plan), result)
    placement = obtained.components["rollout"].placements[0]
    assert (placement.local_hardware_ranks, placement.visible_accelerators) == ([2, 3], ["2", "3"])
    assert placement.local_accelerator_rank == 2
    assert rank_environment(obtained, "rollout", 0)["CUDA_VISIBLE_DEVICES"] == "2,3"


def test_a_node_that_sees_some_of_its_gpus_gives_their_physical_ids() -> None:
    visible = ("4", "5", "6", "7")
    probed = [Probed(slot, "a", visible[slot], slot, visible) for slot in range(2)]
    for isolate, seen in ((True, "5"), (False, "4,5,6,7")):
        plan = plan_of({"actor": "0-1", "env": {"node_group": "node", "placement": "0"}}, isolate=isolate)
        demand = demand_of(plan)
        result = order(demand, nodes_of({"a": 4}), probed)
        assert moves(demand, result) == []
        obtained = as_obtained(plan, demand, result)
        environment = rank_environment(obtained, "actor", 1)
        assert (environment["CUDA_VISIBLE_DEVICES"], environment["LOCAL_HARDWARE_RANKS"]) == (seen, "1")
        planned = plan.components["env"].placements[0].visible_accelerators
        assert obtained.components["env"].placements[0].visible_accelerators == [visible[int(one)] for one in planned]


@pytest.mark.parametrize(
    ("probed", "says"),
    [
        ([Probed(0, "a", "0", 0)], "every bundle once"),
        ([Probed(0, "a", "0", 0), Probed(1, "c", "0", 0)], "which the plan does not use"),
        ([Probed(0, "a", "0", 0), Probed(1, "a", "1", 1)], "on node 0 instead of 1"),
    ],
)
def test_what_ray_did_not_give_as_asked(probed: list[Probed], says: str) -> None:
    demand = demand_of(plan_of({"actor": "0-1"}, nodes=2, gpus=1))
    with pytest.raises(ClusterError, match=says):
        order(demand, nodes_of({"a": 1, "b": 1}), probed)
