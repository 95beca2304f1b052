"""What a rank's process writes, read on its own node by a small task: also after the process has died."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.work import Work
from placetui.runtime import private, tail
from placetui.runtime.connect import driver
from placetui.runtime.errors import ClusterError, Refused
from placetui.runtime.guard import guarded
from placetui.runtime.jobs import NODE_LOST, Job
from placetui.runtime.model import RayActor
from placetui.runtime.private import Head
from placetui.runtime.targets import Target, asked_job, current, target_of
from placetui.runtime.waiting import Patience

LINES = 100
"""How many, unless asked otherwise."""

READ_PATIENCE = 30.0
"""Seconds for one look at a file; the first one may have to start a process there."""

INTERVAL = 0.5
"""Seconds between looks."""


def logs(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """The last `lines` of each of a rank's two streams, and with `follow` what comes until it is dead."""
    with asked_job(body) as (head, job):
        target = target_of(job, body)
        reader = _Reader(head, job, target, work)
        wanted = body.get("lines")
        lines = LINES if wanted is None else max(0, int(wanted))
        return guarded(head, lambda: reader.run(lines, follow=bool(body.get("follow"))))


class _Reader:
    """Reads on, from one process of the rank to the next."""

    def __init__(self, head: Head, job: Job, target: Target, work: Work) -> None:
        self._head = head
        self._job = job
        self._target = target
        self._work = work

    def run(self, lines: int, *, follow: bool) -> Mapping[str, Any]:
        actor = self._process(self._target)
        with driver(self._head, self._head.nodes()) as ray:
            places = self._read(ray, actor, None, lines, rest=not follow)
            while follow and self._target.state.state != "dead":
                self._work.interrupted.wait(INTERVAL)
                self._work.check()
                now = current(self._head, self._job, self._target)
                actor, places = self._go_on(ray, actor, places, now)
        return {"address": self._head.address, "rank": self._target.state.to_dict()}

    def _go_on(
        self, ray: Any, actor: RayActor, places: Mapping[str, int], now: Target
    ) -> tuple[RayActor, Mapping[str, int]]:
        """Read what is new; if the process has ended, its last words and then its successor."""
        ended = now.state.state == "dead" or bool(now.actor and now.actor.worker and now.actor.worker != actor.worker)
        places = self._read(ray, actor, places, 0, rest=ended)
        if now.state.state != self._target.state.state:
            self._work.report(step="rank", **now.state.to_dict())
        self._target = now
        if ended and now.state.state != "dead":
            return self._process(now), {}
        return actor, places

    def _process(self, target: Target) -> RayActor:
        """The process that is read.

        Raises:
            Refused: there is none, or none that can be read.
        """
        if target.state.reason == NODE_LOST:
            raise Refused(f"the node of {target} is lost, and its log with it", hint="placetui down, then up")
        if target.actor is None or not (target.actor.worker or target.actor.pid):
            said = "has not started yet" if target.state.state != "dead" else "is no longer known to the cluster"
            raise Refused(f"{target} {said}, so there is no log of it")
        return target.actor

    def _read(
        self, ray: Any, actor: RayActor, places: Mapping[str, int] | None, lines: int, *, rest: bool
    ) -> Mapping[str, int]:
        """Tell what is new; where to go on."""
        while True:
            found = self._ask(ray, actor, places, lines, rest)
            if found is None and places is not None:
                # A process that has written nothing yet.
                return places
            if found is None:
                raise ClusterError(f"the node of {self._target} keeps no log of it", hint="its files were removed")
            for stream, texts in found["lines"].items():
                if texts:
                    told = {"component": self._target.component, "rank": self._target.rank}
                    self._work.report(step="lines", **told, stream=stream, lines=texts)
            places = found["places"]
            if not found["more"]:
                return places

    def _ask(
        self, ray: Any, actor: RayActor, places: Mapping[str, int] | None, lines: int, rest: bool
    ) -> Mapping[str, Any] | None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        private.ship_by_value(tail, private)
        strategy = NodeAffinitySchedulingStrategy(actor.node, soft=False)
        task = ray.remote(num_cpus=0, max_retries=0)(tail.read).options(scheduling_strategy=strategy)
        reference = task.remote(actor.worker, actor.pid, places, lines, rest)
        patience = Patience(self._work, READ_PATIENCE, hint="is its node still there?")
        for _ in patience.gather(ray, {reference: None}, lambda _: f"the node of {self._target} reads no log"):
            break
        try:
            found: Mapping[str, Any] | None = ray.get(reference)
        except Exception as problem:
            said = str(problem).strip().splitlines()
            raise ClusterError(
                f"the log of {self._target} cannot be read on its node: {said[0] if said else problem}",
                hint="placetui ps says whether the node is lost",
            ) from problem
        return found
