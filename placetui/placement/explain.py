"""Why is actor 3 there? Who is on node0/gpu5? Where is rollout? A plan explained, as data and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import Any, Protocol, TypeAlias

from placetui.placement.environment import interpreter, rank_environment, visible_devices_variable
from placetui.placement.names import Named, Names, UnknownName
from placetui.placement.plan import GPU, NODE, Component, Device, Occupant, Plan, RankOfEngine
from placetui.placement.problems import Path, Span
from placetui.placement.ranks import Segment, spread
from placetui.placement.topology import CLUSTER
from placetui.placement.wording import (
    NO_SHARE,
    count,
    device_text,
    dotted,
    kind_name,
    listing,
    pattern_text,
    place_text,
    quoted,
    ranges,
    share_text,
)

Locate: TypeAlias = Callable[[Path, Span | None], tuple[int, int] | None]
"""Line and column of a value in the file, or of a part of its text."""


class Explanation(Protocol):
    """An answer, as data and in words. `docs/json.md` describes the data."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `placetui explain --json`."""

    def lines(self) -> Iterator[str]:
        """The answer for people."""


def explain(
    plan: Plan, what: str, locate: Locate | None = None, *, letters: Mapping[str, str] | None = None
) -> Explanation:
    """What a plan says about ranks, devices, nodes or components.

    Args:
        plan: As far as it resolves.
        what: `actor:3`, `actor:0-3`, `node0/gpu5`, `node0` or `actor`; see `placetui.placement.names`.
        locate: Finds values in the file, for line and column of rules.
        letters: By component, the letter that the drawing gives it.

    Raises:
        UnknownName: nothing in the plan is called so.
    """
    named = Names(plan, letters).read(what)
    answers = list(_answers(plan, named, locate or _nowhere))
    if not answers:
        raise UnknownName(f"there is no {named.about}", named.nothing)
    return answers[0] if len(answers) == 1 else SeveralExplanations(answers)


def _answers(plan: Plan, named: Named, locate: Locate) -> Iterator[Explanation]:
    numbers = named.numbers
    if named.kind:
        for node in named.nodes:
            there = sum(one.kind == named.kind for one in plan.devices_of(node))
            for index in numbers.below(there) if numbers else range(there):
                yield explain_device(plan, node, named.kind, index, locate)
        return
    yield from (explain_node(plan, node) for node in named.nodes)
    for name in named.components:
        ranks = list(numbers.below(plan.components[name].world_size)) if numbers else None
        if ranks is None or len(ranks) > 1:
            yield explain_component(plan, name, locate, ranks)
        elif ranks:
            yield explain_rank(plan, name, ranks[0], locate)


@dataclass(frozen=True, slots=True)
class SeveralExplanations:
    """Answers for several things that go by one name."""

    parts: list[Explanation]

    def to_dict(self) -> dict[str, Any]:
        return {"schema": 1, "kind": "several", "parts": [part.to_dict() for part in self.parts]}

    def lines(self) -> Iterator[str]:
        for number, part in enumerate(self.parts):
            if number:
                yield ""
            yield from part.lines()


def _nowhere(path: Path, span: Span | None) -> None:
    """For plans that come from no file."""


@dataclass(frozen=True, slots=True)
class Source:
    """A rule, and where it is written."""

    text: str
    key: str
    """What stands before it: `actor,rollout`."""

    path: str
    file: str
    line: int | None
    column: int | None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part not in ("", None))
        return f"`{self.key}: {self.text.strip()}`" + (f" at {place}" if place else "")


@dataclass(frozen=True, slots=True)
class SegmentUsed:
    """The piece of a rule that a rank comes from."""

    text: str
    resources: str
    processes: str
    line: int | None
    column: int | None
    spread: str
    """In words, how the processes are spread over the resources."""


@dataclass(frozen=True, slots=True)
class RankExplanation:
    """Where one rank is, and why."""

    component: str
    rank: int
    world_size: int
    rule: Source
    segment: SegmentUsed | None
    """None for slime files, and where a mode gives a rank what its rule does not name."""

    numbers: list[int]
    """Its devices (nodes, for a process on a node) as the rule counts them; slots in slime files."""

    counted_over: list[str]
    """Node groups whose devices are counted, in order."""

    node_group: str
    node: int
    node_name: str
    device_kind: str
    devices: list[int]
    """Indices on the node; empty for a process on a node."""

    local_rank: int
    local_world_size: int
    accelerator_type: str
    visible_accelerators: list[str]
    isolate_accelerator: bool
    share: float | None
    mode: str
    placement_mode: str | None
    strategy: str
    reasons: list[str]
    engine: RankOfEngine | None
    neighbours: list[Occupant]
    """Others on its devices."""

    interpreter: str | None
    environment: dict[str, str]
    by_slot: bool
    """Whether the file has no rule that counts devices: slots fill the nodes in order."""

    by_id: bool
    """Whether it sees all devices of its node and chooses by id."""

    fixed: bool = True
    node_fixed: bool = True
    """Whether the framework decides device and node before launch."""

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self)
        for name in ("fixed", "node_fixed"):
            if fields[name]:
                del fields[name]
        del fields["by_slot"], fields["by_id"]
        fields["neighbours"] = [one.to_dict() for one in self.neighbours]
        if self.engine:
            fields["engine"] = {name: value for name, value in self.engine._asdict().items() if value not in ("", None)}
        return {"schema": 1, "kind": "rank", **fields}

    def lines(self) -> Iterator[str]:
        yield f"{self.component} {self.rank} is on {place_text(self.node_name, self.device_kind, self.devices)}"
        yield from _field_lines(self._fields())
        yield "  environment"
        yield from (f"    {name}={value}" for name, value in self.environment.items())

    def _fields(self) -> Iterator[tuple[str, str]]:
        yield "rule", str(self.rule)
        if self.segment:
            yield "segment", f"`{self.segment.text}`: {self.segment.spread}"
        local = f"local rank {self.local_rank} of {self.local_world_size} on its node"
        yield "process", f"rank {self.rank} of {self.world_size}; {local}"
        yield "device" if self.device_kind != NODE else "node", self._counted()
        if self.engine:
            part = f", part {self.engine.part} of {self.engine.parts}" if self.engine.parts > 1 else ""
            group = f" of group {self.engine.group}" if self.engine.group else ""
            yield "engine", f"engine {self.engine.engine}{group}{part}"
        yield "mode", f"{_mode_text(self.mode, self.placement_mode)}, {self.strategy} strategy"
        yield from (("why", reason) for reason in self.reasons)
        if self.share is not None:
            yield "share", self._share()
        if self.neighbours:
            yield "beside", ", ".join(starmap(_with_share, occupants_text(self.neighbours)))
        yield "sees", self._sees()
        yield "python", self.interpreter or "the one that runs Ray on the node"

    def _counted(self) -> str:
        number = ranges(self.numbers)
        where = place_text(self.node_name, self.device_kind, self.devices)
        if not self.node_fixed:
            return f"not fixed before launch: Ray may choose another node than {where}"
        if not self.fixed:
            return f"not fixed before launch: Ray is expected to give {where}"
        if self.by_slot:
            return f"slot {number} over the nodes in order: {where}"
        counted = "node" if self.device_kind == NODE else kind_name(self.device_kind)
        over = "all nodes" if self.counted_over == [CLUSTER] else _groups_text(self.counted_over)
        own = f", in `{self.node_group}`" if len(self.counted_over) > 1 else ""
        return f"{counted} {number} of {over}: {where} (node rank {self.node}{own})"

    def _share(self) -> str:
        if len(self.devices) < 2:
            return f"{share_text(self.share)} of {device_text(self.device_kind, self.devices)}"
        each = f"{share_text(self.share)} of each of its {count(len(self.devices), 'device')}"
        return f"{each}; Ray reserves only the first of them"

    def _sees(self) -> str:
        if not self.visible_accelerators:
            return "no accelerator"
        seen = f"GPU {ranges(map(int, self.visible_accelerators))}"
        if self.by_id:
            return f"{seen}: all of the node; it chooses by id"
        variable = visible_devices_variable(self.accelerator_type)
        told = f" ({variable}={self.environment[variable]})" if variable else ""
        alone = self.isolate_accelerator and self.device_kind == GPU
        return f"{seen}{told}" if alone else f"{seen}{told}: all of the node"


def explain_rank(plan: Plan, name: str, rank: int, locate: Locate) -> RankExplanation:
    """Why a rank is where it is."""
    component = plan.components[name]
    placement = component.placements[rank]
    node = plan.nodes[placement.cluster_node_rank]
    numbers = _numbers(plan, component, rank)
    return RankExplanation(
        component=name,
        rank=rank,
        world_size=component.world_size,
        rule=source_of(plan, component, locate),
        segment=_segment(component, rank, numbers, locate),
        numbers=numbers,
        counted_over=[CLUSTER] if component.strategy == "packed" else list(component.rule.groups),
        node_group=placement.node_group_label,
        node=node.rank,
        node_name=node.name,
        device_kind=plan.kind_of(placement),
        devices=list(placement.devices),
        local_rank=placement.local_rank,
        local_world_size=placement.local_world_size,
        accelerator_type=placement.accelerator_type,
        visible_accelerators=list(placement.visible),
        isolate_accelerator=placement.isolate_accelerator,
        share=component.rank_share(rank),
        mode=plan.mode,
        placement_mode=plan.placement_mode,
        strategy=component.strategy,
        reasons=list(component.reasons),
        engine=component.engines[rank] if component.engines else None,
        neighbours=list(_neighbours(plan, name, rank)),
        interpreter=interpreter(plan, name, rank),
        environment=rank_environment(plan, name, rank),
        by_slot=not component.rule.segments,
        by_id=plan.chooses_by_id,
        fixed=placement.fixed,
        node_fixed=placement.node_fixed,
    )


def source_of(plan: Plan, component: Component, locate: Locate) -> Source:
    """The rule of a component with its place."""
    rule = component.rule
    line, column = locate(rule.path, None) or (None, None)
    return Source(rule.text, ",".join(rule.keys) or component.name, dotted(rule.path), plan.source, line, column)


def _numbers(plan: Plan, component: Component, rank: int) -> list[int]:
    """Devices of a rank as its rule counts them."""
    if component.strategy != "packed":
        first, size = spread(component.rule.segments)[rank]
        return list(range(first, first + size))
    placement = component.placements[rank]
    before = sum(node.gpus for node in plan.nodes[: placement.cluster_node_rank])
    return [before + index for index in placement.devices]


def _segment(component: Component, rank: int, numbers: list[int], locate: Locate) -> SegmentUsed | None:
    packed = component.strategy == "packed"
    for segment in component.rule.segments:
        if (numbers and numbers[0] in segment.resources) if packed else rank in segment.processes:
            line, column = locate(component.rule.path, segment.span) or (None, None)
            noun = "node" if component.strategy == "node" else "device"
            resources = ranges(segment.resources)
            return SegmentUsed(
                text=component.rule.text[slice(*segment.span)],
                resources=resources,
                processes=ranges(segment.processes),
                line=line,
                column=column,
                spread=f"devices {resources}" if packed else _spread_text(segment, noun),
            )
    return None


def _neighbours(plan: Plan, name: str, rank: int) -> Iterator[Occupant]:
    placement = plan.components[name].placements[rank]
    kind = plan.kind_of(placement)
    owned = placement.devices or [0]
    seen = {(name, rank)}
    for device in plan.devices_of(placement.cluster_node_rank):
        if device.kind == kind and device.index in owned:
            for occupant in device.occupants:
                if (occupant.component, occupant.rank) not in seen:
                    seen.add((occupant.component, occupant.rank))
                    yield occupant


def _groups_text(labels: list[str]) -> str:
    names = listing(quoted(labels))
    return f"node group {names}" if len(labels) == 1 else f"node groups {names}, counted in this order"


def _spread_text(segment: Segment, noun: str) -> str:
    resources, processes = segment.resources, segment.processes
    text = f"processes {ranges(processes)} over {noun}s {ranges(resources)}"
    if len(resources) > len(processes):
        return f"{text}, {count(len(resources) // len(processes), noun)} each"
    if len(processes) > len(resources):
        return f"{text}, {len(processes) // len(resources)} on each"
    return f"{text}, one on each"


@dataclass(frozen=True, slots=True)
class Resident:
    """The ranks of one component on a device, and why they are there."""

    component: str
    ranks: list[int]
    share: float | None
    """Of each."""

    devices: list[int]
    """All that these ranks hold on the node: more than this one where a process spans several."""

    rule: Source
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class DeviceExplanation:
    """Who is on a device."""

    node: int
    node_name: str
    device_kind: str
    index: int
    total_share: float | None
    residents: list[Resident]
    seen_by: dict[str, str]
    """Ranks by component that see this GPU without owning it."""

    mode: str
    by_id: bool
    """Whether every process sees all devices of its node and chooses by id."""

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["by_id"]
        return {"schema": 1, "kind": "device", **fields}

    def lines(self) -> Iterator[str]:
        where = place_text(self.node_name, self.device_kind, [self.index])
        if not self.residents:
            yield f"{where} is empty"
        elif self.total_share is None:
            yield f"{where}: {count(sum(len(one.ranks) for one in self.residents), 'process')}"
        else:
            yield f"{where}: shares add up to {share_text(self.total_share)}"
        for one in self.residents:
            times = f" ×{len(one.ranks)}" if len(one.ranks) > 1 else ""
            yield f"  {_with_share(f'{one.component} {ranges(one.ranks)}{times}', share_text(one.share))}"
            yield f"    rule  {one.rule}"
            if one.devices != [self.index]:
                yield f"    with  {place_text(self.node_name, self.device_kind, one.devices)}"
            yield from (f"    why   {reason}" for reason in one.reasons)
        if self.by_id and self.seen_by:
            yield "  seen by every process of the node: they choose by id"
        elif self.seen_by:
            seen = ", ".join(f"{component} {ranks}" for component, ranks in self.seen_by.items())
            yield f"  seen, not owned, by {seen}"


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """Who is on a node."""

    node: int
    node_name: str
    ip: str
    accelerator: str
    groups: list[str]
    devices: list[Device]
    services: list[str]
    """Processes that the framework adds by itself."""

    def to_dict(self) -> dict[str, Any]:
        return {"schema": 1, "kind": "node", **asdict(self), "devices": [device.to_dict() for device in self.devices]}

    def lines(self) -> Iterator[str]:
        gpus = sum(device.kind == GPU for device in self.devices)
        about = [f"node rank {self.node}", *([self.ip] if self.ip else []), count(gpus, "GPU")]
        if gpus:
            about.append(self.accelerator)
        if self.groups:
            about.append(f"{'groups' if len(self.groups) > 1 else 'group'} {', '.join(self.groups)}")
        yield f"{self.node_name}: {', '.join(about)}"
        for device in self.devices:
            who = ", ".join(starmap(_with_share, occupants_text(device.occupants)))
            name = "the node" if device.kind == NODE else f"{kind_name(device.kind)} {device.index}"
            yield f"  {name:<10}{who or 'empty'}"
        yield from (f"  {'the node':<10}{service}" for service in self.services)


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Ranks of a component on one node."""

    node: int
    node_name: str
    device_kind: str
    ranks: list[int]
    devices: list[list[int]]
    """Of each rank."""


@dataclass(frozen=True, slots=True)
class ComponentExplanation:
    """Where a component is, or some of its ranks."""

    component: str
    world_size: int
    share: float | None
    mode: str
    placement_mode: str | None
    strategy: str
    rule: Source
    reasons: list[str]
    engines: int
    parts_per_engine: int
    nodes: list[NodeRow]
    ranks: list[int] | None = None
    """Those asked for; None for all."""

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self)
        if self.ranks is None:
            del fields["ranks"]
        return {"schema": 1, "kind": "component" if self.ranks is None else "ranks", **fields}

    def lines(self) -> Iterator[str]:
        used = count(len({row.node for row in self.nodes}), "node")
        if self.ranks is None:
            yield f"{self.component}: {count(self.world_size, 'rank')} on {used}"
        else:
            these = f"{len(self.ranks)} of {count(self.world_size, 'rank')}"
            yield f"{self.component} {ranges(self.ranks)}: {these} on {used}"
        yield from _field_lines(self._fields())
        table = list(self._table())
        widths = [max((len(row[column]) for row in table), default=0) for column in range(2)]
        yield from (f"  {one:<{widths[0]}}  {two:<{widths[1]}}  {three}" for one, two, three in table)

    def _fields(self) -> Iterator[tuple[str, str]]:
        yield "rule", str(self.rule)
        yield "mode", f"{_mode_text(self.mode, self.placement_mode)}, {self.strategy} strategy"
        yield from (("why", reason) for reason in self.reasons)
        if self.share is not None:
            yield "share", f"{share_text(self.share)} of a device"
        if self.parts_per_engine > 1 and self.ranks is None:
            each = "each in" if self.world_size == self.engines * self.parts_per_engine else "the largest in"
            yield "engines", f"{self.engines}, {each} {self.parts_per_engine} parts"

    def _table(self) -> Iterator[tuple[str, str, str]]:
        """Node, ranks, devices; neighbouring nodes that look alike share a line."""
        alike: list[NodeRow] = []
        for row in self.nodes:
            if alike and not _goes_on(alike[-1], row):
                yield _table_row(alike)
                alike = []
            alike.append(row)
        if alike:
            yield _table_row(alike)


def _goes_on(before: NodeRow, row: NodeRow) -> bool:
    return (
        row.node == before.node + 1
        and row.device_kind == before.device_kind
        and row.devices == before.devices
        and row.ranks[0] == before.ranks[-1] + 1
    )


def _table_row(rows: list[NodeRow]) -> tuple[str, str, str]:
    first, last = rows[0], rows[-1]
    pattern = pattern_text(first.device_kind, first.devices)
    if len(rows) == 1:
        return first.node_name, ranges(first.ranks), pattern
    ranks = f"{first.ranks[0]}-{last.ranks[-1]}"
    return f"{first.node_name} … {last.node_name}", ranks, f"{pattern} on each of {len(rows)} nodes"


def explain_device(plan: Plan, node: int, kind: str, index: int, locate: Locate) -> DeviceExplanation:
    """Who is on a device, and who only sees it."""
    device = next(one for one in plan.devices_of(node) if (one.kind, one.index) == (kind, index))
    found: dict[tuple[str, float | None], list[int]] = {}
    for one in device.occupants:
        found.setdefault((one.component, one.share), []).append(one.rank)
    residents = [_resident(plan, plan.components[name], ranks, share, locate) for (name, share), ranks in found.items()]
    return DeviceExplanation(
        node=node,
        node_name=plan.nodes[node].name,
        device_kind=kind,
        index=index,
        total_share=device.total_share,
        residents=residents,
        seen_by=_seen_by(plan, node, index, device.occupants) if kind == GPU else {},
        mode=plan.mode,
        by_id=plan.chooses_by_id,
    )


def _resident(plan: Plan, component: Component, ranks: list[int], share: float | None, locate: Locate) -> Resident:
    devices = sorted({index for rank in ranks for index in component.placements[rank].devices})
    return Resident(component.name, ranks, share, devices, source_of(plan, component, locate), list(component.reasons))


def _seen_by(plan: Plan, node: int, index: int, owners: tuple[Occupant, ...]) -> dict[str, str]:
    own = {(owner.component, owner.rank) for owner in owners}
    found = {}
    for name, component in plan.components.items():
        ranks = [
            placement.rank
            for placement in component.placements
            if placement.cluster_node_rank == node
            and str(index) in placement.visible
            and (name, placement.rank) not in own
        ]
        if ranks:
            found[name] = ranges(ranks)
    return found


def explain_node(plan: Plan, rank: int) -> NodeExplanation:
    """Who is on a node."""
    node = plan.nodes[rank]
    return NodeExplanation(
        node=rank,
        node_name=node.name,
        ip=node.ip,
        accelerator=node.accelerator,
        groups=list(node.groups),
        devices=list(plan.devices_of(rank)),
        services=[
            f"{one.name} ({one.cpus:g} CPUs, {plan.framework}'s own)" for one in plan.services if one.node == rank
        ],
    )


def explain_component(plan: Plan, name: str, locate: Locate, ranks: list[int] | None = None) -> ComponentExplanation:
    """Where a component is, or some of its ranks, node by node."""
    component = plan.components[name]
    rows: list[NodeRow] = []
    for placement in component.placements if ranks is None else [component.placements[rank] for rank in ranks]:
        node, kind = placement.cluster_node_rank, plan.kind_of(placement)
        if not rows or (rows[-1].node, rows[-1].device_kind) != (node, kind):
            rows.append(NodeRow(node, plan.nodes[node].name, kind, [], []))
        rows[-1].ranks.append(placement.rank)
        rows[-1].devices.append(list(placement.devices))
    return ComponentExplanation(
        component=name,
        world_size=component.world_size,
        share=component.share,
        mode=plan.mode,
        placement_mode=plan.placement_mode,
        strategy=component.strategy,
        rule=source_of(plan, component, locate),
        reasons=list(component.reasons),
        engines=len({one.engine for one in component.engines}),
        parts_per_engine=component.parts_per_engine or 1,
        nodes=rows,
        ranks=ranks,
    )


def occupants_text(occupants: Iterable[Occupant]) -> Iterator[tuple[str, str]]:
    """`agent 0-199 ×200`, and the share of each: one forevery component and share."""
    found: dict[tuple[str, float | None], list[int]] = {}
    for one in occupants:
        found.setdefault((one.component, one.share), []).append(one.rank)
    for (component, share), ranks in found.items():
        times = f" ×{len(ranks)}" if len(ranks) > 1 else ""
        yield f"{component} {ranges(ranks)}{times}", share_text(share)


def _with_share(who: str, share: str) -> str:
    """`actor 3 (0.80)`, or only who where there is no share."""
    return who if share == NO_SHARE else f"{who} ({share})"


def _field_lines(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Names and values as indented lines; a repeated name is shown once."""
    before = ""
    for name, value in pairs:
        yield f"  {'' if name == before else name:<10}{value}"
        before = name


def _mode_text(mode: str, placement_mode: str | None) -> str:
    """`model_parallel (collocated)`; the second only where it says more."""
    return f"{mode} ({placement_mode})" if placement_mode not in (None, mode) else mode
