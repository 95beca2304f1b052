"""Problems are data: functions report them, one place prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the top of the file down to a value."""

Span: TypeAlias = tuple[int, int]
"""First character and the one after the last, in the text of one value."""

Severity: TypeAlias = Literal["error", "warning"]

_MOST_CHARACTERS = 600
"""Of a message or a hint."""

LEAVES_A_PLAN = frozenset({"oversubscribed", "share_too_small"})
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
        """`FILE:LINE:COL: error[rule]: sentence`, and the hint indented below."""
        place = [str(part) for part in (self.file, self.line, self.column) if part not in ("", None)]
        head = f"{':'.join(place)}: " if place else ""
        text = f"{head}{self.severity}[{self.rule}]: {self.message}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


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
    """Collects what is found, below a path and for a component if given."""

    def error(self, rule: str, message: str, *, hint: str = "", **where: Any) -> None:
        self.append(Problem(rule, message, "error", hint, **where))

    def warning(self, rule: str, message: str, *, hint: str = "", **where: Any) -> None:
        self.append(Problem(rule, message, "warning", hint, **where))

    def adopt(self, found: Iterable[Problem], path: Path, component: str | None = None) -> None:
        """Take problems that were reported relative to `path`."""
        for problem in found:
            self.append(replace(problem, path=path + problem.path, component=component or problem.component))

    @property
    def blocking(self) -> bool:
        return any(problem.blocking for problem in self)

    def raise_if_blocking(self) -> None:
        if self.blocking:
            raise PlacementError(self)


def dotted(path: Path) -> str:
    """`cluster.node_groups[0].label`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def listing(names: Iterable[object], most: int = 8) -> str:
    """A readable list: `a, b and c`; long ones end in `and 12 more`."""
    known = names if isinstance(names, Sequence) else list(names)
    parts = [str(name) for name in known[:most]]
    if len(known) > most:
        parts.append(f"{len(known) - most} more")
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def quoted(names: Iterable[object]) -> list[str]:
    """Each name in backticks, as messages quote what was written."""
    return [f"`{name}`" for name in names]


def count(number: int, noun: str) -> str:
    """`1 device`, `8 devices`."""
    many = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else many}"
