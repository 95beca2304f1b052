"""What is stored about a job in the cluster, and how it is found again.

The record of a job is small and holds its name. What only few ask for lies beside it, under the job's own id: the plan,
and the ranks that were restarted, each under its own key.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from placetui.observe.operations import JOB_NAME
from placetui.placement.environment import NAMESPACE
from placetui.placement.wording import age
from placetui.runtime.errors import ClusterError, NotPossible
from placetui.runtime.remote.rank_actor import SPEC_NAMESPACE

if TYPE_CHECKING:
    from placetui.runtime.gcs.client import Head

RECORDS = NAMESPACE.encode()
DETAILS = b"placetui-details"
"""Of the key-value store: plan and restarts, by `JOB/UID/…`."""

LOCKS = b"placetui-locks"
SPECS = SPEC_NAMESPACE.encode()

LAUNCHING = "launching"
READY = "ready"
STOPPING = "stopping"

LOCK_SECONDS = 30.0
"""After which a lock counts as left behind by a process that died."""


@dataclass(frozen=True, slots=True)
class Record:
    """A job, as it stands in the cluster's key-value store."""

    job: str
    file: str | None
    created: float
    uid: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Tells two jobs of one name apart."""

    state: str = LAUNCHING
    """`launching` until every rank was alive once, then `ready`; `stopping` once it is being stopped."""

    groups: Mapping[str, int] = field(default_factory=dict)
    nodes: tuple[Mapping[str, Any], ...] = ()
    """The match: planned nodes with the Ray nodes they are on."""

    owner: str = ""
    """Who launched it: `user@host`."""

    ray_job: str = ""
    """Ray's number of the driver that launched it."""

    plan: Mapping[str, Any] = field(default_factory=dict)
    """As `show --format json` prints it; stored apart, see `read_plan`."""

    def encode(self) -> bytes:
        names = [name for name in self.__dataclass_fields__ if name != "plan"]
        return json.dumps({name: getattr(self, name) for name in names}, default=dict).encode()

    @classmethod
    def decode(cls, data: bytes) -> Record:
        """Read a record; a ValueError if it is none."""
        value = json.loads(data)
        if not isinstance(value, dict) or not isinstance(value.get("job"), str):
            raise ValueError("not a job record")
        groups, rows = value.get("groups", {}), value.get("nodes", ())
        if not all(type(size) is int for size in groups.values()) or not all(isinstance(row, dict) for row in rows):
            raise ValueError("a job record of another version")
        known = {name: value[name] for name in cls.__dataclass_fields__ if name in value}
        known["nodes"] = tuple(known.get("nodes", ()))
        return cls(**{"file": None, "created": 0.0, "uid": "", **known})

    def key(self, *parts: str) -> bytes:
        return "/".join([self.job, self.uid, *parts]).encode()


def check_name(job: str) -> str:
    """The name, if it can be one; else `NotPossible`."""
    if not JOB_NAME.fullmatch(job):
        raise NotPossible(
            f"`{job}` cannot be the name of a job", hint="use letters, digits, dots, dashes and underscores: --job NAME"
        )
    return job


def create(head: Head, record: Record) -> None:
    """Store the record of a new job: the lock on its name. `NotPossible` if it is taken."""
    added = head.put(RECORDS, record.job.encode(), record.encode(), overwrite=False)
    # A call that was repeated may find what it wrote itself.
    if not added and ((other := find(head, record.job)) is None or other.uid != record.uid):
        raise taken(record.job, other)
    head.put(DETAILS, record.key("plan"), json.dumps(record.plan, default=dict).encode(), overwrite=True)


def taken(job: str, other: Record | None) -> NotPossible:
    """What to say about a name that somebody has; of a job that is just ending there is no record any more."""
    since = f", started {age(other.created, time.time())} ago from {other.file}" if other and other.created else ""
    return NotPossible(
        f"there is a job `{job}` already{since}",
        hint=f"placetui down {job}, or choose another name with --job NAME",
    )


def set_ready(head: Head, record: Record) -> None:
    """Store that a job is complete; an error if it was stopped in the meantime."""
    with _locked(head, record):
        current = find(head, record.job)
        if current is None or current.uid != record.uid or current.state == STOPPING:
            raise taken_down(record.job)
        head.put(RECORDS, record.job.encode(), replace(record, state=READY).encode(), overwrite=True)


def set_stopping(head: Head, record: Record) -> None:
    """Store that somebody ends a job, before its ranks die, so that no viewer reports a crash."""
    with _locked(head, record):
        current = find(head, record.job)
        if current is not None and current.uid == record.uid:
            head.put(RECORDS, record.job.encode(), replace(current, state=STOPPING).encode(), overwrite=True)


def taken_down(job: str) -> ClusterError:
    """What to say about a job that ended under one's hands."""
    return ClusterError(f"the job `{job}` was stopped by someone else in the meantime")


def note_restart(head: Head, record: Record, component: str, rank: int, news: Mapping[str, Any]) -> None:
    """Store where a rank is now: under its own key, so that nobody else's note is lost."""
    head.put(DETAILS, record.key("restarts", f"{component}:{rank}"), json.dumps(news).encode(), overwrite=True)


def restarts(head: Head, record: Record) -> dict[tuple[str, int], Mapping[str, Any]]:
    """What was stored about ranks that were restarted."""
    prefix = record.key("restarts", "")
    found: dict[tuple[str, int], Mapping[str, Any]] = {}
    for key in head.keys(DETAILS, prefix):
        component, _, rank = key[len(prefix) :].decode().rpartition(":")
        found[component, int(rank)] = json.loads(head.get(DETAILS, key) or b"{}")
    return found


def read_plan(head: Head, record: Record) -> dict[str, Any]:
    """The plan that a job was launched with; empty if nobody stored it."""
    return dict(json.loads(head.get(DETAILS, record.key("plan")) or b"{}"))


def find(head: Head, job: str) -> Record | None:
    """The record of a job, if there is one."""
    data = head.get(RECORDS, job.encode())
    return None if data is None else _decode(job, data)


def find_all(head: Head) -> list[Record]:
    """All records, by name."""
    found = head.get_all(RECORDS)
    return [_decode(key.decode("utf-8", "replace"), found[key]) for key in sorted(found)]


def _decode(job: str, data: bytes) -> Record:
    try:
        return Record.decode(data)
    except (ValueError, TypeError):
        # Written by another version: it holds the name, which is all that is certain.
        return Record(job, None, 0.0, uid="")


def forget(head: Head, record: Record) -> None:
    """Remove all that is stored about a job: the name is free again, unless another job has it already."""
    for namespace in (DETAILS, SPECS):
        head.delete(namespace, record.key(""), prefix=True)
    with _locked(head, record):
        current = find(head, record.job)
        if current is not None and current.uid == record.uid:
            head.delete(RECORDS, record.job.encode())


def forget_leftovers(head: Head, job: str) -> None:
    """Remove what is stored under a name that no record has."""
    # First what there is, then whether it is anybody's: a new job writes its record before all else.
    keys = {namespace: head.keys(namespace, f"{job}/".encode()) for namespace in (DETAILS, SPECS)}
    if find(head, job) is None:
        for namespace, found in keys.items():
            for key in found:
                head.delete(namespace, key)


@contextmanager
def _locked(head: Head, record: Record) -> Iterator[None]:
    """While nobody else changes or removes this record: the store itself cannot compare before it writes."""
    key, mine = record.key(), json.dumps([uuid.uuid4().hex, time.time()]).encode()
    while not head.put(LOCKS, key, mine, overwrite=False):
        held = head.get(LOCKS, key)
        if held == mine:
            break
        with suppress(ValueError, TypeError):
            if held is not None and time.time() - json.loads(held)[1] > LOCK_SECONDS:
                head.delete(LOCKS, key)
                continue
        time.sleep(head.policy.poll)
    try:
        yield
    finally:
        head.delete(LOCKS, key)
