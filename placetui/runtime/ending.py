"""The end of one rank, and its new start in the same seat; all others go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from placetui.bridge.work import Work
from placetui.runtime import making, private, records, shell
from placetui.runtime.connect import driver
from placetui.runtime.errors import ClusterError, Refused, first_line
from placetui.runtime.guard import guarded
from placetui.runtime.jobs import NODE_LOST, Job
from placetui.runtime.launch import failed_rank
from placetui.runtime.making import Making
from placetui.runtime.private import Head
from placetui.runtime.targets import Target, asked_job, check_ready, current, target_of
from placetui.runtime.waiting import Patience

KILL_PATIENCE = 15.0
"""Seconds until a rank that was killed must be gone."""

RESTART_PATIENCE = 120.0
"""Seconds until a rank must be back, its worker's constructor included, unless asked otherwise."""


def kill(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """End a rank as a crash would: Ray starts it again if its `max_restarts` allows, unless `no_restart`."""
    with asked_job(body) as (head, job):
        check_ready(job)
        target = target_of(job, body)
        if target.actor is None or target.state.state == "dead":
            raise Refused(f"{target} is dead already: {target.state.reason}", hint=f"restart it, or {_ANEW}")
        head.kill_actor(target.actor.id, no_restart=bool(body.get("no_restart")))
        _wait_for_end(head, job, target, Patience(work, KILL_PATIENCE, hint="try again"))
        return {"address": head.address, "rank": current(head, job, target).state.to_dict()}


def restart(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """Start a rank anew: same name, same bundle, same environment.

    Ray does it where it may, so that others who hold the actor keep it. Else the actor is made again.
    """
    with asked_job(body) as (head, job):
        check_ready(job)
        target = target_of(job, body)
        if target.state.reason == NODE_LOST:
            raise Refused(f"{target} cannot come back: its node is lost", hint=_ANEW)
        patience = Patience(work, float(body.get("patience") or RESTART_PATIENCE), hint="its log may say why")
        if target.actor and target.actor.state == "ALIVE" and target.actor.may_restart:
            head.kill_actor(target.actor.id, no_restart=False)
            _wait_until_back(head, job, target, patience)
        else:
            guarded(head, lambda: _make_again(head, job, target, patience))
        return {"address": head.address, "rank": current(head, job, target).state.to_dict()}


_ANEW = "placetui down, then up"


def _wait_for_end(head: Head, job: Job, target: Target, patience: Patience) -> None:
    """Until the process that was is no more, whatever comes after it."""

    def look() -> bool | None:
        now = current(head, job, target)
        return True if now.state.state != "alive" or now.state.pid != target.state.pid else None

    patience.until(look, lambda: f"{target} is still there")


def _wait_until_back(head: Head, job: Job, target: Target, patience: Patience) -> None:
    def look() -> bool | None:
        now = current(head, job, target).state
        if now.state == "dead":
            raise failed_rank(target.component, target.rank, now.reason or "it is dead")
        return True if now.state == "alive" and now.restarts > target.state.restarts else None

    patience.until(look, lambda: f"{target} is not back")


def _make_again(head: Head, job: Job, target: Target, patience: Patience) -> None:
    record = job.record
    made = making.find(head, record.job, record.uid, target.component, target.rank)
    if made is None:
        raise Refused(f"nothing was kept of what {target} is made from", hint=_ANEW)
    with driver(head, head.nodes()) as ray:
        if target.actor and target.actor.state != "DEAD":
            head.kill_actor(target.actor.id)
            _wait_for_end(head, job, target, patience)
        actor = _start(ray, made, target)
        try:
            greeting = _greet(ray, actor, target, patience)
            _note(head, record.job, target, {"pid": greeting["pid"], "actor_id": private.actor_id(actor)})
        except BaseException:
            head.kill_actor(private.actor_id(actor))
            raise


def _start(ray: Any, made: Making, target: Target) -> Any:
    private.ship_by_value(shell, private)
    try:
        return ray.remote(shell.Shell).options(**made.options()).remote({**made.spec, "engine": dict(made.engine)})
    except Exception as problem:
        raise failed_rank(target.component, target.rank, first_line(problem)) from problem


def _greet(ray: Any, actor: Any, target: Target, patience: Patience) -> Mapping[str, Any]:
    """Where it is, as soon as its worker is built."""
    reference = actor.begin.remote()
    for _ in patience.gather(ray, {reference: target}, lambda _: f"{target} is not back"):
        break
    try:
        greeting: Mapping[str, Any] = ray.get(reference)
    except Exception as problem:
        lines = [line for line in str(problem).splitlines() if line.strip()] or [first_line(problem)]
        raise failed_rank(target.component, target.rank, lines[-1].strip(), lines[-shell.LAST_LINES :]) from problem
    return greeting


def _note(head: Head, job: str, target: Target, news: Mapping[str, Any]) -> None:
    """Write down where the rank is now."""
    record = records.find(head, job)
    if record is None:
        raise ClusterError(f"the job `{job}` was taken down by somebody else meanwhile")
    ranks = [
        {**one, **news} if (one["component"], one["rank"]) == (target.component, target.rank) else one
        for one in record.ranks
    ]
    records.update(head, replace(record, ranks=tuple(ranks)))
