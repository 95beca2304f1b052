"""A dialog with a few answers; each has its own key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from placetui.tui.dialogs.dialog import Dialog

SHIFTED = "\0shift "
"""Stands before an answer whose key was pressed with shift."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Something that can be chosen."""

    value: str
    label: str
    about: str = ""
    key: str = ""
    """A character that chooses it at once. With ctrl, nothing else chooses it: for what starts or ends something."""

    style: Style | None = None

    @property
    def guarded(self) -> bool:
        """Whether it takes more than a letter, enter or a click."""
        return self.key.startswith("ctrl+")

    def line(self, indent: int) -> Text:
        """As a list shows it: its key in that many columns, then what it means."""
        text = Text(no_wrap=True)
        text.append(self.key.ljust(indent), self.style or Style(bold=True))
        text.append(self.label)
        if self.about:
            text.append(f"  {self.about}", Style(dim=True))
        return text


def _lines(answers: Sequence[Answer]) -> list[Option]:
    """Answers, with their keys below each other."""
    indent = max((len(answer.key) for answer in answers), default=0)
    return [Option(answer.line(indent + 2 if indent else 0)) for answer in answers]


class AnswerList(OptionList):
    """Answers to choose from, by arrows and enter, by mouse, or by their keys."""

    @dataclass
    class Chosen(Message):
        """An answer was chosen."""

        value: str

    def __init__(self, answers: Sequence[Answer] = (), *, shifted: bool = False) -> None:
        super().__init__(*_lines(answers))
        self._answers = list(answers)
        self._shifted = shifted

    def show(self, answers: Sequence[Answer]) -> None:
        if list(answers) != self._answers:
            self._answers = list(answers)
            self.set_options(_lines(answers))
            self.highlighted = 0

    def on_key(self, event: events.Key) -> None:
        for answer in self._answers:
            if answer.key and answer.key == (event.key if answer.guarded else event.character):
                chosen = answer.value
            elif self._shifted and answer.key.islower() and event.character == answer.key.upper():
                chosen = SHIFTED + answer.value
            else:
                continue
            event.stop()
            self.post_message(self.Chosen(chosen))
            return

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        answer = self._answers[event.option_index]
        if answer.guarded:
            self.notify(f"{answer.key}: confirm", timeout=3, markup=False)
        else:
            self.post_message(self.Chosen(answer.value))


class ChooseScreen(Dialog[str | None]):
    """A question with answers; None when the user cancels."""

    CHIP = "CHOOSE"
    KEYS = (("enter", "choose"), ("↑ ↓", "move"), ("escape", "cancel"))

    def __init__(self, title: str, answers: Sequence[Answer], question: str = "", *, shifted: str = "") -> None:
        super().__init__(title)
        self._question = question
        self._answers = list(answers)
        self._shifted = shifted
        """What a key with shift means, if it means anything."""

        if shifted:
            self.KEYS = (("enter", "choose"), ("shift+letter", shifted), ("escape", "cancel"))

    def compose(self) -> ComposeResult:
        with self.box(classes="-small"):
            if self._question:
                yield Static(Content(self._question))
            yield AnswerList(self._answers, shifted=bool(self._shifted))

    @on(AnswerList.Chosen)
    def _chosen(self, event: AnswerList.Chosen) -> None:
        self.dismiss(event.value)
