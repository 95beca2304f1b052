"""Work with Ray under watch: Ray's own client ends the process when the head stays away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from placetui.runtime.errors import Unreachable
from placetui.runtime.gcs.client import Head

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
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as problem:
            problems.append(problem)

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
    if problems:
        raise problems[0]
    return results[0]
