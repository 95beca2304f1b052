"""`Samplers`: one small actor on each node reads its GPUs, for one who looks.

They ask nothing of Ray, are tied to their nodes, and end with the process that made them. Each has at most one call
under way, and nobody waits for one that does not answer. All of it happens in a thread of its own: Ray's own calls may
hang when the head of the cluster does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

from placetui import observe, placement, runtime, telemetry
from placetui.runtime import private
from placetui.runtime.connect import driver
from placetui.runtime.errors import ClusterError
from placetui.runtime.latest import Latest
from placetui.runtime.model import RayNode
from placetui.runtime.node_reader import ORPHANED, PlacetuiSampler, Reading
from placetui.runtime.private import Head

WAIT = 0.5
"""Seconds in which a sampler should answer."""

BATCH = 32
"""Samplers that are starting at the same time."""

STARTING = 5.0
"""Seconds for which one counts as starting."""

NODES_PER_SECOND = 256
"""Nodes that are asked in a second: a large cluster is read less often."""

DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before a sampler is made again, the last for all later times."""

SETTLED = 30.0
"""Seconds after which a sampler that dies counts as one that had worked."""

HUNG = 20.0
"""Seconds after which a sampler that does not answer is replaced."""

DRIVER_RETRY = 30.0
"""Seconds until it is tried again to become a driver."""


@dataclass(slots=True)
class Seat:
    """A node and its sampler."""

    node: RayNode
    actor: Any = None
    made_at: float = 0.0
    call: Any = None
    """What is under way."""

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
    """The samplers of one cluster. `poll` never waits longer than it is told to."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.here = ""
        """Id of the node that this process is a driver on; empty while it is none."""

        self.seats: Mapping[str, Seat] = {}
        """By node id. Read it where you like; it is changed by the thread only."""

        self._clock = clock
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
        self, head: Head | None, everybody: tuple[RayNode, ...], wanted: tuple[RayNode, ...], patience: float
    ) -> None:
        """Ask the samplers of the nodes that are wanted, making those that are missing.

        Args:
            head: Of the cluster, while it answers.
            everybody: All of its nodes: this process has to be on one of them.
            wanted: Nodes to read.
            patience: Seconds to wait for answers.
        """
        self._everybody, self._wanted = everybody, wanted
        if head is not None:
            self._head = head
        now = self._clock()
        if self._round.busy or now >= self._due:
            if not self._round.busy:
                self._due = now + self.period
            self._round.refresh(patience)

    def close(self) -> None:
        """End them all, in the background."""
        self._closed.set()
        self._round.refresh(0.0)

    # In the thread

    def _go_round(self) -> None:
        connection = self._connection
        if self._closed.is_set():
            if connection:
                self._leave(connection)
            return
        if connection is None:
            connection = self._connect()
            if connection is None:
                return
        self._reseat(connection.ray)
        self._make(connection.sampler)
        self._ask()
        self._listen(connection.ray)
        if self._closed.is_set():
            self._leave(connection)

    def _connect(self) -> _Connection | None:
        if self._head is None or self._clock() < self._retry_at:
            return None
        stack = ExitStack()
        try:
            ray = stack.enter_context(driver(self._head, self._everybody))
        except ClusterError as problem:
            self._retry_at = self._clock() + DRIVER_RETRY
            self._refusal = problem.message
            return None
        self._refusal = ""
        private.ship_by_value(observe, placement, runtime, telemetry)
        self.here = ray.get_runtime_context().get_node_id()
        self._connection = _Connection(ray, ray.remote(PlacetuiSampler), stack)
        return self._connection

    def _leave(self, connection: _Connection) -> None:
        for seat in self.seats.values():
            self._end(connection.ray, seat)
        self._connection = None
        connection.stack.close()

    def _reseat(self, ray: Any) -> None:
        """Nodes come and go."""
        wanted = {node.id: node for node in self._wanted}
        for name, seat in self.seats.items():
            if name not in wanted:
                self._end(ray, seat)
        self.seats = {name: self.seats.get(name) or Seat(node) for name, node in wanted.items()}

    def _make(self, sampler: Any) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        now = self._clock()
        # Those that take long are not waited for: their nodes may be the ones that hang.
        starting = sum(
            seat.actor is not None and seat.reading is None and now < seat.made_at + STARTING
            for seat in self.seats.values()
        )
        for name, seat in self.seats.items():
            if seat.actor is not None or now < seat.retry_at or starting >= BATCH:
                continue
            starting += 1
            seat.made_at = now
            strategy = NodeAffinitySchedulingStrategy(name, soft=False)
            options = {"num_cpus": 0, "num_gpus": 0, "max_restarts": 0, "scheduling_strategy": strategy}
            seat.actor = sampler.options(**options).remote(seat.node.gpus)

    def _ask(self) -> None:
        now = self._clock()
        for seat in self.seats.values():
            if seat.actor is not None and seat.call is None:
                known = seat.reading.number if seat.reading else 0
                seat.call, seat.asked_at = seat.actor.read.remote(known), now

    def _listen(self, ray: Any) -> None:
        """Take answers as they come."""
        by_call = {seat.call: seat for seat in self.seats.values() if seat.call is not None}
        deadline = self._clock() + WAIT
        while by_call and not self._closed.is_set():
            left = deadline - self._clock()
            if left <= 0:
                break
            ready, _ = ray.wait(list(by_call), num_returns=len(by_call), timeout=min(left, 0.1))
            for call in ready:
                self._answered(ray, by_call.pop(call), call)
        for seat in by_call.values():
            if self._clock() - seat.asked_at >= HUNG:
                self._lose(ray, seat, f"its sampler has not answered for {HUNG:.0f} s")

    def _answered(self, ray: Any, seat: Seat, call: Any) -> None:
        seat.call = None
        try:
            number, body = ray.get(call)
            if body is not None:
                seat.reading = Reading.of(number, body, seat.node.gpus)
        except Exception as problem:
            self._lose(ray, seat, _why(problem))
            return
        if number:
            seat.read_at = seat.asked_at
            seat.problem = ""
        if self._clock() - seat.made_at >= SETTLED:
            seat.failures = 0

    def _lose(self, ray: Any, seat: Seat, problem: str) -> None:
        self._end(ray, seat)
        seat.problem = problem
        seat.retry_at = self._clock() + DELAYS[min(seat.failures, len(DELAYS) - 1)]
        seat.failures += 1

    def _end(self, ray: Any, seat: Seat) -> None:
        actor, seat.actor, seat.call = seat.actor, None, None
        if seat.reading is not None:
            # The next sampler counts anew.
            seat.reading = replace(seat.reading, number=0)
        if actor is not None:
            with suppress(Exception):
                ray.kill(actor, no_restart=True)


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
