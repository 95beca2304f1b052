"""All keys, from the table of actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from placetui.tui.actions import by_group, key_names
from placetui.tui.screens.dialog import Dialog

EVERYWHERE = (
    ("ctrl+p", "Find a command by its name."),
    ("tab", "Move between the panels."),
    ("click", "Look at a device; twice: go to its rule. On a key in the bottom line: press it."),
    ("drag", "Select devices."),
    ("wheel", "Scroll; with shift sideways."),
)
"""What is no action of ours, or done with the mouse."""


class HelpScreen(Dialog[None]):
    """A list of what can be done."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "close")]

    def __init__(self, rebound: Mapping[str, str], ascii: bool) -> None:
        super().__init__()
        self._rebound = rebound
        self._ascii = ascii

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -tall") as box:
            box.border_title = "keys"
            box.border_subtitle = "arrows scroll, escape goes back"
            yield Static(help_table(self._rebound, self._ascii))


def help_table(rebound: Mapping[str, str], ascii: bool) -> Table:
    """Keys and sentences, by group; a sentence that needs several lines stays in its column."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=20)
    table.add_column()
    for group, actions in by_group().items():
        table.add_row(Text(group, "bold"))
        for action in actions:
            keys = "  ".join(key_names(action, rebound, ascii))
            table.add_row(Text(f"  {keys}", "bold"), Text(action.help))
        table.add_row()
    table.add_row(Text("Everywhere", "bold"))
    for keys, sentence in EVERYWHERE:
        table.add_row(Text(f"  {keys}", "bold"), Text(sentence))
    return table
