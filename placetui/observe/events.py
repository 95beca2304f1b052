"""Events: what happened when, found by comparing each observation with the one before.

The log is a pure fold over the stream of observations, so a recording gives the same events as the cluster did.
The first observation is the state to compare with and gives no events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from placetui.observe.alerts import Alert
from placetui.observe.delta import replaced
from placetui.observe.drift import Drift
from placetui.observe.model import NodeSample, Observation, RankState
from placetui.placement.environment import NAMESPACE
from placetui.placement.wording import ranges

EventKind: TypeAlias = Literal[
    "rank_died",
    "rank_restarting",
    "rank_back",
    "node_stale",
    "node_lost",
    "node_draining",
    "node_back",
    "node_joined",
    "device_stale",
    "device_back",
    "alert",
    "alert_over",
    "drift",
    "drift_over",
    "job_started",
    "job_ready",
    "job_ended",
]

PROBLEMS: frozenset[EventKind] = frozenset(
    {"rank_died", "rank_restarting", "node_stale", "node_lost", "node_draining", "device_stale", "alert", "drift"}
)
"""Kinds that may need attention; all others are good or neutral news."""

MOST_ALIKE = 8
"""Changes of one kind in one observation that are listed one by one; more of them are one event."""

_DRIFT_KEY = attrgetter("kind", "component", "rank", "node", "device", "pid")
"""Not the message: it holds figures that change."""

_REPORTED_OTHERWISE = frozenset({"dead_rank", "stale", "draining"})
"""Drift that is an event of its rank, node or device already."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that changed. Which of node, device, component and rank apply depends on the kind."""

    time: float
    """Seconds since the epoch, of the observation that showed it."""

    kind: EventKind
    node: int | None = None
    device: int | None = None
    component: str | None = None
    rank: int | None = None
    """None also where the event is about several ranks."""

    message: str = ""

    what: str = ""
    """Of differences and alerts, what they are: `foreign process`."""

    @property
    def is_problem(self) -> bool:
        return self.kind in PROBLEMS

    @property
    def is_over(self) -> bool:
        """Whether a difference or an alert has ended."""
        return self.kind in ("drift_over", "alert_over")


class EventLog:
    """The events of one stream of observations; the oldest are dropped beyond `limit`."""

    def __init__(self, limit: int = 1000) -> None:
        self.events: deque[Event] = deque(maxlen=limit)
        self._last: Observation | None = None
        self._drift: dict[tuple[object, ...], Drift] = {}
        self._alerts: dict[tuple[object, ...], Alert] = {}
        self._down: set[tuple[str, int]] = set()
        """Ranks that were alive, and died or are being restarted."""

        self._ready: set[str] = set()
        """Jobs that were complete once."""

    def update(
        self, observation: Observation, drift: Iterable[Drift] = (), alerts: Iterable[Alert] = ()
    ) -> list[Event]:
        """Add what changed since the observation before, and return it. An earlier observation, as after a step back in
        a recording, drops the events after it and gives none.
        """
        before, self._last = self._last, observation
        known_drift, self._drift = self._drift, {_DRIFT_KEY(one): one for one in drift}
        known_alerts, self._alerts = self._alerts, {(one.kind, one.node, one.device): one for one in alerts}
        if before is None or observation.time < before.time:
            while self.events and self.events[-1].time > observation.time:
                self.events.pop()
            self._down = {(one.component, one.rank) for one in observation.all_ranks if one.state == "restarting"}
            self._ready = {observation.job} if _is_ready(observation) else set()
            return []
        found = [
            *self._jobs(before, observation),
            *_nodes(before, observation),
            *self._ranks(before, observation),
            *_differences("drift", "drift_over", known_drift, self._drift, observation.time),
            *_differences("alert", "alert_over", known_alerts, self._alerts, observation.time),
        ]
        self.events.extend(found)
        return found

    def compare_with(self, drift: Iterable[Drift]) -> None:
        """Continue with another plan: what differs from it already is no event, since nothing happened."""
        self._drift = {_DRIFT_KEY(one): one for one in drift}

    def _jobs(self, before: Observation, after: Observation) -> Iterator[Event]:
        then, now = running_jobs(before), running_jobs(after)
        for job in sorted(now - then):
            yield Event(after.time, "job_started", message=f"{job or 'the job'} started")
        for job in sorted(then - now):
            self._ready.discard(job)
            yield Event(after.time, "job_ended", message=f"{job or 'the job'} ended")
        if before.job != after.job or not after.ranks:
            self._down.clear()
        if after.job not in self._ready and _is_ready(after):
            self._ready.add(after.job)
            ranks = sum(map(len, after.ranks.values()))
            yield Event(after.time, "job_ready", message=f"{after.job or 'the job'}: {ranks} ranks alive")

    def _ranks(self, before: Observation, after: Observation) -> Iterator[Event]:
        if before.job != after.job:
            return
        for component, states in after.ranks.items():
            known = before.ranks.get(component, ())
            if states is known:
                continue
            changed: dict[EventKind, list[RankState]] = {}
            for then, now in zip(known, states, strict=False):
                if then is not now and (kind := self._rank_event(then, now)):
                    changed.setdefault(kind, []).append(now)
            for kind, ranks in changed.items():
                yield from _rank_events(after.time, kind, component, ranks)

    def _rank_event(self, then: RankState, now: RankState) -> EventKind | None:
        who = now.component, now.rank
        restarted = now.restarts > then.restarts
        if now.state == "dead":
            self._down.add(who)
            return "rank_died" if then.state != "dead" else None
        if now.state == "alive":
            if who in self._down or restarted or (then.state == "alive" and now.pid != then.pid and then.pid):
                self._down.discard(who)
                return "rank_back"
            return None
        if now.state == "restarting" or restarted:
            first = then.state != "restarting" or restarted
            self._down.add(who)
            return "rank_restarting" if first else None
        return None


def running_jobs(observation: Observation) -> set[str]:
    """The job that is followed while it has ranks, those that frameworks recognise, and those that hold a placement
    group of ours.
    """
    jobs = {group.name for group in observation.groups if group.namespace == NAMESPACE}
    jobs |= {job.name for job in observation.jobs if job.runs}
    return jobs | ({observation.job} if observation.ranks else set())


def _is_ready(observation: Observation) -> bool:
    return bool(observation.ranks) and all(state.state == "alive" for state in observation.all_ranks)


def _rank_events(time: float, kind: EventKind, component: str, ranks: list[RankState]) -> Iterator[Event]:
    verb = {"rank_died": "died", "rank_restarting": "is restarting", "rank_back": "is back"}[kind]
    if len(ranks) > MOST_ALIKE:
        reasons = {state.reason for state in ranks}
        why = f": {reasons.pop()}" if len(reasons) == 1 and ranks[0].reason else ""
        who = f"{len(ranks)} ranks of {component} ({ranges(state.rank for state in ranks)})"
        yield Event(time, kind, component=component, message=f"{who} {verb.replace('is ', 'are ')}{why}")
        return
    for state in ranks:
        why = f": {state.reason}" if state.reason and kind != "rank_back" else ""
        message = f"{component}:{state.rank} {verb}{why}"
        yield Event(time, kind, state.node, None, component, state.rank, message)


def _nodes(before: Observation, after: Observation) -> Iterator[Event]:
    if before.nodes is after.nodes or not before.nodes:
        return
    known, seen = replaced(before.nodes, after.nodes)
    found: dict[EventKind, list[tuple[NodeSample, Event]]] = {}
    for rank, node in seen.items():
        for event in _node_events(after.time, known.get(rank), node):
            found.setdefault(event.kind, []).append((node, event))
    for node in (node for rank, node in known.items() if rank not in seen):
        event = Event(after.time, "node_lost", node.rank, message=f"{node.name} left the cluster")
        found.setdefault("node_lost", []).append((node, event))
    for kind, pairs in found.items():
        if len(pairs) <= MOST_ALIKE:
            yield from (event for _, event in pairs)
        else:
            names = ", ".join(dict.fromkeys(node.name for node, _ in pairs[:MOST_ALIKE]))
            message = f"{_PLURALS[kind].format(count=len(pairs))}: {names}, …"
            yield Event(after.time, kind, message=message)


_PLURALS: dict[EventKind, str] = {
    "node_stale": "{count} nodes are stale",
    "node_lost": "{count} nodes were lost",
    "node_draining": "{count} nodes are draining",
    "node_back": "{count} nodes are back",
    "node_joined": "{count} nodes joined the cluster",
    "device_stale": "{count} GPUs are stale",
    "device_back": "{count} GPUs are back",
    "drift": "{count} new differences from the plan",
    "drift_over": "{count} differences from the plan are gone",
    "alert": "{count} new alerts",
    "alert_over": "{count} alerts are over",
}


def _node_events(time: float, then: NodeSample | None, now: NodeSample) -> Iterator[Event]:
    if then is None or then.name != now.name or then.ip != now.ip:
        if then is not None:
            yield Event(time, "node_lost", then.rank, message=f"{then.name} left the cluster")
        yield Event(time, "node_joined", now.rank, message=f"{now.name} joined the cluster")
        return
    why = f": {now.error}" if now.error else ""
    if now.state == "lost":
        if then.state != "lost":
            yield Event(time, "node_lost", now.rank, message=f"{now.name} is lost")
        return
    if then.state == "lost" or (then.stale and not now.stale):
        yield Event(time, "node_back", now.rank, message=f"{now.name} is back")
    elif now.stale and not then.stale:
        yield Event(time, "node_stale", now.rank, message=f"{now.name} is stale{why}")
    if now.state == "draining" and then.state != "draining":
        reason = f": {now.reason}" if now.reason else ""
        yield Event(time, "node_draining", now.rank, message=f"{now.name} is draining{reason}")
    if now.stale or then.stale or now.devices is then.devices:
        return
    for device in now.devices:
        known = then.device(device.index)
        if known is not None and known.stale != device.stale:
            kind: EventKind = "device_stale" if device.stale else "device_back"
            reason = f": {device.error}" if device.stale and device.error else ""
            verb = "is stale" if device.stale else "is back"
            message = f"{now.name}/gpu{device.index} {verb}{reason}"
            yield Event(time, kind, now.rank, device.index, message=message)


def _differences(
    begun: EventKind, over: EventKind, then: dict[Any, Any], now: dict[Any, Any], time: float
) -> Iterator[Event]:
    """Drift or alerts that appeared, and those that are gone."""
    for kind, ones in (
        (begun, [one for key, one in now.items() if key not in then]),
        (over, [one for key, one in then.items() if key not in now]),
    ):
        told = [one for one in ones if one.kind not in _REPORTED_OTHERWISE]
        if len(told) > MOST_ALIKE:
            yield Event(time, kind, message=_PLURALS[kind].format(count=len(told)))
            continue
        for one in told:
            component, rank = (one.component, one.rank) if isinstance(one, Drift) else (None, None)
            prefix, what = "no longer: " if kind == over else "", one.title
            yield Event(time, kind, one.node, one.device, component, rank, f"{prefix}{one.message}", what)
