"""What moves, appears and vanishes between two plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from placetui.placement.plan import Component, Plan, PlanNode, as_share
from placetui.placement.problems import count


class Spot(NamedTuple):
    """Where a rank is."""

    node: int
    """Rank of the node."""

    kind: str
    """`gpu`, `node`, or the hardware type."""

    devices: tuple[int, ...]
    """Indices on the node; empty for a process on a node."""


@dataclass(frozen=True, slots=True)
class Move:
    """A rank that is elsewhere in the second plan."""

    rank: int
    before: Spot
    after: Spot


@dataclass(frozen=True, slots=True)
class ShareChange:
    """Ranks whose share of their devices differs."""

    ranks: tuple[int, ...]
    before: float | None
    after: float | None


Happening: TypeAlias = Literal["appears", "vanishes", "changes"]


@dataclass(frozen=True, slots=True)
class ComponentDifference:
    """What differs in one component."""

    component: str
    happening: Happening
    world_size: tuple[int, int]
    """Before and after; 0 where the component is not there."""

    strategy: tuple[str | None, str | None]
    moves: tuple[Move, ...]
    appears: tuple[tuple[int, Spot], ...]
    """Ranks that only the second plan has."""

    vanishes: tuple[tuple[int, Spot], ...]
    """Ranks that only the first plan has."""

    shares: tuple[ShareChange, ...]


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """A node that only one plan has, or that is not the same in both."""

    node: int
    """Its rank."""

    name: str
    """In the second plan if it is there."""

    before: str | None
    """`8 GPUs`, with its name where that differs; None where there is no such node."""

    after: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that differs between two plans."""

    before: Plan
    after: Plan
    nodes: tuple[NodeDifference, ...]
    components: tuple[ComponentDifference, ...]
    """In the order of the first plan, then new ones."""

    stays: int
    """Ranks that are where they were."""

    def __bool__(self) -> bool:
        return bool(self.nodes or self.components)

    @property
    def counts(self) -> dict[str, int]:
        """How many ranks move, appear, vanish, stay, and hold another share."""
        return {
            "moves": sum(len(one.moves) for one in self.components),
            "appears": sum(len(one.appears) for one in self.components),
            "vanishes": sum(len(one.vanishes) for one in self.components),
            "stays": self.stays,
            "shares": sum(len(share.ranks) for one in self.components for share in one.shares),
        }

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `placetui diff --json`."""
        return {
            "schema": 1,
            "before": self.before.source,
            "after": self.after.source,
            "differ": bool(self),
            "counts": self.counts,
            "nodes": [asdict(node) for node in self.nodes],
            "components": {one.component: _component_dict(one) for one in self.components},
        }


def diff_plans(before: Plan, after: Plan) -> Difference:
    """What differs between two plans, rank by rank. Nodes are the same when their ranks are."""
    found, stays = [], 0
    for name in dict.fromkeys([*before.components, *after.components]):
        one, other = before.components.get(name), after.components.get(name)
        if one is not None and other is not None and _same(before, one, after, other):
            stays += one.world_size
            continue
        difference, unmoved = _compare(name, before, one, after, other)
        stays += unmoved
        if difference is not None:
            found.append(difference)
    return Difference(before, after, tuple(_compare_nodes(before, after)), tuple(found), stays)


def _same(before: Plan, one: Component, after: Plan, other: Component) -> bool:
    """Quickly, for plans that share placements because most rules did not change."""
    return (
        one.placements is other.placements
        and one.strategy == other.strategy
        and one.rank_units == other.rank_units
        and before.group_kinds == after.group_kinds
    )


def _compare(
    name: str, before: Plan, one: Component | None, after: Plan, other: Component | None
) -> tuple[ComponentDifference | None, int]:
    old = _spots(before, one) if one else []
    new = _spots(after, other) if other else []
    both = min(len(old), len(new))
    moves = tuple(Move(rank, old[rank], new[rank]) for rank in range(both) if old[rank] != new[rank])
    difference = ComponentDifference(
        component=name,
        happening="appears" if one is None else "vanishes" if other is None else "changes",
        world_size=(len(old), len(new)),
        strategy=(one.strategy if one else None, other.strategy if other else None),
        moves=moves,
        appears=tuple((rank, new[rank]) for rank in range(both, len(new))),
        vanishes=tuple((rank, old[rank]) for rank in range(both, len(old))),
        shares=tuple(_compare_shares(one, other, both)) if one and other else (),
    )
    differs = (
        difference.happening != "changes"
        or difference.moves
        or difference.appears
        or difference.vanishes
        or difference.shares
        or difference.strategy[0] != difference.strategy[1]
    )
    return (difference if differs else None), both - len(moves)


def _spots(plan: Plan, component: Component) -> list[Spot]:
    return [
        Spot(placement.cluster_node_rank, plan.kind_of(placement), tuple(placement.local_hardware_ranks))
        for placement in component.placements
    ]


def _compare_shares(one: Component, other: Component, both: int) -> Iterator[ShareChange]:
    found: dict[tuple[int | None, int | None], list[int]] = {}
    for rank in range(both):
        old = one.rank_units[rank] if one.rank_units else None
        new = other.rank_units[rank] if other.rank_units else None
        if old != new:
            found.setdefault((old, new), []).append(rank)
    for (old, new), ranks in found.items():
        yield ShareChange(tuple(ranks), as_share(old), as_share(new))


def _compare_nodes(before: Plan, after: Plan) -> Iterator[NodeDifference]:
    for rank in range(max(len(before.nodes), len(after.nodes))):
        one = before.nodes[rank] if rank < len(before.nodes) else None
        other = after.nodes[rank] if rank < len(after.nodes) else None
        renamed = one is not None and other is not None and one.name != other.name
        old = _describe(one, renamed) if one else None
        new = _describe(other, renamed) if other else None
        if old != new:
            yield NodeDifference(rank, (other or before.nodes[rank]).name, old, new)


def _describe(node: PlanNode, with_name: bool) -> str:
    vendor = "" if node.accelerator == "NV_GPU" or not node.gpus else f" ({node.accelerator})"
    robots = "".join(f", {number} {kind}" for kind, number in sorted(node.hardware.items()))
    return f"{node.name + ' with ' if with_name else ''}{count(node.gpus, 'GPU')}{vendor}{robots}"


def _component_dict(one: ComponentDifference) -> dict[str, Any]:
    return {
        "happening": one.happening,
        "world_size": list(one.world_size),
        "strategy": list(one.strategy),
        "moves": [
            {"rank": move.rank, "before": move.before._asdict(), "after": move.after._asdict()} for move in one.moves
        ],
        "appears": [{"rank": rank, **spot._asdict()} for rank, spot in one.appears],
        "vanishes": [{"rank": rank, **spot._asdict()} for rank, spot in one.vanishes],
        "shares": [asdict(share) for share in one.shares],
    }
