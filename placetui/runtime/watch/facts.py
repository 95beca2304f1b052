"""The head's tables as the facts by which frameworks recognise their ranks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from placetui.frameworks.cluster_facts import ActorSeen, BundleSeen, ClusterFacts, GroupSeen, NodeSeen, RayJobSeen
from placetui.placement.plan import SHARE_UNITS
from placetui.runtime.gcs.driver import is_here
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode, Tables
from placetui.runtime.remote.rank_actor import RankActor


def cluster_facts(
    tables: Tables, jobs: Iterable[RayJobSeen], gpu_ids: Mapping[str, tuple[int, ...]] | None = None
) -> ClusterFacts:
    """What the tables say; `gpu_ids` by node id, the physical ids in Ray's order, where they are known."""
    return ClusterFacts(
        nodes=tuple(_node(node, (gpu_ids or {}).get(node.id, ())) for node in tables.nodes),
        # Ranks of our own are known by their records; their environment reads like RLinf's.
        actors=tuple(actor_seen(actor) for actor in tables.actors if actor.kind != RankActor.__name__),
        groups=tuple(map(_group, tables.groups)),
        jobs=tuple(jobs),
    )


def _node(node: RayNode, gpu_ids: tuple[int, ...]) -> NodeSeen:
    return NodeSeen(node.id, node.ip, node.gpus, node.labels, gpu_ids)


def actor_seen(actor: RayActor) -> ActorSeen:
    """A row of the actors' table."""
    return ActorSeen(
        id=actor.id,
        name=actor.name,
        class_name=actor.kind,
        namespace=actor.namespace,
        job=actor.job,
        node=actor.node,
        pid=actor.pid,
        state=actor.state,
        reason=actor.reason,
        cause=actor.cause,
        restarts=actor.restarts,
        started=actor.started,
        ended=actor.ended,
        group=actor.group,
        required=actor.required,
        slots={slot: units / SHARE_UNITS for slot, units in actor.slots.items()},
        environment=actor.variables,
    )


def _group(group: RayGroup) -> GroupSeen:
    bundles = tuple(BundleSeen(bundle.node, bundle.resources) for bundle in group.bundles)
    return GroupSeen(group.id, group.name, group.namespace, group.job, group.state, group.strategy, bundles)


def with_user(job: RayJobSeen) -> RayJobSeen:
    """With the user of the driver, if that runs on this machine."""
    if job.dead or not job.driver_pid or not is_here(job.driver_ip):
        return job
    from placetui.telemetry.processes import user_of

    user = user_of(job.driver_pid)
    return replace(job, user=f"{user}@{os.uname().nodename}") if user else job
