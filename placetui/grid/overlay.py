"""`Overlay`: an observation laid over a plan, and what in it needs attention."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal, TypeAlias

from placetui.observe.alerts import Alert, AlertKind
from placetui.observe.drift import Drift, DriftWatch
from placetui.observe.history import DeviceHistory
from placetui.observe.model import DeviceSample, Observation, State
from placetui.placement.plan import GPU, Plan

ShownState: TypeAlias = State | Literal["stale"]
"""State of a rank, or that its node has not answered for too long."""

URGENCY: tuple[ShownState, ...] = ("dead", "restarting", "stale", "starting", "pending", "alive")
"""States, the one that needs attention most first."""

_ON_DEVICE: tuple[State, ...] = ("dead", "restarting", "pending", "starting")
"""Of several ranks on a device that are not alive, the state that is shown for it: the first of these."""

SLOW = 15.0
"""Seconds after which a rank that is starting is called slow."""

_SHOWN_OTHERWISE = ("dead_rank", "missing_rank", "stale")
"""Differences that the state of a rank or the age of a sample shows."""


class Overlay:
    """What the drawing shows of a running cluster."""

    def __init__(
        self,
        plan: Plan,
        observation: Observation,
        *,
        alerts: Iterable[Alert] = (),
        compared: bool = True,
        watch: DriftWatch | None = None,
        earlier: Overlay | None = None,
        history: DeviceHistory | None = None,
        launching: bool = False,
    ) -> None:
        """Lay an observation over a plan.

        Nothing is `compared` where the plan was made from what is seen. A `watch` compares from one observation to the
        next; what still holds of an `earlier` overlay is not worked out again. The history is that of the last minute.
        """
        self.plan = plan
        self.observation = observation
        self.alerts = tuple(alerts)
        self.history = history
        self.launching = launching
        """Whether a launch is under way: what is alive is said, and what is slow is marked."""

        self._compared = compared
        known = earlier if earlier is not None and earlier.plan is plan else None
        self._watch: DriftWatch = watch or (known._watch if known else DriftWatch(plan))
        if known and known.observation.ranks is observation.ranks:
            self.__dict__["not_alive"] = known.not_alive

    @cached_property
    def drift(self) -> tuple[Drift, ...]:
        """Where plan and reality differ."""
        return self._watch.update(self.observation) if self._compared else ()

    @cached_property
    def marked(self) -> frozenset[tuple[int, int]]:
        """Nodes and GPUs with an alert, or a difference that neither a rank's state nor `stale` shows."""
        return self._drifting.union(self._alerts_on)

    @cached_property
    def noted(self) -> frozenset[tuple[int, int]]:
        """Nodes and GPUs of which there is more to say than how full and busy they are."""
        return self.marked.union(self.not_alive)

    @cached_property
    def signs(self) -> frozenset[str]:
        """What occurs in it, in the words of the key."""
        found: set[str] = set(self.not_alive.values())
        nodes = () if self._compared else self.observation.nodes
        if any(one.kind == "stale" for one in self.drift) or any(node.stale for node in nodes):
            found.add("stale")
        if self._drifting:
            found.add("not as planned")
        if self.alerts:
            found.add("above threshold")
        return frozenset(found)

    @cached_property
    def noted_nodes(self) -> frozenset[int]:
        return frozenset(node for node, _ in self.noted)

    @cached_property
    def _alerts_on(self) -> dict[tuple[int, int], frozenset[AlertKind]]:
        found: dict[tuple[int, int], frozenset[AlertKind]] = {}
        for one in self.alerts:
            key = (one.node, one.device)
            found[key] = found.get(key, frozenset()) | {one.kind}
        return found

    @cached_property
    def _drifting(self) -> frozenset[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        for one in self.drift:
            known = one.kind != "missing_rank" or self.observation.rank(one.component or "", one.rank or 0)
            if one.kind in _SHOWN_OTHERWISE and known:
                continue
            if one.node is not None and one.device is not None:
                found.add((one.node, one.device))
            elif one.kind in ("fewer_devices", "draining") and one.node is not None:
                found.update((one.node, index) for index in range(self.plan.nodes[one.node].gpus))
            elif one.kind == "missing_rank" and one.component is not None and one.rank is not None:
                found.update(self._gpus_of(one.component, one.rank))
        return frozenset(found)

    @cached_property
    def not_alive(self) -> dict[tuple[int, int], State]:
        """By node and GPU the worst state of the ranks on it, where not all are alive."""
        found: dict[tuple[int, int], State] = {}
        # Of many thousands nearly all are alive: those are passed over as quickly as can be.
        for one in [one for states in self.observation.ranks.values() for one in states if one.state != "alive"]:
            for key in self._gpus_of(one.component, one.rank):
                found[key] = min(found.get(key, one.state), one.state, key=_ON_DEVICE.index)
        return found

    @cached_property
    def _starting(self) -> dict[tuple[str, int], float]:
        """By component and rank, for how many seconds it has been starting, where that is known."""
        states = (one for ranks in self.observation.ranks.values() for one in ranks) if self.launching else ()
        now = self.observation.time
        return {
            (one.component, one.rank): max(0.0, now - one.since)
            for one in states
            if one.state == "starting" and one.since is not None
        }

    @cached_property
    def _slow(self) -> frozenset[tuple[int, int]]:
        late = (rank for rank, seconds in self._starting.items() if seconds >= SLOW)
        return frozenset(place for rank in late for place in self._gpus_of(*rank))

    @cached_property
    def waiting_nodes(self) -> frozenset[int]:
        """Nodes with ranks that are starting: what is said of these changes with every second."""
        return frozenset(node for rank in self._starting for node, _ in self._gpus_of(*rank))

    def seconds_starting(self, component: str, rank: int) -> float | None:
        """For how long a rank of a launch has been starting; None if it is not, or that is unknown."""
        return self._starting.get((component, rank))

    def is_slow(self, node: int, index: int) -> bool:
        """Whether a rank on a GPU takes long to start."""
        return (node, index) in self._slow

    def _gpus_of(self, name: str, rank: int) -> list[tuple[int, int]]:
        component = self.plan.components.get(name)
        if component is None or not 0 <= rank < component.world_size:
            return []
        placement = component.placements[rank]
        if self.plan.kind_of(placement) != GPU:
            return []
        return [(placement.cluster_node_rank, index) for index in placement.devices]

    def sample(self, node: int, index: int) -> DeviceSample | None:
        return self.observation.device(node, index)

    def is_stale(self, node: int, index: int) -> bool:
        """Whether what is known of a GPU is too old to be trusted."""
        seen = self.observation.node(node)
        sample = seen.device(index) if seen else None
        return seen is not None and sample is not None and (seen.stale or sample.stale)

    def is_marked(self, node: int, index: int) -> bool:
        """Whether plan and reality differ on a GPU, or a value of it is beyond its threshold."""
        return (node, index) in self.marked

    def is_drifting(self, node: int, index: int) -> bool:
        """Whether plan and reality differ on a GPU in a way that neither a rank's state nor `stale` shows."""
        return (node, index) in self._drifting

    def alerts_on(self, node: int, index: int) -> frozenset[AlertKind]:
        return self._alerts_on.get((node, index), frozenset())

    def state_on(self, node: int, index: int) -> State | None:
        """The worst state of the ranks on a GPU; None where all are alive, or nothing is known."""
        return self.not_alive.get((node, index))

    def changed_since(self, earlier: Overlay) -> set[tuple[int, int]]:
        """Nodes and GPUs on which a rank came up, died or is started again since an earlier overlay."""
        before, after = earlier.not_alive, self.not_alive
        if before is after:
            return set()
        return {place for place, _ in before.items() ^ after.items()}

    def state_of(self, component: str, rank: int) -> ShownState | None:
        """State of one rank; None where nothing is known."""
        state = self.observation.rank(component, rank)
        if state is None:
            return None
        seen = self.observation.node(state.node) if state.node is not None else None
        return "stale" if seen is not None and seen.stale else state.state

    def worst_of(self, ranks: Iterable[tuple[str, int]]) -> ShownState | None:
        """The state that needs attention most, of some ranks by component and number."""
        states = {self.state_of(component, rank) for component, rank in ranks}
        return next((state for state in URGENCY if state in states), None)
