"""All keys, from the table of actions: in columns, with a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
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
    ("click", "Select a device, or press a key."),
    ("double-click", "Go to the rule of a device."),
    ("drag", "Select devices."),
    ("wheel", "Scroll; with shift sideways."),
)
"""What is no action of ours, or done with the mouse."""

COLUMN = 45
"""Columns of text that one column of keys takes at least: with less, too many sentences need a second line."""

MOST_COLUMNS = 4
GAP = 2

Group: TypeAlias = tuple[str, Sequence[tuple[str, str, str]]]
"""A heading, and keys with what they do, and the name that the bottom line has for it."""


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
    """Keys and sentences, by group, as far as they contain some words; columns are about equally high."""
    groups: list[Group] = [
        (group, [(" ".join(key_names(action, rebound, ascii)), action.help, action.label) for action in actions])
        for group, actions in by_group().items()
    ]
    groups.append(("Everywhere", [(key, sentence, "") for key, sentence in EVERYWHERE]))
    found: list[Group] = [
        (group, [row for row in rows if words in " ".join((group, *row)).lower()]) for group, rows in groups
    ]
    found = [(group, rows) for group, rows in found if rows]
    table = Table.grid(padding=(0, GAP, 0, 0), expand=True, pad_edge=False)
    if not found:
        table.add_row(Text("no key matches", "dim"))
        return table
    filled = _balanced(found, columns)
    for one in filled:
        table.add_column(ratio=_widest(one, 0) + _widest(one, 1))
    table.add_row(*map(_column, filled))
    return table


def _widest(groups: Sequence[Group], part: int) -> int:
    """Columns of the longest key, or of the longest sentence."""
    return max(cell_len(row[part]) for _, rows in groups for row in rows)


def _balanced(groups: Sequence[Group], columns: int) -> list[list[Group]]:
    """Groups in so many columns, in their order, so that the highest is as low as can be."""
    heights = [len(rows) + 2 for _, rows in groups]
    for limit in range(max(heights), sum(heights) + 1):
        filled: list[list[Group]] = [[]]
        used = 0
        for group, height in zip(groups, heights, strict=True):
            if used + height > limit:
                filled.append([])
                used = 0
            filled[-1].append(group)
            used += height
        if len(filled) <= columns:
            return filled
    return [list(groups)]


def _column(groups: Sequence[Group]) -> Table:
    """Groups below each other, with their sentences at one place; a long one stays in its column."""
    keys = max(_widest(groups, 0), max(cell_len(group) for group, _ in groups) - 1)
    column = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    column.add_column(no_wrap=True, min_width=keys + 1)
    column.add_column()
    for group, rows in groups:
        column.add_row(Text(group, "bold"))
        for key, sentence, _ in rows:
            column.add_row(Text(f" {key}", "bold"), Text(sentence, "dim"))
        column.add_row()
    return column
