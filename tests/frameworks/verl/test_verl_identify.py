"""Actors of running verl jobs, recorded through Ray's state API, are recognised."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from placetui.frameworks.cluster_facts import ActorSeen, BundleSeen, ClusterFacts, GroupSeen, NodeSeen
from placetui.frameworks.planner import make_plan
from placetui.frameworks.recognition import recognise
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
