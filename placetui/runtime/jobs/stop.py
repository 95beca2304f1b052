"""Ending a job, all of it. One that placetui did not launch ends with its submission, or with its driver."""

from __future__ import annotations

import time
from typing import Any

from placetui import masking
from placetui.bridge.work import Work
from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.observe.operations import may_still_run
from placetui.placement.environment import NAMESPACE
from placetui.placement.wording import count
from placetui.runtime.errors import ClusterError, NotPossible
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver, node_task, ship_by_value, tied_to
from placetui.runtime.gcs.model import RayGroup, RayNode
from placetui.runtime.gcs.outages import guarded
from placetui.runtime.jobs import records
from placetui.runtime.jobs.foreign import find_any_job
from placetui.runtime.jobs.records import Record
from placetui.runtime.jobs.state import JobStatus, group_of, job_actors, names_of, no_such_job, with_silent_nodes
from placetui.runtime.policy import Deadline
from placetui.runtime.remote import end_driver

_SUPERVISOR, _SUPERVISORS = "_ray_internal_job_actor_{id}", "SUPERVISOR_ACTOR_RAY_NAMESPACE"
"""Name and namespace of the actor by which Ray Jobs run a submission: ending a submission is a call to it."""


def stop(head: Head, job: str, *, record: Record | None = None) -> dict[str, Any]:
    """End a job: its actors, restarting ones too, then its group, then its record. A head that does not answer is
    waited for. With a `record`, only if the job still is this one.
    """
    records.check_name(job)
    head.outlast_outages()
    current = records.find(head, job)
    if record is not None and current is not None and current.uid != record.uid:
        # Somebody else stopped it and has the name now.
        records.forget(head, record)
        return {"actors": 0, "groups": 0}
    if current is not None and current.uid:
        records.set_stopping(head, current)
    stopping = _Stopping(head, job, record or current)
    while not stopping.is_over():
        stopping.end_what_is_left()
        time.sleep(head.policy.poll)
    if record or current:
        records.forget(head, record or current)  # type: ignore[arg-type]
    else:
        records.forget_leftovers(head, job)
        if not stopping.killed and not stopping.removed:
            raise no_such_job(job)
    return {"actors": len(stopping.killed), "groups": len(stopping.removed)}


class _Stopping:
    """The end of a job under way."""

    def __init__(self, head: Head, job: str, record: Record | None) -> None:
        self._head = head
        self._job = job
        rows = job_actors(head, record) if record else ()
        self._ids = {actor.name: actor.id for actor in rows if actor.state != "DEAD"}
        self._names: list[str] = []
        self._group: RayGroup | None = None
        self.killed: dict[str, float] = {}
        """By name of an actor, when."""

        self.removed: set[str] = set()
        self._end = time.monotonic() + head.policy.stop
        """For the last one that was killed."""

        self._settle_by = time.monotonic() + head.policy.settle

    def is_over(self) -> bool:
        self._names = names_of(self._head, self._job)
        self._group = group_of(self._head, self._job)
        return not self._names and self._group is None

    def end_what_is_left(self) -> None:
        """Kill and remove, and once more what is still there after a while."""
        policy = self._head.policy
        if time.monotonic() > self._end:
            left = f"{count(len(self._names), 'actor')} and {count(int(self._group is not None), 'placement group')}"
            raise ClusterError(f"{left} of `{self._job}` are still there after {policy.stop:g} s", hint="try again")
        for name in self._names:
            before = self.killed.get(name)
            if before is not None and time.monotonic() < before + policy.kill_again:
                continue
            # After a while it may be another actor that has the name.
            actor = self._ids.pop(name, "") or getattr(self._head.named_actor(name, NAMESPACE), "id", "")
            if actor:
                self._head.kill_actor(actor)
                self.killed[name] = time.monotonic()
                self._end = self._end if before else time.monotonic() + policy.stop
        if self._group and (self._group.settled or time.monotonic() > self._settle_by):
            self._head.remove_group(self._group.id)
            self.removed.add(self._group.id)


def stop_any(head: Head, name: str, work: Work) -> dict[str, Any]:
    """End a job, and say what may still run: `silent` has the nodes that do not answer, and the ranks there."""
    try:
        found = find_any_job(head, name)
    except NotPossible:
        # Something may be left under a name that no job has.
        return {**stop(head, name), "silent": []}
    (job,) = with_silent_nodes([found], head.nodes(), head.policy)
    silent = [{"node": ip, "ranks": job.ranks_by_node.get(node, [])} for node, ip in job.silent_nodes.items()]
    try:
        ended = stop(head, name) if job.foreign is None else guarded(head, lambda: _stop_foreign(head, job, work))
    except ClusterError as problem:
        if not silent:
            raise
        raise ClusterError("; ".join([problem.message, *may_still_run(silent)]), hint=problem.hint) from problem
    return {**ended, "silent": silent}


def _stop_foreign(head: Head, job: JobStatus, work: Work) -> dict[str, Any]:
    assert job.foreign is not None
    seen = job.foreign.job
    if not job.runs:
        raise NotPossible(f"`{job.record.job}` has ended already")
    living = _living(head, seen.id)
    # A process may have to start on the node first.
    deadline = Deadline(work, head.policy.read_log + head.policy.stop, hint="try again")
    with driver(head, head.nodes()) as ray:
        supervisor = _SUPERVISOR.format(id=seen.submission)
        if seen.submission and head.named_actor(supervisor, _SUPERVISORS):
            by = "submission"
            _ended(ray, ray.get_actor(supervisor, namespace=_SUPERVISORS).stop.remote(), deadline, "its submission")
        else:
            by = "driver"
            _end_driver(ray, head, seen, deadline)
        deadline.until(lambda: None if _living(head, seen.id) else True, lambda: f"{job.record.job} is still there")
    left = [row.title for row in head.actors(job=seen.id) if row.detached and row.state != "DEAD"]
    return {"actors": len(living), "groups": 0, "ended": by, "left": left}


def _living(head: Head, job: str) -> list[str]:
    """Actors of a job that end with its driver, and are not dead."""
    return [row.id for row in head.actors(job=job) if row.state != "DEAD" and not row.detached]


def _end_driver(ray: Any, head: Head, job: RayJobSeen, deadline: Deadline) -> None:
    node = driver_node(head, job)
    ship_by_value(masking)
    task = node_task(ray, end_driver.end_driver).options(**tied_to(node.id))
    asked = task.remote(job.driver_pid, job.entrypoint, masking.mask_words)
    if problem := _ended(ray, asked, deadline, "the node of its driver"):
        raise NotPossible(
            f"the driver of {job.title}, pid {job.driver_pid} on {job.driver_ip}, was not ended: {problem}",
            hint="end it where it was started",
        )


def driver_node(head: Head, job: RayJobSeen) -> RayNode:
    """The node on which the driver of a job runs; `NotPossible` if the cluster does not have it."""
    found = [node for node in head.nodes() if node.ip == job.driver_ip]
    if not found:
        raise NotPossible(f"the driver of {job.title} runs on {job.driver_ip}, which is no node of the cluster")
    return found[0]


def _ended(ray: Any, reference: Any, deadline: Deadline, whom: str) -> Any:
    return deadline.result(ray, reference, f"{whom} does not answer", f"{whom} cannot be ended")
