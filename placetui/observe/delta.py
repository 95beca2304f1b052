"""What changed between two observations: only that is sent and stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

from placetui.observe.model import GroupState, JobSummary, NodeSample, Observation, RankState, Source

NOTHING = Observation(0.0, "simulated")
"""Nothing seen yet: the difference to it is the whole observation."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The way from one observation to a later one."""

    time: float
    source: Source
    nodes: tuple[NodeSample, ...] = ()
    """Nodes that are new or differ, in order of their ranks."""

    gone: tuple[int, ...] = ()
    """Ranks of nodes that are no longer there."""

    world_sizes: Mapping[str, int] = field(default_factory=dict)
    """Every component with its number of ranks, changed or not."""

    ranks: tuple[RankState, ...] = ()
    """Ranks that are new or differ, by component, in order."""

    job: str = ""
    """The job whose ranks these are, changed or not."""

    groups: tuple[GroupState, ...] | None = None
    """All placement groups, if one of them differs."""

    owner: str = ""
    """Of the job, changed or not."""

    jobs: tuple[JobSummary, ...] | None = None
    """All recognised jobs, if one of them differs."""

    note: str = ""
    """Changed or not."""

    not_launched: tuple[str, ...] = ()


def changes(old: Observation, new: Observation) -> Delta:
    """The difference; `apply` goes from `old` to `new` with it."""
    before = {node.rank: node for node in old.nodes}
    changed = []
    for node in new.nodes:
        known = before.pop(node.rank, None)
        # Most nodes are the same object: no need to look inside.
        if known is not node and known != node:
            changed.append(node)
    return Delta(
        time=new.time,
        source=new.source,
        nodes=tuple(changed),
        gone=tuple(before),
        world_sizes={component: len(states) for component, states in new.ranks.items()},
        ranks=tuple(_changed_ranks(old, new)),
        job=new.job,
        groups=None if new.groups is old.groups or new.groups == old.groups else new.groups,
        owner=new.owner,
        jobs=None if new.jobs is old.jobs or new.jobs == old.jobs else new.jobs,
        note=new.note,
        not_launched=new.not_launched,
    )


def apply(old: Observation, delta: Delta) -> Observation:
    """The later observation. What did not change is shared with `old`; a ValueError if the delta does not fit it."""
    return Observation(
        time=delta.time,
        source=delta.source,
        nodes=_apply_nodes(old, delta),
        ranks=_apply_ranks(old, delta),
        job=delta.job,
        groups=old.groups if delta.groups is None else delta.groups,
        owner=delta.owner,
        jobs=old.jobs if delta.jobs is None else delta.jobs,
        note=delta.note,
        not_launched=delta.not_launched,
    )


def changed_nodes(old: Observation, new: Observation) -> frozenset[int]:
    """Ranks of nodes with other values, or with ranks in another state, in `new` than in `old`."""
    delta = changes(old, new)
    found = {node.rank for node in delta.nodes}
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
    nodes = delta.nodes
    if len(nodes) <= most:
        yield delta
        return
    # The ranks go with the first piece, whose world sizes they must fit.
    yield replace(delta, nodes=nodes[:most])
    for start in range(most, len(nodes), most):
        yield replace(delta, nodes=nodes[start : start + most], gone=(), ranks=(), groups=None, jobs=None)


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
    if not delta.nodes and not delta.gone:
        return old.nodes
    nodes = {node.rank: node for node in old.nodes}
    for rank in delta.gone:
        if nodes.pop(rank, None) is None:
            raise ValueError(f"node {rank} was not there and cannot go")
    known = len(nodes)
    nodes.update((node.rank, node) for node in delta.nodes)
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
            raise ValueError(f"component {state.component} has ranks but no size")
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
            raise ValueError(f"rank {state.rank} of {state.component} comes after a gap")
    if len(states) != size:
        raise ValueError(f"{len(states)} ranks where {size} were announced")
    return tuple(states)
