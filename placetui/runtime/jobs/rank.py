"""The job and the rank that a request is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from placetui.bridge.work import Work
from placetui.observe.model import RankState
from placetui.placement.environment import NAMESPACE, worker_name
from placetui.placement.wording import listing
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayActor
from placetui.runtime.jobs import records
from placetui.runtime.jobs.foreign import find_any_job, refuse_foreign
from placetui.runtime.jobs.records import READY
from placetui.runtime.jobs.state import JobStatus, rank_state
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
    """All about a job: what it was planned as, where it is, and how every rank is."""
    with asked_job(body, work) as (head, job):
        living = {node.id: node.ip for node in head.nodes()}
        record = job.record if job.foreign else records.read_details(head, job.record)
        placed = {(one["component"], one["rank"]): one for one in record.ranks}
        return {
            "address": head.address,
            "job": job.to_dict(),
            "plan": record.plan,
            **_configuration(job),
            "nodes": [{**node, "alive": node.get("node_id") in living} for node in record.nodes],
            "ranks": [_describe(one, job, placed.get((one.component, one.rank), {}), living) for one in job.ranks],
        }


def _configuration(job: JobStatus) -> dict[str, Any]:
    """The file of a job that placetui did not launch, as its command line names it, where that can be read here."""
    file = JobWatch().file_of(job.foreign) if job.foreign is not None else None
    if file is None:
        return {}
    overrides = [[list(path), value] for path, value in file.overrides]
    return {"configuration": {"file": file.document.source, "text": file.document.text, "overrides": overrides}}


def _describe(one: RankState, job: JobStatus, placed: Mapping[str, Any], ips: Mapping[str, str]) -> dict[str, Any]:
    """The state of a rank, and where it was put; `ips` by node id."""
    actor = job.actors.get((one.component, one.rank))
    if job.foreign and (seen := job.foreign.by_rank.get((one.component, one.rank))):
        share = job.foreign.actors[seen.actor].share
        placed = {"node": ips.get(actor.node) if actor else None, "share": share}
        placed |= {"gpu_ids": [str(device) for device in seen.devices], "node_rank": seen.node_rank}
    return {
        **one.to_dict(),
        "node": one.node if one.node is not None else placed.get("node_rank"),
        "ip": placed.get("node"),
        "gpu_ids": placed.get("gpu_ids"),
        "share": placed.get("share"),
        "actor_id": actor.id if actor else placed.get("actor_id"),
    }


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
