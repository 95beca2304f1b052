"""Which fraction of a device each process holds. All sums are integers of 1/10000."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from placetui.placement.placements import Placement, Placements
from placetui.placement.plan import SHARE_UNITS, Component
from placetui.placement.problems import Path, Problems
from placetui.placement.topology import Topology
from placetui.placement.wording import count

TRAINING_UNITS = 8_000
"""What training holds of a device that it shares with others."""

DEFAULT_TRAIN = ("actor", "critic")
SHARES: Path = ("placetui", "shares")


class DeviceLoad(NamedTuple):
    """Which GPUs the ranks of a component hold, counted over all nodes."""

    devices: tuple[tuple[int, ...] | None, ...] | None
    """By rank; None where a rank has no share, on nodes and robots.

    None as a whole in the common case: every rank has one device for itself.
    """

    held: tuple[int, ...]
    """By device, the number of processes on it."""


def load_of(component: Component, topology: Topology) -> DeviceLoad:
    """Computed once for the placements of a component, which several plans may share."""
    placements = component.placements
    assert isinstance(placements, Placements)
    kept = placements.load
    if kept is None or kept[0] is not topology:
        kept = placements.load = topology, _load(placements, topology)
    found: DeviceLoad = kept[1]
    return found


def _load(placements: Sequence[Placement], topology: Topology) -> DeviceLoad:
    first, robot_groups = topology.first_gpu, topology.robot_kinds
    held = [0] * first[-1]
    single = [
        first[placement.cluster_node_rank] + devices[0]
        for placement in placements
        if len(devices := placement.devices) == 1 and placement.node_group_label not in robot_groups
    ]
    if len(set(single)) == len(placements):
        for device in single:
            held[device] = 1
        return DeviceLoad(None, tuple(held))
    by_rank: list[tuple[int, ...] | None] = []
    for placement in placements:
        if not placement.devices or placement.node_group_label in robot_groups:
            by_rank.append(None)
            continue
        base = first[placement.cluster_node_rank]
        own = tuple(base + index for index in placement.devices)
        by_rank.append(own)
        for device in own:
            held[device] += 1
    return DeviceLoad(tuple(by_rank), tuple(held))


def with_shares(
    components: Mapping[str, Component],
    topology: Topology,
    explicit: Mapping[str, int],
    train: Sequence[str],
    problems: Problems,
) -> dict[str, Component]:
    """The same components with the shares of all their ranks; reports devices promised twice.

    Shares that the framework has set stay, unless the file sets others: `explicit`, in 1/10000.
    """
    total = topology.num_accelerators
    loads = {name: load_of(component, topology) for name, component in components.items()}
    training = _components_per_device([loads[name].held for name in components if name in train], total)
    others = _components_per_device([loads[name].held for name in components if name not in train], total)

    shared: dict[str, Component] = {}
    promised = [0] * total
    for name, component in components.items():
        load = loads[name]
        own = component.rank_units if name not in explicit else ()
        for placement, held in zip(component.placements, own, strict=False):
            for index in placement.devices if held else ():
                promised[topology.first_gpu[placement.cluster_node_rank] + index] += held or 0
        if own or not any(load.held):
            shared[name] = component
            continue
        units = explicit.get(name, component.units)
        if units is None:
            units = _default_units(name in train, load.held, training, others)
        if load.devices is None:
            rank_units: tuple[int | None, ...] = (units,) * component.world_size
            promised = [before + units * number for before, number in zip(promised, load.held, strict=True)]
        else:
            rank_units = _rank_units(units, load.devices, load.held, promised)
        if min(one for one in rank_units if one is not None) < 1:
            problems.at(component.rule.path, component=name).error(
                "share_too_small",
                f"{count(max(load.held), 'process')} of `{name}` on one device leave each less than 0.0001 of it",
                hint="put fewer processes on a device, or place them on nodes",
            )
        shared[name] = replace(component, units=units, rank_units=rank_units)
    if max(promised, default=0) > SHARE_UNITS:
        _report_oversubscribed(shared, topology, loads, promised, explicit, problems)
    return shared


def _components_per_device(held: Sequence[Sequence[int]], total: int) -> list[int]:
    if len(held) == 1:
        return [1 if number else 0 for number in held[0]]
    return [sum(map(bool, numbers)) for numbers in zip(*held, strict=True)] if held else [0] * total


def _default_units(is_training: bool, held: Sequence[int], training: Sequence[int], others: Sequence[int]) -> int:
    """Training gets 0.8 and the rest 0.2 where they meet, else all; divided by the most components of that kind."""
    kinds = {pair for here, pair in zip(held, zip(training, others, strict=True), strict=True) if here}
    mixed = any(one and other for one, other in kinds)
    if is_training:
        return (TRAINING_UNITS if mixed else SHARE_UNITS) // max(one for one, _ in kinds)
    return (SHARE_UNITS - TRAINING_UNITS if mixed else SHARE_UNITS) // max(other for _, other in kinds)


def _rank_units(
    units: int, by_rank: Sequence[tuple[int, ...] | None], held: Sequence[int], promised: list[int]
) -> tuple[int | None, ...]:
    """Each rank's share; adds it to what its devices have promised."""
    found: list[int | None] = []
    for devices in by_rank:
        if devices is None:
            found.append(None)
            continue
        own = units // max([held[device] for device in devices])
        found.append(own)
        for device in devices:
            promised[device] += own
    return tuple(found)


def _report_oversubscribed(
    components: Mapping[str, Component],
    topology: Topology,
    loads: Mapping[str, DeviceLoad],
    promised: Sequence[int],
    explicit: Mapping[str, int],
    problems: Problems,
) -> None:
    """One problem for each set of components that together ask for too much."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for device, units in enumerate(promised):
        if units > SHARE_UNITS:
            groups.setdefault(tuple(name for name in components if loads[name].held[device]), []).append(device)
    for names, devices in groups.items():
        device = devices[0]
        node = bisect_right(topology.first_gpu, device) - 1
        where = f"{topology.nodes[node].name}/gpu{device - topology.first_gpu[node]}"
        more = f" and {count(len(devices) - 1, 'other device')}" if len(devices) > 1 else ""
        parts = ", ".join(f"{name} {(components[name].units or 0) / SHARE_UNITS:g}" for name in names)
        named = [name for name in names if name in explicit]
        path = (*SHARES, named[-1]) if named else components[names[-1]].rule.path
        problems.at(path, component=names[-1]).error(
            "oversubscribed",
            f"shares on {where}{more} add up to {promised[device] / SHARE_UNITS:g} ({parts})",
            hint="lower a share under `placetui.shares`, or move a component",
        )
