"""Totals of a cluster: ranks alive, memory, load and power, kept up to date node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from placetui.observe.delta import replaced
from placetui.observe.model import NodeSample, Observation, RankState


@dataclass(frozen=True, slots=True)
class Totals:
    """Figures of all nodes together; what no node tells is None."""

    gpus: int = 0
    busy: int = 0
    """GPUs in use."""

    memory_used: int | None = None
    """Bytes."""

    memory_total: int | None = None
    load: float | None = None
    """Mean percentage of the GPUs that tell it."""

    power: int | None = None
    """Watts."""

    alive: Mapping[str, int] = field(default_factory=dict)
    """Ranks that are alive, by component."""

    dead: Mapping[str, int] = field(default_factory=dict)
    """Ranks that are dead, by component."""

    ranks: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    """Bytes that the ranks of a component hold."""

    @property
    def ranks_alive(self) -> int:
        return sum(self.alive.values())

    @property
    def memory_percent(self) -> float | None:
        if self.memory_used is None or not self.memory_total:
            return None
        return 100 * self.memory_used / self.memory_total


class _Figures(NamedTuple):
    """The sums of one node."""

    gpus: int = 0
    busy: int = 0
    used: int = 0
    total: int = 0
    load: int = 0
    loads: int = 0
    power: int = 0
    powers: int = 0


_NOTHING = _Figures()


class TotalsWatch:
    """The totals of observation after observation: only nodes and components that changed are counted again."""

    def __init__(self) -> None:
        self._nodes: tuple[NodeSample, ...] = ()
        self._known: dict[int, tuple[_Figures, Mapping[str, int]]] = {}
        self._sum = _NOTHING
        self._held: Counter[str] = Counter()
        self._ranks: dict[str, tuple[tuple[RankState, ...], int, int]] = {}

    def update(self, observation: Observation) -> Totals:
        """The totals of a later observation, or of any other."""
        then, now = replaced(self._nodes, observation.nodes)
        self._nodes = observation.nodes
        for rank in then | now:
            before, held_before = self._known.pop(rank, (_NOTHING, {}))
            after, held = _figures(now[rank]) if rank in now else (_NOTHING, {})
            self._sum = _Figures(*(a + b - c for a, b, c in zip(self._sum, after, before, strict=True)))
            if held != held_before:
                self._held.subtract(held_before)
                self._held.update(held)
            if rank in now:
                self._known[rank] = after, held
        known_ranks, self._ranks = self._ranks, {}
        for component, states in observation.ranks.items():
            counted = known_ranks.get(component)
            if counted is None or counted[0] is not states:
                found = Counter(one.state for one in states)
                counted = states, found["alive"], found["dead"]
            self._ranks[component] = counted
        sums = self._sum
        return Totals(
            gpus=sums.gpus,
            busy=sums.busy,
            memory_used=sums.used if sums.total else None,
            memory_total=sums.total or None,
            load=sums.load / sums.loads if sums.loads else None,
            power=sums.power if sums.powers else None,
            alive={component: alive for component, (_, alive, _) in self._ranks.items()},
            dead={component: dead for component, (_, _, dead) in self._ranks.items() if dead},
            ranks=sum(len(states) for states, _, _ in self._ranks.values()),
            held=dict(self._held),
        )


def _figures(node: NodeSample) -> tuple[_Figures, Mapping[str, int]]:
    held: Counter[str] = Counter()
    gpus = busy = used = total = load = loads = power = powers = 0
    for device in node.devices:
        gpus += 1
        busy += bool(device.processes)
        if device.memory_used is not None and device.memory_total:
            used += device.memory_used
            total += device.memory_total
        if device.utilization is not None:
            load += device.utilization
            loads += 1
        if device.power is not None:
            power += device.power
            powers += 1
        for process in device.processes:
            if process.component is not None and process.memory:
                held[process.component] += process.memory
    return _Figures(gpus, busy, used, total, load, loads, power, powers), held
