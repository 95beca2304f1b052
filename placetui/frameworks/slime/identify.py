"""Which actor of a running slime or Miles job is which rank.

All actors of such a job are unnamed. What tells them apart is their class, the bundle of the job's one placement group
that they are in, and the order in which they were started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from math import inf

from placetui.frameworks.addresses import address_key
from placetui.frameworks.cluster_facts import ActorSeen, ClusterFacts, GroupSeen, NodeSeen, RankSeen
from placetui.placement.plan import Component, Plan

TRAINING = frozenset({"MegatronTrainRayActor", "FSDPTrainRayActor", "TeacherLogpRayActor"})
ENGINE = "SGLangEngine"
PROBE = "InfoActor"
MANAGER = "RolloutManager"
SERVICES = {
    MANAGER: "rollout manager",
    "Lock": "lock",
    "SampleManager": "sample manager",
    "_HttpPosterActor": "HTTP poster",
    "MultiLoRAController": "LoRA controller",
    "DashboardCollector": "dashboard collector",
    "GpuSampler": "GPU sampler",
    "_PrometheusCollector": "Prometheus collector",
}
"""What the other actors of such a job are, by class."""

_ONLY_MILES = frozenset({"FSDPTrainRayActor", "MultiLoRAController", "DashboardCollector", "_PrometheusCollector"})
_MILES_VARIABLES = ("RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES", "NVSHMEM_DISABLE_NCCL")
_SLIME_VARIABLES = ("RAY_EXPERIMENTAL_NOSET_MUSA_VISIBLE_DEVICES", "SGLANG_JIT_KERNEL_EXTRA_PATH")
_ENGINE_RANK = re.compile(r"[a-z]+_rank_(\d+)$")
_RELEASED = ("", "RAY_KILL")
"""How training processes end that the driver itself ends, to start others after the next rollout."""

_BUNDLE = {"CPU": 1.0, "GPU": 1.0}


def identify(facts: ClusterFacts, plan: Plan | None, framework: str) -> Iterator[RankSeen]:
    """The ranks and services of a job, if it is one of this framework, `slime` or `miles`."""
    actors = facts.actors
    if not is_slime(facts, actors) or which(actors, plan) != framework:
        return
    training = [one for one in actors if one.bare_class in TRAINING]
    slots = _Slots(facts, actors, by_text=framework == "miles")
    size = plan.components["actor"].world_size if plan is not None and "actor" in plan.components else 0
    started = {
        one.bundle: one.started or inf
        for one in sorted(training, key=lambda one: -one.started)
        if one.bundle is not None
    }
    if size and (len(started) == size or any((slots.of(one) or 0) >= size for one in training)):
        slots = _Slots(facts, actors, by_text=framework == "miles", started=started)
    job = facts.job_by_id.get(actors[0].job)
    releases = job is not None and "--release-train" in job.entrypoint.split()
    yield from _training(slots, training, plan, releases=releases)
    engines = [one for one in actors if one.bare_class == ENGINE]
    yield from _engines(slots, engines, plan)
    for actor in actors:
        title = SERVICES.get(actor.bare_class) or ("probe" if actor.bare_class == PROBE and not actor.is_dead else None)
        if title is None and actor.bare_class == ENGINE and actor.bundle is None:
            title = "external engine"
        if title is not None:
            yield RankSeen(actor.id, actor.job, title, service=True)


def is_slime(facts: ClusterFacts, actors: Sequence[ActorSeen]) -> bool:
    """Whether the actors of a job can be slime's or Miles': in bundles of one GPU and one CPU, or a manager."""
    classes = {actor.bare_class for actor in actors}
    if MANAGER in classes and (ENGINE in classes or "Lock" in classes or classes & TRAINING):
        return True
    for actor in actors:
        if actor.bare_class in TRAINING or actor.bare_class in (ENGINE, PROBE):
            group = facts.group_by_id.get(actor.group)
            # The head forgets groups that were removed.
            if actor.bundle is not None and (group is None or all(one.resources == _BUNDLE for one in group.bundles)):
                return True
    return False


def which(actors: Sequence[ActorSeen], plan: Plan | None) -> str:
    """`slime` or `miles`: by variables and classes that only one has; else as its command line was read."""
    for actor in actors:
        names = actor.environment
        if actor.bare_class in _ONLY_MILES or any(name in names for name in _MILES_VARIABLES):
            return "miles"
        if any(name in names for name in _SLIME_VARIABLES):
            return "slime"
    return plan.framework if plan is not None and plan.framework in ("slime", "miles") else "slime"


class _Slots:
    """The slots of a job: its bundles by the address of their node, then by the id of their GPU."""

    def __init__(
        self,
        facts: ClusterFacts,
        actors: Sequence[ActorSeen],
        *,
        by_text: bool,
        started: Mapping[int, float] | None = None,
    ) -> None:
        self._by_text = by_text
        self._started = started or {}
        """When the first training process of a bundle came to life, where all of them are known."""

        self.number: dict[tuple[str, int], int] = {}
        """Of each bundle, by group and index."""

        self.places: list[tuple[str, int]] = []
        """Of each slot, node and physical id of the GPU."""

        groups: dict[str, list[ActorSeen]] = {}
        for actor in actors:
            if actor.group and actor.bundle is not None:
                groups.setdefault(actor.group, []).append(actor)
        # One per job; of several, that of the actors that live.
        for name in sorted(groups, key=lambda name: (all(one.is_dead for one in groups[name]), name))[:1]:
            self._read(facts, facts.group_by_id.get(name), name, groups[name])

    def _read(self, facts: ClusterFacts, group: GroupSeen | None, name: str, actors: Sequence[ActorSeen]) -> None:
        node_of: dict[int, str] = {}
        gpu_of: dict[int, int] = {}
        if group is not None:
            node_of = {index: bundle.node for index, bundle in enumerate(group.bundles)}
        for actor in actors:
            if actor.bundle is not None:
                if not node_of.get(actor.bundle):
                    node_of[actor.bundle] = actor.node
                if len(actor.slots) == 1:
                    gpu_of[actor.bundle] = facts.booked(actor)[0]
        by_node: dict[str, list[int]] = {}
        for index in sorted(node_of):
            by_node.setdefault(node_of[index], []).append(index)
        for node, indices in by_node.items():
            seen = facts.node_by_id.get(node, NodeSeen(node))
            gpus = list(map(seen.physical, range(max(seen.gpus, len(indices)))))
            gpu_of |= _idle(indices, gpus, {index: gpu_of[index] for index in indices if index in gpu_of})
        listed = {node: bool(facts.node_by_id.get(node, NodeSeen(node)).gpu_ids) for node in by_node}

        def key(index: int) -> tuple[object, ...]:
            node = node_of[index]
            ip = facts.node_by_id[node].ip if node in facts.node_by_id else ""
            gpu = gpu_of[index]
            text = str(gpu) if self._by_text and listed[node] else ""
            return address_key(ip), text, gpu, index

        for slot, index in enumerate(self._corrected(sorted(node_of, key=key), node_of)):
            self.number[name, index] = slot
            self.places.append((node_of[index], gpu_of[index]))

    def _corrected(self, indices: Sequence[int], node_of: Mapping[int, str]) -> Iterator[int]:
        """The bundles by slot, also where nobody has read in which order a raylet has its GPUs, as in `ps`.

        Training has the first slots, and rank 0 is there before the others are started.
        """
        begun = self._started
        first = min(begun, key=lambda index: begun[index], default=None)

        def can_be(ordered: Sequence[int]) -> bool:
            trains = [index in begun for index in ordered]
            is_start = first in ordered and node_of[ordered[0]] == node_of[indices[0]]
            return trains == sorted(trains, reverse=True) and not (is_start and ordered[0] != first)

        for _, here in groupby(indices, key=lambda index: node_of[index]):
            ordered = list(here)
            if not can_be(ordered):
                ordered.reverse()
            if not can_be(ordered):
                ordered.sort(key=lambda index: begun.get(index, inf))
            yield from ordered

    def of(self, actor: ActorSeen) -> int | None:
        """The slot of an actor's bundle."""
        return None if actor.bundle is None else self.number.get((actor.group, actor.bundle))

    def devices(self, first: int, gpus: int) -> tuple[int, ...]:
        """Physical ids from a slot on, as far as they are on its node."""
        node = self.places[first][0]
        return tuple(gpu for other, gpu in self.places[first : first + gpus] if other == node)


def _idle(indices: Sequence[int], gpus: Sequence[int], known: Mapping[int, int]) -> dict[int, int]:
    """GPUs of the bundles of a node in which nothing runs: Ray gives them out in its order, around what others hold."""
    free = [gpu for gpu in gpus if gpu not in known.values()]
    found: dict[int, int] = {}
    below = -1
    for is_known, run in groupby(indices, key=known.__contains__):
        here = list(run)
        if is_known:
            below = gpus.index(known[here[-1]]) if known[here[-1]] in gpus else below
            continue
        after = next((known[index] for index in indices if index > here[-1] and index in known), None)
        above = gpus.index(after) if after in gpus else len(gpus)
        between = [gpu for gpu in free if below < gpus.index(gpu) < above]
        # What comes before the first one known ends there; others may hold the GPUs below.
        between = between[-len(here) :] if below < 0 and after is not None else between[: len(here)]
        between += [gpu for gpu in free if gpu not in between]
        for index, gpu in zip(here, between, strict=False):
            found[index] = gpu
            free.remove(gpu)
        found |= {index: index for index in here if index not in found}
    return found


def _training(slots: _Slots, actors: Sequence[ActorSeen], plan: Plan | None, *, releases: bool) -> Iterator[RankSeen]:
    """Rank is slot. Of two in one bundle the one that was started first is the actor's, the other the critic's."""
    by_slot: dict[int, list[ActorSeen]] = {}
    for actor in actors:
        slot = slots.of(actor)
        if slot is not None:
            by_slot.setdefault(slot, []).append(actor)
    planned = plan.components if plan is not None else {}
    critic = "critic" in planned if "actor" in planned else any(map(_overlap, by_slot.values()))
    for slot, here in sorted(by_slot.items()):
        ordered = sorted(here, key=lambda one: (one.started or inf, one.id))
        for place, actor in enumerate(ordered):
            told = actor.environment.get("ENABLE_ROUTING_REPLAY")
            second = place % 2 == 1 if told is None else told != "1"
            component = "critic" if critic and second else "actor"
            yield RankSeen(
                actor.id,
                actor.job,
                component,
                slot,
                planned[component].world_size if component in planned else None,
                slots.devices(slot, 1),
                "ray",
                released=releases and actor.is_dead and actor.cause in _RELEASED,
            )


def _overlap(actors: Sequence[ActorSeen]) -> bool:
    """Whether two lived in one bundle at the same time: then there is a critic."""
    if sum(not actor.is_dead for actor in actors) > 1:
        return True
    spans = sorted((one.started, one.ended or (one.started if one.is_dead else inf)) for one in actors)
    return any(after[0] < before[1] for before, after in pairwise(spans) if after[0])


def _engines(slots: _Slots, actors: Sequence[ActorSeen], plan: Plan | None) -> Iterator[RankSeen]:
    found = [(slot, actor) for actor in actors if (slot := slots.of(actor)) is not None]
    ranks, sizes, world_size = _planned(plan)
    # Without a plan they are counted by slot, those that died included.
    counted = {slot: rank for rank, slot in enumerate(sorted({slot for slot, _ in found}))}
    for slot, actor in sorted(found, key=lambda one: one[0]):
        told = _ENGINE_RANK.search(actor.environment.get("SGLANG_DG_CACHE_DIR", ""))
        rank = ranks.get(slot, int(told[1]) if told else counted[slot])
        yield RankSeen(actor.id, actor.job, "rollout", rank, world_size, slots.devices(slot, sizes.get(slot, 1)), "ray")


def _planned(plan: Plan | None) -> tuple[Mapping[int, int], Mapping[int, int], int | None]:
    """By slot, rank and GPUs of an engine; and how many ranks there are."""
    component = plan.components.get("rollout") if plan is not None else None
    if plan is None or component is None or not component.world_size:
        return {}, {}, None
    first = [0, *accumulate(node.gpus for node in plan.nodes)]
    starts = [first[one.cluster_node_rank] + one.devices[0] for one in component.placements]
    sizes = [len(one.devices) for one in component.placements]
    return dict(zip(starts, own_ranks(component), strict=True)), dict(zip(starts, sizes, strict=True)), len(starts)


def own_ranks(component: Component) -> list[int]:
    """The framework's own numbers of the ranks, which leave some out for placeholders."""
    numbers = [one.number for one in component.engines]
    return [rank if number is None else number for rank, number in enumerate(numbers)] or list(
        range(component.world_size)
    )
