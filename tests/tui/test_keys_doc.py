"""docs/keys.md is what the table of actions gives. PLACETUI_UPDATE_GOLDENS=1 writes it anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from placetui.tui.actions import by_group, key_names

if TYPE_CHECKING:
    from tests.tui.conftest import Snapshots

DOCUMENT = Path(__file__).parents[2] / "docs" / "keys.md"

INTRODUCTION = """\
# Keys

Every key of the dashboard. `?` shows them there, the command palette (`ctrl+p`) finds an action by its name, and the
bottom line names those that are useful at the moment. Below `keys` in the [settings](configuration.md#keys) an action,
by its id, gets other keys.
"""

MOUSE = """\
## Mouse

A click on a device puts the cursor there, a double click shows its rule. A click on a component highlights its ranks,
on a problem shows its place, on a key of the bottom line does what the key does, on a title of a table sorts it, and on
the count of drift in the top line lists it. The wheel scrolls, with shift sideways.
`--no-mouse` leaves the mouse to the terminal.
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
