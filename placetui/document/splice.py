"""Changes of a text: invertible splices, and unified diffs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

CONTEXT = 3
"""Unchanged lines around a change in a unified diff."""

NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the characters from `start` up to `end` by `text`."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        """Change of the length of the text."""
        return len(self.text) - (self.end - self.start)


def apply(text: str, splice: Splice) -> str:
    """The text after a splice.

    Raises:
        ValueError: the splice lies outside the text.
    """
    if not 0 <= splice.start <= splice.end <= len(text):
        raise ValueError(f"a splice of {splice.start}-{splice.end} in a text of {len(text)} characters")
    return text[: splice.start] + splice.text + text[splice.end :]


def apply_all(text: str, splices: Iterable[Splice]) -> str:
    """The text after several splices; positions refer to the text after the previous splice."""
    for splice in splices:
        text = apply(text, splice)
    return text


def inverse(text: str, splice: Splice) -> Splice:
    """The splice that undoes another one; `text` is the text before it."""
    return Splice(splice.start, splice.start + len(splice.text), text[splice.start : splice.end])


def difference(old: str, new: str) -> Splice | None:
    """The smallest single splice from one text to another; None when they are the same."""
    if old == new:
        return None
    most = min(len(old), len(new))
    start = _longest(most, lambda length: old[:length] == new[:length])
    left = most - start
    kept = _longest(left, lambda length: old[len(old) - length :] == new[len(new) - length :])
    return Splice(start, len(old) - kept, new[start : len(new) - kept])


def _longest(most: int, agrees: Callable[[int], bool]) -> int:
    """The largest length for which `agrees` holds, by bisection."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if agrees(middle):
            low = middle
        else:
            high = middle - 1
    return low


# Unified diffs


def unified_diff(old: str, new: str, name: str, *, context: int = CONTEXT) -> list[str]:
    """Lines without line breaks, as `diff -u` prints them; none when the texts are the same.

    A carriage return at the end of a line is shown as part of it.
    """
    from difflib import SequenceMatcher  # seldom needed, and slow to load

    if old == new:
        return []
    before, after = _lines(old), _lines(new)
    # Only what lies between the first and the last differing line is compared: the rest costs nothing.
    same = _common(before, after)
    rest = _common(before[same:][::-1], after[same:][::-1])
    first, last = max(0, same - context), max(0, rest - context)
    before, after = before[first : len(before) - last], after[first : len(after) - last]
    shown = [f"--- {name}", f"+++ {name}"]
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(context):
        begin, end = group[0], group[-1]
        shown.append(f"@@ -{_range(first + begin[1], first + end[2])} +{_range(first + begin[3], first + end[4])} @@")
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                shown += _signed(" ", before[i1:i2])
            else:
                shown += _signed("-", before[i1:i2])
                shown += _signed("+", after[j1:j2])
    return shown


def _lines(text: str) -> list[str]:
    """Lines with their line feeds. Only those end a line, unlike in `splitlines`."""
    pieces = text.split("\n")
    last = pieces.pop()
    lines = [f"{piece}\n" for piece in pieces]
    return [*lines, last] if last else lines


def _signed(sign: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield NO_NEWLINE


def _common(one: list[str], other: list[str]) -> int:
    """Length of the common prefix."""
    number = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        number += 1
    return number


def _range(start: int, end: int) -> str:
    """A range of lines as `diff -u` writes it: counted from 1, the length left out when it is 1."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
