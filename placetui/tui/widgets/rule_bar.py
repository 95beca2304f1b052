"""One line to edit a component's rule in; the grid follows each keystroke."""

from __future__ import annotations

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from placetui.placement.wording import plain
from placetui.tui.messages import RuleCancelled, RuleDone, RuleTyped
from placetui.tui.widgets.field import TextField


class RuleBar(Horizontal):
    """A label, the rule, and what it gives or why it does not."""

    def compose(self) -> ComposeResult:
        yield Static("", id="rule-name")
        yield TextField(id="rule", compact=True, select_on_focus=False)
        yield Static("", id="rule-says")

    def on_mount(self) -> None:
        self.display = False

    def edit(self, component: str, text: str) -> None:
        self.query_one("#rule-name", Static).update(Content(f"{component}: "))
        self.display = True
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        self.say("enter: apply · escape: cancel")
        field.focus()

    def say(self, words: str, *, wrong: bool = False) -> None:
        """What the rule gives, or why it does not."""
        says = self.query_one("#rule-says", Static)
        says.set_class(wrong, "-wrong")
        says.update(Content(plain(words)), layout=False)

    @property
    def text(self) -> str:
        return self.query_one(Input).value

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(RuleTyped(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(RuleDone())

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.display:
            event.stop()
            self.post_message(RuleCancelled())
