"""The head's tables as the facts by which frameworks recognise their ranks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from placetui.frameworks.cluster_facts import ClusterFacts, NodeSeen, RayJobSeen
from placetui.runtime.gcs.driver import is_here
from placetui.runtime.gcs.model import Tables
from placetui.runtime.remote.rank_actor import RankActor


def cluster_facts(
    tables: Tables, jobs: Iterable[RayJobSeen], gpu_ids: Mapping[str, tuple[int, ...]] | None = None
) -> ClusterFacts:
    """What the tables say; `gpu_ids` by node id, the physical ids in Ray's order, where they are known."""
    return ClusterFacts(
        nodes=tuple(
            NodeSeen(node.id, node.ip, node.gpus, node.labels, (gpu_ids or {}).get(node.id, ()))
            for node in tables.nodes
        ),
        # Ranks of our own are known by their records; their environment reads like RLinf's.
        actors=tuple(actor for actor in tables.actors if actor.class_name != RankActor.__name__),
        groups=tables.groups,
        jobs=tuple(jobs),
    )


def with_user(job: RayJobSeen) -> RayJobSeen:
    """With the user of the driver, if that runs on this machine."""
    if job.dead or not job.driver_pid or not is_here(job.driver_ip):
        return job
    from placetui.telemetry.processes import user_of

    user = user_of(job.driver_pid)
    return replace(job, user=f"{user}@{os.uname().nodename}") if user else job
