"""`[ … ]`, `[[ … ]]` and `test …`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from placetui.frameworks.shell.expansion import Expander
from placetui.frameworks.shell.syntax import Word, WordPart
from placetui.frameworks.shell.values import Unknown, is_unknown

_NUMERIC: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_BINARY = frozenset({"=", "==", "!=", "<", ">", "=~", "-nt", "-ot", "-ef", *_NUMERIC})
_UNARY = re.compile("-[a-zA-Z]")
_NUMBER = re.compile(r"\s*([+-]?\d{1,18})\s*")
_SIMPLE_EXPRESSION = re.compile(r"\^?(?:\[[\w-]+\]|\w)+[+*]?\$?")
"""A regular expression that Python reads as a shell does, and that cannot take long."""


class Test:
    """A condition; its result is None where it cannot be decided."""

    def __init__(self, shell: Expander, words: Sequence[Word], name: str) -> None:
        self._shell = shell
        self._double = name == "[["
        self._words = list(words[:-1] if name != "test" else words)
        self._index = 0

    def result(self) -> bool | None:
        if self._double:
            found = self._or()
            return found if self._index >= len(self._words) else None
        return self._single()

    def _single(self) -> bool | None:
        """Of `[ … ]`, in which words are split first, and their number decides what they mean."""
        kept: list[Word] = []
        fields: list[str] = []
        loose = False
        for word in self._words:
            found = self._shell.expand([word])
            alone = fields == ["-n"] and len(self._words) == 2 and not word.parts[0].quoted
            if alone and found and isinstance(found[0], Unknown) and self._is_unset(word, found[0]):
                return True  # nothing is left of it: `[ -n ]`
            if len(found) > 1:
                return None if is_unknown(found) else False  # too many arguments
            fields += found
            loose |= is_unknown(found) and not all(part.quoted for part in word.parts)
            if found:
                known = Word((WordPart("text", found[0], word.bare is None),), word.line)
                kept.append(word if isinstance(found[0], Unknown) else known)
        self._words = kept
        if len(fields) < 2:
            return self._not_empty(kept[0], fields[0]) if fields else False
        if len(fields) == 3 and fields[1] in _BINARY:
            return self._binary(kept[0], fields[1], kept[2])
        if len(fields) == 2 and fields[0] != "!" and not _UNARY.fullmatch(fields[0]):
            return False  # an operand is missing: the shell complains, and goes on
        if loose and len(fields) > 3:
            return None
        result = self._or()
        if self._index >= len(self._words):
            return result
        return None if is_unknown(fields) else False

    def _next(self) -> str | None:
        return self._words[self._index].bare if self._index < len(self._words) else None

    def _or(self) -> bool | None:
        return self._chain("||" if self._double else "-o", self._and, decisive=True)

    def _and(self) -> bool | None:
        return self._chain("&&" if self._double else "-a", self._not, decisive=False)

    def _chain(self, sign: str, operand: Callable[[], bool | None], *, decisive: bool) -> bool | None:
        """Operands joined by one sign: a decisive one settles it, whatever the others are."""
        found = operand()
        while self._next() == sign:
            self._index += 1
            both = (found, operand())
            found = decisive if decisive in both else None if None in both else not decisive
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
        sign = words[1].source if len(words) > 2 else ""
        if sign in _BINARY:
            self._index += 3
            return self._binary(words[0], sign, words[2])
        if first is not None and _UNARY.fullmatch(first) and len(words) > 1:
            self._index += 2
            return self._unary(first, words[1])
        self._index += 1
        return self._unary("-n", words[0])

    def _unary(self, option: str, word: Word) -> bool | None:
        if option == "-v":
            return self._shell.is_set(word.source) if word.source.isidentifier() else None
        if option not in ("-z", "-n"):
            return None  # on files and terminals
        full = self._not_empty(word, self._shell.text(word))
        return None if full is None else full is (option == "-n")

    def _not_empty(self, word: Word, text: str) -> bool | None:
        if not isinstance(text, Unknown):
            return text != ""
        if any(part.kind == "text" and part.text for part in word.parts):
            return True
        if self._is_unset(word, text):
            return False
        self._shell.depends_on(text)
        return None

    def _is_unset(self, word: Word, text: Unknown) -> bool:
        """Whether it is a variable that the script does not set: it counts as unset."""
        names = text.variables
        # Without quotes nothing is left of it: a longer condition then means something else.
        fits = self._double or word.parts[0].quoted or len(self._words) < 3 or self._words[0].bare == "!"
        value = word.parts[0].kind == "variable" and not word.parts[0].text.startswith(("${#", "${!"))
        return (
            len(word.parts) == 1
            and value
            and fits
            and bool(names)
            and all(re.match(r"[A-Za-z_]", name) and not self._shell.is_set(name) for name in names)
        )

    def _binary(self, left: Word, sign: str, right: Word) -> bool | None:
        one = self._shell.text(left)
        pattern = sign in ("=", "==", "!=") and self._double
        other = "" if pattern else self._shell.text(right)
        for side in (one, other):
            if isinstance(side, Unknown):
                self._shell.depends_on(side)
        if isinstance(one, Unknown) or isinstance(other, Unknown):
            return None
        if pattern:
            same = self._shell.matches(one, right)
            return None if same is None else same is (sign != "!=")
        if sign in _NUMERIC:
            return self._compare(sign, one, other)
        if sign in ("=", "==", "!="):
            return (one == other) is (sign != "!=")
        quoted = any(part.quoted for part in right.parts)
        if sign == "=~" and self._double and not quoted and _SIMPLE_EXPRESSION.fullmatch(other):
            self._shell.state.variables["BASH_REMATCH"] = [Unknown("$BASH_REMATCH", ("BASH_REMATCH",))]
            return re.search(other, one) is not None
        return None

    def _compare(self, sign: str, one: str, other: str) -> bool | None:
        if self._double:
            values = [self._shell.arithmetic(one), self._shell.arithmetic(other)]
            return None if is_unknown(values) else _NUMERIC[sign](int(values[0]), int(values[1]))
        numbers = [_NUMBER.fullmatch(one), _NUMBER.fullmatch(other)]
        if None in numbers:
            return False  # the shell complains, and goes on
        return _NUMERIC[sign](*(int(found[1]) for found in numbers if found is not None))
