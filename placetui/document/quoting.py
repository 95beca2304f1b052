"""Writing one value so that YAML reads it back as what was meant."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import yaml

from .compose import C_LOADER
from .scalars import kind_of
from .surprises import misread

Plain: TypeAlias = str | int | float | bool

_SIGNS = ("merge", "value")


def written(value: Plain, *, style: str = "", flow: bool = False, key: bool = False) -> str:
    """A value as YAML.

    Args:
        value: what is to be read back.
        style: the quotes that stood there before; kept for text.
        flow: whether it stands between brackets, where commas and braces need quotes.
        key: whether it is a key.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and stays_plain(value, flow=flow, key=key):
        return value
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


@lru_cache(maxsize=512)
def stays_plain(text: str, *, flow: bool, key: bool) -> bool:
    """Whether a text is read back as itself without quotes, by both parsers."""
    if not text or not text.isprintable() or text != text.strip() or misread(text) or kind_of(text) in _SIGNS:
        return False
    entry = f"{text}: v" if key else f"k: {text}"
    expected = [text, "v"] if key else ["k", text]
    probe = f"{{a: 1, {entry}, z: 1}}" if flow else f"a: 1\n{entry} # c\nz: 1\n"
    return all(_scalars(probe, loader) == ["a", "1", *expected, "z", "1"] for loader in (C_LOADER, yaml.SafeLoader))


def _scalars(text: str, loader: type[yaml.SafeLoader] | None) -> list[str]:
    try:
        events = list(yaml.parse(text, Loader=loader or yaml.SafeLoader))
    except yaml.YAMLError:
        return []
    if sum(isinstance(event, yaml.MappingStartEvent) for event in events) != 1:
        return []
    if any(isinstance(event, yaml.AliasEvent | yaml.SequenceStartEvent) for event in events):
        return []
    found = [event for event in events if isinstance(event, yaml.ScalarEvent)]
    if any(event.tag or event.anchor or event.style for event in found):
        return []
    return [event.value for event in found]
