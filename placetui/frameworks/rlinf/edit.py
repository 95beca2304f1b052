"""Edits of RLinf files: each becomes a rule, or is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

from placetui.placement.edits import (
    Add,
    AddRule,
    Arrange,
    Assign,
    DeviceRef,
    Edit,
    EditRefused,
    Join,
    Move,
    Operation,
    PutOnGroup,
    Remove,
    Rename,
    Resize,
    SetRule,
    Slot,
    Spread,
    Swap,
    Unassign,
    Wanted,
    WriteRule,
)
from placetui.placement.plan import GPU, NODE, Component, Plan
from placetui.placement.ranks import RankError, parse_rule, spread
from placetui.placement.rules import CannotExpress, shortest_rule
from placetui.placement.topology import ACCELERATOR, CLUSTER, NODE_LABEL, DeviceBlock, Topology
from placetui.placement.wording import count, listing, number_range, quoted, ranges

INTERPOLATION = "${"


Processes: TypeAlias = list[list[int]]
"""Numbers of each process, by rank."""


class ResourcePool:
    """What a rule over some node groups counts."""

    def __init__(self, cluster: Topology, groups: tuple[str, ...]) -> None:
        kinds = [cluster.groups[label].hardware_type for label in groups]
        self.groups = groups
        self.on_nodes = None in kinds
        self.mixed = self.on_nodes and any(kinds)
        self._numbering = cluster.numbering(groups, by_node=self.on_nodes)
        self._nodes = cluster.nodes
        self.total = self._numbering.total
        self.noun = "node" if self.on_nodes else "device"

    @property
    def blocks(self) -> Sequence[DeviceBlock]:
        return self._numbering.blocks

    @cached_property
    def position(self) -> dict[int, int]:
        """Place among the blocks by the block's first number."""
        return {block.start: index for index, block in enumerate(self.blocks)}

    def numbers(self, spots: Iterable[DeviceRef]) -> list[int]:
        """Numbers of devices, ascending and each once."""
        by_node: dict[int, list[DeviceBlock]] = {}
        for block in self.blocks:
            by_node.setdefault(block.node, []).append(block)
        return sorted({self._number(spot, by_node) for spot in spots})

    def _number(self, spot: DeviceRef, by_node: dict[int, list[DeviceBlock]]) -> int:
        for block in by_node.get(spot.node, ()):
            if self.on_nodes:
                return block.start
            if _kind_of(block) == spot.kind and 0 <= spot.index < block.size:
                return block.start + spot.index
        where = self.name(spot.node) if 0 <= spot.node < len(self._nodes) else f"node {spot.node}"
        what = where if spot.kind == NODE else f"{'GPU' if spot.kind == GPU else spot.kind} {spot.index} of {where}"
        within = "the cluster" if self.groups == (CLUSTER,) else f"group {listing(quoted(self.groups))}"
        raise EditRefused(f"{what} is not a {self.noun} of {within}", "put the component on another node group first")

    def where(self, number: int) -> DeviceBlock:
        if not 0 <= number < self.total:
            raise EditRefused(f"there is no {self.noun} {number}: they are numbered from 0 to {self.total - 1}")
        return self._numbering.block_of(number)

    def name(self, node: int) -> str:
        return self._nodes[node].name

    def wanted(self, processes: Processes, by_rank: bool = True) -> Wanted:
        return Wanted(tuple(self._slot(numbers) for numbers in processes), by_rank)

    def _slot(self, numbers: Sequence[int]) -> Slot:
        block = self.where(numbers[0])
        if self.on_nodes:
            return block.node, ()
        return block.node, tuple(number - self.where(number).start for number in numbers)

    def rule(self, processes: Processes, may_use_all: bool) -> str:
        """The shortest rule that gives these processes; raises `EditRefused`."""
        try:
            text = shortest_rule(processes, self.total, may_use_all=may_use_all and not self.mixed)
        except CannotExpress as error:
            raise EditRefused(error.reason) from None
        before = -1
        for rank, numbers in enumerate(processes):
            first, last = self.where(numbers[0]), self.where(numbers[-1])
            if self.on_nodes and len(numbers) > 1:
                raise EditRefused(f"rank {rank} would be on {count(len(numbers), 'node')}; a process needs one node")
            if first.node != last.node:
                raise EditRefused(
                    f"rank {rank} would be on {self.name(first.node)} and {self.name(last.node)} "
                    f"({self.noun}s {ranges(numbers)}); a process stays on one node"
                )
            if first.hardware_type != last.hardware_type:
                raise EditRefused(f"rank {rank} would mix {first.hardware_type} and {last.hardware_type}")
            if first.node < before:
                raise EditRefused(f"ranks would go back from {self.name(before)} to {self.name(first.node)}")
            before = first.node
        return text

    def in_processes(self, numbers: Sequence[int], shape: tuple[int, int]) -> Processes:
        """New processes on these numbers: this many devices each, or this many on each device."""
        width, many = shape
        if width == 1:
            return [[number] for number in numbers for _ in range(many)]
        found: Processes = []
        runs = groupby(enumerate(numbers), key=lambda pair: (pair[1] - pair[0], self.where(pair[1]).start))
        for _, pairs in runs:
            run = [number for _, number in pairs]
            if len(run) % width:
                what = f"{self.noun} {run[0]}" if len(run) == 1 else f"{self.noun}s {ranges(run)}"
                raise EditRefused(
                    f"{what} cannot be divided into processes of {count(width, 'device')}",
                    f"choose a multiple of {width} neighbours on one node",
                )
            found += [run[start : start + width] for start in range(0, len(run), width)]
        return found


class RuleEditor:
    """Turns operations into changes of rules. Nothing here changes anything."""

    def __init__(self, plan: Plan, config: Mapping[str, Any]) -> None:
        self._plan = plan
        self._config = config
        self._cluster = plan.topology

    def edit(self, operation: Operation) -> Edit:
        """What an operation on rules does; raises `EditRefused`."""
        edits: dict[type, Callable[[Any], Edit]] = {
            Assign: self._assign,
            Unassign: self._unassign,
            Move: self._move,
            Resize: self._resize,
            Spread: self._spread,
            PutOnGroup: self._put_on_group,
            Arrange: self._arrange,
            WriteRule: self._write_rule,
            Add: self._add,
            Swap: self._swap,
            Rename: self._rename,
            Remove: self._remove,
            Join: self._join,
        }
        if type(operation) not in edits:
            raise EditRefused("this edit is not known")
        return edits[type(operation)](operation)

    def _rename(self, operation: Rename) -> Edit:
        component = self._component(operation.component)
        name = self.free_name(operation.name)
        wanted = {operation.component: None, name: Wanted.of(component, self._by_rank(component))}
        return Edit(f"rename {operation.component} to {name}", (Rename(operation.component, name),), wanted)

    def _remove(self, operation: Remove) -> Edit:
        self.key_of(operation.component)
        return Edit(f"remove {operation.component}", (operation,), {operation.component: None})

    # Finding things

    def _component(self, name: str) -> Component:
        """A component whose rule can be rewritten."""
        key = self.key_of(name)
        written = self._section()[key]
        parts = list(written.values()) if isinstance(written, Mapping) else [written]
        if any(isinstance(part, str) and INTERPOLATION in part for part in parts):
            raise EditRefused(
                f"the rule of `{name}` is computed (`{listing(part for part in parts if INTERPOLATION in str(part))}`)",
                "change the value that it refers to, or write a rule in its place",
            )
        component = self._plan.components.get(name)
        if component is None:
            found = [one for one in self._plan.problems if one.blocking and one.component in (name, None)]
            why = f": {found[0].message}" if found else ""
            raise EditRefused(f"`{name}` could not be placed{why}", "correct its rule as text first")
        return component

    def key_of(self, name: str) -> str:
        for key in self._section():
            if name in _names(key):
                return key
        raise EditRefused(f"the file has no component `{name}`", f"it has {listing(quoted(self._plan.components))}")

    def _section(self) -> Mapping[str, Any]:
        cluster = self._config.get(CLUSTER)
        section = cluster.get("component_placement") if isinstance(cluster, Mapping) else None
        return section if isinstance(section, Mapping) else {}

    def free_name(self, name: str) -> str:
        name = name.strip()
        if not name or "," in name or not name.isprintable():
            raise EditRefused(f"`{name}` cannot be the name of a component", "write a word without commas")
        if any(name in _names(key) for key in self._section()):
            raise EditRefused(f"there is already a component `{name}`", "choose another name")
        return name

    def _pool(self, component: Component) -> ResourcePool:
        if self._by_rank(component):
            return ResourcePool(self._cluster, component.rule.groups)
        # These modes count over the whole cluster, whatever group the rule names.
        pool = ResourcePool(self._cluster, (CLUSTER,))
        pool.total = min(pool.total, ResourcePool(self._cluster, component.rule.groups).total)
        numbers = [number for segment in component.rule.segments for number in segment.resources]
        if pool.wanted([[number] for number in numbers], False).devices != Wanted.of(component).devices:
            raise EditRefused(
                f"the devices of `{component.name}` do not follow from its rule alone in this mode",
                "change the rule as text",
            )
        return pool

    def _by_rank(self, component: Component) -> bool:
        return not component.sized_elsewhere

    def _may_use_all(self, rule: str = "") -> bool:
        return self._plan.topology_source != "assumed" or "all" in rule.lower()

    def _result(self, verb: str, component: Component, pool: ResourcePool, processes: Processes) -> Edit:
        """The edit that gives a component these processes."""
        by_rank = self._by_rank(component)
        if not by_rank:
            processes = _one_range(component.name, processes)
        text = pool.rule(processes, self._may_use_all(component.rule.text))
        wanted = pool.wanted(processes, by_rank)
        if Wanted.of(component, by_rank) == wanted or (not by_rank and wanted.met_by(component)):
            raise EditRefused(f"`{component.name}` is already there")
        return Edit(f"{verb} {component.name} to {text}", (SetRule(component.name, text),), {component.name: wanted})

    # Operations on devices

    def _assign(self, operation: Assign) -> Edit:
        component = self._component(operation.component)
        pool = self._pool(component)
        processes = _processes_of(component)
        taken = _devices(processes)
        fresh = [number for number in pool.numbers(operation.devices) if number not in taken]
        if not fresh:
            raise EditRefused(f"`{component.name}` is already there" if operation.devices else "no device is selected")
        return self._result("extend", component, pool, self._with(component, pool, processes, fresh))

    def _with(self, component: Component, pool: ResourcePool, processes: Processes, fresh: list[int]) -> Processes:
        shape = _usual_shape(processes) if self._by_rank(component) else (1, 1)
        return sorted([*processes, *pool.in_processes(fresh, shape)], key=lambda numbers: numbers[0])

    def _unassign(self, operation: Unassign) -> Edit:
        component = self._component(operation.component)
        pool = self._pool(component)
        gone = set(pool.numbers(operation.devices))
        if gone.isdisjoint(number for segment in component.rule.segments for number in segment.resources):
            raise EditRefused(f"`{component.name}` is not there" if gone else "no device is selected")
        return self._result("reduce", component, pool, self._without(component, pool, gone))

    def _without(self, component: Component, pool: ResourcePool, gone: set[int]) -> Processes:
        kept: Processes = []
        for rank, numbers in enumerate(_processes_of(component)):
            left = [number for number in numbers if number not in gone]
            if not self._by_rank(component):
                kept += [left] if left else []
            elif len(left) == len(numbers):
                kept.append(numbers)
            elif left:
                raise EditRefused(
                    f"rank {rank} of `{component.name}` is on {pool.noun}s {ranges(numbers)} together",
                    "select all of them, or spread the component differently first",
                )
        if not kept:
            raise EditRefused(f"this would remove all of `{component.name}`", "remove the component instead")
        return kept

    def _move(self, operation: Move) -> Edit:
        component = self._component(operation.component)
        pool = self._pool(component)
        chosen = None if operation.devices is None else set(pool.numbers(operation.devices))
        moved: Processes = []
        for numbers in _processes_of(component):
            if chosen is not None and chosen.isdisjoint(numbers):
                moved.append(numbers)
            elif operation.unit == "node":
                moved.append([_on_other_node(pool, number, operation.by) for number in numbers])
            else:
                moved.append([number + operation.by for number in numbers])
                pool.where(moved[-1][0])
                pool.where(moved[-1][-1])
        if not self._by_rank(component) and len(_devices(moved)) < len(_devices(_processes_of(component))):
            raise EditRefused(f"some devices of `{component.name}` would move onto others of its own")
        return self._result("move", component, pool, moved)

    def _resize(self, operation: Resize) -> Edit:
        component = self._component(operation.component)
        pool = self._pool(component)
        processes = _processes_of(component)
        taken = sorted(_devices(processes))
        if operation.by < 0:
            gone = set(taken[operation.by :])
            return self._result("shrink", component, pool, self._without(component, pool, gone))
        after = range(taken[-1] + 1, pool.total)
        before = range(taken[0] - 1, -1, -1)
        fresh = sorted([*after, *before][: operation.by])
        if len(fresh) < operation.by:
            raise EditRefused(
                f"there is room for {count(len(fresh), pool.noun)} more, not for {operation.by}",
                "raise `cluster.num_nodes` if the cluster has more",
            )
        return self._result("grow", component, pool, self._with(component, pool, processes, fresh))

    def _spread(self, operation: Spread) -> Edit:
        component = self._component(operation.component)
        width, many = operation.devices_per_process, operation.processes_per_device
        if width < 1 or many < 1 or (width > 1 and many > 1):
            raise EditRefused("give either a number of processes per device or of devices per process, 1 or more")
        if not self._by_rank(component):
            raise EditRefused(
                f"in this mode the sizes under `{component.name}:` decide how many devices a process has",
                "change the tensor or pipeline parallel size there",
            )
        pool = self._pool(component)
        if pool.on_nodes and width > 1:
            raise EditRefused(f"a process of `{component.name}` needs one node, not {width}")
        numbers = sorted(_devices(_processes_of(component)))
        return self._result("spread", component, pool, pool.in_processes(numbers, (width, many)))

    def _put_on_group(self, operation: PutOnGroup) -> Edit:
        component = self._component(operation.component)
        unknown = [label for label in operation.groups if label not in self._cluster.groups]
        if unknown or not operation.groups:
            raise EditRefused(
                f"there is no node group {listing(quoted(unknown))}" if unknown else "no node group is named",
                f"the groups are {listing(quoted(self._cluster.groups))}",
            )
        if not self._by_rank(component):
            raise EditRefused(f"node groups are not used for `{component.name}` in this mode")
        before, pool = self._pool(component), ResourcePool(self._cluster, operation.groups)
        if not pool.total:
            raise EditRefused(f"{self._cluster.describe(operation.groups)}: nothing to place on")
        shape = _usual_shape(_processes_of(component)) if before.on_nodes == pool.on_nodes else (1, 1)
        processes = pool.in_processes(range(pool.total), shape)
        text = pool.rule(processes, self._may_use_all())
        change = SetRule(component.name, text, operation.groups)
        wanted = pool.wanted(processes)
        if component.rule.groups == operation.groups and wanted.met_by(component):
            raise EditRefused(f"`{component.name}` is already there")
        return Edit(f"put {component.name} on {', '.join(operation.groups)}", (change,), {component.name: wanted})

    def _arrange(self, operation: Arrange) -> Edit:
        component = self._component(operation.component)
        pool = self._pool(component)
        processes = [pool.numbers(devices) for devices in operation.processes]
        return self._result("move", component, pool, processes)

    def _write_rule(self, operation: WriteRule) -> Edit:
        text = operation.text.strip()
        self.key_of(operation.component)
        component = self._plan.components.get(operation.component)
        if component is not None:
            pool = ResourcePool(self._cluster, component.rule.groups)
            try:
                parse_rule(text, pool.total, lambda: self._cluster.describe(component.rule.groups), pool.noun)
            except RankError as error:
                raise EditRefused.of(error.problem) from None
        change = SetRule(operation.component, text)
        return Edit(f"{operation.component}: {text}", (change,), {})

    # Operations on components

    def _swap(self, operation: Swap) -> Edit:
        one, other = self._component(operation.one), self._component(operation.other)
        if one.rule.path == other.rule.path:
            raise EditRefused(f"`{one.name}` and `{other.name}` share one rule", "there is nothing to swap")
        by_rank = self._by_rank(one) and self._by_rank(other)
        if Wanted.of(one, by_rank) == Wanted.of(other, by_rank):
            raise EditRefused(f"`{one.name}` and `{other.name}` are in the same place")
        changes = tuple(
            SetRule(
                this.name, that.rule.text.strip(), None if this.rule.groups == that.rule.groups else that.rule.groups
            )
            for this, that in ((one, other), (other, one))
        )
        wanted = {one.name: Wanted.of(other, by_rank), other.name: Wanted.of(one, by_rank)}
        return Edit(f"swap {one.name} and {other.name}", changes, wanted)

    def _join(self, operation: Join) -> Edit:
        component, into = self._component(operation.component), self._component(operation.into)
        if component.rule.path == into.rule.path:
            raise EditRefused(f"`{component.name}` and `{into.name}` already share one rule")
        by_rank = self._by_rank(component) and self._by_rank(into)
        wanted = {component.name: Wanted.of(into, by_rank)}
        return Edit(f"join {component.name} with {into.name}", (operation,), wanted)

    def _add(self, operation: Add) -> Edit:
        name = self.free_name(operation.component)
        if not operation.devices:
            raise EditRefused("no device is selected", f"select where `{name}` is to go")
        pool = ResourcePool(self._cluster, self._group_for(operation.devices))
        processes = [[number] for number in pool.numbers(operation.devices)]
        text = pool.rule(processes, self._may_use_all())
        by_rank = self._plan.mode in ("component", "hybrid")
        wanted = pool.wanted(processes, by_rank)
        return Edit(f"add {name} on {text}", (AddRule(name, text, pool.groups),), {name: wanted})

    def _group_for(self, devices: Sequence[DeviceRef]) -> tuple[str, ...]:
        """The group that counts devices of this kind."""
        kinds = {spot.kind for spot in devices}
        if len(kinds) > 1:
            raise EditRefused(f"the selected devices are of several kinds: {listing(sorted(kinds))}", "select one kind")
        kind = kinds.pop()
        if kind in (GPU, NODE):
            return (CLUSTER,) if kind == GPU else (NODE_LABEL,)
        nodes = {spot.node for spot in devices}
        for group in self._cluster.groups.values():
            if group.hardware_type == kind and nodes <= set(group.node_ranks):
                return (group.label,)
        raise EditRefused(f"no node group holds all of these {kind} devices")


def _kind_of(block: DeviceBlock) -> str:
    """What a plan calls the devices of a block."""
    if block.hardware_type is None:
        return NODE
    return GPU if block.hardware_type == ACCELERATOR else block.hardware_type


def _processes_of(component: Component) -> Processes:
    """What its rule says."""
    return [list(range(first, first + size)) for first, size in spread(component.rule.segments)]


def _usual_shape(processes: Processes) -> tuple[int, int]:
    """(devices per process, processes per device) of most of the processes."""
    counts: Counter[tuple[int, int]] = Counter()
    for numbers, together in groupby(processes):
        counts[len(numbers), len(list(together))] += 1
    return counts.most_common(1)[0][0] if counts else (1, 1)


def _on_other_node(pool: ResourcePool, number: int, by: int) -> int:
    """The same device some nodes further."""
    block = pool.where(number)
    index = pool.position[block.start] + by
    if not 0 <= index < len(pool.blocks):
        raise EditRefused(f"there is no node {abs(by)} {'after' if by > 0 else 'before'} {pool.name(block.node)} there")
    other = pool.blocks[index]
    local = number - block.start
    if other.hardware_type != block.hardware_type or local >= other.size:
        raise EditRefused(f"{pool.name(other.node)} has no {pool.noun} {local} of this kind")
    return pool.where(other.start + local).start + local


def _one_range(name: str, processes: Processes) -> Processes:
    """In the model-parallel modes only the devices count, and they must be one range."""
    numbers = sorted(_devices(processes))
    if numbers and numbers[-1] - numbers[0] + 1 != len(numbers):
        raise EditRefused(
            f"the devices of `{name}` would have gaps ({ranges(numbers)}); in this mode they are one range",
            f"use all of {number_range(numbers[0], numbers[-1])}, or another mode",
        )
    return [[number] for number in numbers]


def _devices(processes: Processes) -> set[int]:
    return {number for numbers in processes for number in numbers}


def _names(key: str) -> list[str]:
    return [name.strip() for name in key.split(",")]
