"""A cluster as it is, told as a placement: what a file would have to say to give this picture.

Every actor that has reserved, claims or holds GPUs has a place; tasks come and go, and have none. Ranks keep their
components; of other programs the actors of one class and job are a component, since that is how they are started.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from placetui.frameworks.picture import ROLES, Devices, Part, Picture, Stride, find_stride
from placetui.frameworks.planner import make_plan
from placetui.frameworks.registry import framework
from placetui.observe.drift import drift
from placetui.observe.model import Claim, NodeSample, Observation, ProcessSample
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.rules import shortest_rule
from placetui.placement.topology import Node
from placetui.placement.wording import GIB, listing, number_range

Seat: TypeAlias = "tuple[Devices, int | None]"
"""A process: its GPUs, and what it has reserved of each, in 1/10000."""

Family: TypeAlias = "tuple[str, str, str]"
"""Job; component or class; and which of the two it is."""

APART = "a process on GPUs that are not adjacent is written as several"

_UNSAFE = re.compile(r"[^\w.:-]+")
_NUMBER = re.compile(r"[:_\-/. ]*[0-9]+$")


@dataclass(slots=True)
class _Actor:
    """One process, and where it is."""

    family: Family
    number: int
    """Its rank; -1 where that is not known."""

    node: int
    pid: int
    devices: set[int] = field(default_factory=set)
    reserved: float | None = None

    def order(self) -> tuple[object, ...]:
        return self.number, self.node, sorted(self.devices), self.pid

    def seat(self, starts: Sequence[int]) -> Seat:
        return tuple(sorted(starts[self.node] + index for index in self.devices)), self.units

    @property
    def units(self) -> int | None:
        return None if self.reserved is None else max(1, round(self.reserved * SHARE_UNITS))


def picture_of(observation: Observation, job: str = "") -> Picture:
    """The cluster as it is; ranks of nodes that were not seen stand for nodes without GPUs. Of one `job` alone, the
    file is one of its framework where that can say it.
    """
    samples = {node.rank: node for node in observation.nodes}
    nodes = tuple(_node(samples.get(rank), rank) for rank in range(1 + max(samples, default=-1)))
    starts = [0]
    for node in nodes:
        starts.append(starts[-1] + node.gpus)
    families: defaultdict[Family, list[_Actor]] = defaultdict(list)
    for actor in _actors(observation):
        families[actor.family].append(actor)
    notes: list[str] = []
    if job and (others := [family for family in families if family[0] != job]):
        notes.append(f"left out, since it is not of job {job}: {listing(sorted(map(_about, others)))}")
        families = defaultdict(list, {family: one for family, one in families.items() if family[0] == job})
    jobs = {family[0] for family in families}
    names = _names(list(families))
    if len(jobs) == 1 and (own := _own_sections(observation, jobs.pop(), families, nodes, starts)):
        return Picture(nodes, (), tuple(notes), sections=own)
    drafts: list[tuple[Family, list[Seat]]] = []
    apart: set[Family] = set()
    stride = _stride({names[family]: actors for family, actors in families.items()}, starts)
    for family in sorted(families, key=lambda one: (one[2] != "component", one)):
        actors = sorted(families[family], key=_Actor.order)
        if stride is not None and names[family] == "rollout":
            drafts.append((family, [actor.seat(starts) for actor in actors]))
            continue
        if any(len(list(_runs(actor.seat(starts)[0]))) > 1 for actor in actors):
            apart.add(family)
            notes.append(f"{names[family]}: {APART}")
        drafts += ((family, seats) for seats in _placed(actors, starts, names[family], notes))
    if any(units is not None for _, seats in drafts for _, units in seats):
        drafts = [(family, part) for family, seats in drafts for part in _even(seats)]
    shares = _shares([seats for _, seats in drafts], notes)
    parts: list[Part] = []
    used: Counter[Family] = Counter()
    for (family, seats), share in zip(drafts, shares, strict=True):
        used[family] += 1
        name = names[family] if used[family] == 1 else f"{names[family]}-{used[family]}"
        processes = tuple(devices for devices, _ in seats)
        if stride is not None and name == "rollout":
            rule = number_range(stride.first, stride.last)
        else:
            rule = shortest_rule(processes, starts[-1], may_use_all=True)
        parts.append(Part(name, processes, rule, share, _about(family), APART if family in apart else ""))
    parts += _on_nodes(observation, families, len(nodes))
    return Picture(nodes, tuple(parts), tuple(dict.fromkeys(notes)), stride)


def _own_sections(
    observation: Observation,
    job: str,
    families: Mapping[Family, Sequence[_Actor]],
    nodes: Sequence[Node],
    starts: Sequence[int],
) -> Mapping[str, Any]:
    """What a file of the job's own framework says; empty where it is not followed, or no file gives its places."""
    known = next((one for one in observation.jobs if one.name == job == observation.job), None)
    chosen = framework(known.framework) if known is not None else None
    if chosen is None or chosen.sections_for is None:
        return {}
    ranks = {
        family[1]: [actor.seat(starts)[0] for actor in sorted(actors, key=_Actor.order)]
        for family, actors in families.items()
    }
    sections = chosen.sections_for(ranks, [node.gpus for node in nodes])
    if sections is None:
        return {}
    plan = make_plan(sections, nodes=nodes)
    fits = not any(problem.blocking for problem in plan.problems) and not any(
        one.kind not in ("dead_rank", "stale", "draining") for one in drift(plan, observation)
    )
    return sections if fits else {}


def _on_nodes(observation: Observation, families: Mapping[Family, object], total: int) -> Iterator[Part]:
    """Components of the followed job of a framework that have no GPUs."""
    followed = any(one.name == observation.job for one in observation.jobs)
    for name, states in observation.ranks.items() if followed else ():
        family = observation.job, name, "component"
        places = [state.node for state in states if state.node is not None]
        if family in families or len(places) < len(states) or places != sorted(places) or not states:
            continue
        processes = tuple((node,) for node in places)
        rule = shortest_rule(processes, total, may_use_all=False)
        yield Part(_safe(name).replace(":", "_"), processes, rule, None, _about(family), on_nodes=True)


def _node(sample: NodeSample | None, rank: int) -> Node:
    if sample is None:
        return Node(0, name=f"node{rank}")
    sizes = {device.memory_total for device in sample.devices}
    total = sizes.pop() if len(sizes) == 1 else None
    gpus = 1 + max((device.index for device in sample.devices), default=-1)
    memory = round(total / GIB, 1) if total else None
    return Node(gpus, name=_safe(sample.name) or f"node{rank}", ip=_safe(sample.ip), memory_gib=memory or None)


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name).strip("_")


def _actors(observation: Observation) -> Iterator[_Actor]:
    """Everybody who belongs on a GPU, by node."""
    for node in observation.nodes:
        found: dict[object, _Actor] = {}
        for device in node.devices:
            for claim in device.claims:
                if claim.kind not in ("rank", "actor"):
                    continue
                actor = found.setdefault(
                    claim.actor_id, _Actor(_family(claim), _number(claim), node.rank, claim.pid or 0)
                )
                actor.devices.add(device.index)
                if claim.reserved is not None:
                    actor.reserved = max(claim.reserved, actor.reserved or 0.0)
            for process in device.processes:
                if process.kind not in ("rank", "actor"):
                    continue
                # Where nobody asked Ray, ranks are known by their processes only.
                key = process.actor_id or (process.job, process.component, process.rank, process.actor)
                actor = found.setdefault(key, _Actor(_family(process), _number(process), node.rank, process.pid))
                actor.devices.add(device.index)
        yield from found.values()


def _number(one: Claim | ProcessSample) -> int:
    return -1 if one.component is None or one.rank is None else one.rank


def _family(one: Claim | ProcessSample) -> Family:
    job = one.job or ""
    if one.component is not None:
        return job, one.component, "component"
    class_name = one.class_name if isinstance(one, Claim) else None
    # Without a class, actors that differ in a number at the end are of one kind.
    return job, class_name or _NUMBER.sub("", one.actor or "") or "actor", "class"


def _about(family: Family) -> str:
    job, name, what = family
    return f"{what} {name}{f', job {job}' if job else ''}"


def _names(families: Sequence[Family]) -> dict[Family, str]:
    """A name for each: those that several jobs use have the job in it."""
    wanted = {family: _safe(family[1]).replace(":", "_") or "actor" for family in families}
    shared = Counter(wanted.values())
    # With the ranks of several jobs in it, the file is none of theirs: they are not to be taken for it.
    several = len({job for job, _, what in families if what == "component"}) > 1
    found: dict[Family, str] = {}
    for family, name in wanted.items():
        if shared[name] > 1 or (several and family[2] == "component"):
            name = f"{name}-{_safe(family[0]).replace(':', '_') or 'job'}"
        while name in found.values():
            name += "x"
        found[family] = name
    return found


def _stride(actors: Mapping[str, Sequence[_Actor]], starts: Sequence[int]) -> Stride | None:
    """How rollout lies on the actor's GPUs, if that is something a file can say and each has one share."""
    if not all(role in actors for role in ROLES):
        return None
    found = {role: [one.seat(starts) for one in sorted(actors[role], key=_Actor.order)] for role in ROLES}
    if any(_component_units(seats) is None for seats in found.values()):
        return None
    processes: dict[str, list[Devices]] = {role: [devices for devices, _ in seats] for role, seats in found.items()}
    return find_stride({**{name: [] for name in actors}, **processes})


def _placed(ranked: Sequence[_Actor], starts: Sequence[int], name: str, notes: list[str]) -> list[list[Seat]]:
    """The processes of a family, in as few lists as rules need for them."""
    seats: list[Seat] = []
    for actor in ranked:
        devices, units = actor.seat(starts)
        seats += ((run, units) for run in _runs(devices))
    if all(_follows(before, after) for (before, _), (after, _) in pairwise(seats)):
        return [seats]
    if ranked[0].number >= 0:
        notes.append(f"{name}: ranks are renumbered, in the order of their GPUs")
    lists: list[list[Seat]] = []
    for seat in sorted(seats, key=lambda one: one[0]):
        fitting = next((one for one in lists if _follows(one[-1][0], seat[0])), None)
        if fitting is None:
            lists.append([seat])
        else:
            fitting.append(seat)
    return lists


def _even(seats: list[Seat]) -> list[list[Seat]]:
    """Processes apart, where no one share of their component gives each what it has reserved.

    A rank has the share of its component, divided by the number of its ranks on the device.
    """
    if _component_units(seats) is not None:
        return [seats]
    apart: dict[tuple[int | None, int], list[Seat]] = {}
    together = Counter(seats)
    for seat in seats:
        apart.setdefault((seat[1], together[seat]), []).append(seat)
    return list(apart.values())


def _component_units(seats: Sequence[Seat]) -> int | None:
    """The share of a component that gives each process its own; 0: nobody has reserved any, None: there is none."""
    together = Counter(devices for devices, _ in seats)
    wanted = {(-1 if units is None else units) * together[devices] for devices, units in seats}
    return max(0, wanted.pop()) if len(wanted) == 1 else None


def _runs(numbers: Sequence[int]) -> Iterator[Devices]:
    run = [numbers[0]]
    for number in numbers[1:]:
        if number != run[-1] + 1:
            yield tuple(run)
            run = []
        run.append(number)
    yield tuple(run)


def _follows(before: Devices, after: Devices) -> bool:
    """Whether a rule can name one right after the other."""
    return after[0] > before[-1] or (before == after and len(after) == 1)


def _shares(parts: Sequence[Sequence[Seat]], notes: list[str]) -> list[int | None]:
    """A share for each part; those that have reserved nothing get what others leave."""
    nothing: list[int | None] = [None] * len(parts)
    held: Counter[int] = Counter()
    others: Counter[int] = Counter()
    for seats in parts:
        for devices, units in seats:
            for device in devices:
                held[device] += units or 0
                others[device] += units is None
    if not any(held.values()):
        return nothing
    found: list[int | None] = []
    for seats in parts:
        own = _component_units(seats) or 0
        if not own:
            left = min((SHARE_UNITS - held[one]) // others[one] for devices, _ in seats for one in devices)
            own = left * max(Counter(seats).values())
        found.append(own)
    if max(held.values()) <= SHARE_UNITS and all(own is not None and 0 < own <= SHARE_UNITS for own in found):
        return found
    notes.append("the shares are not those reserved: together they would be more than a GPU")
    return nothing


class OccupancyWatch:
    """Remembers who is on which GPU; only nodes that changed are gone through again."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[NodeSample, Hashable]] = {}

    def moved(self, observation: Observation) -> bool:
        """Whether anybody is elsewhere than when this was last asked."""
        known, self._nodes = self._nodes, {}
        moved = False
        for node in observation.nodes:
            before = known.pop(node.rank, None)
            if before is None or before[0] is not node:
                now = node, _who(node)
                moved = moved or before is None or before[1] != now[1]
                before = now
            self._nodes[node.rank] = before
        return moved or bool(known)


def _who(node: NodeSample) -> Hashable:
    """Everything of a node that a picture of it tells."""
    devices = tuple(
        (device.index, device.memory_total, device.claims, tuple(map(_owner, device.processes)))
        for device in node.devices
    )
    return node.name, node.ip, devices


def _owner(one: ProcessSample) -> Hashable:
    return one.kind, one.actor_id, one.actor, one.job, one.component, one.rank
