"""`Latest`: a value that is fetched in the background, whenever somebody asks for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """The last fetched value. Callers choose how long they wait, and only one fetch runs at a time.

    Used by one thread; `fetch` runs in another.
    """

    def __init__(self, name: str, fetch: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self.value: T | None = None
        self.problem: Exception | None = None
        """Why the last fetch came to nothing."""

        self.at: float | None = None
        """When the fetch that got the value began."""

        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._done = threading.Condition()
        self._since: float | None = None

    @property
    def busy(self) -> bool:
        return self._since is not None

    def age(self) -> float:
        """Seconds since the value was true."""
        return 0.0 if self.at is None else self._clock() - self.at

    def refresh(self, deadline: float) -> None:
        """Begin to fetch unless that is under way, and wait this many seconds for it."""
        with self._done:
            if self._since is None:
                self._since = self._clock()
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
            self._done.wait_for(lambda: self._since is None, max(0.0, deadline))

    def _run(self) -> None:
        value, problem = None, None
        try:
            value = self._fetch()
        except Exception as failure:
            problem = failure
        with self._done:
            self.problem = problem
            if problem is None:
                self.value, self.at = value, self._since
            self._since = None
            self._done.notify_all()
