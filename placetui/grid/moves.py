"""Who moves between two plans, as a drawing of one of them says it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from placetui.grid.look.glyphs import glyphs
from placetui.placement.diff import Difference, RankPosition
from placetui.placement.plan import GPU, Plan

Side: TypeAlias = Literal["before", "after", "both"]
"""What is drawn: the plan before, the plan after, or the plan after with the places that were left."""

ADDED = "+"


class Departure(NamedTuple):
    """A rank that is no longer where it was."""

    component: str
    rank: int
    devices: tuple[int, ...]
    gone: str
    """`→8`, or that it is removed."""


class Moves:
    """Worked out when a density shows it: the heat wall, and so a plan of thousands of nodes, does not."""

    def __init__(self, difference: Difference, side: Side, *, ascii: bool) -> None:
        self._difference = difference
        self.side: Side = side
        self._signs = glyphs(ascii)

    @cached_property
    def beside(self) -> dict[tuple[str, int], str]:
        """What is written beside a rank of the drawing: `→8` or `−` before, `←0` or `+` after."""
        if self.side == "before":
            return {(one, rank): text for one, rank, _, text in self._leaving}
        before = self._difference.before
        found = {(one.component, rank): ADDED for one in self._difference.components for rank, _ in one.appears}
        for one in self._difference.components:
            for move in one.moves:
                found[one.component, move.rank] = f"{self._signs.came}{_number(before, move.before)}"
        return found

    @cached_property
    def left(self) -> dict[int, list[Departure]]:
        """By node, the ranks that left its GPUs."""
        found: dict[int, list[Departure]] = {}
        for name, rank, place, text in self._leaving if self.side == "both" else ():
            if place.kind == GPU:
                found.setdefault(place.node, []).append(Departure(name, rank, place.devices, text))
        return found

    @property
    def _leaving(self) -> Iterator[tuple[str, int, RankPosition, str]]:
        after = self._difference.after
        for one in self._difference.components:
            for move in one.moves:
                yield one.component, move.rank, move.before, f"{self._signs.goes}{_number(after, move.after)}"
            for rank, place in one.vanishes:
                yield one.component, rank, place, self._signs.ends


def _number(plan: Plan, place: RankPosition) -> str:
    """The first GPU of a rank, counted over all nodes; nothing for other hardware."""
    return str(plan.topology.first_gpu[place.node] + place.devices[0]) if place.kind == GPU else ""
