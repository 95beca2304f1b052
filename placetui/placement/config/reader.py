"""Reads values out of a configuration and resolves `${…}` in what is read, and only there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from placetui.placement.problems import Path, Problems
from placetui.placement.ranks import shorten
from placetui.placement.wording import dotted

if TYPE_CHECKING:
    from placetui.placement.config.interpolation import Interpolation

MISSING: Any = object()
"""There is no such value."""

MOST_DEPTH = 60
"""Levels of values inside each other, and of `${…}`."""

MOST_BITS = 1_000
"""Larger numbers mean nothing here, and Python does not print them."""

_MOST_VALUES = 200_000


class Unresolved(str):
    """A text that could not be resolved; its problem is already reported."""

    __slots__ = ()


class Unresolvable(Exception):
    """Why a `${…}` has no value."""


class Reader:
    """Plain values of a configuration, interpolations resolved.

    Any mapping will do: a dict, a lazily read file, OmegaConf's.
    """

    def __init__(self, config: Mapping[str, Any], problems: Problems) -> None:
        self._config = config
        self._problems = problems
        self._values = 0
        self._interpolation: Interpolation | None = None

    def get(self, *path: str | int, default: Any = MISSING) -> Any:
        """The value at `path` as plain dict, list or scalar; `default` when it is not there."""
        self._values = 0
        found = self._find(path)
        return default if found is MISSING else self._plain(found, path, 0)

    def keys(self, *path: str | int) -> list[str]:
        """Keys of the mapping at `path`, without reading what is below."""
        found = self._find(path, expand=True)
        return [str(key) for key in found] if isinstance(found, Mapping) else []

    def has_key(self, *path: str | int) -> bool:
        """Whether there is anything at `path`, also null."""
        return self._find(path) is not MISSING

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
        except Unresolvable as reason:
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
        if depth > MOST_DEPTH or self._values > _MOST_VALUES:
            if self._values < 2 * _MOST_VALUES:
                self._values = 2 * _MOST_VALUES  # say it once
                hint = "write out what is needed instead of references to references"
                self._problems.at(path[:2]).error(
                    "too_many_values", f"`{dotted(path)}` holds too many values", hint=hint
                )
            return Unresolved()
        if isinstance(value, str):
            return self._text(value, path, depth)
        if isinstance(value, Mapping):
            return {str(key): self._plain_child(value, key, (*path, str(key)), depth) for key in value}
        if isinstance(value, Sequence):
            return [self._plain_child(value, index, (*path, index), depth) for index in range(len(value))]
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            message = f"`{dotted(path)}` is a number of more than 300 digits"
            self._problems.at(path).error("yaml_value", message, hint="check it")
            return Unresolved()
        return value

    def _plain_child(self, parent: Any, key: Any, path: Path, depth: int) -> Any:
        try:
            value = _child(parent, key)
        except Unresolvable as reason:
            self._report(path, reason)
            return Unresolved()
        return self._plain(value, path, depth + 1)

    def _text(self, value: str, path: Path, depth: int) -> Any:
        if value == "???":
            hint = "write a value; `???` marks one that is missing"
            self._problems.at(path).error("missing_value", "`???` must be filled in", hint=hint)
            return Unresolved(value)
        if "${" not in value:
            return value
        try:
            found = self._expand(value, path, ())
        except Unresolvable as reason:
            self._report(path, reason)
            return Unresolved(value)
        return found if isinstance(found, str) else self._plain(found, path, depth + 1)

    def _report(self, path: Path, reason: Unresolvable) -> None:
        hint = "write the value itself, or pass the composed file (`--cfg job`); `--set` can override it too"
        self._problems.at(path).error("interpolation", str(reason), hint=hint)

    def _expand(self, text: str, path: Path, asked: tuple[Path, ...]) -> Any:
        if self._interpolation is None:
            from placetui.placement.config.interpolation import Interpolation  # many files have none

            self._interpolation = Interpolation(self._walk)
        return self._interpolation.expand(text, path, asked)


def _child(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        for candidate in (key, *_other_types(key)):
            try:
                return value[candidate]
            except KeyError:
                continue
            except Exception as error:  # OmegaConf resolves on access, and fails there
                raise Unresolvable(f"`{key}` cannot be read: {shorten(str(error), 120)}") from None
        return MISSING
    if isinstance(value, Sequence) and not isinstance(value, str):
        index = int(key) if str(key).isdecimal() and len(str(key)) < 10 else -1
        try:
            return value[index] if 0 <= index < len(value) else MISSING
        except Exception as error:
            raise Unresolvable(f"entry {index} cannot be read: {shorten(str(error), 120)}") from None
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


def has_unresolved(value: Any) -> bool:
    """Whether a problem was already reported inside this value."""
    if isinstance(value, Mapping):
        return any(has_unresolved(one) for one in value.values())
    if isinstance(value, list):
        return any(has_unresolved(one) for one in value)
    return isinstance(value, Unresolved)
