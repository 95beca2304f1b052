"""`load`, `resolve` and the placement classes: what they take, what they raise, and what `to_dict` promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import placetui
from placetui import (
    Cluster,
    ComponentPlacement,
    HybridComponentPlacement,
    ModelParallelComponentPlacement,
    Node,
    PlacementError,
    PlacementMode,
    Plan,
)
from placetui.frameworks.planner import Planner

HETEROGENEOUS = """\
cluster:
  num_nodes: 2
  component_placement:
    actor,rollout: 0-7
    env: {node_group: arms, placement: 0}
    agent: {node_group: node, placement: "0-1:0-3"}
  node_groups:
    - {label: a800, node_ranks: 0}
    - label: arms
      node_ranks: 1
      hardware: {type: Franka, configs: [{node_rank: 1, robot_ip: 10.0.0.9}]}
"""


def config_of(components: Any, num_nodes: int = 1, **section: Any) -> dict[str, Any]:
    return {"cluster": {"num_nodes": num_nodes, "component_placement": components, **section}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conf.yaml"
    path.write_text(HETEROGENEOUS, encoding="utf-8")
    return path


# load


def test_load_with_nodes_times_gpus(file: Path) -> None:
    plan = placetui.load(file, cluster="2x8")
    assert isinstance(plan, Plan)
    assert plan.topology_source == "flag"
    assert plan.components["actor"].placements[3].visible_accelerators == ["3"]


def test_load_with_a_file_that_describes_the_cluster(file: Path, tmp_path: Path) -> None:
    topology = {"nodes": [{"name": "head", "gpus": 8}, {"name": "arm", "gpus": 0}]}
    for number, content in enumerate([topology, {"topology": topology}, {"placetui": {"topology": topology}}]):
        described = tmp_path / f"cluster{number}.yaml"
        described.write_text(json.dumps(content), encoding="utf-8")
        for name in (described, str(described)):
            plan = placetui.load(file, cluster=name)
            assert [(node.name, node.gpus) for node in plan.nodes] == [("head", 8), ("arm", 0)]


def test_load_with_nodes_and_without(file: Path) -> None:
    assert [node.gpus for node in placetui.load(file, nodes=[Node(8), Node(2)]).nodes] == [8, 2]
    assumed = placetui.load(str(file))
    assert assumed.topology_source == "assumed"
    assert [node.gpus for node in assumed.nodes] == [8, 8]


def test_load_with_a_mode(file: Path) -> None:
    assert placetui.load(file, mode="component").placement_mode is None
    with pytest.raises(PlacementError) as caught:
        placetui.load(file, mode="model_parallel")
    assert "mp_missing_reward" in [problem.rule for problem in caught.value.problems]
    with pytest.raises(PlacementError) as caught:
        placetui.load(file, mode="nonsense")
    assert "unknown_mode" in [problem.rule for problem in caught.value.problems]


@pytest.mark.parametrize("cluster", ["nonsense", "0x8", "2x", ""])
def test_load_with_a_cluster_that_is_none(file: Path, cluster: str) -> None:
    with pytest.raises(PlacementError) as caught:
        placetui.load(file, cluster=cluster)
    assert caught.value.problems[0].rule == "bad_cluster"


def test_load_of_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path):
        with pytest.raises(PlacementError) as caught:
            placetui.load(path)
        assert caught.value.problems[0].rule in ("file_not_found", "file_unreadable")


def test_load_raises_with_all_problems_in_their_places(tmp_path: Path) -> None:
    path = tmp_path / "conf.yaml"
    path.write_text("cluster:\n  num_nodes: 1\n  component_placement:\n    a: 0-9\n    b: x\n    c: 010\n", "utf-8")
    with pytest.raises(PlacementError) as caught:
        placetui.load(path)
    problems = caught.value.problems
    assert [(problem.rule, problem.line) for problem in problems] == [
        ("resource_out_of_range", 4),
        ("rank_format", 5),
        ("resource_out_of_range", 6),
        ("yaml_octal", 6),
    ]
    assert {problem.file for problem in problems} == {str(path)}


# resolve


def test_resolve_takes_a_mapping_and_nodes() -> None:
    nodes = [Node(gpus=8, accelerator="NV_GPU", name="node0", ip="10.0.0.1")]
    plan = placetui.resolve(config_of({"actor": "0-7"}), nodes=nodes, mode="hybrid", isolate_accelerator=True)
    assert plan.components["actor"].placements[3].visible_accelerators == ["3"]
    assert plan.problems == []
    assert placetui.resolve(config_of({"actor": "0-7"}), nodes).components == plan.components
    open_ = placetui.resolve(config_of({"actor": "0-7"}), nodes, isolate_accelerator=False)
    assert len(open_.components["actor"].placements[3].visible_accelerators) == 8


def test_warnings_and_oversubscription_leave_a_plan() -> None:
    config = config_of({"actor,": "0-7"}) | {"placetui": {"shares": {"actor": 1.5}}}
    plan = placetui.resolve(config)
    assert {problem.rule for problem in plan.problems} == {"oversubscribed", "empty_component_name"}
    assert plan.components["actor"].world_size == 8


def test_nodes_beyond_num_nodes_are_left_out() -> None:
    assert len(placetui.resolve(config_of({"actor": "0-7"}), [Node(8)] * 3).nodes) == 1


@pytest.mark.parametrize("config", [{}, {"cluster": None}, {"cluster": 3}, {"cluster": []}, {"cluster": {}}, {3: 4}])
def test_nothing_else_is_raised_for_what_a_user_wrote(config: Any) -> None:
    with pytest.raises(PlacementError) as caught:
        placetui.resolve(config)
    assert caught.value.problems


def test_keys_that_yaml_typed_otherwise() -> None:
    plan = placetui.resolve(config_of({7: 0, True: "1", None: "2"}))
    assert list(plan.components) == ["7", "True", "None"]


# The documents' own examples


def placements(plan: Plan, name: str) -> list[list[int]]:
    return [one.local_hardware_ranks for one in plan.components[name].placements]


def test_two_components_in_one_key() -> None:
    plan = placetui.resolve(config_of({"actor,inference": "0-7"}), [Node(8)])
    assert placements(plan, "actor") == placements(plan, "inference") == [[number] for number in range(8)]


def test_the_rule_with_three_segments() -> None:
    plan = placetui.resolve(config_of({"actor": "0-1:0-3,3-5,7-10:7-14"}), [Node(16)])
    assert placements(plan, "actor") == [[n] for n in (0, 0, 1, 1, 3, 4, 5, 7, 7, 8, 8, 9, 9, 10, 10)]


def test_two_groups_of_eight() -> None:
    groups = [{"label": "a800", "node_ranks": 0}, {"label": 4090, "node_ranks": 1}]
    config = config_of({"actor": {"node_group": "a800,4090", "placement": "0-15"}}, 2, node_groups=groups)
    labels = [one.node_group_label for one in placetui.resolve(config, [Node(8)] * 2).components["actor"].placements]
    assert labels == ["a800"] * 8 + ["4090"] * 8


def refusal(config: dict[str, Any], nodes: Sequence[Node]) -> placetui.Problem:
    with pytest.raises(PlacementError) as caught:
        placetui.resolve(config, list(nodes))
    (problem,) = caught.value.problems
    return problem


def test_nine_ranks_on_a_group_of_eight() -> None:
    groups = [{"label": "a800", "node_ranks": 0}]
    config = config_of({"actor": {"node_group": "a800", "placement": "0-8"}}, node_groups=groups)
    problem = refusal(config, [Node(8, name="gpu-host")])
    assert problem.rule == "resource_out_of_range"
    said = f"{problem.message} {problem.hint}"
    assert "8 devices" in said
    assert "gpu-host" in said
    assert "0 to 7" in problem.hint


def test_201_processes_over_two_nodes() -> None:
    rule = {"node_group": "node", "placement": "0-1:0-200,2-3:201-511"}
    problem = refusal(config_of({"agent": rule}, 4), [Node(0)] * 4)
    assert problem.rule == "not_divisible"
    assert "201 processes" in problem.message
    assert "0-199" in problem.hint


def test_components_directly_under_cluster() -> None:
    problem = refusal({"cluster": {"num_nodes": 1, "actor": "0-7", "rollout": "0-7"}}, [Node(8)])
    assert problem.rule == "missing_field"
    assert "actor" in problem.hint
    assert "component_placement" in problem.hint


def test_a_half_quoted_rule(tmp_path: Path) -> None:
    path = tmp_path / "conf.yaml"
    path.write_text('cluster:\n  num_nodes: 1\n  component_placement:\n    actor: "0-3":"0-7"\n', encoding="utf-8")
    with pytest.raises(PlacementError) as caught:
        placetui.load(path, cluster="1x8")
    (problem,) = caught.value.problems
    assert problem.line == 4
    assert '"0-3:0-7"' in problem.hint


# Any mapping


class Configuration(MutableMapping[str, Any]):
    """A mapping that is no dict and gives out lists that are no lists, as OmegaConf's does."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = {key: wrapped(value) for key, value in content.items()}

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._content[key] = value

    def __delitem__(self, key: str) -> None:
        del self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


class Entries(Sequence[Any]):
    def __init__(self, content: Sequence[Any]) -> None:
        self._content = [wrapped(value) for value in content]

    def __getitem__(self, index: Any) -> Any:
        return self._content[index]

    def __len__(self) -> int:
        return len(self._content)


def wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Configuration(value)
    return Entries(value) if isinstance(value, list) else value


RICH: dict[str, Any] = {
    "cluster": {
        "num_nodes": 2,
        "component_placement": {
            "actor": {"node_group": ["a", "b"], "placement": "0-15"},
            "env": {"node_group": "arms", "placement": "0-1"},
        },
        "node_groups": [
            {
                "label": "a",
                "node_ranks": [0],
                "env_configs": [{"node_ranks": [0], "env_vars": [{"A": 1}], "python_interpreter_path": "/opt/python"}],
            },
            {"label": "b", "node_ranks": "1"},
            {
                "label": "arms",
                "node_ranks": "0-1",
                "hardware": {"type": "Turtle2", "configs": [{"node_rank": 0}, {"node_rank": 1}]},
            },
        ],
    },
    "placetui": {"shares": {"actor": 0.5}, "train": ["actor"]},
}


def test_any_mapping_resolves_like_a_dict() -> None:
    nodes = [Node(8), Node(8)]
    assert placetui.resolve(Configuration(RICH), nodes) == placetui.resolve(RICH, nodes)


@pytest.mark.parametrize("shape", [dict, Configuration])
def test_the_placement_classes_take_any_mapping(shape: Any) -> None:
    config = shape(RICH)
    cluster = Cluster(cluster_cfg=config["cluster"], nodes=[Node(8), Node(8)])
    placement = HybridComponentPlacement(config, cluster)
    assert placement.components == ["actor", "env"]
    assert placement.placement_mode is PlacementMode.HYBRID
    assert placement.get_world_size("actor") == 16
    assert placement.get_hardware_ranks("actor") == list(range(16))
    found = placement.get_strategy("env").get_placement(cluster)
    assert [(one.cluster_node_rank, one.local_hardware_ranks) for one in found] == [(0, [0]), (1, [0])]


# The placement classes


def test_the_file_of_the_worker_example() -> None:
    groups = [{"label": "a800", "node_ranks": 0}]
    config = config_of({"test_worker": {"node_group": "a800", "placement": "0-3"}}, node_groups=groups)
    cluster = Cluster(cluster_cfg=config["cluster"], nodes=[Node(4)])
    placement = ComponentPlacement(config, cluster)
    assert placement.placement_mode is None
    found = placement.get_strategy("test_worker").get_placement(cluster)
    assert [one.visible_accelerators for one in found] == [["0"], ["1"], ["2"], ["3"]]
    assert {one.node_group_label for one in found} == {"a800"}


def test_hardware_ranks_of_components_on_nodes() -> None:
    config = config_of({"agent": {"node_group": "node", "placement": "0-1:0-3"}}, 2)
    placement = ComponentPlacement(config, Cluster(cluster_cfg=config["cluster"], nodes=[Node(0)] * 2))
    assert placement.get_hardware_ranks("agent") == [0, 1]
    assert placement.get_world_size("agent") == 4


@pytest.mark.parametrize(
    ("components", "mode"),
    [
        ({"actor,rollout,reward": "0-7"}, PlacementMode.COLLOCATED),
        ({"actor,reward": "0-3", "rollout": "4-7"}, PlacementMode.DISAGGREGATED),
    ],
)
def test_the_model_parallel_class_finds_its_mode(components: dict[str, str], mode: PlacementMode) -> None:
    config = config_of(components) | {"actor": {"model": {}}, "rollout": {"tensor_parallel_size": 4}}
    placement = ModelParallelComponentPlacement(config, Cluster(nodes=[Node(8)]))
    assert placement.placement_mode is mode
    assert placement.get_world_size("rollout") == len(placement.get_hardware_ranks("rollout")) // 4


def test_an_unknown_component_is_named() -> None:
    placement = ComponentPlacement(config_of({"actor": "0-7"}), Cluster(nodes=[Node(8)]))
    for ask in (placement.get_strategy, placement.get_world_size, placement.get_hardware_ranks):
        with pytest.raises(PlacementError) as caught:
            ask("rollout")
        assert caught.value.problems[0].rule == "unknown_component"
        assert "rollout" in caught.value.problems[0].message
        assert "actor" in caught.value.problems[0].hint


def test_a_class_raises_with_all_problems() -> None:
    with pytest.raises(PlacementError) as caught:
        ComponentPlacement(config_of({"a": "x", "b": "0-99"}), Cluster(nodes=[Node(8)]))
    assert [problem.rule for problem in caught.value.problems] == ["rank_format", "resource_out_of_range"]
    with pytest.raises(PlacementError) as caught:
        ComponentPlacement({}, Cluster(nodes=[Node(8)]))
    assert caught.value.problems[0].rule == "missing_field"


def test_a_cluster_counts_its_nodes() -> None:
    cluster = Cluster(nodes=[Node(8), Node(4)])
    assert (cluster.num_nodes, cluster.num_accelerators) == (2, 12)
    assert Cluster(1, nodes=[Node(8), Node(4)]).num_accelerators == 8
    with pytest.raises(PlacementError) as caught:
        Cluster(3, nodes=[Node(8)])
    assert caught.value.problems[0].rule == "not_enough_nodes"
    with pytest.raises(PlacementError) as caught:
        Cluster(cluster_cfg={"num_nodes": 1, "node_groups": 3}, nodes=[Node(8)])
    assert caught.value.problems[0].rule == "node_groups_not_list"


# to_dict


def test_the_plan_as_json(file: Path) -> None:
    plan = placetui.load(file, cluster="2x8")
    told = plan.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert list(told) == [
        "schema",
        "source",
        "mode",
        "placement_mode",
        "topology_source",
        "nodes",
        "components",
        "devices",
        "problems",
    ]
    assert (told["schema"], told["source"], told["mode"]) == (1, str(file), "hybrid")
    assert (told["placement_mode"], told["topology_source"]) == ("hybrid", "flag")
    assert told["nodes"] == [
        {"rank": 0, "name": "node0", "gpus": 8, "groups": ["a800"], "hardware": {}},
        {"rank": 1, "name": "node1", "gpus": 8, "groups": ["arms"], "hardware": {"Franka": 1}},
    ]
    assert list(told["components"]) == ["actor", "rollout", "env", "agent"]
    actor = told["components"]["actor"]
    assert {key: actor[key] for key in ("world_size", "share", "strategy")} == {
        "world_size": 8,
        "share": 0.8,
        "strategy": "flexible",
    }
    assert actor["placements"][1] == {
        "rank": 1,
        "cluster_node_rank": 0,
        "placement_node_rank": 0,
        "local_accelerator_rank": 1,
        "accelerator_type": "NV_GPU",
        "local_rank": 1,
        "local_world_size": 8,
        "visible_accelerators": ["1"],
        "isolate_accelerator": True,
        "local_hardware_ranks": [1],
        "node_group_label": "cluster",
    }
    assert (told["components"]["agent"]["strategy"], told["components"]["agent"]["share"]) == ("node", None)
    devices = {(one["node"], one["kind"], one["index"]): one for one in told["devices"]}
    assert len(devices) == len(told["devices"]) == 8 + 1 + 8 + 1 + 1
    assert devices[0, "gpu", 0] == {
        "node": 0,
        "index": 0,
        "kind": "gpu",
        "total_share": 1.0,
        "occupants": [
            {"component": "actor", "rank": 0, "share": 0.8},
            {"component": "rollout", "rank": 0, "share": 0.2},
        ],
    }
    assert devices[1, "gpu", 5]["occupants"] == []
    assert devices[1, "gpu", 5]["total_share"] == 0
    assert devices[1, "Franka", 0]["occupants"] == [{"component": "env", "rank": 0, "share": None}]
    assert devices[1, "Franka", 0]["total_share"] is None
    assert [one["rank"] for one in devices[1, "node", 0]["occupants"]] == [2, 3]
    (warned,) = told["problems"]
    assert list(warned) == ["severity", "rule", "file", "line", "column", "path", "component", "message", "hint"]
    assert (warned["rule"], warned["path"], warned["line"]) == ("group_unused", "cluster.node_groups[0].label", 8)


def test_the_plan_of_a_slime_file_as_json() -> None:
    section = {"actor_num_nodes": 1, "actor_num_gpus_per_node": 4, "rollout_num_gpus": 4}
    told = placetui.resolve({"slime": section}, [Node(8)]).to_dict()
    assert (told["mode"], told["placement_mode"]) == ("slime", None)
    assert json.loads(json.dumps(told)) == told
    assert {name: one["world_size"] for name, one in told["components"].items()} == {"actor": 4, "rollout": 4}


# A plan is a value


def test_changing_a_list_of_one_plan_changes_no_other() -> None:
    planner = Planner()
    config = config_of({"actor": "0-7", "agent": {"node_group": "node", "placement": "all"}})
    before, again = (planner.plan(config, nodes=[Node(8)]) for _ in range(2))
    shown = again.to_dict()
    for component in before.components.values():
        component.placements[0].visible_accelerators.append("99")
        component.placements[0].local_hardware_ranks.clear()
    before.problems.clear()
    before.to_dict()["components"]["actor"]["placements"][0]["visible_accelerators"].append("99")
    assert again.to_dict() == planner.plan(config, nodes=[Node(8)]).to_dict() == shown


def test_what_a_plan_holds_cannot_be_changed() -> None:
    plan = placetui.resolve(config_of({"actor": "0-7"}), [Node(8)])
    changes: list[Callable[[], object]] = [
        lambda: plan.components.pop("actor"),  # type: ignore[attr-defined]
        lambda: plan.topology.groups.clear(),  # type: ignore[attr-defined]
        lambda: plan.nodes[0].hardware.update(arm=1),  # type: ignore[attr-defined]
        lambda: plan.components["actor"].placements.append(None),  # type: ignore[attr-defined]
        lambda: setattr(plan, "mode", "component"),
    ]
    for change in changes:
        with pytest.raises((AttributeError, FrozenInstanceError)):
            change()


def test_a_list_of_groups_that_cannot_be_resolved_is_reported_once() -> None:
    config = config_of({"actor": {"node_group": ["${nowhere}"], "placement": "0-7"}})
    with pytest.raises(PlacementError) as error:
        placetui.resolve(config, [Node(8)])
    assert [problem.rule for problem in error.value.problems] == ["interpolation"]


# What the model-parallel class also tells


def test_sizes_of_model_parallel_roles() -> None:
    config = config_of({"actor": "0-3", "rollout": "4-5", "inference": "6-7", "reward": "0-3"}) | {
        "actor": {"model": {"tensor_model_parallel_size": 2}},
        "rollout": {"tensor_parallel_size": 2},
        "algorithm": {"recompute_logprobs": True},
    }
    placement = ModelParallelComponentPlacement(config, Cluster(nodes=[Node(8)]))
    assert (placement.is_disaggregated, placement.is_pipeline) == (True, True)
    assert (placement.is_collocated, placement.is_auto) == (False, False)
    assert placement.has_dedicated_inference
    assert placement.has_dedicated_inference_for_role("actor")
    assert not placement.has_dedicated_inference_for_role("critic")
    with pytest.raises(PlacementError):
        placement.has_dedicated_inference_for_role("reward")
    sizes = {
        name: getattr(placement, f"{name}_size")
        for role in ("actor", "inference", "rollout")
        for name in (f"{role}_tp", f"{role}_dp", f"{role}_world")
    }
    assert list(sizes.values()) == [2, 2, 4, 2, 1, 2, 2, 1, 2]
    assert (placement.actor_pp_size, placement.inference_pp_size, placement.reward_world_size) == (1, 1, 4)
    assert (placement.critic_world_size, placement.critic_inference_world_size) == (0, 0)


def test_components_that_share_a_key_share_their_strategy() -> None:
    config = config_of({"actor,rollout": "0-3", "env": "4-7"})
    placement = HybridComponentPlacement(config, Cluster(nodes=[Node(8)]))
    assert placement.get_strategy("actor") is placement.get_strategy("rollout")
    assert placement.get_strategy("actor") is not placement.get_strategy("env")
