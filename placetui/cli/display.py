"""A line on the terminal while a command waits."""

from __future__ import annotations

import sys
import time

from placetui.cli.output import harmless, raw

SLOW = 1.0
"""Seconds after which a person wants to know what takes so long."""


class WaitingLine:
    """Says on a terminal, after a second, what the command is waiting for; the line is gone afterwards."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._shown = False

    def update(self) -> None:
        """Call now and then while waiting."""
        if not self._shown and time.monotonic() - self._since >= SLOW and sys.stderr.isatty():
            self._shown = True
            raw(sys.stderr).write(f"\r{harmless(self._what)} ...")
            sys.stderr.flush()

    def clear(self) -> None:
        """There is something to print, or nothing more to wait for."""
        if self._shown:
            raw(sys.stderr).write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = False
        self._since = time.monotonic()
