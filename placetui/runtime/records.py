"""What is stored about a job in the cluster, and how it is found again."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from placetui.observe.ages import age
from placetui.observe.operations import JOB_NAME
from placetui.placement.environment import NAMESPACE
from placetui.runtime.errors import ClusterError, Refused

if TYPE_CHECKING:
    from placetui.runtime.private import Head

KV_NAMESPACE = NAMESPACE.encode()
LAUNCHING = "launching"
READY = "ready"


@dataclass(frozen=True, slots=True)
class Record:
    """A job, as it stands in the cluster's key-value store."""

    job: str
    file: str | None
    created: float
    """Seconds since the epoch."""

    uid: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Tells two jobs of one name apart."""

    state: str = LAUNCHING
    """`launching` until every rank was alive once, then `ready`."""

    groups: Mapping[str, int] = field(default_factory=dict)
    """World size by component."""

    nodes: tuple[Mapping[str, Any], ...] = ()
    """The match: planned nodes with the Ray nodes they are on."""

    ranks: tuple[Mapping[str, Any], ...] = ()
    """Where every rank is; once it is ready."""

    plan: Mapping[str, Any] = field(default_factory=dict)
    """The plan as `show --format json` prints it."""

    def encode(self) -> bytes:
        return json.dumps({name: getattr(self, name) for name in self.__dataclass_fields__}, default=dict).encode()

    @classmethod
    def decode(cls, data: bytes) -> Record:
        """Read a record.

        Raises:
            ValueError: it is none.
        """
        value = json.loads(data)
        if not isinstance(value, dict) or not isinstance(value.get("job"), str):
            raise ValueError("not a job record")
        groups, rows = value.get("groups", {}), [*value.get("nodes", ()), *value.get("ranks", ())]
        if not all(type(size) is int for size in groups.values()) or not all(isinstance(row, dict) for row in rows):
            raise ValueError("a job record of another version")
        known = {name: value[name] for name in cls.__dataclass_fields__ if name in value}
        return cls(**{"file": None, "created": 0.0, "uid": "", **known})


def check_name(job: str) -> str:
    """The name, if it can be one.

    Raises:
        Refused: it cannot.
    """
    if not JOB_NAME.fullmatch(job):
        raise Refused(
            f"`{job}` cannot be the name of a job", hint="use letters, digits, dots, dashes and underscores: --job NAME"
        )
    return job


def take(head: Head, record: Record) -> None:
    """Store the record of a new job: the lock on its name.

    Raises:
        Refused: somebody has the name.
    """
    if not head.put(KV_NAMESPACE, record.job.encode(), record.encode(), overwrite=False):
        raise taken(record.job, find(head, record.job))


def taken(job: str, other: Record | None) -> Refused:
    """What to say about a name that somebody has; of a job that is just ending there is no record any more."""
    since = f", started {age(other.created, time.time())} ago from {other.file}" if other and other.created else ""
    return Refused(
        f"there is a job `{job}` already{since}",
        hint=f"placetui down {job}, or choose another name with --job NAME",
    )


def update(head: Head, record: Record) -> None:
    """Store what is new about a job, unless it is no longer ours.

    Raises:
        ClusterError: somebody took it down meanwhile.
    """
    current = find(head, record.job)
    if current is None or current.uid != record.uid:
        raise ClusterError(f"the job `{record.job}` was taken down by somebody else meanwhile")
    head.put(KV_NAMESPACE, record.job.encode(), record.encode(), overwrite=True)


def find(head: Head, job: str) -> Record | None:
    """The record of a job, if there is one."""
    data = head.get(KV_NAMESPACE, job.encode())
    try:
        return Record.decode(data) if data else None
    except (ValueError, TypeError):
        # Written by another version: it holds the name, which is all that is certain.
        return Record(job, None, 0.0, uid="")


def find_all(head: Head) -> Iterator[Record]:
    """All records, by name."""
    for key in sorted(head.keys(KV_NAMESPACE)):
        record = find(head, key.decode("utf-8", "replace"))
        if record:
            yield record


def forget(head: Head, job: str) -> None:
    """Remove a record: the name is free again."""
    head.delete(KV_NAMESPACE, job.encode())
