"""What there is to place on: nodes, node groups, and how devices are numbered."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from placetui.placement.problems import PlacementError, Problem, Problems, count, listing, quoted

CLUSTER = "cluster"
"""Label of all nodes with their accelerators."""

NODE_LABEL = "node"
"""Label of all nodes as such, hardware ignored."""

ACCELERATOR = "Accelerator"
"""Hardware type of GPUs and their kin, whatever the vendor."""

DEFAULT_GPUS = 8
"""GPUs of a node that nothing is known about."""


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

    @property
    def accelerator_type(self) -> str:
        return self.accelerator if self.gpus else "NO_ACCEL"


@dataclass(frozen=True, slots=True)
class EnvConfig:
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


@dataclass(frozen=True, slots=True)
class Block:
    """Devices of one node within a numbering; or one node, counted as such."""

    start: int
    """Number of its first device."""

    size: int
    node: int
    label: str
    hardware_type: str | None


class Numbering:
    """Devices (or nodes) of the selected groups, numbered 0, 1, 2, … in the order written."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.total = blocks[-1].start + blocks[-1].size if blocks else 0
        self._starts = [block.start for block in blocks]

    def block_of(self, number: int) -> Block:
        """The block that holds `number`, which must be within the numbering."""
        return self.blocks[bisect_right(self._starts, number) - 1]


class Cluster:
    """Nodes in rank order and the groups over them.

    Args:
        num_nodes: nodes in use; the rest of `nodes` is left out.
        cluster_cfg: the `cluster` section of a configuration.
        nodes: what there is. Without it, nodes of 8 GPUs are assumed.

    Raises:
        PlacementError: when `cluster_cfg` cannot be right.
    """

    def __init__(
        self,
        num_nodes: int | None = None,
        *,
        cluster_cfg: Mapping[str, Any] | None = None,
        nodes: Sequence[Node] | None = None,
    ) -> None:
        from placetui.placement.cluster_config import read_cluster

        section = dict(cluster_cfg) if cluster_cfg is not None else {}
        section.setdefault("component_placement", {})
        if num_nodes is not None:
            section["num_nodes"] = num_nodes
        elif nodes is not None:
            section.setdefault("num_nodes", len(nodes))
        problems = Problems()
        built = read_cluster(section, nodes, problems)
        problems.raise_if_blocking()
        self._set(built.nodes, built.groups, built.robots)

    @classmethod
    def build(
        cls,
        nodes: Sequence[Node],
        groups: Sequence[NodeGroup] = (),
        robots: Mapping[tuple[int, str], int] | None = None,
    ) -> Cluster:
        """A cluster from parts that are known to be right.

        Args:
            nodes: all of them, in rank order.
            groups: the file's groups, in file order; the reserved two are added.
            robots: number of devices by (node rank, hardware type).
        """
        cluster = cls.__new__(cls)
        everywhere = tuple(range(len(nodes)))
        has_gpus = any(node.gpus for node in nodes)
        reserved = (
            NodeGroup(CLUSTER, everywhere, ACCELERATOR if has_gpus else None),
            NodeGroup(NODE_LABEL, everywhere, None),
        )
        cluster._set(tuple(nodes), {group.label: group for group in (*groups, *reserved)}, dict(robots or {}))
        return cluster

    def _set(
        self, nodes: tuple[Node, ...], groups: Mapping[str, NodeGroup], robots: Mapping[tuple[int, str], int]
    ) -> None:
        self.nodes = nodes
        self.groups = groups
        self.robots = robots
        self.placed: dict[Any, Any] = {}
        """Placements by everything that leads to them; see `strategies`."""
        self._numberings: dict[tuple[str, ...], Numbering] = {}

    @property
    def num_nodes(self) -> int:
        return len(self.nodes)

    @property
    def num_accelerators(self) -> int:
        return sum(node.gpus for node in self.nodes)

    @cached_property
    def visible(self) -> list[list[str]]:
        """For each node, all its accelerators as a process sees them."""
        return [[str(index) for index in range(node.gpus)] for node in self.nodes]

    @cached_property
    def names(self) -> list[str]:
        return [node.name or f"node{rank}" for rank, node in enumerate(self.nodes)]

    @cached_property
    def node_ids(self) -> list[str]:
        """What `Placement.node_id` says of each node, where it says more than its rank."""
        return [node.name for node in self.nodes]

    @cached_property
    def _robots_by_node(self) -> dict[int, dict[str, int]]:
        found: dict[int, dict[str, int]] = {}
        for (node, kind), number in self.robots.items():
            found.setdefault(node, {})[kind] = number
        return found

    def robots_of(self, node: int) -> dict[str, int]:
        """Number of robots on a node, by hardware type."""
        return self._robots_by_node.get(node, {})

    def devices_on(self, node: int, hardware_type: str) -> int:
        if hardware_type == ACCELERATOR:
            return self.nodes[node].gpus
        return self.robots.get((node, hardware_type), 0)

    def find_groups(self, labels: Sequence[str]) -> list[NodeGroup]:
        """The groups under these labels.

        Raises:
            PlacementError: when a label is not known.
        """
        for label in labels:
            if label not in self.groups:
                raise PlacementError([self.not_found(label)])
        return [self.groups[label] for label in labels]

    def not_found(self, label: str) -> Problem:
        """The problem of an unknown label, with the nearest known one."""
        near = next((known for known in self.groups if known.lower() == label.strip().lower()), None)
        known = f"the groups are {listing(quoted(self.groups))}"
        hint = f"write `{near}`: labels are compared to the letter" if near else known
        return Problem("node_group_not_found", f"there is no node group `{label}`", hint=hint)

    def numbering(self, labels: tuple[str, ...], *, by_node: bool = False) -> Numbering:
        """How the devices of these groups are numbered; with `by_node`, their nodes."""
        key = ("#nodes", *labels) if by_node else labels
        found = self._numberings.get(key)
        if found is None:
            found = self._numberings[key] = self._number(labels, by_node)
        return found

    def _number(self, labels: tuple[str, ...], by_node: bool) -> Numbering:
        blocks: list[Block] = []
        start = 0
        for label in labels:
            group = self.groups[label]
            kind = None if by_node else group.hardware_type
            for node in group.node_ranks:
                size = 1 if kind is None else self.devices_on(node, kind)
                if size:
                    blocks.append(Block(start, size, node, label, kind))
                    start += size
        return Numbering(blocks)

    def describe(self, labels: Sequence[str]) -> str:
        """In words, what a rule over these groups counts: `group a800 has 8 devices on node0`."""
        parts = []
        for label in labels:
            group = self.groups[label]
            where = listing((self.names[rank] for rank in group.node_ranks), 4)
            if group.hardware_type is None:
                what = count(len(group.node_ranks), "node")
            else:
                total = sum(self.devices_on(node, group.hardware_type) for node in group.node_ranks)
                what = count(total, "device" if group.hardware_type == ACCELERATOR else group.hardware_type)
            name = "the cluster" if label == CLUSTER else f"group `{label}`"
            parts.append(f"{name} has {what} ({where})" if where else f"{name} has {what}")
        return " and ".join(parts)
