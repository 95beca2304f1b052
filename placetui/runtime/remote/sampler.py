"""The sampler: an actor on a node that reads its GPUs, shared by everybody who watches the cluster.

Each reading renews the lease of the viewer that asked. When the last viewer has left, or the leases of those that were
killed have run out, the sampler ends itself.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from placetui.runtime.remote.internals import own_nvml_binding, visible_gpus

FIRST_LEASE = 30.0  # seconds until the first viewer must have asked
SHARED = 0.3  # seconds for which one reading serves all viewers
ORPHANED = "its raylet has ended"
"""What a sampler says when it is no longer part of a cluster."""

FIRST_READING = 3.0  # seconds for one that is not repeated
_PARTING = 1.0  # seconds in which it is still heard

Answer: TypeAlias = "tuple[int, Mapping[str, Any] | None]"
"""The number of a state, and the state itself for a viewer that does not have it."""


class NodeStateReader(Protocol):
    """Reads the node. It comes with the actor, as an argument, so that this module needs nothing else."""

    def read(self) -> Mapping[str, Any] | None:
        """The state of the node, the same object while nothing changed; None if nothing is known yet."""


MakeReader: TypeAlias = "Callable[[Sequence[str] | None, Callable[[], Any]], NodeStateReader]"
"""Takes Ray's list of GPUs, and a copy of NVML's binding for nodes without one."""


def read_once(make_reader: MakeReader) -> Mapping[str, Any] | None:
    """In a task: how the node is now; None if that cannot be read in time."""
    reader = make_reader(visible_gpus(), own_nvml_binding)
    end = time.monotonic() + FIRST_READING
    while True:
        state = reader.read()
        if state is not None or time.monotonic() > end:
            return state
        time.sleep(0.05)


class PlacetuiSampler:
    """Answers viewers until none is left."""

    def __init__(self, make_reader: MakeReader) -> None:
        self._reader = make_reader(visible_gpus(), own_nvml_binding)
        self._raylet = _raylet()
        self._lock = threading.Lock()
        self._leases = {"": time.monotonic() + FIRST_LEASE}
        """By viewer, until when it holds the sampler."""

        self._number = 0
        self._state: Mapping[str, Any] | None = None
        self._read_at: float | None = None
        threading.Thread(target=self._end_when_alone, name="leases", daemon=True).start()

    def read(self, viewer: str, known: int, lease: float) -> Answer:
        """How the node is, after a moment at most.

        Args:
            viewer: Who asks.
            known: Number of the state that it has.
            lease: Seconds for which the sampler stays without hearing from it again.
        """
        if self._raylet is not None and os.getppid() != self._raylet:
            # Ray itself may take its time to notice.
            threading.Timer(_PARTING, os._exit, (1,)).start()
            raise RuntimeError(ORPHANED)
        with self._lock:
            self._leases.pop("", None)
            self._leases[viewer] = time.monotonic() + lease
        if self._read_at is None or time.monotonic() - self._read_at >= SHARED:
            state = self._reader.read()
            self._read_at = time.monotonic() if state is not None else None
            if state is not self._state:
                self._state = state
                self._number += 1
        if self._state is None:
            return 0, None
        return self._number, None if known == self._number else self._state

    def leave(self, viewer: str) -> None:
        """End the lease of a viewer, and with the last one the sampler."""
        with self._lock:
            self._leases.pop(viewer, None)
            alone = not self._leases
        if alone:
            from ray import actor

            # A thread that hangs in the driver must not keep the process.
            threading.Timer(_PARTING, os._exit, (0,)).start()
            end: Any = actor.exit_actor
            end()

    def _end_when_alone(self) -> None:
        while True:
            time.sleep(1.0)
            now = time.monotonic()
            with self._lock:
                self._leases = {viewer: until for viewer, until in self._leases.items() if until > now}
                if not self._leases:
                    os._exit(0)


def _raylet() -> int | None:
    """The raylet that started this process; None if it was somebody else."""
    parent = os.getppid()
    try:
        with open(f"/proc/{parent}/comm", encoding="ascii") as file:
            return parent if file.read().strip() == "raylet" else None
    except OSError:
        return None
