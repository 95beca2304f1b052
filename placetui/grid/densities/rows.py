"""Who is drawn on which row of a node, and how many rows and lanes each node needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TypeAlias

from placetui.grid.pen import Pen
from placetui.placement.plan import GPU, SHARE_UNITS, Device, Plan

Shape: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""Component and devices of each process on a bank of devices, by component and rank."""

CROWD = 4
"""A component with more processes than this on one device is summarised there."""


@dataclass(frozen=True, slots=True)
class RowSlot:
    """Where one process, or a crowd of them, is drawn."""

    row: int
    devices: tuple[int, ...]
    processes: tuple[int, ...]
    """Positions in the shape: one, or all of a crowd."""

    left: bool = False
    """Whether they are no longer there."""


def arrange(shape: Shape) -> tuple[RowSlot, ...]:
    """Give each process the first row that is free on all of its devices."""
    taken: dict[int, set[int]] = {}
    full: dict[int, int] = {}
    """By device, how many rows from the first on are taken: thousands of components on a device stay quick."""
    slots: list[RowSlot] = []
    for devices, processes in _merge_crowds(shape):
        rows = [taken.setdefault(device, set()) for device in devices]
        row = max(full.get(device, 0) for device in devices)
        while any(row in one for one in rows):
            row += 1
        for device, one in zip(devices, rows, strict=True):
            one.add(row)
            below = full.get(device, 0)
            while below in one:
                below += 1
            full[device] = below
        slots.append(RowSlot(row, devices, processes, left=shape[processes[0]][0] < 0))
    return tuple(slots)


def adjacent(devices: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of adjacent devices."""
    found: list[tuple[int, int]] = []
    for device in devices:
        if found and device == found[-1][1] + 1:
            found[-1] = (found[-1][0], device)
        else:
            found.append((device, device))
    return found


def joined_tiles(slots: Iterable[RowSlot]) -> dict[tuple[int, int], int]:
    """First and last of adjacent devices that have the same processes, and nobody else; with the first of these."""
    slots = tuple(slots)
    residents: dict[int, tuple[int, ...]] = {}
    for slot in slots:
        for index in slot.devices:
            residents[index] = (*residents.get(index, ()), *slot.processes)
    found: dict[tuple[int, int], int] = {}
    for slot in slots:
        for first, last in () if slot.left else adjacent(slot.devices):
            if last > first and len({residents[index] for index in range(first, last + 1)}) == 1:
                found.setdefault((first, last), slot.processes[0])
    return found


def _merge_crowds(shape: Shape) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Devices and processes of what is drawn as one, in the order of the shape."""
    on_device: dict[tuple[int, int], list[int]] = {}
    for position, (component, devices) in enumerate(shape):
        for device in devices:
            on_device.setdefault((component, device), []).append(position)
    crowded = {component for (component, _), found in on_device.items() if len(found) > CROWD}
    merged: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for position, (component, devices) in enumerate(shape):
        if component not in crowded:
            merged.append((devices, (position,)))
            continue
        for device in devices:
            # The first of a crowd stands for all of it.
            found = on_device[component, device]
            if found[0] == position:
                merged.append(((device,), tuple(found)))
    return merged


@dataclass(frozen=True, slots=True)
class Process:
    """One process on a bank of devices of a node."""

    component: str
    rank: int
    share: float | None
    devices: tuple[int, ...]
    gone: str = ""
    """Where it went to, as `→8`, or that it is removed; empty while it is here."""


def processes_on(devices: Iterable[Device], pen: Pen) -> list[Process]:
    """The processes on a bank of devices, by component and rank."""
    found: dict[tuple[str, int], tuple[float | None, list[int]]] = {}
    for device in devices:
        for one in device.occupants:
            held = found.setdefault((one.component, one.rank), (one.share, []))[1]
            if device.index not in held:
                held.append(device.index)
    return [
        Process(component, rank, share, tuple(sorted(held)))
        for (component, rank), (share, held) in sorted(found.items(), key=lambda one: (pen.order[one[0][0]], one[0][1]))
    ]


def shape_of(processes: Sequence[Process], pen: Pen) -> Shape:
    """The processes without their ranks and shares; negative for components of those that left."""
    orders = ((pen.order[one.component], one) for one in processes)
    return tuple((-1 - order if one.gone else order, one.devices) for order, one in orders)


def departed(node: int, pen: Pen) -> list[Process]:
    """The processes that were on a node's devices in the plan before, on each device by itself."""
    left = pen.left.get(node, ())
    return [Process(name, rank, None, (device,), gone) for name, rank, devices, gone in left for device in devices]


Holding: TypeAlias = tuple[int, tuple[int, ...], int]
"""Component, devices and share in 1/10000 of one process."""


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """What is on a node, ranks apart. Nodes that look alike have the same one: it is compared by identity."""

    gpus: int
    holdings: tuple[Holding, ...]
    """Processes on GPUs."""

    gpu_rows: int
    largest: tuple[int | None, ...]
    """By GPU, the component with the largest share; None where it is free."""

    on_node: int
    """Components with processes on the node itself."""

    @property
    def shape(self) -> Shape:
        return tuple((component, devices) for component, devices, _ in self.holdings)

    @property
    def promised(self) -> list[int | None]:
        """By GPU, how much of it, in 1/10000; None where it is free."""
        return self.promised_to(None)

    def promised_to(self, component: int | None) -> list[int | None]:
        """By GPU, how much of it one component has, or all; None where there is none of it."""
        held: list[int | None] = [None] * self.gpus
        for number, devices, units in self.holdings:
            for device in devices:
                if device < self.gpus and component in (None, number):
                    held[device] = (held[device] or 0) + units
        return held

    @property
    def components(self) -> tuple[int, ...]:
        """Those with processes on GPUs, in the order of the file."""
        return tuple(sorted({component for component, _, _ in self.holdings}))


class Census:
    """The extent of every node by its rank, worked out once and on first use."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def _extents(self) -> list[Extent]:
        return _count(self._plan)

    def __getitem__(self, node: int) -> Extent:
        return self._extents[node]

    @cached_property
    def most_components(self) -> int:
        """The most components with processes on the GPUs of one node."""
        return max((len(extent.components) for extent in set(self._extents)), default=0)

    @cached_property
    def same_ranks(self) -> bool:
        """Whether all ranks on a GPU have the same number."""
        found: dict[tuple[int, int], int] = {}
        return all(
            found.setdefault((placement.cluster_node_rank, device), placement.rank) == placement.rank
            for component in self._plan.components.values()
            for placement in component.placements
            if self._plan.kind_of(placement) == GPU
            for device in placement.devices
        )

    @cached_property
    def gpus(self) -> tuple[int, int]:
        """Those with processes, and all."""
        every = sum(node.gpus for node in self._plan.nodes)
        return every - self.free[0], every

    @cached_property
    def free(self) -> tuple[int, int]:
        """GPUs that nobody is on, and nodes all of whose GPUs are free."""
        found = [(one.largest.count(None), one.gpus, nodes) for one, nodes in Counter(self._extents).items()]
        free = sum(gpus * nodes for gpus, _, nodes in found)
        return free, sum(nodes for gpus, every, nodes in found if 0 < gpus == every)

    @cached_property
    def signs(self) -> frozenset[str]:
        """What occurs in the plan, in the words of the key."""
        extents = set(self._extents)
        found = {"no GPU"} if len({extent.gpus for extent in extents if extent.gpus}) > 1 else set()
        for extent in extents:
            if None in extent.largest:
                found.add("free")
            for _, devices, _ in extent.holdings:
                if len(devices) > 1:
                    found.add("one process" if devices[-1] - devices[0] < len(devices) else "not adjacent")
            if max((units or 0 for units in extent.promised), default=0) > SHARE_UNITS:
                found.add("oversubscribed")
        return frozenset(found)


def _count(plan: Plan) -> list[Extent]:
    """In one pass over the placements and without building a device."""
    on_gpus: list[list[Holding]] = [[] for _ in plan.nodes]
    on_node: list[set[int]] = [set() for _ in plan.nodes]
    kinds = plan.topology.robot_kinds
    for number, component in enumerate(plan.components.values()):
        for placement, units in zip(component.placements, component.rank_units or repeat(0), strict=False):
            devices, node = placement.devices, placement.cluster_node_rank
            if not devices:
                on_node[node].add(number)
            elif not kinds or kinds.get(placement.node_group_label, GPU) == GPU:
                if len(devices) > 1:
                    devices = tuple(sorted(set(devices)))
                on_gpus[node].append((number, devices, units or 0))
    known: dict[object, Extent] = {}
    extents: list[Extent] = []
    for one in plan.nodes:
        holdings, components = tuple(on_gpus[one.rank]), len(on_node[one.rank])
        key = one.gpus, holdings, components
        if key not in known:
            rows = max((slot.row for slot in arrange(tuple(held[:2] for held in holdings))), default=0) + 1
            known[key] = Extent(one.gpus, holdings, rows, _largest(one.gpus, holdings), components)
        extents.append(known[key])
    return extents


def _largest(gpus: int, holdings: tuple[Holding, ...]) -> tuple[int | None, ...]:
    most: list[tuple[int, int] | None] = [None] * gpus
    for component, devices, units in holdings:
        for device in devices:
            if device < gpus and ((held := most[device]) is None or units > held[0]):
                most[device] = units, component
    return tuple(None if one is None else one[1] for one in most)


def is_oversubscribed(device: Device) -> bool:
    """Whether more of a GPU is promised than there is; shares are whole numbers of 1/10000."""
    return (device.total_share or 0.0) > 1.00005
