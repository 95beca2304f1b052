"""All about one device, on its own page."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from placetui.tui.dialogs.dialog import Dialog

FRAME = 6
"""Columns of the dialog beside its lines: border, padding and scroll bar."""

NARROW = 100
"""Columns of a terminal of which the dialog leaves none."""

WIDEST = 120


def room_for_details(columns: int) -> int:
    """Columns that lines can have in a terminal of so many."""
    return max(30, min(WIDEST, (columns if columns < NARROW else columns * 9 // 10) - FRAME))


class DetailsScreen(Dialog[None]):
    """Fields, environment and reasons of the processes on a device."""

    KEYS = (("↑ ↓", "scroll"), ("escape", "close"))

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,d,enter", "dismiss", "close")]

    def __init__(self, title: str, text: Text, chip: str = "DETAILS", *, drawn: bool = False) -> None:
        super().__init__(title)
        self.CHIP = chip
        self._text = text
        self._drawn = drawn
        """Whether its lines have their width already, and the dialog that of its lines."""

    def compose(self) -> ComposeResult:
        with self.box(VerticalScroll, "-tall -fitted" if self._drawn else "-tall"):
            yield Static(self._text, markup=False)
