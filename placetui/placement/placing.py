"""From device numbers to placements: what the strategies compute, as functions of a cluster."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NoReturn, TypeAlias

from placetui.placement.placements import Placement, Placements, set_node_id
from placetui.placement.problems import PlacementError, Problem
from placetui.placement.topology import ACCELERATOR, CLUSTER, DeviceBlock, Node, Numbering, Topology
from placetui.placement.wording import count, listing, quoted

Slot: TypeAlias = tuple[DeviceBlock, tuple[int, ...]]
"""Of one process: its first device's block, and device indices within the node."""


def fail(rule: str, message: str, hint: str = "") -> NoReturn:
    """Raise the error for one problem that has no place in a file yet."""
    raise PlacementError([Problem(rule, message, hint=hint)])


def place_runs(
    cluster: Topology, labels: tuple[str, ...], runs: Sequence[tuple[int, int]], isolate: bool
) -> Placements:
    """Flexible placement of (first device, number of devices) runs that ascend."""
    return build(cluster, _slots_of_runs(cluster, cluster.numbering(labels), runs), isolate, ascending=True)


def _slots_of_runs(cluster: Topology, numbering: Numbering, runs: Sequence[tuple[int, int]]) -> Iterator[Slot]:
    block: DeviceBlock | None = None
    start = stop = 0
    for rank, (first, size) in enumerate(runs):
        if block is None or not start <= first < stop:
            block = numbering.block_of(first)
            start, stop = block.start, block.start + block.size
        if first + size > stop:
            yield _slot(cluster, numbering, range(first, first + size), rank)
        elif size == 1:
            yield block, (first - start,)
        else:
            yield block, tuple(range(first - start, first - start + size))


def place_flexible(
    cluster: Topology, labels: tuple[str, ...], processes: Sequence[Sequence[int]], isolate: bool
) -> Placements:
    """Flexible placement of any lists of device numbers."""
    cluster.find_groups(labels)
    numbering = cluster.numbering(labels)
    for numbers in processes:
        for number in numbers:
            _check_number(cluster, labels, numbering, number)
    in_order = sorted((sorted(numbers) for numbers in processes), key=lambda numbers: numbers[:1])
    slots = [_slot(cluster, numbering, numbers, rank) for rank, numbers in enumerate(in_order)]
    return build(cluster, slots, isolate, ascending=True)


def _slot(cluster: Topology, numbering: Numbering, numbers: Sequence[int], rank: int) -> Slot:
    """The slot of one process over several devices, after all checks."""
    if not numbers:
        hint = "name the devices of each process: `[[0], [1, 2]]`"
        fail("process_across_nodes", "one of the processes has no device", hint)
    blocks = [numbering.block_of(number) for number in numbers]
    where = listing(numbers)
    nodes = sorted({block.node for block in blocks})
    if len(nodes) != 1:
        names = listing(cluster.nodes[node].name for node in nodes)
        fail(
            "process_across_nodes",
            f"process {rank} must be on one node, but its devices {where} lie on {names}",
            "choose devices per process so that no process crosses from one node to the next",
        )
    if len(set(numbers)) != len(numbers):
        fail("process_duplicate_hardware", f"process {rank} names a device twice: {where}", "name each device once")
    kinds = {block.hardware_type for block in blocks}
    if None in kinds:
        fail(
            "needs_hardware",
            f"process {rank} names {cluster.nodes[nodes[0]].name}, which has no devices in `{blocks[0].label}`",
            "use `NodePlacementStrategy` for processes on nodes",
        )
    if len(kinds) != 1:
        _mixed(rank, kinds, numbers)
    local = tuple(number - block.start for number, block in zip(numbers, blocks, strict=True))
    if len(set(local)) != len(local):
        fail(
            "process_duplicate_hardware",
            f"process {rank} gets the same device of {cluster.nodes[nodes[0]].name} twice (devices {where})",
            "the selected groups share nodes: use groups that do not overlap",
        )
    return blocks[0], local


def _mixed(rank: int, kinds: Iterable[str | None], numbers: Sequence[int]) -> NoReturn:
    what = f"process {rank} mixes {listing(sorted(map(str, kinds)))} (devices {listing(numbers)})"
    fail("process_mixed_hardware", what, "give a process devices of one kind")


def place_packed(
    cluster: Topology, labels: tuple[str, ...], start: int, end: int, each: int, stride: int, isolate: bool
) -> Placements:
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
    slots: list[Slot] = []
    block = numbering.block_of(start)
    reach = (each - 1) * stride
    for base in range(start, end + 1, each * stride):
        for first in range(base, base + stride):
            if first >= block.start + block.size:
                block = numbering.block_of(first)
            local = first - block.start
            if local + reach >= block.size:
                numbers = range(first, first + reach + 1, stride)
                kinds = {numbering.block_of(number).hardware_type for number in numbers}
                if local + reach == block.size and len(kinds) > 1:
                    _mixed(len(slots), kinds, numbers)
                fail(
                    "process_across_nodes",
                    f"process {len(slots)} takes {count(each, 'device')} from device {first} on"
                    f"{f' with stride {stride}' if stride > 1 else ''}, "
                    f"more than {cluster.nodes[block.node].name} has left",
                    "choose sizes so that no process crosses from one node to the next",
                )
            slots.append((block, tuple(range(local, local + reach + 1, stride))))
    return build(cluster, slots, isolate, ascending=False)


def place_nodes(cluster: Topology, labels: tuple[str, ...], positions: Sequence[int], isolate: bool) -> Placements:
    """One process per entry; numbers are positions in the groups' nodes."""
    seen: set[int] = set()
    for group in cluster.find_groups(labels):
        shared = sorted(seen.intersection(group.node_ranks))
        if shared:
            names = listing(cluster.nodes[node].name for node in shared)
            fail(
                "node_groups_overlap",
                f"the groups {listing(quoted(labels))} share {names}",
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
    slots: list[Slot] = [(numbering.blocks[position], ()) for position in sorted(positions)]
    return build(cluster, slots, isolate, ascending=True)


def build(cluster: Topology, slots: Iterable[Slot], isolate: bool, *, ascending: bool) -> Placements:
    """Placements by rank; with `ascending`, nodes must come in the order of their ranks."""
    collecting = gc.isenabled()
    gc.disable()  # many small objects without cycles: collecting meanwhile costs a third of the time
    try:
        return _build(cluster, slots, isolate, ascending)
    finally:
        if collecting:
            gc.enable()


def _build(cluster: Topology, slots: Iterable[Slot], isolate: bool, ascending: bool) -> Placements:
    placements: list[Placement] = []
    before = -1
    for position, (node, run) in enumerate(groupby(slots, key=lambda slot: slot[0].node)):
        if ascending and node <= before:
            fail(
                "nodes_not_sorted",
                f"ranks would go back from {cluster.nodes[before].name} to {cluster.nodes[node].name}",
                "list the node groups so that their nodes ascend, and use groups that do not overlap",
            )
        before = node
        together = list(run)
        size = len(together)
        everything = cluster.visible[node]
        first_visible = 0 if everything else -1
        accelerator = cluster.nodes[node].accelerator_type
        name = cluster.given_names[node]
        for local_rank, (block, local) in enumerate(together):
            if isolate and block.hardware_type == ACCELERATOR:
                first = local[0]
                visible = everything[first : first + 1] if len(local) == 1 else tuple(everything[i] for i in local)
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
    return Placements(placements)


def place_each(nodes: Sequence[Node], ranks: Sequence[tuple[int, Sequence[int]]], isolate: bool) -> list[Placement]:
    """Ranks of which node and GPUs are known, in their order; with `isolate` each sees only its own GPUs."""
    together = Counter(node for node, _ in ranks)
    order = {node: position for position, node in enumerate(together)}
    everything = {node: tuple(map(str, range(nodes[node].gpus))) for node in together}
    before: Counter[int] = Counter()
    placements: list[Placement] = []
    for rank, (node, gpus) in enumerate(ranks):
        placement = Placement(
            rank=rank,
            cluster_node_rank=node,
            placement_node_rank=order[node],
            local_accelerator_rank=gpus[0] if gpus else -1,
            accelerator_type=nodes[node].accelerator_type,
            local_rank=before[node],
            local_world_size=together[node],
            visible_accelerators=tuple(map(str, gpus)) if isolate else everything[node],
            isolate_accelerator=isolate,
            local_hardware_ranks=gpus,
            node_group_label=CLUSTER,
        )
        before[node] += 1
        set_node_id(placement, nodes[node].name or f"node{node}")
        placements.append(placement)
    return placements


def _check_number(cluster: Topology, labels: tuple[str, ...], numbering: Numbering, number: int) -> None:
    if not 0 <= number < numbering.total:
        fail(
            "hardware_rank_out_of_range",
            f"device {number} does not exist: {cluster.describe(labels)}",
            f"devices are numbered from 0 to {numbering.total - 1}"
            if numbering.total
            else "choose a group that has devices",
        )
