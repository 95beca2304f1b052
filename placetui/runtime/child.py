"""The child process with Ray in it: all that can be asked of a cluster, for who holds the other end of the pipe."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from placetui.bridge.child import SimulatedObserver, run
from placetui.bridge.work import Work
from placetui.runtime import jobs, records
from placetui.runtime.calling import call
from placetui.runtime.connect import open_head, resolve_address
from placetui.runtime.ending import kill, restart
from placetui.runtime.errors import ClusterError, ClusterLost
from placetui.runtime.guard import abandoned
from placetui.runtime.logs import logs
from placetui.runtime.observer import RayObserver
from placetui.runtime.private import Head
from placetui.runtime.targets import describe
from placetui.runtime.up import up
from placetui.runtime.versions import versions


class Looker:
    """Looks at clusters, and stays connected to the last: whoever watches asks once a second."""

    def __init__(self) -> None:
        self._asked = ""
        self._head: Head | None = None
        self._lock = threading.Lock()

    def ps(self, body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
        """All jobs of a cluster, from its tables alone."""
        with self._lock:
            return self._look(body)

    def _look(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = str(body["address"])
        if self._head is None or asked != self._asked:
            self.close()
            self._head, self._asked = open_head(resolve_address(asked)), asked
        try:
            found = jobs.jobs(records.find_all(self._head), self._head.tables())
        except ClusterError:
            self.close()
            raise
        return {
            "address": self._head.address,
            "jobs": [job.to_dict() for job in found],
            "troubles": {job.record.job: job.troubles for job in found if job.troubles},
        }

    def close(self) -> None:
        if self._head:
            self._head.close()
        self._head = None


def down(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """End a job, all of it; with `look`, only say what it is."""
    address = resolve_address(str(body["address"]))
    name = str(body["job"])
    with closing(open_head(address)) as head:
        if body.get("look"):
            return {"address": address, "job": jobs.find(head, name).to_dict()}
        return {"address": address, **jobs.stop(head, name)}


def _told(job: Any) -> Any:
    """With what is wrong also as data: a reply carries one sentence only."""

    def tell(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
        try:
            return dict(job(body, work))
        except ClusterError as problem:
            work.report(step="failed", **problem.to_dict())
            raise

    return tell


def _with_driver(job: Any) -> Any:
    """For a driver, which does not outlive its head: this process makes way for a new one before Ray ends it."""

    def drive(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
        try:
            return dict(job(body, work))
        except ClusterLost:
            if abandoned():
                os.kill(os.getpid(), signal.SIGTERM)
            raise

    return drive


JOBS = {
    "up": _with_driver(up),
    "ps": _told(Looker().ps),
    "job": _told(describe),
    "down": _told(down),
    "call": _told(_with_driver(call)),
    "logs": _told(_with_driver(logs)),
    "kill": _told(kill),
    "restart": _told(_with_driver(restart)),
    "versions": versions,
}

if __name__ == "__main__":
    run({"simulation": SimulatedObserver, "ray": RayObserver}, jobs=JOBS)
