"""The parts of a device in full density: a label with its link, and bars."""

from __future__ import annotations

from collections.abc import Sequence

from placetui.grid.arrange import Process
from placetui.grid.live import DeviceLive, memory_figure
from placetui.grid.pen import Pen
from placetui.grid.style import ERROR, MEMORY, MEMORY_USED, MUTED, RANK, SHARE, TRACK, WARNING, LineBuilder, Style
from placetui.grid.text import share_figure
from placetui.placement.plan import Device

FULL = 1.00005
"""Sums of shares in 1/10000 above this are more than one device has."""


def pieces(devices: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of adjacent devices."""
    found: list[tuple[int, int]] = []
    for device in devices:
        if found and device == found[-1][1] + 1:
            found[-1] = (found[-1][0], device)
        else:
            found.append((device, device))
    return found


def put_process(line: LineBuilder, pen: Pen, x: int, room: int, process: Process, piece: tuple[int, int]) -> None:
    """`A0     .80`, `R0 ════════ .20`, or `R0 ╌╌▸ .20` where its other devices are elsewhere."""
    identity = pen.marks[process.component]
    state = pen.worst_state((process,))
    before = process.devices[0] < piece[0]
    after = process.devices[-1] > piece[1]
    rank = f"{identity.separator}{process.rank}"
    share = share_figure(process.share) if process.share is not None else ""
    used = len(identity.mark) + len(rank) + (1 if state else 0)
    linked = before or after
    if used + linked * (before + after) + len(share) > room:
        share = ""
    line.put(x, identity.mark, pen.component_style(process.component))
    shown = pen.cut(rank, room - len(identity.mark))
    line.add(shown, RANK)
    if state and line.column < x + room:
        line.add(*state)
    middle = x + room - len(share) - line.column
    if (linked or piece[1] > piece[0]) and middle > 0:
        line.add(_link(pen, middle, before, after, piece[1] > piece[0]), Style("link", identity.index))
    if share:
        line.put(x + room - len(share), share, SHARE)


def _link(pen: Pen, room: int, before: bool, after: bool, span: bool) -> str:
    left = pen.glyphs.left if before else ""
    right = pen.glyphs.right if after else ""
    if room >= 5:
        left, right, room = f" {left}", f"{right} ", room
    elif len(left) + len(right) > room:
        return (left + right)[:room]
    fill = pen.glyphs.span if span else pen.glyphs.elsewhere
    return left + fill * (room - len(left) - len(right)) + right


def put_crowd(line: LineBuilder, pen: Pen, x: int, room: int, processes: Sequence[Process]) -> None:
    """`agent 0–199 ×200` with the component's mark for its name."""
    state = pen.worst_state(processes)
    mark, rest = pen.crowd(processes, room - 1 if state else room)
    line.put(x, mark, pen.component_style(processes[0].component))
    line.add(rest, RANK)
    if state:
        line.add(*state)
    if processes[0].share is not None:
        share = share_figure(sum(process.share or 0 for process in processes))
        if x + room - line.column > len(share):
            line.put(x + room - len(share), share, SHARE)


def put_bar(line: LineBuilder, pen: Pen, x: int, room: int, device: Device) -> None:
    """The device's share as a bar, a pattern per component; a device promised twice says so."""
    total = device.total_share or 0.0
    end = x + room
    figure = f"{share_figure(total)}!" if total > FULL else ""
    if figure:
        room -= len(figure) + 1
    scale = room / max(total, 1.0)
    held = 0.0
    at = 0
    for one in device.occupants:
        held += one.share or 0.0
        upto = min(room, max(round(held * scale), at))
        identity = pen.marks[one.component]
        line.put(x + at, pen.glyphs.patterns[identity.pattern] * (upto - at), Style("bar", identity.index))
        at = upto
    line.put(x + at, pen.glyphs.track * (room - at), TRACK)
    if figure:
        line.put(end - len(figure), figure, ERROR)


def put_memory(line: LineBuilder, x: int, room: int, live: DeviceLive | None) -> None:
    """The figure, on a ground that is filled as far as the memory is."""
    if live is None:
        return
    if live.alert or live.stale:
        figure = memory_figure(live, room - 2)
        line.put(x, f"{figure} {'!' if live.alert else '?'}", WARNING if live.alert else MUTED)
        return
    figure = memory_figure(live, room)
    if live.memory is None:
        line.put(x, figure, MUTED)
        return
    text = figure.ljust(room)
    used = round(live.memory * room)
    line.put(x, text[:used], MEMORY_USED)
    line.put(x + used, text[used:], MEMORY)
