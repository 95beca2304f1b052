"""Training and generation as pools of GPUs, and what speaks for and against a change of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from placetui.placement.plan import GPU, Component, Plan
from placetui.placement.shares import DEFAULT_TRAIN
from placetui.placement.wording import count, listing

_TRAINING, _GENERATION = 1, 2


@dataclass(frozen=True, slots=True)
class Pools:
    """How many GPUs train, generate, do both in turns, or neither."""

    total: int
    training: int
    """GPUs with processes of training."""

    generation: int
    """GPUs with any others."""

    shared: int
    """GPUs with both."""

    used: int
    residents: int
    """The most processes on a GPU of training."""

    generation_nodes: tuple[str, ...]
    """Nodes all of whose processes generate."""

    mixed_nodes: tuple[str, ...]
    """Nodes with GPUs of training and others of generation."""

    @property
    def apart(self) -> bool:
        """Whether both are there, each on GPUs of its own."""
        return bool(self.training and self.generation and not self.shared)

    @property
    def together(self) -> bool:
        """Whether they take turns on all GPUs in use."""
        return bool(self.shared) and self.shared == self.used


class Advice(NamedTuple):
    """Something that follows from a plan, or from what changes between two."""

    kind: Literal["good", "caution", "hint"]
    text: str
    detail: str = ""
    """What to check, if it can make a job fail."""


def is_training(component: Component) -> bool:
    """Whether a component belongs to the pool of training when pools are apart."""
    return component.name in (*DEFAULT_TRAIN, "reward") or "actor" in component.roles


def pools_of(plan: Plan) -> Pools:
    """Count the GPUs of a plan, in one pass over its ranks."""
    first = plan.topology.first_gpu
    kinds, residents = bytearray(first[-1]), [0] * first[-1]
    for component in plan.components.values():
        kind = _TRAINING if is_training(component) else _GENERATION
        for placement in component.placements:
            if plan.kind_of(placement) != GPU:
                continue
            for device in placement.devices:
                at = first[placement.cluster_node_rank] + device
                kinds[at] |= kind
                residents[at] += 1
    nodes = [
        (node.name, set(kinds[start:end]) - {0}) for node, (start, end) in zip(plan.nodes, pairwise(first), strict=True)
    ]
    both = _TRAINING | _GENERATION
    return Pools(
        total=len(kinds),
        training=sum(bool(kind & _TRAINING) for kind in kinds),
        generation=sum(bool(kind & _GENERATION) for kind in kinds),
        shared=kinds.count(both),
        used=len(kinds) - kinds.count(0),
        residents=max((number for kind, number in zip(kinds, residents, strict=True) if kind & _TRAINING), default=0),
        generation_nodes=tuple(name for name, found in nodes if found == {_GENERATION}),
        mixed_nodes=tuple(name for name, found in nodes if {_TRAINING, _GENERATION} <= found),
    )


def moved_border(pools: Pools, training: int, by: int) -> int:
    """GPUs of training after the border between the pools moved; each pool keeps one at least."""
    return max(1, min(training + by, pools.total - 1))


def advise(before: Plan | None, after: Plan) -> list[Advice]:
    """What speaks for and against a plan, compared with an earlier one if there is one."""
    old, new = pools_of(before) if before is not None else None, pools_of(after)
    found = [*_layout(old, new), *_sizes(old, new)]
    if before is not None:
        found += _shards(before, after)
    if new.apart:
        words = (
            "Size the pools by time: generation that takes 3 times as long as training needs about 3 times its GPUs."
        )
        found.append(Advice("hint", words))
    return found


def _layout(old: Pools | None, new: Pools) -> Iterator[Advice]:
    if new.apart and not (old and old.apart):
        nodes = new.generation_nodes
        whose = "GPUs" if not nodes else listing(nodes) if len(nodes) < 3 else count(len(nodes), "node")
        words = f"Generation has {whose} for itself: steady latency, no weights to offload and bring back."
        yield Advice("good", words)
    if new.together and not (old and old.together):
        yield Advice("good", "Training and generation take turns on each GPU: no pool waits for the other.")
        yield Advice("caution", "Weights and caches share the memory of each GPU: they are offloaded at every turn.")
    if old and old.residents != new.residents and old.training and new.training:
        fewer = abs(old.residents - new.residents)
        kind: Literal["good", "caution"] = "good" if new.residents < old.residents else "caution"
        words = f"{count(fewer, 'resident').replace('1 ', 'One ')} {'fewer' if kind == 'good' else 'more'}"
        yield Advice(kind, f"{words} on each GPU that trains.")
    if new.apart and not (old and old.apart):
        yield Advice("caution", "One pool waits for the other, unless training is asynchronous.")
    if new.apart and new.mixed_nodes and (old is None or old.mixed_nodes != new.mixed_nodes):
        shared = new.mixed_nodes[0] if len(new.mixed_nodes) == 1 else count(len(new.mixed_nodes), "node")
        yield Advice("caution", f"Both pools are on {shared}: they share its CPUs and its network.")


def _sizes(old: Pools | None, new: Pools) -> Iterator[Advice]:
    for name, then, now in (
        ("Training", old.training if old else 0, new.training),
        ("Generation", old.generation if old else 0, new.generation),
    ):
        parted = name == "Generation" and old and old.together and new.apart
        if then and now and then != now and not parted:
            fewer = now < then
            effect = "a step may take longer" if name == "Training" else "it may take longer"
            words = f"{name} has {count(now, 'GPU')} instead of {then}"
            yield Advice("caution" if fewer else "good", f"{words}{': ' + effect if fewer else ''}.")
    idle = new.total - new.used
    if idle and (old is None or idle != old.total - old.used):
        yield Advice("caution", f"{count(idle, 'GPU')} {'has' if idle == 1 else 'have'} no process.")


def _shards(before: Plan, after: Plan) -> Iterator[Advice]:
    """Of training whose ranks become fewer: what is sharded over them grows on each."""
    for name, old in before.components.items():
        new = after.components.get(name)
        if name not in DEFAULT_TRAIN or new is None or not 0 < new.world_size < old.world_size:
            continue
        times = f"{old.world_size / new.world_size:.1f}".removesuffix(".0")
        words = f"{name} has {count(new.world_size, 'rank')} instead of {old.world_size}"
        detail = f"Optimizer state that is sharded over them takes {times} times the memory of each GPU."
        yield Advice("caution", words, detail)
