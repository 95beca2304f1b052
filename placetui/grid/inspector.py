"""All about the device under the cursor: who is on it, what each gets there, why, and how it is doing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from placetui.grid.cells import FULL
from placetui.grid.flow import Flow
from placetui.grid.occupants import MOST, Describer, Locate, blocks_of
from placetui.grid.pen import Pen
from placetui.grid.places import Place
from placetui.grid.readings import claim_lines, device_lines, node_lines, process_lines, short_memory
from placetui.grid.style import EMPTY, ERROR, FAINT, MUTED, NODE_NAME, SERVICE, SHARE, TEXT, WARNING, Line, Run
from placetui.grid.text import CellWidth, cell_width
from placetui.observe.history import History
from placetui.observe.model import Observation
from placetui.placement.environment import rank_environment
from placetui.placement.plan import GPU, NODE, Device, Plan, PlanNode
from placetui.placement.problems import Path, Problem, count

COMPACT = 4
"""Lines of a compact inspection."""

WIDEST_INDENT = 40


@dataclass(frozen=True, slots=True)
class Inspection:
    """Lines to show, and where Enter leads from some of them."""

    lines: list[Line] = field(default_factory=list)
    targets: list[tuple[int, Path]] = field(default_factory=list)
    """Number of a line, and the place in the file of the rule that the line is about; lines ascending."""

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
    history: History | None = None,
    hour: History | None = None,
    notices: Sequence[str] = (),
    ascii: bool = False,
    compact: bool = False,
    rows: int | None = None,
    measure: CellWidth = cell_width,
) -> Inspection:
    """Describe a device, a robot, or a node.

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
        rows: Lines that there is room for. Where that is too few for everything, each process gets one line, and what
            is still too much is counted.
        measure: Columns that a text takes.
    """
    flow = Flow(Pen(plan, ascii, measure), max(1, width))
    node = plan.nodes[place.node] if 0 <= place.node < len(plan.nodes) else None
    device = _device(plan, place)
    if node is None or device is None:
        return Inspection(flow.lines([flow.text(_absent(plan, place, node), MUTED)]))
    describer = Describer(plan, flow, locate, observation)
    if compact:
        return _compact(flow, describer, node, device, notices)
    above = list(_above(flow, node, device, observation, [one for one in (history, hour) if one is not None], notices))
    found = _all(flow, describer, node, device, above)
    if rows is None or len(found.lines) <= rows:
        return found
    return _fitted(flow, _all(flow, describer, node, device, above, short=True), max(2, rows))


def _above(
    flow: Flow,
    node: PlanNode,
    device: Device,
    observation: Observation | None,
    histories: Sequence[History],
    notices: Sequence[str],
) -> Iterator[Line]:
    yield from _title(flow, node, device, observation)
    # What is wrong comes first, and how it is doing before who is on it: a low window shows the first lines only.
    for notice in notices[:MOST]:
        yield from _notice(flow, notice)
    yield from _live(flow, device, observation, histories)


def _all(
    flow: Flow, describer: Describer, node: PlanNode, device: Device, above: Sequence[Line], *, short: bool = False
) -> Inspection:
    """What stands above, then who is on it, then who holds its memory."""
    found = Inspection([*above])
    observation = describer.observation
    blocks = blocks_of(describer.plan, device.occupants)
    indent = min(WIDEST_INDENT, max((flow.measure(describer.head(block)) for block in blocks), default=0) + 3)
    for block in blocks[:MOST]:
        lines = [describer.short(block, indent)] if short else list(describer.lines(block, indent))
        found.targets.extend((len(found.lines) + number, block.component.rule.path) for number in range(len(lines)))
        found.lines.extend(lines)
    if len(blocks) > MOST:
        found.lines.extend(flow.sentence(f"and {count(len(blocks) - MOST, 'more component')}", MUTED))
    if device.kind == NODE:
        for service in flow.pen.services.get(node.rank, ()):
            found.lines.extend(flow.lines([(Run(service, SERVICE), Run(" started by the framework", FAINT))]))
    sample = observation.device(node.rank, device.index) if observation and device.kind == GPU else None
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
    return Inspection([*found.lines[: rows - 1], told], [one for one in found.targets if one[0] < rows - 1])


def _notice(flow: Flow, notice: str) -> list[Line]:
    return flow.sentence(f"! {notice}", WARNING, 2)


def problem_lines(
    plan: Plan, problem: Problem, width: int, *, ascii: bool = False, measure: CellWidth = cell_width
) -> list[Line]:
    """All that is known of a problem: where a line of the text shows its beginning only."""
    flow = Flow(Pen(plan, ascii, measure), max(1, width))
    style = ERROR if problem.severity == "error" else WARNING
    lines = flow.sentence(f"{problem.severity}[{problem.rule}]: {problem.message}", style)
    return [*lines, *flow.sentence(f"hint: {problem.hint}", MUTED)] if problem.hint else lines


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


def _absent(plan: Plan, place: Place, node: PlanNode | None) -> str:
    if node is None:
        return f"there is no node {place.node}: the plan has {count(len(plan.nodes), 'node')}"
    number = node.gpus if place.kind == GPU else node.hardware.get(place.kind, 0)
    return f"{node.name} has no {_noun(place.kind)} {place.index}: it has {number or 'none'}"


def _noun(kind: str) -> str:
    return "GPU" if kind == GPU else kind


def _title(flow: Flow, node: PlanNode, device: Device, observation: Observation | None) -> list[Line]:
    head = _name(flow, node, device)
    pieces = list(_facts(flow, node, device, observation))
    return flow.lines(pieces, head=(*head, Run("   ", TEXT)), indent=2, separator="   ")


def _name(flow: Flow, node: PlanNode, device: Device) -> Line:
    what = "the node itself" if device.kind == NODE else f"{_noun(device.kind)} {device.index}"
    return (*flow.text(node.name, NODE_NAME), Run(flow.separator, FAINT), *flow.text(what, NODE_NAME))


def _facts(flow: Flow, node: PlanNode, device: Device, observation: Observation | None) -> Iterator[Line]:
    if device.kind == GPU:
        sample = observation.device(node.rank, device.index) if observation else None
        memory = f" {node.memory_gib:g} GiB" if node.memory_gib else ""
        yield flow.text(sample.name if sample and sample.name else f"{node.accelerator}{memory}", MUTED)
    elif device.kind == NODE:
        yield flow.text(count(node.gpus, "GPU"), MUTED)
    yield from _share(flow, device)
    if node.ip and node.ip != node.name:
        yield flow.text(node.ip, MUTED)
    if node.groups:
        yield flow.text(f"{'group' if len(node.groups) == 1 else 'groups'} {', '.join(node.groups)}", MUTED)


def _share(flow: Flow, device: Device) -> Iterator[Line]:
    if not device.occupants:
        yield flow.text("nobody on it" if device.kind == NODE else "free", EMPTY)
    elif device.total_share is not None:
        total = f"share {device.total_share:.2f} of 1.00"
        over = device.total_share > FULL
        yield flow.text(f"{total}, oversubscribed" if over else total, ERROR if over else SHARE)
    if len(device.occupants) > MOST:
        yield flow.text(f"{len(device.occupants)} processes", MUTED)


def _live(flow: Flow, device: Device, observation: Observation | None, histories: Sequence[History]) -> Iterator[Line]:
    if observation is None:
        return
    node = observation.node(device.node)
    if node is None:
        yield from flow.lines([flow.text("the node was not seen", WARNING)])
        return
    if device.kind == GPU:
        yield from device_lines(flow, observation, node, node.device(device.index), histories)
    yield from node_lines(flow, observation, node, labelled=device.kind != GPU)


def _compact(flow: Flow, describer: Describer, node: PlanNode, device: Device, notices: Sequence[str]) -> Inspection:
    """Title with memory, what is wrong, then a line per block as far as there is room."""
    title: list[Line] = [_name(flow, node, device), *_share(flow, device)]
    observation = describer.observation
    sample = observation.device(node.rank, device.index) if observation else None
    if observation and sample and device.kind == GPU:
        title.extend(short_memory(flow, observation, sample))
    found = Inspection([flow.cut(title)])
    if notices:
        more = f" (and {len(notices) - 1} more)" if len(notices) > 1 else ""
        found.lines.append(flow.cut([flow.text(f"! {notices[0]}{more}", WARNING)]))
    blocks = blocks_of(describer.plan, device.occupants)
    room = COMPACT - len(found.lines) - (len(blocks) > COMPACT - len(found.lines))
    for block in blocks[:room]:
        found.targets.append((len(found.lines), block.component.rule.path))
        found.lines.append(describer.short(block))
    if len(blocks) > room:
        found.lines.append(flow.cut([flow.text(f"and {len(blocks) - room} more", MUTED)]))
    return found
