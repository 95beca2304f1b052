"""A terminal that is not there: what the dashboard writes is encoded as for a real one, and counted."""

from __future__ import annotations

import re

from textual.drivers.headless_driver import HeadlessDriver

CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x1f]")
"""Escape sequences and control characters: what takes no cell of the screen."""


class CountingDriver(HeadlessDriver):
    """Keeps what would leave for the terminal until it is counted. Start the app with `headless=False`."""

    written: list[str] = []  # noqa: RUF012 - one terminal per benchmark

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        CountingDriver.written.append(data)


def drawn() -> tuple[int, int]:
    """Bytes and cells that were written since the last call."""
    text = "".join(CountingDriver.written)
    CountingDriver.written.clear()
    return len(text.encode()), len(CONTROL.sub("", text))
