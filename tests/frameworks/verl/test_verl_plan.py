"""verl files: what is said of them, names with a colon, sizes that the grid changes, new files."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.document import Document, plan_document
from placetui.document.edit import Edited, attempt
from placetui.document.new_file import new_file
from placetui.frameworks.new_job import JobSize
from placetui.frameworks.planner import make_plan
from placetui.frameworks.verl.framework import FRAMEWORK
from placetui.placement.edits import Move, Refusal, Resize, Spread
from placetui.placement.explain import explain
from placetui.placement.names import Names
from placetui.placement.topology import Node

TEXT = """\
trainer: {nnodes: 1, n_gpus_per_node: 8}
algorithm: {adv_estimator: grpo}
actor_rollout_ref: {rollout: {tensor_model_parallel_size: 4}}
distillation:
  enabled: true
  nnodes: 1
  n_gpus_per_node: 8
  teacher_models:
    a: {key: gsm8k, num_replicas: 2, inference: {tensor_model_parallel_size: 2}}
    b: {key: geo/3k, num_replicas: 1, inference: {tensor_model_parallel_size: 4}}
"""


def config(**sections: Any) -> dict[str, Any]:
    return {"trainer": {"nnodes": 2, "n_gpus_per_node": 8}, "algorithm": {"adv_estimator": "grpo"}, **sections}


def test_nodes_are_assumed_per_pool_and_cpus_are_not_judged() -> None:
    plan = plan_document(Document(TEXT))
    assert (plan.problems, [node.gpus for node in plan.nodes]) == ([], [8, 8])
    reasons = plan.components["rollout"].reasons
    assert any("CPUs of the nodes is unknown" in reason for reason in reasons)
    assert any("vllm is assumed" in reason for reason in reasons)


def test_what_is_not_fixed_is_said_everywhere() -> None:
    plan = plan_document(Document(TEXT))
    shown = plan.to_dict()["components"]["actor_rollout"]
    assert shown["roles"] == ["actor", "rollout"]
    assert (shown["placements"][0]["fixed"], shown["placements"][0]["node_fixed"]) == (False, False)
    assert plan.to_dict()["components"]["rollout"]["share"] is None
    assert explain(plan, "rollout:0").to_dict()["node_fixed"] is False
    alone = make_plan(config(actor_rollout_ref={}), nodes=[Node(8), Node(8)])
    assert "node_fixed" not in alone.to_dict()["components"]["actor_rollout"]["placements"][0]


@pytest.mark.parametrize("text", ["teacher:geo_3k:0", "teacher:geo_3k 0", "component:teacher:geo_3k", "teacher:geo_3k"])
def test_a_name_with_a_colon_is_a_name(text: str) -> None:
    assert Names(plan_document(Document(TEXT))).read(text).components == ("teacher:geo_3k",)


@pytest.mark.parametrize(
    ("version", "share", "roles"),
    [
        ("0.6.1", 1.0, ("actor", "rollout", "ref")),
        ("0.7.0", 0.3333, ("actor", "rollout", "ref")),
        ("0.9.1", 0.3333, ("actor", "rollout", "ref")),
    ],
)
def test_older_versions_book_otherwise(version: str, share: float, roles: tuple[str, ...]) -> None:
    plan = make_plan(
        config(actor_rollout_ref={"actor": {"use_kl_loss": True}}, placetui={"verl_version": version}),
        nodes=[Node(8, cpus=64), Node(8, cpus=64)],
    )
    training = next(iter(plan.components.values()))
    assert training.name == ("actor_rollout_ref" if version == "0.9.1" else "actor_rollout")
    assert (training.share, training.roles) == (share, roles)
    assert ("rollout" in plan.components) == (version != "0.6.1"), "up to 0.6 the workers themselves roll out"


@pytest.mark.parametrize(("key", "replaces"), [("0.9.0", True), ("0.9.1", False), ("main", True)])
def test_hybrid_engine_off_counts_in_one_release_only(key: str, replaces: bool) -> None:
    rollout = {"nnodes": 1, "checkpoint_engine": {"backend": "nccl"}}
    plan = make_plan(
        {
            "trainer": {"v1": {"trainer_mode": "separate_async"}},
            "algorithm": {"adv_estimator": "grpo"},
            "actor_rollout_ref": {"hybrid_engine": False, "rollout": rollout},
            "placetui": {"verl_version": key},
        }
    )
    assert ("actor_rollout" in plan.components) == replaces


def test_transfer_queue_takes_cpus_before_the_groups() -> None:
    """Eight storage units and their controller hold nine CPUs of the only node."""
    one = config(actor_rollout_ref={})
    one["trainer"] = {"nnodes": 1, "n_gpus_per_node": 8}
    for cpus, rules in ((33, []), (32, ["verl_group_cpus"])):
        assert [problem.rule for problem in make_plan(one, nodes=[Node(8, cpus=cpus)]).problems] == rules


def test_demand_is_what_verl_asks_for() -> None:
    plan = make_plan(config(actor_rollout_ref={}), nodes=[Node(8), Node(8)])
    demand = FRAMEWORK.demand(plan)
    assert [(one.strategy, one.size) for one in demand.groups] == [("STRICT_PACK", 8)] * 2
    assert dict(demand.groups[0].bundles[0].resources) == {"GPU": 1, "CPU": 3}
    assert [(one.name, one.count) for one in demand.actors] == [
        ("TransferQueueController", 1),
        ("SimpleStorageUnit", 8),
    ]


def test_a_large_job_is_planned_quickly() -> None:
    plan = make_plan(
        {"trainer": {"nnodes": 1024}, "actor_rollout_ref": {"rollout": {"tensor_model_parallel_size": 8}}},
        nodes=[Node(8, cpus=64, ip=f"10.{n // 256}.{n % 256}.1") for n in range(1024)],
    )
    assert plan.components["rollout"].world_size == 1024
    assert all(one.node_fixed for one in plan.components["rollout"].placements)


@pytest.mark.parametrize(
    ("operation", "written"),
    [
        (Resize("actor_rollout", -4), "trainer: {nnodes: 1, n_gpus_per_node: 4}"),
        (Spread("rollout", 1, 8), "rollout: {tensor_model_parallel_size: 8}"),
    ],
)
def test_sizes_are_edited(operation: Resize | Spread, written: str) -> None:
    document = Document(TEXT)
    result = attempt(document, plan_document(document), operation)
    assert isinstance(result, Edited)
    assert written in result.document.text


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (Resize("actor_rollout", 1), "does not divide the 9 GPUs"),
        (Resize("teacher:gsm8k", -1), "the teachers need"),
        (Resize("rollout", 1), "has the GPUs of training"),
    ],
)
def test_sizes_that_do_not_work_are_refused(operation: Resize, reason: str) -> None:
    document = Document(TEXT)
    result = attempt(document, plan_document(document), operation)
    assert isinstance(result, Refusal)
    assert reason in result.reason


def test_places_are_not_edited() -> None:
    document = Document(TEXT)
    refused = attempt(document, plan_document(document), Move("actor_rollout"))
    assert isinstance(refused, Refusal)
    assert "Ray chooses" in refused.hint


@pytest.mark.parametrize("layout", ["collocated", "disaggregated"])
def test_a_new_file_is_fine(layout: Any) -> None:
    text = new_file(layout, JobSize(nodes=2, per_engine=4), "verl")
    assert isinstance(text, str)
    plan = plan_document(Document(text))
    assert (plan.framework, [one for one in plan.problems if one.severity != "info"]) == ("verl", [])
    assert plan.components["rollout"].world_size == (4 if layout == "collocated" else 2)


QUEUE = ("transfer_queue", "TransferQueueController")


@pytest.mark.parametrize(
    ("use_v1", "head", "actors", "rules"),
    [
        (True, {"CPU": 8}, {QUEUE}, ["verl_shared_transfer_queue"]),
        (True, {}, set(), ["verl_node_without_cpus"]),
        (True, {"CPU": 8}, {("", "TransferQueueController")}, []),
        (False, {}, {QUEUE}, []),
    ],
)
def test_a_cluster_may_have_a_queue_or_a_head_without_cpus(
    use_v1: bool, head: dict[str, float], actors: set[tuple[str, str]], rules: list[str]
) -> None:
    plan = make_plan(
        {"trainer": {"use_v1": use_v1, "n_gpus_per_node": 8}, "actor_rollout_ref": {}}, nodes=[Node(8, cpus=64)]
    )
    found = FRAMEWORK.cluster_problems(plan, {"head": head, "worker": {"GPU": 8, "CPU": 64}}, actors)
    assert [problem.rule for problem in found] == rules


def teachers(**models: Any) -> Any:
    """Rules and teachers of a pool of 2 x 4 GPUs."""
    sections = {"enabled": True, "nnodes": 2, "n_gpus_per_node": 4, "teacher_models": models}
    plan = make_plan(config(actor_rollout_ref={}, distillation=sections))
    found = {name.removeprefix("teacher:"): one.world_size for name, one in plan.components.items() if ":" in name}
    return {problem.rule for problem in plan.problems}, found


@pytest.mark.parametrize(
    ("models", "rules", "servers"),
    [
        ({"teacher_model": {"key": "x", "num_replicas": 1, "inference": {}}}, set(), {"default": 4}),
        ({"a": {"key": "a", "num_replicas": 4}}, set(), {"a": 4}),
        ({"a": {"key": "a"}}, {"verl_teacher_sum"}, None),
        ({"a": {"num_replicas": 4}}, {"verl_teacher_key"}, None),
        ({"teacher_model": {"key": "x"}, "a": {"key": "a", "num_replicas": 4}}, {"verl_default_teacher_dropped"}, None),
        ({"a": {"key": "a", "num_replicas": 1, "inference": {"data_parallel_size": 3}}}, {"verl_replica_parts"}, None),
    ],
)
def test_the_only_teacher_fills_the_pool_and_others_say_how_many(
    models: Any, rules: set[str], servers: dict[str, int] | None
) -> None:
    found, drawn = teachers(**models)
    assert rules <= found
    assert found or servers == drawn


@pytest.mark.parametrize(
    ("sections", "rule"),
    [
        ({"actor_rollout_ref": {"rollout": {"n_gpus_per_node": 0}}}, "verl_pool_size"),
        (
            {
                "actor_rollout_ref": {"actor": {"strategy": "megatron", "megatron": {"tensor_model_parallel_size": 3}}},
                "data": {"train_batch_size": 60},
            },
            "verl_batch_not_divisible",
        ),
        (
            {"reward": {"reward_model": {"enable": True, "rollout": {"tensor_model_parallel_size": 12}}}},
            "verl_replica_parts",
        ),
        ({"trainer": {"v1": {"trainer_mode": "async"}}}, "verl_value"),
        ({"trainer": {"nnodes": 999999, "n_gpus_per_node": 999999}}, "verl_value"),
        ({"reward": {"num_workers": "many"}}, "verl_value"),
        ({"actor_rollout_ref": {"rollout": {"agent": {"num_workers": 1.5}}}}, "verl_value"),
        (
            {
                "trainer": {"n_gpus_per_node": 4},
                "actor_rollout_ref": {
                    "rollout": {"n_gpus_per_node": 8, "disaggregation": {"enabled": True, "decode_replicas": 3}}
                },
            },
            "verl_no_replica",
        ),
        (
            {
                "placetui": {"verl_entry": "verl.trainer.main_generation_server"},
                "actor_rollout_ref": {"rollout": {"tensor_model_parallel_size": 5}},
            },
            "verl_leftover_gpus",
        ),
        (
            {
                "async_training": {},
                "actor_rollout_ref": {"hybrid_engine": False},
                "reward": {"reward_model": {"enable": True, "enable_resource_pool": True}},
            },
            "verl_reward_too_large",
        ),
    ],
)
def test_what_verl_refuses_is_a_problem(sections: dict[str, Any], rule: str) -> None:
    plan = make_plan({"actor_rollout_ref": {}, **config(), **sections})
    assert rule in {problem.rule for problem in plan.problems}
