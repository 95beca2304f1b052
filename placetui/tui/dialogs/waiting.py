"""Shown until the first observation of a cluster arrives."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from placetui.observe.ports import Status
from placetui.placement.wording import plain


class WaitingScreen(Screen[None]):
    """A few words; keys of the app work, so that one can leave or open a file instead."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = "The cluster as it is"
            yield Static(Content("waiting for the first values of the cluster …"), id="waiting")
            yield Static(Content("o: open a file instead · q: quit"), classes="muted")

    def say(self, status: Status) -> None:
        if status.message:
            self.query_one("#waiting", Static).update(Content(plain(f"{status.link}: {status.message}")))
