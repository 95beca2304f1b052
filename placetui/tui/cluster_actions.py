"""The cluster as it is, without a file: opened from what is observed, followed, and kept as a file."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from placetui.document.picture_file import picture_text
from placetui.observe.model import Observation
from placetui.observe.operations import AUTO
from placetui.observe.picture import picture_of
from placetui.observe.playback import clock
from placetui.observe.ports import ClusterSource, Status
from placetui.observe.whereabouts import Whereabouts
from placetui.tui.file_actions import FileActions
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.waiting import WaitingScreen
from placetui.tui.session import PICTURE, Session

FOLLOW_EVERY = 2.0
"""Seconds from one look at who is where to the next, at least: it takes longer than a look at their memory."""


@dataclass
class Followed(Message):
    """The cluster as it is now, worked out in the background."""

    before: Session
    after: Session


class ClusterActions(FileActions):
    """The half of the dashboard that needs no file."""

    source: ClusterSource | None
    _whereabouts: Whereabouts
    _following: Timer | None = None
    _followed = 0.0
    """When the picture was last compared with the cluster."""

    if TYPE_CHECKING:

        def drop_source(self) -> None: ...

        def look_at(self, source: ClusterSource) -> None: ...

    def watch_cluster(self) -> None:
        """Open the cluster as it is, as soon as it is seen."""
        if self.options.picture is not None:
            self.push_screen(WaitingScreen())
            self.look_at(self.options.picture())

    def _waiting(self) -> WaitingScreen | None:
        return next((screen for screen in self.screen_stack if isinstance(screen, WaitingScreen)), None)

    def _first_sight(self, observation: Observation) -> None:
        """The first picture of a cluster without a file; a dialog above the words that wait for it is not disturbed."""
        waiting = self._waiting()
        if waiting is not None and waiting is self.screen and observation.nodes:
            waiting.dismiss()
            self._whereabouts = Whereabouts()
            self._whereabouts.moved(observation)
            self._show(Session.of_observation(observation))

    def _say_waiting(self, status: Status) -> None:
        waiting = self._waiting()
        if waiting is None:
            return
        if status.absent and self.options.address == AUTO and waiting is self.screen:
            # Nobody named one: then a file is what is wanted.
            waiting.dismiss()
            self.drop_source()
            self.action_open()
        else:
            waiting.say(status)

    def _open(self, file: str | None) -> None:
        if file is not None or self._waiting() is None:
            super()._open(file)

    def _follow_cluster(self) -> None:
        """Draw the cluster anew where somebody came or went, soon."""
        if self._following is None and self.session is not None and self.session.pictured:
            passed = time.monotonic() - self._followed
            self._following = self.set_timer(max(0.01, FOLLOW_EVERY - passed), self._look_again, name="follow cluster")

    def _look_again(self) -> None:
        self._following, self._followed = None, time.monotonic()
        main = self.main
        if main is None or main.observation is None or main.editor.dirty or main.writing_rule:
            return
        session, observation = main.session, main.observation
        if not session.pictured or not self._whereabouts.moved(observation):
            return

        def work() -> None:
            self.post_message(Followed(session, session.followed(observation)))

        threading.Thread(target=work, name="follow cluster", daemon=True).start()

    def on_followed(self, event: Followed) -> None:
        main = self.main
        if main is None or event.after is event.before:
            return
        if main.session is not event.before or main.writing_rule:
            self._whereabouts = Whereabouts()  # looked at again with the next observation
            return
        main.editor.reread(event.after)
        main.show_session(event.after)

    def action_keep(self) -> None:
        """Save the cluster as it is as a placement file."""
        seen = self.main.observation if self.main is not None else None
        if seen is None:
            self.notify("there is no live picture to keep: no cluster is attached", markup=False)
            return
        picture = picture_of(seen)
        text = picture_text(picture, f"The cluster as it was seen at {clock(seen.time)}.")
        said = [f"It cannot say all of it: {'; '.join(picture.notes)}."] if picture.notes else []
        question = "\n".join(["A placement file of who is on which GPU now.", *said, "A new file:"])

        def write(name: str | None) -> None:
            if name is not None:
                self._write_new(name, text)

        self.push_screen(AskScreen("keep the cluster as it is", question, PICTURE), write)
