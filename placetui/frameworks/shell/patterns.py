"""Patterns as `case`, `[[ … ]]` and `${X%…}` match them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

_TOKEN = re.compile(r"\\(?P<quoted>.)|\[(?P<negated>[!^]?)(?P<set>[\w.,:/-]+)\]|.", re.DOTALL)
_NOT_FOLLOWED = re.compile(r"(?<!\\)[?*+@!]\(|(?<!\\)\[[!^]?\[")
"""Alternatives, `@(a|b)`, and classes of characters, `[[:digit:]]`."""

_MOST_CHARACTERS = 5_000
_MOST_STARS = 4
"""A pattern with more could take very long on a text that does not match."""


class Pattern:
    """A pattern; where it cannot be decided, what it would do is None."""

    def __init__(self, pieces: Iterable[tuple[str, bool]]) -> None:
        """Take texts in their order, each with whether it is quoted and so stands for itself."""
        text = "".join(re.sub("(?s).", r"\\\g<0>", text) if quoted else text for text, quoted in pieces)
        expression = "".join(map(_expression, _TOKEN.finditer(re.sub(r"\*+", "*", text))))
        known = not _NOT_FOLLOWED.search(text) and expression.count(".*") <= _MOST_STARS
        self._compiled: re.Pattern[str] | None = None
        with suppress(re.error):  # a range that runs backwards
            self._compiled = re.compile(expression, re.DOTALL) if known else None

    def _on(self, text: str) -> re.Pattern[str] | None:
        return self._compiled if len(text) <= _MOST_CHARACTERS else None

    def matches(self, text: str) -> bool | None:
        """Whether it matches all of a text."""
        compiled = self._on(text)
        return None if compiled is None else compiled.fullmatch(text) is not None

    def removed(self, text: str, kind: str) -> str | None:
        """A text without the beginning (`#`) or the end (`%`) that matches; the longest one if the sign is doubled."""
        compiled = self._on(text)
        if compiled is None:
            return None
        cuts = range(len(text) + 1)
        front = kind.startswith("#")
        for cut in cuts[::-1] if kind in ("##", "%") else cuts:
            if compiled.fullmatch(text[:cut] if front else text[cut:]):
                return text[cut:] if front else text[:cut]
        return text

    def replaced(self, text: str, new: str, *, every: bool) -> str | None:
        """A text with what matches replaced, once or everywhere."""
        compiled = self._on(text)
        if compiled is None or compiled.fullmatch(""):
            return None
        return compiled.sub(lambda _: new, text, 0 if every else 1)


def _expression(token: re.Match[str]) -> str:
    """A regular expression for one token of a pattern whose quoted characters stand behind a backslash."""
    if token["set"]:
        return f"[{'^' if token['negated'] else ''}{token['set']}]"
    return {"*": ".*", "?": "."}.get(token[0]) or re.escape(token["quoted"] or token[0])
