"""Work with Ray under watch: Ray's own client waits a minute for a head that is gone, then ends the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from placetui.runtime.errors import ClusterLost
from placetui.runtime.private import Head

T = TypeVar("T")

FAILURES = 3
"""Times that the head may fail to answer in a row, a second apart."""


_LEFT: list[threading.Thread] = []


def abandoned() -> bool:
    """Whether something was left to itself and is still there: Ray is going to end this process."""
    return any(thread.is_alive() for thread in _LEFT)


def guarded(head: Head, function: Callable[[], T]) -> T:
    """Run a function in a thread of its own, as long as the head is there.

    Raises:
        ClusterLost: it is not; the function is left to itself.
    """
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, name="ray", daemon=True)
    thread.start()
    failures = 0
    while thread.is_alive():
        thread.join(1.0)
        try:
            if thread.is_alive():
                head.versions()
            failures = 0
        except ClusterLost:
            failures += 1
            if failures >= FAILURES:
                _LEFT.append(thread)
                raise
    if problems:
        raise problems[0]
    return results[0]
