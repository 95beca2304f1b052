"""Ending any job of the cluster. One that placetui did not launch ends with its submission, or with its driver."""

from __future__ import annotations

from typing import Any

from placetui import masking
from placetui.bridge.work import Work
from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.observe.operations import may_still_run
from placetui.runtime import remote
from placetui.runtime.errors import ClusterError, NotPossible, explain
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver, ship_by_value
from placetui.runtime.gcs.guard import guarded
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.jobs.foreign import find_any_job
from placetui.runtime.jobs.state import JobStatus, with_silent_nodes
from placetui.runtime.jobs.stop import stop
from placetui.runtime.policy import Deadline
from placetui.runtime.remote import end_driver

_SUPERVISOR, _SUPERVISORS = "_ray_internal_job_actor_{id}", "SUPERVISOR_ACTOR_RAY_NAMESPACE"
"""Name and namespace of the actor by which Ray Jobs run a submission: ending a submission is a call to it."""


def stop_any(head: Head, name: str, work: Work) -> dict[str, Any]:
    """End a job, and say what may still run: `silent` has the nodes that do not answer, and the ranks there.

    Raises:
        NotPossible: there is no such job, or it cannot be ended from here.
    """
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
    deadline = Deadline(work, head.policy.read_log + head.policy.stop, hint="try again", policy=head.policy)
    with driver(head, head.nodes()) as ray:
        supervisor = _SUPERVISOR.format(id=seen.submission)
        if seen.submission and head.named_actor(supervisor, _SUPERVISORS):
            by = "submission"
            _wait_for(ray, ray.get_actor(supervisor, namespace=_SUPERVISORS).stop.remote(), deadline, "its submission")
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
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = driver_node(head, job)
    ship_by_value(remote, masking)
    strategy = NodeAffinitySchedulingStrategy(node.id, soft=False)
    task = ray.remote(num_cpus=0, max_retries=0)(end_driver.end_driver).options(scheduling_strategy=strategy)
    problem = _wait_for(
        ray, task.remote(job.driver_pid, job.entrypoint, masking.mask_words), deadline, "the node of its driver"
    )
    if problem:
        raise NotPossible(
            f"the driver of {job.title}, pid {job.driver_pid} on {job.driver_ip}, was not ended: {problem}",
            hint="end it where it was started",
        )


def driver_node(head: Head, job: RayJobSeen) -> RayNode:
    """The node on which the driver of a job runs.

    Raises:
        NotPossible: the cluster does not have it.
    """
    found = [node for node in head.nodes() if node.ip == job.driver_ip]
    if not found:
        raise NotPossible(f"the driver of {job.title} runs on {job.driver_ip}, which is no node of the cluster")
    return found[0]


def _wait_for(ray: Any, reference: Any, deadline: Deadline, whom: str) -> Any:
    for _ in deadline.gather(ray, {reference: None}, lambda _: f"{whom} does not answer"):
        break
    try:
        return ray.get(reference)
    except Exception as problem:
        raise ClusterError(f"{whom} cannot be ended: {explain(problem)}") from problem
