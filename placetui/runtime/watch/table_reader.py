"""Reading the head's tables again and again: few calls, each with a deadline, and back by itself after a failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from contextlib import suppress

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.observe.operations import AUTO
from placetui.placement.environment import NAMESPACE, worker_name
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayActor, Tables
from placetui.runtime.jobs import records
from placetui.runtime.jobs.records import READY, STOPPING, Record
from placetui.runtime.jobs.state import dead_actors
from placetui.runtime.scheduling.pending import find_waiting
from placetui.runtime.watch.recognition import with_user
from placetui.runtime.watch.view import Seen

RETRY = 2.0
"""Seconds between attempts to find a head."""

RECORD_PERIOD = 5.0
"""Seconds between readings of the record of a job that is complete, and of the drivers, while no rank is missing."""


class TableReader:
    """Finds a cluster, stays connected to it, and reads it. Used by one thread at a time."""

    def __init__(
        self,
        asked: str,
        job: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        components: Set[str] = frozenset(),
    ) -> None:
        """Read the cluster at an address, and the job of ours that is followed. If that has other `components`, it is
        not the one that is meant; none: it was asked for by its name.
        """
        self.head: Head | None = None
        self.session = ""
        """Ray's name for the life of the cluster that is read: another one after it was restarted."""

        self.cost = 0.0
        """CPU seconds of the last reading."""

        self._asked = asked
        self._job = job
        self._components = components
        self._clock = clock
        self._address = ""
        """Of the cluster that was read last."""

        self._failure: ClusterError | None = None
        self._retry_at = 0.0
        self._record: Record | None = None
        self._record_at = 0.0
        self._jobs: tuple[Set[str], float, tuple[RayJobSeen, ...]] | None = None
        """Ray jobs of living actors when the drivers were read, when to read them again, and those."""

        self._dead: dict[str, RayActor | None] = {}
        """By name, ranks of the job that are missing."""

        self.recognised: Set[str] = frozenset()
        """Ray jobs whose dead actors are wanted, too; set by the one who recognises them."""

        self._dead_of: dict[str, tuple[Set[str], tuple[RayActor, ...]]] = {}
        """By Ray job, its actors that lived when its dead ones were read, and those."""

    def read(self) -> Seen:
        """The cluster as it is now; a ClusterError if there is none, or it does not answer."""
        head = self.head or self._connect()
        before = time.thread_time()
        try:
            nodes, actors, groups, available = head.nodes(), head.living_actors(), head.groups(), head.available()
            names = {actor.name for actor in actors if actor.namespace == NAMESPACE}
            record = self._read_record(head, names)
            dead = self._dead_ranks(head, record, names)
            jobs = self._read_jobs(head, actors)
            dead += self._dead_of_recognised(head, actors)
            tables = Tables(nodes, (*actors, *dead), groups, available)
            _, waiting = find_waiting(head, tables, jobs)
        except ClusterError:
            self.close()
            raise
        self.cost = time.thread_time() - before
        return Seen(tables, record, time.time(), tuple(waiting), jobs, self._dead_of.keys())

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
            self.session = head.session()
        except ClusterError as problem:
            if head:
                head.close()
            self._failure, self._retry_at = problem, self._clock() + RETRY
            raise
        self._failure = None
        self._address = head.address
        self._record, self._jobs, self._dead, self._dead_of = None, None, {}, {}
        self.head = head
        return head

    def _find(self) -> Head:
        if not self._address:
            return open_head(resolve_address(self._asked))
        try:
            return open_head(self._address)
        except ClusterError:
            # It may have been restarted, at another port.
            with suppress(ClusterError):
                other = resolve_address(self._asked)
                if self._asked == AUTO and other != self._address:
                    return open_head(other)
            raise

    def _read_jobs(self, head: Head, actors: tuple[RayActor, ...]) -> tuple[RayJobSeen, ...]:
        """Drivers: read when one comes that has actors, when all actors of one are gone, and now and then."""
        living, now = {actor.job for actor in actors}, self._clock()
        if self._jobs is None or living != self._jobs[0] or now >= self._jobs[1]:
            self._jobs = living, now + RECORD_PERIOD, tuple(map(with_user, head.jobs()))
        return self._jobs[2]

    def _read_record(self, head: Head, names: Set[str]) -> Record | None:
        """The record of the job that is followed; None if there is none, or somebody is ending it."""
        if not self._job:
            return None
        known, now = self._record, self._clock()
        if known is None or known.state != READY or now >= self._record_at or not _ranks(known) <= names:
            self._record_at = now + RECORD_PERIOD
            found = records.find(head, self._job)
            if found is not None and (found.state == STOPPING or not self._is_meant(found)):
                found = None
            if found is None or known is None or found.uid != known.uid:
                self._dead = {}
            if found != known:
                self._record = found
        return self._record

    def _is_meant(self, record: Record) -> bool:
        """Whether it is the job of the open file, which may have been edited since; another may have its name."""
        wanted, has = self._components, record.groups.keys()
        return not wanted or wanted <= has or has <= wanted

    def _dead_ranks(self, head: Head, record: Record | None, names: Set[str]) -> list[RayActor]:
        """Rows of ranks that live no more, which tell why: read once, when one is missed."""
        if record is None or record.state != READY:
            return []
        missing = _ranks(record) - names
        self._dead = {name: row for name, row in self._dead.items() if name in missing}
        if missing - self._dead.keys():
            rows = sorted(dead_actors(head, record), key=lambda row: row.started)
            # One that the head has forgotten is not asked for again.
            self._dead = {**dict.fromkeys(missing), **{row.name: row for row in rows if row.name in missing}}
        return [row for row in self._dead.values() if row is not None]

    def _dead_of_recognised(self, head: Head, actors: tuple[RayActor, ...]) -> list[RayActor]:
        """Rows of actors that died in jobs that are watched: read when one of them is missed."""
        known, self._dead_of = self._dead_of, {}
        for job in self.recognised:
            living = {actor.id for actor in actors if actor.job == job}
            before = known.get(job)
            if before is None or before[0] - living:
                before = living, head.actors(job=job, state="DEAD")
            self._dead_of[job] = living, before[1]
        return [row for _, rows in self._dead_of.values() for row in rows]


def _ranks(record: Record) -> Set[str]:
    """Names of the actors that a job has."""
    return {worker_name(name, rank, record.job) for name, size in record.groups.items() for rank in range(size)}
