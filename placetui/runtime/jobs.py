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
from placetui.runtime.errors import ClusterError, Refused, Silent
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

KILL_AGAIN = 1.0
"""Seconds after which an actor that is still there is killed once more."""


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
    records.check_name(name)
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
    stopping = _Stopping(head, job, uid)
    while True:
        try:
            if stopping.is_over():
                return {"actors": len(stopping.killed), "groups": len(stopping.removed)}
            pause = stopping.go_on()
        except Silent:
            # A head that is busy, as with the end of thousands, may answer the next time.
            if time.monotonic() > stopping.deadline:
                raise
            pause = 0.5
        time.sleep(pause)


class _Stopping:
    """The end of a job under way."""

    def __init__(self, head: Head, job: str, uid: str | None) -> None:
        self._head = head
        self._job = records.check_name(job)
        self._uid = uid
        self._actors: list[RayActor] = []
        self._groups: list[RayGroup] = []
        self.killed: dict[str, float] = {}
        """By actor, when."""

        self.removed: set[str] = set()
        self.deadline = time.monotonic() + STOP_PATIENCE
        """For the last one that was killed."""

        self._settle_by = time.monotonic() + SETTLE_PATIENCE

    def is_over(self) -> bool:
        """Look whether anything is left; of a job that is gone, the record goes last."""
        head, job, uid = self._head, self._job, self._uid
        record = records.find(head, job)
        if uid is not None and record is not None and record.uid != uid:
            # Somebody else took it down and has the name now.
            making.forget(head, job, uid)
            return True
        self._actors, self._groups = _actors_of(job, head.living_actors()), _groups_of(job, head.groups())
        if self._actors or self._groups:
            return False
        making.forget(head, job, uid)
        if uid is None and record is None and not self.killed and not self.removed:
            raise no_such_job(job)
        if record is not None:
            records.forget(head, job)
        return True

    def go_on(self) -> float:
        """End what is left; the seconds until it is worth looking again."""
        if time.monotonic() > self.deadline:
            left = f"{count(len(self._actors), 'actor')} and {count(len(self._groups), 'placement group')}"
            raise ClusterError(f"{left} of `{self._job}` are still there after {STOP_PATIENCE:g} s", hint="try again")
        for actor in self._actors:
            before = self.killed.get(actor.id)
            if before is None or time.monotonic() > before + KILL_AGAIN:
                self._head.kill_actor(actor.id)
                self.killed[actor.id] = time.monotonic()
                if before is None:
                    self.deadline = time.monotonic() + STOP_PATIENCE
        for group in self._groups:
            if group.settled or time.monotonic() > self._settle_by:
                self._head.remove_group(group.id)
                self.removed.add(group.id)
        return 0.05 if all(group.settled for group in self._groups) else 0.005


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
