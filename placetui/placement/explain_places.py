"""Who is on node0/gpu5? Where is rollout? Devices, nodes and components of a plan, explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import Any

from placetui.placement.explain_rank import Locate, Source, source_of
from placetui.placement.plan import GPU, NODE, Component, Device, Occupant, Plan
from placetui.placement.problems import count
from placetui.placement.wording import (
    field_lines,
    kind_name,
    mode_text,
    occupants_text,
    pattern_text,
    place_text,
    ranges,
    share_text,
    with_share,
)


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

    def to_dict(self) -> dict[str, Any]:
        return {"schema": 1, "kind": "device", **asdict(self)}

    def lines(self) -> Iterator[str]:
        where = place_text(self.node_name, self.device_kind, [self.index])
        if not self.residents:
            yield f"{where} is empty"
        elif self.total_share is None:
            yield f"{where}: {count(sum(len(one.ranks) for one in self.residents), 'process')}"
        else:
            yield f"{where}: {share_text(self.total_share)} of it is promised"
        for one in self.residents:
            times = f" ×{len(one.ranks)}" if len(one.ranks) > 1 else ""
            yield f"  {with_share(f'{one.component} {ranges(one.ranks)}{times}', share_text(one.share))}"
            yield f"    rule  {one.rule}"
            if one.devices != [self.index]:
                yield f"    with  {place_text(self.node_name, self.device_kind, one.devices)}"
            yield from (f"    why   {reason}" for reason in one.reasons)
        if self.mode == "slime" and self.seen_by:
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
            who = ", ".join(starmap(with_share, occupants_text(device.occupants)))
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
    """Where a component is."""

    component: str
    world_size: int
    share: float | None
    mode: str
    placement_mode: str | None
    strategy: str
    rule: Source
    reasons: list[str]
    parts_per_engine: int
    nodes: list[NodeRow]

    def to_dict(self) -> dict[str, Any]:
        return {"schema": 1, "kind": "component", **asdict(self)}

    def lines(self) -> Iterator[str]:
        used = len({row.node for row in self.nodes})
        yield f"{self.component}: {count(self.world_size, 'rank')} on {count(used, 'node')}"
        yield from field_lines(self._fields())
        table = list(self._table())
        widths = [max((len(row[column]) for row in table), default=0) for column in range(2)]
        yield from (f"  {one:<{widths[0]}}  {two:<{widths[1]}}  {three}" for one, two, three in table)

    def _fields(self) -> Iterator[tuple[str, str]]:
        yield "rule", str(self.rule)
        yield "mode", f"{mode_text(self.mode, self.placement_mode)}, {self.strategy} strategy"
        yield from (("why", reason) for reason in self.reasons)
        if self.share is not None:
            yield "share", f"{share_text(self.share)} of a device"
        if self.parts_per_engine > 1:
            yield "engines", f"{self.world_size // self.parts_per_engine}, each in {self.parts_per_engine} parts"

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
    )


def _resident(plan: Plan, component: Component, ranks: list[int], share: float | None, locate: Locate) -> Resident:
    devices = sorted({index for rank in ranks for index in component.placements[rank].local_hardware_ranks})
    return Resident(component.name, ranks, share, devices, source_of(plan, component, locate), list(component.reasons))


def _seen_by(plan: Plan, node: int, index: int, owners: tuple[Occupant, ...]) -> dict[str, str]:
    own = {(owner.component, owner.rank) for owner in owners}
    found = {}
    for name, component in plan.components.items():
        ranks = [
            placement.rank
            for placement in component.placements
            if placement.cluster_node_rank == node
            and str(index) in placement.visible_accelerators
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
        services=[f"{one.name} ({one.cpus:g} CPUs, slime's own)" for one in plan.services if one.node == rank],
    )


def explain_component(plan: Plan, name: str, locate: Locate) -> ComponentExplanation:
    """Where a component is, node by node."""
    component = plan.components[name]
    rows: list[NodeRow] = []
    for placement in component.placements:
        node, kind = placement.cluster_node_rank, plan.kind_of(placement)
        if not rows or (rows[-1].node, rows[-1].device_kind) != (node, kind):
            rows.append(NodeRow(node, plan.nodes[node].name, kind, [], []))
        rows[-1].ranks.append(placement.rank)
        rows[-1].devices.append(list(placement.local_hardware_ranks))
    return ComponentExplanation(
        component=name,
        world_size=component.world_size,
        share=component.share,
        mode=plan.mode,
        placement_mode=plan.placement_mode,
        strategy=component.strategy,
        rule=source_of(plan, component, locate),
        reasons=list(component.reasons),
        parts_per_engine=component.parts_per_engine,
        nodes=rows,
    )
