"""A small language for tables: `component:rollout mem>60`, `kind:foreign,gone -user:root python`.

Words are separated by blanks, and a row has to match all of them. A word is one of

- `name:value`: the field is, begins with or contains the value; several values with commas; numbers as `0-3,7`;
- `name>number`, also `>=`, `<`, `<=`, `=`: the field compares so; memory in GiB, or with `%` as part of the GPU;
- `rollout:3`, `rollout:0-3`: ranks of a component;
- anything else: some text of the row contains it.

A `-` or `!` before a word turns it round. Upper and lower case are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Generic, Literal, TypeAlias, TypeVar

from placetui.observe.terms import AMOUNT, COMPARE, is_numbers, pieces
from placetui.placement.problems import listing

R = TypeVar("R")
Test: TypeAlias = Callable[[R], bool]

LONGEST = 500
"""Characters of a filter that are read."""

_COMPARISON = re.compile(rf"([a-z_]+)(>=|<=|>|<|=){AMOUNT}")
_FIELD = re.compile(r"([^:]+):(.+)")


class FilterError(Exception):
    """A word means nothing; the text says so, with a suggestion."""


@dataclass(frozen=True, slots=True)
class Field(Generic[R]):
    """Something of a row that a filter can ask for."""

    name: str
    text: Callable[[R], str | None] | None = None
    how: Literal["part", "start", "whole"] = "part"
    """How much of the text a value has to be."""

    number: Callable[[R], float | None] | None = None
    percent: Callable[[R], float | None] | None = None
    """The number as part of a whole, 0–100."""

    scale: float = 1.0
    """What a number in a filter stands for."""

    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter(Generic[R]):
    """What a filter asks for."""

    text: str
    matches: Test[R] | None
    """None: every row."""


def read_filter(text: str, fields: Sequence[Field[R]], haystack: Callable[[R], str]) -> Filter[R]:
    """Read a filter.

    Args:
        text: as a person wrote it.
        fields: what it can ask for.
        haystack: all text of a row, in lower case.

    Raises:
        FilterError: a word means nothing.
    """
    text = " ".join(text[:LONGEST].split())
    # Blanks around a sign are no new word: `mem > 60`.
    joined = re.sub(r"\s*(>=|<=|>|<|=)\s*", r"\1", text).casefold()
    names = {name: field for field in fields for name in (field.name, *field.aliases)}
    tests = [_word(word, names, haystack) for word in joined.split()]
    if not tests:
        return Filter("", None)
    if len(tests) == 1:
        return Filter(text, tests[0])
    return Filter(text, lambda row: all(test(row) for test in tests))


def _word(word: str, names: Mapping[str, Field[R]], haystack: Callable[[R], str]) -> Test[R]:
    turned = len(word) > 1 and word[0] in "-!"
    test = _condition(word[1:] if turned else word, names, haystack)
    return (lambda row: not test(row)) if turned else test


def _condition(word: str, names: Mapping[str, Field[R]], haystack: Callable[[R], str]) -> Test[R]:
    compared = _COMPARISON.fullmatch(word)
    if compared:
        return _comparison(word, names, *compared.groups())
    asked = _FIELD.fullmatch(word)
    if asked is None:
        if any(sign in word for sign in "<>"):
            raise FilterError(f"`{word}` compares nothing: write for example `mem>60` or `rank<8`")
        return lambda row: word in haystack(row)
    name, value = asked[1], asked[2]
    if name in names:
        return _values(names[name], value)
    if is_numbers(value) and "component" in names and "rank" in names:
        component, rank = _text(names["component"], name), _number(names["rank"], value)
        return lambda row: component(row) and rank(row)
    raise FilterError(f"there is no `{name}` here; {_suggestion(name, names)}")


def _comparison(
    word: str, names: Mapping[str, Field[R]], name: str, sign: str, amount: str, unit: str | None
) -> Test[R]:
    field = names.get(name)
    if field is None:
        raise FilterError(f"there is no `{name}` here; {_suggestion(name, names)}")
    read = field.percent if unit == "%" else field.number
    if read is None:
        what = "a part of something" if unit == "%" and field.number else "a number"
        raise FilterError(f"`{word}`: {field.name} is not {what}")
    compare, limit = COMPARE[sign], float(amount) * (1 if unit == "%" else field.scale)
    number = read

    def test(row: R) -> bool:
        value = number(row)
        return value is not None and compare(value, limit)

    return test


def _values(field: Field[R], value: str) -> Test[R]:
    if field.number is not None and is_numbers(value):
        return _number(field, value)
    if field.text is None:
        raise FilterError(f"`{field.name}:{value}`: {field.name} is a number such as `3` or `0-3,5`")
    tests = [_text(field, part) for part in value.split(",") if part]
    return (lambda row: any(test(row) for test in tests)) if len(tests) != 1 else tests[0]


def _number(field: Field[R], spec: str) -> Test[R]:
    read, wanted = field.number, pieces(spec)
    assert read is not None

    def test(row: R) -> bool:
        value = read(row)
        return value is not None and any(value in piece for piece in wanted)

    return test


def _text(field: Field[R], value: str) -> Test[R]:
    read, how = field.text, field.how
    assert read is not None

    def test(row: R) -> bool:
        text = read(row)
        if text is None:
            return False
        text = text.casefold()
        return text == value if how == "whole" else text.startswith(value) if how == "start" else value in text

    return test


def _suggestion(name: str, names: Mapping[str, object]) -> str:
    near = get_close_matches(name, names, 1)
    known = listing(dict.fromkeys(names), 12)
    return f"did you mean `{near[0]}`?" if near else f"there is {known}"
