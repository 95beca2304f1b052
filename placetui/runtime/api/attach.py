"""The Python API for jobs launched with `placetui up`: `attach("job").group("actor").call("save")`."""

from __future__ import annotations

from placetui.observe.operations import AUTO
from placetui.placement.wording import listing, quoted
from placetui.runtime.api.session import DriverSession, connect, find
from placetui.runtime.errors import NoCluster, NotPossible
from placetui.runtime.jobs import records
from placetui.runtime.jobs.group import RankGroup, rank_handle
from placetui.runtime.jobs.records import READY, Record
from placetui.runtime.jobs.state import find_job, no_such_job


def attach(job: str, address: str = AUTO) -> AttachedJob:
    """Find a job that runs on a cluster.

    Args:
        job: Its name, as `placetui ps` lists it.
        address: `HOST:PORT` of the head; by default the cluster that this program is connected to, else RAY_ADDRESS,
            else the one cluster of this machine.

    Raises:
        ClusterError: there is no such cluster, or no such job on it, or it is not ready.
    """
    found = find(address)
    if found is None:
        raise NoCluster("no Ray cluster was found on this machine", hint='name one: attach(job, address="HOST:PORT")')
    session = connect(found)
    record = records.find(session.head, job)
    if record is None:
        raise no_such_job(job)
    if record.state != READY:
        raise NotPossible(f"the job `{job}` is not ready", hint="placetui ps shows how it is")
    return AttachedJob(session, record)


class AttachedJob:
    """A job of a cluster. It outlives this program."""

    def __init__(self, session: DriverSession, record: Record) -> None:
        self._session = session
        self.name = record.job
        self.components = tuple(record.groups)
        """Names of its groups, in the order of the file."""

        self._record = record

    def group(self, component: str) -> RankGroup:
        """The ranks of a component, as they are now; a ClusterError if there is no such component."""
        if component not in self._record.groups:
            raise NotPossible(
                f"the job `{self.name}` has no component `{component}`",
                hint=f"it has {listing(quoted(self.components))}",
            )
        ranks = range(self._record.groups[component])
        handles = [rank_handle(self._session.ray, self.name, component, rank) for rank in ranks]
        return RankGroup(handles, component, gone=self._gone(component) if None in handles else None)

    def _gone(self, component: str) -> dict[int, str]:
        states = find_job(self._session.head, self.name).ranks
        return {one.rank: one.reason for one in states if one.component == component and one.reason}
