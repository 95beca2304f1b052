"""Text in columns: measured, cut and aligned."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias

from placetui.placement.wording import clean

CellWidth: TypeAlias = Callable[[str], int]
"""Columns that a text takes on the screen."""

Keep: TypeAlias = Literal["start", "ends", "end"]
"""Which part of a text stays when it is cut."""


def cell_width(text: str) -> int:
    """Columns of `text`: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if character < "\u0300" or "\u2500" <= character < "\u25a0":
        # Letters of most languages, box drawing and blocks.
        return 0 if character == "\xad" else 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, *, keep: Keep = "start", ellipsis: str = "…", measure: CellWidth = cell_width) -> str:
    """`text` in at most `width` columns, with an ellipsis where characters are missing.

    Both ends of a host name tell more than what is between them, and the end of an address more than its start.
    """
    if measure(text) <= width:
        return text
    if width <= len(ellipsis):
        return ellipsis[: max(0, width)]
    room = width - len(ellipsis)
    tail = {"start": 0, "ends": room - room // 2, "end": room}[keep]
    end = _tail(text, tail, measure) if tail else ""
    start = _head(text, room - measure(end), measure) if keep != "end" else ""
    return start + ellipsis + end


def _head(text: str, width: int, measure: CellWidth) -> str:
    end = min(len(text), width)
    while end and measure(text[:end]) > width:
        end -= 1
    while end < len(text) and measure(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def _tail(text: str, width: int, measure: CellWidth) -> str:
    start = max(0, len(text) - width)
    while start < len(text) and measure(text[start:]) > width:
        start += 1
    # A combining mark belongs to the character before it, which is gone.
    while start < len(text) and measure(text[start]) == 0:
        start += 1
    return text[start:]


def table(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), ascii: bool = False) -> list[str]:
    """Rows with their columns aligned by what a terminal shows, those in `right` to the right."""
    shown = [[clean(cell, ascii) for cell in row] for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*shown, strict=True)]

    def aligned(place: int, cell: str) -> str:
        padding = " " * (widths[place] - cell_width(cell))
        return padding + cell if place in right else cell + padding

    return ["  ".join(aligned(place, cell) for place, cell in enumerate(row)).rstrip() for row in shown]
