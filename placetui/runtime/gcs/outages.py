"""Outages of the head: Ray's own client ends its process when they last, and processes may be left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from placetui.runtime.errors import Unreachable
from placetui.runtime.gcs.client import Head, dismiss, workers_of
from placetui.runtime.gcs.model import RayNode

T = TypeVar("T")

_LEFT: list[threading.Thread] = []


def abandoned() -> bool:
    """Whether something was left to itself and is still there: Ray is going to end this process."""
    return any(thread.is_alive() for thread in _LEFT)


def guarded(head: Head, function: Callable[[], T]) -> T:
    """Run a function in its own thread, as long as the head is there.

    Raises:
        Unreachable: it has not answered for as long as an outage may last; the function is left to itself.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(function())
        except BaseException as problem:
            outcome.set_exception(problem)

    thread = threading.Thread(target=run, name="ray", daemon=True)
    thread.start()
    answered = time.monotonic()
    while thread.is_alive():
        thread.join(head.policy.watch)
        if not thread.is_alive() or head.is_answering():
            answered = time.monotonic()
        elif time.monotonic() - answered > head.policy.outage:
            _LEFT.append(thread)
            raise Unreachable(
                f"the head of the cluster at {head.address} does not answer; waited {head.policy.outage:g} s"
            )
    return outcome.result()


class LostLeases:
    """Processes that the head asked for, and knows nothing of since it is back.

    A head that dies while the process of an actor is starting asks for another one when it is back. If the first one
    was not up by then, its raylet keeps it for the head that is gone: it does nothing, but holds the actor's bundle,
    and the second one waits forever.
    """

    def __init__(self, head: Head, job: str, nodes: Sequence[RayNode]) -> None:
        """Of the driver with this number, on these nodes, from now on."""
        self._head = head
        self._job = job
        self._nodes = nodes
        self._interruptions = head.interruptions
        self._suspects: set[str] = set()
        self._look_at = 0.0

    def release(self) -> None:
        """After an outage, end them; to be called now and then while actors are awaited that have run no code yet."""
        now = time.monotonic()
        if self._head.interruptions == self._interruptions or now < self._look_at:
            return
        self._look_at = now + self._head.policy.leased
        idle = {
            worker.id: worker
            for workers in workers_of(self._nodes, self._head.policy).values()
            for worker in workers
            if worker.unused and worker.job == self._job
        }
        # One that was just asked for has nothing to do either, but not for long.
        dismiss((idle[one] for one in self._suspects & set(idle)), self._head.policy)
        self._suspects = set(idle)
