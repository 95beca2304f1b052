"""What tells components apart: a letter, a hue and a pattern each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from string import ascii_uppercase, digits

HUES = 7
"""Colours that stay distinguishable for colour-blind eyes; components beyond share one, with another pattern."""


@dataclass(frozen=True, slots=True)
class Identity:
    """How one component is recognised in the drawing."""

    name: str
    index: int
    """Position in the file."""

    mark: str
    """One character; two when all single ones are taken."""

    @property
    def hue(self) -> int:
        """Number of its colour, 0 to `HUES` - 1."""
        return self.index % HUES

    @property
    def pattern(self) -> int:
        """Number of its pattern, 0 to `HUES` - 1; hue and pattern together are unique up to 49 components."""
        return (self.index + self.index // HUES) % HUES

    def label(self, rank: int | str) -> str:
        """`A3`; `7:3` where the mark is a digit."""
        return f"{self.mark}{self.separator}{rank}"

    @property
    def separator(self) -> str:
        """Keeps a mark that is a digit apart from the rank."""
        return ":" if self.mark[-1].isdigit() else ""


def identities(names: Iterable[str]) -> dict[str, Identity]:
    """Marks in file order: the first free letter of the name, else the first free one at all."""
    taken: set[str] = set()
    found: dict[str, Identity] = {}
    for index, name in enumerate(names):
        mark = _mark(name, taken)
        taken.add(mark)
        found[name] = Identity(name, index, mark)
    return found


def _mark(name: str, taken: set[str]) -> str:
    own = [character for character in name.upper() if character in ascii_uppercase]
    candidates: list[str] = [*own, *ascii_uppercase, *digits]
    for mark in candidates:
        if mark not in taken:
            return mark
    for first, second in product(own or ascii_uppercase, ascii_uppercase + digits):
        if first + second not in taken:
            return first + second
    count = 0
    while f"Z{count}Z" in taken:
        count += 1
    return f"Z{count}Z"
