"""All about the device under the cursor: who is on it, what each gets there, why, and how it is doing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from placetui.grid.densities import Place
from placetui.grid.densities.rows import is_oversubscribed
from placetui.grid.inspector.flow import Flow
from placetui.grid.inspector.occupants import MOST, Describer, Locate, groups_of
from placetui.grid.inspector.readings import (
    claim_lines,
    gpu_lines,
    job_lines,
    node_lines,
    short_graphs,
    short_memory,
    where_from,
)
from placetui.grid.inspector.residents import TableLine, others_of, resident_table
from placetui.grid.look.style import ERROR, FAINT, MUTED, NAME, TEXT, WARNING, Line, Run, Style
from placetui.grid.look.text import CellWidth, cell_width
from placetui.grid.panels.problems import DEADLY, notice_sign
from placetui.grid.pen import Pen
from placetui.grid.tables.rows import Notice
from placetui.observe.drift import Drift
from placetui.observe.events import Event
from placetui.observe.history import DeviceHistory
from placetui.observe.model import Observation, ProcessSample
from placetui.placement.plan import GPU, NODE, Device, Plan
from placetui.placement.problems import Path
from placetui.placement.topology import Node
from placetui.placement.wording import count, kind_name, share_figure

COMPACT = 4
"""Lines of a compact inspection."""

GRAPH = 3
"""Lines of a graph in the details."""

FEW_NOTICES = 3
"""The most of what is wrong that is said beside who is there; the details have more."""

FEW_READINGS = 2
"""Lines for memory and load."""

FEW = 6
"""Values that a longer history is shown from."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """Lines to show, and where Enter leads from some of them."""

    lines: list[Line] = field(default_factory=list)
    targets: list[tuple[int, Path]] = field(default_factory=list)
    """Number of a line, and the place in the file of the rule that the line is about; lines ascending."""

    title: Line = ()
    """What it is about, for the border of a panel."""

    def add(self, lines: Iterable[TableLine]) -> None:
        """Add lines that lead to rules."""
        for line in lines:
            if line.path is not None:
                self.targets.append((len(self.lines), line.path))
            self.lines.append(line.runs)

    def add_apart(self, lines: Iterable[TableLine]) -> None:
        """Add lines after a blank one, if there are any."""
        found = list(lines)
        if found and self.lines:
            self.lines.append(())
        self.add(found)

    def target(self, line: int = 0) -> Path | None:
        """The rule of a line, else the first one there is."""
        return dict(self.targets).get(line, self.targets[0][1] if self.targets else None)


def inspect(
    plan: Plan,
    place: Place,
    *,
    locate: Locate,
    width: int,
    observation: Observation | None = None,
    history: DeviceHistory | None = None,
    hour: DeviceHistory | None = None,
    notices: Sequence[Notice] = (),
    events: Sequence[Event] = (),
    ascii: bool = False,
    compact: bool = False,
    rows: int | None = None,
    details: bool = False,
    environment: bool = False,
    heading: bool = True,
    measure: CellWidth = cell_width,
) -> Inspection:
    """Describe a device, a robot, or a node, which need not exist: how it is doing, and who is on it in a table.

    With `compact` in at most four lines; with `details` with every field of every rank, and with `environment` its
    variables. What does not fit into `rows` lines is counted. Without `heading`, only `Inspection.title` says what it
    is about. The histories are those of the last minute and hour; notices say what differs from the plan there, and
    what is beyond its threshold; events tell since when a rank is dead.
    """
    flow = Flow(Pen(plan, ascii, measure), max(1, width))
    node = plan.nodes[place.node] if 0 <= place.node < len(plan.nodes) else None
    device = _device(plan, place)
    if node is None or device is None:
        return Inspection(flow.lines([flow.text(_absent(plan, place, node), MUTED)]))
    inspector = _Inspector(Describer(plan, flow, locate, observation, events), node, device, notices)
    if compact:
        return inspector.compact(heading, history)
    if details:
        return inspector.details(heading, [one for one in (history, hour) if one is not None], environment)
    found = inspector.table(heading, history, rows)
    return found if rows is None or len(found.lines) <= rows else _fitted(flow, found, max(2, rows))


class _Inspector:
    """Describes one device."""

    def __init__(self, describer: Describer, node: Node, device: Device, notices: Sequence[Notice]) -> None:
        self.describer = describer
        self.flow = describer.flow
        self.node = node
        self.device = device
        self.groups = groups_of(describer.plan, device.occupants)
        self.observation = describer.observation
        self.seen = self.observation.node(node.rank) if self.observation else None
        self.sample = self.seen.device(device.index) if self.seen and device.kind == GPU else None
        noticed = [(one, self._process_of(one)) for one in notices]
        self.noticed = [process for _, process in noticed if process is not None]
        """Processes that should not be on the device."""

        self.notices = [one for one, process in noticed if process is None and one.kind != "dead_rank"]
        """What no row of the table says."""

    def _process_of(self, notice: Notice) -> ProcessSample | None:
        """The process on the device that a notice is about."""
        if not isinstance(notice, Drift) or notice.kind not in ("foreign_process", "wrong_device"):
            return None
        about = (notice.pid,) if notice.kind == "foreign_process" else (notice.component, notice.rank)
        for one in self.sample.processes if self.sample else ():
            if about in ((one.pid,), (one.component, one.rank)):
                return one
        return None

    @property
    def stale(self) -> float | None:
        """For how many seconds nothing was read of the GPU or of its node, where that is too long."""
        ages = [one.age for one in (self.seen, self.sample) if one is not None and one.stale]
        return max(ages, default=None)

    def resident_table(self) -> list[TableLine]:
        others = others_of(self.groups, self.sample)
        return resident_table(self.describer, self.groups, self.sample, others, stale=self.stale)

    def table(self, heading: bool, history: DeviceHistory | None, rows: int | None) -> Inspection:
        """What is wrong, how it is doing, who is on it."""
        title = self._title(with_source=True)
        found = Inspection(title=title[0], lines=title if heading else [])
        table = self.resident_table()
        most = min(FEW_NOTICES, len(self.notices))
        while rows and most > 1 and len(self._told(most)) > rows - len(table) - FEW_READINGS:
            most -= 1
        found.lines.extend(self._told(most))
        if self.observation is not None and self.device.kind == GPU and self.seen is not None:
            room = None if rows is None else rows - len(found.lines) - len(table)
            found.lines.extend(
                gpu_lines(self.flow, self.observation, self.seen, self.sample, [one for one in (history,) if one], room)
            )
        else:
            found.lines.extend(self._live())
        if found.lines and (rows is None or len(found.lines) + len(table) + 2 <= rows):
            found.lines.append(())
        found.add(table)
        found.lines.extend(self._others())
        if self.observation is None and rows is not None:
            found.lines.extend(self._why(rows - len(found.lines)))
        return found

    def _why(self, room: int) -> list[Line]:
        """Why the ranks are here, and where the next ones are, as far as there is room."""
        lines = self.describer.reasons(self.groups[:MOST], whole=True)
        if len(lines) > room:
            lines = self.describer.reasons(self.groups[:MOST], whole=False)
        return [(), *lines] if lines and len(lines) < room else lines[: max(0, room)]

    def details(self, heading: bool, histories: Sequence[DeviceHistory], environment: bool) -> Inspection:
        """All there is: how it is doing, who is on it, every field of every rank, and why it is there."""
        flow, sample, seen, title = self.flow, self.sample, self.seen, self._title(with_source=True)
        found = Inspection(title=title[0], lines=title if heading else [])
        # What is wrong comes first, and how it is doing before who is on it: a low window shows the first lines only.
        found.lines.extend(self._told(MOST))
        if self.observation is not None and seen is not None and self.device.kind == GPU:
            known = [one for one in histories if one is histories[0] or self._has(one)]
            found.lines.extend(gpu_lines(flow, self.observation, seen, sample, known, GRAPH + 4))
            found.lines.extend(node_lines(flow, self.observation, seen, labelled=False))
        else:
            found.lines.extend(self._live())
        groups = self.groups[:MOST]
        found.add_apart(self.resident_table())
        sections = {"": [dict(self.describer.fields(group)) for group in groups]}
        if environment:
            sections["Environment"] = [dict(self.describer.environment(group)) for group in groups]
        heads = [self.describer.head(group) for group in groups]
        found.add_apart(map(TableLine, flow.fields(heads, {name: _by_name(one) for name, one in sections.items()})))
        for group in groups:
            for reason in group.component.reasons:
                start = (*self.describer.head(group), Run("  ", TEXT))
                found.lines.extend(
                    flow.lines([flow.text(word, MUTED) for word in reason.split()], head=start, indent=2, separator=" ")
                )
        found.lines.extend(self._others())
        if self.observation and sample:
            found.add_apart(map(TableLine, (*job_lines(flow, self.observation, sample), *claim_lines(flow, sample))))
        return found

    def _has(self, history: DeviceHistory) -> bool:
        """Whether a history shows more than a moment."""
        values = history.series(self.node.rank, self.device.index, "memory")
        return sum(value is not None for value in values) >= FEW

    def compact(self, heading: bool, history: DeviceHistory | None) -> Inspection:
        """Title with memory, what is wrong, then a row for each group as far as there is room, and the last minute."""
        flow = self.flow
        pieces: list[Line] = [self._name(), *self._share()]
        if self.observation and self.sample:
            pieces.extend(short_memory(flow, self.observation, self.sample))
        title = flow.cut(pieces)
        found = Inspection([title] if heading else [], title=title)
        found.lines.extend(self._told(1)[:1])
        room = COMPACT - len(found.lines)
        graphs: list[Line] = []
        table = partial(resident_table, self.describer, self.groups, self.sample, self.noticed, stale=self.stale)
        # The last minute takes the place of a header, but of nobody who is there.
        if history is not None and self.sample is not None and len(table()) <= room:
            graphs = short_graphs(flow, history, self.node.rank, self.sample)
        found.add(table(rows=room - len(graphs)))
        found.lines.extend(graphs if self.observation else self._why(COMPACT - len(found.lines)))
        return found

    def _others(self) -> Iterator[Line]:
        """Components that are too many, and what the framework adds."""
        if len(self.groups) > MOST:
            yield from self.flow.sentence(f"and {count(len(self.groups) - MOST, 'more component')}", MUTED)
        if self.device.kind == NODE:
            for service in self.flow.pen.services.get(self.node.rank, ()):
                yield from self.flow.lines([(Run(service, MUTED), Run(" started by the framework", FAINT))])

    def _told(self, most: int) -> list[Line]:
        """The first notices, each behind its sign on its ground as wide as the panel; the last says how many follow."""
        flow, pen, lines = self.flow, self.flow.pen, list[Line]()
        for number, notice in enumerate(self.notices[:most], 1):
            error, hidden = notice.kind in DEADLY, len(self.notices) - most if number == most else 0
            style: Style = ERROR if error else WARNING
            text = f"{notice.message} (and {hidden} more)" if hidden > 0 else notice.message
            words = [flow.text(word, style) for word in text.split()]
            head = (Run(f"{notice_sign(pen, notice)} ", style),)
            for line in flow.lines(words, head=head, indent=2, separator=" "):
                blank = Run(" " * (flow.width - flow.measure(line)), style)
                lines.append(pen.tinted((*line, blank), "error" if error else "warning"))
        return lines

    def _title(self, *, with_source: bool = False) -> list[Line]:
        pieces = list(self._facts())
        if with_source and self.observation is not None:
            pieces += where_from(self.flow, self.observation)
        return self.flow.lines(pieces, head=(*self._name(), Run("   ", TEXT)), indent=2, separator="   ")

    def _name(self) -> Line:
        flow, device = self.flow, self.device
        what = "the node itself" if device.kind == NODE else f"{kind_name(device.kind)} {device.index}"
        if self.sample is not None:
            what = self.sample.title
        return (*flow.text(self.node.name, NAME), Run(flow.separator, FAINT), *flow.text(what, NAME))

    def _facts(self) -> Iterator[Line]:
        flow, node, sample = self.flow, self.node, self.sample
        if self.device.kind == GPU:
            memory = f" {node.memory_gib:g} GiB" if node.memory_gib else ""
            yield flow.text(sample.name if sample and sample.name else f"{node.accelerator}{memory}", MUTED)
            if sample and sample.physical is not None:
                yield flow.text(f"device {self.device.index} of the plan", WARNING)
        elif self.device.kind == NODE:
            yield flow.text(count(node.gpus, "GPU"), MUTED)
        yield from self._share()
        if node.ip and node.ip != node.name:
            yield flow.text(node.ip, MUTED)
        if node.groups:
            yield flow.text(f"{'group' if len(node.groups) == 1 else 'groups'} {', '.join(node.groups)}", MUTED)

    def _share(self) -> Iterator[Line]:
        flow, device = self.flow, self.device
        if not device.occupants:
            yield flow.text("unused" if device.kind == NODE else "free", FAINT)
        elif device.total_share is not None:
            total = f"share {share_figure(device.total_share)} of 1.0"
            over = is_oversubscribed(device)
            yield flow.text(f"{total}, oversubscribed" if over else total, ERROR if over else MUTED)
        if len(device.occupants) > MOST:
            yield flow.text(f"{len(device.occupants)} processes", MUTED)

    def _live(self) -> Iterator[Line]:
        """What is known of a node, or why nothing is known."""
        flow, observation, seen = self.flow, self.observation, self.seen
        if observation is None:
            return
        if seen is None:
            yield from flow.lines([flow.text("the node was not seen", WARNING)])
        else:
            yield from node_lines(flow, observation, seen, labelled=True)


def _fitted(flow: Flow, found: Inspection, rows: int) -> Inspection:
    """As many lines as there is room for; the last one says how many are left out."""
    left = len(found.lines) - rows + 1
    if left < 2:
        return found
    more = flow.cut([flow.text(f"and {left} more lines in the details", MUTED)])
    targets = [one for one in found.targets if one[0] < rows - 1]
    return Inspection([*found.lines[: rows - 1], more], targets, found.title)


def _by_name(fields: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """By name what each has of it, in the order in which the names come."""
    names = dict.fromkeys(name for one in fields for name in one)
    return {name: [one.get(name, "") for one in fields] for name in names}


def _device(plan: Plan, place: Place) -> Device | None:
    if not 0 <= place.node < len(plan.nodes):
        return None
    for device in plan.devices_of(place.node):
        if device.kind == place.kind and device.index == place.index:
            return device
    return Device(place.node, 0, NODE) if place.kind == NODE and place.index == 0 else None


def _absent(plan: Plan, place: Place, node: Node | None) -> str:
    if node is None:
        return f"there is no node {place.node}: the plan has {count(len(plan.nodes), 'node')}"
    number = node.gpus if place.kind == GPU else node.hardware.get(place.kind, 0)
    return f"{node.name} has no {kind_name(place.kind)} {place.index}: it has {number or 'none'}"
