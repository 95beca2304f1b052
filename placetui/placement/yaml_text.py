"""One scalar in YAML: what RLinf reads in it, and how to write it so that it is read back as what was meant.

YAML 1.1 with OmegaConf's floats and without dates. Without a YAML library, so that templates and imported command
lines are written by the caller that knows their content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

ScalarValue: TypeAlias = str | int | float | bool | None
Kind: TypeAlias = Literal["str", "int", "float", "bool", "null", "merge", "value"]

MOST_DIGITS = 1000
"""Longer numbers are refused: Python limits both their reading and their printing."""

_BOOLS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}

_WORDS: dict[str, Kind] = {
    **{spelled: "bool" for word in _BOOLS for spelled in (word, word.capitalize(), word.upper())},
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), "null"),
    **dict.fromkeys((f"{sign}{word}" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")), "float"),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "float"),
    "<<": "merge",
    "=": "value",
}

_INTEGER = re.compile(
    r"[-+]?(?:0b[01_]+|0[0-7_]+|0|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])*)",
)
_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+|(?::[0-5]?[0-9])+\.[0-9_]*)"
    r"|\.[0-9_]+(?:[eE][-+][0-9]+)?"
)
"""Also exponents without point or sign, which OmegaConf reads beyond PyYAML."""

_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_ENDS_IN_FLOW = frozenset(",?[]{}")
"""Between brackets, PyYAML's parsers end a plain scalar there."""


def kind_of(text: str) -> Kind:
    """The type of a scalar without quotes."""
    kind = _WORDS.get(text)
    if kind is not None:
        return kind
    if text[0] in "-+.0123456789":
        if _INTEGER.fullmatch(text):
            return "int"
        if _FLOAT.fullmatch(text):
            return "float"
    return "str"


def construct(kind: Kind, text: str) -> ScalarValue:
    """The value that `text` stands for; raises `ValueError` where it stands for none of that kind."""
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


def plain(text: str) -> ScalarValue:
    """The value of a scalar without quotes; raises `ValueError` where RLinf's loader fails on it, too."""
    return construct(kind_of(text), text)


def misread(text: str) -> tuple[str, str, str] | None:
    """Rule, sentence and hint when a scalar without quotes becomes something else than its own text."""
    kind = kind_of(text)
    try:
        shown = str(construct(kind, text))
    except ValueError:
        return None
    if kind == "null":
        written = f"`{text}`" if text else "an empty value"
        return "yaml_null", f"{written} means no value, which placement sees as the text `None`", "write the value"
    if shown == text or text == f"+{shown}":
        return None
    digits = text.lstrip("+-")
    hint = f'if text is meant, put it in quotes: `"{text}"`'
    if kind == "bool":
        return "yaml_bool", f"`{text}` is read as the truth value {shown}", hint
    if ":" in text:
        return "yaml_base60", f"`{text}` is read as {shown}, a number in base 60", hint
    if kind == "int" and digits.startswith("0") and digits.isdecimal():
        return "yaml_octal", f"`{text}` is read as {shown}, because a leading 0 makes it octal", hint
    return "yaml_number", f"`{text}` is read as the number {shown}", hint


def written(value: Any, *, style: str = "", flow: bool = False, key: bool = False, typed: bool = False) -> str:
    """A value as YAML on one line; lists and mappings are written between brackets.

    Text keeps the quotes that stood there before, `style`. Between brackets, `flow`, commas and braces need quotes.
    With `typed`, text is read back as text; otherwise it is enough that it shows the same: `3`, as in a rule.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        names = (written(str(name), flow=True, key=True, typed=typed) for name in value)
        values = (written(one, flow=True, typed=typed) for one in value.values())
        return "{" + ", ".join(map(": ".join, zip(names, values, strict=True))) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(written(one, flow=True, typed=typed) for one in value)}]"
    if not isinstance(value, str):
        return str(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and stays_plain(value, flow=flow, key=key) and not (typed and kind_of(value) != "str"):
        return value
    return '"' + "".join(map(_escaped, value)) + '"'


def stays_plain(text: str, *, flow: bool = False, key: bool = False) -> bool:
    """Whether a text is read back as itself without quotes, by both of PyYAML's parsers."""
    if not text or not text.isprintable() or text != text.strip() or misread(text):
        return False
    if kind_of(text) in ("merge", "value") or (key and len(text) > 1000):
        return False
    if text[0] in _INDICATORS:
        follows = text[1:2]
        if text[0] not in "-?:" or follows in ("", " ") or (flow and text[0] == ":"):
            return False
    if text.startswith(("---", "...")) and text[3:4] in ("", " "):
        return False
    if ": " in text or " #" in text or text.endswith(":"):
        return False
    return not flow or not _ENDS_IN_FLOW.intersection(text)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


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
    number = 0
    for part in digits.split(":"):
        number = 60 * number + int(part)
    return sign * number


def _float(text: str) -> float:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.lstrip("+-")
    if digits in (".inf", ".nan"):
        return sign * float(digits[1:])
    number = 0.0
    for part in digits.split(":"):
        number = 60 * number + float(part)
    return sign * number
