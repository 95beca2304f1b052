"""Drift: where what is seen differs from the plan.

There is drift only against a job that is followed: a plan that was never launched differs from any cluster.
A rank without memory is not drift: it may be offloaded, or about to start. Neither is a pending rank, unless the source
says why it will not start. Unattributed processes and stale values are never drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from placetui.observe.delta import replaced
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample, RankState
from placetui.placement.plan import GPU
from placetui.placement.wording import device_text, gib

if TYPE_CHECKING:
    from placetui.placement.plan import Plan

DriftKind: TypeAlias = Literal[
    "wrong_device",
    "missing_rank",
    "dead_rank",
    "foreign_process",
    "stranger_in_group",
    "unexpected_rank",
    "memory_above",
    "fewer_devices",
    "stale",
    "draining",
]

_TITLES: dict[DriftKind, str] = {
    "stranger_in_group": "unknown in group",
    "memory_above": "too much memory",
}
"""Of kinds whose names say too little by themselves."""

NEGLIGIBLE = 64 * 2**20
"""Bytes that a foreign process may hold without being in the way, as a display server does."""


Owner: TypeAlias = "tuple[str, int]"
Planned: TypeAlias = "dict[int, set[Owner]]"
"""By GPU of a node, who belongs there."""

_NOBODY: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference between plan and reality."""

    kind: DriftKind
    message: str
    component: str | None = None
    rank: int | None = None
    node: int | None = None
    """Rank of the node that it is about."""

    device: int | None = None
    """GPU of that node; None when it is about several, or about none."""

    pid: int | None = None
    """Of the process that should not be there."""

    @property
    def title(self) -> str:
        """What it is, in two words."""
        return _TITLES.get(self.kind, self.kind.replace("_", " "))

    def to_dict(self) -> dict[str, Any]:
        names = ("kind", "component", "rank", "node", "device", "message")
        return {name: getattr(self, name) for name in names}


def drift(plan: Plan, observation: Observation) -> tuple[Drift, ...]:
    """All differences: first by node, then by component and rank."""
    return DriftWatch(plan).update(observation)


def is_attributed(observation: Observation) -> bool:
    """Whether it is known whose processes these are: not if only NVML was asked."""
    return observation.source in ("ray", "simulated") or bool(observation.ranks)


class DriftWatch:
    """The drift of observation after observation: only nodes and components that changed are compared again.

    A thread may compare an observation ahead of another thread, which then finds it done.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._lock = Lock()
        self._planned: dict[int, Planned] = {}
        self._nodes: tuple[NodeSample, ...] = ()
        self._view: tuple[bool, str] | None = None
        self._found: dict[int, tuple[Drift, ...]] = {}
        """By node, where it differs."""
        self._ranks: dict[str, tuple[tuple[RankState, ...], tuple[Drift, ...]]] = {}
        self._places = {
            name: [one.cluster_node_rank for one in part.placements] for name, part in plan.components.items()
        }
        self._used = frozenset(node for nodes in self._places.values() for node in nodes)

    def update(self, observation: Observation) -> tuple[Drift, ...]:
        """The drift of a later observation, or of any other; none while no job is followed."""
        if observation.source != "nvml" and not (observation.job or observation.ranks):
            return ()
        with self._lock:
            return self._update(observation)

    def _update(self, observation: Observation) -> tuple[Drift, ...]:
        attributed, job = view = is_attributed(observation), observation.job
        then, now = replaced(self._nodes if view == self._view else (), observation.nodes)
        every = range(len(self.plan.nodes))
        for rank in every if view != self._view else [rank for rank in then | now if rank in every]:
            expected, used = self._planned_on(rank), rank in self._used
            differs = tuple(_node_drift(self.plan, rank, expected, now.get(rank), attributed, job, used))
            if differs:
                self._found[rank] = differs
            else:
                self._found.pop(rank, None)
        self._nodes, self._view = observation.nodes, view
        found = [one for rank in sorted(self._found) for one in self._found[rank]]
        if attributed:
            for name, places in self._places.items():
                states = observation.ranks.get(name, ())
                if name in observation.not_launched:
                    continue
                held = self._ranks.get(name)
                if held is None or held[0] is not states:
                    drifts = tuple(_rank_drift(self.plan, name, places, states))
                    held = self._ranks[name] = states, drifts
                found.extend(held[1])
            found.extend(self._unplanned(observation))
        return tuple(found)

    def _unplanned(self, observation: Observation) -> Iterator[Drift]:
        """Ranks that run and that the plan does not have."""
        for name, states in observation.ranks.items():
            planned = len(self._places.get(name, ()))
            for state in states[planned:]:
                if state.state in ("alive", "starting", "restarting"):
                    where = f" on {_node_name(self.plan, state.node)}" if state.node is not None else ""
                    message = f"{name} {state.rank} runs{where} and is not in the plan"
                    yield Drift("unexpected_rank", message, name, state.rank, state.node)

    def _planned_on(self, node: int) -> Planned:
        found = self._planned.get(node)
        if found is None:
            found = self._planned[node] = {
                device.index: {(one.component, one.rank) for one in device.occupants}
                for device in self.plan.devices_of(node)
                if device.kind == GPU and device.occupants
            }
        return found


# Nodes and what is on their devices


def _node_drift(
    plan: Plan, rank: int, planned: Planned, sample: NodeSample | None, attributed: bool, job: str, used: bool
) -> Iterator[Drift]:
    name = plan.nodes[rank].name
    if sample is None:
        # With NVML alone only this machine is seen.
        if attributed and used:
            what = f": {device_text(GPU, sorted(planned))} cannot be used" if planned else ""
            yield Drift("fewer_devices", f"{name} does not exist{what}", node=rank)
        return
    if sample.stale or (planned and not sample.devices and sample.error):
        if used:
            why = f": {sample.error}" if sample.error else ""
            age = f", read {sample.age:.0f} s ago" if sample.age else ""
            yield Drift("stale", f"{name} is stale{age}{why}", node=rank)
        return
    if sample.state == "draining" and used and attributed:
        why = f": {sample.reason}" if sample.reason else ""
        yield Drift("draining", f"{name} is draining{why}: its processes will end", node=rank)
    for index in planned:
        if sample.device(index) is None:
            message = f"{name} has {len(sample.devices)} GPUs: GPU {index} of the plan does not exist"
            yield Drift("fewer_devices", message, node=rank, device=index)
    for device in sample.devices:
        expected = planned.get(device.index, _NOBODY)
        if not device.stale and not plan.memory and _only_expected(device, expected, job):
            continue
        own = "" if device.gpu_id == device.index else f" ({device.title})"
        where = f"{name}/gpu{device.index}{own}"
        if device.stale:
            if expected:
                why = f": {device.error}" if device.error else ""
                message = f"{where} is stale, read {device.age:.0f} s ago{why}"
                yield Drift("stale", message, node=rank, device=device.index)
        elif attributed and (device.processes or device.claims):
            yield from _device_drift(plan, rank, device, where, expected, job)


def _only_expected(device: DeviceSample, expected: Set[Owner], job: str) -> bool:
    """Whether all who are on a device belong there: as a rule, and quick to see."""
    present: tuple[ProcessSample | Claim, ...] = (*device.processes, *device.claims)
    for one in present:
        if (one.component, one.rank) not in expected or (job and one.job is not None and one.job != job):
            return False
    return True


def _device_drift(
    plan: Plan, node: int, device: DeviceSample, where: str, expected: Set[Owner], job: str
) -> Iterator[Drift]:
    held: dict[Owner, int] = {}
    unknown: set[str | None] = set()
    for process in device.processes:
        owner = owner_of(process, job)
        if owner is not None and owner[0] in plan.components:
            held[owner] = held.get(owner, 0) + (process.memory or 0)
            continue
        if process.group is not None and job in ("", process.group):
            if process.actor_id is None or process.actor_id not in unknown:
                yield _unknown_in_group(process, node, device.index, where)
            unknown.add(process.actor_id)
        elif expected and _is_in_the_way(process) and not _belongs(process, job):
            message = f"{_who(process)} is on {where}"
            yield Drift("foreign_process", message, node=node, device=device.index, pid=process.pid)
    for claim in device.claims:
        owner = owner_of(claim, job)
        if owner is not None and owner[0] in plan.components:
            if claim.reserved is not None or claim.framework is not None:
                held.setdefault(owner, 0)
        elif claim.group is not None and job in ("", claim.group) and claim.actor_id not in unknown:
            unknown.add(claim.actor_id)
            yield _unknown_in_group(claim, node, device.index, where)
    for (component, rank), memory in held.items():
        if (component, rank) not in expected:
            if not _is_fixed(plan, component, rank, node):
                continue
            how = f"uses {gib(memory)} of" if memory else "is on"
            message = f"{component} {rank} {how} {where}, which is not one of its devices"
            yield Drift("wrong_device", message, component, rank, node, device.index)
            continue
        limit = plan.memory.get(component)
        if limit is not None and device.memory_total and memory > limit * device.memory_total:
            part = memory / device.memory_total
            message = f"{component} {rank} uses {part:.0%} of {where}, more than the {limit:.0%} allowed"
            yield Drift("memory_above", message, component, rank, node, device.index)


def _is_fixed(plan: Plan, component: str, rank: int, node: int) -> bool:
    """Whether the plan decides which GPU of a node a rank has; where Ray does, none is wrong before it was seen."""
    placements = plan.components[component].placements
    if rank >= len(placements) or placements[rank].fixed:
        return True
    return placements[rank].node_fixed and placements[rank].cluster_node_rank != node


def _is_in_the_way(process: ProcessSample) -> bool:
    """Whether it is certainly a foreign process that uses memory."""
    # In a container with an older driver our own processes have numbers that mean nothing there.
    unknown = process.kind == "foreign" and not (process.command or process.user or process.actor)
    return bool(process.pid) and not unknown and (process.memory is None or process.memory >= NEGLIGIBLE)


def _belongs(process: ProcessSample, job: str) -> bool:
    """Whether it is a service of the job that is followed, or a rank that its file does not plan."""
    return process.kind in ("rank", "service") and bool(job) and process.job == job


def owner_of(one: ProcessSample | Claim, job: str) -> Owner | None:
    """The rank of the watched job that this belongs to."""
    if one.component is None or one.rank is None or (job and one.job is not None and one.job != job):
        return None
    return one.component, one.rank


def _unknown_in_group(one: ProcessSample | Claim, node: int, index: int, where: str) -> Drift:
    what = _who(one) if isinstance(one, ProcessSample) else f"{one.actor} (pid {one.pid})"
    message = f"{what} is in the placement group of {one.group} but is not one of its ranks; it is on {where}"
    return Drift("stranger_in_group", message, node=node, device=index, pid=one.pid)


def _who(process: ProcessSample) -> str:
    memory = "" if process.memory is None else f", {gib(process.memory)}"
    if process.kind == "gone":
        return f"memory of pid {process.pid}, which is gone{memory},"
    if process.actor:
        job = f" of job {process.job}" if process.job else ""
        return f"{process.actor}{job} (pid {process.pid}{memory})"
    command = (process.command or "a process that is not visible here").split("\n")[0][:80]
    user = f" of {process.user}" if process.user else ""
    return f"{command}{user} (pid {process.pid}{memory})"


# Ranks


def _rank_drift(plan: Plan, name: str, places: Sequence[int], states: tuple[RankState, ...]) -> Iterator[Drift]:
    for rank, planned in enumerate(places):
        state = states[rank] if rank < len(states) else None
        if state is not None and state.state in ("alive", "starting"):
            if state.node is not None and state.node != planned:
                message = f"{name} {rank} is on {_node_name(plan, state.node)}, not on {_node_name(plan, planned)}"
                yield Drift("wrong_device", message, name, rank, state.node)
            continue
        if state is not None and state.state == "pending" and not state.reason:
            continue
        device = _only_device(plan, name, rank)
        if state is None or state.state == "pending":
            why = f": {state.reason}" if state is not None and state.reason else ""
            yield Drift("missing_rank", f"{name} {rank} is not running{why}", name, rank, planned, device)
        else:
            why = f": {state.reason}" if state.reason else ""
            how = "died and is being restarted" if state.state == "restarting" else "is dead"
            yield Drift("dead_rank", f"{name} {rank} {how}{why}", name, rank, planned, device)


def _only_device(plan: Plan, name: str, rank: int) -> int | None:
    placement = plan.components[name].placements[rank]
    owned = placement.devices
    return owned[0] if len(owned) == 1 and plan.kind_of(placement) == GPU else None


def _node_name(plan: Plan, rank: int) -> str:
    return plan.nodes[rank].name if 0 <= rank < len(plan.nodes) else f"node {rank}, which is not in the plan"
