"""All keys, from the table of actions: in columns, with a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from placetui.tui.actions import by_group, key_names
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.widgets.field import TextField

EVERYWHERE = (
    ("ctrl+p", "Find a command by its name."),
    ("tab", "Move between the panels."),
    ("click", "Select a device; double-click: go to its rule. On a key in the footer: press it."),
    ("drag", "Select devices."),
    ("wheel", "Scroll; with shift sideways."),
)
"""What is no action of ours, or done with the mouse."""

COLUMN = 50
"""Columns of text that one column of keys takes."""

MOST_COLUMNS = 4


class HelpScreen(Dialog[None]):
    """A list of what can be done; typing filters it."""

    CHIP = "KEYS"
    KEYS = (("type", "filter"), ("\u2191 \u2193", "scroll"), ("escape", "close"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,enter", "dismiss", "close", priority=True),
        Binding("up", "scroll(-1)", "up", show=False, priority=True),
        Binding("down", "scroll(1)", "down", show=False, priority=True),
        Binding("pageup", "scroll(-15)", "page up", show=False, priority=True),
        Binding("pagedown", "scroll(15)", "page down", show=False, priority=True),
    ]

    def __init__(self, rebound: Mapping[str, str], ascii: bool) -> None:
        super().__init__("Keys", ascii=ascii)
        self._rebound = rebound

    def compose(self) -> ComposeResult:
        with self.box(classes="-help"):
            yield TextField(placeholder="filter: a key or a word", compact=True)
            with VerticalScroll(can_focus=False):
                yield Static(id="help-keys")

    def on_mount(self) -> None:
        self.call_after_refresh(self._fill)

    def on_resize(self) -> None:
        self._fill()

    @on(Input.Changed)
    def _fill(self) -> None:
        words, room = self.query_one(Input).value.strip().lower(), self.query_one(VerticalScroll).size.width
        columns = max(1, min(MOST_COLUMNS, (room or COLUMN) // COLUMN))
        self.query_one("#help-keys", Static).update(help_table(self._rebound, self._ascii, words, columns))

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def help_table(rebound: Mapping[str, str], ascii: bool, words: str = "", columns: int = 1) -> Table:
    """Keys and sentences, by group, as far as they contain some words; groups stay whole in their column."""
    groups: list[tuple[str, list[tuple[str, str]]]] = [
        (group, [("  ".join(key_names(action, rebound, ascii)), action.help) for action in actions])
        for group, actions in by_group().items()
    ]
    groups.append(("Everywhere", list(EVERYWHERE)))
    found = [
        (group, [(key, sentence) for key, sentence in rows if words in f"{group} {key} {sentence}".lower()])
        for group, rows in groups
    ]
    found = [(group, rows) for group, rows in found if rows]
    table = Table.grid(padding=(0, 3, 0, 0), expand=True)
    if not found:
        table.add_row(Text("no key matches", "dim"))
        return table
    height = sum(len(rows) + 2 for _, rows in found)
    filled: list[list[tuple[str, list[tuple[str, str]]]]] = [[]]
    for entry in found:
        used = sum(len(rows) + 2 for _, rows in filled[-1])
        if used and used + len(entry[1]) / 2 > height / columns and len(filled) < columns:
            filled.append([])
        filled[-1].append(entry)
    for _ in range(columns):
        table.add_column(ratio=1)
    table.add_row(*map(_column, filled))
    return table


def _column(groups: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> Table:
    """Groups below each other; a sentence that needs several lines stays in its column."""
    column = Table.grid()
    for group, rows in groups:
        column.add_row(Text(group, "bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, min_width=8)
        table.add_column()
        for keys, sentence in rows:
            table.add_row(Text(f" {keys}", "bold"), Text(sentence, "dim"))
        column.add_row(table)
        column.add_row()
    return column
