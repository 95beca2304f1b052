"""Packed, Flexible, Node: from device numbers to placements."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NoReturn

from placetui.placement.placements import Placement, set_node_id
from placetui.placement.problems import PlacementError, Problem, count, listing, quoted
from placetui.placement.topology import ACCELERATOR, CLUSTER, Block, Cluster, Node, Numbering

Seat = tuple[Block, list[int]]
"""Where one process sits: its first device's block, and device indices within the node."""


def fail(rule: str, message: str, hint: str = "") -> NoReturn:
    """Raise the error for one problem that has no place in a file yet."""
    raise PlacementError([Problem(rule, message, hint=hint)])


# What the strategies compute, as functions of a cluster.


def place_runs(
    cluster: Cluster, labels: tuple[str, ...], runs: Sequence[tuple[int, int]], isolate: bool
) -> list[Placement]:
    """Flexible placement of (first device, number of devices) runs that ascend."""
    return build(cluster, _seats_of_runs(cluster, cluster.numbering(labels), runs), isolate, ascending=True)


def _seats_of_runs(cluster: Cluster, numbering: Numbering, runs: Sequence[tuple[int, int]]) -> Iterator[Seat]:
    block: Block | None = None
    start = stop = 0
    for rank, (first, size) in enumerate(runs):
        if block is None or not start <= first < stop:
            block = numbering.block_of(first)
            start, stop = block.start, block.start + block.size
        if first + size > stop:
            yield _seat(cluster, numbering, range(first, first + size), rank)
        elif size == 1:
            yield block, [first - start]
        else:
            yield block, list(range(first - start, first - start + size))


def place_flexible(
    cluster: Cluster, labels: tuple[str, ...], processes: Sequence[Sequence[int]], isolate: bool
) -> list[Placement]:
    """Flexible placement of any lists of device numbers."""
    cluster.find_groups(labels)
    numbering = cluster.numbering(labels)
    for numbers in processes:
        for number in numbers:
            _check_number(cluster, labels, numbering, number)
    in_order = sorted((sorted(numbers) for numbers in processes), key=lambda numbers: numbers[:1])
    seats = [_seat(cluster, numbering, numbers, rank) for rank, numbers in enumerate(in_order)]
    return build(cluster, seats, isolate, ascending=True)


def _seat(cluster: Cluster, numbering: Numbering, numbers: Sequence[int], rank: int) -> Seat:
    """The seat of one process over several devices, after all checks."""
    if not numbers:
        hint = "name the devices of each process: `[[0], [1, 2]]`"
        fail("process_across_nodes", "one of the processes has no device", hint)
    blocks = [numbering.block_of(number) for number in numbers]
    where = listing(numbers)
    nodes = sorted({block.node for block in blocks})
    if len(nodes) != 1:
        names = listing(cluster.names[node] for node in nodes)
        fail(
            "process_across_nodes",
            f"process {rank} must sit on one node, but its devices {where} lie on {names}",
            "choose devices per process so that no process crosses from one node to the next",
        )
    if len(set(numbers)) != len(numbers):
        fail("process_duplicate_hardware", f"process {rank} names a device twice: {where}", "name each device once")
    kinds = {block.hardware_type for block in blocks}
    if None in kinds:
        fail(
            "needs_hardware",
            f"process {rank} names {cluster.names[nodes[0]]}, which has no devices in `{blocks[0].label}`",
            "use `NodePlacementStrategy` for processes on nodes",
        )
    if len(kinds) != 1:
        fail(
            "process_mixed_hardware",
            f"process {rank} mixes {listing(sorted(map(str, kinds)))} (devices {where})",
            "give a process devices of one kind",
        )
    local = [number - block.start for number, block in zip(numbers, blocks, strict=True)]
    if len(set(local)) != len(local):
        fail(
            "process_duplicate_hardware",
            f"process {rank} gets the same device of {cluster.names[nodes[0]]} twice (devices {where})",
            "the selected groups share nodes: use groups that do not overlap",
        )
    return blocks[0], local


def place_packed(
    cluster: Cluster, labels: tuple[str, ...], start: int, end: int, each: int, stride: int, isolate: bool
) -> list[Placement]:
    """Packed placement over the device numbers start to end, both included."""
    groups = cluster.find_groups(labels)
    bare = [group.label for group in groups if group.hardware_type is None]
    if bare:
        fail(
            "packed_needs_hardware",
            f"packed placement needs devices: {cluster.describe(bare)}",
            "choose a group whose nodes have accelerators",
        )
    numbering = cluster.numbering(labels)
    for number in (start, end):
        _check_number(cluster, labels, numbering, number)
    seats: list[Seat] = []
    block = numbering.block_of(start)
    reach = (each - 1) * stride
    for base in range(start, end + 1, each * stride):
        for first in range(base, base + stride):
            if first >= block.start + block.size:
                block = numbering.block_of(first)
            local = first - block.start
            if local + reach >= block.size:
                fail(
                    "process_across_nodes",
                    f"process {len(seats)} takes {count(each, 'device')} from device {first} on"
                    f"{f' with stride {stride}' if stride > 1 else ''}, more than {cluster.names[block.node]} has left",
                    "choose sizes so that no process crosses from one node to the next",
                )
            seats.append((block, [local] if each == 1 else list(range(local, local + reach + 1, stride))))
    return build(cluster, seats, isolate, ascending=False)


def place_nodes(cluster: Cluster, labels: tuple[str, ...], positions: Sequence[int], isolate: bool) -> list[Placement]:
    """One process per entry; numbers are positions in the groups' nodes."""
    seen: set[int] = set()
    for group in cluster.find_groups(labels):
        shared = seen.intersection(group.node_ranks)
        if shared:
            fail(
                "node_groups_overlap",
                f"the groups {listing(quoted(labels))} share {listing(cluster.names[node] for node in sorted(shared))}",
                "processes on nodes need groups that do not overlap",
            )
        seen.update(group.node_ranks)
    numbering = cluster.numbering(labels, by_node=True)
    for position in positions:
        if not 0 <= position < numbering.total:
            fail(
                "node_rank_out_of_range",
                f"node {position} does not exist: {listing(quoted(labels))} {'hold' if len(labels) > 1 else 'holds'} "
                f"{count(numbering.total, 'node')}",
                "when a group has no hardware, the numbers of the whole rule mean nodes",
            )
    seats: list[Seat] = [(numbering.blocks[position], []) for position in sorted(positions)]
    return build(cluster, seats, isolate, ascending=True)


def build(cluster: Cluster, seats: Iterable[Seat], isolate: bool, *, ascending: bool) -> list[Placement]:
    """Placements by rank; with `ascending`, nodes must come in the order of their ranks."""
    collecting = gc.isenabled()
    gc.disable()  # many small objects without cycles: collecting meanwhile costs a third of the time
    try:
        return _build(cluster, seats, isolate, ascending)
    finally:
        if collecting:
            gc.enable()


def _build(cluster: Cluster, seats: Iterable[Seat], isolate: bool, ascending: bool) -> list[Placement]:
    placements: list[Placement] = []
    before = -1
    for position, (node, run) in enumerate(groupby(seats, key=lambda seat: seat[0].node)):
        if ascending and node <= before:
            fail(
                "nodes_not_sorted",
                f"ranks would go back from {cluster.names[before]} to {cluster.names[node]}",
                "list the node groups so that their nodes ascend, and use groups that do not overlap",
            )
        before = node
        together = list(run)
        size = len(together)
        everything = cluster.visible[node]
        first_visible = 0 if everything else -1
        accelerator = cluster.nodes[node].accelerator_type
        name = cluster.node_ids[node]
        for local_rank, (block, local) in enumerate(together):
            if isolate and block.hardware_type == ACCELERATOR:
                first = local[0]
                visible = [everything[first]] if len(local) == 1 else [everything[index] for index in local]
            else:
                first, visible = first_visible, everything
            placement = Placement(
                len(placements),
                node,
                position,
                first,
                accelerator,
                local_rank,
                size,
                visible,
                isolate,
                local,
                block.label,
            )
            if name:
                set_node_id(placement, name)
            placements.append(placement)
    return placements


def _check_number(cluster: Cluster, labels: tuple[str, ...], numbering: Numbering, number: int) -> None:
    if not 0 <= number < numbering.total:
        fail(
            "hardware_rank_out_of_range",
            f"device {number} does not exist: {cluster.describe(labels)}",
            f"devices are numbered from 0 to {numbering.total - 1}"
            if numbering.total
            else "choose a group that has devices",
        )


# The classes that the source documents name.


class PlacementStrategy:
    """How the processes of a group are placed; subclass it for a strategy of your own."""

    def get_placement(
        self,
        cluster: Cluster | int | None = None,
        isolate_accelerator: bool = True,
        *,
        num_gpus_per_node: int | None = None,
        isolate_gpu: bool | None = None,
    ) -> list[Placement]:
        """Placements by rank.

        Args:
            cluster: what to place on; a number means a cluster of nodes with that many GPUs.
            isolate_accelerator: whether a process sees only the accelerators it owns.
            num_gpus_per_node: older spelling of `cluster` as a number.
            isolate_gpu: older spelling of `isolate_accelerator`.

        Raises:
            PlacementError: when a process cannot be placed.
        """
        cluster = num_gpus_per_node if cluster is None else cluster
        if cluster is None:
            raise TypeError("get_placement needs a cluster")
        if isolate_gpu is not None:
            isolate_accelerator = isolate_gpu
        if isinstance(cluster, int):
            cluster = Cluster.build([Node(cluster)] * self._nodes_needed(cluster))
        return list(self._place(cluster, isolate_accelerator))

    def _nodes_needed(self, gpus: int) -> int:
        return 1

    def _place(self, cluster: Cluster, isolate: bool) -> Sequence[Placement]:
        raise TypeError(f"{type(self).__name__} must define get_placement(cluster, isolate_accelerator)")


MOST_KEPT = 150_000
"""Placements that are kept for one cluster: about 75 MB."""


def cached(cluster: Cluster, key: Hashable, place: Callable[[], Sequence[Placement]]) -> Sequence[Placement]:
    """Placements of one cluster are computed once for the same key."""
    found: Sequence[Placement] | None = cluster.placed.get(key)
    if found is None:
        kept = sum(len(one) for one in cluster.placed.values() if isinstance(one, list))
        if kept > MOST_KEPT or len(cluster.placed) > 2_000:  # a person typing leaves many rules behind
            cluster.placed.clear()
        found = cluster.placed[key] = place()
    return found


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

    def _place(self, cluster: Cluster, isolate: bool) -> Sequence[Placement]:
        span = (self.labels, self.start_hardware_rank, self.end_hardware_rank)
        size = (self.num_hardware_per_process, self.stride, isolate and self.isolate)
        return cached(cluster, ("packed", *span, *size), lambda: place_packed(cluster, *span, *size))


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

    def _place(self, cluster: Cluster, isolate: bool) -> Sequence[Placement]:
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

    def _place(self, cluster: Cluster, isolate: bool) -> Sequence[Placement]:
        return place_nodes(cluster, self.labels, self.node_ranks, isolate)


def labels_of(labels: str | Sequence[str] | None) -> tuple[str, ...]:
    """A label, several of them, or none: the whole cluster."""
    if labels is None:
        return (CLUSTER,)
    return (labels,) if isinstance(labels, str) else tuple(map(str, labels))
