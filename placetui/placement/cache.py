"""Parts of plans that the next plan may use again; each planner owns one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar, cast

T = TypeVar("T")

KEPT_PLANS = 4
"""What one of the last plans used is kept: enough to edit one rule after another, to undo, and to compare."""


class PlanCache:
    """By everything that leads to a part. Bounded by what the last few plans used, and thread-safe."""

    def __init__(self) -> None:
        self._now = 0
        self._kept: dict[Hashable, tuple[int, Any]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def start_plan(self) -> None:
        """Another plan begins: forget what only older ones used."""
        with self._lock:
            self._now += 1
            oldest = self._now - KEPT_PLANS
            self._kept = {key: entry for key, entry in self._kept.items() if entry[0] >= oldest}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The part under `key`, made if it is not there. Two threads may make the same one; either will do."""
        with self._lock:
            entry = self._kept.get(key)
        value = entry[1] if entry is not None else make()
        with self._lock:
            self._kept[key] = (self._now, value)
        return cast(T, value)
