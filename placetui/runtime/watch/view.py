"""A cluster as it is shown: what follows from the head's tables and from the answers of the samplers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from placetui.frameworks.base import DeviceOrder, Framework
from placetui.frameworks.cluster_facts import NODE_RANK, RankSeen, RayJobSeen
from placetui.frameworks.recognition import NAMES_DEVICES, RecognisedJob
from placetui.frameworks.registry import by_mode
from placetui.observe.attribution import ActorFact, NodeFacts
from placetui.observe.following import STATES, PlanOutline
from placetui.observe.following import rank_states as job_rank_states
from placetui.observe.model import BundleState, Claim, DeviceSample, GroupState, NodeSample, NodeState, RankState
from placetui.placement.environment import NAMESPACE
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.driver import is_here
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode, Tables
from placetui.runtime.jobs.records import READY, Record
from placetui.runtime.jobs.state import job_of
from placetui.runtime.launch.matching import match_by
from placetui.runtime.scheduling.pending import Waiting
from placetui.runtime.watch.samplers import GpuOrder, Reading, Samplers
from placetui.telemetry.visible import NOT_COUNTED

_RANK = re.compile(r"([^/]+)/(.+):(\d+)")
"""The name of a rank's actor: job, component, rank."""


IDLE = "idle, not sampled"
LOST = "this node is lost"

GROUP_GRACE = 60.0
"""Seconds after which a launch has its placement group, if there is one at work."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of a cluster at one moment."""

    tables: Tables
    record: Record | None = None
    time: float = 0.0
    """When that was, in seconds since the epoch."""

    waiting: tuple[Waiting, ...] = ()
    """Groups and actors that have no place yet, and why."""

    jobs: tuple[RayJobSeen, ...] = ()
    with_dead: Set[str] = frozenset()
    """Ray jobs whose dead actors are in the tables, too."""


@dataclass(frozen=True, slots=True)
class Followed:
    """Jobs of frameworks that were recognised, and the one that is followed."""

    jobs: tuple[RecognisedJob, ...] = ()
    job: RecognisedJob | None = None
    outline: PlanOutline | None = None
    note: str = ""

    @property
    def everybody(self) -> Iterator[tuple[RecognisedJob, RankSeen]]:
        """Ranks and services of all jobs; of the one that is followed under the names of the plan."""
        for job in self.jobs:
            shown = self.job if self.job is not None and self.job.job.id == job.job.id else job
            for one in (*shown.ranks, *shown.services):
                yield shown, one


@dataclass(frozen=True, slots=True)
class ShownNode:
    """A node that is shown, at its rank."""

    rank: int
    node: RayNode
    here: bool = True
    """False: the job that is watched has it, and the cluster has lost it."""


@dataclass(frozen=True, slots=True)
class ShownDevices:
    """The GPUs of one node, by the index at which they are shown."""

    positions: tuple[int | None, ...]
    """Of each, its position in Ray's count; None: Ray does not count it."""

    gpu_ids: tuple[int, ...]
    """Of each, its physical id."""

    @classmethod
    def arrange(
        cls, order: DeviceOrder, gpus: int, gpu_ids: tuple[int, ...], owned: Collection[int], others: Iterable[int] = ()
    ) -> ShownDevices:
        """All that Ray counts, with `gpu_ids` in its order (empty: 0, 1, 2 …); by physical id all that the node has,
        else those besides that ranks own. `others` are GPUs that NVML lists besides.
        """
        counted = gpu_ids or tuple(range(gpus))
        places: list[tuple[int, int | None]] = [(gpu, place) for place, gpu in enumerate(counted)]
        beyond = {gpu for gpu in owned if gpu not in counted}
        if order == "physical_id":
            last = max((*counted, *beyond), default=-1)
            beyond = {gpu for gpu in {*others, *range(last + 1)} if gpu not in counted}
            shown = sorted([*places, *((gpu, None) for gpu in beyond)], key=lambda one: one[0])
        else:
            shown = sorted(places, key=lambda one: one[0]) if order == "lowest_id" else places
            shown += [(gpu, None) for gpu in sorted(beyond)]
        return cls(tuple(place for _, place in shown), tuple(gpu for gpu, _ in shown))

    def by_position(self) -> Mapping[int, int]:
        return {place: index for index, place in enumerate(self.positions) if place is not None}

    def by_id(self) -> Mapping[int, int]:
        return {gpu: index for index, gpu in enumerate(self.gpu_ids)}

    def samples(
        self, read: Sequence[DeviceSample], gpus: int, name: str | None = None, reason: str | None = None
    ) -> tuple[DeviceSample, ...]:
        """The GPUs in order. A sampler has `read` them in Ray's order, then those that Ray does not count; one that was
        not read has the name and the reason.
        """
        counted = {one.index: one for one in read if one.index < gpus}
        others = {one.gpu_id: one for one in read if one.index >= gpus}
        found = []
        for index, (place, gpu) in enumerate(zip(self.positions, self.gpu_ids, strict=True)):
            one = others.get(gpu) if place is None else counted.get(place)
            if one is None:
                one = DeviceSample(index, name=name, error=reason)
            physical = None if gpu == index else gpu
            if place is None:
                error = "; ".join(part for part in (NOT_COUNTED, one.error) if part)
                one = replace(one, error=error)
            if (one.index, one.physical) != (index, physical):
                one = replace(one, index=index, physical=physical)
            found.append(one)
        return tuple(found)


def places(
    seen: Seen,
    mode: str,
    planned: int,
    driver: str,
    ranks: Mapping[str, str | None],
    followed: RecognisedJob | None = None,
) -> tuple[ShownNode, ...]:
    """The nodes to show, by rank: those with GPUs, those of the plan, and those of the job that is watched. Their order
    depends on the mode of the plan, on the node (`driver`) that a driver here would be on, and on the `ranks` that
    nodes have in their environment; a job that is followed may know it itself.
    """
    nodes = seen.tables.nodes
    matched = _of_job(seen.record) if seen.record is not None and seen.record.nodes else None
    if matched is not None:
        planned = len(matched)
        there = {node.id: node for node in nodes}
        found = [ShownNode(rank, there.get(node.id, node), node.id in there) for rank, node in matched.items()]
    else:
        ordered = _in_order(nodes, by_mode(mode), driver, ranks)
        if followed is not None:
            by_id = {node.id: node for node in ordered}
            ordered = [by_id[one] for one in followed.order_nodes(list(by_id))]
        found = [ShownNode(rank, node) for rank, node in enumerate(ordered)]
    known = {place.node.id for place in found}
    after = max((place.rank for place in found), default=-1) + 1
    found += [ShownNode(after + more, node) for more, node in enumerate(one for one in nodes if one.id not in known)]
    used = {followed.actors[one.actor].node for one in followed.ranks} if followed is not None else set()
    shown = [place for place in found if place.node.gpus or place.rank < planned or place.node.id in used]
    return tuple(sorted(shown, key=lambda place: place.rank))


def _of_job(record: Record) -> dict[int, RayNode]:
    return {
        int(one.get("rank", 0)): RayNode(
            str(one.get("node_id", "")), str(one.get("ip", "")), str(one.get("host", "")), {"GPU": one.get("gpus", 0)}
        )
        for one in record.nodes
    }


def _in_order(
    nodes: Sequence[RayNode], framework: Framework, driver: str, ranks: Mapping[str, str | None]
) -> Sequence[RayNode]:
    said = {node.id: node.labels.get(NODE_RANK) or ranks.get(node.id) for node in nodes}
    try:
        return match_by(framework, nodes, driver, said).nodes
    except NotPossible:
        # A launch would be refused; one who only looks gets some order that stays.
        return match_by(framework, nodes, driver).nodes


def bare_node(place: ShownNode, reason: str, shown: ShownDevices | None = None) -> NodeSample:
    """A node as Ray counts its GPUs; `reason` is why there is no more."""
    node = place.node
    shown = shown or ShownDevices.arrange("as_listed", node.gpus, (), ())
    name = node.labels.get("ray.io/accelerator-type")
    return NodeSample(
        place.rank,
        node.host or node.ip,
        node.ip,
        stale=not place.here,
        error=None if place.here else LOST,
        devices=shown.samples((), node.gpus, name, reason or None),
        state=_state(place, idle=reason == IDLE),
    )


def _state(place: ShownNode, *, idle: bool) -> NodeState:
    if not place.here:
        return "lost"
    return "draining" if place.node.draining else "idle" if idle else "up"


def rank_states(seen: Seen) -> dict[str, tuple[RankState, ...]]:
    """The ranks of the job that is watched."""
    if seen.record is None:
        return {}
    found: dict[str, list[RankState]] = {name: [] for name in seen.record.groups}
    why = _why_pending(seen, seen.record)
    for state in job_of(seen.record, seen.tables).ranks:
        if why and state.state == "pending" and not state.reason:
            state = replace(state, reason=why)
        found[state.component].append(state)
    return {name: tuple(states) for name, states in found.items()}


def _why_pending(seen: Seen, record: Record) -> str:
    """Why a rank of the job that is pending will not come up by itself; empty if a launch is at work on it."""
    if record.state == READY:
        return "its process has not started yet"
    groups = [one for one in seen.tables.groups if one.namespace == NAMESPACE and one.name == record.job]
    at_work = [not one.abandoned for one in groups if one.state != "REMOVED"]
    if any(at_work) if at_work else seen.time < record.created + GROUP_GRACE:
        return ""
    return "its launch ended before it started: down, then up"


def group_states(
    groups: Iterable[RayGroup], ranks: Mapping[str, int], waiting: Iterable[Waiting] = ()
) -> tuple[GroupState, ...]:
    """The placement groups that are there, and the actors that wait; `ranks` of nodes by their id."""
    why = {one.id: f"{one.shortage.sentence}; hint: {one.shortage.hint}" for one in waiting}
    found = [
        GroupState(
            group.id,
            group.name,
            group.namespace,
            group.state.lower(),
            "" if group.state == "CREATED" else why.get(group.id, group.scheduling.lower()),
            tuple(_bundle(bundle.resources, ranks.get(bundle.node)) for bundle in group.bundles),
        )
        for group in groups
        if group.state != "REMOVED"
    ]
    found += [
        GroupState(one.id, f"actor {one.name}", "", "pending", why[one.id], (_bundle(one.needs[0].resources),))
        for one in waiting
        if one.kind == "actor"
    ]
    return tuple(found)


def _bundle(resources: Mapping[str, float], node: int | None = None) -> BundleState:
    return BundleState(node, resources.get("GPU", 0.0), resources.get("CPU", 0.0))


def actor_facts(
    actors: Iterable[RayActor],
    groups: Iterable[RayGroup],
    ranks: Mapping[str, int],
    slots: Mapping[str, GpuOrder],
    shown: Mapping[str, ShownDevices] | None = None,
    followed: Followed | None = None,
) -> tuple[ActorFact, ...]:
    """The actors that have a process, for attribution; `ranks`, `slots` and `shown` by node id."""
    by_id = {group.id: group for group in groups}
    seen = {one.actor: (job, one) for job, one in followed.everybody} if followed is not None else {}
    return tuple(
        _fact(
            actor,
            ranks[actor.node],
            slots.get(actor.node),
            by_id.get(actor.group),
            (shown or {}).get(actor.node),
            seen.get(actor.id),
        )
        for actor in actors
        if actor.node in ranks and _is_there(actor, seen.get(actor.id))
    )


def _is_there(actor: RayActor, seen: tuple[RecognisedJob, RankSeen] | None) -> bool:
    """Whether it has a process, or is a dead rank of a running job: that one is dead, not absent."""
    if actor.state == "DEAD":
        return seen is not None and not seen[1].service and not seen[0].ended
    # One that is still in its constructor may hold a lot already.
    return actor.state == "ALIVE" or (actor.state == "PENDING_CREATION" and bool(actor.pid))


def _fact(
    actor: RayActor,
    node: int,
    slots: GpuOrder | None,
    group: RayGroup | None,
    shown: ShownDevices | None,
    seen: tuple[RecognisedJob, RankSeen] | None,
) -> ActorFact:
    name = _RANK.fullmatch(actor.name) if actor.namespace == NAMESPACE else None
    words = next((actor.environment[one] for one in NAMES_DEVICES if one in actor.environment), "")
    index = shown.by_position() if shown is not None else {}
    claimed = tuple(index.get(place, place) for place in slots.meant(words)) if slots and words else ()
    if seen is not None:
        by_id = shown.by_id() if shown is not None else {}
        claimed = tuple(by_id.get(gpu, gpu) for gpu in seen[1].devices)
    claim = Claim(
        actor.id,
        actor.title,
        0 if actor.state == "DEAD" else actor.pid,
        job=actor.job or None,
        group=group.name if group and group.namespace == NAMESPACE else None,
        class_name=actor.class_name or None,
        namespace=actor.namespace or None,
        placement_group=group.title if group else None,
    )
    if name or seen:
        claim = replace(claim, state=STATES.get(actor.state), restarts=actor.restarts, since=actor.created)
    if seen is not None:
        job, one = seen
        rank = None if one.service else one.rank
        claim = replace(
            claim, job=job.name, component=one.component, rank=rank, framework=job.framework, service=one.service
        )
    elif name:
        # What our ranks are is known.
        job_name, component, rank = name[1], name[2], int(name[3])
        claim = replace(claim, job=job_name, component=component, rank=rank, class_name=None, namespace=None)
    return ActorFact(
        node,
        claim,
        reserved={index.get(slot, slot): share for slot, share in actor.slots.items()},
        claimed=claimed,
        bundles={index.get(slot, slot): bundle for slot, bundle in actor.bundles.items()},
        created=actor.created,
        claimed_by=(seen[1].device_from if seen else None) or "environment",
    )


class ClusterView:
    """A cluster without names and ages; what did not change is the same object as before."""

    def __init__(
        self,
        seen: Seen,
        mode: str,
        planned: int,
        known: Mapping[str, tuple[str | None, GpuOrder]],
        driver: str,
        before: ClusterView | None,
        followed: Followed | None = None,
    ) -> None:
        self.nodes: tuple[NodeSample, ...] = ()
        """By rank, as `places`."""

        self.facts: Mapping[int, NodeFacts] = {}
        self.awaited = False
        """Whether a sampler is on its way that has not answered yet."""

        self._seen = seen
        self._known = known
        self._made: dict[str, tuple[ShownNode, Reading | None, str, NodeSample]] = {}
        ranks = {name: rank for name, (rank, _) in known.items()}
        followed = followed or Followed()
        self.followed = followed
        job = followed.job
        if job is not None and (not mode or by_mode(mode).name != job.framework):
            mode = job.framework
        self.places: tuple[ShownNode, ...] = places(seen, mode, planned, driver, ranks, job)
        slots = {place.node.id: GpuOrder(place.node.gpus) for place in self.places}
        slots.update((name, gpus) for name, (_, gpus) in known.items())
        by_id = {place.node.id: place.rank for place in self.places}
        states = rank_states(seen) if job is None else job_rank_states(job, followed.outline, by_id)
        self.ranks: Mapping[str, tuple[RankState, ...]] = {
            name: _same(before.ranks.get(name) if before else None, found) for name, found in states.items()
        }
        planned_for = followed.outline.sizes if job is not None and followed.outline is not None else {}
        self.not_launched = tuple(name for name in planned_for if name not in states)
        self._order: DeviceOrder = by_mode(mode).device_order if mode else "as_listed"
        self._owned: dict[str, set[int]] = {}
        for one_job, one in followed.everybody:
            self._owned.setdefault(one_job.actors[one.actor].node, set()).update(one.devices)
        self._shown: dict[str, ShownDevices] = {place.node.id: self._devices(place) for place in self.places}
        actors = actor_facts(seen.tables.actors, seen.tables.groups, by_id, slots, self._shown, followed)
        self.actors: tuple[ActorFact, ...] = _same(before.actors if before else None, actors)
        groups = group_states(seen.tables.groups, by_id, seen.waiting)
        self.groups: tuple[GroupState, ...] = _same(before.groups if before else None, groups)
        if before:
            self._made = before._made

    @classmethod
    def of(
        cls,
        seen: Seen,
        mode: str,
        planned: int,
        samplers: Samplers | None,
        used: Set[str],
        before: ClusterView | None,
        watch: Callable[[Seen, Mapping[str, tuple[int, ...]]], Followed] | None = None,
    ) -> ClusterView:
        """What is known at this moment. Nodes that are not in `used` are idle; `watch` recognises jobs, given the
        tables and the physical ids of each node's GPUs. Without samplers there may be none.
        """
        known = dict(samplers.identities) if samplers is not None else {}
        view = before
        if view is None or view._seen is not seen or view._known != known:
            here = (samplers.here if samplers is not None else "") or driver_node(seen.tables.nodes)
            ids = {name: gpus.gpu_ids for name, (_, gpus) in known.items()}
            view = cls(seen, mode, planned, known, here, before, watch(seen, ids) if watch is not None else None)
        view._fill(samplers, used)
        return view

    def _fill(self, samplers: Samplers | None, used: Set[str]) -> None:
        made, self._made = self._made, {}
        refusal = "samplers are switched off" if samplers is None else samplers.problem
        sampled = samplers.nodes if samplers is not None else {}
        readings = {name: one.reading for name, one in sampled.items() if one.reading is not None}
        self.awaited = False
        for place in self.places:
            name = place.node.id
            reading = readings.get(name) if place.here else None
            problem = sampled[name].problem if name in sampled else ""
            if not place.here:
                why = LOST
            elif samplers is not None and name not in used:
                why, reading = IDLE, None
            else:
                why = refusal or problem or "it is not read yet"
                self.awaited |= reading is None and not refusal and not problem
            last = made.get(name)
            if last is None or last[0] != place or last[1] is not reading or (reading is None and last[2] != why):
                shown = self._shown[name] = self._devices(place, reading)
                node = bare_node(place, why, shown) if reading is None else _sampled(place, reading, shown)
                last = place, reading, why, node
            self._made[name] = last
        self.nodes = tuple(self._made[place.node.id][3] for place in self.places)
        self.facts = {place.rank: readings[place.node.id].facts for place in self.places if place.node.id in readings}

    def _devices(self, place: ShownNode, reading: Reading | None = None) -> ShownDevices:
        node = place.node
        gpu_ids = self._known[node.id][1].gpu_ids if node.id in self._known else ()
        others = [one.gpu_id for one in reading.node.devices if one.index >= node.gpus] if reading is not None else []
        return ShownDevices.arrange(self._order, node.gpus, gpu_ids, self._owned.get(node.id, ()), others)


def _sampled(place: ShownNode, reading: Reading, shown: ShownDevices) -> NodeSample:
    """What a sampler read, under the name by which Ray knows the node."""
    node = replace(
        reading.node,
        devices=shown.samples(reading.node.devices, place.node.gpus) if reading.node.devices else (),
        rank=place.rank,
        name=place.node.host or place.node.ip,
        ip=place.node.ip,
        state=_state(place, idle=False),
    )
    if node.devices:
        return node
    # Without NVML: what Ray counts, and why there is no more.
    return replace(node, devices=bare_node(place, node.error or "", shown).devices)


def _same(old: Any, new: Any) -> Any:
    """The old one if it is equal, which is quick to compare from then on."""
    return old if old == new else new


def driver_node(nodes: tuple[RayNode, ...]) -> str:
    """The node that a driver here would be on: of several on this machine the head's."""
    here = [node for node in nodes if is_here(node.ip)]
    return min(here, key=lambda node: not node.head).id if here else ""
