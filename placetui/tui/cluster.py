"""The cluster behind what is open: the source that shows it, the selected job, the launch, and operations on them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.timer import Timer

from placetui.document.running import with_names
from placetui.frameworks.registry import framework_of
from placetui.grid import clean
from placetui.grid.preflight_lines import preflight_lines
from placetui.observe.model import Observation
from placetui.observe.operations import AUTO, FOREVER, JOB_NAME, LOCAL, SPARE, Failure, job_name
from placetui.observe.picture import OccupancyWatch
from placetui.observe.ports import ClusterSource, Link, Status, Update
from placetui.placement.plan import GPU, Plan
from placetui.placement.wording import count, dotted, plain
from placetui.tui.actions import READ_ONLY
from placetui.tui.background import in_thread, start_thread
from placetui.tui.jobs import confirmation, same_places, session_of, stopped_words
from placetui.tui.launch import Launch
from placetui.tui.requests import ClusterRequest, Outcome, failure_words, flow
from placetui.tui.selection import NOTHING
from placetui.tui.session import PICTURE, Session, nodes_of, saved_text

if TYPE_CHECKING:
    from placetui.observe.recording.replay import ReplaySource
    from placetui.tui.app import Dashboard

TROUBLE: tuple[Link, ...] = ("lost", "failed")
SLOWEST, FASTEST = 30.0, 0.2
"""Seconds between observations."""

FOLLOW_AFTER = 1.0
"""Seconds from the last edit until the live picture follows."""

FOLLOW_EVERY = 2.0
"""Seconds from one look at who is where to the next, at least: it takes longer than a look at their memory."""

PAINT_AFTER = 0.1
"""Seconds in which the states of ranks are gathered before they are painted."""

LINES = 500
"""Lines of a log that are fetched at first."""

PATIENCE = 3_600.0
"""Seconds that ranks have to answer a call; the user may cancel earlier."""

SKIP = 60.0
"""Seconds of a recording."""


class _Rank(NamedTuple):
    """A rank that something is asked about."""

    job: str
    component: str
    rank: int

    def __str__(self) -> str:
        return f"{self.component}:{self.rank}"


class ClusterController:
    """Shows one source at a time, and does what the user asks of the cluster behind it."""

    def __init__(self, app: Dashboard) -> None:
        self.app = app
        self.source: ClusterSource | None = None
        self.link = Status("starting")
        self.job = ""
        """The selected job."""

        self.launched: Launch | None = None
        """The last launch."""

        self.hurried = False
        """Whether the user does not want to wait for anything to be taken down."""

        self._options = app.options
        self._connected: Plan | None = None
        """The plan that the source was opened for."""

        self._seen: Observation | None = None
        """What the source showed last."""

        self._cluster: tuple[object, ...] | None = None
        """What the source looks at, if that is a cluster."""

        self._occupancy = OccupancyWatch()
        self._followed = 0.0
        self._timers: dict[str, Timer] = {}
        self._launching: ClusterRequest | None = None

    def close(self) -> None:
        """Look at nothing any more."""
        if self.source is not None:
            self.source.close()

    def _notify(self, words: str, **how: Any) -> None:
        self.app.notify(clean(words, self._options.ascii), markup=False, **how)

    def _after(self, name: str, seconds: float, call: Any, *, again: bool = False) -> None:
        """Do something soon, once; with `again` so long after the last time it was asked for."""
        if name in self._timers:
            if not again:
                return
            self._timers[name].stop()

        def due() -> None:
            # A timer that was stopped may be on its way already.
            if self._timers.get(name) is timer:
                del self._timers[name]
                call()

        timer = self._timers[name] = self.app.set_timer(seconds, due, name=name)

    # Looking

    @property
    def address(self) -> str:
        """Of the cluster that is asked: the embedded one while it is there."""
        launch = self.launched
        if launch is not None and launch.local and launch.under_way and launch.address:
            return launch.address
        return self._options.address

    def follow_plan(self, plan: Plan, *, edited: bool) -> None:
        """Look at what is behind another plan; after an edit when the user rests."""
        if edited:
            self._after("follow edits", FOLLOW_AFTER, self._follow_edits, again=True)
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
        before, self._cluster = self._cluster, None
        if self._options.cluster is not None and self._options.source_for is None and plan.nodes:
            # A cluster is the same whatever is planned for it.
            if session is not None:
                plan = with_names(framework_of(plan), session.document, plan, session.plan_request.overrides)
            groups = tuple((name, part.group_name) for name, part in plan.components.items())
            self._cluster = self.address, self.job, framework_of(plan).name, len(plan.nodes), groups
        if self._cluster is not None and self._cluster == before:
            self._show_seen()
            return
        self.drop_source()
        if self._options.source_for is not None and plan.nodes:
            self.look_at(self._options.source_for(plan))
        elif self._cluster is not None and self._options.cluster is not None and self.address != LOCAL:
            self.look_at(self._options.cluster(plan, self.address, self.job))

    def simulate(self) -> None:
        """Look at a simulated cluster from now on."""
        self._options = replace(self._options, source_for=self._options.demo, operations=None)

    def drop_source(self) -> None:
        """Look at nothing for now."""
        old, self.source, self._seen = self.source, None, None
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
            source.set_interval(self._options.interval)

    def observed(self, update: Update, source: ClusterSource) -> None:
        """A source has something new; a late message of a closed one is dropped."""
        if source is not self.source:
            return
        before, self._seen = self._seen, update.observation
        note = update.observation.note
        if note and not update.observation.job and (before is None or note != before.note):
            self._notify(note)  # the top line may have no room for it
        if not self._show_seen():
            self._first_sight(update.observation)
        if update.observation.source == "ray" and self.app.workspace is not None:
            self.app.workspace.use_nodes(nodes_of(update.observation))

    def _first_sight(self, observation: Observation) -> None:
        """The first picture of a cluster without a file."""
        if self.app.is_waiting and observation.nodes:
            self._occupancy = OccupancyWatch()
            self._occupancy.moved(observation)
            session = Session.of_observation(observation)
            self._connected = session.plan
            self.app.show(session)
            running = [job.name for job in observation.jobs if job.runs]
            if len(running) == 1 and self._options.operations is not None:
                self._read_configuration(running[0])

    @flow
    async def _read_configuration(self, job: str) -> None:
        """Show the plan of the one job that runs, if its command line names a file that can be read here."""
        outcome = await self._request("job", job=job)
        if isinstance(outcome, Failure) or not outcome.get("configuration"):
            return
        workspace = self.app.workspace
        if workspace is not None and workspace.session.pictured and not workspace.editor.dirty:
            session = await in_thread(lambda: session_of(job, outcome), "read configuration")
            self.job = job
            self.app.show(session)

    def _show_seen(self) -> bool:
        """Show what was seen, with the ranks of a launch until the cluster shows them itself."""
        main, launch, seen = self.app.main, self.shown_launch, self._seen
        if main is None:
            return False
        main.observe(seen if launch is None else launch.over(seen))
        self.say()
        if main.workspace.session.pictured:
            passed = time.monotonic() - self._followed
            self._after("follow cluster", max(0.01, FOLLOW_EVERY - passed), self._follow_cluster)
        return True

    def _follow_cluster(self) -> None:
        """Draw the cluster anew where somebody came or went."""
        self._followed = time.monotonic()
        workspace, seen = self.app.workspace, self._seen
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
        """How the link to the source is."""
        if source is not self.source:
            return
        if self.app.main is None:
            if status.absent and self._options.address == AUTO and self.app.is_waiting:
                self.drop_source()  # nobody named a cluster: then a file is what is wanted
                self.app.open()
            else:
                self.app.say_waiting(status)
            return
        self.link = status
        self.say()
        words = link_words(status)
        if words and not self._is_quiet(status):
            # The link can be back sooner than the top line is read.
            severity = "warning" if status.link in TROUBLE else "information"
            self._notify(words, title=source.name, severity=severity)

    def _is_quiet(self, status: Status) -> bool:
        """Whether nobody need be alarmed: no cluster was asked for, and none was seen."""
        return status.absent or (self._cluster is not None and self._options.address == AUTO and self._seen is None)

    def say(self) -> None:
        """Show in the top line what is followed, and the state of the link."""
        source, main = self.source, self.app.main
        if main is None:
            return
        if self.link.absent and self._seen is not None and self._seen.source == "nvml" and not self.launching:
            main.live_words = ("this machine, without Ray", True)
        elif source is None or self.launching or self._is_connecting:
            main.live_words = (self._job_words, True)
        elif self.link.link in TROUBLE:
            main.live_words = (link_words(self.link), self._is_quiet(self.link))
        else:
            main.live_words = (source_words(source, self._job_words), True)

    @property
    def _is_connecting(self) -> bool:
        # The process that looks is there at once, what it looks at is not.
        return self._cluster is not None and self._seen is None and self.link.link not in TROUBLE

    @property
    def _job_words(self) -> str:
        if self.launching and self.launched is not None:
            return self.launched.words
        if self._is_connecting and self._options.address not in (AUTO, LOCAL):
            return f"connecting to {self._options.address}"
        seen = self._seen
        if seen is not None and seen.note and not seen.job:
            return seen.note
        if self.followed:
            note = f" ({seen.note})" if seen is not None and seen.job and seen.note else ""
            return f"job {self.followed}{note}"
        return ""

    @property
    def followed(self) -> str:
        """The selected job, else the one that the cluster shows because it fits the plan."""
        return self.job or (self._seen.job if self._seen is not None else "")

    def pause(self) -> None:
        """Pause the live picture, or continue it."""
        if source := self._has_source():
            source.set_paused(not source.paused)
            self.say()

    def faster(self) -> None:
        """Look at the cluster more often."""
        self._change_interval(0.5)

    def slower(self) -> None:
        """Look at the cluster less often."""
        self._change_interval(2)

    def _change_interval(self, factor: float) -> None:
        if source := self._has_source():
            source.set_interval(min(SLOWEST, max(FASTEST, source.interval * factor)))
            self.say()

    def _has_source(self) -> ClusterSource | None:
        if self.source is None:
            self._notify("there is no live picture: no cluster is attached")
        return self.source

    # Recordings

    def _replay(self) -> ReplaySource | None:
        """What is being played, or word that nothing is."""
        if replay := as_replay(self.source):
            return replay
        self._notify("nothing is replayed: start with --replay F")
        return None

    def step_on(self) -> None:
        """Show the next observation."""
        if replay := self._replay():
            replay.step(1)

    def step_back(self) -> None:
        """Show the observation before."""
        if replay := self._replay():
            replay.step(-1)

    def skip_on(self) -> None:
        """Skip a minute."""
        if replay := self._replay():
            replay.skip(SKIP)

    def skip_back(self) -> None:
        """Go back a minute."""
        if replay := self._replay():
            replay.skip(-SKIP)

    @flow
    async def seek(self) -> None:
        """Go to a time."""
        from placetui.observe.recording.seek import EXAMPLES, moment_of
        from placetui.tui.dialogs.ask import AskScreen

        if not self._replay():
            return
        question = f"A time, an offset, a part, or the number of an observation: {EXAMPLES}"
        wanted = await self.app.push_screen_wait(AskScreen("go to", question))
        if wanted and (replay := self._replay()):
            try:
                replay.seek(moment_of(wanted, replay.times, replay.position.time))
            except ValueError as problem:
                self._notify(str(problem), severity="warning")

    # Asking

    def _request(self, kind: str, *, timeout: float = 60.0, **body: Any) -> ClusterRequest:
        assert self._options.operations is not None
        return ClusterRequest(self._options.operations, kind, timeout=timeout, address=self.address, **body)

    def _can_ask(self) -> bool:
        """Whether there is a cluster to ask; if not, a notice says so."""
        if self._options.operations is None:
            self._notify("there is no cluster behind a simulation or a recording")
        elif self.address == LOCAL:
            self._notify("the embedded cluster starts with a launch: L")
        else:
            return True
        return False

    async def stop(self, job: str) -> Outcome:
        """End a job."""
        return await self._request("down", job=job)

    async def kill(self, component: str, rank: int) -> Outcome:
        """End a rank of the followed job, as in a crash."""
        return await self._request("kill", job=self.followed, component=component, rank=rank)

    async def restart(self, component: str, rank: int) -> Outcome:
        """Start a rank of the followed job anew."""
        return await self._request("restart", timeout=300.0, job=self.followed, component=component, rank=rank)

    def _report(self, outcome: Outcome, asked: str, done: str) -> bool:
        """Say how something went; whether it was done."""
        if isinstance(outcome, Failure):
            if not outcome.interrupted:
                self._notify(failure_words(outcome), title=asked, severity="error", timeout=10)
            return False
        self._notify(done)
        return True

    # Jobs

    @flow
    async def jobs(self) -> None:
        """List the jobs; look at one, or stop it."""
        from placetui.tui.dialogs.jobs import JobsScreen

        if not self._can_ask():
            return
        screen = JobsScreen(lambda: self._request("ps", timeout=15.0), self._options.now, self._options.ascii)
        choice = await self.app.push_screen_wait(screen)
        if choice is None:
            return
        if choice.what == "stop":
            await self._stop(choice.job, choice.owner)
        elif await self.app.may_leave_file():
            await self._attach(choice.job)

    async def _attach(self, job: str) -> None:
        outcome = await self._request("job", job=job)
        if isinstance(outcome, Failure):
            self._report(outcome, f"attach {job}", "")
            return
        if self._fits_open_file(outcome["job"]):
            self.job = job
            self.connect()
            self._notify(f"looking at job {job}")
            return
        seen = self._seen
        try:
            session = await in_thread(lambda: session_of(job, outcome, seen), "attach")
        except ValueError as problem:
            self._notify(str(problem), severity="error")
            return
        self.job = job
        if self.app.session is not None and same_places(self.app.session, session):
            self.connect()
        else:
            self.app.show(session)
            if session.pictured:
                self.connect(session.plan)
        if session.recorded:
            self._notify("its file is not here, or says something else by now: this is its record")
        self._notify(f"looking at job {job}")

    def _fits_open_file(self, told: Mapping[str, Any]) -> bool:
        """Whether a job that placetui did not launch has components of the file that is open."""
        session = self.app.session
        if session is None or session.pictured or session.recorded or told.get("framework") in (None, "placetui"):
            return False
        plan = with_names(framework_of(session.plan), session.document, session.plan, session.plan_request.overrides)
        names = {name for one in plan.components.values() for name in (one.name, one.group_name)}
        groups = set(told.get("groups") or ())
        return framework_of(plan).name == told["framework"] and bool(groups) and groups <= names

    @flow
    async def stop_job(self) -> None:
        """Stop the selected job; without one, choose from the list."""
        if self.followed:
            await self._stop(self.followed, self._owner)
        else:
            self.jobs()

    async def _stop(self, job: str, owner: str) -> None:
        from placetui.tui.dialogs.confirm import ConfirmScreen

        if not self._can_ask() or not self._may_change():
            return
        question, word = confirmation(f"All ranks of {job} are killed, and its devices are free again.", job, owner)
        if not await self.app.push_screen_wait(ConfirmScreen(f"stop {job}", question, word)):
            return
        launch = self.launched
        if launch is not None and launch.local and launch.under_way and launch.job == job:
            self.cancel_launch()  # the embedded cluster is there for this job alone
            return
        outcome = await self.stop(job)
        done = "" if isinstance(outcome, Failure) else stopped_words(job, outcome)
        if self._report(outcome, f"stop {job}", done) and job == self.job:
            self.forget_job()

    @property
    def _owner(self) -> str:
        """Who started the job that is followed, as far as the cluster says."""
        return self._seen.owner if self._seen is not None else ""

    @property
    def has_jobs(self) -> bool:
        """Whether a job is followed, or some are recognised that run."""
        return bool(self.followed) or any(job.runs for job in (self._seen.jobs if self._seen is not None else ()))

    def _is_ours(self) -> bool:
        """Whether single ranks of the followed job may be touched; if not, a notice says why."""
        if not self.followed:
            self._notify("no job selected: J lists them")
            return False
        for job in self._seen.jobs if self._seen is not None else ():
            if job.name == self.followed:
                why = "one rank that dies may end the whole job, and only its driver knows what to call"
                self._notify(f"placetui did not launch {job.name}: {why}. X stops all of it", severity="warning")
                return False
        return True

    def _may_change(self) -> bool:
        operations = self._options.operations
        if operations is not None and operations.refusal:
            self._notify(READ_ONLY, severity="warning")
            return False
        return True

    def forget_job(self) -> None:
        """The job is gone: its ranks leave the picture, and are not missed."""
        seen, launch = self._seen, self.launched
        if launch is not None and launch.job == self.job and not launch.under_way:
            self.launched = None
        self.job = ""
        self.connect()
        main = self.app.main
        if main is not None:
            main.observe(None if seen is None or self.source is None else replace(seen, ranks={}, job=""))
        self.say()

    # Ranks

    async def _selected_rank(self, title: str, *, of_any_job: bool = False) -> _Rank | None:
        """The rank that is selected in the pane in view; if there are several, one that the user chooses."""
        from placetui.tui.dialogs.choose import Answer, ChooseScreen

        ranks = list(dict.fromkeys(self._ranks_here(of_any_job)))
        if not ranks:
            self._notify("no rank is selected")
        if len(ranks) < 2:
            return ranks[0] if ranks else None
        several = len({one.job for one in ranks}) > 1
        answers = [
            Answer(str(number), str(one), f"job {one.job}" if several else "") for number, one in enumerate(ranks)
        ]
        chosen = await self.app.push_screen_wait(ChooseScreen(title, answers, "Which rank?"))
        return None if chosen is None else ranks[int(chosen)]

    def _ranks_here(self, of_any_job: bool) -> Iterator[_Rank]:
        """Those of the followed job that are selected, and on request those of all jobs that run on that device."""
        selection = self.app.main.selection if self.app.main is not None else NOTHING
        place, seen = selection.place, self._seen
        if self.followed:
            yield from (_Rank(self.followed, name, rank) for name, rank in selection.ranks)
        sample = seen.device(place.node, place.index) if seen is not None and place is not None else None
        if of_any_job and sample is not None and place is not None and place.kind == GPU and selection.row is None:
            for claim in sample.claims:
                if claim.kind == "rank" and claim.job and claim.component is not None and claim.rank is not None:
                    yield _Rank(claim.job, claim.component, claim.rank)

    @flow
    async def kill_rank(self) -> None:
        """Kill the selected rank."""
        means = "is killed; it comes back only if the file allows restarts."
        if (rank := await self._confirmed_rank("kill", means)) is not None:
            self._report(await self.kill(rank.component, rank.rank), f"kill {rank}", f"killed {rank}")

    @flow
    async def restart_rank(self) -> None:
        """Restart the selected rank."""
        means = "ends and starts anew in its place; what it holds in memory is lost."
        if (rank := await self._confirmed_rank("restart", means)) is not None:
            self._report(await self.restart(rank.component, rank.rank), f"restart {rank}", f"restarted {rank}")

    async def _confirmed_rank(self, what: str, means: str) -> _Rank | None:
        """The selected rank, once its name was typed."""
        from placetui.tui.dialogs.confirm import ConfirmScreen

        if not self._can_ask() or not self._is_ours() or (chosen := await self._selected_rank(what)) is None:
            return None
        name = str(chosen)
        question, word = confirmation(f"The process of {name} of job {self.followed} {means}", name, self._owner)
        return chosen if await self.app.push_screen_wait(ConfirmScreen(f"{what} {name}", question, word)) else None

    @flow
    async def rank_log(self) -> None:
        """Follow the log of the selected rank."""
        from placetui.tui.dialogs.log import RankLogScreen

        if not self._can_ask() or (chosen := await self._selected_rank("log", of_any_job=True)) is None:
            return
        body = {**chosen._asdict(), "lines": LINES, "follow": True}
        begin = lambda: self._request("logs", timeout=FOREVER, **body)  # noqa: E731
        self.app.push_screen(RankLogScreen(f"log of {chosen}", self._options.ascii, begin))

    @flow
    async def rank_stack(self) -> None:
        """Show where the selected rank is in its code."""
        from rich.text import Text

        from placetui.tui.dialogs.details import DetailsScreen

        if not self._can_ask() or (chosen := await self._selected_rank("stack", of_any_job=True)) is None:
            return
        self._notify(f"reading the stacks of {chosen}")
        found = await self._request("stack", **chosen._asdict())
        if isinstance(found, Failure):
            self._report(found, f"stack of {chosen}", "")
            return
        text = Text(clean(str(found["text"]), self._options.ascii))
        self.app.push_screen(DetailsScreen(f"stacks of {chosen}, read by {found['by']}", text))

    @flow
    async def call(self) -> None:
        """Call a method on all ranks of a component."""
        from placetui.tui.dialogs.ask import AskScreen
        from placetui.tui.dialogs.choose import Answer, ChooseScreen
        from placetui.tui.dialogs.results import ResultsScreen

        main = self.app.main
        if not self._can_ask() or main is None or not self._is_ours():
            return
        components = main.workspace.session.plan.components
        here = [name for name, _ in main.selection.ranks]
        names = sorted(components, key=lambda name: name not in here)
        if not names:
            self._notify("this job has no components")
            return
        component: str | None = names[0]
        if len(names) > 1:
            answers = [Answer(name, name, f"{components[name].world_size} ranks") for name in names]
            ask = ChooseScreen("call", answers, "On all ranks of which component?")
            component = await self.app.push_screen_wait(ask)
        if component is None:
            return
        question = f"Method of {component}; the built-in worker has init, train, eval, save, update, offload, onload."
        method = await self.app.push_screen_wait(AskScreen("call", question))
        if method is not None:
            job = self.followed
            body: dict[str, Any] = {"job": job, "component": component, "method": method, "patience": PATIENCE}
            begin = lambda: self._request("call", timeout=PATIENCE + 60.0, **body)  # noqa: E731
            title, size = f"{component}.{method} of {job}", components[component].world_size
            self.app.push_screen(ResultsScreen(title, component, size, self._options.ascii, begin))

    def ray_log(self) -> None:
        """Show what Ray prints."""
        from placetui.tui.dialogs.log import ChildLogScreen

        if self._options.operations is None:
            self._can_ask()
        else:
            self.app.push_screen(ChildLogScreen("output of Ray", self._options.ascii, self._options.child_log))

    @flow
    async def keep(self) -> None:
        """Save the cluster as it is as a placement file."""
        from placetui.observe.recording.reader import clock
        from placetui.tui.dialogs.ask import AskScreen

        seen = self.app.main.picture.observation if self.app.main is not None else None
        if seen is None:
            self._notify("there is no live picture to save: no cluster is attached")
            return
        text, left_out = await in_thread(
            lambda: saved_text(seen, f"The cluster as seen at {clock(seen.time)}."), "save"
        )
        notes = [f"It cannot say all of it: {'; '.join(left_out)}."] if left_out else []
        question = "\n".join(["A placement file of who is on which GPU now.", *notes, "A new file:"])
        name = await self.app.push_screen_wait(AskScreen("save the cluster as it is", question, PICTURE))
        if name is not None:
            self.app.write_new(name, text)

    # Launching

    @property
    def launching(self) -> bool:
        """Whether a launch is on its way, or being taken back."""
        launch = self.launched
        return launch is not None and launch.under_way and (launch.cancelled or not launch.ready)

    @property
    def shown_launch(self) -> Launch | None:
        """The launch whose ranks are in the grid: one that has begun, of the file that is open."""
        launch, session = self.launched, self.app.session
        if launch is None or session is None or not launch.confirmed or isinstance(launch.outcome, Failure):
            return None
        other = session.plan.source != launch.plan.source or self.job not in ("", launch.job)
        return None if other else launch

    @flow
    async def launch(self) -> None:
        """Show a launch that is under way or has just failed, or begin one."""
        if self.launched is not None and (self.launched.under_way or self.launched.unread):
            await self._show_launch()
            return
        operations, workspace = self._options.operations, self.app.workspace
        if operations is None or workspace is None:
            self._can_ask()
            return
        workspace.settle()
        session = workspace.session
        if self._options.address == LOCAL and not self._may_change():
            return
        if words := why_not_launched(session):
            self._notify(words, title="not launched", severity="error")
            return
        name: str | None = job_name(session.file)
        if not operations.refusal:
            name = await self._ask_name(name or "")
        if name is not None:
            self._begin_launch(session, name, unsaved=workspace.editor.dirty)
            await self._show_launch()

    @flow
    async def preflight(self) -> None:
        """Show whether Ray could place what the file's framework will ask for."""
        from rich.text import Text

        from placetui.tui.dialogs.details import DetailsScreen

        workspace = self.app.workspace
        if not self._can_ask() or workspace is None:
            return
        workspace.settle()
        session = workspace.session
        found = await self._preflight(session)
        if isinstance(found, Failure):
            self._notify(failure_words(found), title="before launch", severity="error", timeout=10)
            return
        text = Text("\n".join(preflight_lines(found, session.file)))
        self.app.push_screen(DetailsScreen("before launch", text))

    async def _ask_name(self, name: str) -> str | None:
        from placetui.tui.dialogs.ask import AskScreen

        question = "Name of the job:"
        while True:
            answer = await self.app.push_screen_wait(AskScreen("launch", question, name))
            if answer is None or JOB_NAME.fullmatch(answer):
                return answer
            question, name = "Letters, digits, dots, dashes and underscores. Name of the job:", answer

    def _begin_launch(self, session: Session, name: str, *, unsaved: bool) -> None:
        assert self._options.operations is not None
        local, dry_run = self._options.address == LOCAL, bool(self._options.operations.refusal)
        launch = self.launched = Launch(
            name, session.plan, local=local, dry_run=dry_run, unsaved=unsaved, now=self._options.now
        )
        patience = float(self._options.launch_with.get("patience", 300.0))
        self._launching = self._request(
            "up",
            timeout=FOREVER if local else patience + SPARE,
            text=session.text,
            source=session.file,
            job=name,
            dry_run=dry_run,
            ask=["launch", "moved", "used"],
            **_assumptions(session),
            **self._options.launch_with,
        )
        self.app.run_worker(self._follow_launch(launch, self._launching), name="launch")
        if not local:
            self.app.run_worker(self._judge_launch(launch, session), name="preflight")
        self.say()

    async def _judge_launch(self, launch: Launch, session: Session) -> None:
        """Add to the launch screen what `preflight` says of the file; the launch reports its own failures."""
        found = await self._preflight(session)
        if not isinstance(found, Failure):
            launch.preflight = found
            self._launch_changed()

    async def _preflight(self, session: Session) -> Outcome:
        assumed = _assumptions(session)
        return await self._request("preflight", text=session.text, source=session.file, **assumed)

    async def _follow_launch(self, launch: Launch, request: ClusterRequest) -> None:
        """Take in the steps of a launch until it is over."""
        async for step in request:
            launch.take(step)
            if launch is not self.launched:
                continue
            if step.get("step") == "match" and not launch.local and self.app.workspace is not None:
                self.app.workspace.use_nodes(launch.nodes)
            elif step.get("step") == "ready":
                self.job = launch.job
                self._notify(f"job {launch.job} runs")
                self.connect()
            if "question" in step and self._launch_screen() is None:
                self._notify(f"the launch of {launch.job} has a question: L shows it", severity="warning", timeout=20)
            self._launch_changed()
        assert request.outcome is not None
        launch.finish(request.outcome)
        if launch is self.launched:
            self._launch_over(launch, request.outcome)

    def _launch_over(self, launch: Launch, outcome: Outcome) -> None:
        self._launching = None
        if isinstance(outcome, Failure):
            self._report_failure(launch, outcome)
        if not launch.running:
            if self.job == launch.job:
                self.forget_job()
            elif self.app.main is not None:
                self.app.main.observe(self._seen)
        self._launch_changed()

    def _report_failure(self, launch: Launch, failure: Failure) -> None:
        if failure.interrupted:
            if launch.confirmed:
                ended = "was taken down" if launch.ready else "was cancelled, and everything was taken back"
                self._notify(f"job {launch.job} {ended}")
            return
        component, rank = failure.details.get("component"), failure.details.get("rank")
        main = self.app.main
        if main is not None and component in main.workspace.session.plan.components:
            main.grid.search(f"{component} {rank}")
        if self._launch_screen() is None:
            launch.unread = True
            self._notify(f"the launch of {launch.job} failed: L shows why", severity="error", timeout=20)

    def _launch_screen(self) -> Any:
        from placetui.tui.dialogs.launch import LaunchScreen

        return next((screen for screen in self.app.screen_stack if isinstance(screen, LaunchScreen)), None)

    async def _show_launch(self) -> None:
        """Show the launch, and pass on what the user wants of it."""
        from placetui.tui.dialogs.launch import NO, YES, LaunchScreen

        launch = self.launched
        if launch is None or self._launch_screen() is not None:
            return
        launch.unread = False
        refusal = self._options.operations.refusal if self._options.operations else ""
        answer = await self.app.push_screen_wait(LaunchScreen(launch, refusal, self._options.ascii))
        if not launch.under_way or self._launching is None:
            return
        if launch.question == "used" and answer == YES and not await self._insists(launch):
            answer = NO
        if launch.question and answer in (YES, NO):
            launch.question = ""
            launch.cancelled = launch.cancelled or answer == NO
            self._launching.answer(answer == YES)
        elif answer == NO:
            self.cancel_launch()
        self._launch_changed()

    async def _insists(self, launch: Launch) -> bool:
        """Whether the user types the name of a job that is to start on GPUs of others."""
        from placetui.tui.dialogs.confirm import ConfirmScreen

        question = f"Others use {count(len(launch.used), 'planned GPU')} of {launch.job}, and may run out of memory."
        confirmed = await self.app.push_screen_wait(ConfirmScreen("launch on used GPUs", question, launch.job))
        return bool(confirmed)

    def cancel_launch(self) -> None:
        """Take back what was begun."""
        if self._launching is not None and self.launched is not None:
            self.launched.cancelled = True
            self._launching.interrupt()

    def _launch_changed(self) -> None:
        if (screen := self._launch_screen()) is not None:
            screen.follow()
        if (main := self.app.main) is not None:
            launch = self.launched
            shown = launch is not None and self.launching and launch.confirmed
            main.follow_launch(launch if shown else None)
        self.say()
        self._after("paint launch", PAINT_AFTER, self._paint_launch)

    def _paint_launch(self) -> None:
        if self.shown_launch is not None:
            self._show_seen()

    # Leaving

    async def may_end(self) -> bool:
        """Whether the dashboard can end: nothing has to be taken down first, or it is down."""
        from placetui.tui.dialogs.choose import Answer, ChooseScreen
        from placetui.tui.dialogs.leaving import LeavingScreen

        launch = self.launched
        if launch is None or not launch.under_way:
            return True
        if launch.confirmed and not launch.cancelled:
            what = f"The job {launch.job} runs on the embedded cluster, which ends with the dashboard."
            if not launch.ready:
                what = f"The launch of {launch.job} is under way."
            answers = [Answer("stay", "stay", key="s"), Answer("end", "take it down, then leave", key="ctrl+t")]
            ask = ChooseScreen("leave", answers, clean(what, self._options.ascii))
            if await self.app.push_screen_wait(ask) != "end":
                self.hurried = False
                return False
        if launch.under_way:
            self.cancel_launch()
            self._launch_changed()
            await self.app.push_screen_wait(LeavingScreen(launch, self._options.ascii))
        self.hurried = False
        return not launch.under_way


class _Subscriber:
    """Passes on what a source says; called from the source's thread."""

    def __init__(self, app: Dashboard, source: ClusterSource) -> None:
        self._app = app
        self._source = source

    def updated(self, update: Update) -> None:
        if (main := self._app.main) is not None:
            main.feed.prepare(main.workspace.session, update.observation)
        self._app.post_message(self._app.Observed(update, self._source))

    def status_changed(self, status: Status) -> None:
        self._app.post_message(self._app.LinkChanged(status, self._source))


def link_words(status: Status) -> str:
    """What there is to say of a link; empty if it is as it should be."""
    if status.link in TROUBLE:
        return plain(f"{status.link}: {status.message}").strip(": ")
    return plain(status.message) if status.link == "connected" else ""


def as_replay(source: ClusterSource | None) -> ReplaySource | None:
    """The source, if it plays a recording; what that takes is loaded only then."""
    if source is None or source.name != "replay":
        return None
    from placetui.observe.recording.replay import ReplaySource

    return source if isinstance(source, ReplaySource) else None


def source_words(source: ClusterSource, about: str = "") -> str:
    """`simulated, every 1 s`, `replay 12/90 14:03:20, paused`, `ray, job conf, every 1 s`."""
    name: str = source.name
    replay = as_replay(source)
    if replay is not None and (position := replay.position).count:
        moment = time.strftime("%H:%M:%S", time.localtime(position.time))
        name = f"{name} {position.number + 1}/{position.count} {moment}"
        if replay.problem:
            name += f" ({replay.problem.partition(' after ')[0]})"
    rest = "paused" if source.paused else f"every {source.interval:g} s"
    return ", ".join(filter(None, (name, about, rest)))


def why_not_launched(session: Session) -> str:
    """Why what is on the screen cannot be launched; empty if it can."""
    if session.recorded:
        return "this is the record of a job: open its file"
    if session.pictured:
        return "this is the cluster as it is: open a file"
    if session.tried:
        return "a what-if is on the screen: r goes back to the file, W makes it an edit"
    errors = [problem for problem in session.problems if problem.severity == "error"]
    if errors and (session.old or session.plan.topology_source != "assumed"):
        return plain(f"{errors[0].message}; ! shows where")
    if not session.plan.components:
        return "there is nothing to launch"
    return ""


def _assumptions(session: Session) -> Mapping[str, Any]:
    """What was asked for beside the text, as `up` wants it."""
    plan_request = session.asked
    given = plan_request.nodes is not None and plan_request.topology_source != "ray"
    return {
        "nodes": [asdict(node) for node in plan_request.nodes or ()] if given else None,
        "mode": plan_request.mode,
        "overrides": [f"{dotted(path)}={json.dumps(value)}" for path, value in plan_request.overrides],
    }
