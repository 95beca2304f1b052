"""Patterns as `case`, `[[ … ]]` and `${X%…}` match them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_ELEMENT = r"\[:\w+:\]|\\.|[^\]\\]"
_TOKEN = re.compile(
    r"\\(?P<quoted>.)|(?P<opens>[?*+@!])\(|"
    rf"\[(?P<negated>[!^]|(?![!^]))(?P<set>(?:\]|{_ELEMENT})(?:{_ELEMENT})*)\]|.",
    re.DOTALL,
)
_MOST_CHARACTERS = 5_000
_MOST_STARS = 4
"""A pattern with more could take very long on a text that does not match."""


class Pattern:
    """A pattern; where it cannot be decided, what it would do is None."""

    def __init__(self, pieces: Iterable[tuple[str, bool]], *, ignore_case: bool = False) -> None:
        """Take texts in their order, each with whether it is quoted and so stands for itself."""
        text = "".join(re.sub("(?s).", r"\\\g<0>", text) if quoted else text for text, quoted in pieces)
        self._compiled: re.Pattern[str] | None = None
        try:
            expression = _expression(text)
            if expression.count("*") <= _MOST_STARS:
                self._compiled = re.compile(expression, re.DOTALL | (re.IGNORECASE if ignore_case else 0))
        except (LookupError, re.error):
            pass  # it has no such form

    def matches(self, text: str) -> bool | None:
        """Whether it matches all of a text."""
        if self._compiled is None or len(text) > _MOST_CHARACTERS:
            return None
        return self._compiled.fullmatch(text) is not None

    def removed(self, text: str, kind: str) -> str | None:
        """A text without the beginning (`#`) or the end (`%`) that matches; the longest one if the sign is doubled."""
        if self._compiled is None or len(text) > _MOST_CHARACTERS:
            return None
        cuts = range(len(text) + 1)
        if kind in ("##", "%"):
            cuts = cuts[::-1]
        front = kind.startswith("#")
        for cut in cuts:
            if self._compiled.fullmatch(text[:cut] if front else text[cut:]):
                return text[cut:] if front else text[:cut]
        return text

    def replaced(self, text: str, new: str, *, anchor: str, every: bool) -> str | None:
        """A text with what matches replaced: at its beginning (`#`), its end (`%`), once, or everywhere."""
        if self._compiled is None or len(text) > _MOST_CHARACTERS:
            return None
        if anchor:
            rest = self.removed(text, anchor * 2)
            if rest is None or (rest == text and not self.matches("")):
                return rest
            return new + rest if anchor == "#" else rest + new
        if self._compiled.fullmatch(""):
            return None
        return self._compiled.sub(lambda _: new, text, 0 if every else 1)


def _expression(text: str) -> str:
    """A regular expression for a pattern whose quoted characters stand behind a backslash; LookupError if none is."""
    made = ""
    closing: list[str] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found["opens"]:
            closing.append({"?": ")?", "*": ")*", "+": ")+", "@": ")"}[found["opens"]])
            made += "(?:"
        elif found["set"]:
            made += f"[{'^' if found['negated'] else ''}{_elements(found['set'])}]"
        elif closing and token in ("|", ")"):
            made += "|" if token == "|" else closing.pop()
        elif closing and token == "(":
            raise LookupError
        elif token == "*":
            made += "" if made.endswith(".*") else ".*"
        elif token == "?":
            made += "."
        else:
            made += re.escape(found["quoted"] or token)
    if closing:
        raise LookupError
    return made


def _elements(text: str) -> str:
    """What stands in brackets: `a-c`, `[:digit:]`."""
    made = ""
    for found in re.finditer(r"\[:(\w+):\]|\\(.)|(\[[:.=])|.", text, re.DOTALL):
        if found[3]:
            raise LookupError
        inner = found[0] == "-" and 0 < found.start() < len(text) - 1
        made += _CLASSES[found[1]] if found[1] else "-" if inner else re.escape(found[2] or found[0])
    return made
