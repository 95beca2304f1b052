"""Actors of running verl jobs, recorded through Ray's state API, are recognised."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from placetui.frameworks.cluster_facts import ActorSeen, BundleSeen, ClusterFacts, GroupSeen, NodeSeen
from placetui.frameworks.planner import make_plan
from placetui.frameworks.recognition import recognise
from placetui.observe.following import PlanOutline, follow
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from tests.frameworks.live_recordings import read_of, recorded

RUNS = recorded("verl_live")["runs"]
RANKS = {
    "v1_sync_ref_critic_reward_colocated": {"actor_rollout_ref": 4, "rollout": 2, "reward_model": 2},
    "v1_separate_async_with_transfer_queue": {"actor_rollout": 2, "rollout": 4},
    "fully_async_dynamic_with_teacher": {"actor_rollout": 2, "rollout": 2, "teacher:default": 1},
    "v1_sync_sglang_replica_over_two_nodes": {"actor_rollout": 4, "rollout": 2},
}


def node_id(index: object) -> str:
    return "" if index is None else f"node{index}"


def facts_of(run: Any) -> ClusterFacts:
    groups = {group["name"]: f"{number:02x}" for number, group in enumerate(run["placement_groups"])}

    def actor(number: int, row: Any) -> ActorSeen:
        inside = row.get("inside") or {}
        group = groups.get(row["placement_group"], "")
        required = {name.replace("<group id>", group): amount for name, amount in row["required_resources"].items()}
        share = row["gpu_share"] or 0
        booked = {int(gpu): share for gpu in inside.get("gpu_ids") or ()}
        tasks = [name for name in run["task_names_of_workers"] if "WorkerDict" in row["class_name"]]
        return ActorSeen(
            f"a{number}",
            row["name"] or "",
            row["class_name"],
            "random",
            "01000000",
            node_id(row["node"]),
            100 + number,
            row["state"],
            group=group,
            required=required,
            slots=booked,
            environment=read_of(row["state_api_env_vars"]),
            tasks=tuple(tasks),
        )

    return ClusterFacts(
        tuple(NodeSeen(node_id(index), node["ip"], node["gpus"]) for index, node in enumerate(run["nodes"])),
        tuple(actor(number, row) for number, row in enumerate(run["actors"])),
        tuple(
            GroupSeen(
                groups[group["name"]],
                group["name"],
                job="01000000",
                bundles=tuple(
                    BundleSeen(node_id(group["node_of_bundle"][index]), resources)
                    for index, resources in group["bundles"].items()
                ),
            )
            for group in run["placement_groups"]
        ),
    )


def plan_of(run: Any) -> Plan:
    config: dict[str, Any] = {"trainer": {}, "actor_rollout_ref": {}}
    for override in run["command_overrides"]:
        path, _, text = override.partition("=")
        *sections, key = path.split(".")
        section = config
        for name in sections:
            section = section.setdefault(name, {})
        section[key] = int(text) if text.isdecimal() else {"True": True, "False": False}.get(text, text)
    return make_plan(config, nodes=[Node(**node) for node in run["nodes"]])


@pytest.mark.parametrize("with_plan", [True, False])
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["id"])
def test_every_recorded_actor(run: Any, with_plan: bool) -> None:
    facts = facts_of(run)
    plan = plan_of(run)
    (job,) = recognise(facts, {"01000000": plan} if with_plan else {})
    assert job.framework == "verl"
    wanted = RANKS[run["id"]]
    if not with_plan and not run["task_names_of_workers"]:  # nothing tells the roles
        wanted = {name.replace("actor_rollout_ref", "actor_rollout"): size for name, size in wanted.items()}
    assert job.world_sizes == wanted
    assert len(job.actors) == len(facts.actors)
    for one in job.ranks:
        row = run["actors"][int(one.actor[1:])]
        visible = row["inside"]["env"]["CUDA_VISIBLE_DEVICES"]
        assert (one.devices, one.device_from) == (tuple(map(int, visible.split(","))), "ray")
        if "WorkerDict" in row["class_name"]:
            assert one.rank == int(row["state_api_env_vars"]["RANK"])
        else:
            assert re.search(rf"_{one.rank}_0(_|$)|_0_{one.rank}$", row["name"])


def test_the_plan_says_where_they_are() -> None:
    """Where Ray has no choice of nodes, a running job is where it was drawn."""
    run = RUNS[0]
    plan = plan_of(run)
    (job,) = recognise(facts_of(run), {"01000000": plan})
    for one in job.ranks:
        placement = plan.components[one.component].placements[one.rank]
        assert placement.node_fixed
        assert job.actors[one.actor].node == f"node{placement.cluster_node_rank}"
        assert one.devices == placement.devices


def test_ranks_are_found_without_an_environment_too() -> None:
    facts = facts_of(RUNS[3])
    bare = [replace(actor, environment={}) for actor in facts.actors]
    (job,) = recognise(replace(facts, actors=tuple(bare)))
    assert {one.rank for one in job.ranks if one.component == "actor_rollout"} == {0, 1, 2, 3}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["id"])
def test_an_actor_that_is_missing_or_dead_moves_no_other(run: Any) -> None:
    facts, plans = facts_of(run), {"01000000": plan_of(run)}
    (whole,) = recognise(facts, plans)
    expected = {one.actor: (one.component, one.rank, set(one.devices)) for one in (*whole.ranks, *whole.services)}
    for number, lost in enumerate(facts.actors):
        dead = replace(lost, state="DEAD", node="", slots={})
        for actor in ((), (dead,)):
            actors = (*facts.actors[:number], *actor, *facts.actors[number + 1 :])
            (job,) = recognise(replace(facts, actors=actors), plans)
            for one in (*job.ranks, *job.services):
                component, rank, devices = expected[one.actor]
                assert (one.component, one.rank) == (component, rank)
                assert set(one.devices) <= devices


def test_two_jobs_have_the_same_names_and_are_two() -> None:
    facts = facts_of(RUNS[2])
    other = [replace(one, id=f"b{one.id}", job="02000000", group=one.group and f"b{one.group}") for one in facts.actors]
    groups = [replace(one, id=f"b{one.id}", job="02000000") for one in facts.groups]
    jobs = recognise(replace(facts, actors=(*facts.actors, *other), groups=(*facts.groups, *groups)))
    assert [job.world_sizes for job in jobs] == [RANKS[RUNS[2]["id"]]] * 2
    assert [{one.job for one in job.ranks} for job in jobs] == [{"01000000"}, {"02000000"}]


def worker(name: str, rank: int, size: int, group: str = "", share: float = 1.0, kind: str = "WorkerDict") -> ActorSeen:
    """Rank of a worker group on the only node, with the GPU of its number."""
    return ActorSeen(
        f"{name}{rank}",
        f"{name}{kind}_0:{rank}",
        f"create_colocated_worker_cls.<locals>.{kind}" if kind == "WorkerDict" else kind,
        job="01",
        node="n",
        group=group,
        required={f"GPU_group_{rank}_{group}": share},
        slots={rank: share},
        environment={"RANK": str(rank), "WORLD_SIZE": str(size), "WG_PREFIX": name},
    )


def facts_with(pools: dict[str, str], *actors: ActorSeen) -> ClusterFacts:
    """One node; `pools` are names of pools by the id of their group."""
    groups = tuple(GroupSeen(one, f"{pool}verl_group_2:0", job="01") for one, pool in pools.items())
    return ClusterFacts((NodeSeen("n", "10.0.0.1", 8),), actors, groups)


def found(facts: ClusterFacts) -> dict[str, tuple[str, int, bool, tuple[int, ...]]]:
    (job,) = recognise(facts)
    return {one.actor: (one.component, one.rank, one.service, one.devices) for one in (*job.ranks, *job.services)}


def test_pools_of_their_own_are_components_of_their_own() -> None:
    """verl's example of split placement: the critic has the other half of the GPUs."""
    halves = [worker(name, rank, 2, group) for name, group in (("aaaaaa", "a1"), ("bbbbbb", "b2")) for rank in (0, 1)]
    seen = found(facts_with({"a1": "actor_rollout_ref_pool", "b2": "critic_pool"}, *halves))
    assert [one[:3] for one in seen.values()] == [
        ("actor_rollout", 0, False),
        ("actor_rollout", 1, False),
        ("critic", 0, False),
        ("critic", 1, False),
    ]


def test_servers_of_older_releases_are_ranks() -> None:
    """Up to 0.5 they are called otherwise; up to 0.7.0 other classes hold the GPUs of a replica."""
    fused = [worker("aaaaaa", rank, 4, "a1") for rank in range(4)]
    servers = [
        ActorSeen(f"s{number}", f"async_llm_server_{number}", "AsyncvLLMServer", job="01", node="n")
        for number in range(2)
    ]
    center = ActorSeen("c", "aaaaaa_register_center", "WorkerGroupRegisterCenter", job="01", node="n")
    seen = found(facts_with({"a1": "global_pool"}, *fused, *servers, center))
    assert (seen["s0"], seen["s1"]) == (("rollout", 0, False, (0, 1)), ("rollout", 1, False, (2, 3)))
    assert seen["aaaaaa3"] == ("actor_rollout", 3, False, (3,))
    assert seen["c"][2]
    held = [worker("rollout_standalone_0", rank, 2, "b2", kind="vLLMAsyncRollout") for rank in (0, 1)]
    server = ActorSeen("s", "vllm_server_0_0", "vLLMHttpServer", job="01", node="n")
    seen = found(facts_with({"b2": "rollout_pool_0"}, *held, server))
    assert seen["s"] == ("rollout", 0, False, (0, 1))
    assert seen["rollout_standalone_01"][:3] == ("rollout worker", 0, True)


def test_a_job_that_lost_a_worker_of_a_replica_is_degraded() -> None:
    held = [worker("rollout_standalone_0", rank, 2, "b2", kind="CheckpointEngineWorker") for rank in (0, 1)]
    server = ActorSeen("s", "vllm_server_0_0", "vLLMHttpServer", job="01", node="n")
    facts = facts_with({"b2": "rollout_pool_0"}, *held, server)
    assert recognise(facts)[0].phase == "running"
    lost = replace(held[1], state="DEAD", slots={})
    (job,) = recognise(replace(facts, actors=(held[0], lost, server)))
    assert (job.phase, [one.note for one in job.lost_services]) == ("degraded", ["worker 1 of replica 0 of rollout"])
    (job,) = recognise(replace(facts, actors=(held[0], lost, replace(held[1], id="new"), server)))
    assert job.phase == "running"


def test_sizes_of_prefill_and_decode_are_not_invented() -> None:
    fused = [worker("aaaaaa", rank, 8, "a1", 0.3333) for rank in range(8)]
    names = ["sglang_server_0_0", "sglang_server_decode_0_0", "sglang_server_decode_0_1"]
    servers = [ActorSeen(name, name, "SGLangHttpServer", job="01", node="n") for name in names]
    seen = found(facts_with({"a1": "global_pool"}, *fused, *servers))
    assert [seen[name] for name in names] == [("rollout", rank, False, ()) for rank in range(3)]


@pytest.mark.parametrize("planned", ["actor_rollout_ref", "actor_rollout", "actor"])
def test_the_file_says_what_training_is_called(planned: str) -> None:
    fused = [worker("aaaaaa", rank, 2, "a1") for rank in range(2)]
    (job,) = recognise(facts_with({"a1": "global_pool"}, *fused))
    followed, note = follow([job], PlanOutline("verl", {planned: 2, "rollout": 1}))
    assert followed is not None
    assert (dict(followed.world_sizes), note) == ({planned: 2}, "")
    assert follow([job], PlanOutline("verl", {"trainer": 2}))[0] is None
