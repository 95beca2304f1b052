"""A cluster that does not exist, for `--demo` and for tests: the same seed and times give the same observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import ceil
from pathlib import PurePath
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

from placetui.observe.model import (
    BundleState,
    DeviceSample,
    GroupState,
    NodeSample,
    Observation,
    ProcessSample,
    RankState,
    State,
)
from placetui.placement.environment import NAMESPACE
from placetui.placement.shares import DEFAULT_TRAIN
from placetui.placement.wording import GIB

if TYPE_CHECKING:
    from placetui.placement.plan import Plan

Role: TypeAlias = Literal["train", "rollout", "other"]

_GENERATES = ("rollout", "inference", "engine", "generat", "sglang", "vllm", "agent")


@dataclass(frozen=True, slots=True)
class LayoutNode:
    """A node, by rank."""

    name: str
    ip: str = ""
    gpus: int = 0
    memory_gib: float | None = None
    """Memory of each GPU, where the plan says so."""


@dataclass(frozen=True, slots=True)
class LayoutComponent:
    """A component and where its ranks are."""

    name: str
    role: Role
    places: tuple[tuple[int, tuple[int, ...]], ...]
    """For each rank its node, and its GPUs on that node; none where it sits on a node or a robot."""


@dataclass(frozen=True, slots=True)
class SimulatedLayout:
    """Nodes, and which rank is where."""

    nodes: tuple[LayoutNode, ...]
    components: tuple[LayoutComponent, ...] = ()
    job: str = "demo"

    def to_dict(self) -> dict[str, Any]:
        return {
            "nodes": [[node.name, node.ip, node.gpus, node.memory_gib] for node in self.nodes],
            "components": [[one.name, one.role, one.places] for one in self.components],
            "job": self.job,
        }

    @classmethod
    def from_dict(cls, value: Any) -> SimulatedLayout:
        """What `to_dict` gave, also after a way through JSON; a ValueError if it is something else."""
        try:
            layout = cls(
                tuple(LayoutNode(*row) for row in value["nodes"]),
                tuple(
                    LayoutComponent(name, role, tuple((node, tuple(gpus)) for node, gpus in places))
                    for name, role, places in value["components"]
                ),
                str(value["job"]),
            )
            for component in layout.components:
                for node, gpus in component.places:
                    if not 0 <= node < len(layout.nodes) or not all(0 <= i < layout.nodes[node].gpus for i in gpus):
                        raise ValueError(f"{component.name} is on a device that does not exist: node {node}, {gpus}")
        except (TypeError, KeyError) as problem:
            raise ValueError(f"not a layout: {problem}") from problem
        return layout


def layout_of(plan: Plan) -> SimulatedLayout:
    """What a simulation of a plan needs."""
    return SimulatedLayout(
        tuple(LayoutNode(node.name, node.ip, node.gpus, node.memory_gib) for node in plan.nodes),
        tuple(
            LayoutComponent(
                component.name,
                role_of(component.name),
                tuple(
                    (one.cluster_node_rank, tuple(one.devices) if plan.kind_of(one) == "gpu" else ())
                    for one in component.placements
                ),
            )
            for component in plan.components.values()
        ),
        PurePath(plan.source).stem or "demo",
    )


def role_of(component: str) -> Role:
    """What a component does, as far as its name tells."""
    if component in DEFAULT_TRAIN:
        return "train"
    return "rollout" if any(word in component.lower() for word in _GENERATES) else "other"


Phase: TypeAlias = Literal["load", "rollout", "sync", "train"]

_TURNS: tuple[tuple[float, Phase], ...] = ((0.5, "rollout"), (0.6, "sync"), (0.94, "train"), (1.0, "sync"))
"""Where each phase of a cycle ends."""

_LARGEST = 0.97
"""No more of a device's memory is used by ranks."""

_FULL = 0.982
"""What they use where a device is nearly full."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the job is in its cycle."""

    phase: Phase
    progress: float
    """How much of the phase is over, 0–1."""


def moment_at(elapsed: float, startup: float, cycle: float, lead: float = 0.0) -> Moment:
    """Where the job is `elapsed` seconds after its start, `startup` of which it takes to come up.

    Nodes with a `lead` are ahead by this part of a cycle.
    """
    if elapsed < startup:
        return Moment("load", max(0.0, elapsed / startup))
    position = ((elapsed - startup) / cycle + lead) % 1.0
    start = 0.0
    for end, phase in _TURNS:
        if position < end:
            return Moment(phase, (position - start) / (end - start))
        start = end
    return Moment("sync", 1.0)


def memory_levels(roles: Sequence[Role], moment: Moment) -> tuple[float, ...]:
    """What each process of a device uses of its memory on average, 0–1."""
    shared = "train" in roles and "rollout" in roles
    return tuple(_level(role, shared, moment) / roles.count(role) for role in roles)


def swing(moment: Moment) -> float:
    """By how much less memory is used in the phases of a story, so that they differ at a glance."""
    if moment.phase == "rollout":
        return 0.72 + 0.28 * moment.progress
    return 0.5 if moment.phase == "sync" else 1.0


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


MIB = 2**20

_SMALL = 128
"""Up to this many nodes all are sampled at each step; of larger clusters this many, at least a tenth."""

_LARGE = 64
"""Nodes from which on a story is about GPUs unlike their peers and silent nodes; below, about a foreign process."""

_WAVES = 8
"""Groups of nodes of a large cluster, each at another part of the cycle."""

Oddity: TypeAlias = Literal["full", "low", "hot", "foreign"]
"""How a GPU of a story is unlike its peers."""

_FOREIGN = ProcessSample(31877, round(6.2 * GIB), kind="foreign", user="tomas", command="python eval.py")
_FOREIGN_PART = 0.1
"""No more of a device's memory is ever used by it."""

_HOST_MEMORY = 2048 * GIB
_IDLE_MEMORY = 612 * MIB
_DEATHS = (
    "killed by signal 9: out of host memory",
    "CUDA error: an illegal memory access was encountered",
    "NCCL watchdog: ALLREDUCE ran for more than 600 s",
    "exit code 1: connection to the engine was reset",
)


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """How a simulated job behaves."""

    seed: int = 0
    startup: float = 6.0
    """Seconds until the last rank is alive."""

    cycle: float = 30.0
    """Seconds of one round of rollout, weight sync and training."""

    rank_dies_every: float | None = 45.0
    """Mean seconds between deaths of a rank; None: never."""

    node_stale_every: float | None = 60.0
    """Mean seconds between nodes that fall silent; None: never."""

    sampled: float | None = None
    """Part of the nodes that is sampled at each step, 0–1; None: by the size of the cluster."""

    story: bool = False
    """Whether there is something to see: parts of a large cluster in different phases, GPUs that are full, hot or far
    below their peers, nodes that stay silent; in a small one a foreign process; in any a rank that stays dead."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Any) -> SimulationOptions:
        """What `to_dict` gave; a ValueError if it is something else."""
        if not isinstance(value, dict) or not value.keys() <= {member.name for member in fields(cls)}:
            raise ValueError(f"not options of a simulation: {value!r}")
        if not all(part is None or isinstance(part, (int, float)) for part in value.values()):
            raise ValueError(f"options of a simulation are numbers: {value!r}")
        return cls(**value)


class Simulation:
    """A job on the nodes of a layout, from its start on."""

    def __init__(self, layout: SimulatedLayout, options: SimulationOptions | None = None) -> None:
        self.options = options or SimulationOptions()
        self._layout = layout
        self._random = Random(self.options.seed)
        self._pids = count(20_000)
        self._start: float | None = None
        self._steps = 0
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self._roles: dict[str, Role] = {one.name: one.role for one in layout.components}
        self._places = {one.name: one.places for one in layout.components}
        self._ranks = {
            one.name: [RankState(one.name, rank, node=node) for rank, (node, _) in enumerate(one.places)]
            for one in layout.components
        }
        self._frozen_ranks: dict[str, tuple[RankState, ...]] = {}
        self._changed_components = set(self._ranks)
        self._residents: list[list[list[tuple[str, int]]]] = [[[] for _ in range(one.gpus)] for one in layout.nodes]
        self._occupied = [False] * len(layout.nodes)
        for component in layout.components:
            for rank, (node, gpus) in enumerate(component.places):
                self._occupied[node] = True
                for gpu in gpus:
                    self._residents[node][gpu].append((component.name, rank))
        bundles = tuple(
            BundleState(node, 1.0, 1.0) for node, gpus in enumerate(self._residents) for held in gpus if held
        )
        self._groups = (GroupState(f"{self.options.seed:036x}", layout.job, NAMESPACE, bundles=bundles),)
        self._nodes = [self._new_node(rank) for rank in range(len(layout.nodes))]
        self._stale: dict[int, float] = {}
        self._touched: set[int] = set()
        sampled = self.options.sampled
        if sampled is None:
            sampled = min(1.0, max(0.1, _SMALL / max(1, len(layout.nodes))))
        self._turns = ceil(1 / sampled) if sampled > 0 else 0
        self._odd: dict[int, dict[int, Oddity]] = {}
        waves = max(1, min(_WAVES, len(layout.nodes) // 16)) if self.options.story else 1
        self._leads = [wave / waves + (0.5 if waves > 1 else 0.0) for wave in range(waves)]
        # What is sampled seldom changes slowly: else nodes that are sampled one after the other differ.
        self._cycle = self.options.cycle * (max(1, self._turns) if self.options.story else 1)
        spread, usage = 0.1 if self.options.story else 0.0, Random(self.options.seed)
        self._usage = [
            [1 + spread * (base + usage.random() - 1) for _ in range(node.gpus)]
            for node in layout.nodes
            for base in (usage.random(),)
        ]
        """By node and GPU, what it uses in relation to what is usual."""
        self._levels: dict[tuple[int, tuple[Role, ...]], tuple[float, ...]] = {}
        """What processes use at the moment, by wave and roles: the same on most GPUs."""
        self._schedule()

    def step(self, time: float) -> Observation:
        """The cluster at `time`, seconds since the epoch; the job starts with the first step."""
        if self._start is None:
            self._start = time
        elapsed = time - self._start
        self._touched.clear()
        while self._events and self._events[0][0] <= elapsed:
            at, _, event = heappop(self._events)
            event(at)
        if self._turns:
            self._touched.update(self._batch(self._steps % self._turns))
        self._steps += 1
        moments = [moment_at(elapsed, self.options.startup, self._cycle, lead) for lead in self._leads]
        self._levels.clear()
        for node in sorted(self._touched.union(self._stale)):
            since = self._stale.get(node)
            if since is not None:
                age = round(max(0.0, elapsed - since), 1)
                self._nodes[node] = replace(self._nodes[node], age=age, stale=True, error="the node does not answer")
            elif self._occupied[node]:
                wave = node * len(moments) // len(self._nodes)
                self._nodes[node] = self._sample(self._nodes[node], wave, moments[wave])
        # The ranks of a component that did not change stay the same tuple, which is quick to compare.
        self._frozen_ranks.update((name, tuple(self._ranks[name])) for name in self._changed_components)
        self._changed_components.clear()
        ranks, job = dict(self._frozen_ranks), self._layout.job
        return Observation(time, "simulated", tuple(self._nodes), ranks, job, self._groups)

    def _batch(self, turn: int) -> range:
        """Nodes that are sampled at once: every so many; in a story neighbours, which then are in the same phase."""
        nodes, turns = len(self._nodes), self._turns
        if self.options.story:
            return range(nodes * turn // turns, nodes * (turn + 1) // turns)
        return range(turn, nodes, turns)

    # What happens when

    def _schedule(self) -> None:
        everyone = [(name, rank) for name, states in self._ranks.items() for rank in range(len(states))]
        spread = 0.6 * self.options.startup / max(1, len(everyone))
        for place, (name, rank) in enumerate(everyone):
            begins = place * spread
            self._at(begins, self._rank_event(name, rank, "starting"))
            self._at(
                begins + self._random.uniform(0.1, 0.4) * self.options.startup, self._rank_event(name, rank, "alive")
            )
        if self.options.story:
            self._tell()
        elif everyone and self.options.rank_dies_every:
            self._at(self.options.startup + self._pause(self.options.rank_dies_every), self._kill_one)
        if self._nodes and self.options.node_stale_every:
            self._at(self.options.startup + self._pause(self.options.node_stale_every), self._silence_one)

    def _tell(self) -> None:
        """The story: a rank dies and is back, trouble builds up, another one dies and stays dead; then as ever."""
        begin, random = self.options.startup, self._random
        self._at(begin + 20, self._kill)
        self._at(begin + 70, lambda at: self._kill(at, lasting=True))
        if self.options.rank_dies_every:
            self._at(begin + 70 + self._pause(self.options.rank_dies_every), self._kill_one)
        inhabited = [
            (node, gpu)
            for node, gpus in enumerate(self._residents)
            for gpu, held in enumerate(gpus)
            if any(self._roles[name] != "other" for name, _ in held)
        ]
        nodes = len(self._nodes)
        odd: list[Oddity] = ["foreign"]
        if nodes >= _LARGE:
            more = 1 + nodes // 512
            odd = ["full"] * (2 * more + 2)
            odd += ["low"] * more
            odd += ["hot"] * max(1, more - 1)
            for _ in range(1 + more // 3):
                first = random.randrange(nodes - 1)
                self._at(begin + 48, partial(self._silence, (first, first + 1)))
        chosen = random.sample(inhabited, min(len(odd), len(inhabited)))
        for (node, gpu), kind in zip(chosen, odd, strict=False):
            self._at(
                begin + (54 if kind == "foreign" else random.uniform(25, 60)), partial(self._alter, node, gpu, kind)
            )

    def _alter(self, node: int, gpu: int, kind: Oddity, at: float) -> None:
        self._odd.setdefault(node, {})[gpu] = kind
        self._touched.add(node)

    def _silence(self, nodes: Sequence[int], at: float) -> None:
        self._stale.update(dict.fromkeys(nodes, at))

    def _at(self, time: float, event: Callable[[float], None]) -> None:
        heappush(self._events, (time, next(self._order), event))

    def _pause(self, mean: float) -> float:
        return max(0.1, mean * self._random.uniform(0.5, 1.5))

    def _rank_event(self, name: str, rank: int, state: State) -> Callable[[float], None]:
        return lambda at: self._become(at, name, rank, state)

    def _become(self, at: float, name: str, rank: int, state: State, reason: str | None = None) -> None:
        known = self._ranks[name][rank]
        changed = replace(known, state=state, reason=reason)
        if state == "starting":
            changed = replace(changed, pid=next(self._pids))
        elif state == "dead":
            changed = replace(changed, pid=None)
        elif state == "alive":
            changed = replace(changed, since=(self._start or 0.0) + at)
        elif state == "restarting":
            changed = replace(changed, reason=known.reason, restarts=known.restarts + 1, pid=next(self._pids))
        self._ranks[name][rank] = changed
        self._touched.add(self._places[name][rank][0])
        self._changed_components.add(name)

    def _kill(self, at: float, lasting: bool = False) -> None:
        names = [name for name, states in self._ranks.items() if states]
        if not names:
            return
        name = self._random.choice(names)
        rank = self._random.randrange(len(self._ranks[name]))
        if self._ranks[name][rank].state == "alive":
            self._become(at, name, rank, "dead", self._random.choice(_DEATHS))
            if not lasting:
                self._at(at + 4.0, self._rank_event(name, rank, "restarting"))
                self._at(at + 7.0, self._rank_event(name, rank, "alive"))

    def _kill_one(self, at: float) -> None:
        self._kill(at)
        self._at(at + self._pause(self.options.rank_dies_every or 1.0), self._kill_one)

    def _silence_one(self, at: float) -> None:
        node = self._random.randrange(len(self._nodes))
        if node not in self._stale:
            self._stale[node] = at
            self._at(at + self._random.uniform(6.0, 12.0), lambda _: self._wake(node))
        self._at(at + self._pause(self.options.node_stale_every or 1.0), self._silence_one)

    def _wake(self, node: int) -> None:
        del self._stale[node]
        self._nodes[node] = replace(self._nodes[node], age=0.0, stale=False, error=None)
        self._touched.add(node)

    # What is seen

    def _new_node(self, rank: int) -> NodeSample:
        node = self._layout.nodes[rank]
        total = round((node.memory_gib or 80) * GIB)
        used = min(_IDLE_MEMORY, total)
        devices = tuple(
            DeviceSample(
                index=index,
                uuid=f"GPU-{UUID(int=self._random.getrandbits(128))}",
                name="Simulated GPU",
                memory_used=used,
                memory_total=total,
                utilization=0,
                temperature=31,
                power=72,
            )
            for index in range(node.gpus)
        )
        return NodeSample(rank, node.name, node.ip, 0.0, False, None, devices, 1.0, 24 * GIB, _HOST_MEMORY)

    def _sample(self, node: NodeSample, wave: int, moment: Moment) -> NodeSample:
        odd = self._odd.get(node.rank, {})
        devices = tuple(
            self._sample_device(device, held, usage, odd.get(device.index), wave, moment)
            for device, held, usage in zip(
                node.devices, self._residents[node.rank], self._usage[node.rank], strict=True
            )
        )
        busy = sum(device.utilization or 0 for device in devices) / max(1, len(devices))
        return replace(
            node,
            devices=devices,
            cpu_percent=round(3 + busy / 4 + self._random.uniform(0, 4), 1),
            memory_used=24 * GIB + sum(len(held) for held in self._residents[node.rank]) * 6 * GIB,
        )

    def _sample_device(
        self,
        device: DeviceSample,
        held: list[tuple[str, int]],
        usage: float,
        odd: Oddity | None,
        wave: int,
        moment: Moment,
    ) -> DeviceSample:
        running = [state for name, rank in held if (state := self._ranks[name][rank]).pid is not None]
        if not running and not device.processes:
            return device
        total = device.memory_total or 0
        roles = tuple(self._roles[state.component] for state in running)
        processes = tuple(
            ProcessSample(
                pid=state.pid or 0,
                # A process that is not up yet has a context on the device and no more.
                memory=round(fraction * total / MIB) * MIB if state.state == "alive" else 450 * MIB,
                component=state.component,
                rank=state.rank,
                job=self._layout.job,
                since=state.since,
                actor=f"{self._layout.job}/{state.component}:{state.rank}",
                kind="rank",
            )
            for state, fraction in zip(running, self._fractions(roles, usage, odd, wave, moment), strict=True)
        )
        alive = [role for role, state in zip(roles, running, strict=True) if state.state == "alive"]
        busy = utilization(alive, moment, self._random)
        if self.options.story:
            busy = 2 if odd == "low" else busy + 18 * (moment.phase == "sync" and busy > 0)
        if odd == "foreign":
            processes += (replace(_FOREIGN, memory=min(_FOREIGN.memory or 0, int(_FOREIGN_PART * total))),)
        return DeviceSample(
            index=device.index,
            uuid=device.uuid,
            name=device.name,
            memory_used=min(total, _IDLE_MEMORY + sum(process.memory or 0 for process in processes)),
            memory_total=total,
            utilization=busy,
            temperature=91 + busy // 32 if odd == "hot" else 31 + round(busy * 0.38),
            power=72 + round(busy * 6.1 + 9 * self._random.random()),
            processes=processes,
        )

    def _fractions(
        self, roles: tuple[Role, ...], usage: float, odd: Oddity | None, wave: int, moment: Moment
    ) -> list[float]:
        """What each process of a device uses of its memory, 0–1, in all below 1."""
        levels = self._levels.get((wave, roles))
        if levels is None:
            factor = swing(moment) if self.options.story else 1.0
            levels = tuple(factor * level for level in memory_levels(roles, moment))
            self._levels[wave, roles] = levels
        random = self._random.random
        if odd == "low":
            usage *= 0.12
        fractions = [max(0.01, usage * (level + 0.02 * random() - 0.01)) for level in levels]
        total = sum(fractions)
        most = _FULL if odd == "full" else _LARGEST - _FOREIGN_PART * (odd == "foreign")
        if total <= most and odd != "full":
            return fractions
        return [fraction * most / total for fraction in fractions]
