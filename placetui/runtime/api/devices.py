"""The devices that a program holds: whole ones, each once, however many of its groups share them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from placetui.placement.plan import SHARE_UNITS
from placetui.placement.wording import listing
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayActor, RayNode, Tables
from placetui.runtime.launch.demand import Demand
from placetui.runtime.launch.ordering import Order, Probed
from placetui.runtime.launch.probe import visible_lists
from placetui.runtime.launch.reserve import fit, remove, reserve_planned
from placetui.runtime.policy import Deadline

RANK_UNITS = 100
"""What Ray reserves of a device for a rank, in 1/10000: which groups will share a device is not known before
they are launched, so each takes little. The device is held as a whole."""

MOST_RANKS = SHARE_UNITS // RANK_UNITS
"""Ranks that can share a device."""

Device = tuple[str, int]
"""Id of a Ray node, and position of the GPU on it."""


@dataclass
class _Held:
    """A device of a placement group."""

    group: Any
    probed: Probed
    users: list[str] = field(default_factory=list)
    """Groups that have a rank in it, once for each rank."""


class Reservations:
    """What a program has reserved on a cluster."""

    def __init__(self, ray: Any, head: Head) -> None:
        self._ray = ray
        self._head = head
        self._held: dict[Device, _Held] = {}
        self._visible: dict[str, tuple[str, ...]] = {}

    def take(self, name: str, demand: Demand, nodes: Sequence[RayNode], deadline: Deadline) -> tuple[list[Any], Order]:
        """Devices for a group of ranks: those that the program has, and new ones for the rest. Gives the placement
        group of each logical device, and what the probe learned.
        """
        devices = [(nodes[bundle.node].id, bundle.position) for bundle in demand.bundles]
        self._check_crowd(demand, devices, nodes)
        missing = tuple(
            bundle for bundle, device in zip(demand.bundles, devices, strict=True) if device not in self._held
        )
        # Also without new devices: ranks on nodes take CPUs.
        loose = tuple(needs for needs in demand.ranks if not needs.bundles)
        new = Demand(missing, loose)
        _, tables = fit(self._head, new, nodes, lambda: None)
        if missing:
            self._reserve(new, nodes, tables, deadline)
        for needs in demand.ranks:
            for number in needs.bundles:
                self._held[devices[number]].users.append(name)
        held = [self._held[device] for device in devices]
        visible = {
            rank: self._visible.get(node.id) or tuple(str(index) for index in range(node.gpus))
            for rank, node in enumerate(nodes)
        }
        visible |= visible_lists(self._ray, demand, nodes, deadline)
        return [one.group for one in held], Order(tuple(one.probed for one in held), visible)

    def release(self, name: str) -> None:
        """What a group had; a placement group that nobody uses any more is removed."""
        for one in self._held.values():
            one.users = [user for user in one.users if user != name]
        groups = {one.group.id.hex() for one in self._held.values()}
        used = {one.group.id.hex() for one in self._held.values() if one.users}
        for number in groups - used:
            remove(self._head, number)
        self._held = {device: one for device, one in self._held.items() if one.group.id.hex() in used}

    def _check_crowd(self, demand: Demand, devices: Sequence[Device], nodes: Sequence[RayNode]) -> None:
        # Ray would let the rank wait forever.
        for number, device in enumerate(devices):
            here = sum(needs.bundles[:1] == (number,) for needs in demand.ranks)
            users = self._held[device].users if device in self._held else []
            if here + len(users) > MOST_RANKS:
                where = f"GPU {device[1]} of {nodes[demand.bundles[number].node].ip}"
                raise NotPossible(
                    f"{here + len(users)} ranks would share {where}: {MOST_RANKS} at most can",
                    hint=f"it is shared with {listing(sorted(set(users)))}" if users else "",
                )

    def _reserve(self, demand: Demand, nodes: Sequence[RayNode], tables: Tables, deadline: Deadline) -> None:
        tables = self._with_ours(tables)
        group, found = reserve_planned(self._ray, self._head, demand, nodes, tables, deadline)
        try:
            _check_moved(demand, found, nodes)
        except NotPossible:
            remove(self._head, group.id.hex())
            raise
        for one in found.bundles:
            self._held[one.node, one.position] = _Held(group, one)
        self._visible |= {nodes[rank].id: ids for rank, ids in found.visible.items()}

    def _with_ours(self, tables: Tables) -> Tables:
        """Ray tells which GPU an actor holds, not which a group does: a rank of two GPUs stands in one of them."""
        ours: Iterable[RayActor] = (RayActor(id="", node=node, slots={position: 1.0}) for node, position in self._held)
        return replace(tables, actors=(*tables.actors, *ours))


def _check_moved(demand: Demand, found: Order, nodes: Sequence[RayNode]) -> None:
    moved = [
        f"GPU {one.position} instead of {bundle.position} on {nodes[bundle.node].ip}"
        for bundle, one in zip(demand.bundles, found.bundles, strict=True)
        if one.position != bundle.position
    ]
    if moved:
        raise NotPossible(
            f"other jobs have planned GPUs, so Ray gave {listing(moved, 4)}",
            hint="stop those jobs (placetui ps, placetui top), or place the group on other GPUs",
        )
