"""The job and the rank that a request is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from placetui.bridge.work import Work
from placetui.observe.model import RankState
from placetui.placement.problems import listing
from placetui.runtime import jobs
from placetui.runtime.connect import open_head, resolve_address
from placetui.runtime.errors import Refused
from placetui.runtime.jobs import Job
from placetui.runtime.model import RayActor, Tables
from placetui.runtime.private import Head
from placetui.runtime.records import READY


@dataclass(frozen=True, slots=True)
class Target:
    """One rank of a job."""

    component: str
    rank: int
    state: RankState
    actor: RayActor | None
    """None if the head knows of none."""

    def __str__(self) -> str:
        return f"{self.component}:{self.rank}"


@contextmanager
def asked_job(body: Mapping[str, Any]) -> Iterator[tuple[Head, Job]]:
    """The head of the cluster and the job that a request names.

    Raises:
        ClusterError: there is no such cluster, or no such job.
    """
    with closing(open_head(resolve_address(str(body["address"])))) as head:
        yield head, jobs.find(head, str(body["job"]))


def describe(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """All about a job: what it was planned as, where it is, and how every rank is."""
    with asked_job(body) as (head, job):
        living = {node.id for node in head.nodes()}
        placed = {(one["component"], one["rank"]): one for one in job.record.ranks}
        return {
            "address": head.address,
            "job": job.to_dict(),
            "plan": job.record.plan,
            "nodes": [{**node, "alive": node.get("node_id") in living} for node in job.record.nodes],
            "ranks": [_describe(one, job, placed.get((one.component, one.rank), {})) for one in job.ranks],
        }


def _describe(one: RankState, job: Job, placed: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a rank, and where it was put."""
    actor = job.actors.get((one.component, one.rank))
    return {
        **one.to_dict(),
        "node": one.node if one.node is not None else placed.get("node_rank"),
        "ip": placed.get("node"),
        "gpu_ids": placed.get("gpu_ids"),
        "share": placed.get("share"),
        "actor_id": actor.id if actor else placed.get("actor_id"),
    }


def check_ready(job: Job) -> None:
    """Refuse what only a job can do whose ranks were all alive once."""
    if job.record.state != READY:
        name = job.record.job
        raise Refused(f"`{name}` is incomplete", hint=f"wait until it is launched, or placetui down {name}")


def size_of(job: Job, component: str) -> int:
    """How many ranks a component has.

    Raises:
        Refused: there is no such component.
    """
    size = job.record.groups.get(component)
    if size is None:
        known = listing(job.record.groups) or "none"
        raise Refused(f"`{job.record.job}` has no component `{component}`", hint=f"its components: {known}")
    return size


def target_of(job: Job, body: Mapping[str, Any]) -> Target:
    """The rank that a request names.

    Raises:
        Refused: there is none.
    """
    component, rank = str(body["component"]), int(body["rank"])
    size = size_of(job, component)
    if not 0 <= rank < size:
        raise Refused(f"`{component}` has no rank {rank}", hint=f"its ranks are 0 to {size - 1}")
    (state,) = [one for one in job.ranks if (one.component, one.rank) == (component, rank)]
    return Target(component, rank, state, job.actors.get((component, rank)))


def current(head: Head, job: Job, target: Target) -> Target:
    """The same rank, looked at again."""
    # Not with all that the head remembers: of the dead only this one matters.
    known = head.actor(target.actor.id) if target.actor else None
    actors = (known,) if known and known.state != "DEAD" else (*head.living_actors(), *((known,) if known else ()))
    now = jobs.job_of(job.record, Tables(head.nodes(), actors))
    return target_of(now, {"component": target.component, "rank": target.rank})
