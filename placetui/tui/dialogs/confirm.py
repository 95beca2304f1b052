"""A question whose answer has to be typed: for what cannot be undone."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from placetui.tui.dialogs.dialog import Dialog


class ConfirmScreen(Dialog[bool]):
    """True once the word was typed exactly; otherwise nothing changes."""

    CHIP = "CONFIRM"
    KEYS = (("enter", "do it"), ("escape", "cancel"))

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "answer(False)", "cancel")]

    def __init__(self, title: str, question: str, word: str) -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._word = word

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            yield Static(Content(self._question))
            yield Static(Content(f"Type {self._word} and press enter to confirm."))
            yield Input(compact=True)
            yield Static(id="confirm-says", classes="muted", markup=False)

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() == self._word:
            self.dismiss(True)
        else:
            self.query_one("#confirm-says", Static).update(f"that is not {self._word}; nothing changed")
