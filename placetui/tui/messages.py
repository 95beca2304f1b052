"""What panes and bars tell the main screen. Apart from them, so that nothing is imported before it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from textual.message import Message

from placetui.grid import Place

Change: TypeAlias = Literal["edited", "planned", "shown"]
"""Why a session is another one: the user edited it, it was planned again, or only its look changed."""


@dataclass
class JumpToRule(Message):
    """The user asks for the rule behind a device."""

    place: Place


class HitShown(Message):
    """The cursor of the grid went to a hit: the grid wants to be seen."""


@dataclass
class RowChosen(Message):
    """The user wants to see the place of a row in the grid."""

    row: Any


@dataclass
class TextTyped(Message):
    """The file reads otherwise now; only the latest reading counts."""

    text: str

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, TextTyped)


@dataclass
class RuleTyped(Message):
    """A rule reads otherwise now; only the latest reading counts."""

    text: str

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RuleTyped)


@dataclass
class RuleResized(Message):
    """The component whose rule is typed is to have so many processes more, or fewer."""

    processes: int


@dataclass
class RuleDone(Message):
    """The user applies the rule."""

    steps: int = 0
    """By how many components to go on, to edit that rule next."""


class RuleCancelled(Message):
    """The user discards the change of a rule."""


class FindClosed(Message):
    """The user is done with finding."""


@dataclass
class SessionChanged(Message):
    """The main screen shows another plan."""

    change: Change
