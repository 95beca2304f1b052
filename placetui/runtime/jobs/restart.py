"""The end of one rank, and its new start in the same needs; all others go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.work import Work
from placetui.runtime import remote
from placetui.runtime.errors import NotPossible, RankFailure
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import actor_id, driver, ship_by_value
from placetui.runtime.gcs.outages import LostLeases, guarded
from placetui.runtime.jobs import rank_spec, records
from placetui.runtime.jobs.rank import RankTarget, asked_job, check_ready, current, target_of
from placetui.runtime.jobs.rank_spec import RankSpec
from placetui.runtime.jobs.records import Record
from placetui.runtime.jobs.state import NODE_LOST, JobStatus
from placetui.runtime.policy import Deadline
from placetui.runtime.remote import rank_actor


def kill(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """End a rank as a crash would: Ray starts it again if its `max_restarts` allows, unless `no_restart`."""
    with asked_job(body, work) as (head, job):
        check_ready(job, "killed one by one")
        target = target_of(job, body)
        if target.actor is None or target.state.state == "dead":
            raise NotPossible(f"{target} is dead already: {target.state.reason}", hint=f"restart it, or {_ANEW}")
        head.kill_actor(target.actor.id, no_restart=bool(body.get("no_restart")))
        _wait_for_end(head, job, target, Deadline(work, head.policy.stop, hint="try again"))
        return {"address": head.address, "rank": current(head, job, target).state.to_dict()}


def restart(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """Restart a rank: same name, same bundle, same environment.

    Ray does it where it may, so that others who hold the actor keep it. Else the actor is made again.
    """
    with asked_job(body, work) as (head, job):
        check_ready(job, "restarted")
        target = target_of(job, body)
        if target.state.reason == NODE_LOST:
            raise NotPossible(f"{target} cannot be restarted: its node is lost", hint=_ANEW)
        deadline = Deadline(work, float(body.get("patience") or head.policy.restart), hint="its log may say why")
        if target.actor and target.actor.state == "ALIVE" and target.actor.may_restart:
            head.kill_actor(target.actor.id, no_restart=False)
            _wait_until_back(head, job, target, deadline)
        else:
            guarded(head, lambda: _make_again(head, job, target, deadline))
        return {"address": head.address, "rank": current(head, job, target).state.to_dict()}


_ANEW = "placetui down, then up"


def _wait_for_end(head: Head, job: JobStatus, target: RankTarget, deadline: Deadline) -> None:
    """Until the process that was is no more, whatever comes after it."""

    def look() -> bool | None:
        now = current(head, job, target)
        return True if now.state.state != "alive" or now.state.pid != target.state.pid else None

    deadline.until(look, lambda: f"{target} is still there")


def _wait_until_back(head: Head, job: JobStatus, target: RankTarget, deadline: Deadline) -> None:
    def look() -> bool | None:
        now = current(head, job, target).state
        if now.state == "dead":
            raise RankFailure(now.reason or "it is dead").error(target.component, target.rank)
        return True if now.state == "alive" and now.restarts > target.state.restarts else None

    deadline.until(look, lambda: f"{target} is not back")


def _make_again(head: Head, job: JobStatus, target: RankTarget, deadline: Deadline) -> None:
    record = job.record
    made = rank_spec.find(head, record, target.component, target.rank)
    if made is None:
        raise NotPossible(f"the launch data of {target} is not stored", hint=_ANEW)
    if made.hidden and target.actor:
        made = made.with_variables(head.variables_of(target.actor.id, made.hidden))
    nodes = head.nodes()
    with driver(head, nodes) as ray:
        if target.actor and target.actor.state != "DEAD":
            head.kill_actor(target.actor.id)
            _wait_for_end(head, job, target, deadline)
        actor = _start(ray, made, target)
        # Before it is there: if it fails, its reason is found by its id.
        _note(head, record, target, {"pid": None, "actor_id": actor_id(actor)})
        try:
            lost = LostLeases(head, str(ray.get_runtime_context().get_job_id()), nodes)
            greeting = _greet(ray, actor, target, deadline, lost)
            _note(head, record, target, {"pid": greeting["pid"], "actor_id": actor_id(actor)})
        except BaseException:
            head.kill_actor(actor_id(actor))
            raise


def _start(ray: Any, made: RankSpec, target: RankTarget) -> Any:
    ship_by_value(remote)
    try:
        return (
            ray.remote(rank_actor.RankActor)
            .options(**made.options())
            .remote({**made.spec, "engine": dict(made.engine)})
        )
    except Exception as problem:
        raise RankFailure.of(problem).error(target.component, target.rank) from problem


def _greet(ray: Any, actor: Any, target: RankTarget, deadline: Deadline, lost: LostLeases) -> Mapping[str, Any]:
    """Where it is, as soon as its worker is built."""
    reference = actor.begin.remote()
    for _ in deadline.gather(ray, {reference: target}, lambda _: f"{target} is not back", lost.release):
        break
    try:
        greeting: Mapping[str, Any] = ray.get(reference)
    except Exception as problem:
        raise RankFailure.of(problem).error(target.component, target.rank) from problem
    return greeting


def _note(head: Head, record: Record, target: RankTarget, news: Mapping[str, Any]) -> None:
    now = records.find(head, record.job)
    if now is None or now.uid != record.uid:
        raise records.taken_down(record.job)
    records.note_restart(head, record, target.component, target.rank, news)
