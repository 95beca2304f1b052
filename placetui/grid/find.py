"""Finding: from a few words to devices, `rollout 17`, `node5/gpu3`, `free`, `rollout shared mem>60`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from placetui.grid.devices import DeviceSets, Places
from placetui.grid.marks import component_letters
from placetui.grid.overlay import Overlay
from placetui.grid.tables.filters import AMOUNT, COMPARE, SIGNS
from placetui.observe.model import DeviceSample, Observation
from placetui.placement.names import Named, Names, UnknownName, fold
from placetui.placement.plan import GPU, Plan
from placetui.placement.wording import GIB, clean, listing

Order: TypeAlias = Literal["rank", "name", "memory", "state", "free"]
ORDERS: tuple[Order, ...] = get_args(Order)

_LONGEST = 200
"""Characters of a query that are read."""

_STATES = ("dead", "restarting", "pending")
"""States of ranks that bring a node to the top, the worst first."""

_LAYOUT_WORDS = {
    "free": "no GPU is free",
    "shared": "no device is shared by two components",
    "oversubscribed": "no GPU is oversubscribed",
}
MARKED = "marked"
"""The query of devices that something is wrong with."""

_LIVE_WORDS = ("dead", "pending", "starting", "restarting", "alive", "stale")
_READING = re.compile(rf"(mem|memory|util|load)({SIGNS}){AMOUNT}")
_IN_WORDS = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most", "=": "just"}


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

    A word is a rank (`rollout 17`, `actor:0-3`), a component, a device (`node5/gpu3`, `5/3`), a node by name, `#5`,
    address or part of its name, a node group, `free`, `shared`, `oversubscribed`; with an observation also `dead`,
    `pending` and the other states, `stale`, `mem>60` (GiB), `mem>80%`, `util<10`.
    """
    text = " ".join(query[:_LONGEST].split())
    if not text:
        return Hits("", message="type a rank such as actor 0, a device such as 0/3, a host name, or free")
    reader = _Query(plan, observation)
    try:
        conditions = reader.read(text)
    except UnknownName as problem:
        return Hits(text, message=clean("; ".join(filter(None, (str(problem), problem.hint)))))
    about = clean(", ".join(condition.about for condition in conditions))
    keys = set.intersection(*(condition.keys for condition in conditions))
    return Hits(
        text,
        Places(reader.sets, keys),
        about,
        "" if keys else clean(_nothing(conditions)),
        all(condition.whole_nodes for condition in conditions),
    )


@dataclass(frozen=True, slots=True)
class _Condition:
    """Devices, and in words what they are."""

    about: str
    keys: set[int]
    nothing: str = ""
    """What to say when there are none."""

    whole_nodes: bool = False


def _nothing(conditions: Sequence[_Condition]) -> str:
    for condition in conditions:
        if not condition.keys:
            return condition.nothing
    return f"nothing is all of this at once: {', '.join(condition.about for condition in conditions)}; leave a word out"


class _Query:
    """Reads queries about one plan: names of the file, then words of ours."""

    def __init__(self, plan: Plan, observation: Observation | None) -> None:
        self.sets = DeviceSets(plan)
        self._observation = observation
        self._names = Names(plan, component_letters(plan))

    def read(self, text: str) -> list[_Condition]:
        """The conditions of a query that is not blank."""
        keyword = fold(text) in _LAYOUT_WORDS or fold(text) in _LIVE_WORDS
        whole = None if keyword and fold(text) not in self._names.components else self._names.whole(text)
        if whole is not None:
            return [self._named(whole)]
        words = self._names.words(text)
        conditions: list[_Condition] = []
        while words:
            condition, used = self._next(words)
            conditions.append(condition)
            words = words[used:]
        return conditions

    def _next(self, words: Sequence[str]) -> tuple[_Condition, int]:
        """The first condition and how many words it takes."""
        if words[0] not in self._names.components:
            condition = self._keyword(words[0]) or self._reading(words[0])
            if condition:
                return condition, 1
        found = self._names.next(words)
        if found is None:
            live = _LIVE_WORDS if self._observation else ()
            raise self._names.unknown(words[0], (*_LAYOUT_WORDS, *live), ("free",))
        return self._named(found[0]), found[1]

    def _named(self, named: Named) -> _Condition:
        sets, numbers = self.sets, named.numbers
        if named.kind:
            keys = sets.of_kind(named.kind, named.nodes, numbers.ranges if numbers else [range(1 << 20)])
        elif named.components:
            components = [sets.plan.components[name] for name in named.components]
            keys = set().union(
                *(sets.of_ranks(one, numbers.below(one.world_size) if numbers else None) for one in components)
            )
        else:
            return _Condition(named.about, sets.of_nodes(named.nodes), whole_nodes=True)
        return _Condition(named.about, keys, named.nothing)

    def _keyword(self, word: str) -> _Condition | None:
        if word in _LAYOUT_WORDS:
            keys = {"free": self.sets.free, "shared": self.sets.shared, "oversubscribed": self.sets.oversubscribed}
            return _Condition(word, keys[word](), _LAYOUT_WORDS[word])
        if word not in _LIVE_WORDS:
            return None
        observation = self._observed(word)
        if word == "stale":
            nodes = self.sets.stale(observation)
            return _Condition(word, self.sets.of_nodes(nodes), "no node is stale", whole_nodes=True)
        return _Condition(word, self.sets.in_state(observation, word), f"no rank is {word}")

    def _reading(self, word: str) -> _Condition | None:
        found = _READING.fullmatch(word)
        if found is None:
            return None
        observation = self._observed(word)
        what, sign, amount, unit = found.groups()
        limit = float(amount)
        read: Callable[[DeviceSample], float | None]
        if what in ("util", "load"):
            read, about, scale = (lambda device: device.utilization), f"load {_IN_WORDS[sign]} {limit:g}%", 1
        elif unit == "%":
            read, about, scale = (lambda device: device.memory_percent), f"memory {_IN_WORDS[sign]} {limit:g}%", 1
        else:
            read, about, scale = (lambda device: device.memory_used), f"memory {_IN_WORDS[sign]} {limit:g} GiB", GIB
        compare = COMPARE[sign]
        keys = self.sets.where(
            observation, lambda device: (value := read(device)) is not None and compare(value, limit * scale)
        )
        return _Condition(about, keys, f"no GPU has {about}")

    def _observed(self, word: str) -> Observation:
        if self._observation is None:
            known = listing(_LAYOUT_WORDS)
            raise UnknownName(f"`{word}` needs a running cluster to look at", f"without one there is {known}")
        return self._observation


def marked(plan: Plan, live: Overlay) -> Hits:
    """The devices that bear a mark: an alert, a difference from the plan, a rank that is not alive, old values."""
    sets = DeviceSets(plan)
    keys = sets.gpus(sets.stale(live.observation))
    keys |= {sets.key(node, GPU, index) for node, index in live.noted if 0 <= node < len(plan.nodes)}
    return Hits(MARKED, Places(sets, keys), MARKED, "" if keys else "nothing is marked")


def matching_nodes(hits: Hits, plan: Plan) -> list[int]:
    """Ranks of the nodes with a hit, ascending, as far as the plan has them."""
    return [node for node in hits.places.nodes() if node < len(plan.nodes)]


def order_nodes(plan: Plan, by: Order, observation: Observation | None = None) -> list[int]:
    """Ranks of all nodes in an order; equal ones stay in the order of their ranks.

    `name`: `node2` before `node10`; `memory`: most used first, nodes that nothing is known of last; `state`: nodes with
    dead, restarting and pending ranks, then stale ones; `free`: most free GPUs first. Without an observation, `memory`
    and `state` are the order of ranks.
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
