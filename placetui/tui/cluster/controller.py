"""The cluster behind what is open: the source that shows it, the link to it, and the selected job."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partialmethod
from typing import TYPE_CHECKING, Any

from placetui.document.running import with_names
from placetui.frameworks.registry import framework_of
from placetui.grid import clean
from placetui.observe.events import running_jobs
from placetui.observe.model import Observation
from placetui.observe.operations import AUTO, LOCAL, Failure
from placetui.observe.picture import OccupancyWatch
from placetui.observe.ports import ClusterSource, Link, Status
from placetui.placement.plan import Plan
from placetui.placement.wording import count, plain
from placetui.tui.actions import NO_CLUSTER, READ_ONLY
from placetui.tui.background import Timers, in_thread, start_thread
from placetui.tui.cluster.launching import LaunchController
from placetui.tui.cluster.operations import JobOperations
from placetui.tui.cluster.replaying import ReplayControls, as_replay
from placetui.tui.cluster.requests import ClusterRequest, flow
from placetui.tui.session import PICTURE, Session, nodes_of, saved_text

if TYPE_CHECKING:
    from placetui.tui.app import Dashboard

TROUBLE: tuple[Link, ...] = ("lost", "failed")
SLOWEST, FASTEST = 30.0, 0.2
"""Seconds between observations."""

FOLLOW_AFTER = 1.0
"""Seconds from the last edit until the live picture follows."""

FOLLOW_EVERY = 2.0
"""Seconds from one look at who is where to the next, at least: it takes longer than a look at their memory."""


class ClusterController:
    """Shows one source at a time; launches, operations on jobs and recordings have their own controllers."""

    def __init__(self, app: Dashboard) -> None:
        self.app = app
        self.source: ClusterSource | None = None
        self.link = Status("starting")
        self.job = ""
        """The selected job."""

        self.options = app.options
        self._connected: Plan | None = None
        """The plan that the source was opened for."""

        self.seen: Observation | None = None
        """What the source showed last."""

        self._target: tuple[object, ...] | None = None
        """What the source looks at: it stays while the plan changes and this does not."""

        self._occupancy = OccupancyWatch()
        self._followed = 0.0
        self.looked_up = ""
        """The only running job, whose plan has been requested."""

        self.after = Timers(app).after
        self.launches = LaunchController(self)
        self.jobs = JobOperations(self)
        self.replay = ReplayControls(self)

    def close(self) -> None:
        """Look at nothing any more."""
        if self.source is not None:
            self.source.close()

    def notify(self, words: str, **how: Any) -> None:
        """Show a notice; what comes from a cluster may contain anything."""
        self.app.notify(clean(words, self.options.ascii), markup=False, **how)

    @property
    def address(self) -> str:
        """Of the cluster that is asked: the embedded one while it is there."""
        launch = self.launches.launched
        if launch is not None and launch.local and launch.under_way and launch.address:
            return launch.address
        return self.options.address

    def follow_plan(self, plan: Plan, *, edited: bool) -> None:
        """Look at what is behind another plan; after an edit when the user rests."""
        if edited:
            self.after("follow edits", FOLLOW_AFTER, self._follow_edits, again=True)
        elif plan is not self._connected:
            self.connect(plan)

    def _follow_edits(self) -> None:
        session = self.app.session
        if session is not None and session.plan is not self._connected:
            self.connect(session.plan)

    def connect(self, plan: Plan | None = None) -> None:
        """Follow the source of a plan, unless it is followed already."""
        session = self.app.session
        plan = plan or (session.plan if session is not None else None)
        if plan is None:
            return
        self._connected = plan
        before, self._target = self._target, None
        # A cluster is the same whatever is planned for it, and so is a simulation or a recording.
        if self.options.source_for is not None and plan.nodes:
            self._target = session.file if session is not None else "", plan.nodes
        elif self.options.cluster is not None and plan.nodes:
            if session is not None:
                plan = with_names(framework_of(plan), session.document, plan, session.plan_request.overrides)
            groups = tuple((name, part.group_name) for name, part in plan.components.items())
            self._target = self.address, self.job, framework_of(plan).name, len(plan.nodes), groups
        if self._target is not None and self._target == before:
            self.show_seen()
            return
        self.drop_source()
        if self.options.source_for is not None and plan.nodes:
            self.look_at(self.options.source_for(plan))
        elif self._target is not None and self.options.cluster is not None and self.address != LOCAL:
            self.look_at(self.options.cluster(plan, self.address, self.job))

    def simulate(self) -> None:
        """Look at a simulated cluster from now on."""
        self.options = replace(self.options, source_for=self.options.demo, operations=None)

    def drop_source(self) -> None:
        old, self.source, self.seen = self.source, None, None
        if old is not None:
            start_thread(old.close, "close source")

    def look_at(self, source: ClusterSource, plan: Plan | None = None) -> None:
        """Show what a source has to say, after the first paint: what is on the screen never waits for a cluster."""
        self.source, self.link = source, Status("starting")
        self._connected = plan or self._connected
        self.app.call_after_refresh(self._start_source, source)

    def _start_source(self, source: ClusterSource) -> None:
        if source is self.source:
            source.start(_Subscriber(self.app, source))
            source.set_interval(self.options.interval)

    def observed(self, observation: Observation, source: ClusterSource) -> None:
        """A source has something new; a late message of a closed one is dropped."""
        if source is not self.source:
            return
        before, self.seen = self.seen, observation
        note = observation.note
        if note and not observation.job and (before is None or note != before.note):
            self.notify(note)  # the top line may have no room for it
        if not self.show_seen():
            self._first_sight(observation)
        self._follow_only_job(observation)
        workspace = self.app.workspace
        if observation.source == "ray" and workspace is not None and workspace.is_on_assumed_nodes:
            workspace.use_nodes(nodes_of(observation))

    def _first_sight(self, observation: Observation) -> None:
        """The first picture of a cluster without a file."""
        if self.app.is_waiting and observation.nodes:
            self._occupancy = OccupancyWatch()
            self._occupancy.moved(observation)
            session = Session.of_observation(observation, self.options.plan_request.letters)
            self._connected = session.plan
            self.app.show(session)
            if self.source is not None:
                self.app.call_after_refresh(self.observed, observation, self.source)

    def _follow_only_job(self, observation: Observation) -> None:
        """Where the cluster is shown as it is, show the plan of the only running job instead."""
        if self.options.operations is None or not self.shows_cluster:
            return
        jobs = running_jobs(observation)
        job = jobs.pop() if len(jobs) == 1 else ""
        looked_up, self.looked_up = self.looked_up, job
        if job and job != looked_up:
            self.jobs.follow_only(job)

    @property
    def shows_cluster(self) -> bool:
        """Whether the user looks at the cluster as it is, and has begun nothing there."""
        main = self.app.main
        if main is None or not main.ready or self.app.screen is not main or self.job or self.launches.under_way:
            return False
        workspace = main.workspace
        return workspace.session.pictured and not (workspace.editor.dirty or workspace.drafting)

    def show_seen(self) -> bool:
        """Show what was seen, with the ranks of a launch until the cluster shows them itself."""
        main, launch, seen = self.app.main, self.launches.shown, self.seen
        if main is None:
            return False
        main.observe(seen if launch is None else launch.over(seen))
        self.say()
        if main.workspace.session.pictured:
            passed = time.monotonic() - self._followed
            self.after("follow cluster", max(0.01, FOLLOW_EVERY - passed), self._follow_cluster)
        return True

    def _follow_cluster(self) -> None:
        """Draw the cluster again when processes came or went."""
        self._followed = time.monotonic()
        workspace, seen = self.app.workspace, self.seen
        if workspace is None or seen is None or not workspace.session.pictured or workspace.editor.dirty:
            return
        if not workspace.drafting and self._occupancy.moved(seen):
            self.app.run_worker(self._follow(seen), group="follow", exclusive=True)

    async def _follow(self, seen: Observation) -> None:
        workspace = self.app.workspace
        assert workspace is not None
        before = workspace.session
        after = await in_thread(lambda: before.followed(seen), "follow cluster")
        if not workspace.follow(before, after):
            self._occupancy = OccupancyWatch()  # counted again with the next observation

    def link_changed(self, status: Status, source: ClusterSource) -> None:
        if source is not self.source:
            return
        if self.app.main is None:
            if status.absent and self.options.address == AUTO and self.app.is_waiting:
                self.drop_source()
                self.app.no_cluster()
            else:
                self.app.say_waiting(status)
                if status.link in TROUBLE and self.options.address == AUTO and self.app.is_waiting:
                    self._offer_clusters()
            return
        self.link = status
        self.say()
        words = link_words(status)
        if words and not self._is_quiet(status):
            # The link can be back sooner than the top line is read.
            severity = "warning" if status.link in TROUBLE else "information"
            self.notify(words, title="Ray" if source.name == "ray" else source.name, severity=severity)

    @flow
    async def _offer_clusters(self) -> None:
        """Let the user choose, where there are several clusters and none was named."""
        if len(await self.found_clusters()) > 1 and self.app.is_waiting:
            self.drop_source()
            self.app.no_cluster()

    async def found_clusters(self) -> dict[str, str]:
        """Addresses of the clusters that have a process on this machine, with how large they are."""
        if self.options.operations is None:
            return {}
        outcome = await self.request("clusters")
        if isinstance(outcome, Failure):
            return {}
        sizes = outcome.get("sizes", {})
        return {one: size_words(*sizes.get(one, (0, 0))) for one in outcome["clusters"]}

    def _is_quiet(self, status: Status) -> bool:
        """Whether a missing cluster needs no message: none was requested and none was seen, or the user ended it."""
        launch = self.launches.launched
        if launch is not None and launch.local and launch.cancelled:
            return True
        return status.absent or (self._awaits_cluster and self.options.address == AUTO)

    def say(self) -> None:
        """Show in the top line what is followed, and the state of the link."""
        source, main = self.source, self.app.main
        if main is None:
            return
        if self.link.absent and self.seen is not None and self.seen.source == "nvml" and not self.launches.under_way:
            main.live_words = (("this machine, without Ray",), True)
        elif source is None or self.launches.under_way or self._is_connecting:
            main.live_words = ((self._job_words,), True)
        elif self.link.link in TROUBLE:
            main.live_words = ((link_words(self.link),), self._is_quiet(self.link))
        else:
            main.live_words = (source_words(source, self._job_words), True)

    @property
    def _awaits_cluster(self) -> bool:
        return self._target is not None and self.options.source_for is None and self.seen is None

    @property
    def _is_connecting(self) -> bool:
        # The process that looks is there at once, what it looks at is not.
        return self._awaits_cluster and self.link.link not in TROUBLE

    @property
    def _job_words(self) -> str:
        if self.launches.under_way and self.launches.launched is not None:
            return self.launches.launched.words
        if self._is_connecting and self.options.address not in (AUTO, LOCAL):
            return f"connecting to {self.options.address}"
        seen = self.seen
        if seen is not None and seen.note and not seen.job:
            return seen.note
        if self.followed:
            note = f" ({seen.note})" if seen is not None and seen.job and seen.note else ""
            return f"job {self.followed}{note}"
        return ""

    @property
    def followed(self) -> str:
        """The selected job, else the one that the cluster shows because it fits the plan."""
        return self.job or (self.seen.job if self.seen is not None else "")

    @property
    def watched(self) -> str:
        """The job whose ranks are shown: the one that is being launched, else the followed one."""
        launched = self.launches.launched
        return launched.job if launched is not None and self.launches.is_shown else self.followed

    def pause(self) -> None:
        if source := self._has_source():
            source.set_paused(not source.paused)
            self.say()

    def _change_interval(self, factor: float) -> None:
        if source := self._has_source():
            source.set_interval(min(SLOWEST, max(FASTEST, source.interval * factor)))
            self.say()

    faster = partialmethod(_change_interval, 0.5)
    slower = partialmethod(_change_interval, 2)

    def _has_source(self) -> ClusterSource | None:
        if self.source is None:
            self.notify("no live values: no cluster is attached")
        return self.source

    def request(self, kind: str, *, timeout: float = 60.0, **body: Any) -> ClusterRequest:
        assert self.options.operations is not None
        return ClusterRequest(self.options.operations, kind, timeout=timeout, address=self.address, **body)

    def can_ask(self) -> bool:
        """Whether there is a cluster to ask; if not, a notice says so."""
        if self.options.operations is None:
            self.notify(NO_CLUSTER)
        elif self.address == LOCAL:
            self.notify("the embedded cluster starts with a launch: L")
        else:
            return True
        return False

    @property
    def has_jobs(self) -> bool:
        """Whether a job is followed, or some are recognised that run."""
        return bool(self.watched) or any(job.runs for job in (self.seen.jobs if self.seen is not None else ()))

    def may_change(self) -> bool:
        operations = self.options.operations
        if operations is not None and operations.refusal:
            self.notify(READ_ONLY, severity="warning")
            return False
        return True

    def forget_job(self) -> None:
        """The job is gone: its ranks leave the picture, and are not missed."""
        seen, launch = self.seen, self.launches.launched
        if launch is not None and launch.job == self.job and not launch.under_way:
            self.launches.launched = None
        self.job = ""
        self.connect()
        main = self.app.main
        if main is not None:
            main.observe(None if seen is None or self.source is None else replace(seen, ranks={}, job=""))
        self.say()

    @flow
    async def keep(self) -> None:
        from placetui.observe.recording.reader import clock
        from placetui.tui.dialogs.ask import AskScreen

        seen = self.app.main.running.observation if self.app.main is not None else None
        if seen is None:
            self.notify("nothing to save: no cluster is attached")
            return
        text, left_out = await in_thread(
            lambda: saved_text(seen, f"The cluster as seen at {clock(seen.time)}."), "save"
        )
        notes = [f"A file cannot express everything: {'; '.join(left_out)}."] if left_out else []
        question = "\n".join(["Write a placement file of the processes that run now.", *notes, "Name of the new file:"])
        name = await self.app.push_screen_wait(AskScreen("Save the cluster as a file", question, PICTURE))
        if name is not None:
            self.app.write_new(name, text)


class _Subscriber:
    """Passes on what a source says; called from the source's thread."""

    def __init__(self, app: Dashboard, source: ClusterSource) -> None:
        self._app = app
        self._source = source

    def updated(self, observation: Observation) -> None:
        main = self._app.main
        if main is not None:
            main.feed.prepare(main.workspace.session, observation)
        self._app.post_message(self._app.Observed(observation, self._source))

    def status_changed(self, status: Status) -> None:
        self._app.post_message(self._app.LinkChanged(status, self._source))


def link_words(status: Status) -> str:
    """What there is to say of a link; empty if it is as it should be."""
    if status.link in TROUBLE:
        return plain(f"{status.link}: {status.message}").strip(": ")
    return plain(status.message) if status.link == "connected" else ""


def size_words(nodes: int, gpus: int) -> str:
    """`2 nodes, 16 GPUs`; empty where that is not known."""
    return f"{count(nodes, 'node')}, {count(gpus, 'GPU')}" if nodes else ""


def source_words(source: ClusterSource, about: str = "") -> tuple[str, str]:
    """`job conf · live every 1 s`, `simulated every 1 s`, `replay 12/90 14:03:20, paused`."""
    name: str = "live" if source.name == "ray" else source.name
    replay = as_replay(source)
    if replay is not None and (position := replay.position).count:
        moment = time.strftime("%H:%M:%S", time.localtime(position.time))
        name = f"{name} {position.number + 1}/{position.count} {moment}"
        if replay.problem:
            name += f" ({replay.problem.partition(' after ')[0]})"
    return about, f"{name}, paused" if source.paused else f"{name} every {source.interval:g} s"
