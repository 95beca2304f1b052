"""What the processes of ranks write, read on their own nodes by a small task: also after a process has died."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from placetui.bridge.work import Work
from placetui.observe.model import RankState
from placetui.placement.wording import listing
from placetui.runtime.errors import ClusterError, NotPossible, explain
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver, node_task, tied_to
from placetui.runtime.gcs.model import RayActor
from placetui.runtime.gcs.outages import guarded
from placetui.runtime.jobs.foreign import look_again
from placetui.runtime.jobs.rank import RankTarget, asked_job, current, size_of, target_of
from placetui.runtime.jobs.state import NODE_LOST, JobStatus
from placetui.runtime.jobs.stop import driver_node
from placetui.runtime.policy import Deadline
from placetui.runtime.remote import log_files

LINES = 100
"""How many of each rank, unless asked otherwise."""

INTERVAL = 0.5
_DRIVER = "driver of the job"
"""As a component, whose name has no blanks."""


def logs(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """The last `lines` of both streams of ranks, and with `follow` what comes until they are dead.

    The ranks are one (`rank`), some (`ranks`) or all of a `component`; without a component the driver of a job that was
    submitted through Ray Jobs is read. With `grep`, only lines that the pattern is in.
    """
    with asked_job(body, work) as (head, job):
        targets = log_targets(job, body) if body.get("component") else [_driver_of(head, job)]
        pattern = str(body.get("grep") or "")
        try:
            re.compile(pattern)
        except re.error as problem:
            raise NotPossible(f"`{pattern}` is not a pattern: {problem}") from None
        wanted = body.get("lines")
        lines = LINES if wanted is None else max(0, int(wanted))
        reader = _Reader(head, job, targets, pattern, work)
        return guarded(head, lambda: reader.run(lines, follow=bool(body.get("follow"))))


def log_targets(job: JobStatus, body: Mapping[str, Any]) -> list[RankTarget]:
    """The ranks that a request names."""
    name, ranks = str(body["component"]), body.get("ranks")
    if body.get("rank") is not None:
        ranks = [body["rank"]]
    if ranks and name not in job.record.groups and (whole := f"{name}:{ranks[0]}") in job.record.groups:
        name, ranks = whole, None  # a component with a colon and a number in its name
    if ranks is None:
        ranks = range(size_of(job, name))
    return [target_of(job, {"component": name, "rank": rank}) for rank in ranks]


def _driver_of(head: Head, job: JobStatus) -> RankTarget:
    """The driver of a job, as something to read; `NotPossible` if its log is not known."""
    hint = f"name a component: {listing(job.record.groups)}"
    if job.foreign is None:
        raise NotPossible(f"`{job.record.job}` was launched by placetui, so there is no log of a driver", hint=hint)
    seen = job.foreign.job
    if not seen.submission:
        where = f"pid {seen.driver_pid} on {seen.driver_ip}"
        raise NotPossible(f"the driver of `{job.record.job}`, {where}, writes where it was started", hint=hint)
    return RankTarget(_DRIVER, 0, _state_of_driver(job), RayActor("", node=driver_node(head, seen).id, pid=1))


def _state_of_driver(job: JobStatus) -> RankState:
    return RankState(_DRIVER, 0, "alive" if job.runs else "dead", None if job.runs else f"the job has {job.state}")


@dataclass(slots=True)
class _Stream:
    """One process of a rank that is read."""

    target: RankTarget
    actor: RayActor
    places: Mapping[str, int] | None = None
    """Where to go on, by stream; None before it was read at all."""

    over: bool = False
    more: bool = True
    """Whether there was more than was sent at once."""


class _Reader:
    """Reads on, from one process of a rank to the next."""

    def __init__(self, head: Head, job: JobStatus, targets: Sequence[RankTarget], pattern: str, work: Work) -> None:
        self._head = head
        self._job = job
        self._targets = list(targets)
        self._pattern = pattern
        self._work = work

    def run(self, lines: int, *, follow: bool) -> Mapping[str, Any]:
        streams = self._open()
        with driver(self._head, self._head.nodes()) as ray:
            self._read(ray, streams, lines, rest=not follow)
            while follow and any(not one.over for one in streams):
                self._work.interrupted.wait(INTERVAL)
                self._work.check()
                self._go_on(ray, [one for one in streams if not one.over])
        states = [asdict(one.target.state) for one in streams]
        return {"address": self._head.address, "rank": states[0], "ranks": states}

    def _open(self) -> list[_Stream]:
        """The processes that can be read; why not, if there is none."""
        streams: list[_Stream] = []
        for target in self._targets:
            try:
                over = target.state.state == "dead"
                streams.append(_Stream(target, _process(target), over=over))
            except NotPossible as problem:
                if len(self._targets) == 1:
                    raise
                self._work.report(step="note", message=problem.message)
        if not streams:
            raise NotPossible(f"none of {listing(map(str, self._targets), 6)} has a log that can be read")
        return streams

    def _go_on(self, ray: Any, streams: Sequence[_Stream]) -> None:
        """Read new output; after the end of a process, that of its successor."""
        now = self._look_again([one.target for one in streams])
        ended = {}
        for one, target in zip(streams, now, strict=True):
            replaced = bool(target.actor and target.actor.worker and target.actor.worker != one.actor.worker)
            ended[str(target)] = target.state.state == "dead" or replaced
        self._read(ray, [one for one in streams if not ended[str(one.target)]], 0, rest=False)
        self._read(ray, [one for one in streams if ended[str(one.target)]], 0, rest=True)
        for one, target in zip(streams, now, strict=True):
            if target.state.state != one.target.state.state:
                self._work.report(step="rank", **asdict(target.state))
            one.target = target
            one.over = target.state.state == "dead"
            if ended[str(target)] and not one.over:
                one.actor, one.places = _process(target), {}

    def _look_again(self, targets: Sequence[RankTarget]) -> list[RankTarget]:
        if targets[0].component == _DRIVER:
            job = look_again(self._head, self._job)
            return [replace(targets[0], state=_state_of_driver(job))]
        if len(targets) == 1:
            return [current(self._head, self._job, targets[0])]
        job = look_again(self._head, self._job)
        return [target_of(job, {"component": one.component, "rank": one.rank}) for one in targets]

    def _read(self, ray: Any, streams: Sequence[_Stream], lines: int, *, rest: bool) -> None:
        """Report new output until there is no more."""
        waiting = list(streams)
        while waiting:
            for one, found in self._ask(ray, waiting, lines, rest):
                one.more = False
                if found is None:
                    # A process that has written nothing yet, or whose files were removed.
                    if one.places is None and len(self._targets) == 1:
                        raise ClusterError(
                            f"the node of {one.target} keeps no log of it", hint="its files were removed"
                        )
                    one.places = one.places or {}
                    continue
                for stream, texts in found["lines"].items():
                    if texts:
                        rank = {"component": one.target.component, "rank": one.target.rank}
                        self._work.report(step="lines", **rank, stream=stream, lines=texts)
                one.places, one.more = found["places"], found["more"]
            waiting = [one for one in waiting if one.more]

    def _ask(
        self, ray: Any, streams: Sequence[_Stream], lines: int, rest: bool
    ) -> list[tuple[_Stream, Mapping[str, Any] | None]]:
        """What a task on each node reads there, in the order of the streams."""
        task = node_task(ray, log_files.read_all)
        by_node: dict[str, list[int]] = {}
        for number, one in enumerate(streams):
            by_node.setdefault(one.actor.node, []).append(number)
        asked = {}
        for node, numbers in by_node.items():
            wanted = [(self._files(streams[k]), streams[k].places) for k in numbers]
            asked[task.options(**tied_to(node)).remote(wanted, lines, rest, self._pattern)] = numbers
        deadline = Deadline(self._work, self._head.policy.read_log, hint="is its node still there?")
        answers: dict[int, Mapping[str, Any] | None] = {}
        for numbers, reference in deadline.gather(ray, asked, lambda left: f"{self._names(streams, left)}: no log"):
            try:
                answers.update(zip(numbers, ray.get(reference), strict=True))
            except Exception as problem:
                raise ClusterError(
                    f"the log of {self._names(streams, [numbers])} cannot be read on its node: {explain(problem)}",
                    hint="placetui ps says whether the node is lost",
                ) from problem
        return [(one, answers[number]) for number, one in enumerate(streams)]

    def _files(self, stream: _Stream) -> Mapping[str, str]:
        if stream.target.component == _DRIVER and self._job.foreign:
            return log_files.files_of_driver(self._job.foreign.job.submission)
        return log_files.files_of_worker(stream.actor.worker, stream.actor.pid)

    def _names(self, streams: Sequence[_Stream], groups: Sequence[Sequence[int]]) -> str:
        return listing((str(streams[number].target) for numbers in groups for number in numbers), 6)


def _process(target: RankTarget) -> RayActor:
    """The process that is read; `NotPossible` if there is none."""
    if target.state.reason == NODE_LOST:
        raise NotPossible(f"the node of {target} is lost, and its log with it", hint="placetui down, then up")
    if target.actor is None or not (target.actor.worker or target.actor.pid):
        said = "has not started yet" if target.state.state != "dead" else "is no longer known to the cluster"
        raise NotPossible(f"{target} {said}, so there is no log of it")
    return target.actor
