"""Who sits where in a verl job: groups on nodes as Ray would choose them, and the ranks in their bundles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from placetui.frameworks.base import PlanOptions
from placetui.frameworks.demand import BundleDemand, GroupDemand
from placetui.frameworks.scheduling import NodeResources, Scheduled, schedule, units
from placetui.frameworks.verl.config import NodesAsked, VerlJob
from placetui.frameworks.verl.layout import Pool, RankInPool, UnplacedComponent, VerlLayout, lay_out
from placetui.frameworks.verl.rules import check_job
from placetui.placement.config.reader import Reader
from placetui.placement.placements import set_undecided
from placetui.placement.placing import place_each
from placetui.placement.plan import Component, Plan, PlannedGroup, RankOfEngine, Rule, Service
from placetui.placement.problems import Problem, Problems, Severity
from placetui.placement.topology import Node, Topology
from placetui.placement.wording import count, dotted, listing

NAME = "verl"
MOST_GPUS = 65_536
"""More than this many GPUs are a slip of the keyboard."""


def plan_verl(reader: Reader, options: PlanOptions, problems: Problems) -> Plan:
    """Every component on the nodes that Ray would give it; what cannot be placed is a problem and left out."""
    job = VerlJob(reader, problems)
    asked = [one for one in (job.training, job.standalone, job.reward.asked, job.distillation) if one is not None]
    too_many = next((one for one in asked if one.total > MOST_GPUS or one.nodes > MOST_GPUS), None)
    if too_many is not None:
        path = (*too_many.path, "nnodes")
        message = f"{too_many.nodes} nodes x {too_many.gpus} GPUs are more than {MOST_GPUS} GPUs"
        problems.at(path).error("verl_value", message, hint="check the number of digits")
        layout = VerlLayout()
    else:
        check_job(job, problems)
        layout = lay_out(job)
    owners: list[NodesAsked | None] = []
    nodes: Sequence[Node] | None = options.nodes
    source = options.topology_source
    if nodes is None:
        (nodes, owners), source = _assumed(layout), "assumed"
    topology = Topology(nodes)
    cluster = _Cluster(job, layout, topology.nodes, owners)
    cluster.check(problems)
    components = {}
    for part in sorted(layout.parts, key=lambda one: one.name.startswith(("reward", "teacher"))):
        placed = _ranks(part, cluster, problems)
        if placed or not part.processes:
            components[part.name] = _component(part, placed, cluster)
    _mention_order(cluster, problems)
    return Plan(
        source=options.source,
        framework=NAME,
        mode=NAME,
        placement_mode=None,
        topology_source=source,
        topology=topology,
        components=components,
        groups=cluster.groups,
        services=tuple(_services(job, len(nodes))) if nodes else (),
    )


def _assumed(layout: VerlLayout) -> tuple[list[Node], list[NodesAsked | None]]:
    """The nodes that each pool asks for, and whose they are; standalone replicas have theirs together."""
    asked: dict[NodesAsked, None] = dict.fromkeys(pool.asked for pool in layout.pools)
    owners: list[NodesAsked | None] = [one for one in asked for _ in range(one.nodes) if one.gpus > 0]
    nodes = [Node(one.gpus) for one in owners if one is not None]
    return (nodes, owners) if nodes else ([Node(8)], [None])


@dataclass(frozen=True, slots=True)
class PlacedBundle:
    """A bundle of a pool, in the order of the ranks."""

    node: int
    gpu: int
    group: int
    """Its group in the order of the requests."""


class _Request(NamedTuple):
    """A group that verl asks for."""

    pool: int
    size: int
    name: str


class _Cluster:
    """The groups of a job on the nodes, as Ray would place them.

    Nodes that are only assumed have `owners`: what asks for each. Pools then stay on their own nodes: Ray might mix
    them, but who knows the real ones.
    """

    def __init__(
        self, job: VerlJob, layout: VerlLayout, nodes: Sequence[Node], owners: Sequence[NodesAsked | None] = ()
    ) -> None:
        self._owners = owners if len(set(owners)) > 1 else ()
        self.job = job
        self.layout = layout
        self.nodes = nodes
        self.knows_cpus = bool(nodes) and all(node.cpus is not None for node in nodes)
        self._requests = [
            _Request(number, size, f"{pool.name}verl_group_{'_'.join(map(str, pool.sizes))}:{index}")
            for number, pool in enumerate(layout.pools)
            if pool.requested
            for index, size in enumerate(pool.sizes)
        ]
        self.scheduled = self._schedule()
        self.bundles = self._bundles()
        self.fixed = self._fixed()

    def _held_cpus(self, node: Node) -> float:
        """CPUs held when the first group is requested: by others, and by verl's own actors where that is certain."""
        job, number = self.job, len(self.nodes)
        held = node.cpus_in_use
        if job.trainer == "v1":
            held += job.storage_units // number + (number == 1)
        elif job.trainer == "fully_async" and number == 1:
            held += 23
        elif job.trainer == "one_step_off" and number == 1:
            held += 10
        return held

    def _resources(self, rank: int) -> NodeResources:
        node = self.nodes[rank]
        total = {self.job.resource: units(node.gpus)}
        free = {self.job.resource: units(node.gpus - node.gpus_in_use)}
        if self.knows_cpus:
            total["CPU"] = units(node.cpus or 0)
            free["CPU"] = max(0, units((node.cpus or 0) - self._held_cpus(node)))
        owner = self._owners[rank] if self._owners else None
        return NodeResources(str(rank), total, free, {} if owner is None else {"pool": str(owner)})

    def _demand(self, pool: Pool, size: int, name: str) -> GroupDemand:
        resources: dict[str, float] = {self.job.resource: 1}
        if self.knows_cpus:
            resources["CPU"] = pool.colocated
        labels = {"pool": str(pool.asked)} if self._owners else {}
        return GroupDemand(name, pool.strategy, (BundleDemand(resources, size, labels),))

    def _schedule(self) -> list[Scheduled]:
        pools = self.layout.pools
        resources = [self._resources(rank) for rank in range(len(self.nodes))]
        return schedule(resources, [self._demand(pools[pool], size, name) for pool, size, name in self._requests])

    @property
    def groups(self) -> tuple[PlannedGroup, ...]:
        pools = self.layout.pools
        return tuple(
            PlannedGroup(
                name,
                pools[pool].strategy,
                size,
                {self.job.resource: 1, "CPU": pools[pool].colocated},
                tuple(map(int, found.nodes)),
            )
            for (pool, size, name), found in zip(self._requests, self.scheduled, strict=True)
        )

    def _by_pool(self) -> Iterator[tuple[int, list[tuple[_Request, Scheduled]]]]:
        """The groups of each pool that is requested, in order."""
        for number, found in groupby(zip(self._requests, self.scheduled, strict=True), key=lambda one: one[0].pool):
            yield number, list(found)

    def _bundles(self) -> list[list[PlacedBundle]]:
        """Of each pool in the order of its ranks; none of a pool that waits, nor of those after it."""
        found: list[list[PlacedBundle]] = [[] for _ in self.layout.pools]
        next_gpu = [node.gpus_in_use for node in self.nodes]
        for number, of_pool in self._by_pool():
            if not all(one.nodes for _, one in of_pool):
                break
            groups: list[list[PlacedBundle]] = []
            for index, (_, one) in enumerate(of_pool):
                bundles = []
                for node in map(int, one.nodes):
                    bundles.append(PlacedBundle(node, next_gpu[node], index))
                    next_gpu[node] += 1
                groups.append(bundles)
            if self.layout.pools[number].sorted:
                groups.sort(key=lambda group: self.address(group[0].node))
            found[number] = [bundle for group in groups for bundle in group]
        return found

    def address(self, node: int) -> str:
        """What verl sorts nodes by: text."""
        return self.nodes[node].ip or self.nodes[node].name

    def _fixed(self) -> list[bool]:
        """Of each pool, whether the nodes of its ranks follow from the input."""
        found = [not self._owners] * len(self.layout.pools)
        for number, of_pool in self._by_pool():
            groups = [one for _, one in of_pool]
            choices = {choice for one in groups for choice in one.choices}
            if self._owners or all(len(choice) == 1 for choice in choices):
                continue
            # Equal groups on equal nodes: it does not matter which got which, if every node that may get one does.
            times = Counter(one.nodes[0] for one in groups if one.nodes)
            alike = all(len({times[name] for name in choice}) == 1 for choice in choices)
            whole = all(len(set(one.nodes)) == 1 for one in groups)
            found[number] = self.layout.pools[number].sorted and whole and alike
        return found

    # ── what does not fit ──

    def check(self, problems: Problems) -> None:
        """Report groups that verl refuses to request, and groups that Ray cannot place."""
        if self.job.trainer == "v1" and self.knows_cpus and self.job.storage_units >= len(self.nodes):
            problems.extend(_without_cpus(node.name) for node in self.nodes if not node.cpus)
        free = [node.gpus - node.gpus_in_use for node in self.nodes]
        first = [pool for pool in self.layout.pools if pool.counted_first]
        counts = self.job.trainer != "fine_tuning"
        if counts and first and self._too_few(first, sum(free), problems):
            return
        for number, of_pool in self._by_pool():
            pool = self.layout.pools[number]
            if counts and not pool.counted_first and self._too_few([pool], sum(free), problems):
                return
            for request, one in of_pool:
                if one.verdict != "fits":
                    self._report_waiting(pool, request.size, one, free, problems)
                    if one.verdict == "waits":
                        return
                for rank in map(int, one.nodes):
                    free[rank] -= 1

    def _too_few(self, pools: Sequence[Pool], free: int, problems: Problems) -> bool:
        needed = sum(pool.total for pool in pools)
        if needed <= free:
            return False
        parts = " + ".join(f"{pool.label} {pool.total}" for pool in pools)
        which = f" ({parts})" if len(pools) > 1 else ""
        subject = "the pools need" if len(pools) > 1 else f"{pools[0].label} needs"
        problems.at((*pools[-1].asked.path, "nnodes")).error(
            "verl_total_gpus",
            f"{subject} {count(needed, 'GPU')}{which}, {free} {'is' if free == 1 else 'are'} free",
            hint="request fewer nodes or GPUs per node, or free some",
        )
        return True

    def _report_waiting(self, pool: Pool, size: int, one: Scheduled, free: Sequence[int], problems: Problems) -> None:
        most = max(free, default=0)
        strict = pool.strategy == "STRICT_PACK"
        path = (*pool.asked.path, "n_gpus_per_node")
        certain = one.verdict == "waits"
        severity: Severity = "error" if certain else "warning"
        ends = "verl waits forever" if certain else "verl may wait forever"
        if strict and most < size:
            message = (
                f"a group of {pool.label} needs {count(size, 'free GPU')} on one node, and none has more than {most}"
            )
            hint = f"lower `{dotted(path)}`, and raise `{dotted((*pool.asked.path, 'nnodes'))}`"
            problems.append(Problem("verl_group_too_large", f"{message}: {ends}", severity, hint, path))
            return
        message = (
            f"a group of {pool.label} with {count(size, 'GPU')} needs {size * pool.colocated} CPUs of "
            f"{'its node' if strict else 'the nodes'}, {pool.colocated} for each GPU"
        )
        hint = "start Ray with more CPUs there, or request fewer GPUs per node"
        problems.append(Problem("verl_group_cpus", f"{message}: {ends}", severity, hint, path))


# ── ranks ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Rank:
    """A rank before its place among the others on its node is known."""

    node: int
    gpus: tuple[int, ...]
    process: RankInPool
    fixed: bool


def _ranks(part: UnplacedComponent, cluster: _Cluster, problems: Problems) -> list[_Rank]:
    found: list[_Rank] = []
    straddling: list[RankInPool] = []
    nodes_of_replica: dict[int, set[int]] = {}
    for process in part.processes:
        bundles = cluster.bundles[process.pool][process.first : process.first + process.gpus]
        if len(bundles) < process.gpus:
            return []
        fixed = cluster.fixed[process.pool]
        nodes = dict.fromkeys(bundle.node for bundle in bundles)
        if part.by_node:
            for node in nodes:
                here = tuple(bundle.gpu for bundle in bundles if bundle.node == node)
                found.append(_Rank(node, here, process, fixed))
            continue
        if part.whole and process.engine is not None:
            nodes_of_replica.setdefault(process.engine.engine, set()).update(nodes)
        if len(nodes) > 1:
            straddling.append(process)
        # A server takes the GPU ids of all its workers for GPUs of its own node.
        node = bundles[0].node
        gpus = dict.fromkeys(bundle.gpu for bundle in bundles if bundle.gpu < cluster.nodes[node].gpus)
        found.append(_Rank(node, tuple(gpus), process, fixed))
    replicas = {one.engine.engine for one in straddling if one.engine is not None}
    replicas |= {number for number, nodes in nodes_of_replica.items() if len(nodes) > 1}
    if replicas:
        _report_straddling(part, sorted(replicas), problems)
    return found


def _report_straddling(part: UnplacedComponent, replicas: Sequence[int], problems: Problems) -> None:
    which = f"replica {replicas[0]}" if len(replicas) == 1 else f"replicas {listing(map(str, replicas), 8)}"
    verb = "has" if len(replicas) == 1 else "have"
    problems.at(part.path, component=part.name).error(
        "verl_replica_straddles_nodes",
        f"{which} of `{part.name}` {verb} GPUs of two nodes in one server, which can use only those of its own node; "
        "verl starts anyway",
        hint="choose a replica size that divides the GPUs per node, or free a whole node for it",
    )


def _component(part: UnplacedComponent, ranks: Sequence[_Rank], cluster: _Cluster) -> Component:
    placements = place_each(cluster.nodes, [(one.node, one.gpus) for one in ranks], isolate=True)
    for placement, one in zip(placements, ranks, strict=True):
        set_undecided(placement, "device" if one.fixed else "node")
    shares = [one.process.units for one in ranks]
    booked = next((units for units in shares if units is not None), None)
    return Component(
        part.name,
        Rule(part.text, part.path, keys=(part.name,)),
        "packed",
        placements,
        units=booked,
        rank_units=shares,
        reasons=(*part.reasons, *_assumptions(part, cluster)),
        engines=tuple(_engines(ranks, by_node=part.by_node)),
        roles=part.roles,
    )


def _engines(ranks: Sequence[_Rank], *, by_node: bool) -> Iterator[RankOfEngine]:
    engines = [one.process.engine for one in ranks if one.process.engine is not None]
    if not by_node:
        yield from engines
        return
    for number, of_replica in groupby(engines, key=lambda one: one.engine):
        several = list(of_replica)
        yield from (one._replace(engine=number, part=part, parts=len(several)) for part, one in enumerate(several))


def _assumptions(part: UnplacedComponent, cluster: _Cluster) -> Iterator[str]:
    if not cluster.knows_cpus:
        yield "the number of CPUs of the nodes is unknown: CPUs are not checked"
    if part.name == "rollout" and cluster.job.assumed_engine:
        yield "the file names no engine: vllm is assumed"


def _mention_order(cluster: _Cluster, problems: Problems) -> None:
    """Tell where "N nodes" are fewer, and where the order of addresses is not the one a person expects."""
    for number, pool in enumerate(cluster.layout.pools):
        bundles = cluster.bundles[number]
        if len(pool.sizes) < 2 or not bundles or not pool.sorted:
            continue
        groups = {(bundle.node, bundle.group) for bundle in bundles}
        nodes = {node for node, _ in groups}
        at = problems.at((*pool.asked.path, "nnodes"))
        if len(nodes) < len(pool.sizes) and pool.strategy == "STRICT_PACK":
            at.info(
                "verl_groups_share_node",
                f"the {len(pool.sizes)} groups of {pool.label} lie on {count(len(nodes), 'node')}",
                hint="two groups share a node where no freer one is left",
            )
        first = min(nodes)
        if bundles[0].node != first and cluster.fixed[number]:
            shown = cluster.nodes[bundles[0].node]
            at.info(
                "verl_rank_order_by_text",
                f"rank 0 of {pool.label} is on {shown.name}: verl sorts addresses as text, "
                f"{cluster.address(bundles[0].node)} before {cluster.address(first)}",
                hint="nothing to change; keep it in mind when reading logs",
            )


def _services(job: VerlJob, nodes: int) -> Iterator[Service]:
    """Actors without a GPU. Where Ray may put them anywhere, they are shown on the first node."""
    runner = 1.0 if job.version < (0, 9) else 0.0
    if job.trainer == "v1":
        yield Service("TaskRunnerV1", 0, 0)
        yield Service("TransferQueueController", 0, 1)
        for node in range(min(nodes, job.storage_units)):
            number = len(range(node, job.storage_units, nodes))
            yield Service(f"{number} SimpleStorageUnit" if number > 1 else "SimpleStorageUnit", node, number)
    elif job.trainer == "classic":
        yield Service("TaskRunner", 0, runner)
    elif job.trainer == "fully_async":
        yield Service("FullyAsyncTaskRunner", 0, 1)
        yield Service("FullyAsyncTrainer", 0, 10)
        yield Service("FullyAsyncRollouter", 0, 10)
        yield Service("MessageQueue", 0, 2)
    elif job.trainer == "one_step_off":
        yield Service("OneStepTaskRunner", 0, 10)


def transfer_queue_problems(
    plan: Plan, nodes: Mapping[str, Mapping[str, float]], actors: Collection[tuple[str, str]]
) -> Iterator[Problem]:
    """What a running cluster holds against the queue of a v1 job; nodes without GPUs are not in its plan."""
    stored = sum(one.cpus for one in plan.services if one.name.endswith("SimpleStorageUnit"))
    if not any(one.name == "TransferQueueController" for one in plan.services):
        return
    if ("transfer_queue", "TransferQueueController") in actors:
        yield Problem(
            "verl_shared_transfer_queue",
            "another v1 job of verl runs on this Ray cluster: this one would join its TransferQueue",
            "warning",
            "wait until the other job has ended, or start this one on a Ray cluster of its own",
            ("trainer", "use_v1"),
        )
    for name, resources in nodes.items():
        if not resources.get("CPU") and not resources.get("GPU") and stored >= len(nodes):
            yield _without_cpus(name)


def _without_cpus(node: str) -> Problem:
    return Problem(
        "verl_node_without_cpus",
        f"{node} has no CPUs, and verl pins an actor that needs one to every node",
        "error",
        "give the node CPUs (`ray start --num-cpus`)",
        ("trainer", "nnodes"),
    )
