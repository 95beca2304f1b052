"""Nodes, actors and groups of a Ray cluster, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from placetui.frameworks.cluster_facts import ActorSeen, BundleSeen, GroupSeen
from placetui.placement.placements import AcceleratorType
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.topology import Node

DEVICES = ("GPU", "NPU")
SAMPLER_NAMESPACE = "placetui.samplers"
"""Ray namespace of the actors that read the GPUs of nodes, apart from that of jobs: they are not what is watched."""


def to_units(amount: float) -> int:
    """An amount of a resource in 1/10000, the way Ray counts."""
    return round(amount * SHARE_UNITS)


def amount(units: int) -> str:
    """Units as people write them: `3`, `0.8`."""
    return f"{units / SHARE_UNITS:g}"


@dataclass(frozen=True, slots=True)
class RayNode:
    """A node that is alive."""

    id: str
    ip: str
    host: str = ""
    resources: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    head: bool = False
    port: int = 0
    state: str = ""
    """`IDLE`, `ACTIVE` or `DRAINING`, as its raylet reported last."""

    @property
    def draining(self) -> bool:
        """Whether it is about to be taken away: nothing new starts there."""
        return self.state == "DRAINING"

    @property
    def device(self) -> str:
        """Ray's name for its accelerators: AMD's are GPUs too, Ascend's are not."""
        return next((name for name in DEVICES if self.resources.get(name)), DEVICES[0])

    @property
    def gpus(self) -> int:
        return int(self.resources.get(self.device, 0))

    @property
    def accelerator(self) -> str:
        """What kind they are: an `AcceleratorType` value."""
        if self.device == "NPU":
            return AcceleratorType.NPU
        amd = any(name.startswith("accelerator_type:AMD") for name in self.resources)
        return AcceleratorType.AMD_GPU if amd else AcceleratorType.NV_GPU

    def planned(self) -> Node:
        return Node(self.gpus, self.accelerator, name=self.host, ip=self.ip)

    def units(self, resource: str) -> int:
        """All there is of a resource, in 1/10000."""
        return to_units(self.resources.get(resource, 0))

    def to_dict(self) -> dict[str, Any]:
        return {"node_id": self.id, "ip": self.ip, "host": self.host, "gpus": self.gpus}


@dataclass(frozen=True, slots=True)
class RayActor(ActorSeen):
    """An actor with what its framework need not know."""

    bundles: Mapping[int, int] = field(default_factory=dict)
    """Of its slots in a placement group, the bundle that each is in."""

    max_restarts: int = 0
    """-1: unlimited."""

    worker: str = ""
    """Id of its process, also after that has died."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Ray's label selector."""

    since: float = 0.0
    """When its state changed last, in seconds since the epoch."""

    detached: bool = False
    """Whether it outlives its driver."""

    @property
    def title(self) -> str:
        return self.name or self.class_name or self.id[:12]

    @property
    def created(self) -> float | None:
        """When it came to life, in seconds since the epoch; not known of one that was restarted."""
        return self.started if self.started and not self.restarts else None

    @property
    def may_restart(self) -> bool:
        """Whether Ray starts it again by itself when it dies."""
        return self.state != "DEAD" and (self.max_restarts < 0 or self.restarts < self.max_restarts)


@dataclass(frozen=True, slots=True)
class RayWorker:
    """A process of Ray's that is no actor: it runs one task after the other."""

    id: str
    pid: int
    job: str = ""
    """Ray's number of the driver whose tasks it runs."""

    group: str = ""
    """Id of the placement group that its task is in."""

    slots: Mapping[int, float] = field(default_factory=dict)
    """As of an actor; and so are the bundles."""

    bundles: Mapping[int, int] = field(default_factory=dict)
    address: str = ""
    unused: bool = False
    """Whether it was never given anything to do."""


@dataclass(frozen=True, slots=True)
class RayBundle(BundleSeen):
    """A bundle of a group."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Ray's label selector."""


@dataclass(frozen=True, slots=True)
class RayGroup(GroupSeen):
    """A placement group, removed ones too: `PENDING`, `PREPARED`, `CREATED`, `RESCHEDULING` or `REMOVED`."""

    bundles: tuple[RayBundle, ...] = ()
    scheduling: str = ""
    """Why it waits: `NO_RESOURCES`, `INFEASIBLE` …"""

    abandoned: bool = False
    """Whether the program that made it has ended."""

    requested: float = 0.0
    """When Ray was asked for it, in seconds since the epoch; 0 if it does not say."""

    attempts: int = 0
    """How often Ray has tried to place it."""

    @property
    def title(self) -> str:
        return self.name or self.id[:12]

    @property
    def settled(self) -> bool:
        """Whether it can be removed: Ray loses the resources of a group that is removed while it is being created."""
        return self.state not in ("PENDING", "PREPARED") or self.scheduling in ("NO_RESOURCES", "INFEASIBLE")


@dataclass(frozen=True, slots=True)
class Tables:
    """What the head knows, read at one moment."""

    nodes: tuple[RayNode, ...]
    actors: tuple[RayActor, ...] = ()
    groups: tuple[RayGroup, ...] = ()
    available: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By node id, what nobody has reserved."""

    def free(self, node: str, resource: str) -> int:
        """What is free of a resource on a node, in 1/10000."""
        return to_units(self.available.get(node, {}).get(resource, 0))
