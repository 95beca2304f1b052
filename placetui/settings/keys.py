"""How keys are written in settings: `q`, `?`, `ctrl+s`, `question_mark`, `pageup`."""

from __future__ import annotations

import string
import unicodedata
from difflib import get_close_matches

MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})


_SHORTER = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Signs that keyboards know by another name than Unicode does."""


def _name(sign: str) -> str:
    name = unicodedata.name(sign).lower().replace("-", "_").replace(" ", "_")
    return _SHORTER.get(name, name)


SIGNS = {sign: _name(sign) for sign in string.punctuation}
"""Signs and the names of their keys."""

NAMED = frozenset(
    {
        *"up down left right home end pageup pagedown insert delete backspace enter escape tab space".split(),
        *(f"f{number}" for number in range(1, 25)),
        *SIGNS.values(),
    }
)
"""Keys that have a name."""


def read_key(text: str) -> str:
    """A key as the dashboard knows it.

    Raises:
        ValueError: there is no such key; the message is a hint.
    """
    if text == ",":
        return "comma"
    if _single(text):
        return text
    *modifiers, key = text.split("+") if not text.endswith("++") else [*text[:-2].split("+"), "plus"]
    if any(word not in MODIFIERS for word in modifiers):
        meant = [*((get_close_matches(word.lower(), MODIFIERS, 1) or ["ctrl"])[0] for word in modifiers), key.lower()]
        raise ValueError(f"only ctrl, shift, alt, super, hyper or meta can stand before a `+`: `{'+'.join(meant)}`")
    if key in NAMED or _single(key):
        return "+".join([*modifiers, SIGNS.get(key, key)])
    near = get_close_matches(key.lower(), NAMED, 1)
    if near:
        raise ValueError(f"did you mean `{'+'.join([*modifiers, near[0]])}`?")
    raise ValueError("write one character, or a name such as enter, pageup, f5, question_mark, ctrl+s")


def _single(text: str) -> bool:
    return len(text) == 1 and text.isprintable() and not text.isspace()


def same_key(key: str) -> str:
    """One spelling for a key that has two: `?` and `question_mark`."""
    return SIGNS.get(key, key)
