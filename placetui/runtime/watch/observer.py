"""`RayObserver`: a Ray cluster as it is: its nodes and GPUs, who is on them, and the ranks of a job.

The head's tables are read in a separate thread, so that a head that hangs keeps nobody waiting. What was read last
stays, and grows old, while nothing newer comes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from placetui.frameworks.cluster_facts import NODE_RANK
from placetui.frameworks.registry import by_mode
from placetui.observe.attribution import Attribution
from placetui.observe.following import PlanOutline, follow, summary
from placetui.observe.model import NodeSample, Observation
from placetui.observe.ports import CONNECTED, NoObservation, Status, WatchOptions
from placetui.runtime.errors import ClusterError, NothingFound, NotReady
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.policy import DEFAULT
from placetui.runtime.watch.latest import Latest
from placetui.runtime.watch.recognition import JobWatch, cluster_facts
from placetui.runtime.watch.samplers import SampledNode, Samplers, UsedNodes
from placetui.runtime.watch.table_reader import TableReader
from placetui.runtime.watch.tasks import Tasks
from placetui.runtime.watch.view import ClusterView, Followed, Seen, ShownNode
from placetui.telemetry.child import NodeObserver

PATIENCE = 0.5  # seconds that an observation waits for the head
SAMPLE_PATIENCE = 0.3  # seconds that it waits for the samplers; those that are later come with the next one
TASK_PATIENCE = 0.1  # seconds that it waits for raylets, where they are asked
STALE_AGE = 3.0  # seconds after which what the head said is not trusted any more
SAMPLE_STALE_AGE = 1.9  # the same of what a sampler said: at 1 Hz the second answer that is missed
OVERDUE = 1.0  # seconds without an answer; after a rest, values are old and no reason to worry
START_PATIENCE = 20.0  # seconds in which a sampler should be running
DRIVER_GRACE = DEFAULT.outage + 30.0  # seconds without a head, after which Ray's own client would end this process
ENDED_FOR = 3_600.0  # seconds for which a job that ended is listed
TABLE_PART = 20  # reading the tables may take a twentieth of a core: those of a large cluster are read less often
LONGEST_PERIOD = 10.0  # seconds; but not less often than this


class RayObserver:
    """One cluster, for one who looks."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = WatchOptions.read(options)
        self.status: Status = Status("starting")
        self._outline = PlanOutline.read(self._options.plan)
        if self._outline is None or self._options.job:
            self._reader = TableReader(self._options.address, self._options.job)
        else:
            components = frozenset(self._outline.sizes)
            self._reader = TableReader(self._options.address, self._outline.job, components=components)
        self._job_seen = False
        self._tables: Latest[Seen] = Latest("tables", self._reader.read)
        self._samplers = Samplers() if self._options.sample else None
        self._used = UsedNodes()
        self._session = ""
        """Of the cluster that the samplers are on."""

        self._own: NodeObserver | None = None
        self._known: ClusterView | None = None
        self._tasks = Tasks()
        self._watch = JobWatch()
        self._followed = ""
        """The job of a framework that was followed last."""

        self._others: frozenset[str] | None = None
        """Ray jobs that were there when it ended: only one that is started later takes its place."""

        self._attribution = Attribution()
        self._began: float | None = None
        self._settled = not self._options.settle

    def observe(self, deadline: float) -> Observation:
        """The cluster, its values marked as old where they are; `NoObservation` while nothing is known of it."""
        tables = self._tables
        if tables.at is None or tables.problem or tables.busy or tables.age() >= self._table_period:
            tables.refresh(min(PATIENCE, deadline - time.monotonic()))
        self.status = self._link()
        seen = tables.value
        if seen is None:
            return self._own_node(deadline)
        self._leave_if_void(seen)
        used = self._used.update(seen.tables)
        if self._samplers is not None:
            wanted = tuple(node for node in self._to_sample(seen) if node.id in used)
            interval = deadline - time.monotonic()
            self._samplers.poll(self._reader.head, seen.tables.nodes, wanted, SAMPLE_PATIENCE, interval)
        options = self._options
        known = ClusterView.of(seen, options.mode, options.nodes, self._samplers, used, self._known, self._recognise)
        self._known = known
        who = self._tasks.with_actors(known, seen.tables.groups, min(TASK_PATIENCE, deadline - time.monotonic()))
        self._wait_for_answers(seen, known)
        observation = Observation(
            time.time(), "ray", known.nodes, known.ranks, self._job(seen, known.followed), known.groups
        )
        named = self._attribution.apply(observation, known.facts, who)
        followed = known.followed
        return replace(
            named,
            owner=seen.record.owner if seen.record else followed.job.job.user if followed.job else "",
            jobs=tuple(map(summary, followed.jobs)),
            note=followed.note,
            not_launched=known.not_launched,
            nodes=tuple(map(self._aged, known.places, named.nodes)),
        )

    def _recognise(self, seen: Seen, gpu_ids: Mapping[str, tuple[int, ...]]) -> Followed:
        """The jobs that frameworks recognise; if the job that is asked for is not one of ours, it is among them."""
        jobs = self._watch.recognise(cluster_facts(seen.tables, seen.jobs, gpu_ids))
        now = seen.time
        jobs = tuple(job for job in jobs if not job.ended or now - (job.job.ended or now) < ENDED_FOR)
        self._reader.recognised = frozenset(job.job.id for job in jobs)
        if seen.record is not None:
            return Followed(jobs)
        runs = any(job.name == self._followed and not job.ended for job in jobs)
        if self._followed and not runs and self._others is None:
            self._others = frozenset(job.job.id for job in jobs)
        candidates = [job for job in jobs if self._options.job or job.job.id not in (self._others or ())]
        job, note = follow(candidates, self._outline, self._options.job, self._followed)
        if job is not None and job.ended:
            self._followed, job = job.name, None
        if job is not None:
            self._followed, self._others = job.name, None
        elif self._followed:
            note = f"job {self._followed} has ended"
        return Followed(jobs, job, self._outline, note)

    def _job(self, seen: Seen, followed: Followed) -> str:
        """The job that is followed: none once it has ended, or if there never was one, so nobody misses its ranks."""
        if followed.job is not None:
            return followed.job.name
        if seen.record is not None:
            self._job_seen = True
            return seen.record.job
        # One that was asked for by name is missed.
        return "" if self._job_seen or self._followed else self._options.job

    def _own_node(self, deadline: float) -> Observation:
        """This node, while there is no cluster and the plan has but one: which one it is in others nobody knows."""
        if not (self.status.absent and self._options.sample and self._options.nodes == 1):
            raise NoObservation(self.status)
        self._own = self._own or NodeObserver({})
        seen = self._own.observe(deadline)
        if not any(node.devices for node in seen.nodes):
            raise NoObservation(self.status)
        return seen

    def close(self) -> None:
        self._reader.close()
        if self._samplers is not None:
            self._samplers.close()

    @property
    def _table_period(self) -> float:
        """Seconds between readings of the tables, if observations are more frequent."""
        return min(TABLE_PART * self._reader.cost, LONGEST_PERIOD)

    def _link(self) -> Status:
        problem = self._tables.problem
        if problem is None:
            if self._tables.at is None:
                return Status("starting")
            if self._tables.age() >= STALE_AGE + self._table_period:
                return Status("lost", "the head of the cluster does not answer")
            refused = self._samplers.problem if self._samplers is not None else ""
            return Status("connected", f"the memory of GPUs cannot be read: {refused}") if refused else CONNECTED
        if isinstance(problem, NothingFound) and self._tables.at is None:
            return Status("starting", problem.message, absent=True)
        if isinstance(problem, ClusterError):
            hint = f" ({problem.hint})" if problem.hint and self._tables.at is None else ""
            return Status("failed" if isinstance(problem, NotReady) else "lost", f"{problem.message}{hint}")
        return Status("lost", f"the head of the cluster cannot be read: {type(problem).__name__}: {problem}")

    def _leave_if_void(self, seen: Seen) -> None:
        """Ray's client would wait a minute for a head that is gone, and then end the process; a new one is better."""
        if self._samplers is None or not (self._samplers.here or self._samplers.joining):
            self._session = self._reader.session
        elif self._reader.head is not None and self._reader.session != self._session:
            raise SystemExit("the cluster was restarted")
        elif self._samplers.here and all(node.id != self._samplers.here for node in seen.tables.nodes):
            # Also when the cluster was restarted between two readings, which nobody noticed.
            raise SystemExit("the node that this process had joined is gone")
        elif self.status.link != "connected" and self._tables.age() >= DRIVER_GRACE:
            raise SystemExit(f"{self.status.message}: nothing can be read from here")

    def _to_sample(self, seen: Seen) -> tuple[RayNode, ...]:
        """Nodes with GPUs and nodes of the plan; all, if only their environment can tell which is which."""
        nodes = seen.tables.nodes
        told = by_mode(self._options.mode).node_rank_variable is None or (seen.record is not None and seen.record.nodes)
        if len(nodes) == 1 or not (told or all(NODE_RANK in node.labels for node in nodes)):
            return nodes
        shown = {place.node.id for place in self._known.places} if self._known else ()
        return tuple(node for node in nodes if node.gpus or node.id in shown)

    def _wait_for_answers(self, seen: Seen, known: ClusterView) -> None:
        """Hold the first observation back until every node and raylet has answered, if that was asked for.

        And until the dead of the jobs that were recognised have been read, which nobody knew before the first reading.
        """
        if self._settled:
            return
        if self._began is None:
            self._began = time.monotonic()
        waited = time.monotonic() - self._began
        complete = self._reader.recognised <= seen.with_dead
        if (complete and not (known.awaited or self._tasks.awaited)) or waited >= self._options.settle:
            self._settled = True
            return
        raise NoObservation(Status("starting"))

    def _aged(self, place: ShownNode, node: NodeSample) -> NodeSample:
        """With the age of what nobody has confirmed."""
        sampled = self._samplers.nodes.get(place.node.id) if self._samplers is not None else None
        if sampled is None or not place.here:
            age = self._tables.age()
            if self.status.link == "connected" or age < STALE_AGE:
                return node
            return replace(node, age=round(age, 1), stale=True, error=self.status.message)
        return aged(node, sampled, time.monotonic(), self._samplers.period if self._samplers else 0.0)


def aged(node: NodeSample, sampled: SampledNode, now: float, period: float) -> NodeSample:
    """A node that its sampler tells of, or tells of no more."""
    if sampled.reading is None:
        waited = now - sampled.made_at
        if sampled.problem:
            return replace(node, stale=True, error=sampled.problem)
        if sampled.actor is not None and waited >= START_PATIENCE:
            return replace(node, stale=True, error=f"its sampler has not answered for {waited:.0f} s")
        return node
    age = now - (sampled.read_at or now)
    overdue = now - sampled.asked_at if sampled.call is not None else 0.0
    if age < SAMPLE_STALE_AGE + period or (not sampled.problem and overdue < OVERDUE):
        return node
    problem = sampled.problem or f"its sampler has not answered for {overdue:.0f} s"
    return replace(node, age=round(age, 1), stale=True, error=problem)
