"""Moving about in a recording."""

from __future__ import annotations

from functools import partialmethod
from typing import TYPE_CHECKING

from placetui.observe.ports import ClusterSource
from placetui.tui.cluster.requests import flow

if TYPE_CHECKING:
    from placetui.observe.recording.replay import ReplaySource
    from placetui.tui.cluster.controller import ClusterController

SKIP = 60.0
"""Seconds of a recording."""


class ReplayControls:
    """Steps, skips and seeks in a recording."""

    def __init__(self, cluster: ClusterController) -> None:
        self.app = cluster.app
        self.cluster = cluster

    def _replay(self) -> ReplaySource | None:
        """What is being played, or word that nothing is."""
        if replay := as_replay(self.cluster.source):
            return replay
        self.cluster.notify("no recording is open: start with --replay F")
        return None

    def _step(self, observations: int) -> None:
        if replay := self._replay():
            replay.step(observations)

    def _skip(self, seconds: float) -> None:
        if replay := self._replay():
            replay.skip(seconds)

    step_on = partialmethod(_step, 1)
    step_back = partialmethod(_step, -1)
    skip_on = partialmethod(_skip, SKIP)
    skip_back = partialmethod(_skip, -SKIP)

    @flow
    async def seek(self) -> None:
        from placetui.observe.recording.replay import EXAMPLES, moment_of
        from placetui.tui.dialogs.ask import AskScreen

        if not self._replay():
            return
        question = f"A time, an offset, a part, or the number of an observation: {EXAMPLES}"
        wanted = await self.app.push_screen_wait(AskScreen("Go to", question))
        if wanted and (replay := self._replay()):
            try:
                replay.seek(moment_of(wanted, replay.times, replay.position.time))
            except ValueError as problem:
                self.cluster.notify(str(problem), severity="warning")


def as_replay(source: ClusterSource | None) -> ReplaySource | None:
    """The source, if it plays a recording; what that takes is loaded only then."""
    if source is None or source.name != "replay":
        return None
    from placetui.observe.recording.replay import ReplaySource

    return source if isinstance(source, ReplaySource) else None
