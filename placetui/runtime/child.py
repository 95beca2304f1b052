"""The child process that runs Ray: every request to a cluster that the parent can make over the pipe."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import Any

from placetui.bridge.child import SimulatedObserver, run
from placetui.bridge.work import Work
from placetui.runtime.errors import ClusterError, ClusterLost
from placetui.runtime.gcs.address import LastHead, open_head, resolve_address
from placetui.runtime.gcs.client import Head, find_clusters
from placetui.runtime.gcs.model import Tables
from placetui.runtime.gcs.outages import abandoned
from placetui.runtime.gcs.versions import versions
from placetui.runtime.jobs.foreign import find_any_job, find_foreign_jobs
from placetui.runtime.jobs.logs import logs
from placetui.runtime.jobs.rank import call, describe, kill, restart, stack
from placetui.runtime.jobs.state import find_all_jobs, with_silent_nodes
from placetui.runtime.jobs.stop import stop_any
from placetui.runtime.jobs.submissions import submit
from placetui.runtime.launch.up import up
from placetui.runtime.policy import DEFAULT, OUTAGE_VARIABLE
from placetui.runtime.scheduling.pending import pending
from placetui.runtime.scheduling.preflight import preflight_job
from placetui.runtime.watch.observer import RayObserver


def list_jobs(head: Head) -> Mapping[str, Any]:
    """All jobs of a cluster, from its tables alone."""
    tables = Tables(head.nodes(), groups=head.groups())
    own = find_all_jobs(head, tables)
    others = find_foreign_jobs(head, tables, own={job.record.ray_job for job in own})
    found = with_silent_nodes([*own, *others], tables.nodes, head.policy)
    return {
        "address": head.address,
        "jobs": [job.to_dict() for job in found],
        "troubles": {job.record.job: job.troubles for job in found if job.troubles},
    }


def down(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """End a job, all of it; with `look`, only say what it is."""
    address = resolve_address(str(body["address"]))
    name = str(body["job"])
    with closing(open_head(address)) as head:
        if body.get("look"):
            return {"address": address, "job": find_any_job(head, name).to_dict()}
        head.outlast_outages(work.check)
        return {"address": address, **stop_any(head, name, work)}


def _clusters(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """Addresses of the clusters that have a process on this machine; of those that answer, nodes and GPUs."""
    sizes = {}
    for address in (found := find_clusters()):
        with suppress(ClusterError), closing(open_head(address)) as head:
            nodes = head.nodes()
            sizes[address] = len(nodes), sum(node.gpus for node in nodes)
    return {"clusters": found, "sizes": sizes}


def _job(job: Callable[[Mapping[str, Any], Work], Mapping[str, Any]], *, tells: bool = False) -> Any:
    """A job of the child: what is wrong is reported as data, unless it `tells` itself; a reply carries one sentence.

    A driver does not outlive its head: this process makes way for a new one before Ray ends it.
    """

    def do(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
        try:
            return dict(job(body, work))
        except ClusterError as problem:
            if isinstance(problem, ClusterLost) and abandoned():
                os.kill(os.getpid(), signal.SIGTERM)
            if not tells:
                work.report(step="failed", **problem.to_dict())
            raise

    return do


JOBS = {
    "up": _job(up, tells=True),
    "ps": _job(LastHead().answering(list_jobs)),
    "job": _job(describe),
    "down": _job(down),
    "call": _job(call),
    "logs": _job(logs),
    "stack": _job(stack),
    "kill": _job(kill),
    "restart": _job(restart),
    "preflight": _job(preflight_job),
    "submit": _job(submit),
    "pending": _job(LastHead().answering(pending)),
    "versions": versions,
    "clusters": _job(_clusters),
}

if __name__ == "__main__":
    # Ray's own client ends this process when the head stays away for so long; ours is to speak first.
    os.environ[OUTAGE_VARIABLE] = str(int(DEFAULT.outage) + 60)
    run({"simulation": SimulatedObserver, "ray": RayObserver}, jobs=JOBS)
