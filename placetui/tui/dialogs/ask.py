"""Dialogs that ask for one line of text."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.widgets.field import TextField


class AskScreen(Dialog[str | None]):
    """One question, one line; None if the user cancels."""

    KEYS = (("enter", "continue"), ("escape", "cancel"))

    def __init__(self, title: str, question: str, value: str = "") -> None:
        super().__init__(title)
        self.CHIP = title.upper()
        self._question = question
        self._value = value

    def compose(self) -> ComposeResult:
        with self.box(classes="-small"):
            yield Static(Content(self._question))
            yield TextField(self._value, compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)


class ConfirmScreen(Dialog[bool]):
    """For what cannot be undone: true once the word was typed exactly; otherwise nothing changes."""

    CHIP = "CONFIRM"
    KEYS = (("enter", "confirm"), ("escape", "cancel"))

    def __init__(self, title: str, question: str, word: str) -> None:
        super().__init__(title)
        self._question = question
        self._word = word

    def compose(self) -> ComposeResult:
        with self.box(classes="-small"):
            yield Static(Content(self._question))
            yield Static(Content(f"Type {self._word} and press enter to confirm."))
            yield TextField(compact=True)
            yield Static(id="confirm-says", classes="muted", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() == self._word:
            self.dismiss(True)
        else:
            self.query_one("#confirm-says", Static).update(f"that is not {self._word}; nothing changed")
