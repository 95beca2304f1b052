"""A difference between two plans in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from placetui.placement.diff import ComponentDifference, Difference, NodeDifference, Spot
from placetui.placement.plan import NODE, Plan
from placetui.placement.problems import count
from placetui.placement.wording import pattern_text, ranges, share_text


def difference_lines(difference: Difference) -> Iterator[str]:
    """What differs in the nodes, what happens to each component, then the counts."""
    yield from _node_lines(difference.nodes)
    for one in difference.components:
        yield from _component_lines(one, difference.before, difference.after)
    yield summary(difference)


def summary(difference: Difference) -> str:
    """`8 ranks move, 4 ranks appear, 12 stay`."""
    if not difference:
        return f"no difference: {count(difference.stays, 'rank')} as before"
    counts = difference.counts
    parts = [
        f"{count(counts[name], 'rank')} {verb if counts[name] > 1 else verb + 's'}"
        for name, verb in (("moves", "move"), ("appears", "appear"))
        if counts[name]
    ]
    if counts["vanishes"]:
        parts.append(f"{count(counts['vanishes'], 'rank')} {'vanishes' if counts['vanishes'] == 1 else 'vanish'}")
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
        yield f"{names}: {before or 'not there'} → {after or 'not there'}"


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
        yield f"{name}: {one.happening}"
    for run in _runs((move.rank, move.before, move.after) for move in one.moves):
        yield f"{name} {ranges(run.ranks)}: {_spots(before, run.before)} → {_spots(after, run.after)}"
    for run in _runs((rank, spot, spot) for rank, spot in one.vanishes):
        yield f"{name} {ranges(run.ranks)}: vanishes from {_spots(before, run.before)}"
    for run in _runs((rank, spot, spot) for rank, spot in one.appears):
        yield f"{name} {ranges(run.ranks)}: appears on {_spots(after, run.after)}"
    for share in one.shares:
        yield f"{name} {ranges(share.ranks)}: share {share_text(share.before)} → {share_text(share.after)}"


@dataclass(slots=True)
class _Run:
    """Neighbouring ranks that go the same way."""

    ranks: list[int]
    before: list[Spot]
    after: list[Spot]

    def extend(self, other: _Run) -> None:
        self.ranks += other.ranks
        self.before += other.before
        self.after += other.after


def _runs(moves: Iterable[tuple[int, Spot, Spot]]) -> Iterator[_Run]:
    """Ranks that go from one node to one other; then nodes whose ranks go the same way, one after the other."""
    current: _Run | None = None
    size = 0
    for run in _between_two_nodes(moves):
        if current is not None and _in_step(current, run, size):
            current.extend(run)
            continue
        if current is not None:
            yield current
        current, size = run, len(run.ranks)
    if current is not None:
        yield current


def _between_two_nodes(moves: Iterable[tuple[int, Spot, Spot]]) -> Iterator[_Run]:
    current: _Run | None = None
    for rank, before, after in moves:
        one = _Run([rank], [before], [after])
        if current is None:
            current = one
        elif (
            current.ranks[-1] == rank - 1
            and current.before[-1][:2] == before[:2]
            and current.after[-1][:2] == after[:2]
        ):
            current.extend(one)
        else:
            yield current
            current = one
    if current is not None:
        yield current


def _in_step(current: _Run, run: _Run, size: int) -> bool:
    if run.ranks[0] != current.ranks[-1] + 1 or len(run.ranks) != size:
        return False
    for last, now in ((current.before[-size:], run.before), (current.after[-size:], run.after)):
        if now[0].node != last[0].node + 1 or [spot[1:] for spot in last] != [spot[1:] for spot in now]:
            return False
    return True


def _spots(plan: Plan, spots: Sequence[Spot]) -> str:
    first, last = spots[0], spots[-1]
    name = plan.nodes[first.node].name
    if first.node != last.node:
        name = f"{name} … {plan.nodes[last.node].name}"
    if first.kind == NODE:
        return name
    pattern = pattern_text(first.kind, [spot.devices for spot in spots if spot.node == first.node])
    return f"{name} {pattern}" if first.node == last.node else f"{name} {pattern} each"
