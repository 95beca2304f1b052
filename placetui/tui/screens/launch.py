"""The launch screen: what will start where, how far it is, and what went wrong."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from placetui.observe.operations import Failure
from placetui.placement.problems import count
from placetui.tui.launch_text import launch_text
from placetui.tui.launching import Launch
from placetui.tui.screens.choose import Answer, answer_line
from placetui.tui.screens.dialog import Dialog

YES, NO, BACK = "yes", "no", "back"


class LaunchScreen(Dialog[str | None]):
    """One launch, which goes on without the screen: `yes` and `no` are answers to it, `back` leaves it as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "back"),
        Binding("pageup", "scroll(-1)", "up", show=False),
        Binding("pagedown", "scroll(1)", "down", show=False),
    ]

    def __init__(self, launch: Launch, refusal: str, ascii: bool) -> None:
        super().__init__()
        self.launch = launch
        self._refusal = refusal
        self._ascii = ascii
        self._answers: list[Answer] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -fit") as box:
            box.border_title = Content(f"launch {self.launch.job}")
            with VerticalScroll(can_focus=False):
                yield Static(id="launch-text", markup=False)
            yield Static(id="launch-refusal", classes="refusal", markup=False)
            yield OptionList()

    def on_mount(self) -> None:
        self.query_one("#launch-refusal").display = False
        self.query_one(OptionList).focus()
        self._fill()

    def follow(self) -> None:
        """Show what has become of the launch."""
        if self.is_mounted:
            self._fill()

    def _fill(self) -> None:
        self.query_one("#launch-text", Static).update(launch_text(self.launch, self._ascii))
        if self.launch.dry_run and not self.launch.under_way:
            refusal = self.query_one("#launch-refusal", Static)
            refusal.display = True
            refusal.update(Content(f"It will not be launched: {self._refusal}."))
        answers = list(self._possible())
        if answers != self._answers:
            self._answers = answers
            options = self.query_one(OptionList)
            options.set_options(Option(answer_line(answer)) for answer in answers)
            options.highlighted = 0

    def _possible(self) -> list[Answer]:
        launch = self.launch
        ranks = count(sum(one.world_size for one in launch.plan.components.values()), "rank")
        if launch.question == "launch":
            return [Answer(YES, f"launch {ranks}", key="y"), Answer(NO, "do not launch", key="n")]
        if launch.question == "moved":
            return [Answer(NO, "take it back", key="n"), Answer(YES, "start it there", key="y")]
        if launch.under_way and not launch.cancelled:
            cancel = "take the job and its cluster down" if launch.ready else "cancel, and take back what was begun"
            return [Answer(BACK, "back to the grid, it goes on", key="b"), Answer(NO, cancel, key="x")]
        label = "back to the grid" if launch.under_way or isinstance(launch.outcome, Failure) else "close"
        return [Answer(BACK, label, key="b")]

    def action_leave(self) -> None:
        """Before anything was begun leaving means no; later it goes on."""
        undecided = self.launch.under_way and not self.launch.confirmed
        self.dismiss(NO if undecided or self.launch.question else BACK)

    def action_scroll(self, pages: int) -> None:
        body = self.query_one(VerticalScroll)
        body.scroll_relative(y=pages * max(1, body.size.height - 1), animate=False)

    def on_key(self, event: events.Key) -> None:
        for answer in self._answers:
            if event.character is not None and event.character == answer.key:
                event.stop()
                self.dismiss(answer.value)
                return

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._answers[event.option_index].value)
