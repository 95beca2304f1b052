"""Which ranks move, are added or are removed between two plans, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

from placetui.placement.plan import GPU, NODE, Component, Plan, as_share
from placetui.placement.topology import Node
from placetui.placement.wording import count, pattern_text, ranges, share_text


class RankPosition(NamedTuple):
    """Where a rank is."""

    node: int
    kind: str
    devices: tuple[int, ...]
    """Indices on the node; empty for a process on a node."""


class RankMove(NamedTuple):
    """A rank that is elsewhere in the second plan."""

    rank: int
    before: RankPosition
    after: RankPosition


@dataclass(frozen=True, slots=True)
class ShareChange:
    """Ranks whose share of their devices differs."""

    ranks: tuple[int, ...]
    before: float | None
    after: float | None


Change: TypeAlias = Literal["appears", "vanishes", "changes"]


@dataclass(frozen=True, slots=True)
class ComponentDifference:
    """What differs in one component."""

    component: str
    happening: Change
    world_size: tuple[int, int]
    """Before and after; 0 where the component is not there."""

    strategy: tuple[str | None, str | None]
    moves: tuple[RankMove, ...]
    appears: tuple[tuple[int, RankPosition], ...]
    """Ranks that only the second plan has."""

    vanishes: tuple[tuple[int, RankPosition], ...]
    """Ranks that only the first plan has."""

    shares: tuple[ShareChange, ...]


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """A node that only one plan has, or that is not the same in both."""

    node: int
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
        """How many ranks move, are added, are removed, stay, and have another share."""
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
        and before.topology.robot_kinds == after.topology.robot_kinds
    )


def _compare(
    name: str, before: Plan, one: Component | None, after: Plan, other: Component | None
) -> tuple[ComponentDifference | None, int]:
    old = _positions(before, one) if one else []
    new = _positions(after, other) if other else []
    both = min(len(old), len(new))
    moves = tuple(RankMove(rank, old[rank], new[rank]) for rank in range(both) if old[rank] != new[rank])
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
        or any((moves, difference.appears, difference.vanishes, difference.shares))
        or difference.strategy[0] != difference.strategy[1]
    )
    return (difference if differs else None), both - len(moves)


def _positions(plan: Plan, component: Component) -> list[RankPosition]:
    robots = plan.topology.robot_kinds
    return [
        RankPosition(one.cluster_node_rank, plan.kind_of(one) if robots or not one.devices else GPU, tuple(one.devices))
        for one in component.placements
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
        if one is other:
            continue
        renamed = one is not None and other is not None and one.name != other.name
        old = _describe(one, renamed) if one else None
        new = _describe(other, renamed) if other else None
        if old != new:
            yield NodeDifference(rank, (other or before.nodes[rank]).name, old, new)


def _describe(node: Node, with_name: bool) -> str:
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
        "appears": [{"rank": rank, **position._asdict()} for rank, position in one.appears],
        "vanishes": [{"rank": rank, **position._asdict()} for rank, position in one.vanishes],
        "shares": [asdict(share) for share in one.shares],
    }


def difference_lines(difference: Difference) -> Iterator[str]:
    """What differs in the nodes, what happens to each component, then the counts."""
    yield from _node_lines(difference.nodes)
    for one in difference.components:
        yield from _component_lines(one, difference.before, difference.after)
    yield summary(difference)


def summary(difference: Difference) -> str:
    """`8 ranks move, 4 added, 2 removed, 16 shares change, 12 stay`."""
    if not difference:
        return f"no difference: {count(difference.stays, 'rank')} as before"
    counts = difference.counts
    parts = [
        f"{count(counts[name], 'rank')} {one if counts[name] == 1 else many}"
        for name, one, many in (
            ("moves", "moves", "move"),
            ("appears", "added", "added"),
            ("vanishes", "removed", "removed"),
        )
        if counts[name]
    ]
    if counts["shares"]:
        parts.append(f"{count(counts['shares'], 'share')} {'changes' if counts['shares'] == 1 else 'change'}")
    return ", ".join([*parts, f"{counts['stays']} stay"])


def _node_lines(nodes: Sequence[NodeDifference]) -> Iterator[str]:
    """One line for neighbouring nodes that differ in the same way."""
    for (_, before, after), same in groupby(
        enumerate(nodes), key=lambda pair: (pair[1].node - pair[0], pair[1].before, pair[1].after)
    ):
        found = [node for _, node in same]
        first, last = found[0].name, found[-1].name
        names = first if len(found) == 1 else f"{first} … {last}"
        yield f"{names}: {before or 'absent'} → {after or 'absent'}"


def _component_lines(one: ComponentDifference, before: Plan, after: Plan) -> Iterator[str]:
    name = one.component
    old, new = one.world_size
    if one.happening == "changes":
        changed = [f"{count(old, 'rank')} → {new}"] if old != new else []
        if one.strategy[0] != one.strategy[1]:
            changed.append(f"{one.strategy[0]} → {one.strategy[1]} strategy")
        if changed:
            yield f"{name}: {', '.join(changed)}"
    elif not old and not new:
        yield f"{name}: {'added' if one.happening == 'appears' else 'removed'}"
    for run in _runs(one.moves):
        here = _positions_text(before, [move.before for move in run])
        yield f"{name} {_ranks(run)}: {here} → {_positions_text(after, [move.after for move in run])}"
    for run in _runs(RankMove(rank, position, position) for rank, position in one.vanishes):
        yield f"{name} {_ranks(run)}: removed from {_positions_text(before, [move.before for move in run])}"
    for run in _runs(RankMove(rank, position, position) for rank, position in one.appears):
        yield f"{name} {_ranks(run)}: added on {_positions_text(after, [move.after for move in run])}"
    for share in one.shares:
        yield f"{name} {ranges(share.ranks)}: share {share_text(share.before)} → {share_text(share.after)}"


def _ranks(run: Sequence[RankMove]) -> str:
    return ranges(move.rank for move in run)


def _runs(moves: Iterable[RankMove]) -> Iterator[list[RankMove]]:
    """Ranks that go from one node to one other; then nodes whose ranks go the same way, one after the other."""
    current: list[RankMove] = []
    size = 0
    for _, together in groupby(enumerate(moves), key=_neighbours):
        run = [move for _, move in together]
        if current and _in_step(current[-size:], run):
            current += run
            continue
        if current:
            yield current
        current, size = run, len(run)
    if current:
        yield current


def _neighbours(numbered: tuple[int, RankMove]) -> tuple[object, ...]:
    """The same for ranks that follow each other and go from one node to one other."""
    place, move = numbered
    return move.rank - place, move.before[:2], move.after[:2]


def _in_step(last: Sequence[RankMove], run: Sequence[RankMove]) -> bool:
    """Whether ranks go the same way as the last ones, each a node further."""
    if run[0].rank != last[-1].rank + 1 or len(run) != len(last):
        return False
    return all(
        new == old._replace(node=old.node + 1)
        for one, other in zip(last, run, strict=True)
        for old, new in ((one.before, other.before), (one.after, other.after))
    )


def _positions_text(plan: Plan, positions: Sequence[RankPosition]) -> str:
    first, last = positions[0], positions[-1]
    name = plan.nodes[first.node].name
    if first.node != last.node:
        name = f"{name} … {plan.nodes[last.node].name}"
    if first.kind == NODE:
        return name
    pattern = pattern_text(first.kind, [one.devices for one in positions if one.node == first.node])
    if first.node == last.node:
        return f"{name}/gpu{pattern.removeprefix('GPU ')}" if first.kind == GPU else f"{name} {pattern}"
    return f"{name}, {pattern} each"
