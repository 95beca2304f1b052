"""Names from files and hosts, made safe to print and cut to columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

CellWidth: TypeAlias = Callable[[str], int]
"""Columns that a text takes on the screen."""

Keep: TypeAlias = Literal["start", "ends", "end"]
"""Which part of a text stays when it is cut."""


def cell_width(text: str) -> int:
    """Columns of `text`: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


@lru_cache(maxsize=4096)
def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@lru_cache(maxsize=16384)
def clean(text: str, ascii: bool = False) -> str:
    """`text` without anything that a terminal, a viewer or a reader could take for an instruction.

    Control characters, escape sequences, direction marks and line breaks become a dot; in ASCII mode accents are
    dropped and other characters become a question mark.
    """
    if text.isascii() and text.isprintable():
        return text
    if ascii:
        decomposed = unicodedata.normalize("NFKD", text)
        return "".join(_ascii(character) for character in decomposed)
    return "".join("·" if _is_unsafe(character) else character for character in text)


def _is_unsafe(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp")


def _ascii(character: str) -> str:
    if character.isascii():
        return character if character.isprintable() else "."
    return "" if unicodedata.combining(character) else "?"


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


def share_figure(share: float) -> str:
    """`.80`, `1.0`, `1.25`; always rounded down, as shares are."""
    hundredths = round(share * 10_000) // 100
    if hundredths == 0:
        return "<.01" if share > 0 else ".00"
    if hundredths == 100:
        return "1.0"
    text = f"{hundredths // 100}.{hundredths % 100:02d}"
    return text[1:] if hundredths < 100 else text
