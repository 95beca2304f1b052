"""How RL training loads its devices: rollout and training take turns, with a weight sync between.

Training and rollout that share a device offload to make room for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from placetui.observe.layout import Role

Phase: TypeAlias = Literal["load", "rollout", "sync", "train"]

_TURNS: tuple[tuple[float, Phase], ...] = ((0.5, "rollout"), (0.6, "sync"), (0.94, "train"), (1.0, "sync"))
"""Where each phase of a cycle ends."""

_LARGEST = 0.97
"""No more of a device's memory is ever used."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the job is in its cycle."""

    phase: Phase
    progress: float
    """How much of the phase is over, 0–1."""


def moment_at(elapsed: float, startup: float, cycle: float) -> Moment:
    """Where the job is `elapsed` seconds after its start, `startup` of which it takes to come up."""
    if elapsed < startup:
        return Moment("load", max(0.0, elapsed / startup))
    position = (elapsed - startup) % cycle / cycle
    start = 0.0
    for end, phase in _TURNS:
        if position < end:
            return Moment(phase, (position - start) / (end - start))
        start = end
    return Moment("sync", 1.0)


def memory_fractions(roles: Sequence[Role], moment: Moment, random: Random) -> list[float]:
    """What each process of a device uses of its memory, 0–1, in all below 1."""
    shared = "train" in roles and "rollout" in roles
    fractions = [
        max(0.01, _level(role, shared, moment) / roles.count(role) + 0.02 * random.random() - 0.01) for role in roles
    ]
    total = sum(fractions)
    return fractions if total <= _LARGEST else [fraction * _LARGEST / total for fraction in fractions]


def utilization(roles: Sequence[Role], moment: Moment, random: Random) -> int:
    """How busy a device with these processes is, 0–100 %."""
    return max((_busy(role, moment, random) for role in roles), default=0)


def _level(role: Role, shared: bool, moment: Moment) -> float:
    active = moment.phase == role
    if role == "train":
        if active:
            return 0.74 if shared else 0.46 + 0.32 * min(1.0, 6 * moment.progress)
        return {"rollout": 0.03, "sync": 0.30, "load": 0.20}.get(moment.phase, 0.30) if shared else 0.46
    if role == "rollout":
        if active:
            # Weights, and a cache that fills while sequences grow.
            return 0.55 + 0.30 * moment.progress
        return {"train": 0.04, "sync": 0.30, "load": 0.20}.get(moment.phase, 0.30) if shared else 0.42
    return 0.12


def _busy(role: Role, moment: Moment, random: Random) -> int:
    if moment.phase == "sync":
        return _between(6, 24, random)
    if role == "train" and moment.phase == "train":
        return _between(86, 99, random)
    if role == "rollout" and moment.phase == "rollout":
        # The last long sequences leave most of an engine idle.
        tail = max(0.0, moment.progress - 0.75) * 4
        return round(_between(78, 97, random) * (1 - 0.65 * tail))
    if role == "other" and moment.phase != "load":
        return _between(10, 45, random)
    return 0


def _between(low: int, high: int, random: Random) -> int:
    # Several times quicker than `randint`, and there are tens of thousands of devices.
    return low + int((high - low + 1) * random.random())
