"""Jobs of a cluster that a framework recognises in the head's tables, each with the plan of its own configuration."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from placetui.document.running import RunningFile, read_configuration
from placetui.frameworks.base import Framework
from placetui.frameworks.cluster_facts import ActorSeen, ClusterFacts, NodeOrderError, NodeSeen, RayJobSeen
from placetui.frameworks.recognition import RecognisedJob, recognise
from placetui.frameworks.registry import framework
from placetui.placement.plan import Plan
from placetui.placement.problems import PlacementError
from placetui.placement.topology import Node
from placetui.runtime.gcs.driver import is_here
from placetui.runtime.gcs.model import Tables
from placetui.runtime.remote.rank_actor import RankActor

RETRY = 30.0
"""Seconds until a configuration that could not be read is looked for again."""


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


class JobWatch:
    """Recognises jobs again and again; what a job's command line names is read once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files: dict[str, tuple[float, RunningFile | None]] = {}
        """By Ray job id: when it was looked for, and what was found."""

    def recognise(self, facts: ClusterFacts) -> tuple[RecognisedJob, ...]:
        """The jobs that are known, running and ended ones."""
        found = recognise(facts)
        plans = {one.job.id: plan for one in found if (plan := self._plan(one, facts)) is not None}
        return recognise(facts, plans) if plans else found

    def file_of(self, job: RecognisedJob) -> RunningFile | None:
        """The configuration of a job, where its command line names one that can be read here."""
        now = self._clock()
        asked, known = self._files.get(job.job.id, (-RETRY, None))
        if known is None and now - asked >= RETRY:
            # Managers have less in theirs than workers.
            environment = max((row.environment for row in job.actors.values()), key=len, default={})
            try:
                said = framework(job.framework).configuration(job.job, environment)
                known = read_configuration(said, job.name) if said is not None else None
            except (ValueError, OSError):
                known = None
            self._files[job.job.id] = now, known
        return known

    def _plan(self, job: RecognisedJob, facts: ClusterFacts) -> Plan | None:
        file = self.file_of(job)
        if file is None:
            return None
        chosen = framework(job.framework)
        try:
            plan = file.plan(chosen, _nodes(chosen, job, facts))
            # A node may have more GPUs than can be seen from here. The file still tells which component is which.
            if any(problem.blocking for problem in plan.problems):
                plan = max(plan, file.plan(chosen), key=lambda one: len(one.components))
            return plan
        except (PlacementError, ValueError):
            return None


def _nodes(chosen: Framework, job: RecognisedJob, facts: ClusterFacts) -> tuple[Node, ...] | None:
    """The nodes in the framework's order, with as many GPUs as it counts there."""
    driver = next((node.id for node in facts.nodes if node.ip and node.ip == job.job.driver_ip), "")
    try:
        order = job.order_nodes(chosen.order_nodes(facts.nodes, driver, {}).ids)
    except NodeOrderError:
        return None
    gpus = {node.id: node.gpus for node in facts.nodes}
    if chosen.device_order == "physical_id":
        gpus = {node.id: max(node.gpus, 1 + max(node.gpu_ids, default=-1)) for node in facts.nodes}
        for row in job.actors.values():
            if row.node in gpus:
                gpus[row.node] = max(gpus[row.node], 1 + max(_visible(row), default=-1))
    return tuple(Node(gpus[one], ip=facts.node_by_id[one].ip) for one in order) or None


def _visible(actor: ActorSeen) -> list[int]:
    """Physical ids of the GPUs that an actor sees: all of its node, if it is placed on the node as a whole."""
    return [int(word) for word in actor.environment.get("VISIBLE_DEVICES", "").split(",") if word.isdecimal()]
