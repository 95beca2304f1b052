"""Full density: a line per process, the share as a bar, lanes for robots and for processes on nodes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from placetui.grid.arrange import Process, arrange, processes_by_kind, shape_of
from placetui.grid.cells import pieces, put_bar, put_crowd, put_memory, put_process
from placetui.grid.census import Extent
from placetui.grid.columns import GUTTER_GAP, columns
from placetui.grid.pen import Pen
from placetui.grid.places import Place, Region
from placetui.grid.style import ABSENT, EMPTY, FAINT, HEADER, MUTED, NODE_NAME, SERVICE, Line, LineBuilder
from placetui.grid.text import Keep
from placetui.placement.plan import GPU, NODE, Device, PlanNode

ON_NODE = "on node"
SLOT_DEVICES = 2
"""Devices whose width one entry of the node's lane takes."""

LEAST_DEVICES = 4
"""A drawing is as wide as this many devices at least: the node's lane needs room."""


class Full:
    """The layout and the lines of the full density."""

    def __init__(self, pen: Pen, nodes: Sequence[int], width: int | None, extents: Sequence[Extent]) -> None:
        self.pen = pen
        self.nodes = nodes
        self._extents = extents
        self._live = pen.overlay is not None
        shown = [pen.plan.nodes[node] for node in nodes]
        self.columns = columns(
            names=(
                *(
                    pen.name_width(text)
                    for node in shown
                    for text in (node.name, node.ip, pen.groups(node), *node.hardware)
                ),
                *(len(ON_NODE) for node in shown if extents[node.rank].on_node or node.rank in pen.services),
            ),
            devices=max((max(node.gpus, *node.hardware.values(), 0) for node in shown), default=0),
            width=width,
            natural=13,
            least=9,
            most=14,
            least_devices=LEAST_DEVICES,
        )
        self._slots = (self.columns.body + GUTTER_GAP) // self._slot_width
        self._tops = list(accumulate((self._height(node) for node in shown), initial=0))

    @property
    def _slot_width(self) -> int:
        return SLOT_DEVICES * self.columns.pitch

    @property
    def height(self) -> int:
        # The blank line below the last node is not needed.
        return max(0, self._tops[-1] - 1)

    def _main(self, node: PlanNode) -> int:
        """Lines beside the node's names."""
        names = 1 + bool(node.ip) + bool(node.groups)
        return max(names, self._device_lines(node))

    def _device_lines(self, node: PlanNode) -> int:
        return self._extents[node.rank].gpu_rows + 1 + self._live if node.gpus else 0

    def _lane_lines(self, node: PlanNode) -> int:
        entries = len(self._extents[node.rank].on_node) + len(self.pen.services.get(node.rank, ()))
        return -(-entries // self._slots)

    def _height(self, node: PlanNode) -> int:
        robots = sum(rows for _, rows in self._extents[node.rank].robots)
        return self._main(node) + robots + self._lane_lines(node) + 1

    def position_at(self, x: int, y: int) -> int | None:
        return bisect_right(self._tops, y) - 1 if 0 <= y < self.height else None

    def top(self, position: int) -> int:
        return self._tops[position]

    def header(self) -> tuple[Line, ...]:
        line = LineBuilder.empty()
        line.put(0, "node", HEADER)
        for device in range(self.columns.devices):
            line.put(self.columns.x(device), str(device), HEADER)
        return (line.finish(self.columns.width),)

    def draw(self, position: int) -> tuple[Line, ...]:
        """All lines of one node, the blank one below it included."""
        node = self.pen.plan.nodes[self.nodes[position]]
        devices = self.pen.plan.devices_of(node.rank)
        lines = [LineBuilder.empty() for _ in range(self._height(node))]
        self._names(lines, node)
        if node.gpus:
            self._bank(lines, 0, GPU, devices)
            self._bars(lines, node, devices)
        else:
            lines[0].put(self.columns.gutter, "no GPU", FAINT)
        self._absent(lines, node)
        at = self._main(node)
        for kind, rows in self._extents[node.rank].robots:
            self.pen.put_name(lines[at], 0, kind, self.columns.name, MUTED)
            self._bank(lines, at, kind, devices)
            at += rows
        self._on_node(lines, at, node, devices)
        return tuple(line.finish(self.columns.width) for line in lines)

    def _names(self, lines: list[LineBuilder], node: PlanNode) -> None:
        room = self.columns.name
        self.pen.put_name(lines[0], 0, node.name, room, NODE_NAME)
        below: list[tuple[str, Keep]] = [(node.ip, "end"), (self.pen.groups(node), "start")]
        for line, (text, keep) in zip(lines[1:], (entry for entry in below if entry[0]), strict=False):
            self.pen.put_name(line, 0, text, room, MUTED, keep)

    def _bank(self, lines: list[LineBuilder], top: int, kind: str, devices: Sequence[Device]) -> None:
        """The processes on the devices of one kind, and a dot on empty devices."""
        processes = processes_by_kind([device for device in devices if device.kind == kind], self.pen.order).get(
            kind, []
        )
        drawn = [
            (slot.row, first, last, slot.processes)
            for slot in arrange(shape_of(processes, self.pen.order))
            for first, last in pieces(slot.devices)
        ]
        drawn += [(0, one.index, one.index, ()) for one in devices if one.kind == kind and not one.occupants]
        for row, first, last, members in sorted(drawn):
            if last >= self.columns.devices:
                continue
            line = lines[top + row]
            x = self.columns.x(first)
            room = (last - first) * self.columns.pitch + self.columns.cell
            if not members:
                line.put(x, self.pen.glyphs.empty, EMPTY)
            elif len(members) == 1:
                put_process(line, self.pen, x, room, processes[members[0]], (first, last))
            else:
                put_crowd(line, self.pen, x, room, [processes[member] for member in members])

    def _bars(self, lines: list[LineBuilder], node: PlanNode, devices: Sequence[Device]) -> None:
        rows = self._extents[node.rank].gpu_rows
        for device in devices:
            if device.kind != GPU or device.index >= self.columns.devices:
                continue
            x = self.columns.x(device.index)
            put_bar(lines[rows], self.pen, x, self.columns.cell, device)
            if self.pen.overlay:
                put_memory(lines[rows + 1], x, self.columns.cell, self.pen.overlay.device(node.rank, device.index))

    def _absent(self, lines: list[LineBuilder], node: PlanNode) -> None:
        if node.gpus:
            for device in range(node.gpus, self.columns.devices):
                lines[0].put(self.columns.x(device), self.pen.glyphs.absent, ABSENT)

    def _on_node(self, lines: list[LineBuilder], top: int, node: PlanNode, devices: Sequence[Device]) -> None:
        """`E 0–1 ×2` for each component on the node as such, and what the framework adds."""
        by_component: dict[str, list[Process]] = {}
        for process in processes_by_kind([one for one in devices if one.kind == NODE], self.pen.order).get(NODE, []):
            by_component.setdefault(process.component, []).append(process)
        services = self.pen.services.get(node.rank, [])
        if by_component or services:
            self.pen.put_name(lines[top], 0, ON_NODE, self.columns.name, MUTED)
        room = self._slot_width - GUTTER_GAP
        entries: list[list[Process] | str] = [*by_component.values(), *services]
        for number, entry in enumerate(entries):
            line = lines[top + number // self._slots]
            x = self.columns.gutter + number % self._slots * self._slot_width
            if isinstance(entry, str):
                self.pen.put_name(line, x, entry, room, SERVICE, keep="start")
            else:
                put_crowd(line, self.pen, x, room, entry)

    def locate(self, position: int, index: int, kind: str) -> Region | None:
        node = self.pen.plan.nodes[self.nodes[position]]
        top = self._tops[position]
        if kind == GPU and index < node.gpus:
            return Region(self.columns.x(index), top, self.columns.cell, self._device_lines(node))
        top += self._main(node)
        for robot, rows in self._extents[node.rank].robots:
            if kind == robot and index < node.hardware[robot]:
                return Region(self.columns.x(index), top, self.columns.cell, rows)
            top += rows
        if kind == NODE and index == 0 and self._extents[node.rank].on_node:
            return Region(self.columns.gutter, top, self.columns.body, self._lane_lines(node))
        return None

    def at(self, x: int, y: int) -> Place | None:
        position = self.position_at(x, y)
        if position is None or not self.columns.gutter <= x < self.columns.width:
            return None
        node = self.pen.plan.nodes[self.nodes[position]]
        device = self.columns.device_at(x)
        for kind, count in ((GPU, node.gpus), *node.hardware.items()):
            if device is not None and device < count:
                region = self.locate(position, device, kind)
                if region and region.contains(x, y):
                    return Place(node.rank, kind, device)
        lane = self.locate(position, 0, NODE)
        return Place(node.rank, NODE, 0) if lane and lane.contains(x, y) else None
