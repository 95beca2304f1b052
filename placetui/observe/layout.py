"""`Layout`: as much of a plan as a simulation needs, small enough for a pipe."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from placetui.placement.plan import Plan

Role: TypeAlias = Literal["train", "rollout", "other"]

TRAINING = ("actor", "critic")
"""Components that train, unless a file says otherwise."""

_GENERATES = ("rollout", "inference", "engine", "generat", "sglang", "vllm", "agent")


@dataclass(frozen=True, slots=True)
class LayoutNode:
    """A node, by rank."""

    name: str
    ip: str = ""
    gpus: int = 0
    memory_gib: float | None = None
    """Memory of each GPU, where the plan says so."""


@dataclass(frozen=True, slots=True)
class LayoutComponent:
    """A component and where its ranks are."""

    name: str
    role: Role
    places: tuple[tuple[int, tuple[int, ...]], ...]
    """For each rank its node, and its GPUs on that node; none where it sits on a node or a robot."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Nodes, and which rank is where."""

    nodes: tuple[LayoutNode, ...]
    components: tuple[LayoutComponent, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "nodes": [[node.name, node.ip, node.gpus, node.memory_gib] for node in self.nodes],
            "components": [[one.name, one.role, one.places] for one in self.components],
        }

    @classmethod
    def from_dict(cls, value: Any) -> Layout:
        """What `to_dict` gave, also after a way through JSON.

        Raises:
            ValueError: it is something else.
        """
        try:
            layout = cls(
                tuple(LayoutNode(*row) for row in value["nodes"]),
                tuple(
                    LayoutComponent(name, role, tuple((node, tuple(gpus)) for node, gpus in places))
                    for name, role, places in value["components"]
                ),
            )
            for component in layout.components:
                for node, gpus in component.places:
                    if not 0 <= node < len(layout.nodes) or not all(0 <= i < layout.nodes[node].gpus for i in gpus):
                        raise ValueError(f"{component.name} is on a device that does not exist: node {node}, {gpus}")
        except (TypeError, KeyError) as problem:
            raise ValueError(f"not a layout: {problem}") from problem
        return layout


def layout_of(plan: Plan, train: Collection[str] = TRAINING) -> Layout:
    """What a simulation of a plan needs; `train` names the components that train."""
    return Layout(
        tuple(LayoutNode(node.name, node.ip, node.gpus, node.memory_gib) for node in plan.nodes),
        tuple(
            LayoutComponent(
                component.name,
                role_of(component.name, train),
                tuple(
                    (
                        placement.cluster_node_rank,
                        tuple(placement.local_hardware_ranks) if plan.kind_of(placement) == "gpu" else (),
                    )
                    for placement in component.placements
                ),
            )
            for component in plan.components.values()
        ),
    )


def role_of(component: str, train: Collection[str] = TRAINING) -> Role:
    """What a component does, as far as its name tells."""
    if component in train:
        return "train"
    return "rollout" if any(word in component.lower() for word in _GENERATES) else "other"
