"""What is selected in a pane, as one value: actions act on it and know nothing of panes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from placetui.grid import Place
from placetui.grid.tables.rows import Row, place_of, rank_of
from placetui.placement.plan import GPU, NODE, Plan


@dataclass(frozen=True, slots=True)
class Selection:
    """What the next action is about."""

    place: Place | None = None
    """The device under the cursor."""

    places: tuple[Place, ...] = ()
    """The selected devices; without any, the one under the cursor."""

    ranks: tuple[tuple[str, int], ...] = ()
    """Component and rank of the processes that are meant."""

    row: Any = None
    """The row of a table under the cursor."""


NOTHING = Selection()


def ranks_at(plan: Plan, place: Place, most: int = 8) -> tuple[tuple[str, int], ...]:
    """Component and rank of the processes that a plan has on a device."""
    if place.node >= len(plan.nodes):
        return ()
    found = (
        (one.component, one.rank)
        for device in plan.devices_of(place.node)
        if Place(device.node, device.kind, device.index) == place
        for one in device.occupants
    )
    return tuple(found)[:most]


def place_of_rank(plan: Plan, component: str, rank: int) -> Place | None:
    """Where a plan has a rank: its first device; None if it has no such rank."""
    planned = plan.components.get(component)
    if planned is None or not 0 <= rank < planned.world_size:
        return None
    placed = planned.placements[rank]
    return Place(placed.cluster_node_rank, plan.kind_of(placed), next(iter(placed.devices), 0))


def place_of_row(plan: Plan, row: Row) -> Place | None:
    """Where the row of a table is in the grid; of a rank whose device nobody names, the planned one."""
    found, nodes = place_of(row), plan.nodes
    if found is None or not 0 <= found[0] < len(nodes):
        return None
    node, device = found
    if device is None:
        component, rank = rank_of(row)
        planned = None if component is None or rank is None else place_of_rank(plan, component, rank)
        if planned is not None and planned.node == node:
            return planned
        return Place(node, GPU, 0) if nodes[node].gpus else Place(node, NODE, 0)
    return Place(node, GPU, device) if device < nodes[node].gpus else None


def selected_row(plan: Plan, row: Row | None) -> Selection:
    """The row under the cursor of a table, with the rank it names."""
    if row is None:
        return NOTHING
    place = place_of_row(plan, row)
    component, rank = rank_of(row)
    ranks = ((component, rank),) if component is not None and rank is not None else ()
    return Selection(place, () if place is None else (place,), ranks, row)
