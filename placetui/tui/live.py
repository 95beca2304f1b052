"""Live data for the grid: from an observation to what the drawing shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from textual.message import Message

from placetui.grid import DeviceLive, RankState
from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift, DriftWatch
from placetui.observe.model import Observation
from placetui.observe.ports import ClusterSource, Status, Update
from placetui.placement.plan import GPU, Plan

_URGENCY: tuple[RankState, ...] = ("dead", "restarting", "pending", "starting")
"""States of ranks that matter more than being alive, the worst first."""


_SHOWN_OTHERWISE = ("dead_rank", "missing_rank", "stale")
"""Differences that the state of a rank or the age of a sample shows."""


@dataclass(frozen=True)
class ObservationOverlay:
    """An observation as the drawing's port."""

    plan: Plan
    observation: Observation
    alerts: tuple[Alert, ...] = ()
    """Values beyond their thresholds."""

    compared: bool = True
    """Whether reality can differ from the plan."""

    watch: DriftWatch | None = field(default=None, repr=False, compare=False)
    """What compares them, where it is kept from one observation to the next."""

    def after(self, earlier: ObservationOverlay | None) -> ObservationOverlay:
        """The same, knowing what an earlier one has worked out, as far as it still holds."""
        if earlier is None or earlier.plan is not self.plan:
            return self
        if self.watch is None:
            self.__dict__["_watch"] = earlier._watch
        if earlier.observation.ranks is self.observation.ranks:
            self.__dict__["_troubled"] = earlier._troubled
        return self

    @cached_property
    def _watch(self) -> DriftWatch:
        return self.watch or DriftWatch(self.plan)

    @cached_property
    def drift(self) -> tuple[Drift, ...]:
        """Where plan and reality differ."""
        return self._watch.update(self.observation) if self.compared else ()

    @cached_property
    def marked(self) -> frozenset[tuple[int, int]]:
        """Nodes and GPUs with an alert, or a difference that neither a rank's state nor `stale` shows."""
        found = {(one.node, one.device) for one in self.alerts}
        for one in self.drift:
            if one.kind in _SHOWN_OTHERWISE and (one.kind != "missing_rank" or self._knows(one)):
                continue
            if one.node is not None and one.device is not None:
                found.add((one.node, one.device))
            elif one.kind == "fewer_devices" and one.node is not None:
                found.update(
                    (one.node, device.index) for device in self.plan.devices_of(one.node) if device.kind == GPU
                )
            elif one.component is not None and one.rank is not None and one.kind == "missing_rank":
                placement = self.plan.components[one.component].placements[one.rank]
                if self.plan.kind_of(placement) == GPU:
                    found.update((placement.cluster_node_rank, index) for index in placement.local_hardware_ranks)
        return frozenset(found)

    def _knows(self, one: Drift) -> bool:
        """Whether something is known of the rank that differs."""
        return self.observation.rank(one.component or "", one.rank or 0) is not None

    @cached_property
    def _troubled(self) -> dict[tuple[int, int], RankState]:
        """By node and GPU, the worst state of the ranks on it; GPUs whose ranks are all alive are left out."""
        found: dict[tuple[int, int], RankState] = {}
        # Of many thousands nearly all are alive: those are passed over as quickly as can be.
        for state in [
            state for states in self.observation.ranks.values() for state in states if state.state != "alive"
        ]:
            component = self.plan.components.get(state.component)
            if component is None or state.rank >= component.world_size:
                continue
            placement = component.placements[state.rank]
            if self.plan.kind_of(placement) == GPU:
                for index in placement.local_hardware_ranks:
                    key = placement.cluster_node_rank, index
                    found[key] = min(found.get(key, state.state), state.state, key=_URGENCY.index)
        return found

    def device(self, node: int, index: int) -> DeviceLive | None:
        """GPU `index` of node `node`; None where nothing is known."""
        sample = self.observation.node(node)
        device = sample.device(index) if sample else None
        alert = (node, index) in self.marked
        if sample is None or device is None:
            return DeviceLive(alert=True) if alert else None
        state = self._troubled.get((node, index))
        stale = sample.stale or device.stale
        return DeviceLive(device.memory_used, device.memory_total, device.utilization, state, stale, alert)

    def rank(self, component: str, rank: int) -> RankState | None:
        """State of one rank; None where nothing is known."""
        state = self.observation.rank(component, rank)
        if state is None:
            return None
        sample = self.observation.node(state.node) if state.node is not None else None
        return "stale" if sample is not None and sample.stale else state.state


@dataclass
class Observed(Message):
    """A new observation. The latest wins: older ones still in the queue are dropped."""

    update: Update
    source: ClusterSource
    """One that is no longer looked at may have said something that is still in the queue."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Observed)


@dataclass
class LinkChanged(Message):
    """The link to the source changed."""

    status: Status
    source: ClusterSource
