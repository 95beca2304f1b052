"""How long the Ray side waits, how often it asks, and when it gives up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from placetui.bridge.work import Work
from placetui.runtime.errors import ClusterError, NotPossible, explain

T = TypeVar("T")

OUTAGE_VARIABLE = "RAY_gcs_rpc_server_reconnect_timeout_s"
"""How long Ray's own processes wait for a head that is gone; so do we."""


@dataclass(frozen=True, slots=True)
class Policy:
    """All timeouts, in seconds."""

    call: float = 5.0  # one call to the head
    raylet: float = 1.0  # one call to a raylet: one whose worker was stopped does not answer at all
    silent: float = 2.0  # after which a raylet that does not answer a plain question is silent
    connect: float = 3.0  # until a head must take a connection
    outage: float = 60.0  # how long calls are repeated while the head does not answer or is restarted
    poll: float = 0.2  # between two looks at something that is waited for
    narrate: float = 2.0  # between two reports of what is waited for
    watch: float = 1.0  # between two looks whether there is any point in waiting
    leased: float = 2.0  # in which a process that the head asked for is given its work
    freed: float = 3.0  # in which what somebody has just released becomes free
    settle: float = 5.0  # in which a placement group must be created before it is removed
    node_ranks: float = 60.0  # in which every node must say its rank
    launch: float = 300.0  # until every rank must be alive, unless asked otherwise
    stop: float = 15.0  # until a rank or a job that was killed must be gone
    kill_again: float = 1.0  # after which an actor that is still there is killed once more
    restart: float = 120.0  # until a rank must be back, its worker's constructor included, unless asked otherwise
    answer: float = 60.0  # until ranks must answer a call, unless asked otherwise
    read_log: float = 30.0  # for one look at a log file; the first one may have to start a process there
    person: float = 3600.0  # for a person to say yes or no

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Policy:
        """The defaults, with the outage that Ray's own processes are set to survive."""
        text = environment.get(OUTAGE_VARIABLE, "")
        return cls(outage=float(text)) if text.isdecimal() else cls()


DEFAULT = Policy.read(os.environ)


class Deadline:
    """The end of the time for work that may be interrupted."""

    def __init__(
        self,
        work: Work,
        seconds: float,
        watch: Callable[[], None] | None = None,
        hint: str = "wait longer with --timeout",
    ) -> None:
        """In so many seconds; `watch` looks once a second whether there is any point in waiting, and raises if not."""
        self._work = work
        self._watch = watch
        self._hint = hint
        self._watch_at = 0.0
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def check(self, waiting_for: Callable[[], str]) -> None:
        """Raise if it is to stop, or took too long."""
        self._work.check()
        if self._watch and time.monotonic() > self._watch_at:
            self._watch()
            self._watch_at = time.monotonic() + DEFAULT.watch
        if not self.left:
            raise NotPossible(f"not ready after {self._seconds:g} s: {waiting_for()}", hint=self._hint)

    def until(
        self,
        look: Callable[[], T | None],
        waiting_for: Callable[[], str],
        tell: Callable[[str], None] | None = None,
    ) -> T:
        """What `look` gives once it gives something; `tell` hears now and then what is waited for."""
        tell_at = time.monotonic() + DEFAULT.narrate
        while True:
            looked_at = time.monotonic()
            if (found := look()) is not None:
                return found
            self.check(waiting_for)
            if tell and time.monotonic() > tell_at:
                tell(waiting_for())
                tell_at = time.monotonic() + DEFAULT.narrate
            # One that waits by itself for what it looks at needs no pause.
            time.sleep(max(0.0, looked_at + DEFAULT.poll - time.monotonic()))

    def result(self, ray: Any, reference: Any, waiting_for: str, failure: str) -> Any:
        """One of Ray's results, as soon as it is there; `failure` begins the sentence if it is an exception."""
        for _ in self.gather(ray, {reference: None}, lambda _: waiting_for):
            break
        return result_of(ray, reference, failure)

    def gather(
        self,
        ray: Any,
        wanted: Mapping[Any, T],
        waiting_for: Callable[[list[T]], str],
        meanwhile: Callable[[], object] = bool,
    ) -> Iterator[tuple[T, Any]]:
        """Keys and references of Ray's results, each as soon as it is there; `wanted` goes the other way round.

        `meanwhile` is called again and again while there is something to wait for.
        """
        waiting = dict(wanted)
        while waiting:
            for reference in ready(ray, list(waiting), min(DEFAULT.poll, max(self.left, 0.01))):
                yield waiting.pop(reference), reference
            if waiting:
                self.check(lambda: waiting_for(list(waiting.values())))
                meanwhile()


def ready(ray: Any, references: list[Any], timeout: float) -> list[Any]:
    """Results that are there, as soon as one is; all of them, since each look at thousands costs."""
    done, _ = ray.wait(references, num_returns=1, timeout=timeout)
    if done:
        done, _ = ray.wait(references, num_returns=len(references), timeout=0)
    return list(done)


def result_of(ray: Any, reference: Any, failure: str) -> Any:
    """A result of Ray's that is there; `failure` begins the sentence if it is an exception."""
    try:
        return ray.get(reference)
    except Exception as problem:
        raise ClusterError(f"{failure}: {explain(problem)}") from problem
