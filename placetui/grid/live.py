"""What the drawing can show of the running cluster: a port in its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

RankState: TypeAlias = Literal["pending", "starting", "alive", "restarting", "dead", "stale"]

NEEDS_ATTENTION: frozenset[RankState] = frozenset({"starting", "restarting", "dead", "stale"})
"""States that are shown even where there is little room."""

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class DeviceLive:
    """One GPU as last seen. What could not be read is None."""

    memory_used: int | None = None
    """Bytes."""

    memory_total: int | None = None
    """Bytes."""

    utilization: float | None = None
    """Percent."""

    state: RankState | None = None
    """State of the ranks on it that needs attention most, where known."""

    stale: bool = False
    """Whether the sample is too old to trust."""

    alert: bool = False
    """Whether plan and reality differ here."""

    @property
    def memory(self) -> float | None:
        """Fraction of the memory in use, 0 to 1."""
        if self.memory_used is None or not self.memory_total:
            return None
        return min(1.0, max(0.0, self.memory_used / self.memory_total))


class Overlay(Protocol):
    """Live data to lay over a plan."""

    def device(self, node: int, index: int) -> DeviceLive | None:
        """GPU `index` of node `node`; None where nothing is known."""

    def rank(self, component: str, rank: int) -> RankState | None:
        """State of one rank; None where nothing is known."""


def memory_figure(live: DeviceLive, room: int) -> str:
    """`61.2/80 G` and the utilisation, as much of it as `room` columns take."""
    if live.memory_used is None or not live.memory_total:
        return "n/a"[:room]
    used = live.memory_used / GIB
    total = f"{live.memory_total / GIB:.0f}"
    exact = f"{used:.1f}" if used < 100 else f"{used:.0f}"
    load = "" if live.utilization is None else f"{live.utilization:.0f}%"
    for figure in (
        f"{exact}/{total} G",
        f"{exact}/{total}G",
        f"{used:.0f}/{total}G",
        f"{used:.0f}/{total}",
        f"{used:.0f}G",
    ):
        if len(figure) <= room:
            rest = room - len(figure) - len(load)
            return f"{figure}{' ' * rest}{load}" if load and rest > 0 else figure
    return ""
