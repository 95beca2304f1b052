"""Why is actor 3 there? Rule, segment, device, share and environment of one rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import Any, TypeAlias

from placetui.placement.environment import interpreter, rank_environment, visible_devices_variable
from placetui.placement.plan import GPU, NODE, Component, Occupant, Plan
from placetui.placement.problems import Path, Span, count, dotted, listing, quoted
from placetui.placement.ranks import Segment, spread
from placetui.placement.topology import CLUSTER
from placetui.placement.wording import (
    device_text,
    field_lines,
    kind_name,
    mode_text,
    occupants_text,
    place_text,
    ranges,
    share_text,
    with_share,
)

Locate: TypeAlias = Callable[[Path, Span | None], tuple[int, int] | None]
"""Line and column of a value in the file, or of a part of its text."""


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
class EnginePart:
    """slime rollout: which engine a rank belongs to."""

    engine: int
    part: int
    parts: int


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
    engine: EnginePart | None
    neighbours: list[Occupant]
    """Others on its devices."""

    interpreter: str | None
    environment: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return {"schema": 1, "kind": "rank", **asdict(self)}

    def lines(self) -> Iterator[str]:
        yield f"{self.component} {self.rank} is on {place_text(self.node_name, self.device_kind, self.devices)}"
        yield from field_lines(self._fields())
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
            yield "engine", f"engine {self.engine.engine}{part}"
        yield "mode", f"{mode_text(self.mode, self.placement_mode)}, {self.strategy} strategy"
        yield from (("why", reason) for reason in self.reasons)
        if self.share is not None:
            yield "share", self._share()
        if self.neighbours:
            yield "beside", ", ".join(starmap(with_share, occupants_text(self.neighbours)))
        yield "sees", self._sees()
        yield "python", self.interpreter or "the one that runs Ray on the node"

    def _counted(self) -> str:
        number = ranges(self.numbers)
        where = place_text(self.node_name, self.device_kind, self.devices)
        if self.mode == "slime":
            return f"slot {number} over the nodes in order: {where}"
        counted = "node" if self.device_kind == NODE else kind_name(self.device_kind)
        over = "all nodes" if self.counted_over == [CLUSTER] else _groups_text(self.counted_over)
        own = f", in `{self.node_group}`" if len(self.counted_over) > 1 else ""
        return f"{counted} {number} of {over}: {where} (node rank {self.node}{own})"

    def _share(self) -> str:
        if len(self.devices) < 2:
            return f"{share_text(self.share)} of {device_text(self.device_kind, self.devices)}"
        each = f"{share_text(self.share)} of each of its {count(len(self.devices), 'device')}"
        return f"{each}; in Ray's books it stands on the first of them only"

    def _sees(self) -> str:
        if not self.visible_accelerators:
            return "no accelerator"
        seen = f"GPU {ranges(map(int, self.visible_accelerators))}"
        if self.mode == "slime":
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
    parts = component.parts_per_engine
    is_engine = plan.mode == "slime" and name == "rollout"
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
        devices=list(placement.local_hardware_ranks),
        local_rank=placement.local_rank,
        local_world_size=placement.local_world_size,
        accelerator_type=placement.accelerator_type,
        visible_accelerators=list(placement.visible_accelerators),
        isolate_accelerator=placement.isolate_accelerator,
        share=component.rank_share(rank),
        mode=plan.mode,
        placement_mode=plan.placement_mode,
        strategy=component.strategy,
        reasons=list(component.reasons),
        engine=EnginePart(rank // parts, rank % parts, parts) if is_engine else None,
        neighbours=list(_neighbours(plan, name, rank)),
        interpreter=interpreter(plan, name, rank),
        environment=rank_environment(plan, name, rank),
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
    return [before + index for index in placement.local_hardware_ranks]


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
    owned = placement.local_hardware_ranks or [0]
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
