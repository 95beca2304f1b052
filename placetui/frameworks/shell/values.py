"""Words of a script, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

_MOST_ORIGINS = 4
_Text = TypeVar("_Text", bound="Traced")
SETTING = "--set"
"""Stands for the file of a value that the user gave."""


class ScriptLine(NamedTuple):
    """A line of a script."""

    file: str
    """A file that the script sources; empty for the script itself."""

    line: int


Origin: TypeAlias = tuple[str, ScriptLine]
"""A variable, and where it was set."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Why something is not known."""

    line: int
    source: str
    """What it was set from, or the condition that decides."""

    choices: tuple[str, ...] = ()
    """What each branch of the condition would set."""

    settle: tuple[str, ...] = ()
    """Variables that would settle the condition."""

    file: str = ""


class Traced(str):
    """A word that says where it stands, and which variables it was made from."""

    __slots__ = ("origins", "place")
    place: ScriptLine
    origins: tuple[Origin, ...]

    def __new__(
        cls: type[_Text],
        text: str,
        place: ScriptLine = ScriptLine("", 0),  # noqa: B008
        origins: Sequence[Origin] = (),
    ) -> _Text:
        self = super().__new__(cls, text)
        self.place = place
        self.origins = tuple(dict.fromkeys(origins))[:_MOST_ORIGINS]
        return self


class Unknown(Traced):
    """A word of which some part cannot be known without running the script; its text is as written."""

    __slots__ = ("reason", "variables")
    variables: tuple[str, ...]
    """Variables that would settle it, if one knew them."""

    reason: Undecided | None

    def __new__(
        cls,
        text: str,
        variables: Iterable[str] = (),
        reason: Undecided | None = None,
        place: ScriptLine = ScriptLine("", 0),  # noqa: B008
        origins: Sequence[Origin] = (),
    ) -> Unknown:
        self = super().__new__(cls, text, place, origins)
        self.variables = tuple(dict.fromkeys(variables))
        self.reason = reason
        return self


def is_unknown(values: Iterable[str]) -> bool:
    """Whether one of them is not known."""
    return any(isinstance(value, Unknown) for value in values)


def joined(texts: Sequence[str], between: str = "") -> str:
    """One text; not known if one of them is not."""
    made = between.join(texts)
    unknown = [text for text in texts if isinstance(text, Unknown)]
    if not unknown:
        return made
    reason = next((text.reason for text in unknown if text.reason), None)
    return Unknown(made, (name for text in unknown for name in text.variables), reason)


def placed(text: str, place: ScriptLine, origins: Sequence[Origin]) -> str:
    """The same text with its place."""
    if isinstance(text, Unknown):
        return Unknown(text, text.variables, text.reason, place, origins)
    return Traced(text, place, origins)
