"""Packed, Flexible, Node: the strategies that the source documents name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placetui.placement.placements import Placement, Placements
from placetui.placement.placing import fail, place_flexible, place_nodes, place_packed
from placetui.placement.topology import CLUSTER, Node, Topology
from placetui.placement.wording import count


class PlacementStrategy:
    """How the processes of a group are placed; subclass it for a strategy of your own."""

    def get_placement(
        self,
        cluster: Any = None,
        isolate_accelerator: bool = True,
        *,
        num_gpus_per_node: int | None = None,
        isolate_gpu: bool | None = None,
    ) -> list[Placement]:
        """Placements by rank; raises `PlacementError` when a process cannot be placed.

        Args:
            cluster: the `Cluster` to place on; a number means a cluster of nodes with that many GPUs.
            isolate_accelerator: whether a process sees only the accelerators it owns.
            num_gpus_per_node: older spelling of `cluster` as a number.
            isolate_gpu: older spelling of `isolate_accelerator`.
        """
        cluster = num_gpus_per_node if cluster is None else cluster
        if cluster is None:
            raise TypeError("get_placement needs a cluster")
        if isolate_gpu is not None:
            isolate_accelerator = isolate_gpu
        if isinstance(cluster, int):
            cluster = Topology([Node(cluster)] * self._nodes_needed(cluster))
        return list(self.place(cluster, isolate_accelerator))

    def _nodes_needed(self, gpus: int) -> int:
        return 1

    def place(self, cluster: Topology, isolate: bool) -> Placements:
        raise TypeError(f"{type(self).__name__} must define get_placement(cluster, isolate_accelerator)")


class PackedPlacementStrategy(PlacementStrategy):
    """Consecutive devices for consecutive processes; a stride interleaves them."""

    def __init__(
        self,
        start_hardware_rank: int | None = None,
        end_hardware_rank: int | None = None,
        num_hardware_per_process: int | None = None,
        stride: int = 1,
        node_group: str | Sequence[str] | None = None,
        *,
        start_gpu_id: int | None = None,
        end_gpu_id: int | None = None,
        num_gpus_per_process: int | None = None,
        isolate_gpu: bool = True,
    ) -> None:
        """Devices from start to end, both included, in the numbering of the node groups.

        The span must be divisible by devices per process times stride. A stride above 1 puts the
        processes of a rollout on the same devices as the matching shards of training.
        """
        start = start_gpu_id if start_hardware_rank is None else start_hardware_rank
        end = end_gpu_id if end_hardware_rank is None else end_hardware_rank
        each = num_gpus_per_process if num_hardware_per_process is None else num_hardware_per_process
        if start is None or end is None:
            raise TypeError("PackedPlacementStrategy needs start_hardware_rank and end_hardware_rank")
        self.start_hardware_rank, self.end_hardware_rank = start, end
        self.num_hardware_per_process = each = 1 if each is None else each
        self.stride = stride
        self.labels = labels_of(node_group)
        self.isolate = isolate_gpu
        if start < 0 or end < 0:
            fail("negative_rank", f"device {min(start, end)} does not exist", "devices are numbered from 0")
        if end < start:
            fail(
                "end_before_start",
                f"the devices end at {end}, before they start at {start}",
                f"write {end} first and {start} second",
            )
        if each < 1 or stride < 1:
            fail("packed_size_invalid", f"{each} devices per process with stride {stride}", "both must be 1 or more")
        if (end - start + 1) % (each * stride):
            by = f"{each} per process" + (f" times stride {stride}" if stride > 1 else "")
            fail(
                "packed_not_divisible",
                f"{count(end - start + 1, 'device')} ({start}-{end}) cannot be divided by {by}",
                f"use a number of devices that is a multiple of {each * stride}",
            )

    def _nodes_needed(self, gpus: int) -> int:
        return self.end_hardware_rank // max(gpus, 1) + 1

    @property
    def key(self) -> tuple[Any, ...]:
        """All that the placements on a cluster depend on."""
        span = (self.labels, self.start_hardware_rank, self.end_hardware_rank)
        return ("packed", *span, self.num_hardware_per_process, self.stride, self.isolate)

    def place(self, cluster: Topology, isolate: bool) -> Placements:
        """As `get_placement`, for a cluster."""
        span = (self.labels, self.start_hardware_rank, self.end_hardware_rank)
        return place_packed(cluster, *span, self.num_hardware_per_process, self.stride, isolate and self.isolate)


class FlexiblePlacementStrategy(PlacementStrategy):
    """Any devices for each process, all on one node."""

    def __init__(
        self, hardware_ranks_list: Sequence[Sequence[int]], node_group_label: str | Sequence[str] | None = None
    ) -> None:
        self.hardware_ranks_list = [list(numbers) for numbers in hardware_ranks_list]
        self.labels = labels_of(node_group_label)
        named = [number for numbers in self.hardware_ranks_list for number in numbers]
        if not named:
            fail("empty_placement", "no process has a device", "name the devices of each process: `[[0], [1, 2]]`")
        if min(named) < 0:
            fail("negative_rank", f"device {min(named)} does not exist", "devices are numbered from 0")

    def _nodes_needed(self, gpus: int) -> int:
        return max(max(numbers, default=0) for numbers in self.hardware_ranks_list) // max(gpus, 1) + 1

    def place(self, cluster: Topology, isolate: bool) -> Placements:
        return place_flexible(cluster, self.labels, self.hardware_ranks_list, isolate)


class NodePlacementStrategy(PlacementStrategy):
    """Processes on nodes: each sees all accelerators of its node and owns none."""

    def __init__(self, node_ranks: Sequence[int], node_group_label: str | Sequence[str] | None = None) -> None:
        self.node_ranks = sorted(node_ranks)
        self.labels = labels_of(node_group_label)
        if not self.node_ranks:
            fail("empty_placement", "no process has a node", "name the node of each process: `[0, 0, 1]`")

    def _nodes_needed(self, gpus: int) -> int:
        return self.node_ranks[-1] + 1

    def place(self, cluster: Topology, isolate: bool) -> Placements:
        return place_nodes(cluster, self.labels, self.node_ranks, isolate)


def labels_of(labels: str | Sequence[str] | None) -> tuple[str, ...]:
    """A label, several of them, or none: the whole cluster."""
    if labels is None:
        return (CLUSTER,)
    return (labels,) if isinstance(labels, str) else tuple(map(str, labels))
