"""Strategies and placements as the source documents have them, old spellings included."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from placetui import (
    Cluster,
    FlexiblePlacementStrategy,
    Node,
    NodePlacementStrategy,
    PackedPlacementStrategy,
    Placement,
    PlacementError,
    PlacementStrategy,
)

FOUR = Cluster(nodes=[Node(gpus=4)])


def devices(placements: list[Placement]) -> list[list[int]]:
    return [one.local_hardware_ranks for one in placements]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (FlexiblePlacementStrategy([[0, 1], [2], [3]]), [[0, 1], [2], [3]]),
        (FlexiblePlacementStrategy([[3], [2, 1], [0]]), [[0], [1, 2], [3]]),
        (PackedPlacementStrategy(0, 3), [[0], [1], [2], [3]]),
        (PackedPlacementStrategy(0, 3, num_hardware_per_process=2), [[0, 1], [2, 3]]),
        (PackedPlacementStrategy(0, 3, stride=2, num_hardware_per_process=2), [[0, 2], [1, 3]]),
        (PackedPlacementStrategy(1, 2, 2), [[1, 2]]),
        (PackedPlacementStrategy(start_gpu_id=0, end_gpu_id=3, num_gpus_per_process=2), [[0, 1], [2, 3]]),
        (PackedPlacementStrategy(0, 3, node_group="cluster"), [[0], [1], [2], [3]]),
        (PackedPlacementStrategy(0, 3, node_group=["cluster"]), [[0], [1], [2], [3]]),
    ],
)
def test_examples_of_the_documents(strategy: PlacementStrategy, expected: list[list[int]]) -> None:
    placements = strategy.get_placement(FOUR)
    assert devices(placements) == expected
    assert [one.visible_accelerators for one in placements] == [[str(i) for i in one] for one in expected]
    assert [one.local_accelerator_rank for one in placements] == [one[0] for one in expected]
    assert [one.rank for one in placements] == list(range(len(expected)))
    assert strategy.get_placement(FOUR) == placements


def test_four_processes_on_one_node() -> None:
    placements = NodePlacementStrategy([0] * 4).get_placement(FOUR)
    assert [one.rank for one in placements] == [0, 1, 2, 3]
    assert [one.local_rank for one in placements] == [0, 1, 2, 3]
    assert {one.cluster_node_rank for one in placements} == {0}
    assert devices(placements) == [[]] * 4
    assert placements[0].visible_accelerators == ["0", "1", "2", "3"]


def test_the_worked_stride() -> None:
    placements = PackedPlacementStrategy(0, 7, 2, stride=2).get_placement(Cluster(nodes=[Node(8)]))
    assert devices(placements) == [[0, 2], [1, 3], [4, 6], [5, 7]]


@pytest.mark.parametrize(
    ("strategy", "nodes"),
    [
        (PackedPlacementStrategy(0, 7), 1),
        (PackedPlacementStrategy(0, 15), 2),
        (PackedPlacementStrategy(8, 16), 3),
        (FlexiblePlacementStrategy([[0], [23]]), 3),
        (NodePlacementStrategy([0, 4]), 5),
    ],
)
def test_a_number_of_gpus_stands_for_a_cluster_that_is_large_enough(strategy: PlacementStrategy, nodes: int) -> None:
    placements = strategy.get_placement(8)
    assert placements[-1].cluster_node_rank == nodes - 1
    assert placements == strategy.get_placement(Cluster(nodes=[Node(8)] * nodes))


def test_isolation_and_its_older_spelling() -> None:
    strategy = PackedPlacementStrategy(0, 3)
    assert strategy.get_placement(FOUR)[1].visible_accelerators == ["1"]
    everything = ["0", "1", "2", "3"]
    assert strategy.get_placement(FOUR, False)[1].visible_accelerators == everything
    assert strategy.get_placement(FOUR, isolate_accelerator=False)[1].visible_accelerators == everything
    assert strategy.get_placement(FOUR, isolate_gpu=False)[1].visible_accelerators == everything
    assert strategy.get_placement(4, False)[1].visible_accelerators == everything
    assert strategy.get_placement(num_gpus_per_node=4, isolate_gpu=False)[1].visible_accelerators == everything
    with pytest.raises(TypeError, match="needs a cluster"):
        strategy.get_placement()
    older = PackedPlacementStrategy(0, 3, isolate_gpu=False)
    assert older.get_placement(FOUR)[1].visible_accelerators == everything
    assert not older.get_placement(FOUR)[1].isolate_gpu


def test_older_spellings_of_a_placement() -> None:
    cluster = Cluster(nodes=[Node(2, name="head"), Node(2)])
    first, _, third, _ = PackedPlacementStrategy(0, 3).get_placement(cluster)
    assert (first.node_id, third.node_id) == ("head", "node1")
    assert third.node_rank == third.cluster_node_rank == 1
    assert third.local_gpu_id == third.local_accelerator_rank == 0
    assert third.cuda_visible_devices == third.visible_accelerators == ["0"]
    assert third.isolate_gpu is third.isolate_accelerator is True


def test_a_placement_is_frozen_and_can_be_sent_elsewhere() -> None:
    (placement,) = PackedPlacementStrategy(0, 0).get_placement(Cluster(nodes=[Node(1, name="head")]))
    with pytest.raises(FrozenInstanceError):
        placement.rank = 3  # type: ignore[misc]
    for again in (pickle.loads(pickle.dumps(placement)), copy.copy(placement), copy.deepcopy(placement)):
        assert again == placement
        assert again.node_id == "head"


def test_placements_by_rank_are_the_caller_s_own_list() -> None:
    strategy = PackedPlacementStrategy(0, 3)
    strategy.get_placement(FOUR).clear()
    assert len(strategy.get_placement(FOUR)) == 4


def test_a_strategy_of_one_s_own() -> None:
    class Last(PlacementStrategy):
        def get_placement(
            self, cluster: Cluster | int | None = None, isolate_accelerator: bool = True, **_: Any
        ) -> list[Placement]:
            return FlexiblePlacementStrategy([[3]]).get_placement(cluster, isolate_accelerator)

    assert devices(Last().get_placement(FOUR)) == [[3]]
    with pytest.raises(TypeError, match="PlacementStrategy must define get_placement"):
        PlacementStrategy().get_placement(FOUR)


def test_labels_of_several_groups() -> None:
    section = {
        "num_nodes": 2,
        "component_placement": {},
        "node_groups": [{"label": "a", "node_ranks": 0}, {"label": "b", "node_ranks": 1}],
    }
    cluster = Cluster(cluster_cfg=section, nodes=[Node(2), Node(2)])
    found = PackedPlacementStrategy(0, 3, node_group=["b", "a"]).get_placement(cluster)
    assert [one.node_group_label for one in found] == ["b", "b", "a", "a"]
    assert [one.cluster_node_rank for one in NodePlacementStrategy([0], "b").get_placement(cluster)] == [1]
    assert FlexiblePlacementStrategy([[3]], ("a", "b")).get_placement(cluster)[0].node_group_label == "b"


@pytest.mark.parametrize(
    ("strategy", "arguments", "rule"),
    [
        (PackedPlacementStrategy, {"start_hardware_rank": -1, "end_hardware_rank": 3}, "negative_rank"),
        (PackedPlacementStrategy, {"start_hardware_rank": 3, "end_hardware_rank": 0}, "end_before_start"),
        (
            PackedPlacementStrategy,
            {"start_hardware_rank": 0, "end_hardware_rank": 2, "num_hardware_per_process": 2},
            "packed_not_divisible",
        ),
        (
            PackedPlacementStrategy,
            {"start_hardware_rank": 0, "end_hardware_rank": 3, "num_hardware_per_process": -1},
            "packed_size_invalid",
        ),
        (
            PackedPlacementStrategy,
            {"start_hardware_rank": 0, "end_hardware_rank": 3, "stride": 0},
            "packed_size_invalid",
        ),
        (PackedPlacementStrategy, {"start_hardware_rank": 0, "end_hardware_rank": 4}, "hardware_rank_out_of_range"),
        (
            PackedPlacementStrategy,
            {"start_hardware_rank": 0, "end_hardware_rank": 0, "node_group": "node"},
            "packed_needs_hardware",
        ),
        (
            PackedPlacementStrategy,
            {"start_hardware_rank": 0, "end_hardware_rank": 0, "node_group": "x"},
            "node_group_not_found",
        ),
        (FlexiblePlacementStrategy, {"hardware_ranks_list": []}, "empty_placement"),
        (FlexiblePlacementStrategy, {"hardware_ranks_list": [[]]}, "empty_placement"),
        (FlexiblePlacementStrategy, {"hardware_ranks_list": [[0], []]}, "process_across_nodes"),
        (FlexiblePlacementStrategy, {"hardware_ranks_list": [[-1]]}, "negative_rank"),
        (FlexiblePlacementStrategy, {"hardware_ranks_list": [[0, 0]]}, "process_duplicate_hardware"),
        (FlexiblePlacementStrategy, {"hardware_ranks_list": [[4]]}, "hardware_rank_out_of_range"),
        (FlexiblePlacementStrategy, {"hardware_ranks_list": [[0]], "node_group_label": "node"}, "needs_hardware"),
        (NodePlacementStrategy, {"node_ranks": []}, "empty_placement"),
        (NodePlacementStrategy, {"node_ranks": [1]}, "node_rank_out_of_range"),
        (NodePlacementStrategy, {"node_ranks": [-1]}, "node_rank_out_of_range"),
        (
            NodePlacementStrategy,
            {"node_ranks": [0], "node_group_label": ["node", "cluster"]},
            "node_groups_overlap",
        ),
    ],
)
def test_what_cannot_be_placed(strategy: type[PlacementStrategy], arguments: dict[str, Any], rule: str) -> None:
    with pytest.raises(PlacementError) as caught:
        strategy(**arguments).get_placement(FOUR)
    (problem,) = caught.value.problems
    assert problem.rule == rule
    assert problem.hint


def test_what_is_said_of_nothing_and_of_one_group() -> None:
    with pytest.raises(PlacementError, match="one of the processes has no device"):
        FlexiblePlacementStrategy([[0], []]).get_placement(FOUR)
    with pytest.raises(PlacementError, match="node 1 does not exist: cluster holds 1 node"):
        NodePlacementStrategy([1]).get_placement(FOUR)


def test_packed_needs_its_two_ends() -> None:
    with pytest.raises(TypeError, match="start_hardware_rank"):
        PackedPlacementStrategy()


def test_a_process_that_crosses_from_one_node_to_the_next() -> None:
    cluster = Cluster(nodes=[Node(4, name="one"), Node(4, name="two")])
    for strategy in (PackedPlacementStrategy(3, 4, 2), FlexiblePlacementStrategy([[3, 4]])):
        with pytest.raises(PlacementError) as caught:
            strategy.get_placement(cluster)
        assert caught.value.problems[0].rule == "process_across_nodes"
        assert "one" in caught.value.problems[0].message


def test_the_same_device_twice_through_overlapping_groups() -> None:
    section = {
        "num_nodes": 1,
        "component_placement": {},
        "node_groups": [{"label": "a", "node_ranks": 0}, {"label": "b", "node_ranks": 0}],
    }
    cluster = Cluster(cluster_cfg=section, nodes=[Node(2)])
    with pytest.raises(PlacementError) as caught:
        FlexiblePlacementStrategy([[0, 2]], ["a", "b"]).get_placement(cluster)
    assert caught.value.problems[0].rule == "process_duplicate_hardware"


def test_a_packed_process_over_a_gpu_and_a_robot_mixes_hardware() -> None:
    arms = {"type": "Franka", "configs": [{"node_rank": 0, "robot_ip": "10.0.0.9"}]}
    groups = [{"label": "gpus", "node_ranks": 0}, {"label": "arms", "node_ranks": 0, "hardware": arms}]
    cluster = Cluster(cluster_cfg={"num_nodes": 1, "node_groups": groups}, nodes=[Node(4)])
    with pytest.raises(PlacementError) as error:
        PackedPlacementStrategy(3, 4, 2, node_group=["gpus", "arms"]).get_placement(cluster)
    assert [problem.rule for problem in error.value.problems] == ["process_mixed_hardware"]
