"""The slots of a slime job: GPUs, counted over the nodes in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from placetui.frameworks.slime.order import ordered_ids
from placetui.placement.placements import Placement
from placetui.placement.placing import place_each
from placetui.placement.topology import Node


class Slots:
    """The slots of a job on the nodes of a cluster: slot k is the k-th GPU over them."""

    def __init__(self, nodes: Sequence[Node], wanted: int, *, by_text: bool = False) -> None:
        self.nodes = nodes
        self.ids = [ordered_ids(node.gpu_ids, by_text=by_text) or tuple(range(node.gpus)) for node in nodes]
        """By node, the physical ids of its GPUs in the order of slots."""

        self.available = sum(node.gpus for node in nodes)
        self.node: list[int] = []
        """Rank of each slot's node."""

        self.gpu: list[int] = []
        for rank, node in enumerate(nodes):
            taken = min(node.gpus, wanted - len(self.node))
            if taken <= 0 < node.gpus:
                break
            self.node += [rank] * taken
            self.gpu += range(taken)

    def gpu_id(self, slot: int) -> int | str:
        """The physical id of a slot's GPU, as far as the topology tells."""
        return self.ids[self.node[slot]][self.gpu[slot]]

    def name(self, node: int) -> str:
        return self.nodes[node].name or f"node{node}"

    def place(self, processes: Iterable[range]) -> list[Placement]:
        """Ranks on these slots, in order; none crosses nodes."""
        ranks = [(self.node[owned[0]], self.gpu[owned.start : owned.stop]) for owned in processes]
        return place_each(self.nodes, ranks, isolate=False)

    def by_node(self, slots: range) -> Iterator[tuple[int, list[int]]]:
        """Nodes of consecutive slots, each with the GPUs."""
        for node, found in groupby(slots, key=self.node.__getitem__):
            yield node, [self.gpu[slot] for slot in found]
