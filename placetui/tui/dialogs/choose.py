"""A dialog with a few answers; each has its own key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from placetui.grid import Style as GridStyle
from placetui.grid import clean
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.text import cut
from placetui.placement.plan import Component
from placetui.placement.wording import count
from placetui.tui.dialogs.dialog import Dialog

if TYPE_CHECKING:
    from placetui.tui.panes.grid import GridPane

LONGEST_RULE = 40
"""Columns of a rule beside its component."""

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
    """The look of the key; None: as the bottom line shows keys."""

    count: str = ""
    """How many there are, at the right."""

    @property
    def guarded(self) -> bool:
        """Whether it takes more than a letter, enter or a click."""
        return self.key.startswith("ctrl+")


class AnswerList(OptionList):
    """Answers to choose from, by arrows and enter, by mouse, or by their keys."""

    @dataclass
    class Chosen(Message):
        """An answer was chosen."""

        value: str

    def __init__(self, answers: Sequence[Answer] = (), *, shifted: bool = False) -> None:
        super().__init__()
        self._answers: list[Answer] = []
        self._shifted = shifted
        self.show(answers)

    def show(self, answers: Sequence[Answer]) -> None:
        if list(answers) != self._answers:
            self._answers = list(answers)
            self.set_options(self._options_of(answers))
            self.highlighted = 0

    def _options_of(self, answers: Sequence[Answer]) -> Iterator[Option]:
        """Keys as chips, and what they mean, in columns."""
        colors = self.app.theme_variables
        keys, muted = Style.parse(f"bold {colors['grid-text']} on {colors['grid-raised']}"), colors["grid-muted"]
        indent, label, about, number = (
            max((cell_len(text) for text in texts), default=0)
            for texts in zip(*((one.key, one.label, one.about, one.count) for one in answers), strict=True)
        )
        for one in answers:
            text = Text(no_wrap=True)
            if one.key:
                text.append(f" {one.key} ", one.style or keys)
            text.append(" " * (indent + 4 - text.cell_len if indent else 0))
            text.append(one.label + " " * (label - cell_len(one.label)))
            if about:
                text.append(f"   {one.about}{' ' * (about - cell_len(one.about))}", muted)
            text.append(f"   {one.count.rjust(number)}" if number else "", muted)
            text.rstrip()
            yield Option(text)

    def _means(self, key: str, character: str | None) -> str | None:
        """The answer that a key stands for."""
        for answer in self._answers:
            if answer.key and answer.key == (key if answer.guarded else character):
                return answer.value
            if self._shifted and answer.key.islower() and character == answer.key.upper():
                return SHIFTED + answer.value
        return None

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self._means(key, character) is not None

    async def _on_key(self, event: events.Key) -> None:
        if (chosen := self._means(event.key, event.character)) is not None:
            event.stop()
            self.post_message(self.Chosen(chosen))

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        answer = self._answers[event.option_index]
        if answer.guarded:
            self.notify(f"{answer.key}: confirm", timeout=3, markup=False)
        else:
            self.post_message(self.Chosen(answer.value))


def component_key(grid: GridPane, name: str) -> tuple[str, Style | None]:
    """The letter of a component as a key, and its look."""
    mark = grid.drawing.marks.get(name) if grid.drawing else None
    if mark is None:
        return "", None
    return mark.letter.lower(), grid.palette.rich_style(
        GridStyle("chip", mark.hue, bold=True)
    ) if grid.palette else None


def component_answers(grid: GridPane, components: Iterable[Component], *, ascii: bool) -> list[Answer]:
    """Components to choose from: the letter on its hue, the rule, and how many ranks it has."""
    ellipsis = glyphs(ascii).ellipsis
    answers = []
    for one in components:
        rule, ranks = clean(one.rule.text.strip(), ascii), count(one.world_size, "rank")
        key, chip = component_key(grid, one.name)
        rule = cut(rule, LONGEST_RULE, ellipsis=ellipsis)
        answers.append(Answer(one.name, clean(one.name, ascii), rule, key, chip, ranks))
    return answers


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
        with self.box(classes="-choices"):
            if self._question:
                yield Static(Content(self._question))
            yield AnswerList(self._answers, shifted=bool(self._shifted))

    @on(AnswerList.Chosen)
    def _chosen(self, event: AnswerList.Chosen) -> None:
        self.dismiss(event.value)
