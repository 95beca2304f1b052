"""`Observation`: what was seen of a cluster at one moment.

All of it is immutable, and parts that did not change are the same objects from one observation to the next.
What cannot be read is None, never zero, and the `error` beside it says why. New fields go to the end of a class,
with a default: that keeps older recordings readable.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from placetui.frameworks.cluster_facts import DeviceSource, JobPhase

Source: TypeAlias = Literal["nvml", "ray", "replay", "simulated"]
ProcessKind: TypeAlias = Literal["rank", "service", "actor", "foreign", "gone"]
"""A rank or a service of a known job, another Ray actor, a process that is neither, or memory without a process."""

State: TypeAlias = Literal["pending", "starting", "alive", "restarting", "dead"]

NodeState: TypeAlias = Literal["up", "idle", "draining", "lost"]
"""`idle`: nothing runs there, and it is not sampled, so that the autoscaler may remove it. `draining`: Ray is about to
remove it. `lost`: a job has it, and the cluster has not."""


def _values(one: object, *names: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One process on one device."""

    pid: int
    memory: int | None = None
    """Bytes it holds on this device."""

    component: str | None = None
    rank: int | None = None
    job: str | None = None
    actor: str | None = None
    """Name or class of the Ray actor it belongs to; of a task, which is foreign, `Ray task NAME`."""

    kind: ProcessKind = "foreign"
    user: str | None = None
    command: str | None = None
    """Command line, where it can be read."""

    actor_id: str | None = None
    group: str | None = None
    """The job in whose placement group it runs."""

    note: str | None = None
    """What is not known of it, and why."""

    framework: str | None = None
    """Whose rank or service it is; None of a job that placetui launched, and if unknown."""

    state: State | None = None
    restarts: int | None = None
    since: float | None = None
    """When its actor came to life; seconds since the epoch."""

    device_from: DeviceSource | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            **_values(self, "pid", "memory", "component", "rank", "job", "actor"),
            "framework": self.framework or ("placetui" if self.kind == "rank" else None),
            **_values(self, "state", "restarts", "since", "device_from", "kind"),
            **({"note": self.note} if self.note else {}),
        }


@dataclass(frozen=True, slots=True)
class Claim:
    """An actor and a device: what is reserved and assigned. What it uses there is in the device's processes."""

    actor_id: str
    actor: str
    """Its name, or its class."""

    pid: int | None = None
    component: str | None = None
    rank: int | None = None
    job: str | None = None
    reserved: float | None = None
    """Fraction of the device that Ray reserved for it, 0 < share ≤ 1; None: nothing."""

    claimed: bool = False
    """Whether the environment it was started with names the device."""

    group: str | None = None
    """The job in whose placement group it runs."""

    class_name: str | None = None
    namespace: str | None = None
    placement_group: str | None = None
    """Name of the placement group it runs in, or its id, of any program."""

    bundle: int | None = None
    task: bool = False
    """Whether it is no actor, but a task: those come and go, and nobody places them."""

    framework: str | None = None
    """As of a process, like the next four."""

    state: State | None = None
    restarts: int | None = None
    since: float | None = None
    device_from: DeviceSource | None = None
    service: bool = False
    """Whether it is a service of its framework, and no rank."""

    @property
    def kind(self) -> ProcessKind:
        if self.task:
            return "foreign"
        return "service" if self.service else "rank" if self.component is not None else "actor"

    def process(self, pid: int, memory: int | None, **details: Any) -> ProcessSample:
        return ProcessSample(
            pid,
            memory,
            self.component,
            self.rank,
            self.job,
            self.actor,
            self.kind,
            actor_id=self.actor_id,
            framework=self.framework,
            state=self.state,
            restarts=self.restarts,
            since=self.since,
            device_from=self.device_from,
            **details,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            **_values(self, "actor", "actor_id"),
            "class": self.class_name,
            **_values(self, "namespace", "job", "component", "rank", "pid"),
            **_values(self, "reserved", "claimed", "placement_group", "bundle"),
        }


@dataclass(frozen=True, slots=True)
class DeviceSample:
    """One GPU."""

    index: int
    """Position among the node's GPUs, as in the plan."""

    uuid: str | None = None
    name: str | None = None
    memory_used: int | None = None
    """Bytes."""

    memory_total: int | None = None
    """Bytes."""

    utilization: int | None = None
    """Percent of time with a kernel running, 0–100."""

    temperature: int | None = None
    """°C."""

    power: int | None = None
    """Watts."""

    processes: tuple[ProcessSample, ...] = ()
    error: str | None = None
    """Why something above is None."""

    age: float = 0.0
    """Seconds since this GPU was read, while it does not answer and the rest of its node does; else 0."""

    stale: bool = False
    """Whether its values are too old to be trusted, or can no longer be read."""

    claims: tuple[Claim, ...] = ()
    """Actors that belong here: by reservation, by assignment, or by the memory they use."""

    physical: int | None = None
    """The id by which the driver knows it, where that is not its index."""

    @property
    def gpu_id(self) -> int:
        """The id by which the driver knows it."""
        return self.index if self.physical is None else self.physical

    @property
    def title(self) -> str:
        return f"GPU {self.gpu_id}"

    @property
    def memory_percent(self) -> float | None:
        """Used part of the memory, 0–100."""
        if self.memory_used is None or not self.memory_total:
            return None
        return 100 * self.memory_used / self.memory_total

    @property
    def is_unread(self) -> bool:
        """Whether its memory cannot be read: then nobody knows who holds what of it."""
        return self.memory_used is None and self.error is not None

    def held_by(self, claim: Claim) -> int | None:
        """Bytes that an actor and its children hold here; None if that cannot be read, or not be measured."""
        memories = [process.memory for process in self.processes if process.actor_id == claim.actor_id]
        known = [memory for memory in memories if memory is not None]
        return None if len(known) < len(memories) or (self.is_unread and not memories) else sum(known)

    @property
    def _idle(self) -> Iterator[ProcessSample]:
        """Ranks and services of frameworks that belong here and hold nothing yet, as processes."""
        holding = {process.actor_id for process in self.processes}
        for one in self.claims:
            if one.framework is not None and one.component is not None and one.actor_id not in holding:
                yield one.process(one.pid or 0, self.held_by(one))

    def to_dict(self) -> dict[str, Any]:
        return {
            **_values(self, "index", "gpu_id", "uuid", "name", "memory_used", "memory_total"),
            **_values(self, "utilization", "temperature", "power", "age", "stale", "error"),
            "processes": [process.to_dict() for process in (*self.processes, *self._idle)],
            "claims": [{**claim.to_dict(), "held": self.held_by(claim)} for claim in self.claims],
        }


@dataclass(frozen=True, slots=True)
class NodeSample:
    """One node and its GPUs."""

    rank: int
    """Rank of the node in the plan, or in the cluster where there is no plan."""

    name: str
    ip: str = ""
    age: float = 0.0
    """Seconds since these values were read; 0 while they are as fresh as the source can have them, so that a node
    on which nothing moved compares equal from one observation to the next."""

    stale: bool = False
    """Whether the values are too old to be trusted."""

    error: str | None = None
    """Why the node, or something of it, could not be read."""

    devices: tuple[DeviceSample, ...] = ()
    cpu_percent: float | None = None
    """Busy part of all cores together, 0–100."""

    memory_used: int | None = None
    """Bytes of host memory."""

    memory_total: int | None = None
    """Bytes of host memory."""

    state: NodeState = "up"
    reason: str | None = None
    """Why it is in that state, where Ray says so."""

    def device(self, index: int) -> DeviceSample | None:
        """The device that the plan calls `index`; None if it was not seen."""
        if 0 <= index < len(self.devices) and self.devices[index].index == index:
            return self.devices[index]
        return next((device for device in self.devices if device.index == index), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            **_values(self, "rank", "name", "ip", "age", "stale", "error"),
            **_values(self, "cpu_percent", "memory_used", "memory_total", "state", "reason"),
            "devices": [device.to_dict() for device in self.devices],
        }


@dataclass(frozen=True, slots=True)
class RankState:
    """Where one rank of a job is in its life."""

    component: str
    rank: int
    state: State = "pending"
    reason: str | None = None
    """Why it is dead or restarting, or why it is pending though nobody launches it."""

    restarts: int = 0
    pid: int | None = None
    node: int | None = None
    """Rank of its node; None while that is not known."""

    since: float | None = None
    """When its actor came to life, or while that starts, when it began to; seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job that a framework was recognised in."""

    name: str
    """Its submission id, else the id of its Ray job."""

    framework: str
    ray_job: str = ""
    submission: str = ""
    entrypoint: str = ""
    """Command line of its driver, without secrets."""

    owner: str = ""
    started: float | None = None
    """Seconds since the epoch."""

    ended: float | None = None
    state: JobPhase = "running"
    components: str = ""
    """What runs: `actor 8, rollout 4`."""

    @property
    def runs(self) -> bool:
        return self.state not in ("ended", "failed")


@dataclass(frozen=True, slots=True)
class BundleState:
    """A bundle of a placement group."""

    node: int | None = None
    """Rank of its node; None while it has none."""

    gpus: float = 0.0
    cpus: float = 0.0


@dataclass(frozen=True, slots=True)
class GroupState:
    """A placement group of Ray's, of any program."""

    id: str
    name: str = ""
    namespace: str = ""
    """Of the program that made it; `placetui` if that was a launch, whose job bears the group's name."""

    state: str = "created"
    """`pending`, `prepared`, `created` or `rescheduling`."""

    reason: str = ""
    """Why it waits, in Ray's words, such as `no_resources` or `infeasible`."""

    bundles: tuple[BundleState, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "reason": self.reason or None}


@dataclass(frozen=True, slots=True)
class Observation:
    """A cluster at one moment."""

    time: float
    """Seconds since the epoch."""

    source: Source
    nodes: tuple[NodeSample, ...] = ()
    """In order of their ranks, which are unique but need not be gapless."""

    ranks: Mapping[str, tuple[RankState, ...]] = field(default_factory=dict)
    """For each component of the job that is watched, its ranks 0 to world size - 1."""

    job: str = ""
    """Name of that job, where it has one: ranks of others are not its own."""

    groups: tuple[GroupState, ...] = ()
    """Placement groups, those that were removed left out."""

    owner: str = ""
    """Who launched that job, as `user@host`; empty if unknown."""

    jobs: tuple[JobSummary, ...] = ()
    """Jobs of frameworks that were recognised, those that ended lately too."""

    note: str = ""
    """Why no job is followed, in a sentence, where one might be expected."""

    not_launched: tuple[str, ...] = ()
    """Components that are planned and that the script of the job does not start."""

    def node(self, rank: int) -> NodeSample | None:
        """The node of that rank; None if it was not seen."""
        nodes = self.nodes
        # Nearly always the ranks are gapless, and a node stands at the place of its rank.
        if 0 <= rank < len(nodes) and nodes[rank].rank == rank:
            return nodes[rank]
        place = bisect_left(nodes, rank, key=attrgetter("rank"))
        return nodes[place] if place < len(nodes) and nodes[place].rank == rank else None

    def device(self, node: int, index: int) -> DeviceSample | None:
        """Device `index` of node `node`; None if it was not seen."""
        sample = self.node(node)
        return sample.device(index) if sample else None

    def rank(self, component: str, rank: int) -> RankState | None:
        """State of one rank; None if nothing is known of it."""
        states = self.ranks.get(component, ())
        return states[rank] if 0 <= rank < len(states) else None

    @property
    def all_ranks(self) -> Iterator[RankState]:
        return (state for states in self.ranks.values() for state in states)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `placetui top --json`, but for the drift, which needs a plan."""
        return {
            "time": self.time,
            "source": self.source,
            "job": self.job or None,
            "owner": self.owner or None,
            "jobs": list(map(asdict, self.jobs)),
            "note": self.note or None,
            "not_launched": list(self.not_launched),
            "nodes": [node.to_dict() for node in self.nodes],
            "ranks": list(map(asdict, self.all_ranks)),
            "groups": [group.to_dict() for group in self.groups],
        }
