"""What there is to place on: nodes, node groups, and how devices are numbered."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple

from placetui.placement.problems import PlacementError, Problem
from placetui.placement.wording import count, listing, quoted

CLUSTER = "cluster"
"""Label of all nodes with their accelerators."""

NODE_LABEL = "node"
"""Label of all nodes, whatever their hardware."""

ACCELERATOR = "Accelerator"
"""Hardware type of GPUs and their kin, whatever the vendor."""

DEFAULT_GPUS = 8
"""GPUs of a node that nothing is known about."""

_NO_HARDWARE: Mapping[str, int] = MappingProxyType({})
_OF_TOPOLOGY = ("rank", "groups", "hardware")

_MOST_NUMBERINGS = 16
"""Kept for a topology: a file names few combinations of groups."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine. Its rank is its place in the list of nodes."""

    gpus: int
    accelerator: str = "NV_GPU"
    """An `AcceleratorType` value; a node without GPUs counts as `NO_ACCEL`."""

    name: str = ""
    ip: str = ""
    memory_gib: float | None = None
    """Memory of each GPU, in GiB."""

    cpus: float | None = None
    """CPUs as Ray counts them; None where they are not known."""

    gpus_in_use: int = 0
    """GPUs that other jobs hold."""

    cpus_in_use: float = 0
    gpu_ids: tuple[int | str, ...] = ()
    """Physical ids of its GPUs as Ray gives them, text under CUDA_VISIBLE_DEVICES; empty where they are not known."""

    rank: int = 0
    """Set by the topology, as are the following."""

    groups: tuple[str, ...] = ()
    """Labels of the file's node groups that it belongs to."""

    hardware: Mapping[str, int] = field(default_factory=lambda: _NO_HARDWARE, hash=False)
    """Number of robots by hardware type."""

    def given(self) -> dict[str, Any]:
        """What was said of it, not what a topology adds, as JSON; see `from_given`."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _OF_TOPOLOGY}

    @classmethod
    def from_given(cls, said: Mapping[str, Any]) -> Node:
        return cls(**{**said, "gpu_ids": tuple(said.get("gpu_ids", ()))})

    def to_dict(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "name": self.name,
            "gpus": self.gpus,
            "groups": list(self.groups),
            "hardware": dict(self.hardware),
        }

    @property
    def accelerator_type(self) -> str:
        return self.accelerator if self.gpus else "NO_ACCEL"


class EnvConfig(NamedTuple):
    """Software environment of some nodes of a group."""

    node_ranks: tuple[int, ...]
    env_vars: tuple[tuple[str, str], ...] = ()
    python_interpreter_path: str | None = None


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes under a label, and the kind of device that is counted on them."""

    label: str
    node_ranks: tuple[int, ...]
    hardware_type: str | None
    """`Accelerator`, a robot type, or None: the nodes themselves are counted."""

    env_configs: tuple[EnvConfig, ...] = ()
    index: int | None = None
    """Place in the file's `node_groups`; None for the reserved groups."""

    @property
    def reserved(self) -> bool:
        return self.index is None


class DeviceBlock(NamedTuple):
    """Devices of one node within a numbering; or one node that counts as a device."""

    start: int
    """Number of its first device."""

    size: int
    node: int
    label: str
    hardware_type: str | None


class Numbering:
    """Devices (or nodes) of the selected groups, numbered 0, 1, 2, … in the order written."""

    def __init__(self, blocks: Sequence[DeviceBlock]) -> None:
        self.blocks = blocks
        self.total = blocks[-1].start + blocks[-1].size if blocks else 0
        self._starts = [block.start for block in blocks]

    def block_of(self, number: int) -> DeviceBlock:
        """The block that holds `number`, which must be within the numbering."""
        return self.blocks[bisect_right(self._starts, number) - 1]


class Topology:
    """Nodes in rank order, the file's groups over them and the reserved two, and robots by node and type."""

    def __init__(
        self,
        nodes: Sequence[Node],
        groups: Sequence[NodeGroup] = (),
        robots: Mapping[tuple[int, str], int] | None = None,
    ) -> None:
        everywhere = tuple(range(len(nodes)))
        has_gpus = any(node.gpus for node in nodes)
        reserved = (
            NodeGroup(CLUSTER, everywhere, ACCELERATOR if has_gpus else None),
            NodeGroup(NODE_LABEL, everywhere, None),
        )
        self.groups: Mapping[str, NodeGroup] = MappingProxyType({group.label: group for group in (*groups, *reserved)})
        self.robots: Mapping[tuple[int, str], int] = MappingProxyType(dict(robots or {}))
        self.nodes = self._ranked(nodes)
        self.given_names = tuple(node.name for node in nodes)
        """What `Placement.node_id` says of each node, where it says more than its rank."""
        self._numberings: dict[tuple[tuple[str, ...], bool], Numbering] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topology):
            return NotImplemented
        return self is other or (self.nodes, self.groups, self.robots) == (other.nodes, other.groups, other.robots)

    def __hash__(self) -> int:
        return hash((len(self.nodes), tuple(self.groups)))  # quick: it is part of many keys

    def _ranked(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        labels: list[tuple[str, ...]] = [()] * len(nodes)
        for group in self.groups.values():
            if not group.reserved:
                for rank in group.node_ranks:
                    labels[rank] = (*labels[rank], group.label)
        hardware: dict[int, dict[str, int]] = {}
        for (rank, kind), number in self.robots.items():
            hardware.setdefault(rank, {})[kind] = number
        return tuple(
            replace(
                node,
                name=node.name or f"node{rank}",
                rank=rank,
                groups=labels[rank],
                hardware=MappingProxyType(hardware[rank]) if rank in hardware else _NO_HARDWARE,
            )
            for rank, node in enumerate(nodes)
        )

    @property
    def num_nodes(self) -> int:
        return len(self.nodes)

    @property
    def num_accelerators(self) -> int:
        return self.first_gpu[-1]

    @cached_property
    def first_gpu(self) -> tuple[int, ...]:
        """By node, the number of its first GPU over all nodes; at the end their total."""
        return (0, *accumulate(node.gpus for node in self.nodes))

    @cached_property
    def visible(self) -> tuple[tuple[str, ...], ...]:
        """For each node, all its accelerators as a process sees them."""
        of_size = {size: tuple(map(str, range(size))) for size in {node.gpus for node in self.nodes}}
        return tuple(of_size[node.gpus] for node in self.nodes)

    @cached_property
    def robot_kinds(self) -> Mapping[str, str]:
        """Hardware type of the node groups that hold robots, by label."""
        return MappingProxyType(
            {
                label: group.hardware_type
                for label, group in self.groups.items()
                if group.hardware_type is not None and group.hardware_type != ACCELERATOR
            }
        )

    def devices_on(self, node: int, hardware_type: str) -> int:
        if hardware_type == ACCELERATOR:
            return self.nodes[node].gpus
        return self.robots.get((node, hardware_type), 0)

    def find_groups(self, labels: Sequence[str]) -> list[NodeGroup]:
        """The groups under these labels; raises `PlacementError` when one is not known."""
        for label in labels:
            if label not in self.groups:
                raise PlacementError([self.not_found(label)])
        return [self.groups[label] for label in labels]

    def not_found(self, label: str) -> Problem:
        """The problem of an unknown label, with the nearest known one."""
        near = next((known for known in self.groups if known.lower() == label.strip().lower()), None)
        known = f"the groups are {listing(quoted(self.groups))}"
        hint = f"write `{near}`: labels are case-sensitive" if near else known
        return Problem("node_group_not_found", f"there is no node group `{label}`", hint=hint)

    def numbering(self, labels: tuple[str, ...], *, by_node: bool = False) -> Numbering:
        """How the devices of these groups are numbered; with `by_node`, their nodes."""
        key = labels, by_node
        found = self._numberings.get(key)
        if found is None:
            found = self._number(labels, by_node)
            kept = self._numberings if len(self._numberings) < _MOST_NUMBERINGS else {}
            self._numberings = {**kept, key: found}  # another dict: two threads may plan on one topology
        return found

    def _number(self, labels: tuple[str, ...], by_node: bool) -> Numbering:
        blocks: list[DeviceBlock] = []
        start = 0
        for label in labels:
            group = self.groups[label]
            kind = None if by_node else group.hardware_type
            for node in group.node_ranks:
                size = 1 if kind is None else self.devices_on(node, kind)
                if size:
                    blocks.append(DeviceBlock(start, size, node, label, kind))
                    start += size
        return Numbering(blocks)

    def describe(self, labels: Sequence[str]) -> str:
        """In words, what a rule over these groups counts: `group a800 has 8 devices on node0`."""
        parts = []
        for label in labels:
            group = self.groups[label]
            where = listing((self.nodes[rank].name for rank in group.node_ranks), 4)
            if group.hardware_type is None:
                what = count(len(group.node_ranks), "node")
            else:
                total = sum(self.devices_on(node, group.hardware_type) for node in group.node_ranks)
                what = count(total, "device" if group.hardware_type == ACCELERATOR else group.hardware_type)
            name = "the cluster" if label == CLUSTER else f"group `{label}`"
            parts.append(f"{name} has {what} ({where})" if where else f"{name} has {what}")
        return " and ".join(parts)


def split_labels(value: Any) -> tuple[str, ...]:
    """Labels of `node_group`: a text, with commas for several, or a YAML list."""
    if isinstance(value, list):
        return tuple(one if isinstance(one, str) else str(one) for one in value)  # one may be unresolved
    if isinstance(value, str) and "," in value:
        return tuple(label.strip() for label in value.split(","))
    return (value if isinstance(value, str) else str(value),)
