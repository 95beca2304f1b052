"""docs/keys.md is what the table of actions gives. PLACETUI_UPDATE_GOLDENS=1 writes it anew."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from placetui.tui.actions import ACTIONS, by_group, key_names
from placetui.tui.dialogs.help import help_table

if TYPE_CHECKING:
    from tests.tui.conftest import Snapshots

DOCUMENT = Path(__file__).parents[2] / "docs" / "keys.md"

INTRODUCTION = """\
# Keys

Every key of the dashboard. `?` shows this list, the command palette (`ctrl+p`) finds an action by its name, and the
footer shows the keys that are useful now. To change keys, use the id of the action under `keys` in your
[settings](configuration.md#keys).
"""

MOUSE = """\
## Mouse

Click a device to move the cursor there, and double-click it to show its rule. Click a component to highlight its ranks,
a problem to go to its line, a key in the footer to press it, a column title to sort by it, or the drift count in the
top line to list the drift. The wheel scrolls; with shift, sideways. `--no-mouse` leaves the mouse to the terminal.
"""


def keys_table() -> str:
    parts = [INTRODUCTION]
    for group, actions in by_group().items():
        rows = []
        for action in actions:
            keys = " ".join(f"`{key}`" for key in key_names(action, {}))
            rows.append(f"| {keys} | `{action.id}` | {action.help} |")
        parts.append("\n".join((f"## {group}\n", "| keys | id | what it does |", "|---|---|---|", *rows, "")))
    return "\n".join((*parts, MOUSE))


def test_the_documentation_has_every_key(snapshots: Snapshots) -> None:
    if snapshots.update:
        DOCUMENT.write_text(keys_table(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == keys_table()


def test_each_column_of_the_help_is_as_wide_as_its_own_keys() -> None:
    text = Console(width=187, record=True, file=io.StringIO())
    text.print(help_table({}, False, columns=4))
    shown = text.export_text()
    assert " p    Pause or continue live values." in shown
    assert " del backspace  Unassign a component there." in shown


def test_the_help_has_a_line_for_each_key_where_two_columns_fit() -> None:
    text = Console(width=112, record=True, file=io.StringIO())
    text.print(help_table({}, False, columns=2))
    lines = text.export_text().splitlines()
    for action in ACTIONS:
        assert any(action.help in line for line in lines), action.help
