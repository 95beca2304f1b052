"""slime's `create_placement_groups` on three raylets, and the nodes of a program in the order of their ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

PROGRAM = """
import json, types
import placetui

cluster = placetui.Cluster()
found = {"nodes": [node.gpus for node in cluster.nodes], "ids": [node.id for node in cluster.match.nodes]}
found["two"] = [placetui.Cluster(2).num_nodes, placetui.Cluster(cluster_cfg={"num_nodes": 2}).num_nodes]
placements = placetui.PackedPlacementStrategy(0, 5).get_placement(cluster)
found["node_id"] = [placement.node_id for placement in placements]
try:
    placetui.Cluster(4)
except placetui.PlacementError as problem:
    found["too many"] = problem.problems[0].rule

def look(groups):
    import ray
    from ray.util.placement_group import placement_group_table
    seen = {}
    for name, (group, indices, gpu_ids) in groups.items():
        nodes = placement_group_table(group)["bundles_to_node_id"] if group else {}
        seen[name] = {"gpu_ids": gpu_ids, "nodes": [nodes[index] for index in indices], "indices": indices}
    for group in {id(group): group for group, _, _ in groups.values() if group}.values():
        ray.util.remove_placement_group(group)
    return seen

separate = {"actor_num_nodes": 2, "actor-num-gpus-per-node": 2, "rollout_num_gpus": 2, "num_gpus_per_node": 2}
groups = placetui.create_placement_groups({**separate, "something_else": object()})
found["same group"] = groups["actor"][0] is groups["rollout"][0]
try:
    placetui.create_placement_groups({"actor_num_gpus_per_node": 1, "rollout_num_gpus": 1}, timeout=2)
except placetui.ClusterError as problem:
    found["busy"] = str(problem)
found["separate"] = look(groups)
args = types.SimpleNamespace(actor_num_gpus_per_node=2, colocate=True, advantage_estimator="ppo", lr=1e-6)
found["colocated"] = look(placetui.create_placement_groups(args))
found["nothing"] = placetui.create_placement_groups({"debug_rollout_only": True, "rollout_num_gpus": 0})
for name, wrong in [("too large", {"colocate": True}), ("wrong", {"rollout_num_gpus": "many"})]:
    try:
        placetui.create_placement_groups(wrong)
    except ValueError as problem:
        found[name] = [type(problem).__name__, str(problem)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(three_nodes: TestCluster) -> dict[str, Any]:
    found = three_nodes.python(PROGRAM)
    three_nodes.assert_clean(30)
    return found


def test_nodes_come_in_the_order_of_their_ranks(found: dict[str, Any], three_nodes: TestCluster) -> None:
    second, third, first = three_nodes.nodes[2], three_nodes.nodes[0], three_nodes.nodes[1]
    assert found["nodes"] == [2, 2, 2]
    assert found["ids"] == [first, second, third]
    assert found["node_id"] == [first, first, second, second, third, third]
    assert found["two"] == [2, 2]
    assert found["too many"] == "not_enough_nodes"


def test_training_comes_first_and_rollout_after_it(found: dict[str, Any], three_nodes: TestCluster) -> None:
    separate = found["separate"]
    ids = found["ids"]
    assert found["same group"]
    assert list(separate) == ["actor", "rollout"]
    assert sorted(separate["actor"]["indices"]) == list(range(6))
    assert separate["actor"]["nodes"] == [ids[0], ids[0], ids[1], ids[1], ids[2], ids[2]]
    assert separate["actor"]["gpu_ids"] == [0, 1, 0, 1, 0, 1]
    assert separate["rollout"] == {name: values[4:] for name, values in separate["actor"].items()}


def test_colocated_parts_and_the_critic_have_the_same_slots(found: dict[str, Any]) -> None:
    colocated = found["colocated"]
    assert sorted(colocated) == ["actor", "critic", "rollout"]
    assert colocated["actor"] == colocated["critic"] == colocated["rollout"]
    assert colocated["actor"]["gpu_ids"] == [0, 1]
    assert len(set(colocated["actor"]["nodes"])) == 1


def test_no_gpus_are_no_group(found: dict[str, Any]) -> None:
    assert found["nothing"] == {"actor": [None, [], []], "rollout": [None, [], []]}


def test_a_cluster_that_is_busy_is_not_waited_for_in_silence(found: dict[str, Any]) -> None:
    assert " needs 2 bundles of 1 GPU + 1 CPU; " in found["busy"]
    assert " 0 of 2 GPUs free: 2 GPUs reserved by job " in found["busy"]


def test_more_than_there_is_and_wrong_arguments(found: dict[str, Any]) -> None:
    assert found["too large"] == ["NotPossible", "the job takes 8 GPUs, the cluster has 6"]
    kind, text = found["wrong"]
    assert kind == "PlacementError"
    assert "slime_not_a_number" in text
