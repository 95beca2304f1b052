"""What runs in a cluster, as Ray's tables tell it, and what a framework recognises in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

from placetui.placement.environment import NAMESPACE

DeviceSource: TypeAlias = Literal["ray", "environment", "nvml"]
"""The source of a process's devices: Ray's reservations, the environment it was started with, or the driver's list of
processes."""

JobPhase: TypeAlias = Literal["starting", "running", "degraded", "ended", "failed"]

NODE_RANK = "RLINF_NODE_RANK"
"""The label of a node, or the variable in its environment, that says its rank."""

_IN_BUNDLE = re.compile(r"(?:GPU|NPU)_group_(\d+)_([0-9a-f]+)$")


class RayNodeFacts(Protocol):
    """What the order of nodes depends on."""

    @property
    def id(self) -> str: ...
    @property
    def ip(self) -> str: ...
    @property
    def gpus(self) -> int: ...
    @property
    def labels(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class NodeOrder:
    """Nodes of a cluster by planned rank."""

    ids: tuple[str, ...]
    by: str
    """What the order comes from, in words."""

    warnings: tuple[str, ...] = ()


class NodeOrderError(ValueError):
    """The ranks that the nodes give themselves contradict each other."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node of the cluster."""

    id: str
    ip: str = ""
    gpus: int = 0
    """As Ray counts them."""

    labels: Mapping[str, str] = field(default_factory=dict)
    gpu_ids: tuple[int, ...] = ()
    """Physical id of each GPU in Ray's order, where the raylet runs under CUDA_VISIBLE_DEVICES; empty: 0, 1, 2 …"""

    def physical(self, position: int) -> int:
        """Physical id of the GPU at a position of Ray's count."""
        return self.gpu_ids[position] if position < len(self.gpu_ids) else position


@dataclass(frozen=True, slots=True)
class BundleSeen:
    """A bundle of a placement group."""

    node: str = ""
    """Id of its node; empty while it has none."""

    resources: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A placement group of any program."""

    id: str
    name: str = ""
    namespace: str = ""
    job: str = ""
    state: str = "CREATED"
    strategy: str = ""
    bundles: tuple[BundleSeen, ...] = ()
    """By index."""


@dataclass(frozen=True, slots=True)
class ActorSeen:
    """An actor of any program, dead ones too."""

    id: str
    name: str = ""
    class_name: str = ""
    namespace: str = ""
    job: str = ""
    node: str = ""
    """Id of its node; empty while it has none."""

    pid: int = 0
    state: str = "ALIVE"
    """As Ray has it: `PENDING_CREATION`, `ALIVE`, `RESTARTING`, `DEAD` …"""

    reason: str = ""
    """Why it is dead or restarting."""

    cause: str = ""
    """The same in a word, as Ray has it: `WORKER_DIED`, `OWNER_DIED`, `RAY_KILL`, `creation_task_failure_context` …"""

    restarts: int = 0
    started: float = 0.0
    """When it came to life, in seconds since the epoch; 0: not yet, or not known."""

    ended: float = 0.0
    group: str = ""
    """Id of its placement group."""

    required: Mapping[str, float] = field(default_factory=dict)
    """Resources it asked Ray for, by Ray's own names."""

    slots: Mapping[int, float] = field(default_factory=dict)
    """Part of each GPU that Ray gave it, by the position in Ray's count of its node; empty until it runs."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of its runtime environment, of those that a framework declares in `environment_read`."""

    tasks: tuple[str, ...] = ()
    """Names of tasks that it runs or ran, as far as they were seen: `Worker.method`."""

    @property
    def is_dead(self) -> bool:
        return self.state == "DEAD"

    @property
    def bare_class(self) -> str:
        """The class without the function that it was made in."""
        return self.class_name.rpartition(".")[2]

    @property
    def bundle(self) -> int | None:
        """The bundle of its placement group whose GPU it has asked for."""
        return next((int(found[1]) for found in map(_IN_BUNDLE.match, self.required) if found), None)

    @property
    def share(self) -> float | None:
        """The part of a GPU that it has asked Ray for; None: nothing."""
        for name, amount in self.required.items():
            if amount and (name in ("GPU", "NPU") or _IN_BUNDLE.match(name)):
                return amount
        return None


INTERNAL_NAMESPACES = ("_ray_internal_dashboard", "SUPERVISOR_ACTOR_RAY_NAMESPACE")
"""Ray namespaces of its own jobs and actors."""

OUR_NAMESPACES = (NAMESPACE, "placetui.samplers")
"""Those of jobs that placetui launched, which have a record, and of what it reads nodes with."""


@dataclass(frozen=True, slots=True)
class RayJobSeen:
    """A job of Ray's: one driver."""

    id: str
    entrypoint: str = ""
    """Command line of the driver, its words joined as `subprocess.list2cmdline` does."""

    submission: str = ""
    """Id under which it was submitted; empty where nobody did."""

    namespace: str = ""
    user: str = ""
    """Who runs the driver, where that is known."""

    started: float = 0.0
    """Seconds since the epoch."""

    ended: float = 0.0
    dead: bool = False
    driver_ip: str = ""
    driver_pid: int = 0
    sys_path: tuple[str, ...] = ()
    """Folder of the script, then the working directory of the driver, where Ray has them."""

    @property
    def title(self) -> str:
        """What to call it: its submission, else its number."""
        return self.submission or self.id


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """A process that NVML lists on a GPU."""

    node: str
    device: int
    """Physical id of the GPU."""

    pid: int
    actor: str = ""
    """Id of the actor that it is, or descends from."""


@dataclass(frozen=True)
class ClusterFacts:
    """What Ray's tables and NVML say, as far as ranks are recognised by it."""

    nodes: Sequence[NodeSeen] = ()
    actors: Sequence[ActorSeen] = ()
    groups: Sequence[GroupSeen] = ()
    jobs: Sequence[RayJobSeen] = ()
    processes: Sequence[ProcessSeen] = ()

    @cached_property
    def node_by_id(self) -> Mapping[str, NodeSeen]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def group_by_id(self) -> Mapping[str, GroupSeen]:
        return {group.id: group for group in self.groups}

    @cached_property
    def job_by_id(self) -> Mapping[str, RayJobSeen]:
        return {job.id: job for job in self.jobs}

    @cached_property
    def actors_by_job(self) -> Mapping[str, Sequence[ActorSeen]]:
        found: dict[str, list[ActorSeen]] = {}
        for actor in self.actors:
            if actor.namespace not in INTERNAL_NAMESPACES + OUR_NAMESPACES:
                found.setdefault(actor.job, []).append(actor)
        return found

    @cached_property
    def _devices_by_actor(self) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, set[int]] = {}
        for one in self.processes:
            if one.actor:
                found.setdefault(one.actor, set()).add(one.device)
        return {actor: tuple(sorted(devices)) for actor, devices in found.items()}

    def booked(self, actor: ActorSeen) -> tuple[int, ...]:
        """Physical ids of the GPUs that Ray gave an actor."""
        node = self.node_by_id.get(actor.node, NodeSeen(actor.node))
        return tuple(sorted(map(node.physical, actor.slots)))

    def measured(self, actor: ActorSeen) -> tuple[int, ...]:
        """Physical ids of the GPUs on which NVML sees an actor or its children."""
        return self._devices_by_actor.get(actor.id, ())


@dataclass(frozen=True, slots=True)
class RankSeen:
    """An actor, recognised as a rank or as a service of its framework. All else stands in the actor's row."""

    actor: str
    job: str
    component: str
    """Of a service, what it is."""

    rank: int = 0
    world_size: int | None = None
    """Processes of the component, where the job says it; None: as many as were seen."""

    devices: tuple[int, ...] = ()
    """Physical ids of the GPUs that it owns on its node; of a service none."""

    device_from: DeviceSource | None = None
    service: bool = False
    node_rank: int | None = None
    """Rank of its node as the framework counts, where the job says it."""

    note: str = ""
    """What a viewer should know of it, in a sentence."""

    released: bool = False
    """Whether its job ended the process to free the GPU, and will start another one."""
