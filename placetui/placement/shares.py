"""Which fraction of a device each process holds. All sums are integers of 1/10000."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from placetui.placement.placements import Placement
from placetui.placement.plan import SHARE_UNITS, Component, PlanNode
from placetui.placement.problems import Path, Problems, count

TRAINING_UNITS = 8_000
"""What training holds of a device that it shares with others."""

DEFAULT_TRAIN = ("actor", "critic")
SHARES: Path = ("placetui", "shares")


@dataclass(frozen=True, slots=True)
class Seating:
    """Which GPUs the ranks of a component hold, counted over all nodes."""

    devices: list[list[int] | None] | None
    """By rank; None where a rank has no share, on nodes and robots.

    None as a whole in the common case: every rank has one device for itself.
    """

    held: list[int]
    """By device, the number of processes on it."""


def seating(placements: Sequence[Placement], first: Sequence[int], robot_groups: Container[str]) -> Seating:
    """The seats of a component.

    Args:
        placements: by rank.
        first: by node, the number of its first GPU; at the end their total.
        robot_groups: labels of node groups whose devices are no GPUs.
    """
    held = [0] * first[-1]
    single = [
        first[placement.cluster_node_rank] + placement.local_hardware_ranks[0]
        for placement in placements
        if len(placement.local_hardware_ranks) == 1 and placement.node_group_label not in robot_groups
    ]
    if len(set(single)) == len(placements):
        for device in single:
            held[device] = 1
        return Seating(None, held)
    devices: list[list[int] | None] = []
    for placement in placements:
        local = placement.local_hardware_ranks
        if not local or placement.node_group_label in robot_groups:
            devices.append(None)
            continue
        base = first[placement.cluster_node_rank]
        own = [base + index for index in local]
        devices.append(own)
        for device in own:
            held[device] += 1
    return Seating(devices, held)


def with_shares(
    components: Mapping[str, Component],
    nodes: Sequence[PlanNode],
    robot_groups: Container[str],
    explicit: Mapping[str, int],
    train: Sequence[str],
    problems: Problems,
    cache: dict[Any, Any],
) -> dict[str, Component]:
    """The same components with the shares of all their ranks; reports devices promised twice.

    Args:
        components: by name, placed.
        nodes: in rank order.
        robot_groups: labels of node groups whose devices are no GPUs.
        explicit: shares that the file sets, in 1/10000.
        train: components that count as training.
        problems: takes `oversubscribed` and `share_too_small`.
        cache: keeps what depends on a component's placements alone.
    """
    first = [0, *accumulate(node.gpus for node in nodes)]
    seats: dict[str, Seating] = {}
    for name, component in components.items():
        key = ("seats", id(component.placements))
        if key not in cache:  # the placements are kept with it, so that the id stays theirs
            cache[key] = component.placements, seating(component.placements, first, robot_groups)
        seats[name] = cache[key][1]
    training = _components_per_device([seats[name].held for name in components if name in train], first[-1])
    others = _components_per_device([seats[name].held for name in components if name not in train], first[-1])

    shared: dict[str, Component] = {}
    promised = [0] * first[-1]
    for name, component in components.items():
        seat = seats[name]
        if not any(seat.held):
            shared[name] = component
            continue
        units = explicit.get(name)
        if units is None:
            units = _default_units(name in train, seat.held, training, others)
        if seat.devices is None:
            rank_units: list[int | None] = [units] * component.world_size
            promised = [before + units * number for before, number in zip(promised, seat.held, strict=True)]
        else:
            rank_units = _rank_units(units, seat.devices, seat.held, promised)
        if min(one for one in rank_units if one is not None) < 1:
            problems.error(
                "share_too_small",
                f"{count(max(seat.held), 'process')} of `{name}` on one device leave each less than 0.0001 of it",
                hint="put fewer processes on a device, or place them on nodes",
                path=component.rule.path,
                component=name,
            )
        shared[name] = replace(component, units=units, rank_units=rank_units)
    if max(promised, default=0) > SHARE_UNITS:
        _report_oversubscribed(shared, nodes, first, seats, promised, explicit, problems)
    return shared


def _components_per_device(held: Sequence[list[int]], total: int) -> list[int]:
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
    units: int, seats: Sequence[list[int] | None], held: Sequence[int], promised: list[int]
) -> list[int | None]:
    """Each rank's share; adds it to what its devices have promised."""
    found: list[int | None] = []
    for devices in seats:
        if devices is None:
            found.append(None)
            continue
        own = units // max([held[device] for device in devices])
        found.append(own)
        for device in devices:
            promised[device] += own
    return found


def _report_oversubscribed(
    components: Mapping[str, Component],
    nodes: Sequence[PlanNode],
    first: Sequence[int],
    seats: Mapping[str, Seating],
    promised: Sequence[int],
    explicit: Mapping[str, int],
    problems: Problems,
) -> None:
    """One problem for each set of components that together ask for too much."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for device, units in enumerate(promised):
        if units > SHARE_UNITS:
            groups.setdefault(tuple(name for name in components if seats[name].held[device]), []).append(device)
    for names, devices in groups.items():
        device = devices[0]
        node = next(node for node in reversed(nodes) if first[node.rank] <= device)
        where = f"{node.name} GPU {device - first[node.rank]}"
        more = f" and {count(len(devices) - 1, 'other device')}" if len(devices) > 1 else ""
        parts = ", ".join(f"{name} {(components[name].units or 0) / SHARE_UNITS:g}" for name in names)
        named = [name for name in names if name in explicit]
        problems.error(
            "oversubscribed",
            f"{promised[device] / SHARE_UNITS:g} of one GPU is promised on {where}{more} ({parts})",
            hint="lower a share under `placetui.shares`, or move a component",
            path=(*SHARES, named[-1]) if named else components[names[-1]].rule.path,
            component=names[-1],
        )
