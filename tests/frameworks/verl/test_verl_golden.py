"""Nodes of ranks, groups and rules as verl's own start-up code has made them on a real Ray cluster."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from placetui.document import Document
from placetui.frameworks.planner import make_plan
from placetui.frameworks.verl.framework import FRAMEWORK
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

GOLDEN = Path(__file__).parents[2] / "golden" / "verl.json.gz"
CASES = json.loads(gzip.decompress(GOLDEN.read_bytes()))["cases"]


def plan_of(case: dict[str, Any], config: dict[str, Any], **settings: str) -> Plan:
    nodes = [Node(**node) for node in case["nodes"]]
    return make_plan({**config, "placetui": settings} if settings else config, nodes=nodes)


def expected_ranks(expected: dict[str, Any]) -> dict[str, list[tuple[int, float | None]]]:
    """Of each component, node and share of its ranks."""
    found: dict[str, list[tuple[int, float | None]]] = {}
    for group in expected["worker_groups"]:
        if group["class"] != "CheckpointEngineWorker":
            found[(group["roles"] or ["trainer"])[0]] = [(node, group["num_gpus"]) for node in group["node"]]
    for replica in expected["replicas"]:
        ranks = found.setdefault({"reward": "reward_model"}.get(replica["kind"], replica["kind"]), [])
        booked = expected["worker_groups"][replica["worker_group"]]["num_gpus"]
        share = None if replica["mode"] == "hybrid" else booked
        for server in replica["servers"]:
            ranks += [(node, share) for node in server_nodes(server, expected)]
    return found


def server_nodes(server: dict[str, Any], expected: dict[str, Any]) -> Iterator[int]:
    if "bundles" not in server:
        yield server["node"]
    for group, _ in server.get("bundles", ()):
        yield expected["groups"][group]["node"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_it_is_as_verl_made_it(case: dict[str, Any]) -> None:
    expected = case["expected"]
    settings = {"verl_entry": case["entry"]} if "generation" in case["entry"] else {}
    plan = plan_of(case, case["config"], **settings)
    rules = {problem.rule for problem in plan.problems if problem.severity != "info"}
    if expected["outcome"] != "starts":
        assert expected["rule"] in rules
        assert any(problem.blocking for problem in plan.problems)
        return
    assert rules == set(expected["warnings"])
    assert not any(problem.blocking for problem in plan.problems)
    ranks = expected_ranks(expected)
    assert plan.components.keys() == ranks.keys()
    for name, recorded in ranks.items():
        component = plan.components[name]
        found = [(one.cluster_node_rank, component.rank_share(one.rank)) for one in component.placements]
        if expected["fixed"]:
            assert found == recorded
        assert [share for _, share in found] == [share for _, share in recorded]
        assert not any(one.fixed for one in component.placements)
    for group in expected["worker_groups"]:
        wanted = {role for key in group["roles"] or () for role in key.split("_")}
        assert not wanted or set(plan.components[group["roles"][0]].roles) == wanted
    everybody = [one for component in plan.components.values() for one in component.placements]
    assert all(one.node_fixed for one in everybody) == expected["fixed"]
    assert [(one.name, one.strategy, one.bundles, one.resources) for one in plan.groups] == [
        (one["name"], one["strategy"], one["bundles"], one["bundle"]) for one in expected["groups"]
    ]
    if choices := expected.get("possible_nodes_of_groups"):
        drawn = [one.nodes[0] if len(set(one.nodes)) == 1 else list(one.nodes) for one in plan.groups]
        assert drawn in choices


@pytest.mark.parametrize("case", [one for one in CASES if "old" not in one["id"]], ids=lambda case: case["id"])
def test_a_command_gives_the_same_as_its_configuration(case: dict[str, Any]) -> None:
    text = FRAMEWORK.from_command([case["command"]], None).text
    config = {**Document(text).config}
    nodes = [Node(**node) for node in case["nodes"]]
    imported = make_plan(config, nodes=nodes)
    settings = {"verl_entry": case["entry"]} if "generation" in case["entry"] else {}
    composed = plan_of(case, case["config"], **settings)
    assert imported.to_dict()["components"] == composed.to_dict()["components"]
    ours = {problem.rule for problem in imported.problems}
    assert ours - {"verl_batch_not_divisible"} == {problem.rule for problem in composed.problems}
