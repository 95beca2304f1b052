"""A small language for tables: `component:rollout mem>60`, `kind:foreign,gone -user:root python`.

Words are separated by blanks, and a row has to match all of them. A word is one of

- `name:value`: the field is, begins with or contains the value; several values with commas; numbers as `0-3,7`;
- `name>number`, also `>=`, `<`, `<=`, `=`: the field compares so; memory in GiB, or with `%` as part of the GPU;
- `rollout:3`, `rollout 0-3`, `R3`, `#1`, `node5/gpu3`: ranks, nodes and devices, as everywhere;
- anything else: some text of the row contains it.

A `-` or `!` before a word turns it round. Upper and lower case are the same.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from placetui.grid.marks import component_letters
from placetui.grid.tables.rows import FIELDS, Field, Row, TableName, haystack, places_of, rank_of
from placetui.placement.names import Named, Names, Numbers, UnknownName
from placetui.placement.plan import GPU, Plan
from placetui.placement.wording import did_you_mean, listing

RowTest: TypeAlias = Callable[[Any], bool]
"""Whether a row of the table matches."""

LONGEST = 500
"""Characters of a filter that are read."""

COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}

SIGNS = ">=|<=|>|<|="
AMOUNT = r"([0-9]{1,9}(?:\.[0-9]{1,4})?)(%|g|gb|gib)?"
"""A number, and what it counts: percent, GiB, or what goes without saying."""

_COMPARISON = re.compile(rf"([a-z_]+)({SIGNS}){AMOUNT}")
_FIELD = re.compile(r"([^:]+):(.+)")


class FilterError(Exception):
    """A word means nothing; the text says so, with a suggestion."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What a filter asks for."""

    text: str
    matches: RowTest | None
    """None: every row."""


def read_filter(text: str, table: TableName, plan: Plan | None = None) -> Filter:
    """Read a filter, with the names of the plan; `FilterError` if a word means nothing."""
    text = " ".join(text[:LONGEST].split())
    reader = _FilterReader(table, plan)
    tests = list(reader.read(text))
    if not tests:
        return Filter("", None)
    return Filter(text, tests[0] if len(tests) == 1 else lambda row: all(test(row) for test in tests))


class _FilterReader:
    """Reads filters of one table."""

    def __init__(self, table: TableName, plan: Plan | None) -> None:
        self._fields = {name: field for field in FIELDS[table] for name in (field.name, *field.aliases)}
        self._names = Names(plan, component_letters(plan)) if plan else None

    def read(self, text: str) -> Iterator[RowTest]:
        # Blanks around a sign are no new word: `mem > 60`.
        joined = re.sub(rf"\s*({SIGNS})\s*", r"\1", text).casefold()
        words = self._names.words(joined) if self._names else joined.split()
        while words:
            turned = len(words[0]) > 1 and words[0][0] in "-!"
            test, used = self._next([words[0][1:], *words[1:]] if turned else words)
            yield _negated(test) if turned else test
            words = words[used:]

    def _next(self, words: Sequence[str]) -> tuple[RowTest, int]:
        word = words[0]
        if compared := _COMPARISON.fullmatch(word):
            return self._comparison(word, *compared.groups()), 1
        asked = _FIELD.fullmatch(word)
        # A component can be called like a field: `actor:3` is a rank, `actor:train` what an actor is called.
        is_component = asked and self._names and asked[1] in self._names.components and Numbers.read(asked[2])
        if asked and asked[1] in self._fields and not is_component:
            return _values(self._fields[asked[1]], asked[2]), 1
        if named := self._named(words):
            return named
        if asked is None:
            if any(sign in word for sign in "<>"):
                raise FilterError(f"`{word}` compares nothing: write for example `mem>60` or `rank<8`")
            return (lambda row: word in haystack(row)), 1
        name, numbers = asked[1], Numbers.read(asked[2])
        if numbers and "component" in self._fields and "rank" in self._fields:
            begins, rank = _text(self._fields["component"], name), _number(self._fields["rank"], numbers)
            return (lambda row: begins(row) and rank(row)), 1
        raise FilterError(f"there is no `{name}` here; {self._suggestion(name)}")

    def _named(self, words: Sequence[str]) -> tuple[RowTest, int] | None:
        """Ranks by number, nodes and devices; a word that could be any text is one."""
        if self._names is None:
            return None
        try:
            found = self._names.exact(words)
        except UnknownName as error:
            raise FilterError(f"{error}; {error.hint}") from error
        # The name of a component alone, or a number, may stand in any text.
        if found is None or (found[0].components and not found[0].numbers) or words[0].isdecimal():
            return None
        return _names_test(found[0]), found[1]

    def _comparison(self, word: str, name: str, sign: str, amount: str, unit: str | None) -> RowTest:
        field = self._fields.get(name)
        if field is None:
            raise FilterError(f"there is no `{name}` here; {self._suggestion(name)}")
        read = field.percent if unit == "%" else field.number
        if read is None:
            what = "a part of something" if unit == "%" and field.number else "a number"
            raise FilterError(f"`{word}`: {field.name} is not {what}")
        compare, limit = COMPARE[sign], float(amount) * (1 if unit == "%" else field.scale)
        return lambda row: (value := read(row)) is not None and compare(value, limit)

    def _suggestion(self, name: str) -> str:
        return did_you_mean(name, self._fields) or f"there is {listing(self._fields, 12)}"


def _negated(test: RowTest) -> RowTest:
    return lambda row: not test(row)


def _names_test(named: Named) -> RowTest:
    numbers = named.numbers

    def is_rank(row: Row) -> bool:
        component, rank = rank_of(row)
        return component in named.components and (numbers is None or rank in numbers)

    def is_there(row: Row) -> bool:
        return any(
            node in nodes and (not named.kind or (index is not None and (numbers is None or index in numbers)))
            for node, index in places_of(row)
        )

    nodes = frozenset(named.nodes)
    if named.components:
        return is_rank
    # Nothing but GPUs is observed.
    return is_there if named.kind in ("", GPU) else lambda row: False


def _values(field: Field[Any], value: str) -> RowTest:
    numbers = Numbers.read(value)
    if field.number is not None and numbers:
        return _number(field, numbers)
    if field.text is None:
        raise FilterError(f"`{field.name}:{value}`: {field.name} is a number such as `3` or `0-3,5`")
    tests = [_text(field, part) for part in value.split(",") if part]
    return (lambda row: any(test(row) for test in tests)) if len(tests) != 1 else tests[0]


def _number(field: Field[Any], numbers: Numbers) -> RowTest:
    read, wanted = field.number, numbers.ranges
    assert read is not None
    return lambda row: (value := read(row)) is not None and any(value in piece for piece in wanted)


def _text(field: Field[Any], value: str) -> RowTest:
    read, how = field.text, field.how
    assert read is not None

    def test(row: Row) -> bool:
        text = read(row)
        if text is None:
            return False
        text = text.casefold()
        return text == value if how == "whole" else text.startswith(value) if how == "start" else value in text

    return test
