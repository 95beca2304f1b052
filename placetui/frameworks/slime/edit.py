"""Edits of slime files: through slime's own arguments, as far as they reach."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from placetui.frameworks.slime.arguments import SECTION
from placetui.frameworks.slime.groups import EVAL_MODEL, ServerGroup
from placetui.frameworks.slime.layout import Derivation, SlimeLayout, nodes_and_gpus, read_layout
from placetui.frameworks.slime.plan import TRAINING, read_version
from placetui.placement.config.reader import Reader
from placetui.placement.edits import (
    Add,
    Arrange,
    Assign,
    DeviceRef,
    Edit,
    EditRefused,
    Move,
    Operation,
    Remove,
    Resize,
    SetValue,
    Spread,
    Unassign,
    Wanted,
)
from placetui.placement.plan import GPU, Plan
from placetui.placement.problems import Problems
from placetui.placement.wording import count, ranges


@dataclass(frozen=True, slots=True)
class Sizes:
    """What slime's arguments can say about training and rollout."""

    actor: int
    rollout: int
    engine: int
    colocate: bool

    @property
    def rollout_offset(self) -> int:
        return 0 if self.colocate else self.actor


class _Groups:
    """The server groups of a file, and where their sizes stand."""

    def __init__(self, layout: SlimeLayout, section: Mapping[str, Any]) -> None:
        written = layout.arguments.written if layout.version == "head" else {}
        self.layout = layout
        self.key = written.get("sglang_config", "")
        given = section.get(self.key) if self.key else None
        self.config: Mapping[str, Any] | None = given if isinstance(given, Mapping) else None
        self.file = str(given) if given is not None and self.config is None else ""
        self.servers = written.get("prefill_num_servers", "")
        self.has_eval = "eval_num_gpus" in written
        self.listed = self.config is not None or bool(self.servers or self.file or self.has_eval)

    @property
    def end(self) -> int:
        """The slot behind the last group."""
        return max((one.first_slot + one.num_gpus for one in self.layout.groups), default=0)

    def at(self, slot: int | None, *, exactly: bool = False) -> ServerGroup:
        """The group on a slot; the last one if there is none and none is needed."""
        for one in self.layout.groups:
            if slot is not None and one.first_slot <= slot < one.first_slot + one.num_gpus:
                return one
        if not self.layout.groups or exactly:
            raise EditRefused("there is no server group")
        return self.layout.groups[-1]

    def changes(self, before: ServerGroup, after: ServerGroup) -> Iterator[SetValue]:
        """What says so in the section; the size of rollout is not among it."""
        if self.config is None:
            if before.worker_type == "prefill":
                yield SetValue((SECTION, self.servers), after.num_gpus // after.num_gpus_per_engine)
            elif after.num_gpus_per_engine != before.num_gpus_per_engine:
                name = f"{'eval' if before.model == EVAL_MODEL else 'rollout'}_num_gpus_per_engine"
                key = self.layout.arguments.written.get(name, name)
                yield SetValue((SECTION, key), after.num_gpus_per_engine)
            return
        assert before.place is not None
        model, index = before.place
        key = "server_groups" if self.config["sglang"][model].get("server_groups") else "engine_groups"
        path = (SECTION, self.key, "sglang", model, key, index)
        for name in ("num_gpus", "num_gpus_per_engine"):
            if getattr(after, name) != getattr(before, name):
                yield SetValue((*path, name), getattr(after, name))


class SlimeEditor:
    """Turns operations into arguments. Nothing here changes anything."""

    def __init__(self, plan: Plan, config: Mapping[str, Any], derivation: type[Derivation] = Derivation) -> None:
        self._plan = plan
        section = config.get(SECTION)
        self._section: Mapping[str, Any] = section if isinstance(section, Mapping) else {}
        reader = Reader(config, Problems())
        version = read_version(reader, Problems())
        layout = read_layout(reader.get(SECTION, default=None), Problems(), version, derivation)
        if layout is None:
            raise EditRefused("the `slime:` section has problems", "correct them as text first")
        self._layout: SlimeLayout = layout
        self._known = derivation.table.known
        self._first_slots = [0, *accumulate(node.gpus for node in plan.nodes)]
        """First slot of each node, and the number of slots."""

        self._groups = _Groups(layout, self._section)
        self._now = Sizes(
            layout.actor_gpus,
            layout.rollout_num_gpus,
            layout.rollout_num_gpus_per_engine,
            layout.mode == "colocate",
        )

    def edit(self, operation: Operation) -> Edit:
        """What an operation does to the arguments.

        Raises:
            EditRefused: slime has no arguments for it.
        """
        if isinstance(operation, Assign | Unassign | Move | Resize):
            return self._place(operation)
        if isinstance(operation, Spread):
            return self._spread(operation)
        if isinstance(operation, Add):
            return self._add(operation.component.strip())
        if isinstance(operation, Remove):
            return self._remove(operation.component.strip())
        if isinstance(operation, Arrange):
            raise EditRefused("slime numbers its ranks itself: training from slot 0, rollout from its first slot")
        raise EditRefused("slime's arguments cannot express this: slime names and orders its components itself")

    # Operations

    def _place(self, operation: Assign | Unassign | Move | Resize) -> Edit:
        name = operation.component
        if name == "rollout" and self._groups.listed and not isinstance(operation, Move):
            return self._resize_group(operation)
        slots = self._slots(name)
        verb = "move"
        if isinstance(operation, Assign):
            after = sorted({*slots, *self._slots_of(operation.devices)})
        elif isinstance(operation, Unassign):
            gone = set(self._slots_of(operation.devices))
            after = [slot for slot in slots if slot not in gone]
        elif isinstance(operation, Resize):
            verb = "grow" if operation.by > 0 else "shrink"
            after = list(range(slots[0], slots[-1] + 1 + operation.by)) if slots else []
        elif operation.devices is not None:
            raise EditRefused("slime moves a component as a whole")
        elif operation.unit == "node":
            after = [self._on_other_node(slot, operation.by) for slot in slots]
        else:
            after = [slot + operation.by for slot in slots]
        if after == slots:
            raise EditRefused(f"`{name}` is {'not' if isinstance(operation, Unassign) else 'already'} there")
        return self._resized(f"{verb} {name} to GPUs {ranges(after)}", self._sizes(name, after))

    def _sizes(self, name: str, slots: list[int]) -> Sizes:
        """The sizes that put a component on these slots."""
        if not slots:
            raise EditRefused(f"this would remove all of `{name}`", "remove the component instead")
        if slots != list(range(slots[0], slots[0] + len(slots))):
            raise EditRefused(f"slime's GPUs are counted without gaps, and {ranges(slots)} has some")
        last = self._first_slots[-1] - 1
        if slots[0] < 0 or (self._plan.topology_source != "assumed" and slots[-1] > last):
            raise EditRefused(f"there is no such GPU: they are numbered from 0 to {last}")
        now = self._now
        if name == "actor":
            if slots[0]:
                raise EditRefused("slime's training always begins at the first GPU", "move rollout instead")
            return replace(now, actor=len(slots))
        if len(slots) % now.engine:
            raise EditRefused(
                f"{count(len(slots), 'rollout GPU')} cannot be divided into engines of {now.engine}",
                f"use a multiple of {now.engine}",
            )
        if slots[0] not in (0, now.actor):
            raise EditRefused(
                f"slime's rollout begins at the first GPU (colocate) or right after training (GPU {now.actor})"
            )
        return replace(now, rollout=len(slots), colocate=not slots[0])

    def _spread(self, operation: Spread) -> Edit:
        if operation.component != "rollout" or operation.processes_per_device != 1:
            raise EditRefused("slime puts one training process on each GPU, and one engine on its GPUs")
        self._slots("rollout")
        each = operation.devices_per_process
        if self._groups.listed and not self._groups.servers:
            return self._spread_groups(each, operation.at)
        if each < 1 or self._now.rollout % each:
            raise EditRefused(f"{count(self._now.rollout, 'rollout GPU')} cannot be divided into engines of {each}")
        if each == self._now.engine:
            raise EditRefused(f"an engine already has {count(each, 'GPU')}")
        return self._resized(f"engines of {count(each, 'GPU')}", replace(self._now, engine=each))

    # Server groups

    def _resize_group(self, operation: Assign | Unassign | Resize) -> Edit:
        """Grow or shrink one group; those behind it move along."""
        self._slots("rollout")
        if isinstance(operation, Resize):
            group = self._groups.at(None if operation.at is None else self._slots_of([operation.at])[0])
            by = operation.by
        else:
            slots = sorted(self._slots_of(operation.devices))
            if isinstance(operation, Unassign):
                found = {self._groups.at(slot, exactly=True) for slot in slots}
                by = -len(slots)
            else:
                found = {self._groups.at(None)}
                by = len(slots)
                end = self._groups.end
                if slots != list(range(end, end + by)):
                    raise EditRefused(
                        "server groups are counted without gaps",
                        f"select GPUs from slot {end} on, behind the last group, or grow the group itself",
                    )
            if len(found) != 1:
                raise EditRefused("the GPUs belong to several server groups", "select those of one")
            (group,) = found
        size = group.num_gpus + by
        unit = group.num_gpus_per_engine if group.parts_per_engine > 1 else group.gpus_per_part
        name = self._layout.group_name(group)
        if size < unit or size % unit:
            raise EditRefused(
                f"{count(max(0, size), 'GPU')} for group {name} cannot be divided into engines of {unit}",
                f"use a multiple of {unit}",
            )
        verb = "grow" if by > 0 else "shrink"
        return self._regrouped(f"{verb} {name} to {count(size, 'GPU')}", group, replace(group, num_gpus=size))

    def _spread_groups(self, each: int, at: DeviceRef | None) -> Edit:
        """Another engine size of one group."""
        group = self._groups.at(None if at is None else self._slots_of([at])[0])
        if each < 1 or group.num_gpus % each:
            raise EditRefused(f"{count(group.num_gpus, 'GPU')} cannot be divided into engines of {each}")
        if each == group.num_gpus_per_engine:
            raise EditRefused(f"an engine already has {count(each, 'GPU')}")
        label = f"engines of {count(each, 'GPU')} in {self._layout.group_name(group)}"
        return self._regrouped(label, group, replace(group, num_gpus_per_engine=each))

    def _regrouped(self, label: str, before: ServerGroup, after: ServerGroup) -> Edit:
        by = after.num_gpus - before.num_gpus
        changes = list(self._groups.changes(before, after))
        if by and before.model == EVAL_MODEL and self._groups.has_eval:
            changes += self._changes({"eval_num_gpus": self._layout.arguments["eval_num_gpus"] + by})
        elif by:
            changes += self._changes({"rollout_num_gpus": self._now.rollout + by})
        slots: list[int] = []
        behind = False
        for one in self._layout.groups:
            now = after if one == before else one
            moved = replace(now, first_slot=now.first_slot + (by if behind else 0))
            behind = behind or one == before
            slots += [slot for start in moved.starts for slot in range(start, start + moved.gpus_per_part)]
        wanted = {"rollout": self._wanted(slots)} if max(slots, default=0) < self._first_slots[-1] else {}
        return Edit(label, tuple(changes), wanted, free=True)

    def _add(self, name: str) -> Edit:
        if name != "critic" or name in self._plan.components or not self._layout.trains:
            raise EditRefused("slime's components are actor, critic and rollout", "only a critic can be added")
        if "actor" not in self._plan.components:
            raise EditRefused(
                "the critic uses the actor's GPUs, and the actor has none", "make room for training first"
            )
        actor = Wanted.of(self._plan.components["actor"])
        today = self._layout.version == "head"
        change = self._argument("advantage_estimator", "ppo") if today else self._argument("use_critic", True)
        return Edit("add critic", (change,), {"critic": actor})

    def _remove(self, name: str) -> Edit:
        if name not in self._plan.components:
            raise EditRefused(f"the file has no component `{name}`")
        if name == "critic" and self._layout.arguments["advantage_estimator"] == "ppo":
            raise EditRefused("`advantage_estimator: ppo` needs the critic", "choose another estimator as text")
        arguments: Mapping[str, Mapping[str, int | bool]] = {
            "rollout": {"debug_train_only": True},
            "actor": {"debug_rollout_only": True, "rollout_num_gpus": self._now.rollout},
            "critic": {"use_critic": False},
        }
        return Edit(f"remove {name}", self._changes(arguments[name]), {name: None}, free=name == "actor")

    # Slots

    def _slots(self, component: str) -> list[int]:
        """Where a component is, if it can be moved."""
        if component == "critic":
            raise EditRefused("the critic uses the actor's GPUs", "edit `actor`: the critic follows")
        if component not in self._plan.components or self._layout.mode not in ("colocate", "separate"):
            raise EditRefused(
                f"`{component}` cannot be moved in a file of this kind",
                "debug modes and external engines have fixed places",
            )
        if component == "rollout" and self._groups.file:
            raise EditRefused(
                f"the server groups are in `{self._groups.file}`, which cannot be edited here",
                "change its groups there",
            )
        now = self._now
        start, size = (0, now.actor) if component == "actor" else (now.rollout_offset, now.rollout)
        return list(range(start, start + size))

    def _slots_of(self, devices: Iterable[DeviceRef]) -> list[int]:
        found = []
        for spot in devices:
            if spot.kind != GPU or not 0 <= spot.node < len(self._plan.nodes):
                raise EditRefused("slime places on GPUs only")
            found.append(self._first_slots[spot.node] + spot.index)
        return found

    def _device(self, slot: int) -> tuple[int, int] | None:
        """Node and GPU of a slot; None on nodes that are assumed only when they are needed."""
        if not 0 <= slot < self._first_slots[-1]:
            return None
        node = bisect_right(self._first_slots, slot) - 1
        return node, slot - self._first_slots[node]

    def _on_other_node(self, slot: int, by: int) -> int:
        device = self._device(slot)
        node = -1 if device is None else device[0] + by
        if device is None or not 0 <= node < len(self._plan.nodes):
            raise EditRefused("there is no such node")
        if device[1] >= self._plan.nodes[node].gpus:
            raise EditRefused(f"{self._plan.nodes[node].name} has no GPU {device[1]}")
        return self._first_slots[node] + device[1]

    # From sizes to arguments

    def _resized(self, label: str, after: Sizes) -> Edit:
        now, written = self._now, self._layout.arguments.written
        arguments: dict[str, int | bool] = {}
        if after.actor != now.actor:
            most = max((node.gpus for node in self._plan.nodes), default=8) or 8
            nodes, per_node = nodes_and_gpus(after.actor, most)
            sizes = {"num_nodes": nodes, "num_gpus_per_node": per_node}
            arguments |= {f"actor_{name}": size for name, size in sizes.items()}
            # The critic's own arguments, where the file has them, must stay equal to the actor's.
            arguments |= {f"critic_{name}": size for name, size in sizes.items() if f"critic_{name}" in written}
        given = now.rollout if "rollout_num_gpus" in written else after.actor if after.colocate else None
        if after.rollout != given:
            arguments["rollout_num_gpus"] = after.rollout
        if after.colocate != now.colocate:
            arguments["colocate"] = after.colocate
        if after.engine != now.engine:
            arguments["rollout_num_gpus_per_engine"] = after.engine
        wanted: dict[str, Wanted | None] = {
            name: self._wanted(range(after.actor)) for name in TRAINING if name in self._plan.components
        }
        end = after.rollout_offset + after.rollout
        wanted["rollout"] = self._wanted(range(after.rollout_offset, end))
        if self._first_slots[-1] < max(after.actor, end):
            wanted = {}  # on nodes that the plan does not have yet, because it assumes no more than it needs
        return Edit(label, self._changes(arguments), wanted, free=True)

    def _wanted(self, slots: Iterable[int]) -> Wanted:
        devices = map(self._device, slots)
        return Wanted(tuple((device[0], (device[1],)) for device in devices if device is not None), by_rank=False)

    def _changes(self, arguments: Mapping[str, int | bool]) -> tuple[SetValue, ...]:
        """Arguments to be written: those that differ from what the file says, or from slime's default."""
        changes = []
        for name, value in arguments.items():
            key = self._layout.arguments.written.get(name)
            now = self._known[name].default if key is None else self._section.get(key)
            if now != value:
                changes.append(self._argument(name, value))
        return tuple(changes)

    def _argument(self, name: str, value: int | bool | str) -> SetValue:
        """An argument under the key that the file uses for it, else in the file's own spelling."""
        key = self._layout.arguments.written.get(name)
        if key is None:
            keys = [str(one) for one in self._section]
            dashes = any("-" in one for one in keys) and not any("_" in one for one in keys)
            key = name.replace("_", "-") if dashes else name
        if "${" in str(self._section.get(key, "")):
            raise EditRefused(f"`{key}` is computed (`{self._section[key]}`)", "write a number in its place first")
        return SetValue((SECTION, key), value)
