"""Which node of a cluster is which rank: RLinf's own order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from placetui.frameworks.addresses import address_key
from placetui.frameworks.cluster_facts import NODE_RANK, NodeOrder, NodeOrderError, RayNodeFacts
from placetui.placement.wording import count, listing


def order_nodes(
    nodes: Sequence[RayNodeFacts], driver: str, ranks: Mapping[str, str | None], *, node_groups: bool = False
) -> NodeOrder:
    """RLinf's order of all nodes; see `Framework.order_nodes`."""
    if len(nodes) == 1:
        return NodeOrder((nodes[0].id,), "the only node")
    given = [node for node in nodes if ranks.get(node.id) is not None]
    if not given:
        return _by_address(nodes, driver, node_groups)
    if len(given) < len(nodes):
        without = [node.ip for node in nodes if ranks.get(node.id) is None]
        raise NodeOrderError(
            f"{NODE_RANK} is set on {count(len(given), 'node')} and not on {listing(without, 4)}",
            hint=f"export {NODE_RANK} before `ray start` on every node, or on none",
        )
    numbers = {node.id: _number(ranks[node.id], node) for node in nodes}
    if sorted(numbers.values()) != list(range(len(nodes))):
        said = listing((f"{node.ip}: {numbers[node.id]}" for node in nodes), 8)
        raise NodeOrderError(
            f"the {NODE_RANK} of {count(len(nodes), 'node')} must be 0 to {len(nodes) - 1}, each once ({said})",
            hint=f"export {NODE_RANK} before `ray start`, counted from 0",
        )
    return NodeOrder(tuple(sorted(numbers, key=numbers.__getitem__)), NODE_RANK)


def _number(text: str | None, node: RayNodeFacts) -> int:
    try:
        return int(str(text).strip())
    except ValueError:
        raise NodeOrderError(f"{NODE_RANK} on {node.ip} is `{text}`, not a whole number") from None


def _by_address(nodes: Sequence[RayNodeFacts], driver: str, node_groups: bool) -> NodeOrder:
    """Nodes with GPUs and without, whichever Ray lists first; by address as text; the driver's node in front."""
    kinds = list(dict.fromkeys(bool(node.gpus) for node in nodes))
    ordered = sorted(nodes, key=lambda node: (kinds.index(bool(node.gpus)), node.ip, node.id))
    ordered.sort(key=lambda node: node.id != driver)
    warnings = []
    # The driver's own place and the two kinds are RLinf's choice and plain to see; text against numbers is a trap.
    rest = [node for node in ordered if node.id != driver]
    numeric = sorted(rest, key=lambda node: (kinds.index(bool(node.gpus)), address_key(node.ip), node.id))
    if numeric != rest:
        order = listing((node.ip for node in ordered), 8)
        warnings.append(
            f"node_order: without {NODE_RANK} RLinf orders addresses as text, which is not their numeric order: {order}"
        )
    if node_groups:
        warnings.append(f"node_order: RLinf refuses node_groups on several nodes without {NODE_RANK}")
    return NodeOrder(tuple(node.id for node in ordered), "RLinf's order of addresses", tuple(warnings))
