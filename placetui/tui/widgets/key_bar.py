"""The bottom line: the keys that are useful now. One widget; Textual's footer mounts one per key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.widget import Widget

from placetui.tui.actions import ACTIONS, Action, key_names

KEPT = 2
"""Entries at the end that stay in narrow terminals: help and quit."""

WHILE_WRITING = {"undo": "undo", "redo": "redo", "clear": "back to the grid", "save": "save"}
"""What can be done while all letters go into a text, and what it is called there."""

IN_TABLES = {
    "jump": "to grid",
    "find": "filter",
    "sort": "sort",
    "view_processes": "processes",
    "view_ranks": "ranks",
    "view_drift": "drift",
    "view_groups": "groups",
    "view_plan": "grid",
    "reverse": "reverse",
    "details": "details",
    "help": "help",
    "quit": "quit",
}
"""The same for tables, the most useful first."""


class KeyBar(Widget):
    """Keys and labels of the actions marked for it; a click does what the key does."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key", "key-bar--label"}

    showing: reactive[str] = reactive("grid")
    """Which view is open, for keys that are of use there; `text` is one that is written in."""

    def __init__(self, rebound: Mapping[str, str], ascii: bool) -> None:
        super().__init__()
        self._rebound = rebound
        self._ascii = ascii

    def _entries(self) -> Iterator[tuple[Action, str]]:
        shown = []
        if self.showing == "table":
            known = {action.id: action for action in ACTIONS}
            for name, label in IN_TABLES.items():
                action = replace(known[name], label=label)
                shown.append((action, next(key_names(action, self._rebound, self._ascii))))
        for action in ACTIONS if self.showing != "table" else ():
            if self.showing == "text":
                if action.id in WHILE_WRITING:
                    names = list(key_names(action, self._rebound, self._ascii))
                    key = next((name for name in names if len(name) > 1), names[0])
                    shown.append((replace(action, label=WHILE_WRITING[action.id]), key))
                continue
            useful = (action.footer and action.where != "grid") or action.id == "view_plan"
            if action.footer if self.showing == "grid" else useful:
                shown.append((action, next(key_names(action, self._rebound, self._ascii))))
        # Whoever has little room needs the way to the help, which stands at the end, more than the rest.
        last = shown[-KEPT:]
        room = self.size.width - sum(map(_width, last))
        for entry in shown[:-KEPT]:
            room -= _width(entry)
            if room >= 0:
                yield entry
        yield from last

    def render(self) -> Text:
        """The line."""
        key_style = self.get_component_rich_style("key-bar--key", partial=True)
        label_style = self.get_component_rich_style("key-bar--label", partial=True)
        text = Text(no_wrap=True, end="")
        for action, key in self._entries():
            text.append(f" {key}", key_style)
            text.append(f" {action.label} ", label_style)
        return text

    async def on_click(self, event: events.Click) -> None:
        """Do what is written under the mouse."""
        x = 0
        for action, key in self._entries():
            x += _width((action, key))
            if event.x < x:
                await self.run_action(f"{action.target}.{action.id}")
                return


def _width(entry: tuple[Action, str]) -> int:
    action, key = entry
    return len(key) + len(action.label) + 3
