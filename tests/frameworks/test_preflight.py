"""What frameworks ask of Ray, whether it fits, and the smallest reason where it does not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from placetui.document import Document, PlanRequest, plan_document
from placetui.frameworks.demand import ActorDemand, BundleDemand, GroupDemand, RayDemand
from placetui.frameworks.preflight import ClusterNode, planned_nodes, preflight, preflight_planned
from placetui.frameworks.registry import framework_of
from placetui.frameworks.scheduling import NodeResources, units
from placetui.frameworks.shortage import Holding, explain_wait
from placetui.placement.topology import Node

GOLDEN = Path(__file__).parents[1] / "golden" / "slime_head.json.gz"

RLINF = "cluster:\n  num_nodes: 2\n  component_placement: {actor: 0-7, rollout: 8-15}\n"
SLIME = (
    "slime:\n  actor_num_nodes: 1\n  actor_num_gpus_per_node: 4\n  rollout_num_gpus: 4\n"
    "placetui:\n  slime_version: head\n"
)


def demand_of(text: str, *nodes: Node) -> RayDemand:
    plan = plan_document(Document(text, "job.yaml"), PlanRequest(nodes=nodes or None))
    return framework_of(plan).demand(plan)


def test_rlinf_asks_for_actors_that_reserve_nothing() -> None:
    demand = demand_of(RLINF, Node(8), Node(8))
    assert demand.groups == ()
    assert {one.name: one.count for one in demand.actors} == {
        "actor": 8,
        "rollout": 8,
        "NodeProbe": 2,
        "managers": 5,
    }
    assert not any(one.resources for one in demand.actors)


def test_slime_asks_for_one_group_and_two_actors_beside_it() -> None:
    demand = demand_of(SLIME, Node(8))
    assert demand.groups == (GroupDemand("slime", "PACK", (BundleDemand({"GPU": 1, "CPU": 1}, 8),)),)
    assert [(one.name, one.resources, one.count, one.group) for one in demand.actors] == [
        ("RolloutManager", {"CPU": 1}, 1, None),
        ("Lock", {"CPU": 1}, 1, None),
        ("actor", {"GPU": 0.4, "CPU": 0.4}, 4, "slime"),
        ("rollout", {"GPU": 0.2, "CPU": 0.2}, 4, "slime"),
    ]


def layouts() -> list[Any]:
    recorded = json.loads(gzip.decompress(GOLDEN.read_bytes()))["cases"]
    kinds = ("layout", "server_groups", "external")
    chosen = [one for one in recorded if one["version"] == "head" and one["kind"] in kinds and "error" not in one]
    chosen = [one for one in chosen if "num_slots" in one["expected"] and one["id"] != "miles-external"]
    return [pytest.param(one, id=one["id"]) for one in chosen]


@pytest.mark.parametrize("case", layouts())
def test_slots_are_reserved_as_recorded_also_empty_ones(case: dict[str, Any]) -> None:
    from tests.frameworks.slime.test_slime_golden import Case

    plan = Case(case).plan
    demand = framework_of(plan).demand(plan)
    assert sum(one.size for one in demand.groups) == case["expected"]["num_slots"]


def cluster(**free: tuple[float, float]) -> list[ClusterNode]:
    """Nodes of 8 GPUs and 64 CPUs, with what is free of each."""
    total = {"GPU": units(8), "CPU": units(64)}
    return [
        ClusterNode(name, "", NodeResources(name, total, {"GPU": units(gpus), "CPU": units(cpus)}))
        for name, (gpus, cpus) in free.items()
    ]


def test_the_reason_names_the_node_what_is_short_and_who_holds_it() -> None:
    rollout = RayDemand((GroupDemand("rollout", "PACK", (BundleDemand({"GPU": 1, "CPU": 3}, 8),)),))
    train = Holding("node2", "job train-7 (root@head, 3 h)", {"CPU": units(62)}, "placetui down train-7")
    found = preflight(rollout, cluster(node2=(8, 2)), [train]).to_dict()
    assert found["fits"] is False
    assert found["groups"][0]["reason"] == (
        "rollout needs 8 bundles of 1 GPU + 3 CPUs; node2 has 8 GPUs but 2 of 64 CPUs free: "
        "62 CPUs reserved by job train-7 (root@head, 3 h)"
    )
    assert found["groups"][0]["hint"] == "request fewer CPUs, or stop the job that has it: placetui down train-7"
    assert found["groups"][0]["missing"] == [{"node": "node2", "resources": {"CPU": 1}}]
    assert found["nodes"][0]["held_by"] == [{"who": train.who, "resources": {"CPU": 62}}]
    assert [one["rule"] for one in found["problems"]] == ["does_not_schedule"]


def group(strategy: Any, count: int, gpus: float = 1, **labels: str) -> GroupDemand:
    return GroupDemand("g", strategy, (BundleDemand({"GPU": gpus, "CPU": 1}, count, labels),))


@pytest.mark.parametrize(
    ("request_", "free", "reason", "hint"),
    [
        (group("PACK", 24), (8, 64), "24 GPUs in all, and the cluster has 16 GPUs", "plan for 16 GPUs"),
        (group("STRICT_PACK", 12), (8, 64), "the nearest node, a, has 8 GPUs in all", "request less on one node"),
        (group("STRICT_SPREAD", 3), (8, 64), "the cluster has 2 nodes", "add nodes"),
        (group("PACK", 1, zone="x"), (8, 64), "no node has the label zone=x", "--labels"),
        (group("PACK", 3, 5), (8, 64), "fits in total but not per node", "request less in a bundle"),
        (group("STRICT_PACK", 8), (5, 64), "a has 64 CPUs but 5 of 8 GPUs free", "wait until it is free"),
        (ActorDemand("m", {"nvme": 1}, 1), (8, 64), "no node has any nvme", "start a node with it"),
        (ActorDemand("m", {"CPU": 9}, 1), (8, 2), "a has 2 of 64 CPUs free", "request fewer CPUs"),
    ],
)
def test_the_smallest_reason(request_: Any, free: tuple[float, float], reason: str, hint: str) -> None:
    found = explain_wait(request_, [node.resources for node in cluster(a=free, b=free)])
    assert reason in found.sentence
    assert hint in found.hint


def test_parts_of_gpus_are_no_whole_one() -> None:
    node = NodeResources("a", {"GPU": units(2)}, {"GPU": units(1)}, {}, {"GPU": (5000, 5000)})
    found = explain_wait(GroupDemand("g", "PACK", (BundleDemand({"GPU": 1}),)), [node])
    assert "a has 1 GPU free, of which 0.5 + 0.5 are parts of single GPUs" in found.sentence


def test_actors_of_a_group_that_waits_have_no_reason_of_their_own() -> None:
    found = preflight(demand_of(SLIME, Node(8)), planned_nodes([Node(4, cpus=8)])).to_dict()
    assert [one["verdict"] for one in found["actors"]] == ["fits", "fits", "waits", "waits"]
    assert len(found["problems"]) == 1


def test_what_earlier_groups_of_the_job_take_is_named() -> None:
    demand = RayDemand((group("PACK", 6), GroupDemand("h", "PACK", (BundleDemand({"GPU": 1}, 4),))))
    found = preflight(demand, cluster(a=(8, 64)))
    assert "6 GPUs reserved by g of this job" in found.problems[0].message
    assert found.problems[0].hint == "plan for fewer GPUs, or add nodes"


def test_cpus_that_nobody_knows_are_not_judged() -> None:
    """Fine-tuning with verl asks for ten CPUs with each GPU."""
    plan = plan_document(
        Document("trainer: {n_gpus_per_node: 8}\nplacetui: {verl_entry: verl.trainer.sft_trainer_ray}\n")
    )
    demand = framework_of(plan).demand(plan)
    unknown = preflight_planned(demand, [Node(8)], (), "sft.yaml").to_dict()
    assert (unknown["fits"], unknown["nodes"][0]["total"]["CPU"]) == (True, None)
    assert ["unknown" in note["message"] for note in unknown["notes"]] == [True]
    known = preflight_planned(demand, [Node(8, cpus=64)], (), "sft.yaml").to_dict()
    assert (known["fits"], known["notes"], known["groups"][0]["strategy"]) == (False, [], "STRICT_PACK")
    assert known["groups"][0]["bundles"] == [{"resources": {"GPU": 1, "CPU": 10}, "count": 8}]
