"""Two texts as a unified difference, quick also where long files differ in a line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

CONTEXT = 3
NO_NEWLINE = "\\ No newline at end of file"


def unified_diff(old: str, new: str, name: str, *, context: int = CONTEXT) -> list[str]:
    """Lines without line breaks, as `diff -u` prints them; none when the texts are the same.

    A carriage return at the end of a line is shown as part of it.
    """
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
    """Lines with their line feeds; other signs that Python takes for line ends stay inside."""
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
    """How many lines both begin with."""
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
