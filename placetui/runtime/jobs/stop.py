"""Ending a job, all of it: its actors, then its placement group, then its record."""

from __future__ import annotations

import time
from typing import Any

from placetui.placement.environment import NAMESPACE
from placetui.placement.wording import count
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayGroup
from placetui.runtime.jobs import records
from placetui.runtime.jobs.records import Record
from placetui.runtime.jobs.state import group_of, job_actors, names_of, no_such_job


def stop(head: Head, job: str, *, record: Record | None = None) -> dict[str, Any]:
    """End a job: its actors, restarting ones too, then its group, then its record.

    Args:
        head: Of the cluster. One that does not answer is waited for.
        job: Its name.
        record: Only if it still is this one.

    Raises:
        NotPossible: there is no such job.
        ClusterError: something of it is still there after all.
    """
    records.check_name(job)
    head.outlast_outages()
    current = records.find(head, job)
    if record is not None and current is not None and current.uid != record.uid:
        # Somebody else stopped it and has the name now.
        records.forget(head, record)
        return {"actors": 0, "groups": 0}
    if current is not None and current.uid:
        records.set_stopping(head, current)
    stopping = _Stopping(head, job, record or current)
    while not stopping.is_over():
        stopping.end_what_is_left()
        time.sleep(head.policy.poll)
    if record or current:
        records.forget(head, record or current)  # type: ignore[arg-type]
    else:
        records.forget_leftovers(head, job)
        if not stopping.killed and not stopping.removed:
            raise no_such_job(job)
    return {"actors": len(stopping.killed), "groups": len(stopping.removed)}


class _Stopping:
    """The end of a job under way."""

    def __init__(self, head: Head, job: str, record: Record | None) -> None:
        self._head = head
        self._job = job
        rows = job_actors(head, record) if record else ()
        self._ids = {actor.name: actor.id for actor in rows if actor.state != "DEAD"}
        self._names: list[str] = []
        self._group: RayGroup | None = None
        self.killed: dict[str, float] = {}
        """By name of an actor, when."""

        self.removed: set[str] = set()
        self._end = time.monotonic() + head.policy.stop
        """For the last one that was killed."""

        self._settle_by = time.monotonic() + head.policy.settle

    def is_over(self) -> bool:
        """Look whether anything is left."""
        self._names = names_of(self._head, self._job)
        self._group = group_of(self._head, self._job)
        return not self._names and self._group is None

    def end_what_is_left(self) -> None:
        """Kill and remove, and once more what is still there after a while."""
        policy = self._head.policy
        if time.monotonic() > self._end:
            left = f"{count(len(self._names), 'actor')} and {count(int(self._group is not None), 'placement group')}"
            raise ClusterError(f"{left} of `{self._job}` are still there after {policy.stop:g} s", hint="try again")
        for name in self._names:
            before = self.killed.get(name)
            if before is not None and time.monotonic() < before + policy.kill_again:
                continue
            # After a while it may be another actor that has the name.
            actor = self._ids.pop(name, "") or getattr(self._head.named_actor(name, NAMESPACE), "id", "")
            if actor:
                self._head.kill_actor(actor)
                self.killed[name] = time.monotonic()
                self._end = self._end if before else time.monotonic() + policy.stop
        if self._group and (self._group.settled or time.monotonic() > self._settle_by):
            self._head.remove_group(self._group.id)
            self.removed.add(self._group.id)
