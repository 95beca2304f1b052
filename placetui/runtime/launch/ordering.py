"""From what the probe learned to which rank has which device. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from placetui.placement.placements import Placement
from placetui.placement.plan import GPU, Plan
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.launch.demand import Demand, RankNeeds


@dataclass(frozen=True, slots=True)
class Probed:
    """What work inside a bundle finds out about it."""

    bundle: int
    node: str
    """Id of its Ray node."""

    gpu: str
    """Physical id of its GPU, as text."""

    position: int
    """Place of that GPU in the node's visible list."""

    visible: tuple[str, ...] | None = None
    """The node's visible list; None where the node sees all its GPUs, by their numbers."""


@dataclass(frozen=True, slots=True)
class Order:
    """Devices in the plan's order, with what Ray gave for them."""

    bundles: tuple[Probed, ...]
    """By logical device: number k of the demand's bundles has what is at place k."""

    visible: Mapping[int, tuple[str, ...]]
    """By planned node, the physical ids of all its GPUs."""

    def gpu_ids(self, needs: RankNeeds) -> list[str]:
        """Physical ids of all devices of a rank."""
        return [self.bundles[number].gpu for number in needs.bundles]


@dataclass(frozen=True, slots=True)
class MovedRank:
    """A rank whose devices are not the planned ones."""

    component: str
    rank: int
    node_rank: int
    planned: tuple[int, ...]
    got: tuple[int, ...]

    def sentence(self) -> str:
        where = f"{self.component}:{self.rank} on node {self.node_rank}"
        return f"{where}: planned {_gpus(self.planned)}, got {_gpus(self.got)}"


def order(demand: Demand, nodes: Sequence[RayNode], probed: Sequence[Probed]) -> Order:
    """Bundles by planned node, then by GPU position; `nodes` are by planned rank, `probed` in any order."""
    rank_of = {node.id: rank for rank, node in enumerate(nodes)}
    if sorted(one.bundle for one in probed) != list(range(len(demand.bundles))):
        raise ClusterError("the probe did not see every bundle once")
    strange = [one for one in probed if one.node not in rank_of]
    if strange:
        raise ClusterError(f"bundle {strange[0].bundle} is on node {strange[0].node}, which the plan does not use")
    ordered = sorted(probed, key=lambda one: (rank_of[one.node], one.position))
    for bundle, one in zip(demand.bundles, ordered, strict=True):
        if rank_of[one.node] != bundle.node:
            raise ClusterError(f"bundle {one.bundle} is on node {rank_of[one.node]} instead of {bundle.node}")
    visible = {rank: tuple(str(index) for index in range(node.gpus)) for rank, node in enumerate(nodes)}
    visible |= {rank_of[one.node]: one.visible for one in probed if one.visible is not None}
    return Order(tuple(ordered), visible)


def moves(demand: Demand, result: Order) -> list[MovedRank]:
    """Ranks whose devices are not the planned ones."""
    found: list[MovedRank] = []
    for needs in demand.ranks:
        planned = tuple(demand.bundles[number].position for number in needs.bundles)
        got = tuple(result.bundles[number].position for number in needs.bundles)
        if planned != got:
            found.append(MovedRank(needs.component, needs.rank, needs.node, planned, got))
    return found


def as_obtained(plan: Plan, demand: Demand, result: Order) -> Plan:
    """The plan with the devices that were obtained, visible ones by their physical ids."""
    ranks = {needs.key: needs for needs in demand.ranks}
    components = {
        name: replace(
            component,
            placements=[_obtained(plan, one, ranks[name, one.rank], result) for one in component.placements],
        )
        for name, component in plan.components.items()
    }
    return replace(plan, components=components)


def _obtained(plan: Plan, placement: Placement, needs: RankNeeds, result: Order) -> Placement:
    ids = result.visible[placement.cluster_node_rank]
    visible = [
        ids[int(one)] if one.isdecimal() and int(one) < len(ids) else one for one in placement.visible_accelerators
    ]
    if plan.kind_of(placement) != GPU:
        return replace(placement, visible_accelerators=visible)
    positions = [result.bundles[number].position for number in needs.bundles]
    if not placement.isolate_accelerator:
        return replace(placement, visible_accelerators=visible, local_hardware_ranks=positions)
    return replace(
        placement,
        visible_accelerators=result.gpu_ids(needs),
        local_hardware_ranks=positions,
        local_accelerator_rank=positions[0],
    )


def _gpus(positions: Sequence[int]) -> str:
    return f"GPU {', '.join(map(str, positions))}"
