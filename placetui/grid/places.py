"""Devices and where they stand on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Place:
    """A device of the plan."""

    node: int
    """Rank of its node."""

    kind: str
    """`gpu`, `node`, or a hardware type."""

    index: int


class Region(NamedTuple):
    """A rectangle in columns and lines of the drawing, its header not counted."""

    x: int
    y: int
    width: int
    height: int

    def contains(self, x: int, y: int) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height
