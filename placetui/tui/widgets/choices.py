"""A few values beside each other, one of which is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

LABEL = 11
"""Columns of what is chosen, before the values."""


class Choices(Widget, can_focus=True):
    """`layout  as written  collocated  disaggregated`: arrows or a click choose, enter submits."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--label", "choices--value", "choices--chosen"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "move(-1)", "previous", show=False),
        Binding("right,down", "move(1)", "next", show=False),
        Binding("enter", "submit", "submit", show=False),
    ]

    chosen: reactive[int] = reactive(0)

    class Changed(Message):
        """Another value is chosen."""

    class Submitted(Message):
        """The user is done choosing."""

    def __init__(self, label: str, values: Sequence[str], chosen: int = 0, *, id: str) -> None:
        super().__init__(id=id)
        self._label = label
        self.values = values
        self.set_reactive(Choices.chosen, chosen)

    def _chips(self, width: int) -> Iterator[tuple[int, int, int]]:
        """The number of each value, and where it stands."""
        x, y = LABEL, 0
        for number, value in enumerate(self.values):
            if x > LABEL and x + cell_len(value) + 2 > width:
                x, y = LABEL, y + 1
            yield number, x, y
            x += cell_len(value) + 3

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the values take beside each other."""
        return max(y for _, _, y in self._chips(width)) + 1

    def render(self) -> Text:
        look = {name: self.get_component_rich_style(f"choices--{name}") for name in ("label", "value", "chosen")}
        text, above = Text(self._label, look["label"], no_wrap=True, end=""), 0
        for number, x, y in self._chips(self.content_size.width):
            if y > above:
                text.append("\n")
                above = y
            text.append(" " * (x - cell_len(text.plain.rpartition("\n")[2])))
            text.append(f" {self.values[number]} ", look["chosen" if number == self.chosen else "value"])
        return text

    def watch_chosen(self) -> None:
        self.post_message(self.Changed())

    def action_move(self, steps: int) -> None:
        self.chosen = max(0, min(self.chosen + steps, len(self.values) - 1))

    def action_submit(self) -> None:
        self.post_message(self.Submitted())

    def on_click(self, event: events.Click) -> None:
        for number, x, y in self._chips(self.content_size.width):
            if y == event.y and x <= event.x < x + cell_len(self.values[number]) + 2:
                self.chosen = number
