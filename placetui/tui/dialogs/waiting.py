"""Shown until the first observation of a cluster arrives."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from placetui.observe.ports import Status
from placetui.placement.wording import plain
from placetui.tui.widgets.key_bar import Chip, KeyBar, pressed


class WaitingScreen(Screen[None]):
    """A few words; keys of the app work, so that one can leave or open a file instead."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -small") as box:
            box.border_title = "The cluster as it is"
            yield Static(Content("looking for the Ray cluster …"), id="waiting")
        bar = KeyBar({}, self.app.has_class("-ascii"))
        bar.hints = (pressed("o", "open a file"), pressed("q", "quit"))
        bar.chip = Chip("CLUSTER")
        yield bar

    def say(self, status: Status) -> None:
        if status.message:
            self.query_one("#waiting", Static).update(Content(plain(f"{status.link}: {status.message}")))
