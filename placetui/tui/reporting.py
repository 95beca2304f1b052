"""From an operation's thread to whoever waits for it on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual.message import Message
from textual.message_pump import MessagePump

from placetui.observe.operations import Failure


@dataclass
class Told(Message, bubble=False):
    """How far an operation is."""

    about: str
    """What the one who asked called it."""

    step: Mapping[str, Any]


@dataclass
class Ended(Message, bubble=False):
    """An operation is over."""

    about: str
    outcome: Mapping[str, Any] | Failure


@dataclass(frozen=True, slots=True)
class Posts:
    """A `Reporter` that posts messages; whoever has left meanwhile gets none."""

    target: MessagePump
    about: str

    def told(self, step: Mapping[str, Any]) -> None:
        self.target.post_message(Told(self.about, step))

    def finished(self, outcome: Mapping[str, Any] | Failure) -> None:
        self.target.post_message(Ended(self.about, outcome))
