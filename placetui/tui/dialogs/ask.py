"""A dialog that asks for one line of text."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from placetui.tui.dialogs.dialog import Dialog


class AskScreen(Dialog[str | None]):
    """One question, one line; None if the user cancels."""

    CHIP = "ANSWER"
    KEYS = (("enter", "continue"), ("escape", "cancel"))

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel")]

    def __init__(self, title: str, question: str, value: str = "") -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._value = value

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            yield Static(Content(self._question))
            yield Input(self._value, compact=True)

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)
