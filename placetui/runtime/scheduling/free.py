"""What is free on each node, down to single devices, as far as the head's tables tell."""

from __future__ import annotations

from placetui.frameworks.scheduling import UNIT_INSTANCES, NodeResources, allocate
from placetui.placement.plan import SHARE_UNITS
from placetui.runtime.gcs.model import RayActor, RayBundle, RayNode, Tables, to_units

PLACED_GROUPS = ("PREPARED", "CREATED", "RESCHEDULING")
"""States of groups whose bundles hold something."""


def node_resources(tables: Tables) -> list[NodeResources]:
    """The nodes on which Ray places something new, under their ids."""
    held = _Held(tables)
    return [_node(node, tables, held) for node in tables.nodes if not node.draining]


class _Held:
    """Actors and bundles by the node they are on."""

    def __init__(self, tables: Tables) -> None:
        self.actors: dict[str, list[RayActor]] = {}
        self.bundles: dict[str, list[tuple[str, int, RayBundle]]] = {}
        """With the group and the index of each, in the order of the requests."""

        for actor in tables.actors:
            self.actors.setdefault(actor.node, []).append(actor)
        for group in sorted(tables.groups, key=lambda one: one.requested):
            if group.state in PLACED_GROUPS:
                for index, bundle in enumerate(group.bundles):
                    self.bundles.setdefault(bundle.node, []).append((group.id, index, bundle))


def _node(node: RayNode, tables: Tables, held: _Held) -> NodeResources:
    total = {name: to_units(amount) for name, amount in node.resources.items() if "_group_" not in name}
    free = {name: tables.free(node.id, name) for name in total}
    parts = {name: _devices(node, name, total[name], free[name], held) for name in total if name in UNIT_INSTANCES}
    return NodeResources(node.id, total, free, node.labels, parts)


def _devices(node: RayNode, resource: str, total: int, free: int, held: _Held) -> tuple[int, ...]:
    """What is free of each device. Where the head does not say which one is held, it is the one a raylet takes."""
    devices = [SHARE_UNITS] * (total // SHARE_UNITS)
    if free == total or not devices:
        return tuple(devices)
    slot_of: dict[tuple[str, int], int] = {}
    for actor in held.actors.get(node.id, ()) if resource == node.device else ():
        for slot, part in actor.slots.items():
            if actor.group:
                slot_of[actor.group, actor.bundles.get(slot, -1)] = slot
            elif slot < len(devices):
                devices[slot] -= to_units(part)
    for group, index, bundle in held.bundles.get(node.id, ()):
        amount = to_units(bundle.resources.get(resource, 0))
        slot = slot_of.get((group, index), len(devices))
        if 0 < amount <= SHARE_UNITS and slot < len(devices) and devices[slot] >= amount:
            devices[slot] -= amount
        elif amount:
            allocate(devices, amount)
    # Tasks hold devices, too, and nobody says which.
    rest = sum(devices) - free
    if rest > 0:
        allocate(devices, rest)
    return tuple(max(0, part) for part in devices)
