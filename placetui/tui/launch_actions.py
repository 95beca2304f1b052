"""What the dashboard does about launching: from the dry run to the running job, or back to nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from textual import work
from textual.timer import Timer

from placetui.grid import clean
from placetui.observe.operations import FOREVER, JOB_NAME, LOCAL, SPARE, Failure, Operation, job_name
from placetui.placement.problems import dotted
from placetui.tui.cluster_link import ClusterLink
from placetui.tui.launching import Launch, Outcome
from placetui.tui.reporting import Ended, Told
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.choose import Answer, ChooseScreen
from placetui.tui.screens.launch import NO, YES, LaunchScreen
from placetui.tui.screens.leaving import LeavingScreen
from placetui.tui.session import Session

LAUNCH = "launch"
PAINT_AFTER = 0.1
"""Seconds in which the states of ranks are gathered before they are painted."""


class LaunchActions(ClusterLink):
    """The part of the dashboard that launches."""

    hurried = False
    """Whether the user does not want to wait for anything to be taken down."""

    _launching: Operation | None = None
    _launches = 0
    _painting: Timer | None = None

    # Launching

    @work
    async def action_launch(self) -> None:
        """Look at a launch, or begin one."""
        if self.launch is not None and self.launch.under_way:
            self._show_launch()
            return
        operations, main = self.options.operations, self.main
        if operations is None or main is None:
            self.can_ask()
            return
        main.settle()
        session = main.session
        if operations.refusal and self.options.address == LOCAL:
            self.say_refusal(operations.refusal)
            return
        if words := _why_not(session):
            self.notify(words, title="not launched", severity="error", markup=False)
            return
        name: str | None = job_name(session.file)
        if not operations.refusal:
            name = await self._ask_name(name or "")
        if name is not None:
            self._begin_launch(session, name, unsaved=main.editor.dirty)

    async def _ask_name(self, name: str) -> str | None:
        question = "Name of the job:"
        while True:
            answer = await self.push_screen_wait(AskScreen("launch", question, name))
            if answer is None or JOB_NAME.fullmatch(answer):
                return answer
            question, name = "Letters, digits, dots, dashes and underscores. Name of the job:", answer

    def _begin_launch(self, session: Session, name: str, *, unsaved: bool) -> None:
        assert self.options.operations is not None
        local = self.options.address == LOCAL
        dry_run = bool(self.options.operations.refusal)
        self.launch = Launch(name, session.plan, local=local, dry_run=dry_run, unsaved=unsaved)
        self._launches += 1
        patience = float(self.options.launch_with.get("patience", 300.0))
        self._launching = self.ask(
            "up",
            self,
            about=f"{LAUNCH} {self._launches}",
            timeout=FOREVER if local else patience + SPARE,
            text=session.text,
            source=session.file,
            job=name,
            dry_run=dry_run,
            ask=["launch", "moved"],
            **_assumptions(session),
            **self.options.launch_with,
        )
        self._show_launch()
        self._say_live()

    @work
    async def _show_launch(self) -> None:
        """Show the launch, and pass on what the user wants of it."""
        launch = self.launch
        if launch is None or any(isinstance(screen, LaunchScreen) for screen in self.screen_stack):
            return
        refusal = self.options.operations.refusal if self.options.operations else ""
        answer = await self.push_screen_wait(LaunchScreen(launch, refusal, self.options.ascii))
        operation = self._launching
        if not launch.under_way or operation is None:
            return
        if launch.question and answer in (YES, NO):
            launch.question = ""
            launch.cancelled = launch.cancelled or answer == NO
            operation.answer(answer == YES)
        elif answer == NO:
            self.cancel_launch()
        self._launch_moved_on()

    def cancel_launch(self) -> None:
        """Take back what was begun."""
        if self._launching is not None and self.launch is not None:
            self.launch.cancelled = True
            self._launching.interrupt()

    def on_told(self, event: Told) -> None:
        launch = self.launch
        if launch is None or event.about != f"{LAUNCH} {self._launches}":
            return
        launch.take(event.step)
        if event.step.get("step") == "match" and not launch.local:
            self.use_nodes(launch.nodes)
        elif event.step.get("step") == "ready":
            self.job = launch.job
            self.notify(f"job {launch.job} runs", markup=False)
            self.connect_cluster()
        if launch.question:
            self._show_launch()
        self._launch_moved_on()

    def on_ended(self, event: Ended) -> None:
        if self.launch is not None and event.about == f"{LAUNCH} {self._launches}":
            self._launch_over(self.launch, event.outcome)

    def _launch_over(self, launch: Launch, outcome: Outcome) -> None:
        launch.finish(outcome)
        self._launching = None
        if not launch.running:
            if self.job == launch.job:
                self.job = ""
                self.connect_cluster()
            self._forget_states()
        if isinstance(outcome, Failure):
            self._tell_failure(launch, outcome)
        for screen in self.screen_stack:
            if isinstance(screen, LeavingScreen):
                screen.dismiss()
        self._launch_moved_on()

    def _tell_failure(self, launch: Launch, failure: Failure) -> None:
        if failure.interrupted:
            if launch.confirmed:
                words = (
                    f"job {launch.job} was taken down" if launch.ready else f"{launch.job}: everything was taken back"
                )
                self.notify(words, markup=False)
            return
        component, rank = failure.details.get("component"), failure.details.get("rank")
        if self.main is not None and component in self.main.session.plan.components:
            self.main.show_found(f"{component} {rank}")
        self._show_launch()

    # What is seen of it

    def _launch_moved_on(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, LaunchScreen):
                screen.follow()
        self._say_live()
        if self._painting is None:
            self._painting = self.set_timer(PAINT_AFTER, self._paint_states, name="paint launch")

    def _paint_states(self) -> None:
        self._painting = None
        launch, main = self.shown_launch, self.main
        if launch is None or main is None:
            return
        seen = self._seen
        main.show_observation(self.with_launch(seen) if seen is not None else launch.over(None))

    def _forget_states(self) -> None:
        main = self.main
        if main is not None and main.observation is not None:
            main.observation = None
            main.show_session(main.session)
            if self._seen is not None:
                main.show_observation(self._seen)

    # Leaving

    def action_interrupt(self) -> None:
        """Leave at once; what is being launched is asked about the first time."""
        if self.launch is None or not self.launch.under_way or self.hurried:
            self.leave()
            return
        self.hurried = True
        self.notify("ctrl+c again leaves without waiting", markup=False)
        self._quit_asking()

    async def _may_end(self) -> bool:
        launch = self.launch
        if launch is None or not launch.under_way:
            return True
        if launch.confirmed and not launch.cancelled:
            what = f"The job {launch.job} runs on the embedded cluster, which ends with the dashboard."
            if not launch.ready:
                what = f"The launch of {launch.job} is under way."
            answers = [Answer("end", "take it down, then leave", key="t"), Answer("stay", "stay", key="s")]
            if await self.push_screen_wait(ChooseScreen("leave", answers, clean(what, self.options.ascii))) != "end":
                self.hurried = False
                return False
        if launch.under_way:
            self.cancel_launch()
            self._launch_moved_on()
            await self.push_screen_wait(LeavingScreen(launch, self.options.ascii))
        self.hurried = False
        return not launch.under_way


def _why_not(session: Session) -> str:
    """Why what is on the screen cannot be launched; empty if it can."""
    if session.recorded:
        return "this is the record of a job: open its file"
    if session.pictured:
        return "this is the cluster as it is: open a file"
    if session.tried:
        return "a what-if is on the screen: r goes back to the file"
    errors = [problem for problem in session.problems if problem.severity == "error"]
    if errors and (session.old or session.plan.topology_source != "assumed"):
        return f"{errors[0].message}; ! shows where"
    if not session.plan.components:
        return "there is nothing to launch"
    return ""


def _assumptions(session: Session) -> Mapping[str, Any]:
    """What was asked for beside the text, as `up` wants it."""
    wishes = session.asked
    given = wishes.nodes is not None and wishes.topology_source != "ray"
    return {
        "nodes": [asdict(node) for node in wishes.nodes or ()] if given else None,
        "mode": wishes.mode,
        "overrides": [f"{dotted(path)}={json.dumps(value)}" for path, value in wishes.overrides],
    }
