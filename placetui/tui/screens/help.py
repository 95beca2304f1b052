"""All keys, from the table of actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from placetui.tui.actions import by_group, key_names


class HelpScreen(ModalScreen[None]):
    """A list of what can be done."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "close")]

    def __init__(self, rebound: Mapping[str, str], ascii: bool) -> None:
        super().__init__()
        self._rebound = rebound
        self._ascii = ascii

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -tall") as box:
            box.border_title = "keys"
            yield Static(help_text(self._rebound, self._ascii), markup=False)


def help_text(rebound: Mapping[str, str], ascii: bool) -> Text:
    """Keys and sentences, by group."""
    text = Text()
    for group, actions in by_group().items():
        text.append(f"{group}\n", "bold")
        for action in actions:
            keys = "  ".join(key_names(action, rebound, ascii))
            text.append(f"  {keys:<20}", "bold")
            text.append(f"{action.help}\n")
        text.append("\n")
    text.append("Mouse\n", "bold")
    text.append("  click a device to inspect it, twice for its rule; the wheel scrolls, with shift sideways\n")
    text.append("  ctrl+p opens the command palette; tab moves between the panels")
    return text
