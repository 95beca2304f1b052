"""From a verl job to the placement groups it requests and the processes in their bundles. Nodes come later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from placetui.frameworks.demand import Strategy
from placetui.frameworks.verl.config import NodesAsked, ReplicaSize, VerlJob
from placetui.placement.plan import SHARE_UNITS, RankOfEngine
from placetui.placement.problems import Path
from placetui.placement.wording import count

TRAINING_POOL = {"fully_async": "trainer_pool", "one_step_off": "trainer_pool", "fine_tuning": "<random>"}
"""Name of the pool of training by trainer; `global_pool` elsewhere."""

ROLE_ORDER = ("actor", "rollout", "ref", "critic", "rm")


@dataclass(frozen=True, slots=True)
class Pool:
    """GPUs that verl asks for together: one placement group per size."""

    name: str
    asked: NodesAsked
    sizes: tuple[int, ...]
    """Bundles of each group."""

    colocated: int
    """Processes that may share a GPU; also the CPUs of a bundle."""

    strategy: Strategy = "STRICT_PACK"
    sorted: bool = True
    """Whether ranks follow the addresses of the nodes; if not, the order of the requests."""

    counted_first: bool = True
    """Whether its GPUs are counted before the first group is requested, together with those of the other pools."""

    requested: bool = True

    @property
    def total(self) -> int:
        return sum(self.sizes)

    @property
    def label(self) -> str:
        """What a person calls it."""
        name = self.name.removeprefix("rollout_pool_")
        if self.name == name:
            return "the pool of fine-tuning" if name == "<random>" else f"`{name}`"
        reward = name.startswith("reward_")
        return f"{'reward' if reward else 'rollout'} replica {name.removeprefix('reward_')}"


class RankInPool(NamedTuple):
    """A rank of a component: consecutive bundles of a pool."""

    pool: int
    first: int
    gpus: int
    units: int | None
    """Share of each GPU in 1/10000; None where Ray reserves nothing."""

    engine: RankOfEngine | None = None


@dataclass(frozen=True, slots=True)
class UnplacedComponent:
    """A component before it has nodes."""

    name: str
    path: Path
    text: str
    processes: tuple[RankInPool, ...]
    roles: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    by_node: bool = False
    """Whether a process over several nodes is one rank on each: trtllm has one server, and its own workers."""

    whole: bool = False
    """Whether all servers of a replica belong on one node: prefill and decode."""


@dataclass(slots=True)
class VerlLayout:
    """Pools in the order of their requests, and what runs in them."""

    pools: list[Pool] = field(default_factory=list)
    parts: list[UnplacedComponent] = field(default_factory=list)

    def add(self, pool: Pool) -> int:
        self.pools.append(pool)
        return len(self.pools) - 1


def lay_out(job: VerlJob) -> VerlLayout:
    """Pools and processes of a job whose sizes are right; what has no place is left out."""
    layout = VerlLayout()
    rollout: list[RankInPool] = []
    reasons: list[str] = []
    training = None
    if job.trainer != "generation":
        name = TRAINING_POOL.get(job.trainer, "global_pool")
        training = layout.add(Pool(name, job.training, _sizes(job.training), job.colocated))
        layout.parts.append(_training(job, training))
    if training is not None and job.hybrid:
        rollout += _hybrid(job, training)
        reasons.append(
            f"{count(replicas_in(job.training.total, size_of(job)), 'replica')} on the GPUs of training; "
            "Ray reserves nothing for them"
        )
    _add_reward(job, layout, training)
    _add_teachers(job, layout)
    if job.standalone is not None:
        first = replicas_in(job.training.total, size_of(job)) if rollout else 0
        added = _standalone(job, layout, first)
        rollout += added
        if added:
            replicas = len({one.pool for one in added})
            reasons.append(f"{count(replicas, 'replica')} on GPUs of their own, each with its own placement groups")
    if rollout:
        if job.rollout.engine == "trtllm":
            reasons.append("TensorRT-LLM starts workers of its own in the bundles of a replica")
        layout.parts.append(
            UnplacedComponent(
                "rollout",
                (*job.rollout.path, "tensor_model_parallel_size"),
                _size_text(job.rollout) if job.disaggregation is None else "prefill and decode servers",
                tuple(rollout),
                reasons=tuple(reasons),
                by_node=job.rollout.engine == "trtllm",
                whole=job.disaggregation is not None,
            )
        )
    return layout


def size_of(job: VerlJob) -> int:
    """GPUs of a rollout replica."""
    return job.rollout.size if job.disaggregation is None else sum(job.disaggregation.servers)


def replicas_in(gpus: int, size: int) -> int:
    """Whole replicas that this many GPUs hold."""
    return max(0, gpus) // size if size > 0 else 0


def part_size(gpus_per_node: int, size: int) -> int:
    """GPUs of one server: a replica that is larger than a node has several."""
    return max(1, min(gpus_per_node, size))


def units_of(colocated: int) -> int:
    """What a process books of its GPU, in 1/10000."""
    return SHARE_UNITS // colocated


def _sizes(asked: NodesAsked) -> tuple[int, ...]:
    return (asked.gpus,) * max(0, asked.nodes) if asked.gpus > 0 else ()


def _size_text(size: ReplicaSize) -> str:
    factors = [f"tp {size.tensor}"]
    factors += [f"{name} {value}" for name, value in (("dp", size.data), ("pp", size.pipeline)) if value != 1]
    return f"{' x '.join(factors)}, {count(size.size, 'GPU')} per replica"


def _training(job: VerlJob, pool: int) -> UnplacedComponent:
    roles = {role for key in job.roles for role in key.split("_")}
    units = units_of(job.colocated)
    ranks = job.training.total
    reasons = [f"{_shape(job.training)} = {count(ranks, 'rank')}, one process on each GPU"]
    if len(roles) > 1:
        reasons.append(f"{', '.join(sorted(roles, key=ROLE_ORDER.index))} are one process, WorkerDict")
    if job.reward.enabled and "rm" in roles:
        reasons.append("the reward model is a role of it (rm)")
    return UnplacedComponent(
        job.roles[0] if job.roles else "trainer",
        ("trainer", "nnodes"),
        _shape(job.training),
        tuple(RankInPool(pool, rank, 1, units) for rank in range(ranks)),
        tuple(sorted(roles, key=ROLE_ORDER.index)),
        tuple(reasons),
    )


def _shape(asked: NodesAsked) -> str:
    return f"{count(asked.nodes, 'node')} x {count(asked.gpus, 'GPU')}"


def _hybrid(job: VerlJob, pool: int) -> list[RankInPool]:
    size, servers = size_of(job), _servers(job)
    replicas = range(replicas_in(job.training.total, size))
    return [rank for number in replicas for rank in _replica(pool, number, number * size, servers, None)]


def _servers(job: VerlJob) -> tuple[tuple[int, str], ...]:
    """GPUs and server group of each server of a rollout replica."""
    if job.disaggregation is None:
        return _cut(job.rollout.size, job.rollout_gpus)
    sizes = job.disaggregation.servers
    return tuple((size, "decode" if number else "prefill") for number, size in enumerate(sizes))


def _cut(size: int, gpus_per_node: int) -> tuple[tuple[int, str], ...]:
    each = part_size(gpus_per_node, size)
    return ((each, ""),) * (size // each)


def _replica(
    pool: int, number: int, first: int, servers: tuple[tuple[int, str], ...], units: int | None
) -> Iterator[RankInPool]:
    for part, (size, group) in enumerate(servers):
        yield RankInPool(pool, first, size, units, RankOfEngine(number, part, len(servers), group))
        first += size


def _standalone(job: VerlJob, layout: VerlLayout, first: int) -> list[RankInPool]:
    asked = job.standalone
    assert asked is not None
    size = size_of(job)
    # Generation forgets data parallelism when it counts.
    replicas = replicas_in(asked.total, job.rollout.tensor if job.trainer == "generation" else size)
    return _own_pools(layout, asked, size, range(first, first + replicas), _servers(job), job, "")


def _own_pools(
    layout: VerlLayout,
    asked: NodesAsked,
    size: int,
    numbers: range,
    servers: tuple[tuple[int, str], ...],
    job: VerlJob,
    kind: str,
) -> list[RankInPool]:
    found: list[RankInPool] = []
    each = part_size(asked.gpus, size)
    for number in numbers:
        pool = Pool(
            f"rollout_pool_{kind}{number}",
            asked,
            (each,) * (size // each),
            job.colocated_standalone,
            "PACK",
            counted_first=False,
        )
        found += list(_replica(layout.add(pool), number, 0, servers, units_of(job.colocated_standalone)))
    return found


def _add_reward(job: VerlJob, layout: VerlLayout, training: int | None) -> None:
    reward = job.reward
    if training is None or job.trainer in ("fine_tuning", "one_step_off"):
        return
    size = reward.replica.size
    asked = reward.asked
    if job.trainer == "fully_async":
        if not (reward.enabled and reward.own_pool):
            return
        numbers = range(replicas_in(asked.total, size))
        processes = _own_pools(layout, asked, size, numbers, _cut(size, asked.gpus), job, "reward_")
    else:
        pool = training
        if reward.own_pool:
            pool = layout.add(
                Pool("reward_pool", asked, _sizes(asked), job.colocated, sorted=False, requested=reward.enabled)
            )
        if not reward.enabled or (reward.in_workers and not reward.own_pool):
            return
        total = layout.pools[pool].total
        units = units_of(job.colocated)
        if reward.in_workers:
            processes = [RankInPool(pool, rank, 1, units) for rank in range(total)]
        elif not size or total % size:
            return
        else:
            cut = _cut(size, asked.gpus)
            processes = [
                one for number in range(total // size) for one in _replica(pool, number, number * size, cut, units)
            ]
    if processes:
        path = (*asked.path, "enable")
        where = "on GPUs of its own" if reward.own_pool else "on the GPUs of training"
        layout.parts.append(
            UnplacedComponent(
                "reward_model",
                path,
                f"{_size_text(reward.replica)}, {where}",
                tuple(processes),
                reasons=(f"{count(len(processes), 'server')} {where}",),
                by_node=reward.replica.engine == "trtllm",
            )
        )


def _add_teachers(job: VerlJob, layout: VerlLayout) -> None:
    asked = job.distillation
    if asked is None or job.trainer not in ("v1", "classic", "fully_async"):
        return
    first_count = job.trainer != "fully_async"
    pool = layout.add(
        Pool("teacher_pool", asked, _sizes(asked), job.colocated, sorted=False, counted_first=first_count)
    )
    first = 0
    for teacher in job.teachers:
        size = teacher.replica.size
        replicas = max(0, teacher.replicas)
        if first + replicas * size > layout.pools[pool].total:
            return
        cut = _cut(size, asked.gpus)
        processes: list[RankInPool] = []
        for number in range(replicas):
            processes += _replica(pool, number, first, cut, units_of(job.colocated))
            first += size
        layout.parts.append(
            UnplacedComponent(
                f"teacher:{teacher.key}",
                teacher.path,
                _size_text(teacher.replica),
                tuple(processes),
                reasons=(f"{count(replicas, 'replica')} in the pool of teachers, in the order of the file",),
            )
        )
