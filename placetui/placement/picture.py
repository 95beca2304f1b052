"""`Picture`: who is on which GPU, in the words of a placement file, whoever put them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from placetui.placement.plan import SHARE_UNITS
from placetui.placement.stride import MODE, Stride
from placetui.placement.topology import Node

Devices: TypeAlias = "tuple[int, ...]"
"""GPUs of one process, numbered through the cluster."""


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


@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes, and who is on their GPUs."""

    nodes: tuple[Node, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    """What a file cannot tell, in sentences."""

    stride: Stride | None = None
    """How `rollout` lies on the GPUs of `actor`, where its rule alone does not say that."""

    def config(self) -> dict[str, Any]:
        """What a file says that gives this picture."""
        section: dict[str, Any] = {"topology": {"nodes": [topology_entry(node) for node in self.nodes]}}
        if self.stride is not None:
            section["mode"] = MODE
        shares = {part.name: part.units / SHARE_UNITS for part in self.parts if part.units is not None}
        if shares:
            section["shares"] = shares
        placement = {part.name: part.rule for part in self.parts}
        return {
            "cluster": {"num_nodes": len(self.nodes), "component_placement": placement},
            **(self.stride.sections() if self.stride is not None else {}),
            "placetui": section,
        }


def topology_entry(node: Node) -> dict[str, str | int | float]:
    """What a topology says of a node."""
    entry: dict[str, str | int | float | None] = {
        "name": node.name,
        "ip": node.ip,
        "gpus": node.gpus,
        "memory_gib": node.memory_gib,
    }
    return {name: value for name, value in entry.items() if value is not None and value != ""}
