"""What changed between two observations: only that is sent and stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from operator import attrgetter

from placetui.observe.model import NodeSample, Observation, RankState

NOTHING = Observation(0.0, "simulated")
"""Nothing seen yet: the difference to it is the whole observation."""

TABLES = frozenset({"groups", "jobs"})
"""Of an observation, what is sent as a whole if anything of it differs."""


class CodecError(ValueError):
    """The data is not a valid observation, or not one that follows on the one before."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The way from one observation to a later one."""

    later: Observation
    """The later one, of whose nodes only those are here that are new or differ, and of whose ranks none."""

    gone: tuple[int, ...] = ()
    """Ranks of nodes that are no longer there."""

    world_sizes: Mapping[str, int] = field(default_factory=dict)
    """Every component with its number of ranks, changed or not."""

    ranks: tuple[RankState, ...] = ()
    """Ranks that are new or differ, by component, in order."""

    same: frozenset[str] = frozenset()
    """Of `groups` and `jobs`, those of which none differs: they are not here."""


def replaced(
    old: Sequence[NodeSample], new: Sequence[NodeSample]
) -> tuple[dict[int, NodeSample], dict[int, NodeSample]]:
    """By rank, the nodes of each that are not the same object in both: of thousands most are."""
    if len(old) == len(new):
        pairs = [(then, now) for then, now in zip(old, new, strict=True) if then is not now]
        old, new = [then for then, _ in pairs], [now for _, now in pairs]
    before, after = {node.rank: node for node in old}, {node.rank: node for node in new}
    for rank in [rank for rank, node in after.items() if before.get(rank) is node]:
        del before[rank], after[rank]
    return before, after


def changes(old: Observation, new: Observation) -> Delta:
    """The difference; `apply` goes from `old` to `new` with it."""
    before, after = replaced(old.nodes, new.nodes)
    changed = [node for rank, node in after.items() if before.get(rank) != node]
    same = frozenset(name for name in TABLES if getattr(old, name) == getattr(new, name))
    later = replace(new, nodes=tuple(changed), ranks={})
    sizes = {component: len(states) for component, states in new.ranks.items()}
    gone = tuple(rank for rank in before if rank not in after)
    return Delta(_without(later, same), gone, sizes, tuple(_changed_ranks(old, new)), same)


def _without(observation: Observation, tables: Set[str]) -> Observation:
    groups = () if "groups" in tables else observation.groups
    return replace(observation, groups=groups, jobs=() if "jobs" in tables else observation.jobs)


def apply(old: Observation, delta: Delta) -> Observation:
    """The later observation. What did not change is shared with `old`; a CodecError if the delta does not fit it."""
    return replace(
        delta.later,
        nodes=_apply_nodes(old, delta),
        ranks=_apply_ranks(old, delta),
        groups=old.groups if "groups" in delta.same else delta.later.groups,
        jobs=old.jobs if "jobs" in delta.same else delta.later.jobs,
    )


def changed_nodes(old: Observation, new: Observation) -> frozenset[int]:
    """Ranks of nodes with other values, or with ranks in another state, in `new` than in `old`."""
    delta = changes(old, new)
    found = {node.rank for node in delta.later.nodes}
    found.update(delta.gone)
    moved = [(state, old.rank(state.component, state.rank)) for state in delta.ranks]
    vanished = [
        state for component, states in old.ranks.items() for state in states[len(new.ranks.get(component, ())) :]
    ]
    for now, then in [*moved, *((None, state) for state in vanished)]:
        found.update(state.node for state in (now, then) if state is not None and state.node is not None)
    return frozenset(found)


def parts(delta: Delta, most: int) -> Iterator[Delta]:
    """The same in pieces of at most `most` nodes, to be applied one after the other; the last one ends it.

    A large cluster seen for the first time is megabytes: in pieces it keeps nobody busy for long.
    """
    nodes = delta.later.nodes
    if len(nodes) <= most:
        yield delta
        return
    # The ranks go with the first piece, whose world sizes they must fit.
    yield replace(delta, later=replace(delta.later, nodes=nodes[:most]))
    rest = Delta(_without(delta.later, TABLES), world_sizes=delta.world_sizes, same=TABLES)
    for start in range(most, len(nodes), most):
        yield replace(rest, later=replace(rest.later, nodes=nodes[start : start + most]))


def _changed_ranks(old: Observation, new: Observation) -> Iterator[RankState]:
    for component, states in new.ranks.items():
        known = old.ranks.get(component, ())
        if states is known:
            continue
        for then, now in zip(known, states, strict=False):
            if then is not now and then != now:
                yield now
        yield from states[len(known) :]


def _apply_nodes(old: Observation, delta: Delta) -> tuple[NodeSample, ...]:
    if not delta.later.nodes and not delta.gone:
        return old.nodes
    nodes = {node.rank: node for node in old.nodes}
    for rank in delta.gone:
        if nodes.pop(rank, None) is None:
            raise CodecError(f"node {rank} was not there and cannot go")
    known = len(nodes)
    nodes.update((node.rank, node) for node in delta.later.nodes)
    if len(nodes) == known:
        return tuple(nodes.values())
    return tuple(sorted(nodes.values(), key=attrgetter("rank")))


def _apply_ranks(old: Observation, delta: Delta) -> Mapping[str, tuple[RankState, ...]]:
    sizes = [(component, len(states)) for component, states in old.ranks.items()]
    if not delta.ranks and list(delta.world_sizes.items()) == sizes:
        return old.ranks
    changed: dict[str, list[RankState]] = {component: [] for component in delta.world_sizes}
    for state in delta.ranks:
        if state.component not in changed:
            raise CodecError(f"component {state.component} has ranks but no size")
        changed[state.component].append(state)
    return {
        component: _apply_component(old.ranks.get(component, ()), changed[component], size)
        for component, size in delta.world_sizes.items()
    }


def _apply_component(known: tuple[RankState, ...], changed: list[RankState], size: int) -> tuple[RankState, ...]:
    if not changed and len(known) == size:
        return known
    states = list(known[:size])
    for state in changed:
        if 0 <= state.rank < len(states):
            states[state.rank] = state
        elif state.rank == len(states):
            states.append(state)
        else:
            raise CodecError(f"rank {state.rank} of {state.component} comes after a gap")
    if len(states) != size:
        raise CodecError(f"{len(states)} ranks where {size} were announced")
    return tuple(states)
