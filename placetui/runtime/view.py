"""What the head's tables say about a cluster, as parts of an observation. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from placetui.observe.facts import ActorFact
from placetui.observe.model import BundleState, DeviceSample, GroupState, NodeSample, RankState
from placetui.placement.environment import NAMESPACE
from placetui.placement.plan import SHARE_UNITS
from placetui.runtime.errors import Refused
from placetui.runtime.jobs import job_of
from placetui.runtime.matching import match_rlinf, match_slime
from placetui.runtime.model import NODE_RANK, RayActor, RayGroup, RayNode, Tables
from placetui.runtime.records import READY, Record

_RANK = re.compile(r"([^/]+)/(.+):(\d+)")
"""The name of a rank's actor: job, component, rank."""


GROUP_GRACE = 60.0
"""Seconds after which a launch has its placement group, if there is one at work."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of a cluster at one moment."""

    tables: Tables
    record: Record | None = None
    """Of the job that is watched."""

    time: float = 0.0
    """When that was, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node that is shown, at its rank."""

    rank: int
    node: RayNode
    here: bool = True
    """False: the job that is watched has it, and the cluster has lost it."""


def places(seen: Seen, mode: str, planned: int, driver: str, ranks: Mapping[str, str | None]) -> tuple[Place, ...]:
    """The nodes to show, by rank: those with GPUs, those of the plan, and those of the job that is watched.

    Args:
        seen: The cluster.
        mode: Of the plan; slime counts nodes in its own way.
        planned: How many nodes the plan has.
        driver: Id of the node that a driver here would be on.
        ranks: By node id, RLINF_NODE_RANK in its environment, as far as known.
    """
    nodes = seen.tables.nodes
    matched = _of_job(seen.record) if seen.record is not None and seen.record.nodes else None
    if matched is not None:
        planned = len(matched)
        there = {node.id: node for node in nodes}
        found = [Place(rank, there.get(node.id, node), node.id in there) for rank, node in matched.items()]
    else:
        found = [Place(rank, node) for rank, node in enumerate(_in_order(nodes, mode, driver, ranks))]
    known = {place.node.id for place in found}
    after = max((place.rank for place in found), default=-1) + 1
    found += [Place(after + more, node) for more, node in enumerate(one for one in nodes if one.id not in known)]
    shown = [place for place in found if place.node.gpus or place.rank < planned]
    return tuple(sorted(shown, key=lambda place: place.rank))


def _of_job(record: Record) -> dict[int, RayNode]:
    """The nodes that a job was matched with, by rank."""
    return {
        int(one.get("rank", 0)): RayNode(
            str(one.get("node_id", "")), str(one.get("ip", "")), str(one.get("host", "")), {"GPU": one.get("gpus", 0)}
        )
        for one in record.nodes
    }


def _in_order(nodes: Sequence[RayNode], mode: str, driver: str, ranks: Mapping[str, str | None]) -> Sequence[RayNode]:
    if mode == "slime":
        return match_slime(nodes).nodes
    said = {node.id: node.labels.get(NODE_RANK) or ranks.get(node.id) for node in nodes}
    try:
        return match_rlinf(nodes, driver, said).nodes
    except Refused:
        # A launch would be refused; one who only looks gets some order that stays.
        return match_rlinf(nodes, driver, {}).nodes


def bare_node(place: Place, reason: str) -> NodeSample:
    """A node as Ray counts its GPUs; `reason` is why there is no more."""
    node = place.node
    name = node.labels.get("ray.io/accelerator-type")
    return NodeSample(
        place.rank,
        node.host or node.ip,
        node.ip,
        stale=not place.here,
        error=None if place.here else "the cluster has lost this node",
        devices=tuple(DeviceSample(index, name=name, error=reason or None) for index in range(node.gpus)),
    )


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
        return "its process is not there yet"
    groups = [one for one in seen.tables.groups if one.namespace == NAMESPACE and one.name == record.job]
    at_work = [not one.abandoned for one in groups if one.state != "REMOVED"]
    if any(at_work) if at_work else seen.time < record.created + GROUP_GRACE:
        return ""
    return "its launch has ended before it came up: down, then up"


def group_states(groups: Iterable[RayGroup], ranks: Mapping[str, int]) -> tuple[GroupState, ...]:
    """The placement groups that are there; `ranks` of nodes by their id."""
    return tuple(
        GroupState(
            group.id,
            group.name,
            group.namespace,
            group.state.lower(),
            "" if group.state == "CREATED" else group.scheduling.lower(),
            tuple(
                BundleState(ranks.get(bundle.node), bundle.resources.get("GPU", 0.0), bundle.resources.get("CPU", 0.0))
                for bundle in group.bundles
            ),
        )
        for group in groups
        if group.state != "REMOVED"
    )


@dataclass(frozen=True, slots=True)
class Slots:
    """Which GPU of a node is meant by a word of CUDA_VISIBLE_DEVICES: its place in Ray's own count."""

    gpus: int
    by_word: Mapping[str, int] = field(default_factory=dict)
    """Where Ray was started with such a list: its words, and the UUIDs of what they mean."""

    def meant(self, words: str) -> tuple[int, ...]:
        """The places that a list names; what it names elsewhere is left out."""
        found = []
        for word in (part.strip() for part in words.split(",")):
            place = self.by_word.get(word)
            if place is None and not self.by_word and word.isdecimal() and int(word) < self.gpus:
                place = int(word)
            if place is not None and place not in found:
                found.append(place)
        return tuple(found)


def actor_facts(
    actors: Iterable[RayActor], groups: Iterable[RayGroup], ranks: Mapping[str, int], slots: Mapping[str, Slots]
) -> tuple[ActorFact, ...]:
    """The actors that have a process, for attribution; `ranks` and `slots` by node id."""
    by_id = {group.id: group for group in groups}
    return tuple(
        _fact(actor, ranks[actor.node], slots.get(actor.node), by_id.get(actor.group))
        for actor in actors
        # One that is still in its constructor may hold a lot already.
        if (actor.state == "ALIVE" or (actor.state == "PENDING_CREATION" and actor.pid)) and actor.node in ranks
    )


def _fact(actor: RayActor, node: int, slots: Slots | None, group: RayGroup | None) -> ActorFact:
    name = _RANK.fullmatch(actor.name) if actor.namespace == NAMESPACE else None
    words = actor.variables.get("CUDA_VISIBLE_DEVICES", actor.variables.get("VISIBLE_DEVICES", ""))
    return ActorFact(
        id=actor.id,
        node=node,
        pid=actor.pid,
        name=actor.name,
        class_name=actor.kind,
        namespace=actor.namespace,
        job=name[1] if name else actor.job,
        component=name[2] if name else None,
        rank=int(name[3]) if name else None,
        reserved={slot: units / SHARE_UNITS for slot, units in actor.slots.items()},
        claimed=slots.meant(words) if slots and words else (),
        group=group.name if group and group.namespace == NAMESPACE else None,
        created=actor.created,
        placement_group=group.title if group else None,
        bundles=actor.bundles,
    )
