"""`Picture`: who is on which GPU, in the words of a placement file, no matter what started them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from placetui.placement.config.settings import SECTION as SETTINGS
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.topology import Node

Devices: TypeAlias = "tuple[int, ...]"
"""GPUs of one process, numbered through the cluster."""

NODES = "node"
"""The group of all nodes, without their GPUs."""

MODE = "model_parallel"
ROLES = ("actor", "rollout", "reward")
"""Components that the mode needs."""

_OTHER_ROLES = frozenset({"inference", "actor_inference", "critic", "critic_inference"})
"""Those that it would place in its own way too."""


@dataclass(frozen=True, slots=True)
class Stride:
    """How rollout lies on the devices of the actor: the one layout with gaps inside a process that a file can express.

    In the model-parallel mode, collocated, a rollout process has every n-th device of the actor's, so that it finds its
    weights there. Rules alone cannot say that: the sizes of the models do.
    """

    first: int
    last: int
    """Devices of both, numbered through the cluster."""

    each: int
    """Devices of a rollout process."""

    step: int
    """From one of them to the next."""

    def processes(self) -> Iterator[tuple[int, ...]]:
        """The devices of rollout by rank."""
        for start in range(self.first, self.last + 1, self.each * self.step):
            for offset in range(start, start + self.step):
                yield tuple(range(offset, offset + self.each * self.step, self.step))

    def sections(self) -> dict[str, Any]:
        """What a file says of the models."""
        return {
            "actor": {"model": {"tensor_model_parallel_size": self.each * self.step}},
            "rollout": {"tensor_parallel_size": self.each},
        }


@dataclass(frozen=True, slots=True)
class Part:
    """Processes that one rule can tell: a component of the picture."""

    name: str
    processes: tuple[Devices, ...]
    """By rank."""

    rule: str
    units: int | None
    """Share of the component in 1/10000; None: nobody has reserved anything."""

    about: str
    """What they are: `class Trainer, job 04000000`."""

    note: str = ""
    """What the rule cannot tell."""

    on_nodes: bool = False
    """Whether these have no GPU: then `processes` and `rule` count nodes."""

    def place(self) -> str | dict[str, str]:
        """What `component_placement` says of it."""
        return {"node_group": NODES, "placement": self.rule} if self.on_nodes else self.rule


@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes, and who is on their GPUs."""

    nodes: tuple[Node, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    """What a file cannot tell, in sentences."""

    stride: Stride | None = None
    """How `rollout` lies on the GPUs of `actor`, where its rule alone does not say that."""

    sections: Mapping[str, Any] = field(default_factory=dict)
    """What a file of the job's own framework says; empty where rules tell who is where."""

    def config(self) -> dict[str, Any]:
        """What a file says that gives this picture."""
        section: dict[str, Any] = {"topology": {"nodes": [topology_entry(node) for node in self.nodes]}}
        if self.sections:
            return {**self.sections, SETTINGS: {**self.sections.get(SETTINGS, {}), **section}}
        if self.stride is not None:
            section["mode"] = MODE
        shares = {part.name: part.units / SHARE_UNITS for part in self.parts if part.units is not None}
        if shares:
            section["shares"] = shares
        placement = {part.name: part.place() for part in self.parts}
        return {
            "cluster": {"num_nodes": len(self.nodes), "component_placement": placement},
            **(self.stride.sections() if self.stride is not None else {}),
            SETTINGS: section,
        }


def topology_entry(node: Node) -> dict[str, Any]:
    """What a topology says of a node."""
    entry = {"name": node.name, "ip": node.ip, "gpus": node.gpus, "memory_gib": node.memory_gib}
    return {name: value for name, value in entry.items() if value is not None and value != ""}


def find_stride(components: Mapping[str, Sequence[Sequence[int]]]) -> Stride | None:
    """The stride that gives these components, of which the devices of each process are known; None if there is none."""
    if _OTHER_ROLES & components.keys() or not all(components.get(role) for role in ROLES):
        return None
    actor, rollout, reward = ([tuple(one) for one in components[role]] for role in ROLES)
    each = len(rollout[0])
    step = rollout[0][1] - rollout[0][0] if each > 1 else 1
    if step < 2 or not all(map(_is_row, (actor, reward))):
        return None
    found = Stride(actor[0][0], actor[-1][0], each, step)
    fits = len(actor) % (each * step) == 0 and list(found.processes()) == rollout
    return found if fits else None


def _is_row(processes: Sequence[tuple[int, ...]]) -> bool:
    """Whether each has one device, one after the other."""
    return processes == [(processes[0][0] + place,) for place in range(len(processes))]
