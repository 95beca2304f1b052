"""Notices at the edge of the screen."""

from __future__ import annotations

from typing import Any

from textual.notifications import Notification
from textual.screen import Screen

LEAST = 0.01
"""Seconds that are left of a notice at least, as long as it is asked for them."""


class Notice(Notification):
    """A notification of which there is always some time left, also when it is over.

    Textual shows the notices that are not over and then asks each for the time it has left. If that has just run out,
    Textual's timer goes round forever with a time below zero, and no key is heard any more.
    """

    @property
    def time_left(self) -> float:
        return max(LEAST, super().time_left)

    @property
    def has_expired(self) -> bool:
        return super().time_left <= 0


def repaint_when_gone(screen: Screen[Any]) -> None:
    """Paint a screen again when a notice on it is gone.

    To ask Textual where a widget is can lay out the screen before Textual notes what the notice uncovers; the words of
    the notice then stay on the terminal.
    """
    shown = 0

    def laid_out(_screen: Screen[Any]) -> None:
        nonlocal shown
        before, shown = shown, len(screen.query("Toast"))
        if shown < before:
            screen.refresh()

    screen.screen_layout_refresh_signal.subscribe(screen, laid_out, immediate=True)
