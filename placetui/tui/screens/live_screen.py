"""The live half of the main screen: what is observed, what differs from the plan, how it has been."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from placetui.observe.alerts import AlertWatch, Thresholds
from placetui.observe.columns import Notice
from placetui.observe.delta import NOTHING as NO_OBSERVATION
from placetui.observe.delta import changed_nodes
from placetui.observe.drift import DriftWatch
from placetui.observe.history import History, record
from placetui.observe.model import Observation
from placetui.placement.plan import Plan
from placetui.tui.live import ObservationOverlay
from placetui.tui.session import Session

if TYPE_CHECKING:
    from placetui.tui.widgets.grid_view import GridView


class LiveScreen(Screen[None]):
    """Takes observations and shows them."""

    session: Session
    observation: Observation | None = None
    early: Observation | None = None
    """What was observed before there was anything to show it in."""

    _watch: DriftWatch | None = None
    live_words = ""
    live_ok = True

    if TYPE_CHECKING:

        @property
        def grid(self) -> GridView: ...

        def _draw(self) -> None: ...

        def _fill_panels(self) -> None: ...

        def _fill_table(self) -> None: ...

        def _inspect(self) -> None: ...

        def _update_status(self) -> None: ...

    def watch_for(self, thresholds: Thresholds) -> None:
        """Begin: nothing is observed yet."""
        self.alerts = AlertWatch(thresholds)
        self.history = History()
        self.hour = History(60, 60.0)

    def prepare(self, observation: Observation) -> None:
        """Compare with the plan ahead of showing, in the thread that reads: of a large cluster it takes long."""
        session = self.session
        if not session.pictured:
            self._watch_of(session.plan).update(observation)

    def _watch_of(self, plan: Plan) -> DriftWatch:
        watch = self._watch
        if watch is None or watch.plan is not plan:
            watch = self._watch = DriftWatch(plan)
        return watch

    def show_observation(self, observation: Observation) -> None:
        """Show what is live; only what changed is painted."""
        if not self.query("#grid"):
            self.early = observation  # the screen is still being made
            return
        before, self.observation = self.observation, observation
        changed = changed_nodes(before or NO_OBSERVATION, observation)
        record((self.history, self.hour), observation, changed)
        drawing = self.grid.drawing
        if before is None or drawing is None:
            self._draw()
            self._fill_panels()  # the legend has marks for what is live
        else:
            overlay = self._overlay(observation)
            self.grid.show_live(drawing.change(overlay=overlay), changed | marked_nodes(drawing.overlay, overlay))
        self._fill_table()
        self._inspect()

    def show_live_words(self, words: str, ok: bool) -> None:
        """Say how the link to the cluster is."""
        self.live_words, self.live_ok = words, ok
        if self.query("#grid"):
            self._update_status()

    @property
    def overlay(self) -> ObservationOverlay | None:
        """What is shown live in the grid."""
        found = self.grid.drawing.overlay if self.grid.drawing else None
        return found if isinstance(found, ObservationOverlay) else None

    def _overlay(self, observation: Observation | None) -> ObservationOverlay | None:
        if observation is None:
            return None
        alerts, session = self.alerts.update(observation), self.session
        # Nothing differs from a plan that was made from what is seen.
        compared, watch = not session.pictured, self._watch_of(session.plan)
        return ObservationOverlay(session.plan, observation, alerts, compared, watch).after(self.overlay)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Drift, then alerts."""
        overlay = self.overlay
        return () if overlay is None or self.observation is None else (*overlay.drift, *overlay.alerts)

    def notices_at(self, node: int, device: int | None) -> list[Notice]:
        """Those about a place; those about its node as a whole too."""
        return [one for one in self.notices if one.node == node and one.device in (None, device)]


def marked_nodes(before: object, after: ObservationOverlay | None) -> frozenset[int]:
    """Nodes whose marks differ though nothing of them was observed anew."""
    if not isinstance(before, ObservationOverlay) or after is None:
        return frozenset()
    return frozenset(node for node, _ in before.marked ^ after.marked)
