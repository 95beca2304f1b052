"""Nothing but ASCII, also from Textual's own widgets: every line of the screen passes through here."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_GLYPHS = {
    **dict.fromkeys("─━═┄┈╌▔‾", "-"),
    **dict.fromkeys("│┃║▌▐▎▏▊▍▕", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝", "+"),
    **dict.fromkeys("▁", "_"),
    # Parts of scroll bars: their colours show them.
    **dict.fromkeys("▂▃▄▅▆▇█▋▉▀▗▖▝▘▙▟▛▜", " "),
    **dict.fromkeys("•●○◉", "*"),
    **dict.fromkeys("▶▸→", ">"),
    **dict.fromkeys("◀◂←", "<"),
    **dict.fromkeys("▲↑", "^"),
    **dict.fromkeys("▼▾↓", "v"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
    "…": ".",
    "×": "x",
    "–": "-",
    "−": "-",
    "·": ".",
    "🔎": "> ",
}


class AsciiFilter(LineFilter):
    """Puts a sign of ASCII in the place of every other character, as wide as that was."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in ASCII."""
        return [Segment(plain_text(text), style, control) for text, style, control in segments]


@lru_cache(maxsize=4096)
def plain_text(text: str) -> str:
    """A text in ASCII, as wide as it was."""
    return text if text.isascii() else "".join(map(_plain, text))


def _plain(character: str) -> str:
    if character.isascii():
        return character
    width = cell_len(character)
    letter = unicodedata.normalize("NFKD", character)[0]
    known = _GLYPHS.get(character) or (letter if letter.isascii() and letter.isprintable() else "?")
    return known.ljust(width)[:width]
