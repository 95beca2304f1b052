"""Problems are data: functions report them, one place prints them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from placetui.placement.wording import dotted, plain

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the top of the file down to a value."""

Span: TypeAlias = tuple[int, int]
"""First character and the one after the last, in the text of one value."""

Severity: TypeAlias = Literal["error", "warning", "info"]

_MOST_CHARACTERS = 600
"""Of a message or a hint."""

LEAVES_A_PLAN = frozenset({"oversubscribed", "share_too_small", "verl_replica_straddles_nodes", "verl_no_replica"})
"""Errors found on a plan whose components are all placed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that its author should know."""

    rule: str
    """Stable id, listed in `docs/rules.md`."""

    message: str
    """One sentence in plain words, with the offending text."""

    severity: Severity = "error"
    hint: str = ""
    """What to write instead."""

    path: Path = ()
    span: Span | None = None
    """The part of the value's text that is meant; None for all of it."""

    at_key: bool = False
    """Whether the key is at fault rather than the value."""

    component: str | None = None
    file: str = ""
    line: int | None = None
    """Counted from 1; None when the problem has no place in a file."""

    column: int | None = None
    """Counted from 1, in characters."""

    def __post_init__(self) -> None:
        for name in ("message", "hint"):
            text = getattr(self, name)
            if len(text) > _MOST_CHARACTERS or not text.isprintable():
                object.__setattr__(self, name, _one_line(text))

    @property
    def blocking(self) -> bool:
        """Whether a component cannot be placed because of it."""
        return self.severity == "error" and self.rule not in LEAVES_A_PLAN

    def to_dict(self) -> dict[str, Any]:
        return {
            "severity": self.severity,
            "rule": self.rule,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": dotted(self.path),
            "component": self.component,
            "message": self.message,
            "hint": self.hint,
        }

    def format(self) -> str:
        """`FILE:LINE:COL: error[rule]: sentence`, and the hint indented below; without backticks."""
        place = [str(part) for part in (self.file, self.line, self.column) if part not in ("", None)]
        head = f"{':'.join(place)}: " if place else ""
        text = f"{head}{self.severity}[{self.rule}]: {plain(self.message)}"
        return f"{text}\n  hint: {plain(self.hint)}" if self.hint else text


def _one_line(text: str) -> str:
    """What a user wrote may hold line breaks and codes that a terminal obeys."""
    text = text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class PlacementError(ValueError):
    """A component cannot be placed; `problems` says why, all of it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(problem.format() for problem in self.problems))

    def __reduce__(self) -> tuple[type[PlacementError], tuple[list[Problem]]]:
        return type(self), (self.problems,)


class Problems(list[Problem]):
    """Collects what is found."""

    def at(self, path: Path, *, component: str | None = None) -> ProblemReporter:
        return ProblemReporter(self, path, component)

    @property
    def blocking(self) -> bool:
        return any(problem.blocking for problem in self)

    def raise_if_blocking(self) -> None:
        if self.blocking:
            raise PlacementError(self)


class ProblemReporter(NamedTuple):
    """Reports what is found at one place in the file."""

    problems: Problems
    path: Path
    component: str | None = None

    def error(self, rule: str, message: str, *, hint: str = "", at_key: bool = False) -> None:
        """With `at_key`, the key is at fault rather than the value."""
        self.problems.append(Problem(rule, message, "error", hint, self.path, None, at_key, self.component))

    def warning(self, rule: str, message: str, *, hint: str = "", at_key: bool = False) -> None:
        self.problems.append(Problem(rule, message, "warning", hint, self.path, None, at_key, self.component))

    def info(self, rule: str, message: str, *, hint: str = "") -> None:
        """Something worth knowing that nobody needs to change."""
        self.problems.append(Problem(rule, message, "info", hint, self.path, None, False, self.component))

    def adopt(self, found: Iterable[Problem]) -> None:
        """Take problems that were found without knowing the place."""
        for problem in found:
            path, component = self.path + problem.path, self.component or problem.component
            self.problems.append(replace(problem, path=path, component=component))

    def below(self, *keys: str | int) -> ProblemReporter:
        return self._replace(path=self.path + keys)
