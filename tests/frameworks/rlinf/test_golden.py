"""Placements recorded from RLinf's own code: every field of every rank, and the rule of every refusal."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from placetui import Cluster
from placetui.document import Document, PlanRequest, plan_document
from placetui.frameworks.planner import make_plan
from placetui.frameworks.rlinf.components import ComponentPlacement, HybridComponentPlacement
from placetui.frameworks.rlinf.model_parallel import ModelParallelComponentPlacement
from placetui.placement.placements import FIELDS, Placement
from placetui.placement.plan import Plan
from placetui.placement.problems import PlacementError, Problem
from placetui.placement.strategies import (
    FlexiblePlacementStrategy,
    NodePlacementStrategy,
    PackedPlacementStrategy,
    PlacementStrategy,
)
from placetui.placement.topology import Node

STRATEGIES: dict[str, type[PlacementStrategy]] = {
    "packed": PackedPlacementStrategy,
    "flexible": FlexiblePlacementStrategy,
    "node": NodePlacementStrategy,
}
CLASSES: dict[str, type[ComponentPlacement]] = {
    "component": ComponentPlacement,
    "hybrid": HybridComponentPlacement,
    "model_parallel": ModelParallelComponentPlacement,
}


def read(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parents[2] / "golden" / f"{name}.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        cases: list[dict[str, Any]] = json.load(file)
    return cases


def by_id(cases: Sequence[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


PLACEMENTS = read("placements")
DIRECT = [case for case in PLACEMENTS if case["kind"] in STRATEGIES]
CONFIGS = [case for case in PLACEMENTS if case["kind"] not in STRATEGIES]
OF_CLASSES = [case for case in CONFIGS if case["kind"] in CLASSES and "placements" in case["expected"]]
TYPINGS = read("yaml_typing")


def nodes_of(case: dict[str, Any]) -> list[Node]:
    return [Node(node["gpus"], node.get("accel", "NV_GPU")) for node in case["nodes"]]


def isolate_of(case: dict[str, Any]) -> bool:
    return bool(case.get("isolate_accelerator", True))


def expected_placements(case: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """RLinf has the text "0" as first accelerator of processes on nodes; here it is the number."""
    return {
        name: [{**one, "local_accelerator_rank": int(one["local_accelerator_rank"])} for one in placements]
        for name, placements in case["expected"]["placements"].items()
    }


def as_dicts(placements: Sequence[Placement]) -> list[dict[str, Any]]:
    assert all(type(one.local_accelerator_rank) is int for one in placements)
    return [one.to_dict() for one in placements]


def check_refusal(problems: Sequence[Problem], code: str) -> None:
    blocking = [problem.rule for problem in problems if problem.blocking]
    assert blocking
    assert code == "any" or code in blocking


def check_plan(plan: Plan, case: dict[str, Any]) -> None:
    expected = case["expected"]
    if "error" in expected:
        check_refusal(plan.problems, expected["error"]["code"])
        return
    assert [problem for problem in plan.problems if problem.blocking] == []
    assert {name: as_dicts(one.placements) for name, one in plan.components.items()} == expected_placements(case)
    assert {name: one.strategy.upper() for name, one in plan.components.items()} == expected["strategy"]
    assert (plan.placement_mode.upper() if plan.placement_mode else None) == expected["mode"]


def test_the_fields_are_the_eleven_of_the_contract() -> None:
    case = next(case for case in PLACEMENTS if "placements" in case["expected"])
    (first, *_) = next(iter(case["expected"]["placements"].values()))
    assert set(FIELDS) == set(first)
    assert len(FIELDS) == 11


@pytest.mark.parametrize("case", by_id(CONFIGS))
def test_a_configuration_resolves_as_recorded(case: dict[str, Any]) -> None:
    plan = make_plan(case["config"], nodes=nodes_of(case), mode=case["kind"], isolate_accelerator=isolate_of(case))
    check_plan(plan, case)


@pytest.mark.parametrize("case", by_id(DIRECT))
def test_a_strategy_places_as_recorded(case: dict[str, Any]) -> None:
    expected = case["expected"]

    def place() -> list[Placement]:
        cluster = Cluster(cluster_cfg=case["config"]["cluster"], nodes=nodes_of(case))
        strategy = STRATEGIES[case["kind"]](**case["strategy"])
        return strategy.get_placement(cluster, isolate_of(case))

    if "error" in expected:
        with pytest.raises(PlacementError) as caught:
            place()
        check_refusal(caught.value.problems, expected["error"]["code"])
    else:
        assert as_dicts(place()) == expected_placements(case)["worker"]


@pytest.mark.parametrize("case", by_id(OF_CLASSES))
def test_the_class_of_that_kind_agrees_with_the_plan(case: dict[str, Any]) -> None:
    cluster = Cluster(cluster_cfg=case["config"]["cluster"], nodes=nodes_of(case))
    placement = CLASSES[case["kind"]](case["config"], cluster)
    mode = placement.placement_mode
    assert (mode.name if mode else None) == case["expected"]["mode"]
    expected = expected_placements(case)
    assert set(placement.components) == set(expected)
    for name in placement.components:
        found = placement.get_strategy(name).get_placement(cluster, isolate_of(case))
        assert as_dicts(found) == expected[name]
        assert placement.get_world_size(name) == len(found)
        again = placement.get_strategy(name).get_placement(cluster, isolate_of(case))
        assert again == found


def complete(case: dict[str, Any]) -> bool:
    """Whether there is a section that `Cluster` takes: it counts the nodes itself when `num_nodes` is not there."""
    section = case["config"].get("cluster")
    return isinstance(section, dict) and "num_nodes" in section


REFUSED_BY_CLASSES = [
    case for case in CONFIGS if case["kind"] in CLASSES and "error" in case["expected"] and complete(case)
]


@pytest.mark.parametrize("case", by_id(REFUSED_BY_CLASSES))
def test_the_class_of_that_kind_refuses_too(case: dict[str, Any]) -> None:
    def place() -> None:
        cluster = Cluster(cluster_cfg=case["config"]["cluster"], nodes=nodes_of(case))
        placement = CLASSES[case["kind"]](case["config"], cluster)
        for name in placement.components:
            placement.get_strategy(name).get_placement(cluster)

    with pytest.raises(PlacementError) as caught:
        place()
    check_refusal(caught.value.problems, case["expected"]["error"]["code"])


@pytest.mark.parametrize("case", by_id(TYPINGS))
def test_unquoted_scalars_are_typed_as_recorded(case: dict[str, Any]) -> None:
    document = Document(case["yaml"], "conf.yaml")
    plan = plan_document(document, PlanRequest(nodes=tuple(nodes_of(case)), mode="hybrid"))
    expected = case["expected"]
    if "error" in expected:
        check_refusal(plan.problems, expected["error"]["code"])
        assert all(problem.line is not None and problem.column is not None for problem in plan.problems)
        return
    assert [problem for problem in plan.problems if problem.blocking] == []
    assert {name: as_dicts(one.placements) for name, one in plan.components.items()} == expected_placements(case)
