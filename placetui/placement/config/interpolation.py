"""`${…}` as OmegaConf has it: references to other values, and RLinf's arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from placetui.placement.config.reader import MISSING, MOST_BITS, MOST_DEPTH, Unresolvable
from placetui.placement.problems import Path
from placetui.placement.ranks import shorten

_MOST_WORK = 1_000_000
"""Characters inside `${…}` that are resolved in one file: a few lines can expand to billions."""

_MOST_TEXT = 4_000
"""Characters of a text with `${…}` in it, before and after."""

_RESOLVERS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "multiply": (2, lambda one, other: operator.mul(*_numbers(one, other))),
    "int_div": (2, lambda one, other: operator.floordiv(*_numbers(one, other))),
    "subtract": (2, lambda one, other: operator.sub(*_numbers(one, other))),
    "not": (1, operator.not_),
}


def _numbers(*values: Any) -> tuple[float, ...]:
    # Python would also multiply a text, up to all the memory there is.
    for value in values:
        if not isinstance(value, int | float):
            raise TypeError(f"`{shorten(str(value))}` is not a number")
    return values


class Interpolation:
    """Resolves texts of one configuration; `walk` gives the raw value at a path, or `MISSING`."""

    def __init__(self, walk: Callable[[Path, tuple[Path, ...]], Any]) -> None:
        self._walk = walk
        self._work = 0
        self._nesting = 0

    def expand(self, text: str, path: Path, asked: tuple[Path, ...]) -> Any:
        """The value of a text with `${…}` in it: typed when it is nothing else, else text."""
        if len(asked) > MOST_DEPTH or self._nesting > MOST_DEPTH:
            raise Unresolvable(f"`{shorten(text)}` is nested too deeply")
        if len(text) > _MOST_TEXT:
            raise Unresolvable(f"`{shorten(text)}` is longer than {_MOST_TEXT} characters")
        self._nesting += 1
        try:
            pieces = self._pieces(text, path, asked)
        finally:
            self._nesting -= 1
        if len(pieces) == 1:
            return pieces[0]
        whole = "".join(map(str, pieces))
        if len(whole) > _MOST_TEXT:
            raise Unresolvable(f"`{shorten(text)}` becomes longer than {_MOST_TEXT} characters")
        return whole

    def _pieces(self, text: str, path: Path, asked: tuple[Path, ...]) -> list[Any]:
        """Plain text and the values of `${…}`, in order."""
        pieces: list[Any] = []
        rest = text
        while (start := rest.find("${")) >= 0:
            end = _closing(rest, start, text)
            if start:
                pieces.append(rest[:start])
            pieces.append(self._evaluate(rest[start + 2 : end], path, asked))
            rest = rest[end + 1 :]
        if rest:
            pieces.append(rest)
        return pieces

    def _evaluate(self, inner: str, path: Path, asked: tuple[Path, ...]) -> Any:
        self._work += len(inner) + 50
        if self._work > _MOST_WORK:
            raise Unresolvable(f"`${{{shorten(inner)}}}` comes after too many others")
        name, colon, arguments = inner.partition(":")
        if not colon:
            return self._refer(inner.strip(), path, asked)
        name = name.strip()
        if name == "oc.select":
            return self._select(_arguments(arguments), path, asked)
        if name not in _RESOLVERS:
            raise Unresolvable(f"`${{{shorten(inner)}}}` needs the resolver `{name}`, which placetui does not run")
        number, function = _RESOLVERS[name]
        values = [self._argument(one, path, asked) for one in _arguments(arguments)]
        if len(values) != number:
            raise Unresolvable(f"`{name}` takes {number} values, not {len(values)}, in `${{{shorten(inner)}}}`")
        try:
            found = function(*values)
            if isinstance(found, int) and found.bit_length() > MOST_BITS:
                raise ArithmeticError("the result is too large")
            return found
        except (TypeError, ArithmeticError) as error:
            raise Unresolvable(f"`${{{shorten(inner)}}}` cannot be computed: {error}") from None

    def _argument(self, text: str, path: Path, asked: tuple[Path, ...]) -> Any:
        value = self.expand(text.strip(), path, asked) if "${" in text else text.strip()
        if not isinstance(value, str):
            return value
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
        return value

    def _select(self, arguments: list[str], path: Path, asked: tuple[Path, ...]) -> Any:
        """The value of a key if there is one, else the default; null without a default."""
        key, *default = arguments
        try:
            return self._refer(key.strip(), path, asked)
        except Unresolvable:
            return self._argument(default[0], path, asked) if default else None

    def _refer(self, name: str, path: Path, asked: tuple[Path, ...]) -> Any:
        if "${" in name:
            name = str(self.expand(name, path, asked))
        bare = name.lstrip(".")
        up = len(name) - len(bare)
        if up > len(path):
            raise Unresolvable(f"`${{{shorten(name)}}}` leads out of the file")
        keys = tuple(key for key in bare.replace("[", ".").replace("]", "").split(".") if key)
        target: Path = (*path[: len(path) - up], *keys) if up else keys
        if not keys or target in asked:
            raise Unresolvable(f"`${{{shorten(name)}}}` refers to itself" if keys else "`${}` names nothing")
        value = self._walk(target, (*asked, target))
        if value is MISSING:
            raise Unresolvable(f"`${{{shorten(name)}}}` is not in this file")
        return self.expand(value, target, (*asked, target)) if isinstance(value, str) and "${" in value else value


def _closing(text: str, start: int, whole: str) -> int:
    depth = 0
    for index in range(start, len(text)):
        if text.startswith("${", index):
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if not depth:
                return index
    raise Unresolvable(f"`{shorten(whole)}` has no closing brace")


def _arguments(text: str) -> list[str]:
    """Split at commas that are not inside a nested `${…}`."""
    parts = [""]
    depth = 0
    for index, character in enumerate(text):
        if text.startswith("${", index):
            depth += 1
        elif character == "}":
            depth -= 1
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts
