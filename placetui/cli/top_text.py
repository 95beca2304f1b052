"""The GPUs of a cluster and who is on them, as lines of text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from placetui.grid.glyphs import glyphs
from placetui.grid.live import GIB
from placetui.grid.text import cell_width, clean, cut
from placetui.observe.model import DeviceSample, NodeSample, Observation, ProcessSample
from placetui.placement.problems import count

BAR = 16
"""Columns of a bar."""

WIDEST_NAME = 40
MISSING = "n/a"

Tone: TypeAlias = Literal["plain", "muted", "strong", "warning"]
_CODES: dict[Tone, str] = {"muted": "2", "strong": "1", "warning": "33"}


@dataclass(frozen=True, slots=True)
class Look:
    """How lines are to look."""

    width: int | None = None
    """Columns; None: as wide as they are."""

    ascii: bool = False
    color: bool = False

    def paint(self, text: str, tone: Tone) -> str:
        return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if self.color and tone in _CODES and text else text

    def fit(self, text: str) -> str:
        """Text from outside, safe and not too long."""
        text = clean(text, self.ascii)
        return text if self.width is None else cut(text, self.width, ellipsis=glyphs(self.ascii).ellipsis)


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    value: Callable[[DeviceSample], str]
    right: bool = True


def lines(observation: Observation, look: Look) -> Iterator[str]:
    """Each node with its GPUs and, below them, the processes on these."""
    for place, node in enumerate(observation.nodes):
        if place:
            yield ""
        yield look.paint(look.fit(_headline(node, observation)), "strong")
        if trouble := _trouble(node):
            age = f", values are {node.age:.0f} s old" if node.stale and node.devices else ""
            yield look.paint(look.fit(f"{trouble}{age}"), "warning")
        if node.devices:
            yield from _devices(node, look)
            yield from _processes(node.devices, look)


def _trouble(node: NodeSample) -> str | None:
    """What is wrong with a node, or with all of its GPUs."""
    errors = {device.error for device in node.devices}
    return node.error or (errors.pop() if len(errors) == 1 else None)


def _headline(node: NodeSample, observation: Observation) -> str:
    # Of several, by its place too: raylets of one machine have the same name and address.
    place = f"node{node.rank}" if len(observation.nodes) > 1 else ""
    parts = [" ".join(dict.fromkeys(part for part in (place, node.name, node.ip) if part))]
    if node.devices:
        parts.append(count(len(node.devices), "GPU"))
    if node.cpu_percent is not None:
        parts.append(f"CPU {node.cpu_percent:.0f}%")
    if node.memory_used is not None and node.memory_total:
        parts.append(f"RAM {node.memory_used / GIB:.1f}/{node.memory_total / GIB:.0f} GiB")
    return "  ".join([*parts, time.strftime("%H:%M:%S", time.localtime(observation.time))])


def _devices(node: NodeSample, look: Look) -> Iterator[str]:
    devices = node.devices
    degree = "C" if look.ascii else "°C"
    columns = (
        _Column("GPU", lambda device: str(device.index)),
        _Column("name", lambda device: _name(device, look), right=False),
        _Column("memory", lambda device: _bar(device, look), right=False),
        _Column("", _memory),
        _Column("load", lambda device: _figure(device.utilization, "%")),
        _Column("temp", lambda device: _figure(device.temperature, degree)),
        _Column("power", lambda device: _figure(device.power, " W")),
    )
    rows = [[column.value(device) for column in columns] for device in devices]
    widths = [
        max(cell_width(text) for text in (column.title, *(row[place] for row in rows)))
        for place, column in enumerate(columns)
    ]
    yield look.paint(look.fit(_row([column.title for column in columns], widths, columns)), "muted")
    for device, row in zip(devices, rows, strict=True):
        text = _row(row, widths, columns)
        if device.stale:
            text = f"{text}  stale, {device.age:.0f} s"
        if device.error and device.error != _trouble(node):
            text = f"{text}  {device.error}"
        yield look.paint(look.fit(text), "warning" if device.stale or device.memory_used is None else "plain")


def _row(texts: Sequence[str], widths: Sequence[int], columns: Sequence[_Column]) -> str:
    pieces = []
    for text, width, column in zip(texts, widths, columns, strict=True):
        padding = " " * (width - cell_width(text))
        pieces.append(padding + text if column.right else text + padding)
    return "  ".join(pieces).rstrip()


def _name(device: DeviceSample, look: Look) -> str:
    return cut(clean(device.name or MISSING, look.ascii), WIDEST_NAME, ellipsis=glyphs(look.ascii).ellipsis)


def _bar(device: DeviceSample, look: Look) -> str:
    percent = device.memory_percent
    if percent is None:
        return ""
    full = round(min(100.0, max(0.0, percent)) * BAR / 100)
    return ("#" if look.ascii else "█") * full + ("." if look.ascii else "░") * (BAR - full)


def _memory(device: DeviceSample) -> str:
    if device.memory_used is None or device.memory_total is None:
        return MISSING
    return f"{device.memory_used / GIB:.1f}/{device.memory_total / GIB:.1f} GiB"


def _figure(value: int | None, unit: str) -> str:
    return MISSING if value is None else f"{value}{unit}"


def _processes(devices: Sequence[DeviceSample], look: Look) -> Iterator[str]:
    rows = [row for device in devices for row in _rows(device)]
    if not rows:
        return
    titles = ("GPU", "pid", "user", "memory", "command")
    widths = [max(cell_width(clean(row[place], look.ascii)) for row in (titles, *rows)) for place in range(4)]
    yield ""
    for tone, row in [("muted", titles), *(("plain", row) for row in rows)]:
        gpu, pid, user, memory, command = (clean(text, look.ascii) for text in row)
        padding = " " * (widths[2] - cell_width(user))
        text = f"{gpu:>{widths[0]}}  {pid:>{widths[1]}}  {user}{padding}  {memory:>{widths[3]}}  {command}"
        yield look.paint(look.fit(text), "muted" if tone == "muted" else "plain")


def _rows(device: DeviceSample) -> Iterator[tuple[str, ...]]:
    """The processes on a GPU, and actors that hold a part of it but no memory."""
    for process in device.processes:
        yield str(device.index), str(process.pid), *_who(process)
    seen = {process.actor_id for process in device.processes}
    for claim in device.claims:
        if claim.actor_id not in seen:
            part = "claims it" if claim.reserved is None else f"has {claim.reserved:g} of it"
            held = "what it holds is not known" if device.is_unread else "holds nothing"
            yield str(device.index), str(claim.pid or ""), "", "-", f"{claim.actor}  ({part}, {held})"


def _who(process: ProcessSample) -> tuple[str, str, str]:
    """User, memory, and what it is: its actor, its command line, or why neither is known."""
    memory = MISSING if process.memory is None else f"{process.memory / GIB:.1f} GiB"
    known = [text for text in (process.actor, process.command, process.note) if text]
    return process.user or ("" if process.actor else "?"), memory, "  ".join(known) or "not visible from here"
