"""Compact density: one line per node, the processes of a device side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from placetui.grid.arrange import processes_by_kind
from placetui.grid.cells import FULL
from placetui.grid.census import has_lanes
from placetui.grid.columns import columns
from placetui.grid.lane import Entry, labels, lane_entries
from placetui.grid.live import NEEDS_ATTENTION
from placetui.grid.pen import STATE_STYLES, Pen
from placetui.grid.places import Place, Region
from placetui.grid.style import (
    ABSENT,
    EMPTY,
    ERROR,
    FAINT,
    HEADER,
    MUTED,
    NODE_NAME,
    RANK,
    TEXT,
    WARNING,
    Line,
    LineBuilder,
    Run,
    Style,
)
from placetui.placement.plan import GPU, Device, PlanNode

LANE = 30
"""Columns for robots and processes on nodes, where there are any."""

NARROW_LANE = 20
ROOMY = 100
"""From this width on there is room for groups and a wide lane."""

GROUPS = 12
"""Most columns that group names take beside the node's name."""


class Compact:
    """The layout and the lines of the compact density."""

    def __init__(self, pen: Pen, nodes: Sequence[int], width: int | None) -> None:
        self.pen = pen
        self.nodes = nodes
        shown = [pen.plan.nodes[node] for node in nodes]
        has_lane = has_lanes(pen.plan, shown)
        names = max((pen.name_width(node.name) for node in shown), default=4)
        groups = min(GROUPS, max((pen.name_width(pen.groups(node)) for node in shown), default=0))
        if width is not None and width < ROOMY:
            groups = 0
        lane = 0 if not has_lane else LANE if width is None or width >= ROOMY else NARROW_LANE
        self.columns = columns(
            names=(names + groups + 2 if groups else names,),
            devices=max((node.gpus for node in shown), default=0),
            width=width,
            natural=8,
            least=4,
            most=8,
            widest_name=36,
            extra=lane,
        )
        self._lane = self.columns.width - lane
        if lane and width is not None and width > self.columns.width:
            self.columns = replace(self.columns, body=width - self.columns.gutter)
        self._name = min(names, self.columns.gutter - 1)

    @property
    def height(self) -> int:
        return len(self.nodes)

    def position_at(self, x: int, y: int) -> int | None:
        return y if 0 <= y < self.height else None

    def top(self, position: int) -> int:
        return position

    def header(self) -> tuple[Line, ...]:
        line = LineBuilder.empty()
        line.put(0, "node", HEADER)
        for device in range(self.columns.devices):
            line.put(self.columns.x(device), str(device), HEADER)
        if self._lane < self.columns.width:
            line.put(self._lane + 2, "others", HEADER)
        return (line.finish(self.columns.width),)

    def draw(self, position: int) -> tuple[Line, ...]:
        node = self.pen.plan.nodes[self.nodes[position]]
        devices = self.pen.plan.devices_of(node.rank)
        line = LineBuilder.empty()
        self.pen.put_name(line, 0, node.name, self._name, NODE_NAME)
        room = self.columns.gutter - self._name - 3
        if room > 2 and node.groups:
            self.pen.put_name(line, self._name + 2, self.pen.groups(node), room, MUTED)
        gpus = [device for device in devices if device.kind == GPU and device.index < self.columns.devices]
        spans = {
            (process.component, process.rank): process.devices
            for process in processes_by_kind(gpus, self.pen.order).get(GPU, [])
            if len(process.devices) > 1
        }
        write = self._style_of(gpus)
        for device in gpus:
            self._cell(line, node, device, write, spans)
        if node.gpus:
            for absent in range(node.gpus, self.columns.devices):
                line.put(self.columns.x(absent), self.pen.glyphs.absent, ABSENT)
        if self._lane < self.columns.width:
            line.put(self._lane, self.pen.glyphs.divider, FAINT)
            for entry in self._entries(node):
                line.put(entry.x, "")
                for run in entry.runs:
                    line.add(run.text, run.style, self.pen.measure(run.text))
        return (line.finish(self.columns.width),)

    def _style_of(self, gpus: Sequence[Device]) -> Callable[[Device], list[Run]]:
        """Labels with ranks if all of the node's fit, else marks: cells of a node look alike."""
        room = self._room
        for device in gpus:
            over = (device.total_share or 0) > FULL
            if sum(len(self.pen.marks[one.component].label(one.rank)) for one in device.occupants) + over > room:
                return self._marks
        return lambda device: labels(self.pen, device)

    def _marks(self, device: Device) -> list[Run]:
        """`AR`, `G×200`, `ABC+`."""
        room = self._room - ((device.total_share or 0) > FULL)
        present = list(dict.fromkeys(one.component for one in device.occupants))
        runs: list[Run] = []
        for position, component in enumerate(present):
            mark = self.pen.marks[component].mark
            used = sum(len(run.text) for run in runs)
            if used + len(mark) > room or (used + len(mark) == room and position < len(present) - 1):
                runs.append(Run("+", MUTED))
                break
            runs.append(Run(mark, self.pen.component_style(component)))
        if len(present) == 1 and len(device.occupants) > 1:
            times = f"{self.pen.glyphs.times}{len(device.occupants)}"
            runs.append(Run(self.pen.cut(times, room - len(runs[0].text)), RANK))
        return runs

    def _cell(
        self,
        line: LineBuilder,
        node: PlanNode,
        device: Device,
        write: Callable[[Device], list[Run]],
        spans: dict[tuple[str, int], tuple[int, ...]],
    ) -> None:
        x = self.columns.x(device.index)
        line.put(x, *self._gauge(node, device))
        if not device.occupants:
            line.add(self.pen.glyphs.empty, EMPTY)
            return
        for run in write(device):
            line.add(run.text, run.style)
        if (device.total_share or 0) > FULL:
            line.add("!", ERROR)
        room = x + self.columns.pitch - line.column
        for one in device.occupants:
            others = spans.get((one.component, one.rank), ())
            style = Style("link", self.pen.order[one.component])
            if device.index + 1 in others:
                line.add(self.pen.glyphs.span * room, style)
                return
            if others and room > 1 and device.index - 1 not in others:
                line.add(self.pen.glyphs.right if others[0] == device.index else self.pen.glyphs.left, style)
                return

    def _gauge(self, node: PlanNode, device: Device) -> tuple[str, Style]:
        """One character before the label: the memory in use, or a state that needs attention."""
        if self.pen.overlay is None:
            return "", TEXT
        live = self.pen.overlay.device(node.rank, device.index)
        if live and live.alert:
            return "!", WARNING
        if live and live.state and live.state in NEEDS_ATTENTION:
            return self.pen.glyphs.states[live.state], STATE_STYLES[live.state]
        ramp = self.pen.glyphs.ramp
        memory = live.memory if live else None
        return " " if memory is None else ramp[max(1, round(memory * (len(ramp) - 1)))], FAINT

    @property
    def _room(self) -> int:
        """Columns for the labels of a device."""
        return self.columns.pitch - 1 - (self.pen.overlay is not None)

    def _entries(self, node: PlanNode) -> list[Entry]:
        return lane_entries(self.pen, node, self._lane + 2, self.columns.width)

    def locate(self, position: int, index: int, kind: str) -> Region | None:
        node = self.pen.plan.nodes[self.nodes[position]]
        if kind == GPU:
            return Region(self.columns.x(index), position, self.columns.pitch - 1, 1) if index < node.gpus else None
        place = Place(node.rank, kind, index)
        for entry in self._entries(node):
            if entry.place == place:
                return Region(entry.x, position, entry.width, 1)
        return None

    def at(self, x: int, y: int) -> Place | None:
        position = self.position_at(x, y)
        if position is None:
            return None
        node = self.pen.plan.nodes[self.nodes[position]]
        device = self.columns.device_at(x)
        if device is not None:
            inside = x < self.columns.x(device) + self.columns.pitch - 1
            return Place(node.rank, GPU, device) if inside and device < node.gpus else None
        if x < self._lane:
            return None
        for entry in self._entries(node):
            if entry.x <= x < entry.x + entry.width:
                return entry.place
        return None
