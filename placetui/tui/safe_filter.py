"""The boundary to the terminal: nothing that a file, a host or a process is called can steer it."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_DOT = "·"


class SafeFilter(LineFilter):
    """Takes control characters and direction marks out of every line of every screen.

    Names are cleaned, visibly, where they are drawn; this is for what comes another way, such as the text of a file in
    an editor. The line stays as wide as it was.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without anything that steers."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [segment if segment.control else Segment(harmless(segment.text), segment.style) for segment in segments]


@lru_cache(maxsize=4096)
def harmless(text: str) -> str:
    """The text with dots for what a terminal could take for an instruction; nothing where that takes no room."""
    if text.isprintable():
        return text
    return "".join(_DOT * cell_len(one) if _steers(one) else one for one in text)


def _steers(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp")
