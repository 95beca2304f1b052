"""Alerts: values of GPUs beyond what the user wants to be told of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from placetui.observe.model import DeviceSample, NodeSample, Observation

AlertKind: TypeAlias = Literal["memory_above", "temperature_above", "load_above", "load_below"]


_TITLES: dict[AlertKind, str] = {
    "memory_above": "high memory",
    "temperature_above": "high temperature",
    "load_above": "high load",
    "load_below": "low load",
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Beyond which value there is an alert; None: never."""

    memory_above: float | None = None
    """Percent of a GPU's memory."""

    temperature_above: float | None = None
    """°C."""

    load_above: float | None = None
    """Percent."""

    load_below: float | None = None
    """Percent; of GPUs in use."""


NO_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class Alert:
    """One value beyond its threshold."""

    kind: AlertKind
    message: str
    node: int
    device: int

    @property
    def title(self) -> str:
        """What it is, in two words."""
        return _TITLES[self.kind]


class AlertWatch:
    """The alerts of observation after observation: only nodes that changed are checked again."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.thresholds = thresholds
        self._nodes: dict[int, tuple[NodeSample, tuple[Alert, ...]]] = {}

    def update(self, observation: Observation) -> tuple[Alert, ...]:
        """The alerts of a later observation, or of any other."""
        if self.thresholds == NO_THRESHOLDS:
            return ()
        known, self._nodes = self._nodes, {}
        found: list[Alert] = []
        for node in observation.nodes:
            before = known.get(node.rank)
            if before is None or before[0] is not node:
                before = node, tuple(alerts_of(node, self.thresholds))
            self._nodes[node.rank] = before
            found.extend(before[1])
        return tuple(found)


def alerts_of(node: NodeSample, thresholds: Thresholds) -> Iterator[Alert]:
    """Values beyond their threshold on a node; stale values raise no alert."""
    if node.stale:
        return
    for device in node.devices:
        if not device.stale:
            for kind, value in _beyond(device, thresholds):
                yield Alert(kind, f"{node.name}/gpu{device.index}: {value}", node.rank, device.index)


def _beyond(device: DeviceSample, thresholds: Thresholds) -> Iterator[tuple[AlertKind, str]]:
    memory, limit = device.memory_percent, thresholds.memory_above
    if limit is not None and memory is not None and memory > limit:
        yield "memory_above", f"{memory:.0f}% of the memory is in use, more than {limit:g}%"
    heat, limit = device.temperature, thresholds.temperature_above
    if limit is not None and heat is not None and heat > limit:
        yield "temperature_above", f"{heat} °C is more than {limit:g} °C"
    load = device.utilization
    if load is None:
        return
    limit = thresholds.load_above
    if limit is not None and load > limit:
        yield "load_above", f"a load of {load}% is more than {limit:g}%"
    limit = thresholds.load_below
    if limit is not None and load < limit and (device.processes or device.claims):
        yield "load_below", f"a load of {load}% is less than {limit:g}%, and a process uses it"
