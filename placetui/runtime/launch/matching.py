"""Which node of the cluster is which node of the plan: as the file's framework would have it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placetui.frameworks.base import Framework
from placetui.frameworks.cluster_facts import NodeOrderError
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.model import RayNode


@dataclass(frozen=True, slots=True)
class Match:
    """Nodes by planned rank."""

    nodes: tuple[RayNode, ...]
    by: str
    """What the order comes from, in words."""

    warnings: tuple[str, ...] = ()


def match_by(
    framework: Framework,
    nodes: Sequence[RayNode],
    driver: str = "",
    ranks: Mapping[str, str | None] | None = None,
    *,
    node_groups: bool = False,
) -> Match:
    """The nodes in the order of a framework; see `Framework.order_nodes`."""
    try:
        order = framework.order_nodes(nodes, driver, ranks or {}, node_groups=node_groups)
    except NodeOrderError as error:
        raise NotPossible(str(error), hint=error.hint) from None
    by_id = {node.id: node for node in nodes}
    return Match(tuple(by_id[one] for one in order.ids), order.by, order.warnings)


def usable(nodes: Sequence[RayNode]) -> tuple[RayNode, ...]:
    """Nodes on which something new may start."""
    return tuple(node for node in nodes if not node.draining)


def covers(nodes: Sequence[Mapping[str, float]], bundles: Sequence[Mapping[str, float]]) -> bool:
    """Whether each bundle can have its own node, by what nodes have in total."""
    left = sorted(nodes, key=lambda one: one.get("GPU", 0))
    for bundle in sorted(bundles, key=lambda one: -one.get("GPU", 0)):
        fitting = [one for one in left if all(one.get(name, 0) >= amount for name, amount in bundle.items())]
        if not fitting:
            return False
        left.remove(fitting[0])
    return True
