"""Launching: from the key to ranks that are up, or to the reason why not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from placetui.grid import clean
from placetui.grid.preflight_lines import preflight_lines
from placetui.observe.operations import FOREVER, JOB_NAME, LOCAL, SPARE, Failure, job_name
from placetui.placement.wording import count, dotted, plain
from placetui.tui.cluster.launch import Launch
from placetui.tui.cluster.requests import ClusterRequest, Outcome, failure_words, flow
from placetui.tui.session import Session

if TYPE_CHECKING:
    from placetui.tui.cluster.controller import ClusterController

OUTPUT_AFTER = 3.0
"""Seconds that a rank has been starting after which its output is read."""

OUTPUT_LINES = 20
"""Lines of it that are fetched at first."""

PAINT_AFTER = 0.1
"""Seconds in which steps, of which there is one for each rank, are gathered before they are painted."""


class LaunchController:
    """One launch at a time: begun, shown, asked about, cancelled."""

    def __init__(self, cluster: ClusterController) -> None:
        self.app = cluster.app
        self.cluster = cluster
        self.launched: Launch | None = None
        """The last launch."""

        self.hurried = False
        """Whether the user does not want to wait for anything to be taken down."""

        self._request: ClusterRequest | None = None
        self._output: ClusterRequest | None = None
        """Reads what the slowest rank writes."""

    @property
    def under_way(self) -> bool:
        """Whether a launch is in progress, or being rolled back."""
        launch = self.launched
        return launch is not None and launch.under_way and (launch.cancelled or not launch.ready)

    @property
    def is_shown(self) -> bool:
        """Whether the main screen shows the steps of a launch."""
        return self.launched is not None and self.under_way and self.launched.confirmed

    @property
    def shown(self) -> Launch | None:
        """The launch whose ranks are in the grid: one that has begun, of the file that is open."""
        launch, session = self.launched, self.app.session
        if launch is None or session is None or not launch.confirmed or isinstance(launch.outcome, Failure):
            return None
        other = session.plan.source != launch.plan.source or self.cluster.job not in ("", launch.job)
        return None if other else launch

    @flow
    async def launch(self) -> None:
        """Show a launch that is under way or has just failed, or begin one."""
        if self.launched is not None and (self.launched.under_way or self.launched.unread):
            await self._show_launch()
            return
        operations, workspace = self.cluster.options.operations, self.app.workspace
        if operations is None or workspace is None:
            self.cluster.can_ask()
            return
        workspace.settle()
        session = workspace.session
        if self.cluster.options.address == LOCAL and not self.cluster.may_change():
            return
        if words := why_not_launched(session):
            self.cluster.notify(words, title="Not launched", severity="error")
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
        if not self.cluster.can_ask() or workspace is None:
            return
        workspace.settle()
        session = workspace.session
        self.cluster.notify("asking the cluster whether it fits", timeout=3)
        found = await self._preflight(session)
        if isinstance(found, Failure):
            self.cluster.notify(failure_words(found), title="Before launch", severity="error", timeout=10)
            return
        colors, text = self.app.theme_variables, Text()
        for number, line in enumerate(preflight_lines(found, session.file)):
            wrong = line.startswith("error") or (number == 0 and not found["fits"])
            style = f"bold {colors['error' if wrong else 'success']}" if wrong or number == 0 else ""
            heading = line.startswith(("REQUEST ", "NODE ", "  hint"))
            text.append(f"{line}\n", colors["grid-muted"] if heading else style)
        text.rstrip()
        self.app.push_screen(DetailsScreen("Before launch", text, "BEFORE LAUNCH"))

    async def _ask_name(self, name: str) -> str | None:
        from placetui.tui.dialogs.ask import AskScreen

        question = "Name of the job. Nothing starts before you confirm."
        while True:
            answer = await self.app.push_screen_wait(AskScreen("Launch", question, name))
            if answer is None or JOB_NAME.fullmatch(answer):
                return answer
            question, name = "Only letters, digits, dots, dashes and underscores. Name of the job:", answer

    def _begin_launch(self, session: Session, name: str, *, unsaved: bool) -> None:
        assert self.cluster.options.operations is not None
        local, dry_run = self.cluster.options.address == LOCAL, bool(self.cluster.options.operations.refusal)
        launch = self.launched = Launch(
            name, session.plan, local=local, dry_run=dry_run, unsaved=unsaved, now=self.cluster.options.now
        )
        patience = float(self.cluster.options.launch_with.get("patience", 300.0))
        self._request = self.cluster.request(
            "up",
            timeout=FOREVER if local else patience + SPARE,
            text=session.text,
            source=session.file,
            job=name,
            dry_run=dry_run,
            ask=["launch", "moved", "used"],
            **_assumptions(session),
            **self.cluster.options.launch_with,
        )
        self.app.run_worker(self._follow_launch(launch, self._request), name="launch")
        if not local:
            self.app.run_worker(self._judge_launch(launch, session), name="preflight")
        self.cluster.say()

    async def _judge_launch(self, launch: Launch, session: Session) -> None:
        """Add to the launch screen what `preflight` says of the file; the launch reports its own failures."""
        found = await self._preflight(session)
        if not isinstance(found, Failure):
            launch.preflight = found
            self._launch_changed()

    async def _preflight(self, session: Session) -> Outcome:
        assumed = _assumptions(session)
        return await self.cluster.request("preflight", text=session.text, source=session.file, **assumed)

    async def _follow_launch(self, launch: Launch, request: ClusterRequest) -> None:
        """Take in the steps of a launch until it is over."""
        async for step in request:
            launch.take(step)
            if launch is not self.launched:
                continue
            if step.get("step") == "match" and not launch.local and self.app.workspace is not None:
                self.app.workspace.use_nodes(launch.nodes)
            elif step.get("step") == "ready":
                self.cluster.job = launch.job
                self.cluster.notify(f"job {launch.job} is running")
                self.cluster.connect()
            if "question" in step and self._launch_screen() is None:
                words = f"launch of {launch.job} needs your answer: press L"
                self.cluster.notify(words, severity="warning", timeout=20)
            self._launch_changed()
        assert request.outcome is not None
        launch.finish(request.outcome)
        if launch is self.launched:
            self._launch_over(launch, request.outcome)

    def _read_slowest(self, launch: Launch) -> None:
        """Read what the rank writes that has been starting for the longest time, and no other one."""
        slowest = launch.slowest
        if self._output is not None and slowest != launch.output_of:
            self._output.interrupt()
        elif self._output is None and slowest is not None and launch.seconds(*slowest) >= OUTPUT_AFTER:
            launch.reads(slowest)
            body = {"job": launch.job, "component": slowest[0], "rank": slowest[1], "lines": OUTPUT_LINES}
            self._output = self.cluster.request("logs", timeout=FOREVER, **body, follow=True)
            self.app.run_worker(self._follow_output(launch, self._output), name="output")

    async def _follow_output(self, launch: Launch, request: ClusterRequest) -> None:
        async for step in request:
            launch.output.extend(map(str, step.get("lines") or ()))
        if isinstance(request.outcome, Failure) and not request.outcome.interrupted:
            launch.output_note = plain(request.outcome.message)
            await asyncio.sleep(OUTPUT_AFTER)  # its process may not be there yet
        self._output = None

    def _launch_over(self, launch: Launch, outcome: Outcome) -> None:
        self._request = None
        if self._output is not None:
            self._output.interrupt()
        if isinstance(outcome, Failure):
            self._report_failure(launch, outcome)
        if not launch.running:
            if self.cluster.job == launch.job:
                self.cluster.forget_job()
            elif self.app.main is not None:
                self.app.main.observe(self.cluster.seen)
        self._launch_changed()

    def _report_failure(self, launch: Launch, failure: Failure) -> None:
        if failure.interrupted:
            if launch.confirmed:
                ended = "was stopped" if launch.ready else "was cancelled, and everything was rolled back"
                self.cluster.notify(f"job {launch.job} {ended}")
            return
        component, rank = failure.details.get("component"), failure.details.get("rank")
        main = self.app.main
        if main is not None and component in main.workspace.session.plan.components:
            main.grid.search(f"{component} {rank}")
        if self._launch_screen() is None:
            launch.unread = True
            self.cluster.notify(f"launch of {launch.job} failed: press L for details", severity="error", timeout=20)

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
        refusal = self.cluster.options.operations.refusal if self.cluster.options.operations else ""
        answer = await self.app.push_screen_wait(LaunchScreen(launch, refusal, self.cluster.options.ascii))
        if not launch.under_way or self._request is None:
            return
        if launch.question == "used" and answer == YES and not await self._insists(launch):
            answer = NO
        if launch.question and answer in (YES, NO):
            launch.answer(answer == YES)
            self._request.answer(answer == YES)
        elif answer == NO:
            self.cancel()
        self._launch_changed()

    async def _insists(self, launch: Launch) -> bool:
        """Whether the user types the name of a job that is to start on GPUs of others."""
        from placetui.tui.dialogs.ask import ConfirmScreen

        question = f"Others use {count(len(launch.used), 'planned GPU')} of {launch.job}, and may run out of memory."
        confirmed = await self.app.push_screen_wait(ConfirmScreen("Launch on used GPUs", question, launch.job))
        return bool(confirmed)

    def cancel(self) -> None:
        if self._request is not None and self.launched is not None:
            self.launched.cancelled = True
            self._request.interrupt()

    def _launch_changed(self) -> None:
        self.cluster.say()
        self.cluster.after("paint launch", PAINT_AFTER, self._paint_launch)
        if self.launched is not None and self.launched.under_way and not self.launched.ready:
            self.cluster.after("follow launch", 1.0, self._launch_changed)  # seconds are shown

    def _paint_launch(self) -> None:
        if (screen := self._launch_screen()) is not None:
            screen.follow()
        if (main := self.app.main) is not None:
            main.follow_launch(self.launched if self.is_shown else None)
        if self.launched is not None and self.is_shown and not (self.launched.question or self.launched.cancelled):
            self._read_slowest(self.launched)
        if self.shown is not None:
            self.cluster.show_seen()

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
                what = f"The launch of {launch.job} is in progress."
            answers = [Answer("stay", "stay", key="s"), Answer("end", "stop it, then quit", key="ctrl+t")]
            ask = ChooseScreen("Quit", answers, clean(what, self.cluster.options.ascii))
            if await self.app.push_screen_wait(ask) != "end":
                self.hurried = False
                return False
        if launch.under_way:
            self.cancel()
            self._launch_changed()
            await self.app.push_screen_wait(LeavingScreen(launch, self.cluster.options.ascii))
        self.hurried = False
        return not launch.under_way


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
    """What was requested beside the text, as `up` wants it."""
    plan_request = session.asked
    given = plan_request.nodes is not None and plan_request.topology_source != "ray"
    return {
        "nodes": [node.given() for node in plan_request.nodes or ()] if given else None,
        "mode": plan_request.mode,
        "overrides": [f"{dotted(path)}={json.dumps(value)}" for path, value in plan_request.overrides],
    }
