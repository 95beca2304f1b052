"""The `placetui:` section: topology, mode, shares, training, memory, launch."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.frameworks import registry
from placetui.frameworks.planner import make_plan
from placetui.placement.config.reader import Reader
from placetui.placement.config.settings import read_settings
from placetui.placement.config.settings_section import parse_cluster, read_topology
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem, Problems
from placetui.placement.topology import Node


def plan_of(section: Any, components: Any = None, num_nodes: int = 1, **more: Any) -> Plan:
    cluster = {"num_nodes": num_nodes, "component_placement": components or {"actor": "0-7"}}
    options = {name: more.pop(name) for name in ("nodes", "mode") if name in more}
    return make_plan({"cluster": cluster, "placetui": section, **more}, **options)


def only(plan: Plan) -> Problem:
    assert len(plan.problems) == 1, [problem.format() for problem in plan.problems]
    return plan.problems[0]


# Topology


@pytest.mark.parametrize(
    ("topology", "nodes"),
    [
        ({"nodes": 2, "gpus_per_node": 4}, [Node(4), Node(4)]),
        ({"nodes": 2}, [Node(8), Node(8)]),
        ({"gpus_per_node": 4}, [Node(4)]),
        ({"nodes": 1, "gpus_per_node": 0}, [Node(0)]),
        ({"nodes": 1, "accelerator": "NPU", "memory_gib": 64}, [Node(8, "NPU", memory_gib=64.0)]),
        (
            {
                "nodes": [
                    {"name": "head", "ip": "10.0.0.1", "gpus": 4, "accelerator": "AMD_GPU", "memory_gib": 80.5},
                    {"gpus": 0},
                    {},
                ],
                "gpus_per_node": 2,
            },
            [Node(4, "AMD_GPU", "head", "10.0.0.1", 80.5), Node(0), Node(2)],
        ),
    ],
)
def test_forms_of_a_topology(topology: Any, nodes: list[Node]) -> None:
    problems = Problems()
    assert read_topology(topology, problems) == nodes
    assert problems == []


@pytest.mark.parametrize(
    ("topology", "rule", "path"),
    [
        (3, "not_a_mapping", ()),
        ([], "not_a_mapping", ()),
        ({"nodes": 0}, "topology_invalid", ("nodes",)),
        ({"nodes": "2"}, "topology_invalid", ("nodes",)),
        ({"nodes": True}, "topology_invalid", ("nodes",)),
        ({"nodes": 10**9}, "topology_invalid", ("nodes",)),
        ({"nodes": []}, "topology_invalid", ("nodes",)),
        ({"nodes": [3]}, "not_a_mapping", ("nodes", 0)),
        ({"nodes": [{"gpus": -1}]}, "topology_invalid", ("nodes", 0, "gpus")),
        ({"nodes": [{"gpus": 8, "accelerator": "TPU"}]}, "topology_invalid", ("nodes", 0, "accelerator")),
        ({"nodes": [{"accelerator": ["NPU"]}]}, "topology_invalid", ("nodes", 0, "accelerator")),
        ({"gpus_per_node": 1.5}, "topology_invalid", ("gpus_per_node",)),
        ({"gpus_per_node": 10**9}, "topology_invalid", ("gpus_per_node",)),
        ({"nodes": 65_536, "gpus_per_node": 1_024}, "topology_invalid", ("nodes",)),
        ({"memory_gib": "80"}, "topology_invalid", ("memory_gib",)),
        ({"memory_gib": 0}, "topology_invalid", ("memory_gib",)),
        ({"memory_gib": float("nan")}, "topology_invalid", ("memory_gib",)),
        ({"memory_gib": 10**400}, "topology_invalid", ("memory_gib",)),
    ],
)
def test_topologies_that_cannot_be(topology: Any, rule: str, path: tuple[Any, ...]) -> None:
    problems = Problems()
    assert read_topology(topology, problems) is None
    assert [(problem.rule, problem.path) for problem in problems] == [(rule, path)]
    assert problems[0].hint


def test_an_unknown_field_of_a_topology_is_a_warning() -> None:
    problems = Problems()
    assert read_topology({"nodes": 1, "gpu": 4}, problems) == [Node(8)]
    assert [(problem.rule, problem.severity) for problem in problems] == [("unknown_setting", "warning")]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("2x8", [Node(8)] * 2),
        ("2X8", [Node(8)] * 2),
        ("2×8", [Node(8)] * 2),
        (" 2 x 8 ", [Node(8)] * 2),
        ("1x0", [Node(0)]),
        ("0x8", None),
        ("2x", None),
        ("x8", None),
        ("2x8x1", None),
        ("-1x8", None),
        ("8", None),
        ("", None),
        ("conf.yaml", None),
        ("99999999x8", None),
        ("2x99999", None),
        ("65536x1024", None),
        ("9" * 5000 + "x8", None),
        ("²x8", None),
    ],
)
def test_nodes_times_gpus(text: str, nodes: list[Node] | None) -> None:
    assert parse_cluster(text) == nodes


def test_the_topology_that_applies_is_the_first_of_flag_file_and_assumption() -> None:
    file = {"topology": {"nodes": 1, "gpus_per_node": 4}}
    components = {"actor": "0-3"}
    flag = plan_of(file, components, nodes=[Node(2), Node(2)], num_nodes=2)
    assert (flag.topology_source, [node.gpus for node in flag.nodes]) == ("flag", [2, 2])
    told = plan_of(file, components)
    assert (told.topology_source, [node.gpus for node in told.nodes]) == ("file", [4])
    assumed = plan_of({}, components, num_nodes=2)
    assert (assumed.topology_source, [node.gpus for node in assumed.nodes]) == ("assumed", [8, 8])


def test_a_wrong_topology_is_the_only_problem() -> None:
    assert (
        only(plan_of({"topology": {"nodes": "2", "gpus_per_node": 16}}, {"actor": "0-31"})).rule == "topology_invalid"
    )
    assert only(plan_of({"topology": "${nowhere}"}, {"actor": "0-31"})).rule == "interpolation"


def test_a_problem_that_depends_on_the_assumption_says_so() -> None:
    assert "--cluster" in only(plan_of({}, {"actor": "0-8"})).hint
    assert "--cluster" not in only(plan_of({}, {"actor": "0-8"}, nodes=[Node(8)])).hint


# Mode


def test_the_mode_that_applies_is_the_first_of_flag_section_task_and_hybrid() -> None:
    runner: dict[str, Any] = {"runner": {"task_type": "reasoning_eval"}}
    assert plan_of({"mode": "component"}, mode="hybrid", **runner).mode == "hybrid"
    assert plan_of({"mode": "component"}, **runner).mode == "component"
    assert plan_of({}, **runner).mode == "model_parallel_eval"
    assert plan_of({}).mode == "hybrid"


@pytest.mark.parametrize(
    ("task", "mode"),
    [
        ("reasoning", "model_parallel"),
        ("coding_online_rl", "model_parallel"),
        ("reasoning_eval", "model_parallel_eval"),
        ("embodied", "hybrid"),
        ("embodied_eval", "hybrid"),
        ("sft", "hybrid"),
        ("offline", "hybrid"),
        (7, "hybrid"),
        (["reasoning"], "hybrid"),
        (None, "hybrid"),
    ],
)
def test_the_mode_of_a_task(task: Any, mode: str) -> None:
    assert plan_of({}, runner={"task_type": task}).mode == mode


@pytest.mark.parametrize("mode", registry.modes())
def test_every_mode_is_accepted(mode: str) -> None:
    assert plan_of({"mode": mode}).mode == mode


@pytest.mark.parametrize("mode", ["Hybrid", 3, ["hybrid"], {}])
def test_an_unknown_mode(mode: Any) -> None:
    plan = plan_of({"mode": mode})
    assert only(plan).rule == "unknown_mode"
    assert "`hybrid`" in only(plan).hint
    assert plan.mode == "hybrid"


def test_placement_mode_is_null_for_the_base_class() -> None:
    assert plan_of({"mode": "component"}).placement_mode is None
    assert plan_of({}).placement_mode == "hybrid"


# Shares, training, memory, launch


@pytest.mark.parametrize(
    "share", [0, -0.5, "0.5", True, None, float("nan"), float("inf"), 1e308, 0.00001, [1], 10**200]
)
def test_a_share_is_a_number_above_zero(share: Any) -> None:
    problem = only(plan_of({"shares": {"actor": share}}))
    assert problem.rule == "share_invalid"
    assert problem.path == ("placetui", "shares", "actor")
    assert problem.component == "actor"


def test_shares_are_rounded_to_ten_thousandths() -> None:
    assert plan_of({"shares": {"actor": 0.33336}}).components["actor"].share == 0.3334


@pytest.mark.parametrize("limit", [0, "x", 1e308, None])
def test_a_memory_limit_is_a_number_above_zero(limit: Any) -> None:
    assert only(plan_of({"memory": {"actor": limit}})).rule == "memory_invalid"


def settings_of(section: Any) -> tuple[Any, Problems]:
    problems = Problems()
    return read_settings(Reader({"placetui": section}, problems), problems), problems


def test_memory_limits_are_read() -> None:
    settings, problems = settings_of({"memory": {"rollout": 0.6}})
    assert settings.memory == {"rollout": 0.6}
    assert problems == []


@pytest.mark.parametrize(
    ("train", "names"),
    [
        (None, ("actor", "critic")),
        (["policy", "value"], ("policy", "value")),
        ("policy, value", ("policy", "value")),
        ([], ()),
    ],
)
def test_components_that_train(train: Any, names: tuple[str, ...]) -> None:
    settings, problems = settings_of({"train": train})
    assert settings.train == names
    assert problems == []


@pytest.mark.parametrize("train", [3, {"actor": 1}, True])
def test_train_is_a_list(train: Any) -> None:
    assert only(plan_of({"train": train})).rule == "train_invalid"


def test_isolation_can_be_switched_off_for_one_component() -> None:
    plan = plan_of({"launch": {"actor": {"isolate_accelerator": False}}}, {"actor,rollout": "0-7"})
    assert plan.problems == []
    assert len(plan.components["actor"].placements[3].visible_accelerators) == 8
    assert not plan.components["actor"].placements[3].isolate_accelerator
    assert plan.components["rollout"].placements[3].visible_accelerators == ["3"]


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"share": {}}, ("placetui", "share")),
        ({"launch": {"actor": {"workers": 1}}}, ("placetui", "launch", "actor", "workers")),
        ({"topology": {"gpus": 8}}, ("placetui", "topology", "gpus")),
    ],
)
def test_unknown_settings_are_warned_of(section: Any, path: tuple[str, ...]) -> None:
    problem = only(plan_of(section))
    assert (problem.rule, problem.severity, problem.path, problem.at_key) == ("unknown_setting", "warning", path, True)


@pytest.mark.parametrize("key", ["shares", "memory", "launch"])
def test_names_that_are_no_component_are_warned_of(key: str) -> None:
    value: Any = {} if key == "launch" else 0.5
    problem = only(plan_of({key: {"aktor": value}}))
    assert (problem.rule, problem.severity) == ("unknown_component", "warning")
    assert problem.path == ("placetui", key, "aktor")
    assert "`actor`" in problem.hint


def test_a_component_that_could_not_be_placed_is_still_one() -> None:
    section = {"shares": {"env": 0.5}, "launch": {"env": {}}, "train": ["env"]}
    assert only(plan_of(section, {"actor": "0-7", "env": "x"})).rule == "rank_format"


def test_training_that_is_no_component_is_warned_of_only_when_written() -> None:
    assert only(plan_of({"train": ["policy"]}, {"actor": "0"})).rule == "unknown_component"
    assert plan_of({}, {"env": "0"}).problems == []


@pytest.mark.parametrize(
    "section", ["x", 3, ["mode"], {"shares": 3}, {"memory": "x"}, {"launch": [1]}, {"launch": {"actor": 1}}]
)
def test_what_should_be_a_mapping(section: Any) -> None:
    problem = only(plan_of(section))
    assert problem.rule == "not_a_mapping"
    assert problem.hint


@pytest.mark.parametrize("section", [None, {}, {"mode": None, "shares": None, "train": None, "topology": None}])
def test_nothing_said_is_nothing_wrong(section: Any) -> None:
    assert plan_of(section).problems == []
