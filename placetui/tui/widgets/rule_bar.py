"""One line to edit a component's rule in; the grid follows each keystroke."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from placetui.placement.wording import plain
from placetui.tui.messages import RuleCancelled, RuleDone, RuleTyped
from placetui.tui.widgets.field import TextField
from placetui.tui.widgets.panel import title_of


class RuleBar(Vertical):
    """The rule, and below what it gives or why not. Typing replaces the rule; tab goes on to the next."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next(1)", "next rule", show=False),
        Binding("shift+tab", "next(-1)", "previous rule", show=False),
    ]

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("", id="rule-name")
            yield TextField(id="rule", compact=True, select_on_focus=False)
        yield Static("", id="rule-says")

    def on_mount(self) -> None:
        self.display = False

    def edit(self, component: str, text: str, gives: str) -> None:
        self.border_title = title_of("Rule", None, "the grid changes as you type")
        self.query_one("#rule-name", Static).update(Content(f"{component}: "))
        self.display = True
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = text
        self.say(gives)
        self.screen.set_focus(field)  # at once: what is typed next belongs to the rule
        field.select_all()

    def say(self, words: str, *, wrong: bool = False) -> None:
        """What the rule gives, or why it does not."""
        self.set_class(wrong, "-wrong")
        self.query_one("#rule-says", Static).update(Content(plain(words)))

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

    def action_next(self, steps: int) -> None:
        self.post_message(RuleDone(steps))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.display:
            event.stop()
            self.post_message(RuleCancelled())
