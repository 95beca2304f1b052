"""The `cluster` section: what is refused, what is warned of, and what merely follows from something else."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.frameworks.planner import make_plan
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.placement.topology import Node

TWO = (Node(8), Node(8))
GROUPS = "cluster.node_groups[0]"


def plan_of(
    components: Any,
    groups: Any = None,
    *,
    num_nodes: Any = 2,
    nodes: tuple[Node, ...] | None = TWO,
    mode: str = "hybrid",
    **more: Any,
) -> Plan:
    section: dict[str, Any] = {"num_nodes": num_nodes, "component_placement": components}
    if groups is not None:
        section["node_groups"] = groups
    return make_plan({"cluster": section | more.pop("cluster", {}), **more}, nodes=nodes, mode=mode)


def group(**fields: Any) -> dict[str, Any]:
    return {"label": "a", "node_ranks": "0-1", **fields}


def robots(*configs: Any, kind: Any = "Franka", **fields: Any) -> dict[str, Any]:
    return group(hardware={"type": kind, "configs": list(configs)}, **fields)


def only(plan: Plan) -> Problem:
    assert len(plan.problems) == 1, [problem.format() for problem in plan.problems]
    return plan.problems[0]


ON_A = {"actor": {"node_group": "a", "placement": "0"}}


@pytest.mark.parametrize(
    ("fields", "rule", "path"),
    [
        ({"color": "red"}, "unknown_field", f"{GROUPS}.color"),
        ({"label": "cluster"}, "reserved_label", f"{GROUPS}.label"),
        ({"label": "node"}, "reserved_label", f"{GROUPS}.label"),
        ({"node_ranks": "1-0"}, "node_ranks_reversed", f"{GROUPS}.node_ranks"),
        ({"node_ranks": "0-2"}, "node_ranks_out_of_range", f"{GROUPS}.node_ranks"),
        ({"node_ranks": "x"}, "rank_format", f"{GROUPS}.node_ranks"),
        ({"node_ranks": [0, "x"]}, "rank_format", f"{GROUPS}.node_ranks"),
        ({"node_ranks": None}, "rank_format", f"{GROUPS}.node_ranks"),
        ({"env_configs": {}}, "env_configs_not_list", f"{GROUPS}.env_configs"),
        ({"env_configs": "x"}, "env_configs_not_list", f"{GROUPS}.env_configs"),
        ({"env_configs": [3]}, "not_a_mapping", f"{GROUPS}.env_configs[0]"),
        ({"env_configs": [{}]}, "missing_field", f"{GROUPS}.env_configs[0]"),
        ({"env_configs": [{"node_ranks": 0, "x": 1}]}, "unknown_field", f"{GROUPS}.env_configs[0].x"),
        (
            {"env_configs": [{"node_ranks": 0, "env_vars": {"A": 1}}]},
            "env_vars_not_list",
            f"{GROUPS}.env_configs[0].env_vars",
        ),
        (
            {"env_configs": [{"node_ranks": 0, "env_vars": ["A=1"]}]},
            "env_var_not_dict",
            f"{GROUPS}.env_configs[0].env_vars[0]",
        ),
        (
            {"env_configs": [{"node_ranks": 0, "env_vars": [{"A": 1, "B": 2}]}]},
            "env_var_not_single",
            f"{GROUPS}.env_configs[0].env_vars[0]",
        ),
        (
            {"env_configs": [{"node_ranks": 0}, {"node_ranks": "0-1"}]},
            "env_rank_overlap",
            f"{GROUPS}.env_configs[1].node_ranks",
        ),
        (
            {
                "env_configs": [
                    {"node_ranks": 0, "env_vars": [{"A": 1}]},
                    {"node_ranks": 1, "env_vars": [{"B": 1}, {"A": 2}]},
                ]
            },
            "env_var_duplicate",
            f"{GROUPS}.env_configs[1].env_vars[1]",
        ),
        ({"hardware": "Franka"}, "not_a_mapping", f"{GROUPS}.hardware"),
        ({"hardware": {"type": "Franka"}}, "missing_field", f"{GROUPS}.hardware"),
        ({"hardware": {"type": "Franka", "configs": {}}}, "hardware_field_invalid", f"{GROUPS}.hardware.configs"),
        ({"hardware": {"type": "franka", "configs": []}}, "unsupported_hardware", f"{GROUPS}.hardware.type"),
        ({"hardware": {"type": ["Franka"], "configs": []}}, "unsupported_hardware", f"{GROUPS}.hardware.type"),
        ({"hardware": {"type": {"a": 1}, "configs": []}}, "unsupported_hardware", f"{GROUPS}.hardware.type"),
        (
            {"hardware": {"type": "Turtle2", "configs": []}, "hardware_type": "Turtle2"},
            "hardware_and_hardware_type",
            f"{GROUPS}.hardware_type",
        ),
        (
            {"hardware": {"type": "Turtle2", "configs": []}, "ignore_hardware": True},
            "hardware_with_ignore",
            f"{GROUPS}.ignore_hardware",
        ),
    ],
)
def test_a_broken_group_is_one_problem_whoever_uses_it(fields: dict[str, Any], rule: str, path: str) -> None:
    entry = group(**fields)
    label = entry["label"]
    components = (
        {"actor": "0-7"} if label in ("cluster", "node") else ON_A | {"env": {"node_group": "a", "placement": "x"}}
    )
    problem = only(plan_of(components, [entry]))
    assert (problem.rule, problem.to_dict()["path"]) == (rule, path)
    assert problem.severity == "error"
    assert problem.hint


@pytest.mark.parametrize(
    ("config", "rule", "field"),
    [
        (7, "not_a_mapping", ""),
        ({}, "missing_field", ""),
        ({"node_rank": "0"}, "hardware_node_rank_type", ".node_rank"),
        ({"node_rank": True}, "hardware_node_rank_type", ".node_rank"),
        ({"node_rank": 0, "speed": 1}, "unknown_field", ".speed"),
        ({"node_rank": 0, "robot_ip": "10.0.0.300"}, "invalid_ip", ".robot_ip"),
        ({"node_rank": 0, "robot_ip": [1]}, "invalid_ip", ".robot_ip"),
        ({"node_rank": 7}, "hardware_rank_not_in_group", ".node_rank"),
        ({"node_rank": -1}, "hardware_rank_not_in_group", ".node_rank"),
    ],
)
def test_a_robot_that_cannot_be(config: Any, rule: str, field: str) -> None:
    problem = only(plan_of(ON_A, [robots(config)]))
    assert (problem.rule, problem.to_dict()["path"]) == (rule, f"{GROUPS}.hardware.configs[0]{field}")


@pytest.mark.parametrize("address", ["ROBOT_IP", "LEFT_ROBOT_IP", "ROBOT_IP_FOR_RANK2", "<robot ip>"])
def test_a_placeholder_for_the_address_of_a_robot_is_a_warning(address: str) -> None:
    plan = plan_of(ON_A, [robots({"node_rank": 0, "robot_ip": address}, {"node_rank": 1})])
    assert [(problem.rule, problem.severity) for problem in plan.problems] == [("invalid_ip", "warning")]
    assert plan.components


def test_the_same_robot_twice() -> None:
    problem = only(plan_of(ON_A, [robots({"node_rank": 0}, {"node_rank": 1}, {"node_rank": 0})]))
    assert problem.rule == "duplicate_hardware_config"
    assert problem.path[-1] == 2


def test_an_arm_has_two_variants() -> None:
    problem = only(plan_of(ON_A, [robots({"node_rank": 0, "arm_variant": "huge"}, kind="GimArm")]))
    assert problem.rule == "hardware_field_invalid"
    assert "`gim_arm`" in problem.hint


def test_two_groups_may_not_declare_robots_on_one_node() -> None:
    groups = [robots({"node_rank": 0}), robots({"node_rank": 0, "robot_ip": "10.0.0.1"}, label="b")]
    assert only(plan_of(ON_A, groups)).rule == "hardware_same_node_two_groups"


@pytest.mark.parametrize(
    ("entries", "rule"),
    [({"label": "a"}, "node_groups_not_list"), ("a", "node_groups_not_list"), (3, "node_groups_not_list")],
)
def test_node_groups_are_a_list(entries: Any, rule: str) -> None:
    assert only(plan_of({"actor": "0-7"}, entries)).rule == rule


def test_a_group_is_a_mapping_with_its_fields() -> None:
    assert only(plan_of({"actor": "0-7"}, ["a"])).rule == "not_a_mapping"
    problems = plan_of({"actor": "0-7"}, [{}]).problems
    assert [problem.rule for problem in problems] == ["missing_field", "missing_field"]
    assert "`label`" in problems[0].message
    assert "`node_ranks`" in problems[1].message


def test_two_groups_of_one_label() -> None:
    problem = only(plan_of(ON_A, [group(), group(node_ranks=1)]))
    assert problem.rule == "duplicate_label"
    assert problem.path == ("cluster", "node_groups", 1, "label")


def test_env_ranks_are_of_the_group() -> None:
    nodes = (Node(8),) * 4
    entry = group(node_ranks="0,3", env_configs=[{"node_ranks": "1"}])
    assert only(plan_of(ON_A, [entry], num_nodes=4, nodes=nodes)).rule == "env_rank_not_subset"
    entry = group(node_ranks="1", env_configs=[{"node_ranks": "0"}])
    assert only(plan_of(ON_A, [entry])).rule == "node_ranks_out_of_range"


@pytest.mark.parametrize("number", [0, -1, "2", True, 2.0, None, [2]])
def test_the_number_of_nodes_is_a_whole_number(number: Any) -> None:
    problem = only(plan_of({"actor": "0-99"}, num_nodes=number))
    assert problem.rule == "num_nodes_invalid"
    assert problem.path == ("cluster", "num_nodes")


def test_missing_parts_of_the_section() -> None:
    assert only(make_plan({"cluster": {"component_placement": {"actor": "0-99"}}})).rule == "missing_field"
    assert only(make_plan({"cluster": {"num_nodes": 1}})).rule == "missing_field"
    assert only(make_plan({"cluster": {}})).rule in ("not_a_mapping", "missing_field")
    assert only(make_plan({})).rule == "no_layout"
    assert "below `cluster:`" in only(make_plan({"component_placement": {"actor": 0}})).hint


def test_components_directly_under_cluster() -> None:
    problem = only(make_plan({"cluster": {"num_nodes": 1, "actor": "0-7", "rollout": "0-7"}}))
    assert problem.rule == "missing_field"
    assert "`actor` and `rollout`" in problem.hint
    assert "component_placement" in problem.hint


@pytest.mark.parametrize(
    ("section", "rule"),
    [
        (None, "component_placement_not_mapping"),
        ([], "component_placement_not_mapping"),
        ("0-7", "component_placement_not_mapping"),
    ],
)
def test_components_are_a_mapping(section: Any, rule: str) -> None:
    assert only(plan_of(section)).rule == rule


def test_no_components_at_all_is_fine() -> None:
    assert plan_of({}).problems == []


# Consequences


def test_too_few_nodes_is_the_only_problem() -> None:
    groups = [group(node_ranks="0"), group(label="b", node_ranks="2-3")]
    components = {
        "actor": "0-31",
        "env": {"node_group": "b", "placement": "0-15"},
        "x": {"node_group": "a", "placement": "0-9"},
    }
    problem = only(plan_of(components, groups, num_nodes=4))
    assert problem.rule == "not_enough_nodes"
    assert "2 nodes" in problem.message
    assert "num_nodes: 2" in problem.hint


@pytest.mark.parametrize("number", [65_537, 10**12, 10**200])
@pytest.mark.parametrize("nodes", [None, TWO])
def test_absurdly_many_nodes(number: int, nodes: tuple[Node, ...] | None) -> None:
    groups = [group(node_ranks="all", env_configs=[{"node_ranks": "all"}]), group(label="b", node_ranks="70000")]
    problems = plan_of(ON_A | {"b": "0-99"}, groups[:1], num_nodes=number, nodes=nodes).problems
    assert [problem.rule for problem in problems] == ["num_nodes_invalid" if nodes is None else "not_enough_nodes"]


def test_all_problems_of_a_file_at_once() -> None:
    components = {
        "actor": "0-99",
        "rollout": "1:2:3",
        "env": {"node_group": "nowhere", "placement": 0},
        "reward": {"node_group": "a"},
        "critic,critic": "x",
        "fine": "0-7",
    }
    plan = plan_of(components, [group(), group(label="b", color=1), "c"])
    assert {problem.rule for problem in plan.problems} == {
        "resource_out_of_range",
        "too_many_colons",
        "node_group_not_found",
        "placement_missing",
        "duplicate_component",
        "rank_format",
        "unknown_field",
        "not_a_mapping",
    }
    assert list(plan.components) == ["fine"]
    by_rule = {problem.rule: problem for problem in plan.problems}
    assert by_rule["resource_out_of_range"].component == "actor"
    assert by_rule["duplicate_component"].at_key


def test_thousands_of_problems_are_cut_and_errors_come_first() -> None:
    plan = plan_of({f"c{number},": "x" for number in range(3_000)})
    assert len(plan.problems) == 1_000
    assert {problem.severity for problem in plan.problems} == {"error"}


def test_components_of_one_key_have_their_problem_once() -> None:
    assert only(plan_of({"actor,rollout,env": "0-99"})).component == "actor"


# Surprises that RLinf passes over


def warning(plan: Plan) -> Problem:
    problem = only(plan)
    assert problem.severity == "warning"
    assert problem.hint
    return problem


def test_a_group_that_nobody_uses() -> None:
    assert warning(plan_of({"actor": "0-7"}, [group()])).rule == "group_unused"


def test_an_environment_that_reaches_no_process() -> None:
    entry = group(env_configs=[{"node_ranks": "0", "env_vars": [{"A": 1}]}])
    problem = warning(plan_of({"actor": "0-7"}, [entry]))
    assert problem.rule == "env_configs_unused"
    assert problem.to_dict()["path"] == f"{GROUPS}.env_configs"
    assert "node_group: a" in problem.hint
    assert plan_of(ON_A, [entry]).problems == []


def test_robots_of_another_group_are_counted_too() -> None:
    groups = [robots({"node_rank": 0}), robots({"node_rank": 1}, label="b")]
    components = {"x": {"node_group": "a", "placement": "0-1"}, "y": {"node_group": "b", "placement": "0"}}
    plan = plan_of(components, groups)
    assert {problem.rule for problem in plan.problems} == {"robots_of_other_group"}
    assert plan.components["x"].world_size == 2


def test_ignoring_hardware_beside_a_hardware_type() -> None:
    entry = group(hardware_type="Accelerator", ignore_hardware=True)
    plan = plan_of({"actor": {"node_group": "a", "placement": "0-15"}}, [entry])
    assert warning(plan).rule == "ignore_hardware_no_effect"
    assert plan.components["actor"].strategy == "flexible"


def test_a_misspelled_field() -> None:
    problem = warning(plan_of({"actor": "0-7"}, cluster={"node_group": []}))
    assert problem.rule == "unknown_cluster_field"
    assert "`node_groups`" in problem.hint
    assert problem.at_key
    assert plan_of({"actor": "0-7"}, cluster={"tracer": 1, "auto_scheduler": False}).problems == []


def test_a_field_of_a_rule_that_is_not_read() -> None:
    problem = warning(plan_of({"actor": {"placement": "0-7", "nodes": "a"}}))
    assert problem.rule == "unknown_placement_field"
    assert problem.path == ("cluster", "component_placement", "actor", "nodes")


def test_a_comma_that_makes_a_component_without_a_name() -> None:
    plan = plan_of({"actor,": "0-7"})
    assert warning(plan).rule == "empty_component_name"
    assert list(plan.components) == ["actor", ""]


def test_groups_with_and_without_devices() -> None:
    groups = [group(node_ranks="0"), group(label="cpu", node_ranks="1")]
    plan = plan_of({"x": {"node_group": "a,cpu", "placement": "0-1"}}, groups, nodes=(Node(8), Node(0)))
    assert warning(plan).rule == "mixed_groups_count_nodes"
    assert [one.cluster_node_rank for one in plan.components["x"].placements] == [0, 1]


# Lists, which RLinf's documentation promises


@pytest.mark.parametrize("ranks", ["0,1", "0-1", [0, 1], ["0-1"], [1, 0, 1], "all"])
def test_node_ranks_as_text_and_as_a_list(ranks: Any) -> None:
    plan = plan_of({"actor": {"node_group": "a", "placement": "0-15"}}, [group(node_ranks=ranks)])
    assert plan.problems == []
    assert plan.components["actor"].world_size == 16


@pytest.mark.parametrize("labels", ["a,4090", "a, 4090", ["a", "4090"], ["a", 4090]])
def test_several_groups_as_text_and_as_a_list(labels: Any) -> None:
    groups = [group(node_ranks=0), group(label=4090, node_ranks=[1])]
    plan = plan_of({"actor": {"node_group": labels, "placement": "0-15"}}, groups)
    assert plan.problems == []
    found = plan.components["actor"].placements
    assert [one.node_group_label for one in found] == ["a"] * 8 + ["4090"] * 8
    assert [one.cluster_node_rank for one in found] == [0] * 8 + [1] * 8


@pytest.mark.parametrize("label", ["A", "a ", None, ["a", "b"], "a,", {"a": 1}])
def test_labels_are_compared_to_the_letter(label: Any) -> None:
    plan = plan_of({"actor": {"node_group": label, "placement": "0"}}, [group()])
    problem = only(plan)
    assert problem.rule == "node_group_not_found"
    assert "`a`" in problem.hint or "'a'" in problem.hint


# Model-parallel surprises

SIZES: dict[str, Any] = {"actor": {"model": {}}, "rollout": {}, "algorithm": {"recompute_logprobs": True}}


@pytest.mark.parametrize(
    ("components", "rules"),
    [
        ({"actor": "0-7", "rollout": "8-15", "reward": "0-7"}, ["mp_no_inference"]),
        ({"actor,rollout": "0-7", "reward": {"node_group": "node", "placement": "0-1"}}, ["mp_ignores_node_group"]),
        ({"actor,rollout": "0-7", "reward": {"node_group": "a", "placement": "0-1"}}, ["mp_ignores_node_group"]),
        ({"actor,rollout": "0-7", "reward": "0-3:0-7"}, ["mp_ignores_processes"]),
        ({"actor,rollout": "0-7", "reward": "0,3"}, ["mp_reward_filled"]),
        ({"actor": "0-3", "rollout": "4-7", "inference": "8-11", "reward": "0"}, []),
        ({"actor": "0-3", "rollout": "4-7", "actor_inference": "8-11", "reward": "0"}, ["mp_inference_twice"]),
    ],
)
def test_what_the_model_parallel_modes_pass_over(components: dict[str, Any], rules: list[str]) -> None:
    groups = [group()] if "mp_ignores_node_group" in rules and components["reward"]["node_group"] == "a" else None
    plan = plan_of(components, groups, mode="model_parallel", **SIZES)
    assert [problem.rule for problem in plan.problems] == rules
    assert all(problem.severity == "warning" and problem.hint for problem in plan.problems)


def test_a_rollout_that_is_no_multiple_of_its_size() -> None:
    sizes = SIZES | {"rollout": {"tensor_parallel_size": 2}}
    plan = plan_of(
        {"actor": "0-3", "rollout": "4-6", "inference": "8-11", "reward": "0"}, mode="model_parallel", **sizes
    )
    assert warning(plan).rule == "mp_rollout_uneven"
    assert plan.components["rollout"].world_size == 1


def test_the_sections_of_a_model_are_needed_but_not_read_as_a_whole() -> None:
    components = {"actor,rollout,reward": "0-7"}
    assert {one.rule for one in plan_of(components, mode="model_parallel").problems} == {"mp_missing_section"}
    sizes: dict[str, Any] = {
        "actor": {"model": {"path": "${oc.env:HOME}/model", "tensor_model_parallel_size": "${size}"}},
        "rollout": {"model_dir": "???", "tensor_parallel_size": 1},
        "size": 2,
    }
    plan = plan_of(components, mode="model_parallel", **sizes)
    assert plan.problems == []
    assert "stride 2" in " ".join(plan.components["rollout"].reasons)
