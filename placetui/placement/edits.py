"""Edits as plain data: what a person asks for, what changes in the file, or why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from placetui.placement.plan import Component
from placetui.placement.problems import Path, Problem, Span


class DeviceRef(Protocol):
    """A device that a person pointed at; a plan's `Device` is one, and so is the grid's `Place`."""

    @property
    def node(self) -> int:
        """Rank of its node."""

    @property
    def kind(self) -> str:
        """`gpu`, `node`, or a hardware type."""

    @property
    def index(self) -> int:
        """Position among the node's devices of that kind."""


# What a person asks for.


@dataclass(frozen=True, slots=True)
class Assign:
    """Put processes of a component on these devices, too."""

    component: str
    devices: tuple[DeviceRef, ...]


@dataclass(frozen=True, slots=True)
class Unassign:
    """Take a component off these devices."""

    component: str
    devices: tuple[DeviceRef, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """Move a component, or only its processes on some devices."""

    component: str
    by: int = 1
    unit: Literal["device", "node"] = "device"
    devices: tuple[DeviceRef, ...] | None = None
    """Processes on these move; None for all."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Exchange the places of two components."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Resize:
    """Grow a component by this many devices, or shrink it if negative."""

    component: str
    by: int
    at: DeviceRef | None = None
    """A device of it: of a component in groups, the group there is meant; None for the last one."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Several processes on each device of a component, or several devices for each of its processes."""

    component: str
    processes_per_device: int = 1
    devices_per_process: int = 1
    at: DeviceRef | None = None
    """A device of it: of a component in groups, the group there is meant; None for the last one."""


@dataclass(frozen=True, slots=True)
class PutOnGroup:
    """Put a component on all of one or several node groups."""

    component: str
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrange:
    """Give every rank of a component its devices, one by one."""

    component: str
    processes: tuple[tuple[DeviceRef, ...], ...]


@dataclass(frozen=True, slots=True)
class WriteRule:
    """Give a component a rule as text."""

    component: str
    text: str


@dataclass(frozen=True, slots=True)
class Add:
    """A new component, one process on each of these devices."""

    component: str
    devices: tuple[DeviceRef, ...]


@dataclass(frozen=True, slots=True)
class Rename:
    """Another name for a component, in its key and in the `placetui:` section."""

    component: str
    name: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a component from the file, with what the `placetui:` section says about it."""

    component: str


@dataclass(frozen=True, slots=True)
class Join:
    """Let a component share the key, and so the rule, of another."""

    component: str
    into: str


@dataclass(frozen=True, slots=True)
class SetShare:
    """Which fraction of a device a component holds; None for the default."""

    component: str
    share: float | None


@dataclass(frozen=True, slots=True)
class SetMode:
    """The file's mode; None for the default."""

    mode: str | None


Operation: TypeAlias = (
    Assign
    | Unassign
    | Move
    | Swap
    | Resize
    | Spread
    | PutOnGroup
    | Arrange
    | WriteRule
    | Add
    | Rename
    | Remove
    | Join
    | SetShare
    | SetMode
)

# What changes in the file.


@dataclass(frozen=True, slots=True)
class SetRule:
    """A component's rule; one that shares its key with others gets its own key."""

    component: str
    text: str
    groups: tuple[str, ...] | None = None
    """None: they stay."""


@dataclass(frozen=True, slots=True)
class AddRule:
    """A new component."""

    component: str
    text: str
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetValue:
    """A value of the `placetui:` or the `slime:` section; None removes it."""

    path: Path
    value: str | int | float | bool | None


Change: TypeAlias = SetRule | AddRule | Remove | Rename | Join | SetValue

Slot: TypeAlias = tuple[int, tuple[int, ...]]
"""Node and devices of a process; no devices for one that sits on the node itself."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where a component is to be after an edit."""

    slots: tuple[Slot, ...]
    by_rank: bool = True
    """False: only the devices count, because sizes elsewhere in the file make the processes."""

    @classmethod
    def of(cls, component: Component, by_rank: bool = True) -> Wanted:
        """Where it is now."""
        slots = ((one.cluster_node_rank, tuple(one.devices)) for one in component.placements)
        return cls(tuple(slots), by_rank)

    def met_by(self, component: Component) -> bool:
        found = Wanted.of(component)
        return found.slots == self.slots if self.by_rank else found.devices == self.devices

    @property
    def devices(self) -> frozenset[tuple[int, int | None]]:
        """(node, device); None for the node itself."""
        return frozenset((node, device) for node, devices in self.slots for device in devices or (None,))


@dataclass(frozen=True, slots=True)
class Edit:
    """What an operation does to the file, and to the plan."""

    label: str
    """`move rollout to 8-15`."""

    changes: tuple[Change, ...]
    wanted: Mapping[str, Wanted | None] = field(default_factory=dict)
    """Components whose places the edit decides; None for those that are gone."""

    free: bool = False
    """Whether components that are not `wanted` may move as well, because they follow the edited one."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an edit cannot be made; nothing has changed."""

    reason: str
    """A sentence without a full stop."""

    hint: str = ""
    rule: str = ""
    """Id of the rule that would be violated; empty if the file's rules have nothing to do with it."""

    span: Span | None = None
    """The part of the text of a rule that is meant; None for all of it."""

    @classmethod
    def of(cls, problem: Problem) -> Refusal:
        return cls(problem.message, problem.hint, problem.rule, problem.span)


class EditRefused(Exception):
    """Raised on the way to a `Refusal`."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, hint)

    @classmethod
    def of(cls, problem: Problem) -> EditRefused:
        refused = cls(problem.message)
        refused.refusal = Refusal.of(problem)
        return refused
