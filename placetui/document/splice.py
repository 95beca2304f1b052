"""Every edit is a splice of the text, and undoing it is the splice back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the characters from `start` up to `end` by `text`."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        """By how many characters the text becomes longer."""
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
    """The text after several splices, each counted in the text that the one before left."""
    for splice in splices:
        text = apply(text, splice)
    return text


def inverse(text: str, splice: Splice) -> Splice:
    """The splice back, for the text before it."""
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
    """The largest length up to which two texts agree: comparing halves beats comparing characters."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if agrees(middle):
            low = middle
        else:
            high = middle - 1
    return low
