"""What there is to draw on each node, in one pass over the placements and without building a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from placetui.grid.arrange import Shape, rows_of
from placetui.placement.plan import GPU, Component, Plan, PlanNode

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
    """Components with processes on the node as such."""


def census(plan: Plan) -> list[Extent]:
    """The extent of every node."""
    gpus: list[list[Holding]] = [[] for _ in plan.nodes]
    robots: dict[tuple[int, str], list[Holding]] = {}
    on_node: dict[int, dict[int, None]] = {}
    kinds = plan.group_kinds
    for number, component in enumerate(plan.components.values()):
        units = _units(component)
        for placement in component.placements:
            ranks = placement.local_hardware_ranks
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
    )


def _shape(holdings: tuple[Holding, ...]) -> Shape:
    return tuple((component, devices) for component, devices, _ in holdings)


def has_lanes(plan: Plan, nodes: list[PlanNode]) -> bool:
    """Whether there is anything but GPUs to show on the nodes."""
    return (
        bool(plan.services)
        or any(node.hardware for node in nodes)
        or any(component.strategy == "node" for component in plan.components.values())
    )
