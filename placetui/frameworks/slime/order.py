"""slime's stable order of bundles and nodes: by node address, then by GPU id."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from placetui.frameworks.addresses import address_key, resolve_ipv4
from placetui.frameworks.cluster_facts import NODE_RANK, NodeOrder, RayNodeFacts

BundleKey: TypeAlias = tuple[list[int], int] | tuple[list[int], float, str]
"""Parts of the node's address, then the GPU id; ids that are no numbers come last, by text."""


def sort_key(entry: tuple[int, str, int | str], resolve: Callable[[str], str] = resolve_ipv4) -> BundleKey:
    """The key by which slime orders `(bundle index, node, GPU id)`; it compares with the key of any other entry.

    Args:
        entry: What a probe learned of one bundle. The node is an address or a host name.
        resolve: Finds the IPv4 address of a host name, and is not called for addresses, neither IPv4 nor IPv6. Pass
            one that remembers when names are many.
    """
    _, node, gpu_id = entry
    parts = address_key(str(node), resolve)
    try:
        return parts, int(gpu_id)
    except (ValueError, TypeError, OverflowError):
        # UUIDs and MIG slices: slime itself would raise here.
        return parts, math.inf, str(gpu_id)


def ordered_ids(ids: Sequence[int | str], *, by_text: bool = False) -> tuple[int | str, ...]:
    """GPU ids of a node in the order of its slots: as numbers, or by text, compared as they are."""
    if by_text and len({*map(type, ids)}) < 2:
        return tuple(sorted(ids))
    return tuple(sorted(ids, key=lambda one: sort_key((0, "", one))[1:]))


def order_nodes(nodes: Sequence[RayNodeFacts]) -> NodeOrder:
    """The nodes with GPUs by address.

    slime itself orders by address alone; nodes that share one are ordered by their rank label, then by their id.
    """
    with_gpus = [node for node in nodes if node.gpus]
    ordered = sorted(with_gpus, key=lambda node: (address_key(node.ip), _rank_label(node), node.id))
    return NodeOrder(tuple(node.id for node in ordered), "slime's order of addresses")


def _rank_label(node: RayNodeFacts) -> float:
    text = node.labels.get(NODE_RANK, "")
    return int(text) if text.isdecimal() else math.inf
