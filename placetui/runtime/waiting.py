"""Waiting with a deadline, and with an ear for those who want it to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from placetui.bridge.work import Work
from placetui.runtime.errors import Refused, Silent

T = TypeVar("T")

SLICE = 0.2
"""Seconds between looks whether to stop."""

TELL_EVERY = 2.0
"""Seconds between words about what is waited for."""


HINT = "give it longer with --timeout"

WATCH_EVERY = 1.0
"""Seconds between looks whether there is any point in waiting."""


class Patience:
    """A deadline for work that may be interrupted.

    A head that is busy may answer late: that is waited for. Whether one is gone is noticed by who guards the work.
    """

    def __init__(self, work: Work, seconds: float, watch: Callable[[], None] | None = None, hint: str = HINT) -> None:
        """For so many seconds.

        Args:
            work: That is done.
            seconds: Until the deadline.
            watch: Looks once a second whether there is any point in waiting, and raises if not.
            hint: What to do when they are over.
        """
        self._work = work
        self._watch = watch
        self._hint = hint
        self._watch_at = 0.0
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def check(self, waiting_for: Callable[[], str]) -> None:
        """Raise if it is to stop, or took too long."""
        self._work.check()
        if self._watch and time.monotonic() > self._watch_at:
            self._watch_at = time.monotonic() + WATCH_EVERY
            with suppress(Silent):
                self._watch()
        if not self.left:
            raise Refused(f"not ready after {self._seconds:g} s: {waiting_for()}", hint=self._hint)

    def until(
        self,
        look: Callable[[], T | None],
        waiting_for: Callable[[], str],
        tell: Callable[[str], None] | None = None,
    ) -> T:
        """What `look` gives once it gives something; `tell` hears now and then what is waited for."""
        pause = 0.005
        tell_at = time.monotonic() + TELL_EVERY
        while True:
            with suppress(Silent):
                if (found := look()) is not None:
                    return found
            self.check(waiting_for)
            if tell and time.monotonic() > tell_at:
                tell(waiting_for())
                tell_at = time.monotonic() + TELL_EVERY
            time.sleep(pause)
            pause = min(SLICE, pause * 1.5)

    def gather(
        self, ray: Any, wanted: Mapping[Any, T], waiting_for: Callable[[list[T]], str]
    ) -> Iterator[tuple[T, Any]]:
        """Keys and references of Ray's results, each as soon as it is there; `wanted` goes the other way round."""
        waiting = dict(wanted)
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1, timeout=min(SLICE, max(self.left, 0.01)))
            if done:
                # All that there are: of thousands of results, each look at all of them costs.
                done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=0)
            for reference in done:
                yield waiting.pop(reference), reference
            if waiting:
                self.check(lambda: waiting_for(list(waiting.values())))
