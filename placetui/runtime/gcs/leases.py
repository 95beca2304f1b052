"""Processes that an outage of the head leaves behind."""

from __future__ import annotations

import time
from collections.abc import Sequence

from placetui.runtime.gcs.client import Head, dismiss, workers_of
from placetui.runtime.gcs.model import RayNode


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
