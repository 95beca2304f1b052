from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from placetui.document import load
from placetui.frameworks.planner import make_plan
from placetui.frameworks.slime.layout import SlimeLayout, read_layout
from placetui.frameworks.slime.plan import place
from placetui.placement.explain import explain
from placetui.placement.plan import Component, Service
from placetui.placement.problems import Problem, Problems
from placetui.placement.topology import Node


@dataclass
class Result:
    layout: SlimeLayout | None
    components: Mapping[str, Component]
    services: tuple[Service, ...]
    problems: Sequence[Problem]

    @property
    def rules(self) -> list[str]:
        return [problem.rule for problem in self.problems]

    def devices(self, component: str) -> list[tuple[int, list[int]]]:
        """Node and GPUs of each rank."""
        placements = self.components[component].placements
        return [(one.cluster_node_rank, one.local_hardware_ranks) for one in placements]

    def only(self, rule: str) -> Problem:
        assert self.rules == [rule], self.problems
        return self.problems[0]


def resolve(section: Mapping[Any, Any], *gpus: int) -> Result:
    """Place a section on nodes with these numbers of GPUs, or on assumed ones."""
    plan = make_plan({"slime": section}, nodes=[Node(size) for size in gpus] or None)
    return Result(read_layout(section, Problems()), plan.components, plan.services, plan.problems)


def test_colocated_engines_share_the_trainers_gpus() -> None:
    result = resolve({"actor_num_nodes": 2, "colocate": True, "rollout_num_gpus_per_engine": 2})
    assert not result.problems
    assert list(result.components) == ["actor", "rollout"]
    assert result.devices("actor") == [(node, [gpu]) for node in (0, 1) for gpu in range(8)]
    assert result.devices("rollout") == [(node, [gpu, gpu + 1]) for node in (0, 1) for gpu in (0, 2, 4, 6)]
    assert result.components["rollout"].rule.text == "16 GPUs, 2 per engine"
    assert result.components["actor"].rule.text == "2 nodes x 8 GPUs"
    assert result.components["actor"].rule.path == ("slime", "actor_num_nodes")
    assert "colocate: rollout starts at slot 0 and shares the actor's GPUs" in result.components["rollout"].reasons


def test_every_field_of_a_placement() -> None:
    result = resolve({"actor_num_gpus_per_node": 4, "rollout_num_gpus": 12, "rollout_num_gpus_per_engine": 2})
    rank = result.components["rollout"].placements[3]
    assert rank.to_dict() == {
        "rank": 3,
        "cluster_node_rank": 1,
        "placement_node_rank": 1,
        "local_accelerator_rank": 2,
        "accelerator_type": "NV_GPU",
        "local_rank": 1,
        "local_world_size": 4,
        "visible_accelerators": ["0", "1", "2", "3", "4", "5", "6", "7"],
        "isolate_accelerator": False,
        "local_hardware_ranks": [2, 3],
        "node_group_label": "cluster",
    }
    assert rank.node_id == "node1"
    assert result.components["rollout"].strategy == "packed"


def test_separate_rollout_starts_after_training_mid_node() -> None:
    result = resolve({"actor-num-gpus-per-node": 4, "rollout-num-gpus": 12})
    assert not result.problems
    assert result.devices("actor") == [(0, [gpu]) for gpu in range(4)]
    assert result.devices("rollout") == [(0, [4]), (0, [5]), (0, [6]), (0, [7])] + [(1, [gpu]) for gpu in range(8)]
    assert result.components["rollout"].rule.path == ("slime", "rollout-num-gpus")
    first_on_node1 = result.components["rollout"].placements[4]
    assert (first_on_node1.placement_node_rank, first_on_node1.local_rank, first_on_node1.local_world_size) == (1, 0, 8)


def test_an_engine_over_nodes_has_a_rank_on_each() -> None:
    result = resolve(
        {"actor_num_nodes": 4, "colocate": True, "rollout_num_gpus_per_engine": 16, "num_gpus_per_node": 8}
    )
    assert result.devices("rollout") == [(node, list(range(8))) for node in range(4)]
    assert result.components["rollout"].parts_per_engine == 2
    assert "rank r is part r mod 2 of engine r // 2" in " ".join(result.components["rollout"].reasons)


@pytest.mark.parametrize("critic", [{"advantage_estimator": "ppo"}, {"use_critic": True}])
def test_a_critic_sits_on_the_actors_slots(critic: dict[str, Any]) -> None:
    result = resolve({"colocate": True, **critic})
    assert list(result.components) == ["actor", "critic", "rollout"]
    assert result.devices("critic") == result.devices("actor")
    assert result.layout is not None
    assert result.layout.shares == {"actor": 4000, "critic": 4000, "rollout": 2000}


def test_another_estimator_makes_no_critic() -> None:
    assert list(resolve({"colocate": True, "advantage_estimator": "grpo"}).components) == ["actor", "rollout"]


@pytest.mark.parametrize("only", [{"debug_train_only": True}, {"load_debug_rollout_data": "/data/{rollout_id}.pt"}])
@pytest.mark.parametrize("rest", [{}, {"colocate": True}, {"rollout_num_gpus": 3, "rollout_num_gpus_per_engine": 2}])
def test_train_only_has_no_rollout(only: dict[str, Any], rest: dict[str, Any]) -> None:
    result = resolve({**only, **rest})
    assert not result.problems
    assert list(result.components) == ["actor"]
    assert not result.services
    assert result.layout is not None
    assert (result.layout.slots, result.layout.rollout_offset) == (8, 0)


def test_rollout_only_has_no_training_and_ignores_colocate() -> None:
    result = resolve({"debug_rollout_only": True, "colocate": True, "use_critic": True, "rollout_num_gpus": 16})
    assert not result.problems
    assert list(result.components) == ["rollout"]
    assert result.layout is not None
    assert (result.layout.mode, result.layout.slots, result.layout.actor_num_nodes) == ("rollout_only", 16, 2)
    assert result.devices("rollout")[8] == (1, [0])
    assert result.layout.shares == {"rollout": 2000}


def test_rollout_only_takes_the_actors_size_when_colocated_without_a_number() -> None:
    result = resolve({"debug_rollout_only": True, "colocate": True, "actor_num_gpus_per_node": 4})
    assert result.devices("rollout") == [(0, [gpu]) for gpu in range(4)]


@pytest.mark.parametrize("key", ["rollout_external", "rollout_external_engine_addrs"])
def test_external_engines_take_no_device(key: str) -> None:
    result = resolve({key: True if key == "rollout_external" else ["10.0.0.9:3000"]})
    assert not result.problems
    assert result.layout is not None
    assert (result.layout.slots, result.layout.rollout_offset) == (8, 8)
    assert result.components["rollout"].world_size == 0
    assert result.components["rollout"].rule.path == ("slime", key)
    assert result.components["actor"].world_size == 8


def test_external_rollout_only_places_nothing_but_reserves() -> None:
    result = resolve({"rollout_external": True, "debug_rollout_only": True})
    assert result.layout is not None
    assert (result.layout.slots, result.layout.rollout_offset) == (8, 0)
    assert [(name, one.world_size) for name, one in result.components.items()] == [("rollout", 0)]


def test_colocated_rollout_may_be_larger_with_a_note() -> None:
    result = resolve({"actor_num_gpus_per_node": 4, "colocate": True, "rollout_num_gpus": 8})
    assert "the last 4" in result.only("slime_rollout_larger").message
    assert result.problems[0].severity == "warning"
    assert result.layout is not None
    assert result.layout.slots == 8
    assert len(result.devices("rollout")) == 8


@pytest.mark.parametrize("mode", [{"colocate": True}, {}, {"debug_rollout_only": True}])
def test_no_rollout_gpus_means_a_router_only(mode: dict[str, Any]) -> None:
    result = resolve({**mode, "rollout_num_gpus": 0})
    assert not result.problems
    assert result.components["rollout"].world_size == 0
    assert "no GPUs for rollout: only a router, no engines" in result.components["rollout"].reasons


def test_the_rollout_manager_needs_two_cpus_of_the_first_node() -> None:
    assert resolve({"colocate": True}).services == (Service("rollout manager", 0, 2.0),)


def test_too_few_gpus_says_how_many_and_places_what_fits() -> None:
    result = resolve({"rollout_num_gpus": 9}, 8, 8)
    problem = result.only("slime_not_enough_gpus")
    assert "17 GPUs (8 for training and 9 for rollout), but 2 nodes have 16" in problem.message
    assert problem.hint.startswith("write `rollout_num_gpus: 8`, or `colocate: true`")
    assert problem.path == ("slime", "rollout_num_gpus")
    assert list(result.components) == ["actor"]


def test_training_that_does_not_fit_blames_training() -> None:
    problem = resolve({"actor_num_nodes": 2, "colocate": True}, 8).only("slime_not_enough_gpus")
    assert problem.path == ("slime", "actor_num_nodes")
    assert problem.component == "actor"


def test_no_nodes_at_all() -> None:
    problems = Problems()
    layout = read_layout({"colocate": True}, problems)
    assert layout is not None
    assert place(layout, [], problems) == {}
    assert [problem.rule for problem in problems] == ["slime_not_enough_gpus"]


def test_trainers_of_two_half_nodes_land_on_one() -> None:
    result = resolve({"actor_num_nodes": 2, "actor_num_gpus_per_node": 4, "debug_train_only": True}, 8, 8)
    problem = result.only("slime_packs_nodes")
    assert problem.severity == "warning"
    assert "2 nodes x 4 GPUs" in problem.message
    assert "node0 (8)" in problem.message
    assert "`actor_num_nodes: 1` and `actor_num_gpus_per_node: 8`" in problem.hint
    assert {node for node, _ in result.devices("actor")} == {0}


def test_an_engine_part_over_a_nodes_border() -> None:
    result = resolve({"actor_num_gpus_per_node": 4, "rollout_num_gpus": 16, "rollout_num_gpus_per_engine": 8}, 8, 8, 8)
    problem = result.only("process_across_nodes")
    assert "engine 0 would take GPUs 4-7 of node0 and GPUs 0-3 of node1 (and 1 more like it)" in problem.message
    assert "multiple of 8" in problem.hint
    assert list(result.components) == ["actor"]


def test_small_nodes_need_num_gpus_per_node() -> None:
    section = {"actor_num_nodes": 2, "actor_num_gpus_per_node": 4, "colocate": True}
    warning = resolve(section, 4, 4).only("slime_gpus_per_node")
    assert "`num_gpus_per_node` is 8 (the default), but node0 and node1 have 4 GPUs" in warning.message
    assert warning.hint == "write `num_gpus_per_node: 4`"
    assert not resolve({**section, "num_gpus_per_node": 4}, 4, 4).problems
    across = resolve({**section, "rollout_num_gpus_per_engine": 8}, 4, 4).only("process_across_nodes")
    assert "`num_gpus_per_node: 4`" in across.hint


def test_num_gpus_per_node_does_not_matter_on_one_small_node() -> None:
    assert not resolve({"actor_num_gpus_per_node": 4, "colocate": True}, 4).problems


def test_nodes_without_gpus_are_passed_over_and_keep_their_rank() -> None:
    result = resolve({"actor_num_gpus_per_node": 4, "rollout_num_gpus": 4}, 0, 8)
    assert not result.problems
    assert {node for node, _ in result.devices("actor")} == {1}
    assert {one.placement_node_rank for one in result.components["actor"].placements} == {0}


def test_names_and_accelerators_come_from_the_node() -> None:
    problems = Problems()
    layout = read_layout({"debug_train_only": True}, problems)
    assert layout is not None
    components = place(layout, [Node(8, accelerator="NPU", name="ascend-7")], problems)
    rank = components["actor"].placements[0]
    assert (rank.accelerator_type, rank.node_id) == ("NPU", "ascend-7")


def test_a_thousand_nodes_resolve_at_once() -> None:
    import time

    began = time.process_time()
    result = resolve({"actor_num_nodes": 1024, "colocate": True, "use_critic": True})
    assert sum(component.world_size for component in result.components.values()) == 3 * 8192
    assert time.process_time() - began < 10


def test_num_gpus_per_node_matters_when_one_node_holds_more() -> None:
    warning = resolve({"actor_num_gpus_per_node": 16, "colocate": True}, 16).only("slime_gpus_per_node")
    assert warning.hint == "write `num_gpus_per_node: 16`"


def test_external_engines_need_no_room() -> None:
    result = resolve({"rollout_external": True}, 4)
    result.only("slime_not_enough_gpus")
    assert list(result.components) == ["rollout"]


@pytest.mark.parametrize("value", ["${x}", ["${x}"], {"a": "${x}"}])
@pytest.mark.parametrize("key", ["colocate", "rollout_num_gpus", "rollout_external_engine_addrs", "num_gpus_per_actor"])
def test_an_interpolation_without_a_value_is_reported_once(key: str, value: Any) -> None:
    plan = make_plan({"slime": {"colocate": True, key: value}})
    assert [problem.rule for problem in plan.problems] == ["interpolation"]
    assert not plan.components


GROUPS = "sglang: [{name: actor, server_groups: [{worker_type: regular, num_gpus: 8, num_gpus_per_engine: 4}]}]"


@pytest.mark.parametrize("key", ["sglang_config", "sglang-config"])
def test_named_files_are_read(tmp_path: Path, key: str) -> None:
    (tmp_path / "groups.yaml").write_text(GROUPS)
    (tmp_path / "more.yaml").write_text("rollout_num_gpus: 8\n")
    file = tmp_path / "job.yaml"
    arguments = f"{key}: groups.yaml, custom_config_path: more.yaml, rollout_num_gpus: 4"
    file.write_text(f"slime: {{{arguments}}}\nplacetui: {{slime_version: head}}\n")
    plan = load(file)
    assert not plan.problems
    assert [one.local_hardware_ranks for one in plan.components["rollout"].placements] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_named_file_that_is_not_there_is_said_not_to_be_read(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    arguments = "colocate: true, sglang_config: no.yaml, custom_config_path: no.yaml"
    file.write_text(f"slime: {{{arguments}}}\nplacetui: {{slime_version: head}}\n")
    assert {problem.rule for problem in load(file).problems} == {"slime_server_groups", "slime_file_not_read"}


def test_an_engine_says_its_group_and_model() -> None:
    prefill = {"worker_type": "prefill", "num_gpus": 4, "num_gpus_per_engine": 2}
    decode = {"worker_type": "decode", "num_gpus": 4, "num_gpus_per_engine": 4}
    other = {"worker_type": "regular", "num_gpus": 16, "num_gpus_per_engine": 16}
    models = [{"name": "big", "server_groups": [other]}, {"name": "small", "server_groups": [prefill, decode]}]
    section = {"rollout_num_gpus": 24, "sglang_config": {"sglang": models}}
    plan = make_plan({"slime": section, "placetui": {"slime_version": "head"}})
    rollout = plan.components["rollout"]
    assert [(one.engine, one.part, one.group) for one in rollout.engines] == [
        (0, 0, "big/regular"),
        (0, 1, "big/regular"),
        (1, 0, "small/prefill"),
        (2, 0, "small/prefill"),
        (3, 0, "small/decode"),
    ]
    assert rollout.rule.text == "24 GPUs in 3 server groups"
    assert "small/decode from slot 28: 4 GPUs / 4 per engine = 1 engine" in rollout.reasons
    occupants = [occupant for device in plan.to_dict()["devices"] for occupant in device["occupants"]]
    assert {one.get("group") for one in occupants if one["component"] == "rollout"} == {
        "big/regular",
        "small/prefill",
        "small/decode",
    }
    assert not any("group" in one for one in occupants if one["component"] == "actor")
    explained = "\n".join(explain(plan, "rollout:4").lines())
    assert "engine 3 of group small/decode" in explained
