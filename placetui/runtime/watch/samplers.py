"""`Samplers`: the samplers of a cluster, as one of its viewers uses them.

A sampler is a named, detached actor that asks nothing of Ray and is tied to its node: the first viewer makes it, the
others find it by its name, and it ends with its last viewer (see `remote.sampler`). A worker that runs keeps its node
from being scaled down, also one that asks for nothing, so nodes on which nothing else runs have none.

Each sampler has at most one call of ours under way, and nobody waits for one that does not answer. All of it happens in
its own thread: Ray's own calls may hang when the head of the cluster does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

from placetui import masking, observe, telemetry
from placetui.frameworks.cluster_facts import NODE_RANK
from placetui.observe.attribution import NodeFacts, ProcessFact
from placetui.observe.codec import decode
from placetui.observe.model import NodeSample
from placetui.runtime import remote
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver, ship_by_value, tied_to
from placetui.runtime.gcs.model import SAMPLER_NAMESPACE, RayNode, Tables
from placetui.runtime.remote.sampler import ORPHANED, PlacetuiSampler
from placetui.runtime.watch.latest import Latest
from placetui.telemetry.node import NodeReader

SHIPPED = (masking, observe, telemetry, remote)
"""All that a sampler needs of placetui: nodes need not have it."""

_NAME = "2:{node}"
"""Name of a sampler. The number is that of what it answers: viewers of another version have their own."""

LEASE = 10.0  # seconds for which a sampler stays without hearing from a viewer, at least
LONGEST_LEASE = 60.0
LINGER = 5.0  # seconds for which a node counts as in use after the last thing on it ended
WAIT = 0.5  # seconds in which a sampler should answer
BATCH = 32  # samplers that are starting at the same time
STARTING = 5.0  # seconds for which one counts as starting
NODES_PER_SECOND = 256  # nodes that are asked in a second: a large cluster is read less often
DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)  # seconds before a sampler is made again, the last for all later times
SETTLED = 30.0  # seconds after which a sampler that dies counts as one that had worked
HUNG = 20.0  # seconds after which a sampler that does not answer is replaced
DRIVER_RETRY = 30.0  # seconds until it is tried again to become a driver


@dataclass(frozen=True, slots=True)
class GpuOrder:
    """Which GPU of a node is meant by a word of CUDA_VISIBLE_DEVICES: its place in Ray's own count."""

    gpus: int
    by_word: Mapping[str, int] = field(default_factory=dict)
    """Where Ray was started with such a list: its words, and the UUIDs of what they mean."""

    read_ids: tuple[int, ...] = ()
    """Physical ids in Ray's count, where NVML could be read."""

    @property
    def gpu_ids(self) -> tuple[int, ...]:
        """Physical ids in Ray's count; empty where they are 0, 1, 2 …, or not known."""
        found = {place: int(word) for word, place in self.by_word.items() if word.isdecimal()}
        listed = tuple(found[place] for place in range(self.gpus)) if len(found) >= self.gpus > 0 else ()
        ids = self.read_ids or listed
        return ids if ids != tuple(range(self.gpus)) else ()

    def meant(self, words: str) -> tuple[int, ...]:
        """The places that a list names; what it names elsewhere is left out."""
        found = []
        for word in (part.strip() for part in words.split(",")):
            place = self.by_word.get(word)
            if place is None and not self.by_word and word.isdecimal() and int(word) < self.gpus:
                place = int(word)
            if place is not None and place not in found:
                found.append(place)
        return tuple(found)

    def physical(self, place: int) -> str:
        """The physical id of the GPU at a place of Ray's count."""
        return next((word for word, one in self.by_word.items() if one == place and word.isdecimal()), str(place))


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer of a sampler."""

    number: int
    node: NodeSample
    facts: NodeFacts
    slots: GpuOrder
    rank: str | None = None
    """RLINF_NODE_RANK in the node's environment."""

    @classmethod
    def of(cls, number: int, body: Mapping[str, Any], gpus: int) -> Reading:
        """Read a message of `telemetry.node.NodeReader`; a ValueError if it is something else."""
        (node,) = decode(body["seen"]).nodes
        facts = [ProcessFact(*row) for row in body["processes"]]
        return cls(
            number,
            node,
            NodeFacts({fact.pid: fact for fact in facts}, bool(body["complete"])),
            GpuOrder(gpus, body["places"], tuple(one.gpu_id for one in node.devices if one.index < gpus)),
            body["rank"],
        )


@dataclass(slots=True)
class SampledNode:
    """A node and its sampler."""

    node: RayNode
    actor: Any = None
    made_at: float = 0.0
    call: Any = None
    asked_at: float = 0.0
    reading: Reading | None = None
    read_at: float | None = None
    """When that was asked for."""

    failures: int = 0
    retry_at: float = 0.0
    problem: str = ""
    """Why there is no sampler, or was none until the next one answers."""


@dataclass(slots=True)
class _Connection:
    ray: Any
    sampler: Any
    """The class, as Ray ships it: once for all nodes."""

    stack: ExitStack


class Samplers:
    """The samplers of one cluster. `poll` never waits longer than its patience."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.here = ""
        """Id of the node that this process is a driver on; empty while it is none."""

        self.joining = False
        """Whether it is about to become one: with a head that goes away meanwhile, that may take forever."""

        self.nodes: Mapping[str, SampledNode] = {}
        """By node id. Read it where you like; it is changed by the thread only."""

        self.identities: dict[str, tuple[str | None, GpuOrder]] = {}
        """By node id, rank and GPUs as the sampler told them: they stay true while the node is not sampled."""

        self._clock = clock
        self._viewer = uuid4().hex
        self._lease = LEASE
        self._head: Head | None = None
        self._everybody: tuple[RayNode, ...] = ()
        self._wanted: tuple[RayNode, ...] = ()
        self._connection: _Connection | None = None
        self._refusal = ""
        self._retry_at = 0.0
        self._closed = threading.Event()
        self._round: Latest[None] = Latest("samplers", self._go_round, clock)
        self._due = 0.0

    @property
    def problem(self) -> str:
        """Why there can be none at all; empty if there can."""
        failure = self._round.problem
        return self._refusal or ("" if failure is None else f"{type(failure).__name__}: {failure}".splitlines()[0])

    @property
    def period(self) -> float:
        """Seconds between two rounds, if they are asked for more often."""
        return len(self._wanted) / NODES_PER_SECOND

    def poll(
        self,
        head: Head | None,
        everybody: tuple[RayNode, ...],
        wanted: tuple[RayNode, ...],
        patience: float,
        interval: float = 1.0,
    ) -> None:
        """Ask the samplers of the nodes that are wanted, making those that are missing. Of `everybody`, all nodes of
        the cluster, this process has to be on one. Waits `patience` seconds for answers; the next poll is in `interval`
        seconds.
        """
        self._everybody, self._wanted = everybody, wanted
        self._lease = min(LONGEST_LEASE, LEASE + 2 * max(interval, self.period))
        if head is not None:
            self._head = head
        now = self._clock()
        if self._round.busy or now >= self._due:
            if not self._round.busy:
                self._due = now + self.period
            self._round.refresh(patience)

    def close(self) -> None:
        """Leave them all, in the background."""
        self._closed.set()
        self._round.refresh(0.0)

    # In the thread

    def _go_round(self) -> None:
        connection = self._connection
        if self._closed.is_set():
            if connection:
                self._disconnect(connection)
            return
        if connection is None:
            connection = self._connect()
            if connection is None:
                return
        self._follow_nodes()
        self._make(connection.sampler)
        self._ask()
        self._listen(connection.ray)
        if self._closed.is_set():
            self._disconnect(connection)

    def _connect(self) -> _Connection | None:
        if self._head is None or not self._wanted or self._clock() < self._retry_at:
            return None
        stack = ExitStack()
        self.joining = True
        try:
            ray = stack.enter_context(driver(self._head, self._everybody))
        except ClusterError as problem:
            self._retry_at = self._clock() + DRIVER_RETRY
            self._refusal = problem.message
            return None
        finally:
            self.joining = False
        self._refusal = ""
        ship_by_value(*SHIPPED)
        self.here = ray.get_runtime_context().get_node_id()
        self._connection = _Connection(ray, ray.remote(PlacetuiSampler), stack)
        return self._connection

    def _disconnect(self, connection: _Connection) -> None:
        calls = [call for one in self.nodes.values() if (call := self._leave(one)) is not None]
        if calls:
            # So that they arrive; a sampler that does not hear it ends with the lease.
            with suppress(Exception):
                connection.ray.wait(calls, num_returns=len(calls), timeout=1.0)
        self._connection = None
        connection.stack.close()

    def _follow_nodes(self) -> None:
        """Nodes come and go, and so does what runs on them."""
        wanted = {node.id: node for node in self._wanted}
        for name, one in self.nodes.items():
            if name not in wanted:
                self._leave(one)
        self.nodes = {name: self.nodes.get(name) or SampledNode(node) for name, node in wanted.items()}
        alive = {node.id for node in self._everybody}
        self.identities = {name: known for name, known in self.identities.items() if name in alive}

    def _make(self, sampler: Any) -> None:
        now = self._clock()
        # Those that take long are not waited for: their nodes may be the ones that hang.
        starting = sum(
            one.actor is not None and one.reading is None and now < one.made_at + STARTING
            for one in self.nodes.values()
        )
        for name, one in self.nodes.items():
            if one.actor is not None or now < one.retry_at or starting >= BATCH:
                continue
            starting += 1
            one.made_at = now
            options = {
                "name": _NAME.format(node=name),
                "namespace": SAMPLER_NAMESPACE,
                "get_if_exists": True,
                "lifetime": "detached",
                "num_cpus": 0,
                "num_gpus": 0,
                "max_restarts": 0,
                **tied_to(name),
            }
            one.actor = sampler.options(**options).remote(partial(NodeReader, one.node.gpus, NODE_RANK))

    def _ask(self) -> None:
        now = self._clock()
        for one in self.nodes.values():
            if one.actor is not None and one.call is None:
                known = one.reading.number if one.reading else 0
                one.call, one.asked_at = one.actor.read.remote(self._viewer, known, self._lease), now

    def _listen(self, ray: Any) -> None:
        by_call = {one.call: one for one in self.nodes.values() if one.call is not None}
        deadline = self._clock() + WAIT
        while by_call and not self._closed.is_set():
            left = deadline - self._clock()
            if left <= 0:
                break
            ready, _ = ray.wait(list(by_call), num_returns=len(by_call), timeout=min(left, 0.1))
            for call in ready:
                self._answered(ray, by_call.pop(call), call)
        for one in by_call.values():
            if self._clock() - one.asked_at >= HUNG:
                self._lose(ray, one, f"its sampler has not answered for {HUNG:.0f} s")

    def _answered(self, ray: Any, one: SampledNode, call: Any) -> None:
        one.call = None
        try:
            number, body = ray.get(call)
            if body is not None:
                one.reading = Reading.of(number, body, one.node.gpus)
                self.identities[one.node.id] = one.reading.rank, one.reading.slots
        except Exception as problem:
            self._lose(ray, one, _why(problem))
            return
        if number:
            one.read_at = one.asked_at
            one.problem = ""
        if self._clock() - one.made_at >= SETTLED:
            one.failures = 0

    def _lose(self, ray: Any, one: SampledNode, problem: str) -> None:
        """End a sampler that is of no use to anybody."""
        actor = one.actor
        self._forget(one)
        with suppress(Exception):
            ray.kill(actor, no_restart=True)
        # The first one may be another viewer's, found as it ended: the next one says whether there is a problem.
        one.problem = problem if one.failures or one.reading else ""
        one.retry_at = self._clock() + DELAYS[min(one.failures, len(DELAYS) - 1)]
        one.failures += 1

    def _leave(self, one: SampledNode) -> Any:
        """Tell a sampler that this viewer needs it no more; the call that does."""
        actor = one.actor
        self._forget(one)
        with suppress(Exception):
            return None if actor is None else actor.leave.remote(self._viewer)

    def _forget(self, one: SampledNode) -> None:
        one.actor = one.call = None
        if one.reading is not None:
            # The next sampler starts counting again.
            one.reading = replace(one.reading, number=0)


class UsedNodes:
    """Knows which nodes are in use by anything but samplers, and a moment longer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used_at: dict[str, float] = {}

    def update(self, tables: Tables) -> frozenset[str]:
        """Ids of nodes on which something runs or is reserved; the head's, which is never scaled down."""
        now = self._clock()
        busy = {actor.node for actor in tables.actors if actor.state != "DEAD" and actor.namespace != SAMPLER_NAMESPACE}
        for node in tables.nodes:
            if (
                node.head
                or node.id in busy
                or any(tables.free(node.id, name) < node.units(name) for name in node.resources)
            ):
                self._used_at[node.id] = now
        self._used_at = {node.id: self._used_at[node.id] for node in tables.nodes if node.id in self._used_at}
        return frozenset(name for name, at in self._used_at.items() if now - at < LINGER)


def _why(problem: Exception) -> str:
    """A sentence about a sampler that died; Ray's own words are a page long."""
    name = type(problem).__name__
    if ORPHANED in str(problem):
        return ORPHANED
    if name in ("ActorDiedError", "ActorUnavailableError", "RayActorError"):
        return "its sampler died"
    if name == "ActorUnschedulableError":
        return "no sampler can be started there"
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return f"its sampler failed: {name}: {lines[-1] if lines else ''}"[:200]
