"""Choose a file: recent ones and the samples, or a path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from placetui.grid import clean
from placetui.tui.screens.dialog import Dialog

ABOUT = "Type to filter, or a path and enter."


@dataclass(frozen=True, slots=True)
class Choice:
    """A file that can be opened."""

    path: str
    about: str = ""
    """What its first comment says."""

    recent: bool = False


class PickerScreen(Dialog[str | None]):
    """A list of files; typing filters it, and a path can be typed too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel"),
        Binding("down", "focus_list", "list", show=False),
    ]

    def __init__(self, choices: Sequence[Choice], ascii: bool) -> None:
        super().__init__()
        self._choices = list(choices)
        self._shown = list(choices)
        self._ascii = ascii

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -tall") as box:
            box.border_title = "open a file"
            box.border_subtitle = "enter opens, escape goes back"
            yield Static(ABOUT, id="picker-says", classes="muted", markup=False)
            yield Input(placeholder="path of a placement file", compact=True)
            yield OptionList()

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._fill("")

    def _fill(self, words: str) -> None:
        self._shown = [choice for choice in self._choices if words.lower() in f"{choice.path} {choice.about}".lower()]
        listing = self.query_one(OptionList)
        listing.set_options(Option(self._line(choice)) for choice in self._shown)
        listing.highlighted = 0 if self._shown else None
        nothing = words and not self._shown and not os.path.isfile(os.path.expanduser(words))
        says = "No file in the list matches, and none has this path." if nothing else ABOUT
        self.query_one("#picker-says", Static).update(says)

    def _line(self, choice: Choice) -> Text:
        text = Text(no_wrap=True)
        text.append(clean(os.path.basename(choice.path), self._ascii), "bold")
        where = clean(os.path.dirname(choice.path), self._ascii) if choice.recent else "sample"
        text.append(f"  {where}", "dim")
        if choice.about:
            text.append(f"\n  {clean(choice.about, self._ascii)}", "dim")
        return text

    def action_focus_list(self) -> None:
        self.query_one(OptionList).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        typed = event.value.strip()
        if typed and os.path.isfile(os.path.expanduser(typed)):
            self.dismiss(os.path.expanduser(typed))
        elif self._shown:
            highlighted = self.query_one(OptionList).highlighted
            self.dismiss(self._shown[highlighted or 0].path)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index].path)
