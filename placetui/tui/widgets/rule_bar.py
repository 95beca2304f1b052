"""One line to edit a component's rule in; the grid follows each keystroke."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static


class RuleBar(Horizontal):
    """A label, the rule, and what it gives or why it does not."""

    @dataclass
    class Typed(Message):
        """The rule reads otherwise now; only the latest reading counts."""

        component: str
        text: str

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, RuleBar.Typed)

    @dataclass
    class Done(Message):
        """The user is content."""

        component: str
        text: str

    @dataclass
    class Cancelled(Message):
        """The user thinks better of it."""

    component = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="rule-name")
        yield Input(id="rule", compact=True, select_on_focus=False)
        yield Static("", id="rule-says")

    def on_mount(self) -> None:
        self.display = False
        self.query_one(Input).cursor_blink = False

    def edit(self, component: str, text: str) -> None:
        """Open the line on a rule."""
        self.component = component
        self.query_one("#rule-name", Static).update(Content(f"{component}: "))
        self.display = True
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        self.say("enter takes it, escape leaves it as it was")
        field.focus()

    def say(self, words: str, *, wrong: bool = False) -> None:
        """What the rule gives, or why it does not."""
        says = self.query_one("#rule-says", Static)
        says.set_class(wrong, "-wrong")
        says.update(Content(words), layout=False)

    @property
    def text(self) -> str:
        """The rule as it reads now."""
        return self.query_one(Input).value

    def close(self) -> None:
        """Hide the line."""
        self.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Typed(self.component, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Done(self.component, event.value))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.display:
            event.stop()
            self.post_message(self.Cancelled())
