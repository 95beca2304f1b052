"""What the dashboard does with jobs that run: list, look at, stop; call, kill, restart and read their ranks."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual import work
from textual.message import Message

from placetui.observe.operations import FOREVER, Failure
from placetui.tui.jobs import same_places, session_of
from placetui.tui.launch_actions import LaunchActions
from placetui.tui.reporting import Ended
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.choose import Answer, ChooseScreen
from placetui.tui.screens.confirm import ConfirmScreen
from placetui.tui.screens.jobs import JobsScreen
from placetui.tui.screens.log import ChildLogScreen, RankLogScreen
from placetui.tui.screens.results import ResultsScreen
from placetui.tui.session import Session

LINES = 500
"""Lines of a log that are fetched at first."""

PATIENCE = 3_600.0
"""Seconds that ranks have to answer a call; whoever does not want to wait says so."""


@dataclass
class Attached(Message):
    """A job can be looked at now."""

    job: str
    session: Session | str
    """Or why not."""


class JobActions(LaunchActions):
    """The part of the dashboard that deals with jobs."""

    if TYPE_CHECKING:

        def _show(self, session: Session, *, new: bool = False) -> None: ...

    # The list

    @work
    async def action_jobs(self) -> None:
        """List the jobs."""
        if not self.can_ask():
            return
        screen = JobsScreen(lambda target: self.ask("ps", target, timeout=15.0), self.options.now, self.options.ascii)
        choice = await self.push_screen_wait(screen)
        if choice is None:
            return
        if choice.what == "stop":
            await self._stop(choice.job)
        elif await self._may_leave():
            self.ask("job", self, about=f"attach {choice.job}", job=choice.job)

    def on_ended(self, event: Ended) -> None:
        what, _, name = event.about.partition(" ")
        outcome = event.outcome
        if what in ("attach", "stop", "kill", "restart") and isinstance(outcome, Failure):
            if not outcome.interrupted:
                hint = f" ({outcome.hint})" if outcome.hint else ""
                self.notify(f"{outcome.message}{hint}", title=event.about, severity="error", timeout=10, markup=False)
        elif what == "attach" and not isinstance(outcome, Failure):

            def read() -> None:
                # In a thread: the job's file may lie on something that hangs.
                try:
                    found: Session | str = session_of(name, outcome)
                except ValueError as problem:
                    found = str(problem)
                self.post_message(Attached(name, found))

            threading.Thread(target=read, name="attach", daemon=True).start()
        elif what in ("stop", "kill", "restart"):
            self.notify(f"{_DONE[what]} {name}", markup=False)
            if what == "stop" and name == self.job:
                self.leave_job()

    def on_attached(self, event: Attached) -> None:
        if isinstance(event.session, str):
            self.notify(event.session, severity="error", markup=False)
            return
        self.job = event.job
        if self.session is not None and same_places(self.session, event.session):
            self.connect_cluster()
        else:
            self._show(event.session)
        if event.session.recorded:
            self.notify("its file is not here, or says something else by now: this is its record", markup=False)
        self.notify(f"looking at job {event.job}", markup=False)

    def leave_job(self) -> None:
        """The job is gone: the plan is looked at as such."""
        self.job = ""
        if self.launch is not None and not self.launch.under_way:
            self.launch = None
        self._forget_states()
        self.connect_cluster()

    # The end of a job

    @work
    async def action_stop_job(self) -> None:
        """Stop the job that is looked at; without one, choose from the list."""
        if self.job:
            await self._stop(self.job)
        else:
            self.action_jobs()

    async def _stop(self, job: str) -> None:
        if not self.can_ask(change=True):
            return
        question = f"All ranks of {job} are killed, and its devices are free again."
        if await self.push_screen_wait(ConfirmScreen(f"stop {job}", question, job)):
            launch = self.launch
            if launch is not None and launch.local and launch.under_way and launch.job == job:
                # The embedded cluster is there for this job alone.
                self.cancel_launch()
            else:
                self.ask("down", self, about=f"stop {job}", job=job)

    # One rank

    async def _rank_here(self, title: str) -> tuple[str, int] | None:
        """The rank under the cursor; if there are several, one that the user chooses."""
        if not self.job:
            self.notify("no job is looked at: J lists them", markup=False)
            return None
        ranks = self.main.ranks_here() if self.main is not None else []
        if not ranks:
            self.notify("no rank is placed here", markup=False)
        if len(ranks) < 2:
            return ranks[0] if ranks else None
        answers = [Answer(str(number), f"{name}:{rank}") for number, (name, rank) in enumerate(ranks)]
        chosen = await self.push_screen_wait(ChooseScreen(title, answers, "Which rank?"))
        return None if chosen is None else ranks[int(chosen)]

    @work
    async def action_kill_rank(self) -> None:
        await self._end_rank("kill", "is killed; it comes back only if the file allows restarts.", 60.0)

    @work
    async def action_restart_rank(self) -> None:
        await self._end_rank("restart", "ends and begins anew in its place; what it holds in memory is lost.", 300.0)

    async def _end_rank(self, what: str, means: str, timeout: float) -> None:
        """Do to the rank under the cursor what cannot be undone, once its name was typed."""
        if not self.can_ask(change=True) or (chosen := await self._rank_here(what)) is None:
            return
        component, rank = chosen
        name = f"{component}:{rank}"
        question = f"The process of {name} of job {self.job} {means}"
        if await self.push_screen_wait(ConfirmScreen(f"{what} {name}", question, name)):
            self.ask(what, self, about=f"{what} {name}", timeout=timeout, job=self.job, component=component, rank=rank)

    @work
    async def action_rank_log(self) -> None:
        if not self.can_ask() or (chosen := await self._rank_here("log")) is None:
            return
        component, rank = chosen
        body: dict[str, Any] = {"job": self.job, "component": component, "rank": rank, "lines": LINES, "follow": True}
        self.push_screen(
            RankLogScreen(
                f"log of {component}:{rank}",
                self.options.ascii,
                lambda target: self.ask("logs", target, timeout=FOREVER, **body),
            )
        )

    # A group

    @work
    async def action_call(self) -> None:
        """Call a method on all ranks of a component."""
        main = self.main
        if not self.can_ask(change=True) or main is None:
            return
        if not self.job:
            self.notify("no job is looked at: J lists them", markup=False)
            return
        components = main.session.plan.components
        here = [name for name, _ in main.ranks_here()]
        names = sorted(components, key=lambda name: name not in here)
        if not names:
            self.notify("this job has no components", markup=False)
            return
        component: str | None = names[0]
        if len(names) > 1:
            answers = [Answer(name, name, f"{components[name].world_size} ranks") for name in names]
            component = await self.push_screen_wait(ChooseScreen("call", answers, "On all ranks of which component?"))
        if component is None:
            return
        question = f"Method of {component}; the built-in worker has init, train, eval, save, update, offload, onload."
        method = await self.push_screen_wait(AskScreen("call", question))
        if method is not None:
            body: dict[str, Any] = {"job": self.job, "component": component, "method": method, "patience": PATIENCE}
            self.push_screen(
                ResultsScreen(
                    f"{component}.{method} of {self.job}",
                    component,
                    components[component].world_size,
                    self.options.ascii,
                    lambda target: self.ask("call", target, timeout=PATIENCE + 60.0, **body),
                )
            )

    def action_ray_log(self) -> None:
        """Show what Ray prints."""
        if self.options.operations is None:
            self.can_ask()
            return
        self.push_screen(ChildLogScreen("output of Ray", self.options.ascii, self.options.child_log))


_DONE = {"stop": "stopped", "kill": "killed", "restart": "restarted"}
