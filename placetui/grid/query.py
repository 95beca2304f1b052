"""What the words of a query mean: each is a condition on devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from placetui.grid.device_sets import DeviceSets
from placetui.grid.identity import identities
from placetui.observe.model import DeviceSample, Observation
from placetui.observe.terms import COMPARE, GIB, NUMBERS, pieces
from placetui.placement.plan import GPU, Component
from placetui.placement.problems import count, listing

_SPEC = re.compile(NUMBERS)
_NAME_AND_RANKS = re.compile(rf"(.+?)(?:\s*:\s*|\s+)(?:ranks?\s+)?({NUMBERS})")
_FIELD = re.compile(r"(component|group|node|host)\s*:\s*(.+)")
_READING = re.compile(r"(mem|memory|util|load)(>=|<=|>|<)([0-9]{1,6}(?:\.[0-9]{1,3})?)(%|g|gb|gib)?")
_NODE_RANK = re.compile(r"(?:#|node)?([0-9]{1,9})")
_IN_WORDS = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}

_LAYOUT_WORDS = {
    "free": "no GPU is free",
    "shared": "no device is shared by two components",
    "oversubscribed": "no GPU is oversubscribed",
}
_STATE_WORDS = ("dead", "pending", "starting", "restarting", "alive")
_LIVE_WORDS = (*_STATE_WORDS, "stale")
_MOST_NAMES = 256
"""Node names that are compared with a word that means nothing."""


class NotFound(Exception):
    """A word means nothing here; the text says so, with a suggestion."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Devices, and in words what they are."""

    about: str
    keys: set[int]
    nothing: str = ""
    """What to say when there are none."""

    whole_nodes: bool = False


def read_query(sets: DeviceSets, observation: Observation | None, text: str) -> list[Condition]:
    """The conditions of a query that is not blank.

    Raises:
        NotFound: a part of it means nothing here.
    """
    return _Reader(sets, observation).read(text)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


class _Reader:
    """Reads queries about one plan. Names of the file come before words of ours, whole names before parts."""

    def __init__(self, sets: DeviceSets, observation: Observation | None) -> None:
        self.sets = sets
        self.observation = observation
        self.nodes = sets.plan.nodes
        self.components: dict[str, list[Component]] = {}
        for component in sets.plan.components.values():
            self.components.setdefault(_fold(component.name), []).append(component)
        self.groups: dict[str, str] = {}
        for node in self.nodes:
            for label in node.groups:
                if label not in self.groups:
                    self.groups[label] = _fold(label)

    def read(self, text: str) -> list[Condition]:
        folded = _fold(text.replace("–", "-"))
        whole = self._whole(folded)
        if whole is not None:
            return [whole]
        words = self._normalise(folded).split()
        conditions: list[Condition] = []
        while words:
            condition, used = self._next(words)
            conditions.append(condition)
            words = words[used:]
        return conditions

    def _normalise(self, text: str) -> str:
        """The text without blanks inside what is one word: `mem > 60`, `node 5 / gpu 3`."""
        text = re.sub(r"\s*([:/,<>=]+)\s*", r"\1", text)
        text = re.sub(r"(?<=[0-9])\s*-\s*(?=[0-9])", "-", text)
        text = re.sub(r"(?<=[0-9])\s+(?=(?:%|gb?|gib)(?:\s|$))", "", text)
        return re.sub(
            r"(?:(?<=\s)|(?<=/)|^)(gpu|node|#)\s+(?=[0-9])",
            lambda found: found[0] if found[1] in self.components else found[1],
            text,
        )

    def _whole(self, text: str) -> Condition | None:
        """A query that is one name, which may have blanks in it, or a component and its ranks."""
        if text in self.components:
            return self._ranks(self.components[text], None)
        named = _NAME_AND_RANKS.fullmatch(text)
        if named and named[1] in self.components:
            return self._ranks(self.components[named[1]], named[2])
        field = _FIELD.fullmatch(text)
        if field and (" " in field[2] or field[1] in ("component", "group")):
            return self._field(field[1], field[2], lenient=" " in field[2])
        if text in _LAYOUT_WORDS or text in _LIVE_WORDS:
            return None
        return self._group(text) or self._named_node(text)

    def _next(self, words: Sequence[str]) -> tuple[Condition, int]:
        """The first condition and how many words it takes."""
        word = words[0]
        named = _NAME_AND_RANKS.fullmatch(word)
        if named and (found := self._components(named[1])):
            return self._ranks(found, named[2]), 1
        if word in self.components:
            return self._with_ranks(self.components[word], words)
        if field := _FIELD.fullmatch(word):
            condition = self._field(field[1], field[2])
            return (condition, 1) if condition else self._unknown(field[2])
        condition = self._keyword(word) or self._reading(word) or self._group(word) or self._named_node(word)
        if condition is None and "/" in word:
            condition = self._device(word)
        condition = condition or self._numbered_node(word)
        if condition:
            return condition, 1
        if found_kind := self._kind(words):
            return found_kind
        if found := self._components(word):
            return self._with_ranks(found, words)
        condition = self._label(word) or self._part(word)
        return (condition, 1) if condition else self._unknown(word)

    def _components(self, word: str) -> list[Component]:
        """By name, by the beginning of a name, else by letter."""
        if word in self.components:
            return self.components[word]
        begun = [one for name, found in self.components.items() if name.startswith(word) for one in found]
        if begun:
            return begun
        marks = identities(self.sets.plan.components)
        return [self.sets.plan.components[name] for name, one in marks.items() if one.mark.casefold() == word]

    def _with_ranks(self, components: Sequence[Component], words: Sequence[str]) -> tuple[Condition, int]:
        used = 2 if len(words) > 2 and words[1] in ("rank", "ranks") and _SPEC.fullmatch(words[2]) else 1
        first = used
        while used < len(words) and _SPEC.fullmatch(words[used]):
            used += 1
        return self._ranks(components, ",".join(words[first:used]) or None), used

    def _ranks(self, components: Sequence[Component], spec: str | None) -> Condition:
        names = listing(component.name for component in components)
        if spec is None:
            keys = set().union(*(self.sets.of_ranks(component) for component in components))
            return Condition(names, keys, f"{names} has no ranks")
        keys = set()
        for component in components:
            for piece in pieces(spec):
                keys |= self.sets.of_ranks(component, range(piece.start, min(piece.stop, component.world_size)))
        sizes = [f"{one.name} has {_extent('rank', one.world_size)}" for one in components]
        about = f"{names} rank {spec}" if spec.isdecimal() else f"{names} ranks {spec}"
        return Condition(about, keys, listing(sizes))

    def _field(self, field: str, value: str, lenient: bool = False) -> Condition | None:
        """`group:a800`. With `lenient` None when the value is not known: it may be two words."""
        if field == "component":
            found = self._components(value)
            if found:
                return self._ranks(found, None)
        elif field == "group":
            group = self._group(value)
            if group:
                return group
        else:
            node = self._named_node(value) or self._numbered_node(value) or self._part(value)
            if node:
                return node
        if lenient:
            return None
        if field == "group" and self.groups:
            raise NotFound(f"no node group is called `{value}`; there is {listing(self.groups)}")
        if field == "group":
            raise NotFound("the file has no node groups")
        raise self._unknown_error(value)

    def _keyword(self, word: str) -> Condition | None:
        if word in _LAYOUT_WORDS:
            keys = {"free": self.sets.free, "shared": self.sets.shared, "oversubscribed": self.sets.oversubscribed}
            return Condition(word, keys[word](), _LAYOUT_WORDS[word])
        if word not in _LIVE_WORDS:
            return None
        observation = self._observed(word)
        if word == "stale":
            nodes = self.sets.stale(observation)
            return Condition(word, self.sets.of_nodes(nodes), "no node is stale", whole_nodes=True)
        return Condition(word, self.sets.in_state(observation, word), f"no rank is {word}")

    def _reading(self, word: str) -> Condition | None:
        found = _READING.fullmatch(word)
        if found is None:
            return None
        observation = self._observed(word)
        compare, limit = COMPARE[found[2]], float(found[3])
        if found[1] in ("util", "load"):
            keys = self.sets.where(observation, _of(lambda device: device.utilization, compare, limit))
            about = f"load {_IN_WORDS[found[2]]} {limit:g}%"
        elif found[4] == "%":
            keys = self.sets.where(observation, _of(lambda device: device.memory_percent, compare, limit))
            about = f"memory {_IN_WORDS[found[2]]} {limit:g}%"
        else:
            keys = self.sets.where(observation, _of(lambda device: device.memory_used, compare, limit * GIB))
            about = f"memory {_IN_WORDS[found[2]]} {limit:g} GiB"
        return Condition(about, keys, f"no GPU has {about}")

    def _observed(self, word: str) -> Observation:
        if self.observation is None:
            raise NotFound(
                f"`{word}` needs a running cluster to look at; without one there is {listing(_LAYOUT_WORDS)}"
            )
        return self.observation

    def _group(self, word: str) -> Condition | None:
        labels = [label for label, folded in self.groups.items() if folded == word]
        if not labels:
            return None
        nodes = [node.rank for node in self.nodes if any(label in labels for label in node.groups)]
        return Condition(f"group {labels[0]}", self.sets.of_nodes(nodes), whole_nodes=True)

    def _named_node(self, word: str) -> Condition | None:
        found = self._names(word)
        return self._whole_nodes(found) if found else None

    def _names(self, word: str) -> list[int]:
        """Nodes with exactly this name or address."""
        rank = _NODE_RANK.fullmatch(word)
        if rank and int(rank[1]) < len(self.nodes) and self.nodes[int(rank[1])].name == word:
            return [int(rank[1])]
        return [node.rank for node in self.nodes if word in (node.ip, node.name) or word == _fold(node.name)]

    def _numbered_node(self, word: str) -> Condition | None:
        rank = _NODE_RANK.fullmatch(word)
        if rank is None:
            return None
        if int(rank[1]) >= len(self.nodes):
            raise NotFound(f"there is no node {int(rank[1])}: the plan has {_extent('node', len(self.nodes))}")
        return self._whole_nodes([int(rank[1])])

    def _whole_nodes(self, ranks: Sequence[int], about: str = "") -> Condition:
        names = about or listing((self.nodes[rank].name for rank in ranks), 3)
        return Condition(names, self.sets.of_nodes(ranks), whole_nodes=True)

    def _part(self, word: str) -> Condition | None:
        """Nodes with this in their name or address."""
        found = [node.rank for node in self.nodes if word in node.name.casefold() or word in node.ip]
        about = f"{count(len(found), 'node')} with `{word}` in the name" if len(found) > 3 else ""
        return self._whole_nodes(found, about) if found else None

    def _device(self, word: str) -> Condition | None:
        """`node5/gpu3`, `5/3`, `host/franka1`."""
        where, _, which = word.rpartition("/")
        nodes = self._nodes(where)
        if not nodes:
            return None
        kind, spec = self._kind_and_indices(which)
        if spec is None:
            return None
        name = "GPU" if kind == GPU else kind
        at = listing((self.nodes[rank].name for rank in nodes), 3)
        number = max(self.nodes[rank].gpus if kind == GPU else self.nodes[rank].hardware.get(kind, 0) for rank in nodes)
        return Condition(
            f"{name} {spec} of {at}",
            self.sets.of_kind(kind, nodes, pieces(spec)),
            f"{at} has {_extent(name, number)}",
        )

    def _nodes(self, word: str) -> list[int]:
        found = self._names(word)
        if not found and (rank := _NODE_RANK.fullmatch(word)):
            if int(rank[1]) >= len(self.nodes):
                raise NotFound(f"there is no node {int(rank[1])}: the plan has {_extent('node', len(self.nodes))}")
            return [int(rank[1])]
        return found or [node.rank for node in self.nodes if word and word in node.name.casefold()]

    def _kind_and_indices(self, word: str) -> tuple[str, str | None]:
        """`gpu3` as kind and indices; a number alone is a GPU."""
        for kind in (GPU, *self.sets.robots):
            rest = word.removeprefix(_fold(kind)).lstrip(":")
            if rest != word and _SPEC.fullmatch(rest):
                return kind, rest
        return GPU, word if _SPEC.fullmatch(word) else None

    def _kind(self, words: Sequence[str]) -> tuple[Condition, int] | None:
        """`gpu3` on every node; `franka`, `franka 1`, `franka1`."""
        everywhere = range(len(self.nodes))
        kind, spec = self._kind_and_indices(words[0])
        used = 1
        if spec is None:
            found = next((robot for robot in (*self.sets.robots, GPU) if _fold(robot) == words[0]), None)
            if found is None:
                return None
            kind = found
            if len(words) > 1 and _SPEC.fullmatch(words[1]):
                spec, used = words[1], 2
        name = "GPU" if kind == GPU else kind
        keys = self.sets.of_kind(kind, everywhere, pieces(spec) if spec else [range(1 << 20)])
        about = f"{name} {spec}" if spec else f"every {name}"
        return Condition(about, keys, f"no node has {about}"), used

    def _label(self, word: str) -> Condition | None:
        """`r17`, as the drawing labels it."""
        for name, identity in identities(self.sets.plan.components).items():
            rank = word.removeprefix(identity.mark.casefold()).removeprefix(identity.separator)
            if rank != word and _SPEC.fullmatch(rank):
                return self._ranks([self.sets.plan.components[name]], rank)
        return None

    def _unknown(self, word: str) -> tuple[Condition, int]:
        raise self._unknown_error(word)

    def _unknown_error(self, word: str) -> NotFound:
        live = _LIVE_WORDS if self.observation else ()
        names: Iterable[str] = (*self.components, *self.groups.values(), *_LAYOUT_WORDS, *live)
        if len(self.nodes) <= _MOST_NAMES:
            names = (*names, *(_fold(node.name) for node in self.nodes))
        near = get_close_matches(word, names, 1)
        first = next(iter(self.sets.plan.components), None)
        hint = f"did you mean `{near[0]}`?" if near else "try `free`"
        if not near and first and self.nodes:
            hint = f"try `{first} 0`, `{self.nodes[0].name}/gpu0` or `free`"
        return NotFound(f"nothing is called `{word}`; {hint}")


def _of(
    read: Callable[[DeviceSample], float | None], compare: Callable[[float, float], bool], limit: float
) -> Callable[[DeviceSample], bool]:
    """A condition on a reading, which is not fulfilled where nothing could be read."""

    def holds(device: DeviceSample) -> bool:
        value = read(device)
        return value is not None and compare(value, limit)

    return holds


def _extent(noun: str, number: int) -> str:
    """`no ranks`, `rank 0 only`, `ranks 0 to 15`."""
    if number == 0:
        return f"no {noun}s"
    return f"{noun} 0 only" if number == 1 else f"{noun}s 0 to {number - 1}"
