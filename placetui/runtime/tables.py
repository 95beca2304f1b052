"""Reading the head's tables again and again: few calls, each with a deadline, and back by itself after a failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from placetui.observe.operations import AUTO
from placetui.runtime import records
from placetui.runtime.connect import open_head, resolve_address
from placetui.runtime.errors import ClusterError
from placetui.runtime.model import RayActor, Tables
from placetui.runtime.private import Head
from placetui.runtime.records import READY, Record
from placetui.runtime.view import Seen

RETRY = 2.0
"""Seconds between attempts to find a head."""

RECORD_PERIOD = 5.0
"""Seconds between readings of the record of a job that is complete: it is large and seldom changes."""

MOST_LOOKUPS = 8
"""Dead actors that are looked up at one time."""


class TableReader:
    """Finds a cluster, stays connected to it, and reads it. Used by one thread at a time."""

    def __init__(self, asked: str, job: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.head: Head | None = None
        """While there is one."""

        self.session = ""
        """Ray's name for the life of the cluster that is read: another one after it was started anew."""

        self.cost = 0.0
        """CPU seconds of the last reading."""

        self._asked = asked
        self._job = job
        self._clock = clock
        self._address = ""
        """Of the cluster that was read last."""

        self._failure: ClusterError | None = None
        self._retry_at = 0.0
        self._record: Record | None = None
        self._record_at = 0.0
        self._dead: dict[str, RayActor | None] = {}

    def read(self) -> Seen:
        """The cluster as it is now.

        Raises:
            ClusterError: there is none, or it does not answer.
        """
        head = self.head or self._connect()
        before = time.thread_time()
        try:
            nodes, actors, groups = head.nodes(), head.living_actors(), head.groups()
            record = self._read_record(head)
            dead = self._dead_ranks(head, record, actors)
        except ClusterError:
            self.close()
            raise
        self.cost = time.thread_time() - before
        return Seen(Tables(nodes, (*actors, *dead), groups), record, time.time())

    def close(self) -> None:
        head, self.head = self.head, None
        if head:
            head.close()

    def _connect(self) -> Head:
        if self._failure is not None and self._clock() < self._retry_at:
            raise self._failure
        head = None
        try:
            head = self._find()
            self.session = (head.get(b"session", b"session_name") or b"").decode("utf-8", "replace")
        except ClusterError as problem:
            if head:
                head.close()
            self._failure, self._retry_at = problem, self._clock() + RETRY
            raise
        self._failure = None
        self._address = head.address
        self._record, self._dead = None, {}
        self.head = head
        return head

    def _find(self) -> Head:
        if not self._address:
            return open_head(resolve_address(self._asked))
        try:
            return open_head(self._address)
        except ClusterError:
            # It may have been started anew, at another port.
            with suppress(ClusterError):
                other = resolve_address(self._asked)
                if self._asked == AUTO and other != self._address:
                    return open_head(other)
            raise

    def _read_record(self, head: Head) -> Record | None:
        if not self._job:
            return None
        known, now = self._record, self._clock()
        if known is None or known.state != READY or now >= self._record_at:
            self._record_at = now + RECORD_PERIOD
            found = records.find(head, self._job)
            if found is None or known is None or found.uid != known.uid:
                self._dead = {}
            if found != known:
                self._record = found
        return self._record

    def _dead_ranks(self, head: Head, record: Record | None, living: tuple[RayActor, ...]) -> list[RayActor]:
        """Rows of ranks that live no more: they tell why."""
        if record is None:
            return []
        alive = {actor.id for actor in living}
        ids = [str(one.get("actor_id", "")) for one in record.ranks]
        missing = [one for one in ids if one and one not in alive]
        found = {one: self._dead[one] for one in missing if one in self._dead}
        for one in [one for one in missing if one not in found][:MOST_LOOKUPS]:
            found[one] = head.actor(one)
        # Only death is for ever: others were on their way from one state to the next.
        self._dead = {one: actor for one, actor in found.items() if actor is None or actor.state == "DEAD"}
        return [actor for actor in found.values() if actor is not None]
