"""Operations on the jobs of a cluster and on their ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from placetui.document.running import with_names
from placetui.frameworks.registry import framework_of
from placetui.grid import clean
from placetui.observe.operations import FOREVER, Failure
from placetui.placement.plan import GPU
from placetui.tui.background import in_thread
from placetui.tui.cluster.jobs import confirmation, same_places, session_of, stopped_words
from placetui.tui.cluster.requests import Outcome, failure_words, flow
from placetui.tui.selection import NOTHING

if TYPE_CHECKING:
    from placetui.observe.model import Observation
    from placetui.tui.cluster.controller import ClusterController
    from placetui.tui.session import Session

LINES = 500
"""Lines of a log that are fetched at first."""

PATIENCE = 3_600.0
"""Seconds that ranks have to answer a call; the user may cancel earlier."""


class _Rank(NamedTuple):
    """A rank that something is asked about."""

    job: str
    component: str
    rank: int

    def __str__(self) -> str:
        return f"{self.component}:{self.rank}"


class JobOperations:
    """Lists jobs, attaches to one and stops it; reads logs of its ranks, calls, kills and restarts them."""

    def __init__(self, cluster: ClusterController) -> None:
        self.app = cluster.app
        self.cluster = cluster

    # Asking

    async def stop(self, job: str) -> Outcome:
        return await self.cluster.request("down", job=job)

    async def kill(self, component: str, rank: int) -> Outcome:
        """End a rank of the followed job, as in a crash."""
        return await self.cluster.request("kill", job=self.cluster.followed, component=component, rank=rank)

    async def restart(self, component: str, rank: int) -> Outcome:
        """Restart a rank of the followed job."""
        job = self.cluster.followed
        return await self.cluster.request("restart", timeout=300.0, job=job, component=component, rank=rank)

    def _report(self, outcome: Outcome, asked: str, done: str) -> bool:
        """Say how something went; whether it was done."""
        if isinstance(outcome, Failure):
            if not outcome.interrupted:
                self.cluster.notify(failure_words(outcome), title=asked, severity="error", timeout=10)
            return False
        self.cluster.notify(done)
        return True

    # Jobs

    @flow
    async def jobs(self) -> None:
        from placetui.tui.dialogs.jobs import JobsScreen

        if not self.cluster.can_ask():
            return
        options = self.cluster.options
        screen = JobsScreen(lambda: self.cluster.request("ps", timeout=15.0), options.now, options.ascii)
        choice = await self.app.push_screen_wait(screen)
        if choice is None:
            return
        if choice.what == "stop":
            await self._stop(choice.job, choice.owner)
        elif await self.app.may_leave_file():
            await self._attach(choice.job)

    async def _attach(self, job: str) -> None:
        outcome = await self.cluster.request("job", job=job)
        if isinstance(outcome, Failure):
            self._report(outcome, f"attach {job}", "")
            return
        if self._fits_open_file(outcome["job"]):
            self.cluster.job = job
            self.cluster.connect()
            self.cluster.notify(f"following job {job}")
            return
        session = await self._session_of(job, outcome, self.cluster.seen)
        if session is not None:
            self._show(job, session)

    @flow
    async def follow_only(self, job: str) -> None:
        """Show the plan of the only running job in place of the cluster as it is, if there is one.

        It is the recorded plan, or that of the file that the job's command line names.
        """
        outcome = await self.cluster.request("job", job=job)
        if isinstance(outcome, Failure) or not (outcome.get("configuration") or outcome.get("plan")):
            return
        session = await self._session_of(job, outcome)
        if session is None:
            return
        if self.cluster.shows_cluster:
            self._show(job, session)
        else:
            self.cluster.looked_up = ""  # again, when the user is back

    async def _session_of(
        self, job: str, outcome: Mapping[str, Any], seen: Observation | None = None
    ) -> Session | None:
        letters = self.app.options.plan_request.letters
        try:
            return await in_thread(lambda: session_of(job, outcome, letters, seen), "attach")
        except ValueError as problem:
            self.cluster.notify(str(problem), severity="error")
            return None

    def _show(self, job: str, session: Session) -> None:
        self.cluster.job = job
        if self.app.session is not None and same_places(self.app.session, session):
            self.cluster.connect()
        else:
            self.app.show(session)
            if session.pictured:
                self.cluster.connect(session.plan)
        if session.recorded:
            self.cluster.notify("its file is not here or has changed; this is the recorded plan")
        self.cluster.notify(f"following job {job}")

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
        if self.cluster.followed:
            await self._stop(self.cluster.followed, self._owner)
        else:
            self.jobs()

    async def _stop(self, job: str, owner: str) -> None:
        from placetui.tui.dialogs.ask import ConfirmScreen

        if not self.cluster.can_ask() or not self.cluster.may_change():
            return
        question, word = confirmation(f"All ranks of {job} are killed, and its devices are free again.", job, owner)
        if not await self.app.push_screen_wait(ConfirmScreen(f"Stop {job}", question, word)):
            return
        launch = self.cluster.launches.launched
        if launch is not None and launch.local and launch.under_way and launch.job == job:
            self.cluster.launches.cancel()  # the embedded cluster is there for this job alone
            return
        outcome = await self.stop(job)
        done = "" if isinstance(outcome, Failure) else stopped_words(job, outcome)
        if self._report(outcome, f"stop {job}", done) and job == self.cluster.job:
            self.cluster.forget_job()

    @property
    def _owner(self) -> str:
        """Who started the job that is followed, as far as the cluster says."""
        return self.cluster.seen.owner if self.cluster.seen is not None else ""

    def _is_ours(self) -> bool:
        """Whether single ranks of the followed job may be touched; if not, a notice says why."""
        if not self.cluster.followed:
            self.cluster.notify("no job selected: J lists them")
            return False
        for job in self.cluster.seen.jobs if self.cluster.seen is not None else ():
            if job.name == self.cluster.followed:
                why = "a rank that dies may end the whole job, and only its driver can call it"
                self.cluster.notify(f"placetui did not launch {job.name}: {why}. X stops the job", severity="warning")
                return False
        return True

    # Ranks

    async def _selected_rank(self, title: str, *, of_any_job: bool = False) -> _Rank | None:
        """The rank that is selected in the pane in view; if there are several, one that the user chooses."""
        from placetui.tui.dialogs.choose import Answer, ChooseScreen, component_key

        ranks = list(dict.fromkeys(self._ranks_here(of_any_job)))
        if not ranks:
            self.cluster.notify("no rank is selected")
        if len(ranks) < 2:
            return ranks[0] if ranks else None
        several, states = len({one.job for one in ranks}) > 1, {one: self._state_of(one) for one in ranks}
        ranks.sort(key=lambda one: states[one] != "dead")  # what one looks for
        keys = {one.component: component_key(self.app.main.grid, one.component) for one in ranks if self.app.main}
        answers = []
        for number, one in enumerate(ranks):
            about = f"{states[one]}  {f'job {one.job}' if several else ''}".strip()
            answers.append(Answer(str(number), str(one), about, *keys.pop(one.component, ())))
        chosen = await self.app.push_screen_wait(ChooseScreen(title.capitalize(), answers, "Which rank?"))
        return None if chosen is None else ranks[int(chosen)]

    def _state_of(self, rank: _Rank) -> str:
        """How a rank of the followed job is, as far as the cluster says."""
        seen = self.cluster.seen
        ranks = seen.ranks.get(rank.component, ()) if seen is not None and rank.job == self.cluster.followed else ()
        return ranks[rank.rank].state if rank.rank < len(ranks) else ""

    def _ranks_here(self, of_any_job: bool) -> Iterator[_Rank]:
        """Those of the followed job that are selected, and on request those of all jobs that run on that device."""
        selection = self.app.main.selection if self.app.main is not None else NOTHING
        place, seen = selection.place, self.cluster.seen
        if job := self.cluster.watched if of_any_job else self.cluster.followed:
            yield from (_Rank(job, name, rank) for name, rank in selection.ranks)
        sample = seen.device(place.node, place.index) if seen is not None and place is not None else None
        if of_any_job and sample is not None and place is not None and place.kind == GPU and selection.row is None:
            for claim in sample.claims:
                if claim.kind == "rank" and claim.job and claim.component is not None and claim.rank is not None:
                    yield _Rank(claim.job, claim.component, claim.rank)

    @flow
    async def kill_rank(self) -> None:
        means = "is killed. Ray restarts it only if the file allows restarts."
        if (rank := await self._confirmed_rank("kill", means)) is not None:
            self._report(await self.kill(rank.component, rank.rank), f"kill {rank}", f"killed {rank}")

    @flow
    async def restart_rank(self) -> None:
        means = "is stopped and started again on the same devices. Its memory is lost."
        if (rank := await self._confirmed_rank("restart", means)) is not None:
            self._report(await self.restart(rank.component, rank.rank), f"restart {rank}", f"restarted {rank}")

    async def _confirmed_rank(self, what: str, means: str) -> _Rank | None:
        """The selected rank, once its name was typed."""
        from placetui.tui.dialogs.ask import ConfirmScreen

        if not self.cluster.can_ask() or not self._is_ours() or (chosen := await self._selected_rank(what)) is None:
            return None
        name = str(chosen)
        question = f"The process of {name} of job {self.cluster.followed} {means}"
        question, word = confirmation(question, name, self._owner)
        confirmed = await self.app.push_screen_wait(ConfirmScreen(f"{what.capitalize()} {name}", question, word))
        return chosen if confirmed else None

    @flow
    async def rank_log(self) -> None:
        from placetui.tui.dialogs.log import RankLogScreen

        if not self.cluster.can_ask() or (chosen := await self._selected_rank("log", of_any_job=True)) is None:
            return
        body = {**chosen._asdict(), "lines": LINES, "follow": True}
        begin = lambda: self.cluster.request("logs", timeout=FOREVER, **body)  # noqa: E731
        self.app.push_screen(RankLogScreen(f"Log of {chosen}", self.cluster.options.ascii, begin))

    @flow
    async def rank_stack(self) -> None:
        from rich.text import Text

        from placetui.tui.dialogs.details import DetailsScreen

        if not self.cluster.can_ask() or (chosen := await self._selected_rank("stack", of_any_job=True)) is None:
            return
        self.cluster.notify(f"reading the stacks of {chosen}")
        found = await self.cluster.request("stack", **chosen._asdict())
        if isinstance(found, Failure):
            self._report(found, f"stack of {chosen}", "")
            return
        lines = [clean(line, self.cluster.options.ascii) for line in str(found["text"]).splitlines()]
        self.app.push_screen(
            DetailsScreen(f"Stacks of {chosen}, read by {found['by']}", Text("\n".join(lines)), "STACK")
        )

    @flow
    async def call(self) -> None:
        from placetui.tui.dialogs.ask import AskScreen
        from placetui.tui.dialogs.choose import ChooseScreen, component_answers
        from placetui.tui.dialogs.results import ResultsScreen

        main = self.app.main
        if not self.cluster.can_ask() or main is None or not self._is_ours():
            return
        components = main.workspace.session.plan.components
        here = [name for name, _ in main.selection.ranks]
        names = sorted(components, key=lambda name: name not in here)
        if not names:
            self.cluster.notify("this job has no components")
            return
        component: str | None = names[0]
        if len(names) > 1:
            shown = [components[name] for name in names]
            answers = component_answers(main.grid, shown, ascii=self.cluster.options.ascii)
            ask = ChooseScreen("Call a method", answers, "On all ranks of which component?")
            component = await self.app.push_screen_wait(ask)
        if component is None:
            return
        question = f"Method of {component}; the built-in worker has init, train, eval, save, update, offload, onload."
        method = await self.app.push_screen_wait(AskScreen("Call a method", question))
        if method is not None:
            job = self.cluster.followed
            body: dict[str, Any] = {"job": job, "component": component, "method": method, "patience": PATIENCE}
            begin = lambda: self.cluster.request("call", timeout=PATIENCE + 60.0, **body)  # noqa: E731
            title, size = f"{component}.{method} of {job}", components[component].world_size
            self.app.push_screen(ResultsScreen(title, component, size, self.cluster.options.ascii, begin))

    def ray_log(self) -> None:
        from placetui.tui.dialogs.log import ChildLogScreen

        options = self.cluster.options
        if options.operations is None:
            self.cluster.can_ask()
        else:
            self.app.push_screen(ChildLogScreen("Output of Ray", options.ascii, options.child_log))
