"""What a node has beside its GPUs: robots, processes on the node itself, what the framework adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from placetui.grid.densities.base import Place
from placetui.grid.densities.rows import CROWD
from placetui.grid.look.style import FAINT, MUTED, TEXT, LineBuilder, Run
from placetui.grid.overlay import Overlay
from placetui.grid.pen import Pen
from placetui.placement.plan import GPU, NODE, Device, Occupant
from placetui.placement.topology import Node

WIDEST_KIND = 10
WIDEST_ENTRY = 26
ON_NODE = "on node"
SLOT = 28
"""Columns of an entry below tiles."""


class LaneEntry(NamedTuple):
    """Something in a lane, and where."""

    place: Place | None
    runs: tuple[Run, ...]
    line: int
    x: int
    width: int


def has_lanes(pen: Pen, nodes: Sequence[Node]) -> bool:
    """Whether there is anything but GPUs to show on the nodes."""
    return (
        bool(pen.plan.services)
        or any(node.hardware for node in nodes)
        or any(component.strategy == "node" for component in pen.plan.components.values())
    )


def in_one_line(pen: Pen, node: Node, start: int, end: int, overlay: Overlay | None = None) -> list[LaneEntry]:
    """The entries one after the other; the first is cut, and others that do not fit are counted: `+2`."""
    entries: list[LaneEntry] = []
    items = list(_items(pen, node, overlay))
    x = start
    for number, (place, runs, is_first) in enumerate(items):
        width = sum(pen.measure(run.text) for run in runs)
        at = x + (1 + is_first if entries else 0)
        rest = len(items) - number - 1
        room = end - at - (len(f" +{rest}") if rest else 0)
        if width > room and entries:
            more, shown = f"+{rest + 1}", {one.place for one in entries}
            entries.append(LaneEntry(None if place in shown else place, (Run(more, MUTED),), 0, x + 1, len(more)))
            break
        entries.append(LaneEntry(place, runs, 0, at, min(width, max(0, room))))
        x = at + entries[-1].width
    return entries


def in_slots(pen: Pen, node: Node, start: int, end: int, slots: int, overlay: Overlay | None = None) -> list[LaneEntry]:
    """The entries in columns of `SLOT`, so many in a line; long ones take room of their neighbours if all then fit."""
    items = list(_items(pen, node, overlay, end - start))
    on_node = sum(place is not None and place.kind == NODE for place, _, _ in items)
    before = next((n for n, (place, _, _) in enumerate(items) if place is not None and place.kind == NODE), len(items))
    cells = slots_of(before, on_node, len(items) - before - on_node, slots)
    found: list[LaneEntry] = []
    for number, cells_of in groupby(zip(cells, items, strict=True), lambda one: one[0] // slots):
        line = list(cells_of)
        places = [start + at % slots * SLOT for at, _ in line]
        widths = [pen.width(runs) for _, (_, runs, _) in line]
        places = _apart(places, widths, start, end)
        for x, following, (_, (place, runs, _)) in zip(places, [*places[1:], end + 2], line, strict=True):
            width = max(min(SLOT - 2, end - start), pen.width(runs))
            found.append(LaneEntry(place, runs, number, x, min(width, following - 2 - x)))
    return found


def _apart(places: list[int], widths: Sequence[int], start: int, end: int) -> list[int]:
    """Places with two columns between entries, as near as can be to where they were; unchanged if not all fit."""
    moved = places[:1]
    for place, width in zip(places[1:], widths, strict=False):
        moved.append(max(place, moved[-1] + width + 2))
    limit = end
    for at in reversed(range(len(moved))):
        moved[at] = min(moved[at], limit - widths[at])
        limit = moved[at] - 2
    return moved if moved[0] >= start else places


def slots_of(before: int, on_node: int, after: int, slots: int) -> list[int]:
    """The slot of each entry. What runs on the node itself has its own lines where one line does not hold it."""
    first = before if before % slots + on_node <= slots else _upto(before, slots)
    behind = first + on_node if on_node <= slots else _upto(first + on_node, slots)
    return [*range(before), *range(first, first + on_node), *range(behind, behind + after)]


def _upto(number: int, step: int) -> int:
    return -(-number // step) * step


def write(pen: Pen, lines: Sequence[LineBuilder], entries: Sequence[LaneEntry]) -> None:
    """Write entries into their lines."""
    for entry in entries:
        lines[entry.line].put(entry.x, "")
        pen.write(lines[entry.line], entry.runs, entry.width)


def _items(
    pen: Pen, node: Node, overlay: Overlay | None, widest: int = WIDEST_ENTRY
) -> Iterator[tuple[Place | None, tuple[Run, ...], bool]]:
    """Device and runs of each, and whether it begins a kind: `franka E0`, `E1`, `on node W 0–9 ×10`, `▫ router`."""
    kind = GPU
    for device in pen.plan.devices_of(node.rank):
        if device.kind == GPU:
            continue
        place = Place(node.rank, device.kind, device.index)
        is_first = device.kind != kind
        name = ON_NODE if device.kind == NODE else pen.cut(pen.clean(device.kind), WIDEST_KIND)
        label = (Run(f"{name} ", MUTED),) if is_first else ()
        kind = device.kind
        crowds = list(_crowds(pen, device, overlay)) or [(Run(pen.glyphs.empty, FAINT),)]
        if device.kind == NODE:
            for number, runs in enumerate(crowds):
                yield place, (*label, *runs) if number == 0 else runs, number == 0
        else:
            yield place, (*label, *(run for runs in crowds for run in runs)), is_first
    for service in pen.services.get(node.rank, ()):
        yield None, (Run(pen.cut(service, widest), MUTED),), True


def _crowds(pen: Pen, device: Device, overlay: Overlay | None) -> Iterator[tuple[Run, ...]]:
    by_component: dict[str, list[Occupant]] = {}
    for one in device.occupants:
        by_component.setdefault(one.component, []).append(one)
    for component, found in by_component.items():
        ranks = sorted(one.rank for one in found)
        runs: tuple[Run, ...] = pen.crowd(component, ranks, WIDEST_ENTRY)
        if device.kind != NODE and len(ranks) <= CROWD:
            runs = tuple(run for rank in ranks for run in (*pen.label(component, rank), Run(" ", TEXT)))
        state = overlay.worst_of((one.component, one.rank) for one in found) if overlay else None
        yield runs if state is None or state == "alive" else (*runs, pen.state(state))
