"""Reads values out of a configuration and resolves `${…}` in what is read, and only there."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placetui.placement.problems import Path, Problems, dotted
from placetui.placement.ranks import shorten

MISSING: Any = object()
"""There is no such value."""

_MOST_DEPTH = 60
_MOST_VALUES = 200_000
_MOST_WORK = 1_000_000
"""Characters inside `${…}` that are looked at in one file: a few lines can ask for billions."""

_MOST_TEXT = 4_000
"""Characters of a text with `${…}` in it, before and after."""

_MOST_BITS = 1_000
"""Larger numbers mean nothing here, and Python does not print them."""

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


class Unresolved(str):
    """A text that could not be resolved; a problem says why, so nobody needs to complain again."""

    __slots__ = ()


class _Unresolvable(Exception):
    """Why a `${…}` has no value."""


class Reader:
    """Plain values of a configuration, interpolations resolved.

    Any mapping will do: a dict, a lazily read file, OmegaConf's.
    """

    def __init__(self, config: Mapping[str, Any], problems: Problems) -> None:
        self._config = config
        self._problems = problems
        self._values = 0
        self._work = 0
        self._nesting = 0

    def get(self, *path: str | int, default: Any = MISSING) -> Any:
        """The value at `path` as plain dict, list or scalar; `default` when it is not there."""
        self._values = 0
        found = self._find(path)
        return default if found is MISSING else self._plain(found, path, 0)

    def keys(self, *path: str | int) -> list[str]:
        """Keys of the mapping at `path`, without reading what is below."""
        found = self._find(path, expand=True)
        return [str(key) for key in found] if isinstance(found, Mapping) else []

    def has(self, *path: str | int) -> bool:
        """Whether there is a value other than null at `path`, without reading what is below."""
        return self._find(path, expand=True) not in (MISSING, None)

    def is_section(self, *path: str | int) -> bool:
        """Whether there is a mapping at `path`, or something of which a problem is already known."""
        return isinstance(self._find(path, expand=True), Mapping | Unresolved)

    def _find(self, path: Path, *, expand: bool = False) -> Any:
        try:
            found = self._walk(path, ())
            return self._expand(found, path, ()) if expand and isinstance(found, str) and "${" in found else found
        except _Unresolvable as reason:
            self._report(path, reason)
            return Unresolved()

    def _walk(self, path: Path, asked: tuple[Path, ...]) -> Any:
        """The raw value at `path`, following interpolations on the way."""
        value: Any = self._config
        for depth, key in enumerate(path):
            if isinstance(value, str) and "${" in value:
                value = self._expand(value, path[:depth], asked)
            value = _child(value, key)
            if value is MISSING:
                return MISSING
        return value

    def _plain(self, value: Any, path: Path, depth: int) -> Any:
        self._values += 1
        if depth > _MOST_DEPTH or self._values > _MOST_VALUES:
            if self._values < 2 * _MOST_VALUES:
                self._values = 2 * _MOST_VALUES  # say it once
                self._problems.error(
                    "too_many_values",
                    f"`{dotted(path)}` holds too many values",
                    hint="write out what is needed instead of references to references",
                    path=path[:2],
                )
            return Unresolved()
        if isinstance(value, str):
            return self._text(value, path, depth)
        if isinstance(value, Mapping):
            return {str(key): self._plain_child(value, key, (*path, str(key)), depth) for key in value}
        if isinstance(value, Sequence):
            return [self._plain_child(value, index, (*path, index), depth) for index in range(len(value))]
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            self._problems.error(
                "yaml_value", f"`{dotted(path)}` is a number of more than 300 digits", hint="check it", path=path
            )
            return Unresolved()
        return value

    def _plain_child(self, parent: Any, key: Any, path: Path, depth: int) -> Any:
        try:
            value = _child(parent, key)
        except _Unresolvable as reason:
            self._report(path, reason)
            return Unresolved()
        return self._plain(value, path, depth + 1)

    def _text(self, value: str, path: Path, depth: int) -> Any:
        if value == "???":
            self._problems.error(
                "missing_value",
                "`???` must be filled in",
                hint="write a value; `???` marks one that is missing",
                path=path,
            )
            return Unresolved(value)
        if "${" not in value:
            return value
        try:
            found = self._expand(value, path, ())
        except _Unresolvable as reason:
            self._report(path, reason)
            return Unresolved(value)
        return found if isinstance(found, str) else self._plain(found, path, depth + 1)

    def _report(self, path: Path, reason: _Unresolvable) -> None:
        self._problems.error(
            "interpolation",
            str(reason),
            hint="write the value itself, or pass the composed file (`--cfg job`); `--set` can override it too",
            path=path,
        )

    def _expand(self, text: str, path: Path, asked: tuple[Path, ...]) -> Any:
        """The value of a text with `${…}` in it: typed when it is nothing else, else text."""
        if len(asked) > _MOST_DEPTH or self._nesting > _MOST_DEPTH:
            raise _Unresolvable(f"`{shorten(text)}` is nested too deeply")
        if len(text) > _MOST_TEXT:
            raise _Unresolvable(f"`{shorten(text)}` is longer than {_MOST_TEXT} characters")
        self._nesting += 1
        try:
            pieces = self._pieces(text, path, asked)
        finally:
            self._nesting -= 1
        if len(pieces) == 1:
            return pieces[0]
        whole = "".join(map(str, pieces))
        if len(whole) > _MOST_TEXT:
            raise _Unresolvable(f"`{shorten(text)}` becomes longer than {_MOST_TEXT} characters")
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
            raise _Unresolvable(f"`${{{shorten(inner)}}}` comes after too many others")
        name, colon, arguments = inner.partition(":")
        if not colon:
            return self._refer(inner.strip(), path, asked)
        name = name.strip()
        if name not in _RESOLVERS:
            raise _Unresolvable(f"`${{{shorten(inner)}}}` needs the resolver `{name}`, which placetui does not run")
        number, function = _RESOLVERS[name]
        values = [self._argument(one, path, asked) for one in _arguments(arguments)]
        if len(values) != number:
            raise _Unresolvable(f"`{name}` takes {number} values, not {len(values)}, in `${{{shorten(inner)}}}`")
        try:
            found = function(*values)
            if isinstance(found, int) and found.bit_length() > _MOST_BITS:
                raise ArithmeticError("the result is too large")
            return found
        except (TypeError, ArithmeticError) as error:
            raise _Unresolvable(f"`${{{shorten(inner)}}}` cannot be computed: {error}") from None

    def _argument(self, text: str, path: Path, asked: tuple[Path, ...]) -> Any:
        value = self._expand(text.strip(), path, asked) if "${" in text else text.strip()
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

    def _refer(self, name: str, path: Path, asked: tuple[Path, ...]) -> Any:
        if "${" in name:
            name = str(self._expand(name, path, asked))
        bare = name.lstrip(".")
        up = len(name) - len(bare)
        if up > len(path):
            raise _Unresolvable(f"`${{{shorten(name)}}}` leads out of the file")
        keys = tuple(key for key in bare.replace("[", ".").replace("]", "").split(".") if key)
        target: Path = (*path[: len(path) - up], *keys) if up else keys
        if not keys or target in asked:
            raise _Unresolvable(f"`${{{shorten(name)}}}` refers to itself" if keys else "`${}` names nothing")
        value = self._walk(target, (*asked, target))
        if value is MISSING:
            raise _Unresolvable(f"`${{{shorten(name)}}}` is not in this file")
        return self._expand(value, target, (*asked, target)) if isinstance(value, str) and "${" in value else value


def _child(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        for candidate in (key, *_other_types(key)):
            try:
                return value[candidate]
            except KeyError:
                continue
            except Exception as error:  # OmegaConf resolves on access, and fails there
                raise _Unresolvable(f"`{key}` cannot be read: {shorten(str(error), 120)}") from None
        return MISSING
    if isinstance(value, Sequence) and not isinstance(value, str):
        index = int(key) if str(key).isdecimal() and len(str(key)) < 10 else -1
        try:
            return value[index] if 0 <= index < len(value) else MISSING
        except Exception as error:
            raise _Unresolvable(f"entry {index} cannot be read: {shorten(str(error), 120)}") from None
    return MISSING


def _other_types(key: str | int) -> list[Any]:
    """Keys that a plain YAML loader may have typed: `7:` and `on:`."""
    text = str(key)
    others: list[Any] = [text] if not isinstance(key, str) else []
    if text.isdecimal():
        others.append(int(text))
    if text in ("True", "False", "None"):
        others.append({"True": True, "False": False, "None": None}[text])
    return others


def _closing(text: str, start: int, whole: str) -> int:
    depth = 0
    for index in range(start, len(text)):
        if text.startswith("${", index):
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if not depth:
                return index
    raise _Unresolvable(f"`{shorten(whole)}` has no closing brace")


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


def has_unresolved(value: Any) -> bool:
    """Whether a problem was already reported inside this value."""
    if isinstance(value, Mapping):
        return any(has_unresolved(one) for one in value.values())
    if isinstance(value, list):
        return any(has_unresolved(one) for one in value)
    return isinstance(value, Unresolved)
