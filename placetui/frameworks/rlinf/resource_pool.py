"""The devices that a component's rule can name, and the processes on them, as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from placetui.placement.edits import DeviceRef, EditRefused, Slot, Wanted
from placetui.placement.plan import GPU, NODE, Component
from placetui.placement.ranks import spread
from placetui.placement.rules import CannotExpress, shortest_rule
from placetui.placement.topology import ACCELERATOR, CLUSTER, DeviceBlock, Topology
from placetui.placement.wording import count, listing, quoted, ranges

Processes: TypeAlias = list[list[int]]
"""Numbers of each process, by rank."""


class ResourcePool:
    """What a rule over some node groups counts."""

    def __init__(self, cluster: Topology, groups: tuple[str, ...], names: Sequence[str]) -> None:
        kinds = [cluster.groups[label].hardware_type for label in groups]
        self.groups = groups
        self.on_nodes = None in kinds
        self.mixed = self.on_nodes and any(kinds)
        self._numbering = cluster.numbering(groups, by_node=self.on_nodes)
        self._names = names
        self.total = self._numbering.total
        self.noun = "node" if self.on_nodes else "device"

    @property
    def blocks(self) -> Sequence[DeviceBlock]:
        return self._numbering.blocks

    @cached_property
    def position(self) -> dict[int, int]:
        """Place among the blocks by the block's first number."""
        return {block.start: index for index, block in enumerate(self.blocks)}

    def numbers(self, spots: Iterable[DeviceRef]) -> list[int]:
        """Numbers of devices, ascending and each once."""
        by_node: dict[int, list[DeviceBlock]] = {}
        for block in self.blocks:
            by_node.setdefault(block.node, []).append(block)
        return sorted({self._number(spot, by_node) for spot in spots})

    def _number(self, spot: DeviceRef, by_node: dict[int, list[DeviceBlock]]) -> int:
        for block in by_node.get(spot.node, ()):
            if self.on_nodes:
                return block.start
            if kind_of(block) == spot.kind and 0 <= spot.index < block.size:
                return block.start + spot.index
        where = self._names[spot.node] if 0 <= spot.node < len(self._names) else f"node {spot.node}"
        what = where if spot.kind == NODE else f"{'GPU' if spot.kind == GPU else spot.kind} {spot.index} of {where}"
        within = "the cluster" if self.groups == (CLUSTER,) else f"group {listing(quoted(self.groups))}"
        raise EditRefused(f"{what} is not a {self.noun} of {within}", "put the component on another node group first")

    def where(self, number: int) -> DeviceBlock:
        if not 0 <= number < self.total:
            raise EditRefused(f"there is no {self.noun} {number}: they are numbered from 0 to {self.total - 1}")
        return self._numbering.block_of(number)

    def name(self, node: int) -> str:
        return self._names[node]

    def wanted(self, processes: Processes, by_rank: bool = True) -> Wanted:
        """Where these processes are."""
        return Wanted(tuple(self._slot(numbers) for numbers in processes), by_rank)

    def _slot(self, numbers: Sequence[int]) -> Slot:
        block = self.where(numbers[0])
        if self.on_nodes:
            return block.node, ()
        return block.node, tuple(number - self.where(number).start for number in numbers)

    def rule(self, processes: Processes, may_use_all: bool) -> str:
        """The shortest rule that gives these processes.

        Raises:
            EditRefused: no rule gives them.
        """
        try:
            text = shortest_rule(processes, self.total, may_use_all=may_use_all and not self.mixed)
        except CannotExpress as error:
            raise EditRefused(error.reason) from None
        before = -1
        for rank, numbers in enumerate(processes):
            first, last = self.where(numbers[0]), self.where(numbers[-1])
            if self.on_nodes and len(numbers) > 1:
                raise EditRefused(f"rank {rank} would be on {count(len(numbers), 'node')}; a process needs one node")
            if first.node != last.node:
                raise EditRefused(
                    f"rank {rank} would be on {self.name(first.node)} and {self.name(last.node)} "
                    f"({self.noun}s {ranges(numbers)}); a process stays on one node"
                )
            if first.hardware_type != last.hardware_type:
                raise EditRefused(f"rank {rank} would mix {first.hardware_type} and {last.hardware_type}")
            if first.node < before:
                raise EditRefused(f"ranks would go back from {self.name(before)} to {self.name(first.node)}")
            before = first.node
        return text

    def in_processes(self, numbers: Sequence[int], shape: tuple[int, int]) -> Processes:
        """New processes on these numbers: this many devices each, or this many on each device."""
        width, many = shape
        if width == 1:
            return [[number] for number in numbers for _ in range(many)]
        found: Processes = []
        runs = groupby(enumerate(numbers), key=lambda pair: (pair[1] - pair[0], self.where(pair[1]).start))
        for _, pairs in runs:
            run = [number for _, number in pairs]
            if len(run) % width:
                what = f"{self.noun} {run[0]}" if len(run) == 1 else f"{self.noun}s {ranges(run)}"
                raise EditRefused(
                    f"{what} cannot be divided into processes of {count(width, 'device')}",
                    f"choose a multiple of {width} neighbours on one node",
                )
            found += [run[start : start + width] for start in range(0, len(run), width)]
        return found


def kind_of(block: DeviceBlock) -> str:
    """What a plan calls the devices of a block."""
    if block.hardware_type is None:
        return NODE
    return GPU if block.hardware_type == ACCELERATOR else block.hardware_type


def processes_of(component: Component) -> Processes:
    """What its rule says."""
    return [list(range(first, first + size)) for first, size in spread(component.rule.segments)]


def usual_shape(processes: Processes) -> tuple[int, int]:
    """(devices per process, processes per device) of most of the processes."""
    counts: Counter[tuple[int, int]] = Counter()
    for numbers, together in groupby(processes):
        counts[len(numbers), len(list(together))] += 1
    return counts.most_common(1)[0][0] if counts else (1, 1)
