"""What a person means by `actor:3`, `actor 0-3`, `A3`, `node5/gpu3`, `#5`, `gpu3` or the name of a host.

Finding, filtering and explaining all read names here, so that they understand the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from string import ascii_lowercase

from placetui.placement.plan import GPU, Plan
from placetui.placement.wording import count, kind_name, listing, numbered, quoted, ranges

LONGEST = 500
"""Characters that are read."""

_NUMBERS = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*")
_FIELD = re.compile(r"(component|group|node|host)\s*:\s*(.+)")
_NODE_RANK = re.compile(r"(?:#|node)?([0-9]{1,9})")
_MOST_COMPARED = 500
"""Names that a word that means nothing is compared with."""


class UnknownName(LookupError):
    """Nothing in the plan is called so; `hint` names what is near, or what there is."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Numbers:
    """Some numbers, as written: `3`, `0-3`, `0-3,5`."""

    text: str

    @classmethod
    def read(cls, text: str) -> Numbers | None:
        """The numbers that a text consists of; None if it is something else."""
        return cls(text) if _NUMBERS.fullmatch(text) else None

    @property
    def ranges(self) -> list[range]:
        found = []
        for piece in self.text.split(","):
            first, _, last = piece.partition("-")
            found.append(range(int(first), int(last or first) + 1))
        return found

    def below(self, end: int) -> Iterator[int]:
        """Those from 0 up to but not including `end`, in the order in which they stand."""
        for piece in self.ranges:
            yield from range(piece.start, min(piece.stop, end))

    def __contains__(self, number: object) -> bool:
        return any(number in piece for piece in self.ranges)


@dataclass(frozen=True, slots=True)
class Named:
    """Components or some of their ranks; devices of a kind on some nodes; or whole nodes."""

    about: str
    """What was understood: `rollout rank 17`, `GPU 3 of node5`."""

    nothing: str = ""
    """What there is, for numbers that do not exist: `rollout has ranks 0 to 15`."""

    components: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    """Ranks of the nodes."""

    kind: str = ""
    """Of devices, `gpu` or a hardware type; empty where none are named."""

    numbers: Numbers | None = None
    """Of ranks, or of devices; None for all."""


class Names:
    """The names of one plan.

    Names of the file come before words of ours, whole names before parts, parts before letters.
    """

    def __init__(self, plan: Plan, letters: Mapping[str, str] | None = None) -> None:
        """Index the names; `letters` are those that the drawing gives the components."""
        self._plan = plan
        self._letters = letters or {}
        self.components: dict[str, list[str]] = {}
        """By folded name."""

        for name in plan.components:
            self.components.setdefault(fold(name), []).append(name)

    @cached_property
    def groups(self) -> dict[str, str]:
        """Folded label by label of each node group."""
        return {label: fold(label) for node in self._plan.nodes for label in node.groups}

    @cached_property
    def _kinds(self) -> list[str]:
        """Kinds of devices, the longest first: DOSW1 must not be taken for device 1 of something called DOSW."""
        found = {GPU: None} | {kind: None for node in self._plan.nodes for kind in node.hardware}
        return sorted(found, key=len, reverse=True)

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for node in self._plan.nodes:
            for name in dict.fromkeys((fold(node.name), node.ip)):
                if name:
                    found.setdefault(name, []).append(node.rank)
        return found

    @cached_property
    def _by_letter(self) -> dict[str, str]:
        return {letter.casefold(): name for name, letter in self._letters.items()}

    def whole(self, text: str) -> Named | None:
        """What a text names that is one name, which may have blanks in it, or a component and its ranks."""
        folded = fold(text)
        if folded in self.components:
            return self._ranks(self.components[folded])
        name, numbers = _split_numbers(self._joined(folded))
        if numbers and name in self.components:
            return self._ranks(self.components[name], numbers)
        field = _FIELD.fullmatch(folded)
        if field and (" " in field[2] or field[1] in ("component", "group")):
            return self._field(field[1], field[2], lenient=" " in field[2])
        return self._group(folded) or self._named_nodes(folded)

    def words(self, text: str) -> list[str]:
        """The words of a text, without blanks inside what is one word: `mem > 60`, `node 5 / gpu 3`."""
        return self._joined(fold(text)).split()

    def _joined(self, text: str) -> str:
        text = re.sub(r" ?([:/,<>=]+) ?", r"\1", text.replace("–", "-"))
        text = re.sub(r"(?<=[0-9]) ?- ?(?=[0-9])", "-", text)
        text = re.sub(r"(?<=[0-9]) (?=(?:%|gb?|gib)(?: |$))", "", text)
        kinds = "|".join(re.escape(fold(kind)) for kind in self._kinds)
        return re.sub(
            rf"(?:(?<= )|(?<=/)|^)({kinds}|node|#) (?=[0-9])",
            lambda found: found[0] if found[1] in self.components else found[1],
            text,
        )

    def next(self, words: Sequence[str]) -> tuple[Named, int] | None:
        """What the first words name, and how many they are; None where the first means nothing.

        Raises `UnknownName` for the number of a node, a group or a component that does not exist.
        """
        return self.exact(words) or self._near(words)

    def exact(self, words: Sequence[str]) -> tuple[Named, int] | None:
        """The same, whole names only."""
        word = words[0]
        if word in self.components:
            return self._with_ranks(self.components[word], words)
        name, numbers = _split_numbers(word)
        if numbers and name in self.components:
            return self._ranks(self.components[name], numbers), 1
        if field := _FIELD.fullmatch(word):
            found = self._field(field[1], field[2])
        else:
            found = self._group(word) or self._named_nodes(word) or self._device(word) or self._numbered_node(word)
        found = found or self._kind(word) or self._labelled(word)
        return (found, 1) if found else None

    def _near(self, words: Sequence[str]) -> tuple[Named, int] | None:
        """By the beginning of a name, by letter, or by a part of a node's name."""
        word = words[0]
        name, numbers = _split_numbers(word)
        if numbers and (found := self._begun(name)):
            return self._ranks(found, numbers), 1
        if found := self._begun(word):
            return self._with_ranks(found, words)
        part = self._part(word)
        return (part, 1) if part else None

    def read(self, text: str) -> Named:
        """What a text names, all of it; raises `UnknownName`."""
        text = fold(text[:LONGEST])
        whole = self.whole(text)
        if whole is not None:
            return whole
        words = self.words(text)
        found = self.next(words) if words else None
        if found is None or found[1] < len(words):
            raise self.unknown(text)
        return found[0]

    def _begun(self, word: str) -> list[str]:
        begun = [one for name, found in self.components.items() if word and name.startswith(word) for one in found]
        return begun or ([self._by_letter[word]] if word in self._by_letter else [])

    def _with_ranks(self, components: Sequence[str], words: Sequence[str]) -> tuple[Named, int]:
        used = 2 if len(words) > 2 and words[1] in ("rank", "ranks") and Numbers.read(words[2]) else 1
        first = used
        while used < len(words) and Numbers.read(words[used]):
            used += 1
        return self._ranks(components, Numbers.read(",".join(words[first:used]))), used

    def _ranks(self, components: Sequence[str], numbers: Numbers | None = None) -> Named:
        names = listing(components)
        if numbers is None:
            return Named(names, f"{names} has no ranks", tuple(components))
        sizes = [f"{one} has {numbered('rank', self._plan.components[one].world_size)}" for one in components]
        noun = "rank" if numbers.text.isdecimal() else "ranks"
        return Named(f"{names} {noun} {numbers.text}", listing(sizes), tuple(components), numbers=numbers)

    def _field(self, field: str, value: str, lenient: bool = False) -> Named | None:
        """`group:a800`. With `lenient` None when the value is not known: it may be two words."""
        if field == "component":
            found = self.components.get(value) or self._begun(value)
            named = self._ranks(found) if found else None
        elif field == "group":
            named = self._group(value)
        else:
            named = self._named_nodes(value) or self._numbered_node(value) or self._part(value)
        if named or lenient:
            return named
        if field == "group":
            known = f"there is {listing(self.groups)}" if self.groups else "the file has no node groups"
            raise UnknownName(f"no node group is called `{value}`", known)
        raise self.unknown(value)

    def _group(self, word: str) -> Named | None:
        labels = [label for label, folded in self.groups.items() if folded == word]
        if not labels:
            return None
        nodes = tuple(node.rank for node in self._plan.nodes if any(label in node.groups for label in labels))
        return Named(f"group {listing(labels)}", nodes=nodes)

    def _nodes(self, ranks: Sequence[int], about: str = "") -> Named | None:
        names = about or listing([self._plan.nodes[rank].name for rank in ranks], 3)
        return Named(names, nodes=tuple(ranks)) if ranks else None

    def _named_nodes(self, word: str) -> Named | None:
        return self._nodes(self._by_name.get(word, ()))

    def _numbered_node(self, word: str) -> Named | None:
        rank = _NODE_RANK.fullmatch(word)
        return self._nodes([self._existing(int(rank[1]))]) if rank else None

    def _existing(self, rank: int) -> int:
        if rank >= len(self._plan.nodes):
            raise UnknownName(f"there is no node {rank}", f"the plan has {numbered('node', len(self._plan.nodes))}")
        return rank

    def _part(self, word: str) -> Named | None:
        found = [node.rank for node in self._plan.nodes if word in node.name.casefold() or word in node.ip]
        return self._nodes(found, f"{count(len(found), 'node')} with `{word}` in the name" if len(found) > 3 else "")

    def _device(self, word: str) -> Named | None:
        """`node5/gpu3`, `5/3`, `host/franka1`."""
        where, slash, which = word.rpartition("/")
        if not slash:
            return None
        nodes = self._named_nodes(where) or self._numbered_node(where) or (self._part(where) if where else None)
        kind, numbers = self._kind_and_numbers(which)
        if nodes is None or numbers is None:
            return None
        found = [self._plan.nodes[rank] for rank in nodes.nodes]
        most = max(node.gpus if kind == GPU else node.hardware.get(kind, 0) for node in found)
        about = f"{kind_name(kind)} {numbers.text} of {nodes.about}"
        there = numbered("GPU", most) if kind == GPU else f"{kind} {ranges(range(most))}"
        return Named(about, f"{nodes.about} has {there}", (), nodes.nodes, kind, numbers)

    def _kind_and_numbers(self, word: str) -> tuple[str, Numbers | None]:
        """`gpu3` as kind and numbers; a number alone is a GPU."""
        for kind in self._kinds:
            rest = word.removeprefix(fold(kind)).lstrip(":")
            if rest != word and (numbers := Numbers.read(rest)):
                return kind, numbers
        return GPU, Numbers.read(word)

    def _kind(self, word: str) -> Named | None:
        """`gpu3` on every node; `franka`, `franka1`."""
        kind, numbers = self._kind_and_numbers(word)
        if numbers is None:
            known = next((one for one in self._kinds if fold(one) == word), None)
            if known is None:
                return None
            kind = known
        about = f"{kind_name(kind)} {numbers.text}" if numbers else f"every {kind_name(kind)}"
        return Named(about, f"no node has {about}", (), tuple(range(len(self._plan.nodes))), kind, numbers)

    def _labelled(self, word: str) -> Named | None:
        """`r17`, as the drawing labels it."""
        letters = len(word) - len(word.lstrip(ascii_lowercase))
        for end in (letters, word.find(":")):
            name, numbers = self._by_letter.get(word[:end]), Numbers.read(word[end:].removeprefix(":"))
            if name is not None and numbers:
                return self._ranks([name], numbers)
        return None

    def unknown(self, text: str, words: Sequence[str] = (), examples: Sequence[str] = ()) -> UnknownName:
        """Why a text names nothing, with what is near: a name, or one of the other `words` understood there."""
        head, colon, rest = text.rpartition(":") if text.count(":") > 1 else text.partition(":")
        broken = {problem.component for problem in self._plan.problems if problem.component and problem.blocking}
        if lost := next((name for name in broken if fold(name) in (text, head)), None):
            return UnknownName(f"nothing is called `{text}`", f"`{lost}` could not be placed: see its problem")
        nodes = [node.name for node in self._plan.nodes[:_MOST_COMPARED]]
        node, slash, device = text.rpartition("/")
        if slash and (near := get_close_matches(node[:200], nodes, 1)):
            return UnknownName(f"nothing is called `{text}`", f"did you mean `{near[0]}/{device}`?")
        known = [*self.components, *self.groups, *words, *map(fold, nodes)]
        if near := get_close_matches(head[:200], known, 1):
            ranks = f"{colon}{rest}" if near[0] in self.components else ""
            return UnknownName(f"nothing is called `{text}`", f"did you mean `{near[0]}{ranks}`?")
        return UnknownName(f"nothing is called `{text}`", self._advice(examples))

    def _advice(self, examples: Sequence[str]) -> str:
        first = next(iter(self._plan.components), None)
        if examples:
            own = [f"{first} 0", f"{self._plan.nodes[0].name}/gpu0"] if first and self._plan.nodes else []
            *others, last = quoted([*own, *examples])
            return f"try {', '.join(others)} or {last}" if others else f"try {last}"
        components = listing(quoted(self._plan.components)) or "none"
        return f"name a component ({components}), a rank such as `actor:3`, or a device such as `node0/gpu5`"


def fold(text: str) -> str:
    """A text as it is compared: case and the number of blanks do not matter."""
    return " ".join(text.split()).casefold()


def _split_numbers(text: str) -> tuple[str, Numbers | None]:
    """`actor:0-3`, `my actor 3`, `actor rank 3` as name and numbers."""
    at = max(text.rfind(":"), text.rfind(" "))
    if at < 1:
        return text, None
    name, numbers = text[:at], Numbers.read(text[at + 1 :])
    for word in (" rank", " ranks"):
        name = name.removesuffix(word)
    return name.rstrip(" :"), numbers
