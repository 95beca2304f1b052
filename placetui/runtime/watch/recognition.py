"""`JobWatch`: the jobs of a cluster that a framework recognises, each with the plan of its own configuration."""

from __future__ import annotations

import time
from collections.abc import Callable

from placetui.document.running import RunningFile, read_configuration
from placetui.frameworks.base import Framework
from placetui.frameworks.cluster_facts import ActorSeen, ClusterFacts, NodeOrderError
from placetui.frameworks.recognition import RecognisedJob, recognise
from placetui.frameworks.registry import framework
from placetui.placement.plan import Plan
from placetui.placement.problems import PlacementError
from placetui.placement.topology import Node

RETRY = 30.0
"""Seconds until a configuration that could not be read is looked for again."""


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
