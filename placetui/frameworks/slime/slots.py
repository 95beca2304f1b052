"""The slots of a slime job: GPUs, counted over the nodes in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from placetui.frameworks.slime.order import ordered_ids
from placetui.placement.placements import Placement, set_node_id
from placetui.placement.topology import CLUSTER, Node


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
        placements: list[Placement] = []
        by_node = groupby(processes, key=lambda owned: self.node[owned[0]])
        for node_index, (node, on_node) in enumerate(by_node):
            here = list(on_node)
            name = self.name(node)
            visible = [str(gpu) for gpu in range(self.nodes[node].gpus)]
            for local_rank, owned in enumerate(here):
                gpus = self.gpu[owned.start : owned.stop]
                placement = Placement(
                    rank=len(placements),
                    cluster_node_rank=node,
                    placement_node_rank=node_index,
                    local_accelerator_rank=gpus[0],
                    accelerator_type=self.nodes[node].accelerator_type,
                    local_rank=local_rank,
                    local_world_size=len(here),
                    visible_accelerators=visible,
                    isolate_accelerator=False,
                    local_hardware_ranks=gpus,
                    node_group_label=CLUSTER,
                )
                set_node_id(placement, name)
                placements.append(placement)
        return placements

    def by_node(self, slots: range) -> Iterator[tuple[int, list[int]]]:
        """Nodes of consecutive slots, each with the GPUs."""
        for node, found in groupby(slots, key=self.node.__getitem__):
            yield node, [self.gpu[slot] for slot in found]
