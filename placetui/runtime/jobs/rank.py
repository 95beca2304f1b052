"""The job and the rank that a request is about, and what is done to it: describe, stack, call, kill, restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from placetui.bridge.work import Work
from placetui.observe.model import RankState
from placetui.placement.environment import NAMESPACE, worker_name
from placetui.placement.wording import listing
from placetui.runtime import remote
from placetui.runtime.errors import NotPossible, RankFailure
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import actor_id, driver, node_task, ship_by_value, tied_to
from placetui.runtime.gcs.model import RayActor
from placetui.runtime.gcs.outages import LostLeases, guarded
from placetui.runtime.jobs import rank_spec, records
from placetui.runtime.jobs.foreign import find_any_job, refuse_foreign
from placetui.runtime.jobs.group import RankGroup, rank_handle
from placetui.runtime.jobs.rank_spec import RankSpec
from placetui.runtime.jobs.records import READY, Record
from placetui.runtime.jobs.state import NODE_LOST, JobStatus, rank_state
from placetui.runtime.policy import Deadline
from placetui.runtime.remote import rank_actor, stacks
from placetui.runtime.watch.recognition import JobWatch


@dataclass(frozen=True, slots=True)
class RankTarget:
    """One rank of a job."""

    component: str
    rank: int
    state: RankState
    actor: RayActor | None
    """None if the head knows of none."""

    def __str__(self) -> str:
        return f"{self.component}:{self.rank}"


@contextmanager
def asked_job(body: Mapping[str, Any], work: Work) -> Iterator[tuple[Head, JobStatus]]:
    """The head of the cluster and the job that a request names."""
    with closing(open_head(resolve_address(str(body["address"])))) as head:
        head.outlast_outages(work.check)
        yield head, find_any_job(head, str(body["job"]))


def describe(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """All about a job: what it was planned as, on which nodes, and how every rank is."""
    with asked_job(body, work) as (head, job):
        ids = {key: actor.id for key, actor in job.actors.items()}
        return {
            "address": head.address,
            "job": job.to_dict(),
            "plan": {} if job.foreign else records.read_plan(head, job.record),
            **_configuration(job),
            "nodes": list(job.record.nodes),
            "ranks": [{**asdict(one), "actor_id": ids.get((one.component, one.rank))} for one in job.ranks],
        }


def _configuration(job: JobStatus) -> dict[str, Any]:
    """The file of a job that placetui did not launch, as its command line names it, where that can be read here."""
    file = JobWatch().file_of(job.foreign) if job.foreign is not None else None
    if file is None:
        return {}
    overrides = [[list(path), value] for path, value in file.overrides]
    return {"configuration": {"file": file.document.source, "text": file.document.text, "overrides": overrides}}


def check_ready(job: JobStatus, what: str) -> None:
    """Refuse what only a job of ours can do whose ranks were all alive once; `what` is done to its ranks."""
    refuse_foreign(job, what)
    if job.record.state != READY:
        name = job.record.job
        raise NotPossible(f"`{name}` is incomplete", hint=f"wait until it is launched, or placetui down {name}")


def size_of(job: JobStatus, component: str) -> int:
    """How many ranks a component has; `NotPossible` if there is no such component."""
    size = job.record.groups.get(component)
    if size is None:
        known = listing(job.record.groups) or "none"
        raise NotPossible(f"`{job.record.job}` has no component `{component}`", hint=f"its components: {known}")
    return size


def target_of(job: JobStatus, body: Mapping[str, Any]) -> RankTarget:
    """The rank that a request names; `NotPossible` if there is none."""
    component, rank = str(body["component"]), int(body["rank"])
    size = size_of(job, component)
    if not 0 <= rank < size:
        raise NotPossible(f"`{component}` has no rank {rank}", hint=f"its ranks are 0 to {size - 1}")
    (state,) = [one for one in job.ranks if (one.component, one.rank) == (component, rank)]
    return RankTarget(component, rank, state, job.actors.get((component, rank)))


def current(head: Head, job: JobStatus, target: RankTarget) -> RankTarget:
    """The same rank, read again."""
    actor = head.actor(target.actor.id) if target.actor else None
    if job.foreign is None and (actor is None or actor.state == "DEAD"):
        # It may have been restarted.
        actor = head.named_actor(worker_name(target.component, target.rank, job.record.job), NAMESPACE) or actor
    living = {node.id for node in head.nodes()}
    state = rank_state(target.component, target.rank, actor, job.record, living)
    return replace(target, state=state, actor=actor)


def stack(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """The stacks of a rank: `text`, and what they were read `by`."""
    with asked_job(body, work) as (head, job):
        target = target_of(job, body)
        if target.actor is None or not target.actor.pid or target.state.state == "dead":
            raise NotPossible(f"{target} has no process: it is {target.state.state}", hint="its log may say why")
        return guarded(head, lambda: _read(head, target, work))


def _read(head: Head, target: RankTarget, work: Work) -> Mapping[str, Any]:
    assert target.actor
    with driver(head, head.nodes()) as ray:
        task = node_task(ray, stacks.read_stacks).options(**tied_to(target.actor.node))
        deadline = Deadline(work, head.policy.read_log, hint="is its node still there?")
        found: Mapping[str, Any] = deadline.result(
            ray,
            task.remote(target.actor.pid),
            f"the node of {target} does not answer",
            f"the stacks of {target} cannot be read",
        )
    if "problem" in found:
        raise NotPossible(
            f"the stacks of {target} cannot be read: {found['problem']}",
            hint="pip install py-spy on the nodes of the cluster",
        )
    return {"address": head.address, "component": target.component, "rank": target.rank, **found}


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
    ranks = [one for one in job.ranks if one.component == component]
    gone = {one.rank: f"it is dead: {one.reason}" if one.state == "dead" else "it is no longer there" for one in ranks}
    handles = [None if one.state == "dead" else rank_handle(ray, job.record.job, component, one.rank) for one in ranks]
    return RankGroup(handles, component, direct=True, gone=gone)


def kill(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """End a rank as a crash would: Ray starts it again if its `max_restarts` allows, unless `no_restart`."""
    with asked_job(body, work) as (head, job):
        check_ready(job, "killed one by one")
        target = target_of(job, body)
        if target.actor is None or target.state.state == "dead":
            raise NotPossible(f"{target} is dead already: {target.state.reason}", hint=f"restart it, or {_ANEW}")
        head.kill_actor(target.actor.id, no_restart=bool(body.get("no_restart")))
        _wait_for_end(head, job, target, Deadline(work, head.policy.stop, hint="try again"))
        return {"address": head.address, "rank": asdict(current(head, job, target).state)}


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
        return {"address": head.address, "rank": asdict(current(head, job, target).state)}


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
