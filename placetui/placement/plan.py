"""`Plan`: which rank of which component is on which node and device."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import attrgetter, le
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from placetui.placement.placements import Placement, Placements, unfixed
from placetui.placement.problems import Path, Problem
from placetui.placement.ranks import Segment
from placetui.placement.topology import CLUSTER, Node, Topology

TopologySource: TypeAlias = Literal["flag", "file", "ray", "assumed"]

SHARE_UNITS = 10_000
"""Shares are counted in integers of 1/10000, as Ray does."""

GPU = "gpu"
NODE = "node"

_NOTHING: Mapping[str, str] = MappingProxyType({})
_node_of = attrgetter("cluster_node_rank")


class Rule(NamedTuple):
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


class RankOfEngine(NamedTuple):
    """Which part of which rollout engine a rank is."""

    engine: int
    """Counted over the component."""

    part: int = 0
    parts: int = 1
    """Ranks that make up the engine: above 1 when it spans nodes."""

    group: str = ""
    """Its server group, `decode` or `ref/decode`; empty where all engines are alike."""

    number: int | None = None
    """The framework's own number of the rank, where it leaves some out; None: the rank itself."""


@dataclass(frozen=True, slots=True)
class Component:
    """One component, placed."""

    name: str
    rule: Rule
    strategy: Literal["packed", "flexible", "node"]
    placements: Sequence[Placement]
    """By rank."""

    units: int | None = None
    """Share of a device in 1/10000; None on nodes and robots, and where nothing is booked."""

    rank_units: Sequence[int | None] = ()
    """Share of each rank in 1/10000; given by a framework that sets them itself, with None where a rank books
    nothing."""

    reasons: tuple[str, ...] = ()
    """Sentences on how sizes in the file led to this placement (model parallel, slime)."""

    engines: tuple[RankOfEngine, ...] = ()
    """Of each rank; empty where ranks are no engines."""

    sized_elsewhere: bool = False
    """Whether its processes follow from sizes elsewhere in the file, and its rule only says which devices."""

    roles: tuple[str, ...] = ()
    """Roles that are fused into each of its processes; empty where the name says it all."""

    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Variables that the framework sets for its ranks, besides those of every rank."""

    group_name: str = ""
    """What its processes are called once they run, where the file says so."""

    def __post_init__(self) -> None:
        if not isinstance(self.placements, Placements):
            object.__setattr__(self, "placements", Placements(self.placements))
        object.__setattr__(self, "rank_units", tuple(self.rank_units))

    @property
    def world_size(self) -> int:
        """The processes that will run."""
        return len(self.placements)

    @property
    def not_fixed(self) -> str:
        """What the framework does not decide before launch: `GPUs` or `nodes`; empty where it decides everything."""
        if all(placement.fixed for placement in self.placements):
            return ""
        return "GPUs" if all(placement.node_fixed for placement in self.placements) else "nodes"

    @property
    def parts_per_engine(self) -> int | None:
        """Ranks that make up one rollout engine, the largest one; None where ranks are no engines."""
        return max((one.parts for one in self.engines), default=None)

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
            **({"roles": list(self.roles)} if self.roles else {}),
            "placements": [placement.to_dict() for placement in self.placements],
        }


class Occupant(NamedTuple):
    """One process on one device."""

    component: str
    rank: int
    share: float | None
    """Fraction of the device, 0 < share ≤ 1; None on nodes and robots."""

    group: str = ""
    """Server group of a rollout engine, where there are several."""

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"component": self.component, "rank": self.rank, "share": self.share}
        return {**found, "group": self.group} if self.group else found


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, a robot, or a node that holds processes without a device."""

    node: int
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
            "occupants": [occupant.to_dict() for occupant in self.occupants],
        }


class PlannedGroup(NamedTuple):
    """A placement group that the framework will request of Ray."""

    name: str
    strategy: Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"]
    bundles: int
    resources: Mapping[str, float]
    """Of each bundle."""

    nodes: tuple[int, ...] = ()
    """Node of each bundle, as drawn; empty where it would wait."""


class Service(NamedTuple):
    """A process that the framework itself adds and placetui only shows."""

    name: str
    node: int
    cpus: float


@dataclass(frozen=True)
class Plan:
    """A pure function of a file's text and a topology."""

    source: str
    framework: str
    """Name of the framework whose file it is; empty where that is not known."""

    mode: str
    """One of the framework's modes; its name where it has none."""

    placement_mode: str | None
    """`collocated`, `disaggregated`, `auto`, `hybrid`; None where the mode says it all."""

    topology_source: TopologySource
    topology: Topology = field(default_factory=lambda: Topology(()))
    components: Mapping[str, Component] = field(default_factory=dict)
    """In file order."""

    unplaced: tuple[str, ...] = ()
    """Components that the file names and that could not be placed, in file order."""

    problems: list[Problem] = field(default_factory=list)
    groups: tuple[PlannedGroup, ...] = ()
    """In the order of the requests; empty where they follow from the placements."""

    services: tuple[Service, ...] = ()
    reserved: int | None = None
    """Devices that the framework reserves, also those on which nothing will run; None: those with processes."""

    chooses_by_id: bool = False
    """Whether every process sees all devices of its node and chooses among them by id."""

    launch: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the file says under `placetui.launch`, by component."""

    memory: Mapping[str, float] = field(default_factory=dict)
    """What the file says under `placetui.memory`: the fraction of a device's memory above which a rank of the
    component is drift."""

    not_launched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By script of the framework, components that are planned and that it does not start."""

    letters: Mapping[str, str] = field(default_factory=dict)
    """Letters that the user has set for roles of components, for drawing."""

    def __post_init__(self) -> None:
        for name in ("components", "launch", "memory", "not_launched", "letters"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """In rank order."""
        return self.topology.nodes

    @cached_property
    def _by_node(self) -> list[tuple[Component, Sequence[Placement]]]:
        """The ranks of each component in the order of their nodes, which nearly always is that of the ranks."""
        found: list[tuple[Component, Sequence[Placement]]] = []
        for component in self.components.values():
            nodes = [placement.cluster_node_rank for placement in component.placements]
            ascending = all(map(le, nodes, islice(nodes, 1, None)))
            found.append((component, component.placements if ascending else sorted(component.placements, key=_node_of)))
        return found

    @cached_property
    def unfixed_nodes(self) -> frozenset[int]:
        """Nodes with ranks that the framework does not place before launch."""
        return frozenset(
            one.cluster_node_rank for component in self.components.values() for one in unfixed(component.placements)
        )

    def residents(self, node: int) -> Iterator[tuple[Component, Placement]]:
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

        Built on first use, so that a window of a large cluster is cheap.
        """
        devices = self._devices.get(node)
        if devices is None:
            devices = self._devices[node] = self._build_devices(self.nodes[node])
        return devices

    @property
    def devices(self) -> tuple[Device, ...]:
        """Every device of every node, empty ones too."""
        return tuple(device for node in self.nodes for device in self.devices_of(node.rank))

    def _build_devices(self, node: Node) -> tuple[Device, ...]:
        found: dict[tuple[str, int], list[tuple[Occupant, int]]] = {(GPU, i): [] for i in range(node.gpus)}
        for kind, number in node.hardware.items():
            found.update({(kind, i): [] for i in range(number)})
        for component, placement in self.residents(node.rank):
            rank = placement.rank
            kind = self.kind_of(placement)
            units = component.rank_units[rank] if component.rank_units else None
            group = component.engines[rank].group if component.engines else ""
            occupant = Occupant(component.name, rank, as_share(units), group)
            for index in placement.devices if kind != NODE else (0,):
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
        if not placement.devices:
            return NODE
        return self.topology.robot_kinds.get(placement.node_group_label, GPU)

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
