"""A dialog with a few answers; each has a key of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from placetui.tui.screens.dialog import Dialog


@dataclass(frozen=True, slots=True)
class Answer:
    """Something that can be chosen."""

    value: str
    label: str
    about: str = ""
    key: str = ""
    """A character that chooses it at once."""

    style: Style | None = None


def answer_line(answer: Answer) -> Text:
    """An answer as a list shows it: its key, then what it means."""
    text = Text(no_wrap=True)
    text.append(f"{answer.key or ' ':<2}", answer.style or Style(bold=True))
    text.append(answer.label)
    if answer.about:
        text.append(f"  {answer.about}", Style(dim=True))
    return text


class ChooseScreen(Dialog[str | None]):
    """A question with answers; None when the user thinks better of it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel")]

    def __init__(self, title: str, answers: Sequence[Answer], question: str = "") -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._answers = list(answers)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "enter chooses, escape goes back"
            if self._question:
                yield Static(Content(self._question))
            yield OptionList(*(Option(answer_line(answer)) for answer in self._answers))

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_key(self, event: events.Key) -> None:
        for answer in self._answers:
            if answer.key and event.character is not None and event.character == answer.key:
                event.stop()
                self.dismiss(answer.value)
                return

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._answers[event.option_index].value)
