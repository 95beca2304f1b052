"""`[ … ]`, `[[ … ]]` and `test …`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Protocol

from placetui.frameworks.shell.syntax import Word
from placetui.frameworks.shell.values import Unknown

_NUMERIC: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}

_SIMPLE_EXPRESSION = re.compile(r"\^?(?:\[[\w-]+\]|\w)+[+*]?\$?")
"""A regular expression that Python reads as a shell does, and that cannot take long."""


class Variables(Protocol):
    """What a condition asks of the shell around it."""

    def text(self, word: Word) -> str: ...

    def is_set(self, name: str) -> bool: ...

    def depends_on(self, value: Unknown) -> None:
        """The condition cannot be decided without knowing the value."""


def matches(text: str, pattern: Word, variables: Variables) -> bool | None:
    """Whether a text is as a pattern says; quoted parts of the pattern stand for themselves."""
    made = ""
    for part in pattern.parts:
        piece = variables.text(Word((part,)))
        if isinstance(piece, Unknown):
            variables.depends_on(piece)
            return None
        made += re.sub(r"([*?\[])", r"[\1]", piece) if part.quoted else piece.replace("[^", "[!")
    return fnmatchcase(text, made)


class Test:
    """A condition; its result is None where it cannot be decided."""

    def __init__(self, variables: Variables, words: list[Word], name: str) -> None:
        self._variables = variables
        self._double = name == "[["
        self._words = words[:-1] if name != "test" else words
        self._index = 0

    def result(self) -> bool | None:
        found = self._or()
        return found if self._index >= len(self._words) else None

    def _next(self) -> str | None:
        return self._words[self._index].bare if self._index < len(self._words) else None

    def _or(self) -> bool | None:
        found = self._and()
        while self._next() in ("||", "-o"):
            self._index += 1
            other = self._and()
            found = True if found or other else None if None in (found, other) else False
        return found

    def _and(self) -> bool | None:
        found = self._not()
        while self._next() in ("&&", "-a"):
            self._index += 1
            other = self._not()
            found = False if False in (found, other) else None if None in (found, other) else True
        return found

    def _not(self) -> bool | None:
        if self._next() == "!":
            self._index += 1
            found = self._not()
            return None if found is None else not found
        if self._next() == "(":
            self._index += 1
            found = self._or()
            self._index += 1
            return found
        return self._primary()

    def _primary(self) -> bool | None:
        words = self._words[self._index :]
        if not words:
            return False
        first = words[0].bare
        if first is not None and re.fullmatch("-[a-zA-Z]", first) and len(words) > 1:
            self._index += 2
            return self._unary(first, words[1])
        if len(words) > 2 and words[1].bare not in ("&&", "||", "-a", "-o", ")", None):
            self._index += 3
            return self._binary(words[0], words[1].source, words[2])
        self._index += 1
        return self._unary("-n", words[0])

    def _unary(self, option: str, word: Word) -> bool | None:
        if option == "-v":
            return self._variables.is_set(word.source)
        if option not in ("-z", "-n"):
            return None  # on files and terminals
        text: str = self._variables.text(word)
        if isinstance(text, Unknown):
            # A variable that the script does not set counts as unset.
            unset = len(word.parts) == 1 and all(
                re.match(r"[A-Za-z_]", name) and not self._variables.is_set(name) for name in text.variables
            )
            if unset and text.variables:
                return option == "-z"
            self._variables.depends_on(text)
            return None
        return (text == "") == (option == "-z")

    def _binary(self, left: Word, sign: str, right: Word) -> bool | None:
        one = self._variables.text(left)
        pattern = sign in ("=", "==", "!=") and self._double
        other = "" if pattern else self._variables.text(right)
        for side in (one, other):
            if isinstance(side, Unknown):
                self._variables.depends_on(side)
        if isinstance(one, Unknown) or isinstance(other, Unknown):
            return None
        if pattern:
            same = matches(one, right, self._variables)
            return None if same is None else same is (sign != "!=")
        if sign in _NUMERIC:
            try:
                return _NUMERIC[sign](int(one), int(other))
            except ValueError:
                return None
        if sign in ("=", "==", "!="):
            return (one == other) is (sign != "!=")
        if sign in ("<", ">"):
            return one < other if sign == "<" else one > other
        if sign == "=~" and _SIMPLE_EXPRESSION.fullmatch(other):
            return re.search(other, one) is not None
        return None
