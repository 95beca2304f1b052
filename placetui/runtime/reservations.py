"""The devices that a program holds: whole ones, each once, however many of its groups share them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from placetui.placement.plan import SHARE_UNITS
from placetui.placement.problems import listing
from placetui.runtime.demand import Demand
from placetui.runtime.errors import Refused
from placetui.runtime.model import RayActor, RayNode, Tables
from placetui.runtime.ordering import Order, Probed, order
from placetui.runtime.private import Head
from placetui.runtime.probe import probe, visible_lists
from placetui.runtime.reserve import Fillers, fit, remove, reserve
from placetui.runtime.waiting import Patience

RANK_UNITS = 100
"""What a rank takes of its device in Ray's books, in 1/10000: which groups will share a device is not known before
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

    def take(self, name: str, demand: Demand, nodes: Sequence[RayNode], patience: Patience) -> tuple[list[Any], Order]:
        """Devices for a group of ranks: those that the program has, and new ones for the rest.

        Args:
            name: Of the group.
            demand: What it asks for.
            nodes: By planned rank.
            patience: How long.

        Returns:
            By logical device its placement group, and what the probe learned.

        Raises:
            Refused: there is no room, or others have the devices.
        """
        devices = [(nodes[bundle.node].id, bundle.position) for bundle in demand.bundles]
        self._check_crowd(demand, devices, nodes)
        missing = tuple(
            bundle for bundle, device in zip(demand.bundles, devices, strict=True) if device not in self._held
        )
        # Also without new devices: ranks on nodes take CPUs.
        loose = tuple(seat for seat in demand.seats if not seat.bundles)
        new = Demand(missing, loose)
        _, tables = fit(self._head, new, nodes, lambda: None)
        if missing:
            self._reserve(new, nodes, tables, patience)
        for seat in demand.seats:
            for number in seat.bundles:
                self._held[devices[number]].users.append(name)
        held = [self._held[device] for device in devices]
        visible = {
            rank: self._visible.get(node.id) or tuple(str(index) for index in range(node.gpus))
            for rank, node in enumerate(nodes)
        }
        visible |= visible_lists(self._ray, demand, nodes, patience)
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
        # Ray would let the rank wait for ever.
        for number, device in enumerate(devices):
            here = sum(seat.bundles[:1] == (number,) for seat in demand.seats)
            users = self._held[device].users if device in self._held else []
            if here + len(users) > MOST_RANKS:
                where = f"GPU {device[1]} of {nodes[demand.bundles[number].node].ip}"
                raise Refused(
                    f"{here + len(users)} ranks would share {where}: {MOST_RANKS} at most can",
                    hint=f"it is shared with {listing(sorted(set(users)))}" if users else "",
                )

    def _reserve(self, demand: Demand, nodes: Sequence[RayNode], tables: Tables, patience: Patience) -> None:
        fillers = Fillers(self._head, patience)
        group = None
        try:
            fillers.fill(demand, nodes, self._with_ours(tables))
            group = reserve(self._head, None, demand, nodes, patience)
            probed = probe(self._ray, group, [bundle.node for bundle in demand.bundles], patience)
            found = order(demand, [node.id for node in nodes], [node.gpus for node in nodes], probed)
            _check_moved(demand, found, nodes)
        except BaseException:
            if group is not None:
                remove(self._head, group.id.hex())
            raise
        finally:
            fillers.release()
        for one in found.bundles:
            self._held[one.node, one.position] = _Held(group, one)
        self._visible |= {nodes[rank].id: ids for rank, ids in found.visible.items()}

    def _with_ours(self, tables: Tables) -> Tables:
        """Ray tells which GPU an actor holds, not which a group does: a rank of two GPUs stands in one of them."""
        ours: Iterable[RayActor] = (
            RayActor(id="", node=node, slots={position: SHARE_UNITS}) for node, position in self._held
        )
        return replace(tables, actors=(*tables.actors, *ours))


def _check_moved(demand: Demand, found: Order, nodes: Sequence[RayNode]) -> None:
    moved = [
        f"GPU {one.position} instead of {bundle.position} on {nodes[bundle.node].ip}"
        for bundle, one in zip(demand.bundles, found.bundles, strict=True)
        if one.position != bundle.position
    ]
    if moved:
        raise Refused(
            f"others hold planned GPUs, so Ray gave {listing(moved, 4)}",
            hint="end what holds them (placetui ps, placetui top), or place the group on other GPUs",
        )
