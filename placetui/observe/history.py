"""The last values of every device, for a sparkline: small, and written only where something changed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from placetui.observe.model import NodeSample, Observation

Metric: TypeAlias = Literal["memory", "utilization"]

_METRICS: tuple[Metric, ...] = ("memory", "utilization")
_UNKNOWN = 255
"""Stored where there was no value; percentages go to 100."""


@dataclass(slots=True)
class _Track:
    """A ring of rows of one node: when, and a byte per device and metric."""

    width: int
    ticks: array[int]
    values: bytearray = field(default_factory=bytearray)
    newest: int = -1
    """Place of the newest row, which counts as written last."""


class DeviceHistory:
    """Percentages of each device over the last `length` periods of `period` seconds.

    A period holds the last value seen in it; a value holds until the next one. Two of these make a minute and an
    hour: `DeviceHistory(60, 1.0)` and `DeviceHistory(60, 60.0)`. At 60 periods a node of 8 GPUs takes about 1.5 KB.
    """

    def __init__(self, length: int = 60, period: float = 1.0) -> None:
        self.length = length
        self.period = period
        self._now = 0
        self._tracks: dict[int, _Track] = {}

    def record(self, observation: Observation, changed: Iterable[int]) -> None:
        """Take the values of the nodes in `changed`; of those that are gone nothing is kept."""
        record((self,), observation, changed)

    def _begin(self, time: float) -> None:
        tick = int(time // self.period)
        if tick < self._now:
            # The clock was set back, or a replay jumped: what was recorded now lies in the future.
            self._tracks.clear()
        self._now = tick

    def series(self, node: int, device: int, metric: Metric, last: int | None = None) -> tuple[int | None, ...]:
        """Percentages of the last periods, 0–100, the oldest first; None where nothing was known."""
        length = self.length if last is None else min(last, self.length)
        track = self._tracks.get(node)
        offset = device * len(_METRICS) + _METRICS.index(metric)
        if track is None or device < 0 or offset >= track.width:
            return (None,) * length
        found: list[int | None] = []
        rows = len(track.ticks)
        age = 0
        for tick in range(self._now, self._now - length, -1):
            while age < rows and track.ticks[(track.newest - age) % rows] > tick:
                age += 1
            value = _UNKNOWN if age == rows else track.values[(track.newest - age) % rows * track.width + offset]
            found.append(None if value == _UNKNOWN else value)
        return tuple(reversed(found))

    def _write(self, node: int, row: bytes) -> None:
        tick, width = self._now, len(row)
        track = self._tracks.get(node)
        if track is None or track.width != width:
            track = self._tracks[node] = _Track(width, array("q"))
        rows = len(track.ticks)
        if rows and track.ticks[track.newest] == tick:
            place = track.newest
            # Unknown is not a value: a minute without answers from a node keeps the last one.
            if _UNKNOWN in row:
                before = track.values[place * width : (place + 1) * width]
                row = bytes(old if new == _UNKNOWN else new for old, new in zip(before, row, strict=True))
        elif rows < self.length:
            track.ticks.append(tick)
            track.values.extend(row)
            track.newest = rows
            return
        else:
            place = (track.newest + 1) % rows
        track.ticks[place] = tick
        track.values[place * width : (place + 1) * width] = row
        track.newest = place


class MemoryUse(NamedTuple):
    """Memory of a GPU, in bytes."""

    used: int
    total: int

    @property
    def percent(self) -> float:
        return 100 * self.used / self.total


def highest_memory(
    observation: Observation, histories: Sequence[DeviceHistory] = ()
) -> dict[tuple[int, int], MemoryUse]:
    """By node and GPU the most memory that was measured: now, or in the past, of which only full percents are known."""
    found: dict[tuple[int, int], MemoryUse] = {}
    for node in observation.nodes:
        for device in node.devices if not node.stale else ():
            used, total = device.memory_used, device.memory_total
            if device.stale or used is None or not total:
                continue
            past = [one for history in histories for one in history.series(node.rank, device.index, "memory") if one]
            # A percentage was rounded: what it stands for is at least half a percent less.
            most = max(used, round(total * (max(past, default=0) - 0.5) / 100))
            found[node.rank, device.index] = MemoryUse(min(most, total), total)
    return found


def record(histories: Sequence[DeviceHistory], observation: Observation, changed: Iterable[int]) -> None:
    """Take the values of the nodes in `changed` into several histories at once."""
    for history in histories:
        history._begin(observation.time)
    for rank in changed:
        node = observation.node(rank)
        if node is None:
            for history in histories:
                history._tracks.pop(rank, None)
        else:
            row = _row(node)
            for history in histories:
                history._write(rank, row)


def _row(node: NodeSample) -> bytes:
    """The values of all devices, each at the place of its index: one that was not seen leaves a gap."""
    devices = 1 + max((device.index for device in node.devices), default=-1)
    row = bytearray([_UNKNOWN]) * (devices * len(_METRICS))
    for device in node.devices if not node.stale else ():
        if device.stale:
            continue
        place = device.index * len(_METRICS)
        used, total, load = device.memory_used, device.memory_total, device.utilization
        if used is not None and total:
            row[place] = max(0, min(100, round(100 * used / total)))
        if load is not None:
            row[place + 1] = max(0, min(100, load))
    return bytes(row)
