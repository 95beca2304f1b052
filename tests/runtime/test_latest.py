"""A value that is fetched in the background."""

from __future__ import annotations

import threading

from placetui.runtime.watch.latest import Latest


def test_the_last_value_stays_while_the_next_one_does_not_come() -> None:
    go, started = threading.Event(), threading.Semaphore(0)
    calls: list[int] = []

    def fetch() -> int:
        calls.append(1)
        started.release()
        if len(calls) > 1:
            assert go.wait(10)
        return len(calls)

    latest = Latest("test", fetch)
    latest.refresh(10)
    assert (latest.value, latest.busy) == (1, False)
    for _ in range(3):
        latest.refresh(0)
    assert started.acquire(timeout=10)
    assert started.acquire(timeout=10)
    assert (latest.value, latest.busy, len(calls)) == (1, True, 2)
    go.set()
    latest.refresh(10)
    assert latest.value == 2


def test_a_failure_is_kept_beside_the_value_until_it_is_over() -> None:
    problems: list[Exception] = [ValueError("no")]

    def fetch() -> str:
        if problems:
            raise problems.pop()
        return "fine"

    latest = Latest("test", fetch)
    latest.refresh(10)
    assert (str(latest.problem), latest.value, latest.at) == ("no", None, None)
    latest.refresh(10)
    assert (latest.problem, latest.value) == (None, "fine")
