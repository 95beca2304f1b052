"""Edits of slime files: through slime's own arguments, as far as they reach."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from placetui.placement.edit_types import (
    Add,
    Arrange,
    Assign,
    Edit,
    Move,
    Operation,
    Refused,
    Remove,
    Resize,
    SetValue,
    Spot,
    Spread,
    Unassign,
    Wanted,
)
from placetui.placement.interpolation import Reader
from placetui.placement.plan import GPU, Plan
from placetui.placement.problems import Problems, count
from placetui.placement.rewrite import number_ranges
from placetui.placement.slime_args import SECTION
from placetui.placement.slime_layout import SlimeLayout, read_slime

TRAINING = ("actor", "critic")


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What slime's arguments can say."""

    actor: int
    rollout: int
    engine: int
    colocate: bool

    @property
    def offset(self) -> int:
        return 0 if self.colocate else self.actor


class SlimeEditor:
    """Turns operations into arguments. Nothing here changes anything."""

    def __init__(self, plan: Plan, config: Mapping[str, Any]) -> None:
        self._plan = plan
        section = config.get(SECTION)
        self._written: Mapping[str, Any] = section if isinstance(section, Mapping) else {}
        layout = read_slime(Reader(config, Problems()).get(SECTION, default=None), Problems())
        if layout is None:
            raise Refused("the `slime:` section has problems", "correct them as text first")
        self._layout: SlimeLayout = layout
        self._first = [0, *accumulate(node.gpus for node in plan.nodes)]
        self._now = _Sizes(
            layout.actor_gpus,
            layout.rollout_num_gpus,
            layout.rollout_num_gpus_per_engine,
            layout.mode == "colocate",
        )

    def edit(self, operation: Operation) -> Edit:
        """What an operation does to the arguments.

        Raises:
            Refused: slime has no arguments for it.
        """
        if isinstance(operation, Assign | Unassign | Move | Resize):
            return self._place(operation)
        if isinstance(operation, Spread):
            return self._spread(operation)
        if isinstance(operation, Add | Remove):
            return self._add_or_remove(operation)
        if isinstance(operation, Arrange):
            raise Refused("slime numbers its ranks itself: training from slot 0, rollout from its first slot")
        raise Refused("slime's arguments cannot say this: it names its components and orders them itself")

    def _slots(self, component: str) -> list[int]:
        if component == "critic":
            raise Refused("the critic sits on the actor's GPUs", "edit `actor`: the critic follows")
        if component not in self._plan.components or self._layout.mode not in ("colocate", "separate"):
            raise Refused(
                f"`{component}` cannot be moved in a file of this kind",
                "debug modes and external engines have fixed places",
            )
        start = 0 if component == "actor" else self._now.offset
        return list(range(start, start + (self._now.actor if component == "actor" else self._now.rollout)))

    def _place(self, operation: Assign | Unassign | Move | Resize) -> Edit:
        name = operation.component
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
            raise Refused("slime moves a component as a whole")
        elif operation.unit == "node":
            after = [self._on_other_node(slot, operation.by) for slot in slots]
        else:
            after = [slot + operation.by for slot in slots]
        if after == slots:
            raise Refused(f"`{name}` is {'not' if isinstance(operation, Unassign) else 'already'} there")
        sizes = self._sizes(name, after)
        return self._result(f"{verb} {name} to GPUs {number_ranges(after)}", sizes)

    def _sizes(self, name: str, slots: list[int]) -> _Sizes:
        """The sizes that put a component on these slots."""
        if not slots:
            raise Refused(f"nothing of `{name}` would be left", "remove the component instead")
        if slots != list(range(slots[0], slots[0] + len(slots))):
            raise Refused(f"slime's GPUs are counted without gaps, and {number_ranges(slots)} has some")
        if slots[0] < 0 or (self._plan.topology_source != "assumed" and slots[-1] >= self._first[-1]):
            raise Refused(f"there is no such GPU: they are numbered from 0 to {self._first[-1] - 1}")
        now = self._now
        if name == "actor":
            if slots[0]:
                raise Refused("slime's training always begins at the first GPU", "move rollout instead")
            return replace(now, actor=len(slots))
        if len(slots) % now.engine:
            raise Refused(
                f"{count(len(slots), 'rollout GPU')} cannot be divided into engines of {now.engine}",
                f"use a multiple of {now.engine}",
            )
        if slots[0] not in (0, now.actor):
            raise Refused(
                f"slime's rollout begins at the first GPU (colocate) or right behind training (GPU {now.actor})"
            )
        return replace(now, rollout=len(slots), colocate=not slots[0])

    def _spread(self, operation: Spread) -> Edit:
        if operation.component != "rollout" or operation.processes_per_device != 1:
            raise Refused("slime puts one training process on each GPU, and one engine on its GPUs")
        self._slots("rollout")
        each = operation.devices_per_process
        if each < 1 or self._now.rollout % each:
            raise Refused(f"{count(self._now.rollout, 'rollout GPU')} cannot be divided into engines of {each}")
        if each == self._now.engine:
            raise Refused(f"an engine already has {count(each, 'GPU')}")
        return self._result(f"engines of {count(each, 'GPU')}", replace(self._now, engine=each))

    def _add_or_remove(self, operation: Add | Remove) -> Edit:
        name = operation.component.strip()
        here = name in self._plan.components
        if isinstance(operation, Add):
            if name != "critic" or here or not self._layout.trains:
                raise Refused("slime's components are actor, critic and rollout", "only a critic can be added")
            actor = Wanted.of(self._plan.components["actor"])
            return Edit("add critic", (self._argument("use_critic", True),), {"critic": actor})
        if not here:
            raise Refused(f"the file has no component `{name}`")
        changes = {
            "rollout": (("debug_train_only", True),),
            "actor": (("debug_rollout_only", True), ("rollout_num_gpus", self._now.rollout)),
            "critic": (("use_critic", False),),
        }[name]
        written = tuple(filter(self._differs, (self._argument(*change) for change in changes)))
        gone: dict[str, Wanted | None] = {name: None}
        return Edit(f"remove {name}", written, gone, free=name == "actor")

    def _slots_of(self, devices: Iterable[Spot]) -> list[int]:
        found = []
        for spot in devices:
            if spot.kind != GPU or not 0 <= spot.node < len(self._plan.nodes):
                raise Refused("slime places on GPUs only")
            found.append(self._first[spot.node] + spot.index)
        return found

    def _seat(self, slot: int) -> tuple[int, int] | None:
        """Node and GPU of a slot; None on nodes that are assumed only when they are needed."""
        if not 0 <= slot < self._first[-1]:
            return None
        node = bisect_right(self._first, slot) - 1
        return node, slot - self._first[node]

    def _on_other_node(self, slot: int, by: int) -> int:
        seat = self._seat(slot)
        node = -1 if seat is None else seat[0] + by
        if seat is None or not 0 <= node < len(self._plan.nodes):
            raise Refused("there is no such node")
        if seat[1] >= self._plan.nodes[node].gpus:
            raise Refused(f"{self._plan.nodes[node].name} has no GPU {seat[1]}")
        return self._first[node] + seat[1]

    # From sizes to arguments

    def _result(self, label: str, after: _Sizes) -> Edit:
        now = self._now
        changes: list[SetValue] = []
        if after.actor != now.actor:
            nodes, per_node = self._shape(after.actor)
            for role in TRAINING:
                # The critic's own arguments, where the file has them, must stay equal to the actor's.
                if role == "actor" or "critic_num_nodes" in self._layout.written:
                    changes.append(self._argument(f"{role}_num_nodes", nodes))
                if role == "actor" or "critic_num_gpus_per_node" in self._layout.written:
                    changes.append(self._argument(f"{role}_num_gpus_per_node", per_node))
        default = after.actor if after.colocate else None
        given = now.rollout if "rollout_num_gpus" in self._layout.written else None
        if after.rollout != (given if given is not None else default):
            changes.append(self._argument("rollout_num_gpus", after.rollout))
        if after.colocate != now.colocate:
            changes.append(self._argument("colocate", after.colocate))
        if after.engine != now.engine:
            changes.append(self._argument("rollout_num_gpus_per_engine", after.engine))
        changes = [change for change in changes if self._differs(change)]
        wanted: dict[str, Wanted | None] = {
            name: self._wanted(0, after.actor) for name in TRAINING if name in self._plan.components
        }
        wanted["rollout"] = self._wanted(after.offset, after.rollout)
        if self._first[-1] < max(after.actor, after.offset + after.rollout):
            wanted = {}  # on nodes that the plan does not have yet, because it assumes no more than it needs
        return Edit(label, tuple(changes), wanted, free=True)

    def _wanted(self, start: int, size: int) -> Wanted:
        seats = [self._seat(slot) for slot in range(start, start + size)]
        return Wanted(tuple((seat[0], (seat[1],)) for seat in seats if seat is not None), by_rank=False)

    def _shape(self, gpus: int) -> tuple[int, int]:
        """Nodes and GPUs per node whose product it is: as the nodes are, where that is possible."""
        most = max((node.gpus for node in self._plan.nodes), default=8) or 8
        least = -(-gpus // most)
        nodes = next(number for number in range(least, gpus + 1) if gpus % number == 0)
        return nodes, gpus // nodes

    def _differs(self, change: SetValue) -> bool:
        key = str(change.path[-1])
        if key in self._written:
            return bool(self._written[key] != change.value)
        defaults: Mapping[str, Any] = {"actor_num_nodes": 1, "actor_num_gpus_per_node": 8, "colocate": False}
        return defaults.get(key.replace("-", "_")) != change.value

    def _argument(self, name: str, value: int | bool) -> SetValue:
        """An argument under the key that the file uses for it, else in the file's own spelling."""
        key = self._layout.written.get(name)
        if key is None:
            keys = [str(one) for one in self._written]
            dashes = any("-" in one for one in keys) and not any("_" in one for one in keys)
            key = name.replace("_", "-") if dashes else name
        if "${" in str(self._written.get(key, "")):
            raise Refused(f"`{key}` is computed (`{self._written[key]}`)", "write a number in its place first")
        return SetValue((SECTION, key), value)
