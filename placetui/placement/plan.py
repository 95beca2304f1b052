"""`Plan`: which rank of which component is on which node and device."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import attrgetter, le
from typing import Any, Literal, TypeAlias

from placetui.placement.placements import Placement
from placetui.placement.problems import Path, Problem
from placetui.placement.ranks import Segment
from placetui.placement.topology import CLUSTER, Cluster, NodeGroup

TopologySource: TypeAlias = Literal["flag", "file", "ray", "assumed"]

SHARE_UNITS = 10_000
"""Shares are counted in integers of 1/10000, as Ray does."""

GPU = "gpu"
NODE = "node"

_node_of = attrgetter("cluster_node_rank")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a file says about a component."""

    text: str
    """As written: `0-7`, `0-1:0-3,4-5`; a summary for slime files."""

    path: Path
    """Where it stands in the file."""

    groups: tuple[str, ...] = (CLUSTER,)
    """Node groups it counts over, in order."""

    segments: tuple[Segment, ...] = ()
    keys: tuple[str, ...] = ()
    """All components that share this rule."""


@dataclass(frozen=True, slots=True)
class Component:
    """One component, placed."""

    name: str
    rule: Rule
    strategy: Literal["packed", "flexible", "node"]
    placements: Sequence[Placement]
    """By rank."""

    units: int | None = None
    """Share of a device in 1/10000; None on nodes and robots."""

    rank_units: Sequence[int | None] = ()
    """Share of each rank in 1/10000."""

    reasons: tuple[str, ...] = ()
    """Sentences on how sizes in the file led to this placement (model parallel, slime)."""

    parts_per_engine: int = 1
    """slime rollout: ranks that make up one engine (above 1 when it spans nodes)."""

    @property
    def world_size(self) -> int:
        """The processes that will run."""
        return len(self.placements)

    @property
    def num_nodes(self) -> int:
        """Nodes that it uses."""
        return 1 + max((placement.placement_node_rank for placement in self.placements), default=-1)

    @property
    def num_devices(self) -> int:
        """Devices that its ranks own, each counted once."""
        if self.strategy == "flexible" and self.rule.segments:
            return sum(len(segment.resources) for segment in self.rule.segments)
        return len({(one.cluster_node_rank, index) for one in self.placements for index in one.local_hardware_ranks})

    @property
    def share(self) -> float | None:
        """Fraction of a device, 0 < share ≤ 1; None on nodes and robots."""
        return as_share(self.units)

    def rank_share(self, rank: int) -> float | None:
        """What rank `rank` holds of each of its devices."""
        return as_share(self.rank_units[rank]) if self.rank_units else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "world_size": self.world_size,
            "share": self.share,
            "strategy": self.strategy,
            "placements": [placement.to_dict() for placement in self.placements],
        }


@dataclass(frozen=True, slots=True)
class Occupant:
    """One process on one device."""

    component: str
    rank: int
    share: float | None
    """Fraction of the device, 0 < share ≤ 1; None on nodes and robots."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, a robot, or a node that processes sit on as such."""

    node: int
    """Rank of its node."""

    index: int
    """Position among the node's devices of this kind."""

    kind: str
    """`gpu`, `node`, or the hardware type of a robot."""

    occupants: tuple[Occupant, ...] = ()
    total_share: float | None = None
    """Sum of the occupants' shares; None on nodes and robots."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "index": self.index,
            "kind": self.kind,
            "total_share": self.total_share,
            "occupants": [{"component": one.component, "rank": one.rank, "share": one.share} for one in self.occupants],
        }


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node of the plan."""

    rank: int
    name: str
    ip: str
    gpus: int
    accelerator: str
    groups: tuple[str, ...]
    """Labels of the file's node groups that it belongs to."""

    hardware: Mapping[str, int]
    """Number of robots by hardware type."""

    memory_gib: float | None = None
    """Memory of each GPU where known, in GiB."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "name": self.name,
            "gpus": self.gpus,
            "groups": list(self.groups),
            "hardware": dict(self.hardware),
        }


@dataclass(frozen=True, slots=True)
class Service:
    """A process that the framework itself adds and placetui only shows."""

    name: str
    node: int
    cpus: float


@dataclass(frozen=True)
class Plan:
    """A pure function of a file's text and a topology."""

    source: str
    """The file it was read from."""

    mode: str
    """`component`, `hybrid`, `model_parallel`, …, or `slime`."""

    placement_mode: str | None
    """`collocated`, `disaggregated`, `auto`, `hybrid`; None for `component` and slime."""

    topology_source: TopologySource
    nodes: tuple[PlanNode, ...]
    components: Mapping[str, Component]
    problems: list[Problem] = field(default_factory=list)
    services: tuple[Service, ...] = ()

    @cached_property
    def _by_node(self) -> list[tuple[Component, Sequence[Placement]]]:
        """The ranks of each component in the order of their nodes, which nearly always is that of the ranks."""
        found: list[tuple[Component, Sequence[Placement]]] = []
        for component in self.components.values():
            nodes = [placement.cluster_node_rank for placement in component.placements]
            ascending = all(map(le, nodes, islice(nodes, 1, None)))
            found.append((component, component.placements if ascending else sorted(component.placements, key=_node_of)))
        return found

    def _residents(self, node: int) -> Iterator[tuple[Component, Placement]]:
        """The ranks on a node, by component in file order."""
        for component, placements in self._by_node:
            for position in range(bisect_left(placements, node, key=_node_of), len(placements)):
                if placements[position].cluster_node_rank != node:
                    break
                yield component, placements[position]

    @cached_property
    def _devices(self) -> dict[int, tuple[Device, ...]]:
        return {}

    def devices_of(self, node: int) -> tuple[Device, ...]:
        """Devices of one node: GPUs, then robots, then the node itself if processes sit on it.

        Built when first asked for, so that a window of a large cluster is cheap.
        """
        devices = self._devices.get(node)
        if devices is None:
            devices = self._devices[node] = self._build_devices(self.nodes[node])
        return devices

    @property
    def devices(self) -> tuple[Device, ...]:
        """Every device of every node, empty ones too."""
        return tuple(device for node in self.nodes for device in self.devices_of(node.rank))

    def _build_devices(self, node: PlanNode) -> tuple[Device, ...]:
        found: dict[tuple[str, int], list[tuple[Occupant, int]]] = {(GPU, i): [] for i in range(node.gpus)}
        for kind, number in node.hardware.items():
            found.update({(kind, i): [] for i in range(number)})
        for component, placement in self._residents(node.rank):
            rank = placement.rank
            kind = self.kind_of(placement)
            units = component.rank_units[rank] if component.rank_units else None
            occupant = Occupant(component.name, rank, as_share(units))
            for index in placement.local_hardware_ranks if kind != NODE else (0,):
                found.setdefault((kind, index), []).append((occupant, units or 0))
        return tuple(
            Device(
                node.rank,
                index,
                kind,
                tuple(occupant for occupant, _ in held),
                as_share(sum(units for _, units in held)) if kind == GPU else None,
            )
            for (kind, index), held in found.items()
        )

    def kind_of(self, placement: Placement) -> str:
        """What the devices of a placement are: `gpu`, `node`, or a hardware type."""
        if not placement.local_hardware_ranks:
            return NODE
        return self.group_kinds.get(placement.node_group_label, GPU)

    group_kinds: Mapping[str, str] = field(default_factory=dict)
    """Hardware type of the node groups that hold robots."""

    groups: Mapping[str, NodeGroup] = field(default_factory=dict)
    """Node groups by label, the reserved ones too; none in slime files."""

    launch: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the file says under `placetui.launch`, by component."""

    memory: Mapping[str, float] = field(default_factory=dict)
    """What the file says under `placetui.memory`: the fraction of a device's memory above which a rank of the
    component is drift."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `placetui show --format json`."""
        return {
            "schema": 1,
            "source": self.source,
            "mode": self.mode,
            "placement_mode": self.placement_mode,
            "topology_source": self.topology_source,
            "nodes": [node.to_dict() for node in self.nodes],
            "components": {name: component.to_dict() for name, component in self.components.items()},
            "devices": [device.to_dict() for device in self.devices],
            "problems": [problem.to_dict() for problem in self.problems],
        }


def as_share(units: int | None) -> float | None:
    """A share as people write it."""
    return None if units is None else units / SHARE_UNITS


def plan_nodes(cluster: Cluster) -> tuple[PlanNode, ...]:
    """The nodes of a cluster as a plan shows them."""
    labels: list[list[str]] = [[] for _ in cluster.nodes]
    for group in cluster.groups.values():
        if not group.reserved:
            for rank in group.node_ranks:
                labels[rank].append(group.label)
    return tuple(
        PlanNode(
            rank=rank,
            name=node.name or f"node{rank}",
            ip=node.ip,
            gpus=node.gpus,
            accelerator=node.accelerator,
            groups=tuple(labels[rank]),
            hardware=cluster.robots_of(rank),
            memory_gib=node.memory_gib,
        )
        for rank, node in enumerate(cluster.nodes)
    )
