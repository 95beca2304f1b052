"""Patterns as `case`, `[[ … ]]` and `${X%…}` match them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

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
_MOST_CHARACTERS = 5_000
_MOST_STARS = 4
"""A pattern with more could take very long on a text that does not match."""

Character: TypeAlias = tuple[str, bool]
"""A character of a pattern, and whether it is quoted."""


class Pattern:
    """A pattern; where it cannot be decided, what it would do is None."""

    def __init__(self, pieces: Iterable[tuple[str, bool]], *, ignore_case: bool = False) -> None:
        """Take texts in their order, each with whether it is quoted and so stands for itself."""
        characters = [(one, quoted) for text, quoted in pieces for one in text]
        expression = _expression(characters)
        self._compiled: re.Pattern[str] | None = None
        if expression is not None and expression.count("*") <= _MOST_STARS:
            self._compiled = re.compile(expression, re.DOTALL | (re.IGNORECASE if ignore_case else 0))

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


def _expression(characters: Sequence[Character]) -> str | None:
    """A regular expression for a pattern; None for one that has no such form."""
    made = ""
    position = 0
    while position < len(characters):
        character, quoted = characters[position]
        grouped = not quoted and character in "?*+@!" and characters[position + 1 : position + 2] == [("(", False)]
        if grouped:
            end = _closing(characters, position + 1)
            alternatives = None if end is None else _alternatives(characters[position + 2 : end])
            if end is None or alternatives is None or character == "!":
                return None
            made += f"(?:{alternatives}){character.replace('@', '')}"
            position = end
        elif not quoted and character == "*":
            made += "" if made.endswith(".*") else ".*"
        elif not quoted and character == "?":
            made += "."
        elif not quoted and character == "[":
            found = _bracket(characters, position)
            if found is None:
                return None
            text, position = found
            made += text
        else:
            made += re.escape(character)
        position += 1
    return made


def _closing(characters: Sequence[Character], position: int) -> int | None:
    depth = 0
    for index in range(position, len(characters)):
        depth += {("(", False): 1, (")", False): -1}.get(characters[index], 0)
        if not depth:
            return index
    return None


def _alternatives(characters: Sequence[Character]) -> str | None:
    parts: list[list[Character]] = [[]]
    depth = 0
    for one in characters:
        depth += {("(", False): 1, (")", False): -1}.get(one, 0)
        if one == ("|", False) and not depth:
            parts.append([])
        else:
            parts[-1].append(one)
    found = [_expression(part) for part in parts]
    return None if None in found else "|".join(one for one in found if one is not None)


def _bracket(characters: Sequence[Character], position: int) -> tuple[str, int] | None:
    """`[a-c]`, `[!x]`, `[[:digit:]]` as a regular expression, and where it ends; a bracket that closes nowhere."""
    index = position + 1
    negated = index < len(characters) and characters[index] in (("!", False), ("^", False))
    index += negated
    inside = ""
    first = index
    while index < len(characters):
        character, quoted = characters[index]
        if character == "]" and not quoted and index > first:
            return (f"[{'^' if negated else ''}{inside}]", index)
        if character == "[" and not quoted and characters[index + 1 : index + 2] == [(":", False)]:
            text = "".join(one for one, _ in characters[index : index + 12])
            found = re.match(r"\[:(\w+):\]", text)
            if found is None or found[1] not in _CLASSES:
                return None
            inside += _CLASSES[found[1]]
            index += found.end()
            continue
        if character == "[" and not quoted and characters[index + 1 : index + 2] in ([(".", False)], [("=", False)]):
            return None
        is_range = character == "-" and not quoted and inside and characters[index + 1 : index + 2] != [("]", False)]
        inside += "-" if is_range else re.escape(character)
        if is_range and characters[index - 1][0] > characters[index + 1 : index + 2][-1:][0][0]:
            return None
        index += 1
    return (r"\[", position)
