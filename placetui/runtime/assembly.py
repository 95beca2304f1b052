"""`Assembly`: what follows from the head's tables and the samplers' answers, brought together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from placetui.observe.facts import ActorFact, NodeFacts
from placetui.observe.model import GroupState, NodeSample, RankState
from placetui.runtime.connect import is_here
from placetui.runtime.model import RayNode
from placetui.runtime.node_reader import Reading
from placetui.runtime.samplers import Samplers
from placetui.runtime.view import Place, Seen, Slots, actor_facts, bare_node, group_states, places, rank_states


@dataclass(frozen=True, slots=True)
class _Known:
    """What of a reading says which node and which GPU is which."""

    rank: str | None
    slots: Slots


class Assembly:
    """A cluster without names and ages; what is as it was before is the same object as before."""

    def __init__(
        self,
        seen: Seen,
        mode: str,
        planned: int,
        known: Mapping[str, _Known],
        driver: str,
        before: Assembly | None,
    ) -> None:
        self.nodes: tuple[NodeSample, ...] = ()
        """By rank, as `places`."""

        self.facts: Mapping[int, NodeFacts] = {}
        self.awaited = False
        """Whether a sampler is on its way that has not answered yet."""

        self._seen = seen
        self._known = known
        self._made: dict[str, tuple[Place, Reading | None, str, NodeSample]] = {}
        ranks = {name: one.rank for name, one in known.items()}
        self.places: tuple[Place, ...] = places(seen, mode, planned, driver, ranks)
        self.ranks: Mapping[str, tuple[RankState, ...]] = {
            name: _same(before.ranks.get(name) if before else None, states)
            for name, states in rank_states(seen).items()
        }
        slots = {place.node.id: Slots(place.node.gpus) for place in self.places}
        slots.update((name, one.slots) for name, one in known.items())
        by_id = {place.node.id: place.rank for place in self.places}
        actors = actor_facts(seen.tables.actors, seen.tables.groups, by_id, slots)
        self.actors: tuple[ActorFact, ...] = _same(before.actors if before else None, actors)
        groups = group_states(seen.tables.groups, by_id)
        self.groups: tuple[GroupState, ...] = _same(before.groups if before else None, groups)
        if before:
            self._made = before._made

    @classmethod
    def of(cls, seen: Seen, mode: str, planned: int, samplers: Samplers | None, before: Assembly | None) -> Assembly:
        """What is known at this moment; `mode` and `planned` as for `places`."""
        seats = samplers.seats if samplers is not None else {}
        readings = {name: seat.reading for name, seat in seats.items() if seat.reading is not None}
        known = {name: _Known(one.rank, one.slots) for name, one in readings.items()}
        assembly = before
        if assembly is None or assembly._seen is not seen or assembly._known != known:
            here = (samplers.here if samplers is not None else "") or driver_node(seen.tables.nodes)
            assembly = cls(seen, mode, planned, known, here, before)
        assembly._fill(readings, samplers)
        return assembly

    def _fill(self, readings: Mapping[str, Reading], samplers: Samplers | None) -> None:
        made, self._made = self._made, {}
        reason = "samplers are switched off" if samplers is None else samplers.problem
        seats = samplers.seats if samplers is not None else {}
        self.awaited = False
        for place in self.places:
            name = place.node.id
            reading = readings.get(name) if place.here else None
            seat = seats.get(name)
            why = reason or (seat.problem if seat else "") or "it is not read yet"
            if not place.here:
                why = "the cluster has lost this node"
            self.awaited |= place.here and not reason and reading is None and not (seat and seat.problem)
            last = made.get(name)
            if last is None or last[0] != place or last[1] is not reading or (reading is None and last[2] != why):
                node = bare_node(place, why) if reading is None else _sampled(place, reading)
                last = place, reading, why, node
            self._made[name] = last
        self.nodes = tuple(self._made[place.node.id][3] for place in self.places)
        self.facts = {place.rank: readings[place.node.id].facts for place in self.places if place.node.id in readings}


def _sampled(place: Place, reading: Reading) -> NodeSample:
    """What a sampler read, under the name by which Ray knows the node."""
    node = replace(reading.node, rank=place.rank, name=place.node.host or place.node.ip, ip=place.node.ip)
    if node.devices:
        return node
    # Without NVML: what Ray counts, and why there is no more.
    return replace(node, devices=bare_node(place, node.error or "").devices)


def _same(old: Any, new: Any) -> Any:
    """The old one if it is equal: whoever compares is done at once."""
    return old if old == new else new


def driver_node(nodes: tuple[RayNode, ...]) -> str:
    """The node that a driver here would be on: of several on this machine the head's."""
    here = [node for node in nodes if _is_here(node.ip)]
    return min(here, key=lambda node: not node.head).id if here else ""


_is_here = lru_cache(4096)(is_here)
