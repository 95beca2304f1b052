"""Who is drawn on which row of a node, and how many rows and lanes each node needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from placetui.grid.pen import Pen
from placetui.placement.plan import GPU, Component, Device, Plan

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
        slots.append(RowSlot(row, devices, processes))
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
    residents: dict[int, tuple[int, ...]] = {}
    for slot in slots:
        for index in slot.devices:
            residents[index] = (*residents.get(index, ()), *slot.processes)
    found: dict[tuple[int, int], int] = {}
    for slot in slots:
        for first, last in adjacent(slot.devices):
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


def rows_of(shape: Shape) -> int:
    """Rows that a bank needs; one at least, to show that it is empty."""
    return max((slot.row for slot in arrange(shape)), default=0) + 1


@dataclass(frozen=True, slots=True)
class Process:
    """One process on a bank of devices of a node."""

    component: str
    rank: int
    share: float | None
    devices: tuple[int, ...]


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
    """The processes without their ranks and shares."""
    return tuple((pen.order[process.component], process.devices) for process in processes)


Holding: TypeAlias = tuple[int, tuple[int, ...], int]
"""Component, devices and share in 1/10000 of one process."""


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """What is on a node, ranks apart. Nodes that look alike have the same one: it is compared by identity."""

    gpus: int
    holdings: tuple[Holding, ...]
    """Processes on GPUs."""

    gpu_rows: int
    robots: tuple[tuple[str, int], ...] = ()
    """Rows by hardware type."""

    robot_components: tuple[frozenset[int], ...] = ()
    """Components on each robot, all types in a row."""

    on_node: tuple[int, ...] = ()
    """Components with processes on the node itself."""

    largest: tuple[int | None, ...] = ()
    """By GPU, the component with the largest share; None where it is free."""

    @property
    def shape(self) -> Shape:
        return _shape(self.holdings)


class Census:
    """The extent of every node by its rank, worked out once and on first use."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def _extents(self) -> list[Extent]:
        return _count(self._plan)

    def __getitem__(self, node: int) -> Extent:
        return self._extents[node]


def _count(plan: Plan) -> list[Extent]:
    """In one pass over the placements and without building a device."""
    gpus: list[list[Holding]] = [[] for _ in plan.nodes]
    robots: dict[tuple[int, str], list[Holding]] = {}
    on_node: dict[int, dict[int, None]] = {}
    kinds = plan.topology.robot_kinds
    for number, component in enumerate(plan.components.values()):
        units = _units(component)
        for placement in component.placements:
            ranks = placement.devices
            node = placement.cluster_node_rank
            if not ranks:
                on_node.setdefault(node, {})[number] = None
                continue
            devices = tuple(ranks) if len(ranks) == 1 else tuple(sorted(set(ranks)))
            holding = (number, devices, units if isinstance(units, int) else units[placement.rank])
            if kinds and (kind := kinds.get(placement.node_group_label, GPU)) != GPU:
                robots.setdefault((node, kind), []).append(holding)
            else:
                gpus[node].append(holding)
    known: dict[object, Extent] = {}
    extents: list[Extent] = []
    for one in plan.nodes:
        banks = tuple((kind, count, tuple(robots.get((one.rank, kind), ()))) for kind, count in one.hardware.items())
        key = (one.gpus, tuple(gpus[one.rank]), banks, tuple(on_node.get(one.rank, ())))
        extent = known.get(key)
        if extent is None:
            extent = known[key] = _extent(*key)
        extents.append(extent)
    return extents


def _units(component: Component) -> int | list[int]:
    """Share of all ranks, or of each where they differ."""
    each = [units or 0 for units in component.rank_units]
    if not each:
        return 0
    return each[0] if min(each) == max(each) else each


def _extent(
    gpus: int,
    holdings: tuple[Holding, ...],
    banks: tuple[tuple[str, int, tuple[Holding, ...]], ...],
    on_node: tuple[int, ...],
) -> Extent:
    return Extent(
        gpus,
        holdings,
        rows_of(_shape(holdings)),
        tuple((kind, rows_of(_shape(held))) for kind, _, held in banks),
        tuple(
            frozenset(component for component, devices, _ in held if robot in devices)
            for _, count, held in banks
            for robot in range(count)
        ),
        on_node,
        _largest(gpus, holdings),
    )


def _largest(gpus: int, holdings: tuple[Holding, ...]) -> tuple[int | None, ...]:
    most: list[tuple[int, int] | None] = [None] * gpus
    for component, devices, units in holdings:
        for device in devices:
            if device < gpus and ((held := most[device]) is None or units > held[0]):
                most[device] = units, component
    return tuple(None if one is None else one[1] for one in most)


def _shape(holdings: tuple[Holding, ...]) -> Shape:
    return tuple((component, devices) for component, devices, _ in holdings)


def is_oversubscribed(device: Device) -> bool:
    """Whether more of a GPU is promised than there is; shares are whole numbers of 1/10000."""
    return (device.total_share or 0.0) > 1.00005
