"""A method called on all ranks of a component, with every answer told as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.work import Work
from placetui.placement.environment import NAMESPACE, worker_name
from placetui.runtime.errors import RankFailure
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver
from placetui.runtime.gcs.outages import guarded
from placetui.runtime.jobs.group import RankGroup
from placetui.runtime.jobs.rank import asked_job, check_ready, size_of
from placetui.runtime.jobs.state import JobStatus


def call(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """Call `method` of every worker of `component`, with `args`: a list, or a mapping of names.

    What has not answered within `deadline` seconds is named, and keeps running.
    """
    with asked_job(body, work) as (head, job):
        check_ready(job, "called")
        size_of(job, str(body["component"]))
        return guarded(head, lambda: _call(head, job, body, work))


def _call(head: Head, job: JobStatus, body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    component, given = str(body["component"]), body.get("args") or []
    args, kwargs = ([], given) if isinstance(given, Mapping) else (given, {})
    results: dict[int, Any] = {}
    failed: dict[int, str] = {}
    with driver(head, head.nodes()) as ray:
        pending = _group(ray, job, component).begin("answer", str(body["method"]), list(args), dict(kwargs))
        for rank, outcome in pending.as_completed(float(body.get("patience") or head.policy.answer), work.check):
            if isinstance(outcome, RankFailure):
                outcome = {"error": outcome.reason, "traceback": list(outcome.traceback)}
            if "error" in outcome:
                failed[rank] = str(outcome["error"])
            else:
                results[rank] = outcome["value"]
            work.report(step="result", component=component, rank=rank, **outcome)
        answers = {"results": _by_rank(results), "failed": _by_rank(failed), "waiting": pending.waiting}
        return {"address": head.address, **answers}


def _by_rank(found: Mapping[int, Any]) -> dict[str, Any]:
    """As JSON has it, in the order of ranks: answers come in any order."""
    return {str(rank): found[rank] for rank in sorted(found)}


def _group(ray: Any, job: JobStatus, component: str) -> RankGroup:
    handles: list[Any | None] = []
    gone: dict[int, str] = {}
    for one in job.ranks:
        if one.component != component:
            continue
        handle = None
        if one.state == "dead":
            gone[one.rank] = f"it is dead: {one.reason}"
        else:
            try:
                handle = ray.get_actor(worker_name(component, one.rank, job.record.job), namespace=NAMESPACE)
            except ValueError:
                gone[one.rank] = "it is no longer there"
        handles.append(handle)
    return RankGroup(handles, component, direct=True, gone=gone)
