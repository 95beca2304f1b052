"""Live state: from an observation to the drawing, and what is kept between observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placetui.grid import Overlay
from placetui.grid.tables.rows import Notice
from placetui.observe.alerts import AlertWatch, Thresholds
from placetui.observe.delta import NOTHING as NO_OBSERVATION
from placetui.observe.delta import changed_nodes
from placetui.observe.drift import DriftWatch
from placetui.observe.events import Event, EventLog
from placetui.observe.history import DeviceHistory, record
from placetui.observe.model import Observation
from placetui.observe.settled import SettledPlan
from placetui.observe.totals import Totals, TotalsWatch
from placetui.placement.plan import Plan
from placetui.tui.session import Preview, Session


@dataclass(frozen=True, eq=False, slots=True)
class LivePicture:
    """All that the main screen shows: a plan with its file, and what is live of it. Compared by identity."""

    session: Session
    live: Overlay | None = None
    settled: Plan | None = None
    """The plan of a job that runs, where the file's leaves places open."""

    totals: Totals | None = None
    """Figures of the whole cluster."""

    events: Sequence[Event] = ()
    """What happened, oldest first."""

    changed: tuple[Observation, frozenset[int]] | None = None
    """The observation before, and the nodes that differ from it."""

    preview: Preview | None = None
    """A rule that is typed; then nothing live is shown, since nearly all would differ from it."""

    @property
    def plan(self) -> Plan:
        return self.settled or self.session.plan

    @property
    def observation(self) -> Observation | None:
        return self.live.observation if self.live else None

    @property
    def notices(self) -> tuple[Notice, ...]:
        return () if self.live is None else (*self.live.drift, *self.live.alerts)

    def is_dead(self, component: str, rank: int) -> bool:
        return self.live is not None and self.live.state_of(component, rank) == "dead"

    def notices_at(self, node: int, device: int | None) -> list[Notice]:
        """Those about a place, then those about its node as a whole."""
        found = [one for one in self.notices if one.node == node and one.device in (None, device)]
        return sorted(found, key=lambda one: one.device is None)


class LiveFeed:
    """What is kept from one observation to the next: histories, alerts, differences from the plan, events."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.history = DeviceHistory()
        self.hour = DeviceHistory(60, 60.0)
        self.events = EventLog()
        self._totals = TotalsWatch()
        self._alerts = AlertWatch(thresholds)
        self._settled: SettledPlan | None = None
        self._watch: DriftWatch | None = None
        self._last: Observation | None = None
        self._planned: Plan | None = None

    def prepare(self, session: Session, observation: Observation) -> None:
        """Compare with the plan ahead of showing, in the thread that reads: of a large cluster it takes long."""
        if not session.pictured:
            self._watch_of(self._settle(session.plan, observation)).update(observation)

    def _settle(self, plan: Plan, observation: Observation) -> Plan:
        settled = self._settled
        if settled is None or settled.plan is not plan:
            settled = self._settled = SettledPlan(plan)
        return settled.update(observation)

    def _watch_of(self, plan: Plan) -> DriftWatch:
        watch = self._watch
        if watch is None or watch.plan is not plan:
            watch = self._watch = DriftWatch(plan)
        return watch

    def picture(
        self,
        session: Session,
        observation: Observation | None,
        before: LivePicture | None = None,
        *,
        launching: bool = False,
    ) -> LivePicture:
        """A session with its live state; results of the previous picture are reused where they still hold."""
        if observation is None:
            return LivePicture(session, events=tuple(self.events.events))
        earlier = before.live if before is not None else None
        # Nothing differs from a plan that was made from what is seen.
        compared, plan = not session.pictured, self._settle(session.plan, observation)
        live = Overlay(
            plan,
            observation,
            alerts=self._alerts.update(observation),
            compared=compared,
            watch=self._watch_of(plan),
            earlier=earlier,
            history=self.history,
            launching=launching,
        )
        if session.plan is not self._planned:
            self._planned = session.plan
            self.events.compare_with(live.drift)
        changed = None
        if observation is not self._last:
            last = self._last or NO_OBSERVATION
            changed = last, changed_nodes(last, observation)
            record((self.history, self.hour), observation, changed[1])
            self.events.update(observation, live.drift, live.alerts)
            self._last = observation
        return LivePicture(session, live, plan, self._totals.update(observation), tuple(self.events.events), changed)


def changed_between(before: LivePicture, after: LivePicture) -> frozenset[int] | None:
    """Nodes that look otherwise; None if the pictures have more than live data between them."""
    if before.live is None or after.live is None or before.plan is not after.plan:
        return None
    if before.live.launching != after.live.launching:
        return None
    marks = frozenset(node for node, _ in before.live.marked ^ after.live.marked)
    last, changed = after.changed or (None, frozenset())
    if last is not before.live.observation:
        changed = changed_nodes(before.live.observation, after.live.observation)
    return changed | marks | before.live.waiting_nodes | after.live.waiting_nodes
