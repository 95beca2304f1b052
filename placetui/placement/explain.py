"""Why is actor 3 there? Who is on node0/gpu5? Where is rollout? A plan explained, as data and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import Any, Protocol, TypeAlias

from placetui.placement.environment import interpreter, rank_environment, visible_devices_variable
from placetui.placement.names import Named, Names, UnknownName
from placetui.placement.placements import Placement
from placetui.placement.plan import GPU, NODE, Component, Device, Occupant, Plan
from placetui.placement.problems import Path, Span
from placetui.placement.ranks import Segment, resources_of
from placetui.placement.topology import CLUSTER, Node
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
    """What a plan says about `actor:3`, `actor:0-3`, `node0/gpu5`, `node0` or `actor`; raises `UnknownName`.

    `letters` are those that the drawing gives the components.
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
            devices = [one for one in plan.devices_of(node) if one.kind == named.kind]
            for index in numbers.below(len(devices)) if numbers else range(len(devices)):
                yield DeviceExplanation(plan, devices[index], locate)
        return
    yield from (NodeExplanation(plan, plan.nodes[node]) for node in named.nodes)
    for name in named.components:
        component = plan.components[name]
        ranks = list(numbers.below(component.world_size)) if numbers else None
        if ranks is None or len(ranks) > 1:
            yield ComponentExplanation(plan, component, locate, ranks)
        elif ranks:
            yield RankExplanation(plan, component, ranks[0], locate)


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

    @classmethod
    def of(cls, plan: Plan, component: Component, locate: Locate) -> Source:
        rule = component.rule
        line, column = locate(rule.path, None) or (None, None)
        return cls(rule.text, ",".join(rule.keys) or component.name, dotted(rule.path), plan.source, line, column)

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


class RankExplanation:
    """Where one rank is, and why."""

    def __init__(self, plan: Plan, component: Component, rank: int, locate: Locate) -> None:
        self._plan, self._component, self._rank = plan, component, rank
        self._placement = component.placements[rank]
        self._node = plan.nodes[self._placement.cluster_node_rank]
        self._kind = plan.kind_of(self._placement)
        self._rule = Source.of(plan, component, locate)
        self._numbers = _numbers(plan, component, rank)
        self._counted_over = (CLUSTER,) if component.strategy == "packed" else component.rule.groups
        self._segment = _segment(component, rank, self._numbers, locate)
        """None for slime files, and where a mode gives a rank what its rule does not name."""
        self._engine = component.engines[rank] if component.engines else None
        self._neighbours = list(_neighbours(plan, component.name, self._placement))
        self._interpreter = interpreter(plan, component.name, rank)
        self._environment = rank_environment(plan, component.name, rank)

    def to_dict(self) -> dict[str, Any]:
        component, placement, engine = self._component, self._placement, self._engine
        return {
            "schema": 1,
            "kind": "rank",
            "component": component.name,
            "rank": self._rank,
            "world_size": component.world_size,
            "rule": asdict(self._rule),
            "segment": asdict(self._segment) if self._segment else None,
            "numbers": self._numbers,
            "counted_over": list(self._counted_over),
            "node_group": placement.node_group_label,
            "node": self._node.rank,
            "node_name": self._node.name,
            "device_kind": self._kind,
            "devices": list(placement.devices),
            "local_rank": placement.local_rank,
            "local_world_size": placement.local_world_size,
            "accelerator_type": placement.accelerator_type,
            "visible_accelerators": list(placement.visible),
            "isolate_accelerator": placement.isolate_accelerator,
            "share": component.rank_share(self._rank),
            "mode": self._plan.mode,
            "placement_mode": self._plan.placement_mode,
            "strategy": component.strategy,
            "reasons": list(component.reasons),
            "engine": {key: one for key, one in engine._asdict().items() if one not in ("", None)} if engine else None,
            "neighbours": [one.to_dict() for one in self._neighbours],
            "interpreter": self._interpreter,
            "environment": self._environment,
            **({} if placement.fixed else {"fixed": False}),
            **({} if placement.node_fixed else {"node_fixed": False}),
        }

    def lines(self) -> Iterator[str]:
        yield f"{self._component.name} {self._rank} is on {self._place()}"
        yield from _field_lines(self._fields())
        yield "  environment"
        yield from (f"    {name}={value}" for name, value in self._environment.items())

    def _place(self) -> str:
        return place_text(self._node.name, self._kind, self._placement.devices)

    def _fields(self) -> Iterator[tuple[str, str]]:
        component, placement, engine = self._component, self._placement, self._engine
        yield "rule", str(self._rule)
        if self._segment:
            yield "segment", f"`{self._segment.text}`: {self._segment.spread}"
        local = f"local rank {placement.local_rank} of {placement.local_world_size} on its node"
        yield "process", f"rank {self._rank} of {component.world_size}; {local}"
        yield "device" if self._kind != NODE else "node", self._counted()
        if engine:
            part = f", part {engine.part} of {engine.parts}" if engine.parts > 1 else ""
            group = f" of group {engine.group}" if engine.group else ""
            yield "engine", f"engine {engine.engine}{group}{part}"
        yield from _mode_and_reasons(self._plan, component)
        if (share := component.rank_share(self._rank)) is not None:
            yield "share", self._share(share_text(share))
        if self._neighbours:
            yield "beside", ", ".join(starmap(_with_share, occupants_text(self._neighbours)))
        yield "sees", self._sees()
        yield "python", self._interpreter or "the one that runs Ray on the node"

    def _counted(self) -> str:
        number, where = ranges(self._numbers), self._place()
        if not self._placement.node_fixed:
            return f"not fixed before launch: Ray may choose another node than {where}"
        if not self._placement.fixed:
            return f"not fixed before launch: Ray is expected to give {where}"
        if not self._component.rule.segments:  # a file without rules that count devices
            return f"slot {number} over the nodes in order: {where}"
        counted = "node" if self._kind == NODE else kind_name(self._kind)
        labels = self._counted_over
        names = listing(quoted(labels))
        over = f"node group {names}" if len(labels) == 1 else f"node groups {names}, counted in this order"
        own = f", in `{self._placement.node_group_label}`" if len(labels) > 1 else ""
        over = "all nodes" if labels == (CLUSTER,) else over
        return f"{counted} {number} of {over}: {where} (node rank {self._node.rank}{own})"

    def _share(self, share: str) -> str:
        devices = self._placement.devices
        if len(devices) < 2:
            return f"{share} of {device_text(self._kind, devices)}"
        return f"{share} of each of its {count(len(devices), 'device')}; Ray reserves only the first of them"

    def _sees(self) -> str:
        placement = self._placement
        if not placement.visible:
            return "no accelerator"
        seen = f"GPU {ranges(map(int, placement.visible))}"
        if self._plan.chooses_by_id:
            return f"{seen}: all of the node; it chooses by id"
        variable = visible_devices_variable(placement.accelerator_type)
        told = f" ({variable}={self._environment[variable]})" if variable else ""
        alone = placement.isolate_accelerator and self._kind == GPU
        return f"{seen}{told}" if alone else f"{seen}{told}: all of the node"


def _numbers(plan: Plan, component: Component, rank: int) -> list[int]:
    """Devices of a rank as its rule counts them; slots in slime files."""
    if component.strategy != "packed":
        return list(resources_of(component.rule.segments, rank))
    placement = component.placements[rank]
    return [plan.topology.first_gpu[placement.cluster_node_rank] + index for index in placement.devices]


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


def why(plan: Plan, component: Component, rank: int) -> list[str]:
    """Why a rank is where it is: how its rule is spread, and what the framework adds."""
    # The segments of packed components only say which devices are meant: less than the reasons of the framework.
    told = component.rule.segments and (component.strategy != "packed" or not component.reasons)
    segment = _segment(component, rank, _numbers(plan, component, rank), _nowhere) if told else None
    return [*([segment.spread] if segment else ()), *component.reasons]


def _neighbours(plan: Plan, name: str, placement: Placement) -> Iterator[Occupant]:
    kind, owned = plan.kind_of(placement), placement.devices or [0]
    seen = {(name, placement.rank)}
    for device in plan.devices_of(placement.cluster_node_rank):
        if device.kind == kind and device.index in owned:
            for occupant in device.occupants:
                if (occupant.component, occupant.rank) not in seen:
                    seen.add((occupant.component, occupant.rank))
                    yield occupant


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


class DeviceExplanation:
    """Who is on a device, and who only sees it."""

    def __init__(self, plan: Plan, device: Device, locate: Locate) -> None:
        self._plan, self._device = plan, device
        self._node = plan.nodes[device.node]
        self._residents = [
            _resident(plan, plan.components[name], ranks, share, locate)
            for (name, share), ranks in _by_component(device.occupants).items()
        ]
        self._seen_by = _seen_by(plan, device) if device.kind == GPU else {}

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "kind": "device",
            "node": self._node.rank,
            "node_name": self._node.name,
            "device_kind": self._device.kind,
            "index": self._device.index,
            "total_share": self._device.total_share,
            "residents": [asdict(one) for one in self._residents],
            "seen_by": self._seen_by,
            "mode": self._plan.mode,
        }

    def lines(self) -> Iterator[str]:
        device = self._device
        where = place_text(self._node.name, device.kind, [device.index])
        if not device.occupants:
            yield f"{where} is empty"
        elif device.total_share is None:
            yield f"{where}: {count(len(device.occupants), 'process')}"
        else:
            yield f"{where}: shares add up to {share_text(device.total_share)}"
        for one in self._residents:
            yield f"  {_with_share(*_ranks_text(one.component, one.ranks, one.share))}"
            yield f"    rule  {one.rule}"
            if one.devices != [device.index]:
                yield f"    with  {place_text(self._node.name, device.kind, one.devices)}"
            yield from (f"    why   {reason}" for reason in one.reasons)
        if self._plan.chooses_by_id and self._seen_by:
            yield "  seen by every process of the node: they choose by id"
        elif self._seen_by:
            seen = ", ".join(f"{component} {ranks}" for component, ranks in self._seen_by.items())
            yield f"  seen, not owned, by {seen}"


def _resident(plan: Plan, component: Component, ranks: list[int], share: float | None, locate: Locate) -> Resident:
    devices = sorted({index for rank in ranks for index in component.placements[rank].devices})
    rule = Source.of(plan, component, locate)
    return Resident(component.name, ranks, share, devices, rule, list(component.reasons))


def _seen_by(plan: Plan, device: Device) -> dict[str, str]:
    """Ranks by component that see a GPU without owning it."""
    own = {(owner.component, owner.rank) for owner in device.occupants}
    found: dict[str, list[int]] = {}
    for component, placement in plan.residents(device.node):
        if str(device.index) in placement.visible and (component.name, placement.rank) not in own:
            found.setdefault(component.name, []).append(placement.rank)
    return {name: ranges(ranks) for name, ranks in found.items()}


class NodeExplanation:
    """Who is on a node."""

    def __init__(self, plan: Plan, node: Node) -> None:
        self._node = node
        self._devices = plan.devices_of(node.rank)
        self._services = [
            f"{one.name} ({one.cpus:g} CPUs, {plan.framework}'s own)" for one in plan.services if one.node == node.rank
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "kind": "node",
            "node": self._node.rank,
            "node_name": self._node.name,
            "ip": self._node.ip,
            "accelerator": self._node.accelerator,
            "groups": list(self._node.groups),
            "devices": [device.to_dict() for device in self._devices],
            "services": self._services,
        }

    def lines(self) -> Iterator[str]:
        node = self._node
        about = [f"node rank {node.rank}", *([node.ip] if node.ip else []), count(node.gpus, "GPU")]
        if node.gpus:
            about.append(node.accelerator)
        if node.groups:
            about.append(f"{'groups' if len(node.groups) > 1 else 'group'} {', '.join(node.groups)}")
        yield f"{node.name}: {', '.join(about)}"
        for device in self._devices:
            who = ", ".join(starmap(_with_share, occupants_text(device.occupants)))
            name = "the node" if device.kind == NODE else f"{kind_name(device.kind)} {device.index}"
            yield f"  {name:<10}{who or 'empty'}"
        yield from (f"  {'the node':<10}{service}" for service in self._services)


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Ranks of a component on one node."""

    node: int
    node_name: str
    device_kind: str
    ranks: list[int]
    devices: list[list[int]]
    """Of each rank."""


class ComponentExplanation:
    """Where a component is, or some of its ranks, node by node."""

    def __init__(self, plan: Plan, component: Component, locate: Locate, ranks: list[int] | None = None) -> None:
        self._plan, self._component, self._ranks = plan, component, ranks
        self._rule = Source.of(plan, component, locate)
        self._engines = len({one.engine for one in component.engines})
        self._parts_per_engine = component.parts_per_engine or 1
        self._rows: list[NodeRow] = []
        for placement in component.placements if ranks is None else [component.placements[rank] for rank in ranks]:
            node, kind = placement.cluster_node_rank, plan.kind_of(placement)
            if not self._rows or (self._rows[-1].node, self._rows[-1].device_kind) != (node, kind):
                self._rows.append(NodeRow(node, plan.nodes[node].name, kind, [], []))
            self._rows[-1].ranks.append(placement.rank)
            self._rows[-1].devices.append(list(placement.devices))

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "kind": "component" if self._ranks is None else "ranks",
            "component": self._component.name,
            "world_size": self._component.world_size,
            "share": self._component.share,
            "mode": self._plan.mode,
            "placement_mode": self._plan.placement_mode,
            "strategy": self._component.strategy,
            "rule": asdict(self._rule),
            "reasons": list(self._component.reasons),
            "engines": self._engines,
            "parts_per_engine": self._parts_per_engine,
            "nodes": [asdict(row) for row in self._rows],
            **({} if self._ranks is None else {"ranks": self._ranks}),
        }

    def lines(self) -> Iterator[str]:
        used = count(len({row.node for row in self._rows}), "node")
        name, size = self._component.name, count(self._component.world_size, "rank")
        if self._ranks is None:
            yield f"{name}: {size} on {used}"
        else:
            yield f"{name} {ranges(self._ranks)}: {len(self._ranks)} of {size} on {used}"
        yield from _field_lines(self._fields())
        table = list(self._table())
        widths = [max((len(row[column]) for row in table), default=0) for column in range(2)]
        yield from (f"  {one:<{widths[0]}}  {two:<{widths[1]}}  {three}" for one, two, three in table)

    def _fields(self) -> Iterator[tuple[str, str]]:
        component, engines, parts = self._component, self._engines, self._parts_per_engine
        yield "rule", str(self._rule)
        yield from _mode_and_reasons(self._plan, component)
        if component.share is not None:
            yield "share", f"{share_text(component.share)} of a device"
        if parts > 1 and self._ranks is None:
            each = "each in" if component.world_size == engines * parts else "the largest in"
            yield "engines", f"{engines}, {each} {parts} parts"

    def _table(self) -> Iterator[tuple[str, str, str]]:
        """Node, ranks, devices; neighbouring nodes that look alike share a line."""
        alike: list[NodeRow] = []
        for row in self._rows:
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


def occupants_text(occupants: Iterable[Occupant]) -> Iterator[tuple[str, str]]:
    """`agent 0-199 ×200`, and the share of each: one for every component and share."""
    for (component, share), ranks in _by_component(occupants).items():
        yield _ranks_text(component, ranks, share)


def _by_component(occupants: Iterable[Occupant]) -> dict[tuple[str, float | None], list[int]]:
    found: dict[tuple[str, float | None], list[int]] = {}
    for one in occupants:
        found.setdefault((one.component, one.share), []).append(one.rank)
    return found


def _ranks_text(component: str, ranks: list[int], share: float | None) -> tuple[str, str]:
    times = f" ×{len(ranks)}" if len(ranks) > 1 else ""
    return f"{component} {ranges(ranks)}{times}", share_text(share)


def _with_share(who: str, share: str) -> str:
    """`actor 3 (0.80)`, or only who where there is no share."""
    return who if share == NO_SHARE else f"{who} ({share})"


def _field_lines(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Names and values as indented lines; a repeated name is shown once."""
    before = ""
    for name, value in pairs:
        yield f"  {'' if name == before else name:<10}{value}"
        before = name


def _mode_and_reasons(plan: Plan, component: Component) -> Iterator[tuple[str, str]]:
    """`model_parallel (collocated)`; the second only where it says more."""
    more = f" ({plan.placement_mode})" if plan.placement_mode not in (None, plan.mode) else ""
    yield "mode", f"{plan.mode}{more}, {component.strategy} strategy"
    yield from (("why", reason) for reason in component.reasons)
