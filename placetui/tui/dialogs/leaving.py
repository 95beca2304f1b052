"""What is taken down before the dashboard ends."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.widgets import Static

from placetui.grid import clean
from placetui.tui.cluster.launch import Launch
from placetui.tui.dialogs.dialog import Dialog


class LeavingScreen(Dialog[None]):
    """Stays until all is down; escape goes back to the grid instead of leaving."""

    CHIP = "LEAVE"
    KEYS = (("ctrl+c", "leave now"), ("escape", "stay"))

    def __init__(self, launch: Launch, ascii: bool) -> None:
        super().__init__("Quitting", ascii=ascii)
        self._launch = launch
        self._since = time.monotonic()

    def compose(self) -> ComposeResult:
        with self.box(classes="-small"):
            yield Static(id="leaving-says", markup=False)

    def on_mount(self) -> None:
        self._say()
        self.set_interval(0.5, self._say)

    def _say(self) -> None:
        if not self._launch.under_way:
            self.dismiss()
            return
        cluster = " and its embedded cluster" if self._launch.local else ""
        words = f"stopping {self._launch.job}{cluster}, {time.monotonic() - self._since:.0f} s so far"
        self.query_one("#leaving-says", Static).update(clean(words, self._ascii))
