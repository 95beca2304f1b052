"""The live half of the dashboard: which source is looked at, what it shows, and how often."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from textual.notifications import SeverityLevel

from placetui.observe.ports import ClusterSource, Status, Update
from placetui.placement.plan import Plan
from placetui.tui.cluster_actions import ClusterActions
from placetui.tui.cluster_link import TROUBLE, link_words
from placetui.tui.job_actions import JobActions
from placetui.tui.jobs import nodes_of
from placetui.tui.live import LinkChanged, Observed
from placetui.tui.replay_actions import ReplayActions

SLOWEST, FASTEST = 30.0, 0.2
"""Seconds between observations."""


class LiveActions(JobActions, ClusterActions, ReplayActions):
    """Looks at one source at a time."""

    source: ClusterSource | None = None
    _connected: Plan | None = None
    """The plan that the source was opened for."""

    def _connect(self, plan: Plan) -> None:
        self._connected = plan
        if self.keeps_source(plan):
            return
        self.drop_source()
        source = self.open_source(plan)
        if source is not None:
            self.look_at(source)

    def drop_source(self) -> None:
        """Look at nothing any more."""
        old, self.source = self.source, None
        if old is not None:
            threading.Thread(target=old.close, name="close source", daemon=True).start()

    def look_at(self, source: ClusterSource) -> None:
        """Show what a source has to say, after the first paint: what is on the screen never waits for a cluster."""
        self.source, self.link = source, Status("starting")
        self.call_after_refresh(self._start_source, source)

    def _start_source(self, source: ClusterSource) -> None:
        if source is self.source:
            source.start(_Subscriber(self, source))
            source.set_interval(self.options.interval)

    def on_observed(self, event: Observed) -> None:
        # News may still come while the screens are taken down.
        if event.source is not self.source or not self.is_running:
            return
        observation = event.update.observation
        if self.main is None:
            self._first_sight(observation)
        if self.main is not None:
            self.main.show_observation(self.with_launch(observation))
            self._follow_cluster()
            self._say_live()
            if observation.source == "ray":
                self.use_nodes(nodes_of(observation))

    def on_link_changed(self, event: LinkChanged) -> None:
        if event.source is not self.source or not self.is_running:
            return
        if self.main is None:
            self._say_waiting(event.status)
            return
        self.link = event.status
        self._say_live()
        words = link_words(event.status)
        if words and not self.is_quiet(event.status):
            # The link can be back sooner than the top line is read.
            severity: SeverityLevel = "warning" if event.status.link in TROUBLE else "information"
            self.notify(words, title=event.source.name, severity=severity, markup=False)

    def action_pause(self) -> None:
        if self._has_source() and self.source is not None:
            self.source.set_paused(not self.source.paused)
            self._say_live()

    def action_faster(self) -> None:
        self._change_interval(0.5)

    def action_slower(self) -> None:
        self._change_interval(2)

    def _change_interval(self, factor: float) -> None:
        if self._has_source() and self.source is not None:
            self.source.set_interval(min(SLOWEST, max(FASTEST, self.source.interval * factor)))
            self._say_live()

    def _has_source(self) -> bool:
        if self.source is None:
            self.notify("there is no live picture: no cluster is attached", markup=False)
        return self.source is not None


@dataclass(frozen=True, slots=True)
class _Subscriber:
    """Posts what a source says; called from the source's thread."""

    app: LiveActions
    source: ClusterSource

    def updated(self, update: Update) -> None:
        main = self.app.main
        if main is not None:
            main.prepare(update.observation)
        self.app.post_message(Observed(update, self.source))

    def status_changed(self, status: Status) -> None:
        self.app.post_message(LinkChanged(status, self.source))
