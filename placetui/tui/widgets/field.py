"""One line to type in."""

from __future__ import annotations

from textual.containers import Horizontal
from textual.reactive import reactive
from textual.widgets import Input

ROOM_BESIDE = 56
"""Columns from which two fields with their labels stand beside each other."""


class Fields(Horizontal):
    """Fields with their labels, beside each other where there is room."""

    def on_resize(self) -> None:
        self.set_class(self.size.width < ROOM_BESIDE, "-stacked")


class TextField(Input):
    """Like everything else in the dashboard, it does not blink."""

    cursor_blink = reactive(False, init=False)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """What no number has is left to the screen around it."""
        digits = self.type != "integer" or character is None or character.isdecimal()
        return digits and super().check_consume_key(key, character)

    def number(self, least: int, most: int) -> int | None:
        """The number that was typed; None if it is none, or out of bounds."""
        number = int(self.value) if self.value.isdecimal() else -1
        return number if least <= number <= most else None
