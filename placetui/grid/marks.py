"""What tells components apart: a letter and a hue, found by the role that a name stands for.

They follow from the names alone, never from the order in a file: renaming, adding or removing one component leaves the
others as they are, unless two want the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from string import ascii_uppercase, digits
from typing import Literal, TypeAlias, get_args
from zlib import crc32

from placetui.placement.plan import Plan

ComponentRole: TypeAlias = Literal["actor", "rollout", "reward", "critic", "ref", "env", "inference", "agent"]
"""Part that a component has in training, in the order of the hues of a theme."""

ROLES: tuple[ComponentRole, ...] = get_args(ComponentRole)
HUES = len(ROLES)
"""Hues of a theme."""

_LETTERS = dict(zip(ROLES, "ARWCFEIG", strict=True))

_ALIASES: dict[str, ComponentRole] = {
    **{role: role for role in ROLES},
    **dict.fromkeys(("trainer", "learner", "policy"), "actor"),
    **dict.fromkeys(("generator", "sampler", "engine"), "rollout"),
    **dict.fromkeys(("judge", "verifier"), "reward"),
    "value": "critic",
    "reference": "ref",
    **dict.fromkeys(("environment", "simulator", "robot"), "env"),
    **dict.fromkeys(("logprob", "teacher"), "inference"),
    "tool": "agent",
}

_WORD = re.compile(r"[a-z]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Mark:
    """How one component is recognised in the drawing."""

    name: str
    letter: str
    """One character; more when all single ones are taken."""

    role: ComponentRole | None
    """None for a name that says nothing."""

    hue: int
    """Number of its colour, 0 to `HUES` - 1."""

    second: bool = False
    """Whether another component has its hue by right: then this one is underlined."""

    @property
    def separator(self) -> str:
        """Keeps a letter that is a digit apart from the rank."""
        return ":" if self.letter[-1].isdigit() else ""

    def label(self, rank: int | str) -> str:
        """`A3`; `7:3` where the letter is a digit."""
        return f"{self.letter}{self.separator}{rank}"


def role_of(name: str) -> ComponentRole | None:
    """The role that a name stands for: `reward_model`, `actor2`, `RolloutGroup`; a fused one is the actor's."""
    words = _words(name)
    if "actor" in words:
        return "actor"
    return next((_ALIASES[word] for word in words if word in _ALIASES), None)


def _words(name: str) -> list[str]:
    found = _WORD.findall(_CAMEL.sub(" ", name).lower())
    return [word if word in _ALIASES else word.removesuffix("s") for word in found]


def role_letters(chosen: Mapping[str, str]) -> dict[ComponentRole, str]:
    """The letter of each role, in every file: the user's, else ours, else the first free one of its name."""
    letters, given = _Letters(), set(chosen.values())
    found = {role: chosen.get(role, ours) for role, ours in _LETTERS.items() if role in chosen or ours not in given}
    for letter in found.values():
        letters.take(letter)
    return {role: found.get(role) or letters.free_for(role, frozenset(_LETTERS.values())) for role in ROLES}


def component_marks(names: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, Mark]:
    """A mark for each name, in the order of the names; `chosen` are the letters of roles that the user has set."""
    order, by_role = list(names), role_letters(chosen or {})
    roles = {name: role_of(name) for name in order}
    # A component with the plain name of a role gets its letter.
    by_right = sorted(order, key=lambda name: (name != roles[name], not _letters(name), len(name), name))
    owners = {role: name for name in reversed(by_right) if (role := roles[name]) is not None}
    letters, uses = _Letters(), Counter(map(ROLES.index, owners))
    reserved = frozenset(by_role.values())
    found: dict[str, Mark] = {}
    for role, name in owners.items():
        found[name] = Mark(name, letters.take(by_role[role]), role, ROLES.index(role))
    for name in by_right:
        role = roles[name]
        if name in found:
            continue
        hue = _free_hue(name, uses) if role is None else ROLES.index(role)
        letter = letters.free_for(name, avoid=frozenset() if role is None else reserved)
        found[name] = Mark(name, letter, role, hue, uses[hue] > 0)
        uses[hue] += 1
    return {name: found[name] for name in order}


def _free_hue(name: str, uses: Counter[int]) -> int:
    """A hue that as few as possible have: the agent's, else one that follows from the name."""
    start = crc32(name.encode("utf-8", "surrogatepass"))
    wanted = (ROLES.index("agent"), *((start + step) % HUES for step in range(HUES)))
    return min(wanted, key=lambda hue: uses[hue])


def plan_marks(plan: Plan) -> dict[str, Mark]:
    """A mark for each component, in file order; those that could not be placed come last."""
    return component_marks((*plan.components, *plan.unplaced), plan.letters)


def component_letters(plan: Plan) -> dict[str, str]:
    """The letter of each component."""
    marks = plan_marks(plan)
    return {name: marks[name].letter for name in plan.components}


def _letters(name: str) -> list[str]:
    return [letter for letter in dict.fromkeys(name.upper()) if letter in ascii_uppercase]


class _Letters:
    """Gives out letters, each in a time that does not depend on how many are out."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._single = iter([*ascii_uppercase, *digits])
        self._pairs: dict[str, Iterator[str]] = {}
        self._longer = 0

    def take(self, letter: str) -> str:
        self._taken.add(letter)
        return letter

    def free_for(self, name: str, avoid: frozenset[str]) -> str:
        """The first free letter of a name, else the first free one at all, else two characters."""
        own = _letters(name)
        for letter in chain((one for one in own if one not in avoid), own):
            if letter not in self._taken:
                return self.take(letter)
        for letter in self._single:
            if letter not in self._taken:
                return self.take(letter)
        for letter in own or ascii_uppercase:
            pairs = self._pairs.setdefault(letter, iter([letter + other for other in ascii_uppercase + digits]))
            pair = next(pairs, None)
            if pair is not None:
                return pair
        self._longer += 1
        return f"Z{self._longer}Z"
