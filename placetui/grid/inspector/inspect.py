"""All about the device under the cursor: who is on it, what each gets there, why, and how it is doing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from placetui.grid.densities import Place
from placetui.grid.densities.rows import is_oversubscribed
from placetui.grid.inspector.flow import Flow
from placetui.grid.inspector.occupants import MOST, Describer, Locate, groups_of
from placetui.grid.inspector.readings import (
    claim_lines,
    device_lines,
    gpu_lines,
    job_lines,
    node_lines,
    process_lines,
    short_memory,
    where_from,
)
from placetui.grid.inspector.residents import resident_table
from placetui.grid.look.style import ERROR, FAINT, MUTED, NAME, TEXT, WARNING, Line, Run
from placetui.grid.look.text import CellWidth, cell_width
from placetui.grid.pen import Pen
from placetui.observe.history import DeviceHistory
from placetui.observe.model import Observation
from placetui.placement.environment import rank_environment
from placetui.placement.plan import GPU, NODE, Device, Plan
from placetui.placement.problems import Path, Problem
from placetui.placement.topology import Node
from placetui.placement.wording import count, kind_name, plain

COMPACT = 4
"""Lines of a compact inspection."""

WIDEST_INDENT = 40


@dataclass(frozen=True, slots=True)
class Inspection:
    """Lines to show, and where Enter leads from some of them."""

    lines: list[Line] = field(default_factory=list)
    targets: list[tuple[int, Path]] = field(default_factory=list)
    """Number of a line, and the place in the file of the rule that the line is about; lines ascending."""

    title: Line = ()
    """What it is about, for the border of a panel."""

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
    notices: Sequence[str] = (),
    ascii: bool = False,
    compact: bool = False,
    rows: int | None = None,
    details: bool = False,
    heading: bool = True,
    measure: CellWidth = cell_width,
) -> Inspection:
    """Describe a device, a robot, or a node: how it is doing, and who is on it in a table.

    Args:
        plan: Where it is.
        place: What to describe; it need not exist.
        locate: Line and column of a value of the file, or None.
        width: Columns that no line exceeds.
        observation: What is known of the running cluster.
        history: The last minute of every GPU.
        hour: Its last hour.
        notices: What differs from the plan there, and what is beyond its threshold.
        ascii: Print nothing but ASCII.
        compact: At most four lines.
        rows: Lines that there is room for; what is too much is counted.
        details: Every field of every rank in words, rather than a table.
        heading: Whether the first line says what it is about; `Inspection.title` always does.
        measure: Columns that a text takes.
    """
    flow = Flow(Pen(plan, ascii, measure), max(1, width))
    node = plan.nodes[place.node] if 0 <= place.node < len(plan.nodes) else None
    device = _device(plan, place)
    if node is None or device is None:
        return Inspection(flow.lines([flow.text(_absent(plan, place, node), MUTED)]))
    describer = Describer(plan, flow, locate, observation)
    if compact:
        return _compact(flow, describer, node, device, notices, heading)
    if details:
        histories = [one for one in (history, hour) if one is not None]
        return _all(flow, describer, node, device, list(_above(flow, node, device, observation, histories, notices)))
    title = _title(flow, node, device, observation, with_source=True)
    found = Inspection(title=title[0], lines=title if heading else [])
    _summary(found, flow, describer, node, device, notices, history, rows)
    return found if rows is None or len(found.lines) <= rows else _fitted(flow, found, max(2, rows))


def _summary(
    found: Inspection,
    flow: Flow,
    describer: Describer,
    node: Node,
    device: Device,
    notices: Sequence[str],
    history: DeviceHistory | None,
    rows: int | None,
) -> None:
    """What is wrong, how it is doing, who is on it."""
    observation = describer.observation
    for notice in notices[:MOST]:
        found.lines.extend(_on_ground(flow, line) for line in _notice(flow, notice))
    groups = groups_of(describer.plan, device.occupants)
    sample = observation.device(node.rank, device.index) if observation and device.kind == GPU else None
    table = resident_table(describer, groups[:MOST], sample)
    seen = observation.node(node.rank) if observation else None
    if observation is not None and device.kind == GPU and seen is not None:
        room = None if rows is None else rows - len(found.lines) - len(table)
        found.lines.extend(gpu_lines(flow, observation, seen, sample, history, room))
    else:
        found.lines.extend(_live(flow, device, observation, ()))
    if rows is None or len(found.lines) + len(table) + 2 <= rows:
        found.lines.append(())
    for line in table:
        if line.path is not None:
            found.targets.append((len(found.lines), line.path))
        found.lines.append(line.runs)
    if len(groups) > MOST:
        found.lines.extend(flow.sentence(f"and {count(len(groups) - MOST, 'more component')}", MUTED))
    if device.kind == NODE:
        for service in flow.pen.services.get(node.rank, ()):
            found.lines.extend(flow.lines([(Run(service, MUTED), Run(" started by the framework", FAINT))]))


def _on_ground(flow: Flow, line: Line) -> Line:
    """A warning as wide as the panel."""
    blank = flow.width - flow.measure(line)
    runs = (*line, Run(" " * blank, WARNING))
    return tuple(Run(run.text, flow.pen.on(run.style, "warning")) for run in runs)


def _above(
    flow: Flow,
    node: Node,
    device: Device,
    observation: Observation | None,
    histories: Sequence[DeviceHistory],
    notices: Sequence[str],
) -> Iterator[Line]:
    yield from _title(flow, node, device, observation)
    # What is wrong comes first, and how it is doing before who is on it: a low window shows the first lines only.
    for notice in notices[:MOST]:
        yield from _notice(flow, notice)
    yield from _live(flow, device, observation, histories)


def _all(flow: Flow, describer: Describer, node: Node, device: Device, above: Sequence[Line]) -> Inspection:
    """What stands above, then who is on it, then who holds its memory."""
    found = Inspection([*above])
    observation = describer.observation
    groups = groups_of(describer.plan, device.occupants)
    indent = min(WIDEST_INDENT, max((flow.measure(describer.head(group)) for group in groups), default=0) + 3)
    for group in groups[:MOST]:
        lines = list(describer.lines(group, indent))
        found.targets.extend((len(found.lines) + number, group.component.rule.path) for number in range(len(lines)))
        found.lines.extend(lines)
    if len(groups) > MOST:
        found.lines.extend(flow.sentence(f"and {count(len(groups) - MOST, 'more component')}", MUTED))
    if device.kind == NODE:
        for service in flow.pen.services.get(node.rank, ()):
            found.lines.extend(flow.lines([(Run(service, MUTED), Run(" started by the framework", FAINT))]))
    sample = observation.device(node.rank, device.index) if observation and device.kind == GPU else None
    if observation and sample:
        found.lines.extend(job_lines(flow, observation, sample))
    if sample and sample.processes:
        found.lines.extend(process_lines(flow, sample.processes))
    if sample and sample.claims:
        found.lines.extend(claim_lines(flow, sample))
    return found


def _fitted(flow: Flow, found: Inspection, rows: int) -> Inspection:
    """As many lines as there is room for; the last one says how many are left out."""
    left = len(found.lines) - rows + 1
    if left < 2:
        return found
    told = flow.cut([flow.text(f"and {left} more lines in the details", MUTED)])
    return Inspection(
        [*found.lines[: rows - 1], told], [one for one in found.targets if one[0] < rows - 1], found.title
    )


def _notice(flow: Flow, notice: str) -> list[Line]:
    return flow.sentence(f"! {notice}", WARNING, 2)


def problem_lines(
    plan: Plan, problem: Problem, width: int, *, ascii: bool = False, measure: CellWidth = cell_width
) -> list[Line]:
    """All that is known of a problem: where a line of the text shows its beginning only."""
    flow = Flow(Pen(plan, ascii, measure), max(1, width))
    style = ERROR if problem.severity == "error" else WARNING
    lines = flow.sentence(f"{problem.severity}[{problem.rule}]: {plain(problem.message)}", style)
    return [*lines, *flow.sentence(f"hint: {plain(problem.hint)}", MUTED)] if problem.hint else lines


def environment_lines(
    plan: Plan, component: str, rank: int, width: int, *, ascii: bool = False, measure: CellWidth = cell_width
) -> list[Line]:
    """The variables that a rank is given, one per line; none for a rank that does not exist."""
    if component not in plan.components or not 0 <= rank < plan.components[component].world_size:
        return []
    flow = Flow(Pen(plan, ascii, measure), max(1, width))
    return [
        line
        for name, value in rank_environment(plan, component, rank).items()
        for line in flow.lines([(*flow.text(name, MUTED), Run("=", FAINT), *flow.text(value))])
    ]


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


def _title(
    flow: Flow, node: Node, device: Device, observation: Observation | None, *, with_source: bool = False
) -> list[Line]:
    head = _name(flow, node, device, observation)
    pieces = list(_facts(flow, node, device, observation))
    if with_source and observation is not None:
        pieces += where_from(flow, observation)
    return flow.lines(pieces, head=(*head, Run("   ", TEXT)), indent=2, separator="   ")


def _name(flow: Flow, node: Node, device: Device, observation: Observation | None) -> Line:
    what = "the node itself" if device.kind == NODE else f"{kind_name(device.kind)} {device.index}"
    sample = observation.device(node.rank, device.index) if observation and device.kind == GPU else None
    if sample is not None:
        what = sample.title
    return (*flow.text(node.name, NAME), Run(flow.separator, FAINT), *flow.text(what, NAME))


def _facts(flow: Flow, node: Node, device: Device, observation: Observation | None) -> Iterator[Line]:
    if device.kind == GPU:
        sample = observation.device(node.rank, device.index) if observation else None
        memory = f" {node.memory_gib:g} GiB" if node.memory_gib else ""
        yield flow.text(sample.name if sample and sample.name else f"{node.accelerator}{memory}", MUTED)
        if sample and sample.physical is not None:
            yield flow.text(f"device {device.index} of the plan", WARNING)
    elif device.kind == NODE:
        yield flow.text(count(node.gpus, "GPU"), MUTED)
    yield from _share(flow, device)
    if node.ip and node.ip != node.name:
        yield flow.text(node.ip, MUTED)
    if node.groups:
        yield flow.text(f"{'group' if len(node.groups) == 1 else 'groups'} {', '.join(node.groups)}", MUTED)


def _share(flow: Flow, device: Device) -> Iterator[Line]:
    if not device.occupants:
        yield flow.text("unused" if device.kind == NODE else "free", FAINT)
    elif device.total_share is not None:
        total = f"share {device.total_share:.2f} of 1.00"
        over = is_oversubscribed(device)
        yield flow.text(f"{total}, oversubscribed" if over else total, ERROR if over else MUTED)
    if len(device.occupants) > MOST:
        yield flow.text(f"{len(device.occupants)} processes", MUTED)


def _live(
    flow: Flow, device: Device, observation: Observation | None, histories: Sequence[DeviceHistory]
) -> Iterator[Line]:
    if observation is None:
        return
    node = observation.node(device.node)
    if node is None:
        yield from flow.lines([flow.text("the node was not seen", WARNING)])
        return
    if device.kind == GPU:
        yield from device_lines(flow, observation, node, node.device(device.index), histories)
    yield from node_lines(flow, observation, node, labelled=device.kind != GPU)


def _compact(
    flow: Flow, describer: Describer, node: Node, device: Device, notices: Sequence[str], heading: bool
) -> Inspection:
    """Title with memory, what is wrong, then a row for each group as far as there is room."""
    title: list[Line] = [_name(flow, node, device, describer.observation), *_share(flow, device)]
    observation = describer.observation
    sample = observation.device(node.rank, device.index) if observation and device.kind == GPU else None
    if observation and sample:
        title.extend(short_memory(flow, observation, sample))
    found = Inspection([flow.cut(title)] if heading else [], title=flow.cut(title))
    if notices:
        more = f" (and {len(notices) - 1} more)" if len(notices) > 1 else ""
        found.lines.append(_on_ground(flow, flow.cut([flow.text(f"! {notices[0]}{more}", WARNING)])))
    groups = groups_of(describer.plan, device.occupants)
    room = COMPACT - len(found.lines) - (len(groups) > COMPACT - len(found.lines))
    titled = not heading and len(groups) < room
    for row in resident_table(describer, groups[:room], sample, header=titled, others=False)[:room]:
        if row.path is not None:
            found.targets.append((len(found.lines), row.path))
        found.lines.append(row.runs)
    if len(groups) > room:
        found.lines.append(flow.cut([flow.text(f"and {len(groups) - room} more", MUTED)]))
    return found
