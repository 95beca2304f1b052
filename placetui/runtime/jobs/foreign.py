"""Jobs of frameworks that placetui did not launch: found in the head's tables, named by submission or Ray job."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.recognition import RecognisedJob
from placetui.frameworks.registry import framework
from placetui.observe.model import RankState
from placetui.observe.operations import JOB_NAME
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.model import RayActor, RayNode, Tables
from placetui.runtime.jobs import records
from placetui.runtime.jobs.records import READY, Record
from placetui.runtime.jobs.state import JobState, JobStatus, find_job, job_actors, job_of, rank_state
from placetui.runtime.watch.recognition import JobWatch, cluster_facts, with_user

if TYPE_CHECKING:
    from placetui.runtime.gcs.client import Head

LATELY = 3600.0
"""Seconds for which a job that ended is still listed."""

_SUBMISSIONS, _SUBMISSION = b"job", "_ray_internal_job_info_{id}"
"""Where Ray Jobs keep what they know of a submission, in the key-value store."""

SUBMITTED = b"placetui-submitted"
"""Namespace of the key-value store: by submission, the file and the framework that it was submitted with."""

_STATUS: dict[str, JobState] = {"FAILED": "failed", "STOPPED": "ended", "SUCCEEDED": "ended"}


def find_foreign_jobs(
    head: Head, tables: Tables | None = None, job: str = "", own: Collection[str] = ()
) -> list[JobStatus]:
    """Jobs that a framework is recognised in: those that run, and those that ended lately, without Ray jobs in `own`.
    With `job`, only the one of this submission or Ray job, however long ago it ended.
    """
    oldest = time.time() - LATELY
    wanted = [
        one
        for one in head.jobs()
        if (job in (one.submission, one.id) if job else one.id not in own and (not one.dead or one.ended > oldest))
    ]
    if not wanted:
        return []
    rows: dict[str, RayActor] = {row.id: row for one in wanted for row in head.actors(job=one.id)}
    found: list[RecognisedJob] = []
    watch = JobWatch()
    tables = tables or Tables(head.nodes(), groups=head.groups() if rows else ())
    if rows:
        facts = cluster_facts(replace(tables, actors=tuple(rows.values())), map(with_user, wanted))
        found += watch.recognise(facts)
    found += _submitted(head, wanted, {one.job.id for one in found})
    return [_status(head, one, rows, tables.nodes, _file(watch, one)) for one in found]


def _file(watch: JobWatch, job: RecognisedJob) -> str | None:
    """The file that the command line of a job names, if it can be read here."""
    found = watch.file_of(job) if job.actors else None
    return os.path.abspath(found.document.source) if found and os.path.isfile(found.document.source) else None


def _submitted(head: Head, jobs: Iterable[RayJobSeen], recognised: Collection[str]) -> Iterator[RecognisedJob]:
    """Jobs that `placetui submit` started, and that have no ranks yet."""
    left = [one for one in jobs if one.submission and one.id not in recognised]
    for job in left:
        if written := head.get(SUBMITTED, job.submission.encode()):
            name = str(json.loads(written).get("framework", ""))
            yield RecognisedJob(name, with_user(job), (), (), {})


def find_any_job(head: Head, name: str) -> JobStatus:
    """A job by its name, from any program; `NotPossible` if there is none."""
    own = JOB_NAME.fullmatch(name)
    if own and records.find(head, name) is not None:
        return find_job(head, name)
    if found := find_foreign_jobs(head, job=name):
        # Of several drivers of one submission, the one that came last.
        return max(found, key=lambda one: (one.runs, one.record.created))
    return find_job(head, name)


def look_again(head: Head, job: JobStatus) -> JobStatus:
    """The same job as it is now."""
    record = job.record
    if job.foreign is None:
        return job_of(record, Tables(head.nodes(), job_actors(head, record)))
    return next(iter(find_foreign_jobs(head, job=job.foreign.job.id)), job)


def refuse_foreign(job: JobStatus, what: str) -> None:
    """Refuse what may only be done to a job that placetui launched."""
    if job.foreign is not None:
        title = framework(job.foreign.framework).title
        raise NotPossible(
            f"`{job.record.job}` is a job of {title} that placetui did not launch: its ranks cannot be {what}",
            hint="a rank that dies may end the whole job; placetui down stops the job",
        )


def _status(
    head: Head, found: RecognisedJob, rows: dict[str, RayActor], nodes: Iterable[RayNode], file: str | None
) -> JobStatus:
    job = found.job
    record = Record(
        job=found.name,
        file=file,
        created=job.started,
        uid="",
        state=READY,
        groups=found.world_sizes,
        owner=job.user,
        ray_job=job.id,
    )
    living = {node.id for node in nodes}
    actors = {key: rows[one.actor] for key, one in found.by_rank.items()}
    state: JobState = found.phase
    if state in ("ended", "failed") and job.submission:
        state = _submission_state(head, job.submission) or state
    return JobStatus(
        record,
        tuple(
            _rank(name, rank, actors.get((name, rank)), record, living, starting=state == "starting")
            for name, size in found.world_sizes.items()
            for rank in range(size)
        ),
        state,
        actors,
        foreign=found,
    )


def _rank(
    component: str, rank: int, actor: RayActor | None, record: Record, living: set[str], *, starting: bool
) -> RankState:
    if actor is None:
        return RankState(component, rank, "pending" if starting else "dead", "it was never started")
    found = rank_state(component, rank, actor, record, living)
    return replace(found, state="starting") if found.state == "pending" and found.pid else found


def _submission_state(head: Head, submission: str) -> JobState | None:
    """How a submission ended, as Ray Jobs know it; nothing else of it is read."""
    try:
        known = json.loads(head.get(_SUBMISSIONS, _SUBMISSION.format(id=submission).encode()) or b"{}")
    except ValueError:
        return None
    return _STATUS.get(str(known.get("status")))
