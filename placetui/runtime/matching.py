"""Which node of the cluster is which node of the plan: as the file's framework would have it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placetui.placement.problems import count, listing
from placetui.placement.sort_key import sort_key
from placetui.runtime.errors import Refused
from placetui.runtime.model import NODE_RANK, RayNode


@dataclass(frozen=True, slots=True)
class Match:
    """Nodes by planned rank."""

    nodes: tuple[RayNode, ...]
    by: str
    """What the order comes from, in words."""

    warnings: tuple[str, ...] = ()


def match_slime(nodes: Sequence[RayNode]) -> Match:
    """Slime's stable order over the nodes with GPUs.

    slime itself orders by address alone; nodes that share one are told apart by their rank label, then by their id.
    """
    with_gpus = [node for node in nodes if node.gpus]
    return Match(
        tuple(sorted(with_gpus, key=lambda node: (_address_key(node), _rank_label(node), node.id))),
        "slime's order of addresses",
    )


def match_rlinf(
    nodes: Sequence[RayNode], driver: str, ranks: Mapping[str, str | None], *, node_groups: bool = False
) -> Match:
    """RLinf's order of all nodes.

    Args:
        nodes: in Ray's order.
        driver: id of the node on which the driver runs.
        ranks: by node id, RLINF_NODE_RANK as written there; None where it is not set.
        node_groups: whether the file has any.

    Raises:
        Refused: the ranks that the nodes give themselves cannot be right.
    """
    if len(nodes) == 1:
        return Match(tuple(nodes), "the only node")
    given = [node for node in nodes if ranks.get(node.id) is not None]
    if not given:
        return _by_address(nodes, driver, node_groups)
    if len(given) < len(nodes):
        without = [node.ip for node in nodes if ranks.get(node.id) is None]
        raise Refused(
            f"{NODE_RANK} is set on {count(len(given), 'node')} and not on {listing(without, 4)}",
            hint=f"export {NODE_RANK} before `ray start` on every node, or on none",
        )
    numbers = {node.id: _number(ranks[node.id], node) for node in nodes}
    if sorted(numbers.values()) != list(range(len(nodes))):
        said = listing((f"{node.ip}: {numbers[node.id]}" for node in nodes), 8)
        raise Refused(
            f"the {NODE_RANK} of {count(len(nodes), 'node')} must be 0 to {len(nodes) - 1}, each once ({said})",
            hint=f"export {NODE_RANK} before `ray start`, counted from 0",
        )
    return Match(tuple(sorted(nodes, key=lambda node: numbers[node.id])), NODE_RANK)


def _number(text: str | None, node: RayNode) -> int:
    try:
        return int(str(text).strip())
    except ValueError:
        raise Refused(f"{NODE_RANK} on {node.ip} is `{text}`, not a whole number") from None


def _by_address(nodes: Sequence[RayNode], driver: str, node_groups: bool) -> Match:
    """Nodes with GPUs and without, whichever Ray lists first; by address as text; the driver's node in front."""
    kinds = list(dict.fromkeys(bool(node.gpus) for node in nodes))
    ordered = sorted(nodes, key=lambda node: (kinds.index(bool(node.gpus)), node.ip, node.id))
    ordered.sort(key=lambda node: node.id != driver)
    warnings = []
    # The driver's own place and the two kinds are RLinf's choice and plain to see; text against numbers is a trap.
    rest = [node for node in ordered if node.id != driver]
    numeric = sorted(rest, key=lambda node: (kinds.index(bool(node.gpus)), _address_key(node), node.id))
    if numeric != rest:
        order = listing((node.ip for node in ordered), 8)
        warnings.append(
            f"node_order: without {NODE_RANK} RLinf orders addresses as text, which is not their numeric order: {order}"
        )
    if node_groups:
        warnings.append(f"node_order: RLinf refuses node_groups on several nodes without {NODE_RANK}")
    return Match(tuple(ordered), "RLinf's order of addresses", tuple(warnings))


def _address_key(node: RayNode) -> tuple[list[int], float]:
    key = sort_key((0, node.ip, 0))
    return key[0], key[1]


def _rank_label(node: RayNode) -> float:
    text = node.labels.get(NODE_RANK, "")
    return int(text) if text.isdecimal() else float("inf")
