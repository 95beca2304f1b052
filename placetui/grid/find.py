"""Finding: from a few words to devices, `rollout 17`, `node5/gpu3`, `free`, `rollout shared mem>60`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from placetui.grid.device_sets import DeviceSets, Places
from placetui.grid.query import Condition, NotFound, read_query
from placetui.grid.text import clean
from placetui.observe.model import Observation
from placetui.placement.plan import Plan

Order: TypeAlias = Literal["rank", "name", "memory", "state", "free"]
ORDERS: tuple[Order, ...] = get_args(Order)

_LONGEST = 200
"""Characters of a query that are read."""

_STATES = ("dead", "restarting", "pending")
"""States of ranks that bring a node to the top, the worst first."""


@dataclass(frozen=True, slots=True)
class Hits:
    """What a query found."""

    query: str
    places: Places = field(default_factory=Places)
    """By node, kind and index."""

    about: str = ""
    """What the query was understood as: `rollout rank 17`."""

    message: str = ""
    """Why nothing was found, and what to try instead; empty when something was."""

    whole_nodes: bool = False
    """Whether it asked for nodes rather than for devices."""

    def stops(self) -> Places:
        """Where to step with next and previous: each device, or the first of each node where nodes were asked for."""
        return self.places.first_of_nodes() if self.whole_nodes else self.places


def find(plan: Plan, query: str, *, observation: Observation | None = None) -> Hits:
    """The devices that a query names; several words narrow it down.

    Args:
        plan: Where to look.
        query: A rank (`rollout 17`, `actor:0-3`), a component, a device (`node5/gpu3`, `5/3`), a node by name, `#5`,
            address or part of its name, a node group, `free`, `shared`, `oversubscribed`; with an observation also
            `dead`, `pending` and the other states, `stale`, `mem>60` (GiB), `mem>80%`, `util<10`.
        observation: What is known of the running cluster.
    """
    text = " ".join(query[:_LONGEST].split())
    if not text:
        return Hits("", message="type a rank such as `actor 0`, a device such as `0/3`, a host name, or `free`")
    sets = DeviceSets(plan)
    try:
        conditions = read_query(sets, observation, text)
    except NotFound as problem:
        return Hits(text, message=clean(str(problem)))
    about = clean(", ".join(condition.about for condition in conditions))
    keys = set.intersection(*(condition.keys for condition in conditions))
    return Hits(
        text,
        Places(sets, keys),
        about,
        "" if keys else clean(_nothing(conditions)),
        all(condition.whole_nodes for condition in conditions),
    )


def _nothing(conditions: Sequence[Condition]) -> str:
    for condition in conditions:
        if not condition.keys:
            return condition.nothing
    return f"nothing is all of this at once: {', '.join(condition.about for condition in conditions)}; leave a word out"


def matching_nodes(hits: Hits, plan: Plan) -> list[int]:
    """Ranks of the nodes with a hit, ascending, as far as the plan has them."""
    return [node for node in hits.places.nodes() if node < len(plan.nodes)]


def order_nodes(plan: Plan, by: Order, observation: Observation | None = None) -> list[int]:
    """Ranks of all nodes in an order; equal ones stay in the order of their ranks.

    Args:
        plan: The nodes.
        by: `rank`; `name` (`node2` before `node10`); `memory`, most used first, nodes that nothing is known of last;
            `state`, nodes with dead, restarting and pending ranks, then stale ones; `free`, most free GPUs first.
        observation: Needed for `memory` and `state`, which are the order of ranks without it.
    """
    ranks = list(range(len(plan.nodes)))
    if by == "name":
        return sorted(ranks, key=lambda rank: _natural(plan.nodes[rank].name))
    if by == "free":
        sets = DeviceSets(plan)
        free = Counter(map(sets.node_of, sets.free()))
        return sorted(ranks, key=lambda rank: -free[rank])
    if observation is None or by == "rank":
        return ranks
    if by == "memory":
        used = [_memory_used(observation, rank) for rank in ranks]
        return sorted(ranks, key=lambda rank: -used[rank])
    urgency = _urgency(plan, observation)
    return sorted(ranks, key=lambda rank: urgency[rank])


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A key by which numbers in names count as numbers."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"([0-9]{1,18})", name.casefold())
        if part
    ]


def _memory_used(observation: Observation, rank: int) -> int:
    """Bytes in use on a node's GPUs; -1 where nothing is known."""
    node = observation.node(rank)
    known = [device.memory_used for device in node.devices if device.memory_used is not None] if node else []
    return sum(known) if known else -1


def _urgency(plan: Plan, observation: Observation) -> list[int]:
    rest = len(_STATES) + 1
    urgency = [rest] * len(plan.nodes)
    sets = DeviceSets(plan)
    for rank in sets.stale(observation):
        urgency[rank] = rest - 1
    for level in reversed(range(len(_STATES))):
        for key in sets.in_state(observation, _STATES[level]):
            urgency[sets.node_of(key)] = level
    return urgency
