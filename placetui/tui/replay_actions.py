"""Keys for a recording: step, skip, go to a time."""

from __future__ import annotations

import time

from textual.app import App

from placetui.observe.ports import ClusterSource
from placetui.observe.replay import ReplaySource
from placetui.observe.seeking import EXAMPLES, moment_of
from placetui.tui.screens.ask import AskScreen

SKIP = 60.0
"""Seconds."""


class ReplayActions(App[int]):
    """The half of the dashboard that plays recordings."""

    source: ClusterSource | None

    def _replay(self) -> ReplaySource | None:
        """What is being played, or word that nothing is."""
        if isinstance(self.source, ReplaySource):
            return self.source
        self.notify("nothing is replayed: start with --replay F", markup=False)
        return None

    def action_step_on(self) -> None:
        if replay := self._replay():
            replay.step(1)

    def action_step_back(self) -> None:
        if replay := self._replay():
            replay.step(-1)

    def action_skip_on(self) -> None:
        if replay := self._replay():
            replay.skip(SKIP)

    def action_skip_back(self) -> None:
        if replay := self._replay():
            replay.skip(-SKIP)

    def action_seek(self) -> None:
        replay = self._replay()
        if replay is not None:
            question = f"A time, an offset, a part, or the number of an observation: {EXAMPLES}"
            self.push_screen(AskScreen("go to", question), self._seek)

    def _seek(self, wanted: str | None) -> None:
        replay = self._replay() if wanted else None
        if replay is None or not wanted:
            return
        try:
            replay.seek(moment_of(wanted, replay.times, replay.position.time))
        except ValueError as problem:
            self.notify(str(problem), severity="warning", markup=False)


def source_words(source: ClusterSource, about: str = "") -> str:
    """`simulated, every 1 s`, `replay 12/90 14:03:20, paused`, `ray, job conf, every 1 s`."""
    name: str = source.name
    if isinstance(source, ReplaySource) and (position := source.position).count:
        moment = time.strftime("%H:%M:%S", time.localtime(position.time))
        name = f"{name} {position.number + 1}/{position.count} {moment}"
        if source.problem:
            name += f" ({source.problem.partition(' after ')[0]})"
    rest = "paused" if source.paused else f"every {source.interval:g} s"
    return ", ".join(filter(None, (name, about, rest)))
