"""Places that a framework leaves to Ray: once a job runs, the plan has its ranks where they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock

from placetui.observe.drift import owner_of
from placetui.observe.model import Claim, Observation, ProcessSample
from placetui.placement.placements import Placement, set_node_id, set_undecided
from placetui.placement.plan import Component, Plan


class SettledPlan:
    """A plan, and what is known by now of the places that it does not fix.

    A place that was seen once is fixed: what moves away from it is drift. Another job starts again.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._settled = plan
        self._job = ""
        self._lock = Lock()

    def update(self, observation: Observation) -> Plan:
        """The plan with every rank where it runs; the same object while nothing new is known."""
        if not self.plan.unfixed_nodes:
            return self.plan
        with self._lock:
            return self._update(observation)

    def _update(self, observation: Observation) -> Plan:
        if observation.job != self._job:
            self._job, self._settled = observation.job, self.plan
        open_ones = {name: one for name, one in self._settled.components.items() if one.not_fixed}
        if not open_ones or not observation.ranks:
            return self._settled
        seen = _devices(observation)
        changed = {
            name: settled
            for name, one in open_ones.items()
            if (settled := _settle(one, self._settled, observation, seen)) is not one
        }
        if changed:
            self._settled = replace(self._settled, components={**self._settled.components, **changed})
        return self._settled


def _devices(observation: Observation) -> Mapping[tuple[str, int, int], list[int]]:
    """By component, rank and node, the GPUs that a rank of the job has."""
    found: dict[tuple[str, int, int], list[int]] = {}
    for node in observation.nodes:
        for device in node.devices:
            present: tuple[Claim | ProcessSample, ...] = (*device.claims, *device.processes)
            for one in present:
                if owner := owner_of(one, observation.job):
                    held = found.setdefault((*owner, node.rank), [])
                    if device.index not in held:
                        held.append(device.index)
    return found


def _settle(
    component: Component, plan: Plan, observation: Observation, seen: Mapping[tuple[str, int, int], list[int]]
) -> Component:
    places: list[tuple[int, Sequence[int]] | None] = []
    for one in component.placements:
        state = observation.rank(component.name, one.rank)
        runs = state is not None and state.state in ("alive", "starting")
        node = state.node if state is not None and runs and not one.fixed else None
        devices = seen.get((component.name, one.rank, -1 if node is None else node), [])
        known = node is not None and node < len(plan.nodes) and len(devices) == len(one.devices)
        may_move = node == one.cluster_node_rank or not one.node_fixed
        places.append((node, devices) if node is not None and known and may_move else None)
    if not any(places):
        return component
    return replace(component, placements=list(_placed(component.placements, places, plan)))


def _placed(
    placements: Sequence[Placement], places: Sequence[tuple[int, Sequence[int]] | None], plan: Plan
) -> Iterator[Placement]:
    """The placements with new places, counted again on the nodes."""
    nodes = [place[0] if place else one.cluster_node_rank for one, place in zip(placements, places, strict=True)]
    sizes, before, order = Counter(nodes), Counter[int](), {node: at for at, node in enumerate(dict.fromkeys(nodes))}
    for one, node, place in zip(placements, nodes, places, strict=True):
        devices = place[1] if place else one.devices
        moved = replace(
            one,
            cluster_node_rank=node,
            placement_node_rank=order[node],
            local_accelerator_rank=devices[0] if devices else -1,
            accelerator_type=plan.nodes[node].accelerator_type,
            local_rank=before[node],
            local_world_size=sizes[node],
            visible_accelerators=[str(index) for index in devices],
            local_hardware_ranks=list(devices),
        )
        before[node] += 1
        set_node_id(moved, plan.nodes[node].name)
        if not place and not one.fixed:
            set_undecided(moved, "device" if one.node_fixed else "node")
        yield moved
