"""What a save would change, before it does."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Label, Static

from placetui.grid import clean
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.editor import Review

MOST_LINES = 400
"""Lines of the difference that are shown; a person reads fewer."""


class SaveScreen(Dialog[bool]):
    """The difference of the texts, and who moves."""

    CHIP = "SAVE"
    KEYS: tuple[tuple[str, str], ...] = (("enter", "save"), ("↑ ↓", "scroll"), ("escape", "cancel"))

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,s,y", "answer(True)", "save"),
        Binding("escape,q,n", "answer(False)", "cancel"),
    ]

    def __init__(self, title: str, review: Review, ascii: bool, *, only_look: bool = False) -> None:
        super().__init__(title, ascii=ascii)
        self._review = review
        if only_look:
            self.KEYS = (("escape", "close"),)

    def compose(self) -> ComposeResult:
        with self.box(VerticalScroll, "-tall -fitted"):
            colors = self.app.theme_variables
            lines = self._review.text[2:]  # without the names of both files, which are the same
            yield Static(difference_text(lines, self._ascii, colors["grid-ok"], colors["grid-error"]), markup=False)
            yield Label(f"\n{self._review.heading}", classes="heading", markup=False)
            if self._review.moves:
                yield Static(clean_lines(self._review.moves, self._ascii), markup=False)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


def difference_text(lines: list[str], ascii: bool, new: str, old: str) -> Text:
    """A unified difference; what is new and what was old in these colours."""
    styles = {"+": Style(color=new), "-": Style(color=old), "@": Style(dim=True)}
    shown = [Text(clean(line.rstrip(), ascii), styles.get(line[:1], Style())) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(Text(f"and {len(lines) - MOST_LINES} more lines", Style(dim=True)))
    return Text("\n").join(shown)


def clean_lines(lines: list[str], ascii: bool) -> str:
    """Lines as they can be shown."""
    shown = [clean(line, ascii) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"and {len(lines) - MOST_LINES} more")
    return "\n".join(shown)
