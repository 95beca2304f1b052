"""Places that verl leaves to Ray: not fixed in a plan, fixed once the job runs, and drift when a rank moves then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from placetui.frameworks.planner import make_plan
from placetui.observe.drift import drift
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, RankState
from placetui.observe.settled import SettledPlan
from placetui.placement.plan import Plan
from placetui.placement.topology import Node


def plan_of(nodes: int = 1) -> Plan:
    """Two ranks of training, which one replica serves too, on nodes of four GPUs."""
    return make_plan(
        {
            "trainer": {"nnodes": 1, "n_gpus_per_node": 2},
            "algorithm": {"adv_estimator": "grpo"},
            "actor_rollout_ref": {"rollout": {"name": "vllm"}},
        },
        nodes=[Node(4)] * nodes,
    )


def seen(
    gpus: tuple[int, int], *, node: int = 0, nodes: int = 1, job: str = "ppo", dead: int | None = None
) -> Observation:
    """The job with its two ranks on these GPUs."""

    def claims(index: int, here: int) -> tuple[Claim, ...]:
        if here != node or index not in gpus:
            return ()
        rank = gpus.index(index)
        owners = [("actor_rollout", rank)] * (rank != dead) + [("rollout", 0)]
        return tuple(Claim("a", "a", 7, name, number, job, 0.3333, framework="verl") for name, number in owners)

    samples = [
        NodeSample(
            here, f"node{here}", devices=tuple(DeviceSample(index, claims=claims(index, here)) for index in range(4))
        )
        for here in range(nodes)
    ]
    states = tuple(
        RankState("actor_rollout", rank, "dead" if rank == dead else "alive", node=node) for rank in range(2)
    )
    server = (RankState("rollout", 0, "alive", node=node),)
    return Observation(1.0, "ray", tuple(samples), {"actor_rollout": states, "rollout": server}, job)


def test_a_followed_job_is_drawn_where_it_runs() -> None:
    settled = SettledPlan(plan_of())
    plan = settled.update(seen((3, 1)))
    actor, rollout = plan.components["actor_rollout"], plan.components["rollout"]
    assert [one.devices for one in actor.placements] == [(3,), (1,)]
    assert rollout.placements[0].devices == (1, 3)
    assert (actor.not_fixed, rollout.not_fixed) == ("", "")
    assert drift(plan, seen((3, 1))) == ()
    assert settled.update(seen((3, 1))) is plan


def test_what_was_seen_once_is_compared_with() -> None:
    settled = SettledPlan(plan_of())
    settled.update(seen((0, 1)))
    dead = settled.update(seen((0, 1), dead=1))
    assert [(one.kind, one.device) for one in drift(dead, seen((0, 1), dead=1))] == [("dead_rank", 1)]
    moved = settled.update(seen((0, 2)))
    assert ("wrong_device", "actor_rollout", 1) in [
        (one.kind, one.component, one.rank) for one in drift(moved, seen((0, 2)))
    ]
    again = settled.update(seen((0, 2), job="another"))
    assert drift(again, seen((0, 2), job="another")) == ()


@pytest.mark.parametrize("job_runs", [True, False])
def test_a_node_that_ray_chooses_is_taken_over_too(job_runs: bool) -> None:
    plan = plan_of(nodes=2)
    assert plan.components["rollout"].not_fixed == "nodes"
    observation = seen((0, 1), node=1, nodes=2)
    after = SettledPlan(plan).update(observation if job_runs else replace(observation, ranks={}))
    assert [one.cluster_node_rank for one in after.components["actor_rollout"].placements] == [1 if job_runs else 0] * 2
    assert (drift(after, observation) == ()) == job_runs
