"""What is known of processes and actors before they are brought together: filled by whoever asks a node or Ray."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KNOWN_VARIABLES = frozenset(
    {
        "ACCELERATOR_TYPE",
        "CLUSTER_NODE_RANK",
        "CUDA_VISIBLE_DEVICES",
        "GROUP_NAME",
        "LOCAL_ACCELERATOR_RANK",
        "LOCAL_RANK",
        "RANK",
        "RAY_LOCAL_WORLD_SIZE",
        "VISIBLE_DEVICES",
        "WG_PREFIX",
        "WORKER_NAME",
        "WORLD_SIZE",
    }
)
"""Variables of an environment that say where a process belongs. All others may be secret, and are never looked at."""


@dataclass(frozen=True, slots=True)
class ProcessFact:
    """A process, as the /proc of its node tells."""

    pid: int
    started: float | None = None
    """Seconds since the epoch."""

    parent: int | None = None
    leader: int | None = None
    """Its process group, which bears the number of the process that leads it."""

    user: str | None = None
    command: str | None = None
    """Its title or command line."""

    inner_pid: int | None = None
    """Its number inside the container it runs in (the last of `NSpid`), where that is another one."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The processes of a node: those on its GPUs, and their ancestors."""

    processes: Mapping[int, ProcessFact] = field(default_factory=dict)
    """By pid."""

    complete: bool = True
    """Whether every process of the machine can be seen from where this was read: within a container they cannot."""


@dataclass(frozen=True, slots=True)
class ActorFact:
    """An actor that lives, or a worker that runs a task, as Ray tells."""

    id: str
    node: int
    """Rank of its node."""

    pid: int
    name: str = ""
    class_name: str = ""
    namespace: str = ""
    job: str = ""
    """Name of our job, or Ray's number of any other."""

    component: str | None = None
    rank: int | None = None
    """Component and rank, if it is one of ours."""

    reserved: Mapping[int, float] = field(default_factory=dict)
    """By Ray's books: GPU (its place on the node) to the part of it."""

    claimed: tuple[int, ...] = ()
    """GPUs that the environment it was started with names."""

    group: str | None = None
    """The job of ours in whose placement group it is."""

    began: float | None = None
    """When its process began, where it has said so itself; seconds since the epoch, by its node's clock."""

    created: float | None = None
    """When it came to life, by the head's clock: its process had begun by then."""

    placement_group: str | None = None
    """Name of the placement group it is in, or its id; whoever made it."""

    bundles: Mapping[int, int] = field(default_factory=dict)
    """GPU (its place on the node) to the bundle of that group that holds it."""

    task: bool = False
    """Whether it is no actor, but a worker that runs a task."""

    @property
    def title(self) -> str:
        """What to call it."""
        return self.name or self.class_name or self.id[:12]


def known_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that may be shown."""
    return {name: value for name, value in environment.items() if name in KNOWN_VARIABLES}
