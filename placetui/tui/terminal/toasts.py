"""Notices at the edge of the screen."""

from __future__ import annotations

from textual.notifications import Notification

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
