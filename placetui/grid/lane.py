"""The lane at the end of a compact line: robots, processes on the node, and what the framework adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from placetui.grid.arrange import Process
from placetui.grid.pen import Pen
from placetui.grid.places import Place
from placetui.grid.style import EMPTY, MUTED, RANK, SERVICE, TEXT, Run
from placetui.placement.plan import GPU, NODE, Device, PlanNode

WIDEST_KIND = 10
WIDEST_ENTRY = 26


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in the lane at the end of a line."""

    place: Place | None
    runs: tuple[Run, ...]
    x: int
    width: int


def lane_entries(pen: Pen, node: PlanNode, x: int, end: int) -> list[Entry]:
    """What fits between two columns; an ellipsis stands for the first that does not."""
    entries: list[Entry] = []
    for gap, place, runs in _items(pen, node):
        width = sum(pen.measure(run.text) for run in runs)
        at = x + gap if entries else x
        if at + width > end - 2:
            entries.append(Entry(place, (Run(pen.glyphs.ellipsis, MUTED),), end - 1, 1))
            break
        entries.append(Entry(place, runs, at, width))
        x = at + width
    return entries


def _items(pen: Pen, node: PlanNode) -> Iterator[tuple[int, Place | None, tuple[Run, ...]]]:
    """Blanks before it, device and runs of each: `franka E0 E1 ·  W 0–9 ×10  ▫ router 1 CPU`."""
    kind = GPU
    for device in pen.plan.devices_of(node.rank):
        if device.kind == GPU:
            continue
        place = Place(node.rank, device.kind, device.index)
        if device.kind == NODE:
            yield 2, place, tuple(_crowds(pen, device))
            continue
        name = pen.cut(pen.clean(device.kind), WIDEST_KIND)
        runs = [Run(f"{name} ", MUTED)] if device.kind != kind else []
        runs += labels(pen, device) if len(device.occupants) < 3 else _crowds(pen, device)
        if not device.occupants:
            runs.append(Run(pen.glyphs.empty, EMPTY))
        yield 2 if device.kind != kind else 1, place, tuple(runs)
        kind = device.kind
    for service in pen.services.get(node.rank, ()):
        yield 2, None, (Run(pen.cut(service, WIDEST_ENTRY), SERVICE),)


def labels(pen: Pen, device: Device) -> list[Run]:
    """`A0R0`: all processes of a device, side by side."""
    runs: list[Run] = []
    for one in device.occupants:
        identity = pen.marks[one.component]
        runs.append(Run(identity.mark, pen.component_style(one.component)))
        runs.append(Run(f"{identity.separator}{one.rank}", RANK))
    return runs


def _crowds(pen: Pen, device: Device) -> Iterator[Run]:
    by_component: dict[str, list[Process]] = {}
    for one in device.occupants:
        by_component.setdefault(one.component, []).append(Process(one.component, one.rank, None, (device.index,)))
    for position, members in enumerate(by_component.values()):
        mark, rest = pen.crowd(members, WIDEST_ENTRY)
        if position:
            yield Run("  ", TEXT)
        yield Run(mark, pen.component_style(members[0].component))
        yield Run(rest, RANK)
