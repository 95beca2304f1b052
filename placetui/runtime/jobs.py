"""Jobs on a cluster, from the head's tables and the records: which there are, how they are, and how they end."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from placetui.observe.model import RankState, State
from placetui.placement.environment import NAMESPACE, worker_name
from placetui.placement.problems import count
from placetui.runtime import making, records
from placetui.runtime.errors import ClusterError, Refused
from placetui.runtime.model import RayActor, RayGroup, Tables
from placetui.runtime.records import READY, Record

if TYPE_CHECKING:
    from placetui.runtime.private import Head

JobState: TypeAlias = Literal["running", "incomplete", "degraded"]

_STATES: dict[str, State] = {
    "DEPENDENCIES_UNREADY": "pending",
    "PENDING_CREATION": "pending",
    "ALIVE": "alive",
    "RESTARTING": "restarting",
    "DEAD": "dead",
}

NODE_LOST = "node lost: down, then up"
"""Why a rank is dead that cannot come back: its devices were there and nowhere else."""

STOP_PATIENCE = 15.0
"""Seconds until what was killed must be gone."""

SETTLE_PATIENCE = 5.0
"""Seconds that a group has to be created before it is removed."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it is now."""

    record: Record
    ranks: tuple[RankState, ...]
    state: JobState
    actors: Mapping[tuple[str, int], RayActor] = field(default_factory=dict)
    """By component and rank; of those that have none nothing is known."""

    @property
    def troubles(self) -> list[str]:
        """What is wrong with which ranks, in words."""
        return [
            f"{one.component}:{one.rank} {one.state}: {one.reason}"
            for one in self.ranks
            if one.state in ("dead", "restarting")
        ]

    def to_dict(self) -> dict[str, Any]:
        """An entry of `placetui ps --json`."""
        return {
            "name": self.record.job,
            "file": self.record.file,
            "state": self.state,
            "created": self.record.created,
            "groups": {
                name: {
                    "world_size": size,
                    "alive": sum(one.component == name and one.state == "alive" for one in self.ranks),
                }
                for name, size in self.record.groups.items()
            },
        }


def jobs(found: Iterable[Record], tables: Tables) -> list[Job]:
    """All jobs: those with a record, and what is there without one."""
    listed = {record.job: record for record in found}
    for name in sorted({*_names(tables)} - set(listed)):
        listed[name] = Record(name, None, 0.0, uid="")
    return [job_of(record, tables) for record in listed.values()]


def job_of(record: Record, tables: Tables) -> Job:
    """A job as the tables show it."""
    named: dict[str, RayActor] = {}
    for actor in tables.actors:
        # One that lives counts, else the one that died last.
        if actor.namespace == NAMESPACE and (actor.name not in named or _later(actor, named[actor.name])):
            named[actor.name] = actor
    actors = {
        (name, rank): named[full]
        for name, size in record.groups.items()
        for rank in range(size)
        if (full := worker_name(name, rank, record.job)) in named
    }
    living = {node.id for node in tables.nodes}
    ranks = tuple(
        rank_state(name, rank, actors.get((name, rank)), record, living)
        for name, size in record.groups.items()
        for rank in range(size)
    )
    if record.state != READY:
        state: JobState = "incomplete"
    else:
        state = "running" if all(one.state == "alive" for one in ranks) else "degraded"
    return Job(record, ranks, state, actors)


def rank_state(component: str, rank: int, actor: RayActor | None, record: Record, living: Collection[str]) -> RankState:
    """Where a rank is in its life, from its actor's row and the nodes that are alive."""
    if actor is None:
        # The head forgets the dead after a while.
        gone = record.state == READY
        return RankState(component, rank, "dead" if gone else "pending", "it is no longer there" if gone else None)
    nodes = {str(node.get("node_id")): int(node.get("rank", 0)) for node in record.nodes}
    state, reason = _STATES.get(actor.state, "pending"), None
    if actor.node and actor.node not in living:
        state, reason = "dead", NODE_LOST
    elif state in ("dead", "restarting"):
        reason = actor.reason or "its process ended"
    return RankState(component, rank, state, reason, actor.restarts, actor.pid or None, nodes.get(actor.node))


def _later(one: RayActor, other: RayActor) -> bool:
    return (one.state != "DEAD", one.started) > (other.state != "DEAD", other.started)


def find(head: Head, name: str) -> Job:
    """A job by its name.

    Raises:
        Refused: there is none.
    """
    record, tables = records.find(head, name), head.tables()
    if record is None and not is_taken(name, tables):
        raise no_such_job(name)
    return job_of(record or Record(name, None, 0.0, uid=""), tables)


def stop(head: Head, job: str, *, uid: str | None = None) -> dict[str, Any]:
    """End a job: its actors, restarting ones too, then its group, then its record.

    Args:
        head: Of the cluster.
        job: Its name.
        uid: Only if it still is this one.

    Raises:
        Refused: there is no such job.
        ClusterError: something of it is still there after all.
    """
    deadline = time.monotonic() + STOP_PATIENCE
    settle_by = time.monotonic() + SETTLE_PATIENCE
    ended: set[str] = set()
    removed: set[str] = set()
    while True:
        record = records.find(head, job)
        if uid is not None and record is not None and record.uid != uid:
            # Somebody else took it down and has the name now.
            making.forget(head, job, uid)
            return {"actors": len(ended), "groups": len(removed)}
        actors, groups = _actors_of(job, head.actors()), _groups_of(job, head.groups())
        if not actors and not groups:
            break
        if time.monotonic() > deadline:
            left = f"{count(len(actors), 'actor')} and {count(len(groups), 'placement group')}"
            raise ClusterError(f"{left} of `{job}` are still there after {STOP_PATIENCE:g} s", hint="try again")
        for actor in actors:
            head.kill_actor(actor.id)
            ended.add(actor.id)
        for group in groups:
            if group.settled or time.monotonic() > settle_by:
                head.remove_group(group.id)
                removed.add(group.id)
        time.sleep(0.05 if all(group.settled for group in groups) else 0.005)
    making.forget(head, job, uid)
    if uid is None and record is None and not ended and not removed:
        raise no_such_job(job)
    if record is not None:
        records.forget(head, job)
    return {"actors": len(ended), "groups": len(removed)}


def no_such_job(job: str) -> Refused:
    """What to say about a name that is none."""
    return Refused(f"there is no job `{job}`", hint="placetui ps lists them")


def check_free(head: Head, job: str) -> None:
    """See that nobody has the name of a job that is to be launched.

    Raises:
        Refused: somebody has it.
    """
    if record := records.find(head, job):
        raise records.taken(job, record)
    if is_taken(job, head.tables()):
        raise Refused(f"something of a job `{job}` is still there", hint=f"placetui down {job}")


def is_taken(job: str, tables: Tables) -> bool:
    """Whether something of that job is there, recorded or not."""
    return bool(_actors_of(job, tables.actors) or _groups_of(job, tables.groups))


def _actors_of(job: str, actors: Sequence[RayActor]) -> list[RayActor]:
    return [
        actor
        for actor in actors
        if actor.namespace == NAMESPACE and actor.name.startswith(f"{job}/") and actor.state != "DEAD"
    ]


def _groups_of(job: str, groups: Sequence[RayGroup]) -> list[RayGroup]:
    return [one for one in groups if one.namespace == NAMESPACE and one.name == job and one.state != "REMOVED"]


def _names(tables: Tables) -> Iterable[str]:
    for actor in tables.actors:
        if actor.namespace == NAMESPACE and "/" in actor.name and actor.state != "DEAD":
            yield actor.name.partition("/")[0]
    for group in tables.groups:
        if group.namespace == NAMESPACE and group.name and group.state != "REMOVED":
            yield group.name
