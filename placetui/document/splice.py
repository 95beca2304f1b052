"""Changes of a text: invertible splices, and unified diffs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the characters from `start` up to `end` by `text`."""

    start: int
    end: int
    text: str


def apply(text: str, splice: Splice) -> str:
    """The text after a splice; `ValueError` if that lies outside the text."""
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


def unified_diff(old: str, new: str, name: str, context: int = 3) -> list[str]:
    """Lines without line breaks, as `diff -u` prints them; none when the texts are the same.

    A carriage return at the end of a line is shown as part of it.
    """
    from difflib import unified_diff as difference_lines  # seldom needed, and slow to load

    shown: list[str] = []
    for line in difference_lines(_lines(old), _lines(new), name, name, n=context, lineterm=""):
        shown.append(line.removesuffix("\n"))
        if len(shown) > 2 and not line.endswith("\n") and not line.startswith("@@"):
            shown.append(NO_NEWLINE)
    return shown


def _lines(text: str) -> list[str]:
    """Lines with their line feeds. Only those end a line, unlike in `splitlines`."""
    pieces = text.split("\n")
    last = pieces.pop()
    lines = [f"{piece}\n" for piece in pieces]
    return [*lines, last] if last else lines
