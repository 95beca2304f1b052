"""The child process with Ray in it: `up`, `ps` and `down` for whoever holds the other end of the pipe."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from placetui.bridge.child import SimulatedObserver, run
from placetui.bridge.work import Work
from placetui.runtime import jobs, records
from placetui.runtime.connect import open_head, resolve_address
from placetui.runtime.errors import ClusterError
from placetui.runtime.private import Head
from placetui.runtime.up import up


class Looker:
    """Looks at clusters, and stays connected to the last: whoever watches asks once a second."""

    def __init__(self) -> None:
        self._asked = ""
        self._head: Head | None = None

    def ps(self, body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
        """All jobs of a cluster, from its tables alone."""
        asked = str(body["address"])
        if self._head is None or asked != self._asked:
            self.close()
            self._head, self._asked = open_head(resolve_address(asked)), asked
        try:
            found = jobs.jobs(records.find_all(self._head), self._head.tables())
        except ClusterError:
            self.close()
            raise
        return {"address": self._head.address, "jobs": [job.to_dict() for job in found]}

    def close(self) -> None:
        if self._head:
            self._head.close()
        self._head = None


def down(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """End a job, all of it; with `look`, only say what it is."""
    address = resolve_address(str(body["address"]))
    name = str(body["job"])
    with closing(open_head(address)) as head:
        if not body.get("look"):
            return {"address": address, **jobs.stop(head, name)}
        found = [job for job in jobs.jobs(records.find_all(head), head.tables()) if job.record.job == name]
        if not found:
            raise jobs.no_such_job(name)
        return {"address": address, "job": found[0].to_dict()}


def _told(job: Any) -> Any:
    """With what is wrong also as data: a reply carries one sentence only."""

    def tell(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
        try:
            return dict(job(body, work))
        except ClusterError as problem:
            work.report(step="failed", **problem.to_dict())
            raise

    return tell


JOBS = {"up": up, "ps": _told(Looker().ps), "down": _told(down)}

if __name__ == "__main__":
    run({"simulation": SimulatedObserver}, jobs=JOBS)
