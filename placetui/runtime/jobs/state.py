"""Jobs on a cluster, from the head's tables and the records: which there are, how they are, and how they end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from placetui.frameworks.recognition import RecognisedJob
from placetui.observe.following import STATES
from placetui.observe.model import RankState, State
from placetui.placement.environment import NAMESPACE, worker_name
from placetui.placement.wording import listing, ranges
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.client import silent_nodes
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode, Tables
from placetui.runtime.jobs import records
from placetui.runtime.jobs.records import READY, Record
from placetui.runtime.policy import Policy

if TYPE_CHECKING:
    from placetui.runtime.gcs.client import Head

JobState: TypeAlias = Literal["running", "incomplete", "degraded", "starting", "ended", "failed"]

_STATES: dict[str, State] = {**STATES, "PENDING_CREATION": "pending"}

NODE_LOST = "node lost: down, then up"
"""Why a rank is dead that cannot come back: its devices were there and nowhere else."""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One job as it is now."""

    record: Record
    ranks: tuple[RankState, ...]
    state: JobState
    actors: Mapping[tuple[str, int], RayActor] = field(default_factory=dict)
    """By component and rank; of those that have none nothing is known."""

    foreign: RecognisedJob | None = None
    """What a framework recognises in it, if placetui did not launch it."""

    silent_nodes: Mapping[str, str] = field(default_factory=dict)
    """Nodes of its ranks whose raylet does not answer: address by id."""

    @property
    def runs(self) -> bool:
        return self.state not in ("ended", "failed")

    @property
    def ranks_by_node(self) -> Mapping[str, list[str]]:
        """Ranks that are not dead, by the id of their node."""
        found: dict[str, list[str]] = {}
        for (component, rank), actor in self.actors.items():
            if actor.node and actor.state != "DEAD":
                found.setdefault(actor.node, []).append(f"{component}:{rank}")
        return found

    @property
    def troubles(self) -> list[str]:
        """What is wrong with which ranks and nodes, in words."""
        here = self.ranks_by_node
        found = [
            f"{ip} does not answer: {listing(here.get(node, ()))} may run or not"
            for node, ip in self.silent_nodes.items()
        ]
        if self.state == "ended":
            return found
        if self.foreign is not None and self.runs:
            actors = self.foreign.actors
            found += [
                f"{one.note or one.component} dead: {actors[one.actor].reason}" for one in self.foreign.lost_services
            ]
        alike: dict[tuple[str, str | None], dict[str, list[int]]] = {}
        for one in self.ranks:
            if one.state in ("dead", "restarting"):
                alike.setdefault((one.state, one.reason), {}).setdefault(one.component, []).append(one.rank)
        # What happened to few is why it happened to the others.
        fewest = sorted(alike.items(), key=lambda one: sum(map(len, one[1].values())))
        return found + [
            f"{listing(f'{name}:{ranges(numbers)}' for name, numbers in ranks.items())} {state}: {reason}"
            for (state, reason), ranks in fewest
        ]

    def to_dict(self) -> dict[str, Any]:
        """An entry of `placetui ps --json`."""
        return {
            "name": self.record.job,
            "framework": self.foreign.framework if self.foreign else "placetui",
            "ray_job": self.record.ray_job or None,
            "submission": (self.foreign.job.submission or None) if self.foreign else None,
            **({"entrypoint": self.foreign.job.entrypoint or None} if self.foreign else {}),
            "file": self.record.file,
            "state": self.state,
            "created": self.record.created,
            "owner": self.record.owner or None,
            "silent_nodes": sorted(self.silent_nodes.values()),
            "groups": {
                name: {
                    "world_size": size,
                    "alive": sum(one.component == name and one.state == "alive" for one in self.ranks),
                }
                for name, size in self.record.groups.items()
            },
        }


def job_of(record: Record, tables: Tables) -> JobStatus:
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
    return JobStatus(record, ranks, state, actors)


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


def job_actors(head: Head, record: Record) -> tuple[RayActor, ...]:
    """Rows of a job's ranks, dead ones too: no others are read."""
    if not record.ray_job:
        # Of another version, which did not store who launched it.
        return head.living_actors()
    return (*head.actors(job=record.ray_job), *_restarted_actors(head, record))


def dead_actors(head: Head, record: Record) -> tuple[RayActor, ...]:
    """Rows of a job's ranks that are dead, those that were restarted from elsewhere included."""
    if not record.ray_job:
        return ()
    restarted = (row for row in _restarted_actors(head, record) if row.state == "DEAD")
    return (*head.actors(job=record.ray_job, state="DEAD"), *restarted)


def _restarted_actors(head: Head, record: Record) -> list[RayActor]:
    ids = [str(one.get("actor_id", "")) for one in records.restarts(head, record).values()]
    return [row for one in ids if one and (row := head.actor(one))]


def find_all_jobs(head: Head, tables: Tables | None = None) -> list[JobStatus]:
    """All jobs: those with a record, and actors and placement groups that were left without one."""
    tables = tables or Tables(head.nodes(), groups=head.groups())
    found, nodes = records.find_all(head), tables.nodes
    known = {record.job for record in found}
    left = {name.partition("/")[0] for name in head.actor_names(NAMESPACE) if "/" in name}
    left |= {one.name for one in tables.groups if one.namespace == NAMESPACE and one.name and one.state != "REMOVED"}
    listed = [job_of(record, Tables(nodes, job_actors(head, record))) for record in found]
    return listed + [job_of(Record(name, None, 0.0, uid=""), Tables(nodes)) for name in sorted(left - known)]


def with_silent_nodes(jobs: Iterable[JobStatus], nodes: Iterable[RayNode], policy: Policy) -> list[JobStatus]:
    """The same jobs, each with those of its nodes whose raylet does not answer. No task is started for this."""
    listed = list(jobs)
    used = {node for job in listed if job.runs for node in job.ranks_by_node}
    silent = silent_nodes([node for node in nodes if node.id in used], policy)
    ips = {node.id: node.ip for node in nodes if node.id in silent}
    return [
        replace(job, silent_nodes={node: ips[node] for node in job.ranks_by_node if node in ips}) if ips else job
        for job in listed
    ]


def find_job(head: Head, name: str) -> JobStatus:
    """A job by its name; `NotPossible` if there is none."""
    record = records.find(head, records.check_name(name))
    if record is None and not is_taken(head, name):
        raise no_such_job(name)
    record = record or Record(name, None, 0.0, uid="")
    return job_of(record, Tables(head.nodes(), job_actors(head, record)))


def no_such_job(job: str) -> NotPossible:
    """What to say about a name that is none."""
    return NotPossible(f"there is no job `{job}`", hint="placetui ps lists them")


def check_free(head: Head, job: str) -> None:
    """See that nobody has the name of a job that is to be launched."""
    if record := records.find(head, job):
        raise records.taken(job, record)
    if is_taken(head, job):
        raise NotPossible(f"parts of a job `{job}` are still there", hint=f"placetui down {job}")


def is_taken(head: Head, job: str) -> bool:
    """Whether something of that job is there, recorded or not."""
    return bool(names_of(head, job) or group_of(head, job))


def names_of(head: Head, job: str) -> list[str]:
    """Names of the job's actors that are not dead."""
    return [name for name in head.actor_names(NAMESPACE) if name.startswith(f"{job}/")]


def group_of(head: Head, job: str) -> RayGroup | None:
    """The job's placement group, unless it is removed."""
    group = head.named_group(job, NAMESPACE)
    return None if group is None or group.state == "REMOVED" else group
