"""Which row of a node each process is drawn on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from placetui.placement.plan import Device

Shape: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""Component and devices of each process on a bank of devices, by component and rank."""

CROWD = 4
"""A component with more processes than this on one device is summarised there."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one process, or a crowd of them, is drawn."""

    row: int
    devices: tuple[int, ...]
    processes: tuple[int, ...]
    """Positions in the shape: one, or all of a crowd."""


@lru_cache(maxsize=1024)
def arrange(shape: Shape) -> tuple[Slot, ...]:
    """Give each process the first row that is free on all of its devices.

    Nodes of a cluster mostly look alike, so that few shapes are ever computed.
    """
    used: list[int] = []
    slots: list[Slot] = []
    for devices, processes in _merge_crowds(shape):
        mask = sum(1 << device for device in devices)
        row = next((row for row, taken in enumerate(used) if not taken & mask), len(used))
        if row == len(used):
            used.append(0)
        used[row] |= mask
        slots.append(Slot(row, devices, processes))
    return tuple(slots)


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


def processes_by_kind(devices: Sequence[Device], order: dict[str, int]) -> dict[str, list[Process]]:
    """The processes on each bank (`gpu`, robots by type, `node`) by component and rank; empty banks too."""
    banks: dict[str, dict[tuple[str, int], tuple[float | None, list[int]]]] = {}
    for device in devices:
        bank = banks.setdefault(device.kind, {})
        for one in device.occupants:
            held = bank.setdefault((one.component, one.rank), (one.share, []))[1]
            if device.index not in held:
                held.append(device.index)
    return {
        kind: [
            Process(component, rank, share, tuple(sorted(held)))
            for (component, rank), (share, held) in sorted(
                bank.items(), key=lambda item: (order[item[0][0]], item[0][1])
            )
        ]
        for kind, bank in banks.items()
    }


def shape_of(processes: Sequence[Process], order: dict[str, int]) -> Shape:
    """The processes without their ranks and shares."""
    return tuple((order[process.component], process.devices) for process in processes)
