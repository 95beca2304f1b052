"""What commands print beside plain lines: tables, and a line while they wait."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence

from placetui.cli.output import harmless, raw
from placetui.grid.look.text import cell_width
from placetui.placement.wording import clean

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


def table(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), ascii: bool = False) -> list[str]:
    """Rows with their columns aligned by what a terminal shows: a wide character takes two cells.

    Args:
        rows: All with as many cells.
        right: Columns that are aligned to the right.
        ascii: Whether only ASCII can be shown.
    """
    shown = [[clean(cell, ascii) for cell in row] for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*shown, strict=True)]

    def aligned(place: int, cell: str) -> str:
        padding = " " * (widths[place] - cell_width(cell))
        return padding + cell if place in right else cell + padding

    return ["  ".join(aligned(place, cell) for place, cell in enumerate(row)).rstrip() for row in shown]
