"""What an unquoted scalar becomes in RLinf: YAML 1.1 with OmegaConf's floats and without dates."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, cast

import yaml

Value: TypeAlias = str | int | float | bool | None
Kind: TypeAlias = Literal["str", "int", "float", "bool", "null", "merge", "value"]

TAG_PREFIX = "tag:yaml.org,2002:"

MOST_DIGITS = 1000
"""Longer numbers are refused: Python limits both their reading and their printing."""

_OMEGACONF_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)|[-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9_]+(?:[eE][-+][0-9]+)?"
)
"""What OmegaConf reads as a float beyond PyYAML: exponents without point or sign."""

_BOOLS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}

_RESOLVERS: dict[str, list[tuple[Kind, re.Pattern[str]]]] = {
    first: [
        (cast(Kind, tag.removeprefix(TAG_PREFIX)), pattern)
        for tag, pattern in resolvers
        if tag not in (f"{TAG_PREFIX}timestamp", f"{TAG_PREFIX}yaml")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def kind_of(text: str) -> Kind:
    """The type of a plain scalar."""
    first = text[:1]
    for kind, pattern in _RESOLVERS.get(first, ()):
        if pattern.match(text):
            return kind
    if first and first in "-+.0123456789" and _OMEGACONF_FLOAT.fullmatch(text):
        return "float"
    return "str"


def construct(kind: Kind, text: str) -> Value:
    """The value that `text` stands for.

    Raises:
        ValueError: `text` does not stand for a value of that kind.
    """
    if kind == "str":
        return text
    if kind == "null":
        return None
    if kind == "bool":
        if text.lower() not in _BOOLS:
            raise ValueError("neither true nor false")
        return _BOOLS[text.lower()]
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    if kind == "int":
        return _integer(text)
    if kind == "float":
        return _float(text)
    raise ValueError("a sign with a meaning of its own in YAML")


def plain(text: str) -> Value:
    """The value of a plain scalar.

    Raises:
        ValueError: it has no value; RLinf's loader fails on it, too.
    """
    return construct(kind_of(text), text)


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if digits.startswith("0b"):
        return sign * int(digits, 2)
    if digits.startswith("0x"):
        return sign * int(digits, 16)
    if digits.startswith("0") and digits != "0":
        return sign * int(digits, 8)
    if ":" in digits:
        number = 0
        for part in digits.split(":"):
            number = 60 * number + int(part)
        return sign * number
    return sign * int(digits)


def _float(text: str) -> float:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.lstrip("+-")
    if digits == ".inf":
        return sign * float("inf")
    if digits == ".nan":
        return float("nan")
    if ":" in digits:
        number = 0.0
        for part in digits.split(":"):
            number = 60 * number + float(part)
        return sign * number
    return sign * float(digits)
