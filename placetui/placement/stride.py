"""Rollout with a stride: the one layout with gaps inside a process that a placement file can tell.

In the model-parallel mode, collocated, a rollout process has every n-th device of the actor's, so that it finds its
weights there. Rules alone cannot say that: the sizes of the models do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MODE = "model_parallel"
ROLES = ("actor", "rollout", "reward")
"""Components that the mode needs."""

_OTHER_ROLES = frozenset({"inference", "actor_inference", "critic", "critic_inference"})
"""Those that it would place in its own way too."""


@dataclass(frozen=True, slots=True)
class Stride:
    """How rollout lies on the devices of the actor."""

    first: int
    last: int
    """Devices of both, numbered through the cluster."""

    each: int
    """Devices of a rollout process."""

    step: int
    """From one of them to the next."""

    def processes(self) -> Iterator[tuple[int, ...]]:
        """The devices of rollout by rank."""
        for start in range(self.first, self.last + 1, self.each * self.step):
            for offset in range(start, start + self.step):
                yield tuple(range(offset, offset + self.each * self.step, self.step))

    def sections(self) -> dict[str, Any]:
        """What a file says of the models."""
        return {
            "actor": {"model": {"tensor_model_parallel_size": self.each * self.step}},
            "rollout": {"tensor_parallel_size": self.each},
        }


def find_stride(components: Mapping[str, Sequence[Sequence[int]]]) -> Stride | None:
    """The stride that gives these components, of which the devices of each process are known; None if there is none."""
    if _OTHER_ROLES & components.keys() or not all(components.get(role) for role in ROLES):
        return None
    actor, rollout, reward = ([tuple(one) for one in components[role]] for role in ROLES)
    each = len(rollout[0])
    step = rollout[0][1] - rollout[0][0] if each > 1 else 1
    if step < 2 or not all(map(_is_row, (actor, reward))):
        return None
    found = Stride(actor[0][0], actor[-1][0], each, step)
    fits = len(actor) % (each * step) == 0 and list(found.processes()) == rollout
    return found if fits else None


def _is_row(processes: Sequence[tuple[int, ...]]) -> bool:
    """Whether each has one device, one after the other."""
    return processes == [(processes[0][0] + place,) for place in range(len(processes))]
