"""What every line passes before it reaches the terminal: nothing that steers it, and ASCII alone if asked for."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from placetui.placement.wording import is_unsafe

_DOT = "·"


class SafeFilter(LineFilter):
    """Takes control characters and direction marks out of every line of every screen.

    Names are cleaned, visibly, where they are drawn; this is for what comes another way, such as the text of a file in
    an editor. The line keeps its width.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [segment if segment.control else Segment(harmless(segment.text), segment.style) for segment in segments]


@lru_cache(maxsize=4096)
def harmless(text: str) -> str:
    """The text with dots for what a terminal could take for an instruction; nothing where that takes no room."""
    if text.isprintable():
        return text
    return "".join(_DOT * cell_len(one) if is_unsafe(one) else one for one in text)


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
        return [Segment(plain_text(text), style, control) for text, style, control in segments]


@lru_cache(maxsize=4096)
def plain_text(text: str) -> str:
    """A text in ASCII, of the same width."""
    return text if text.isascii() else "".join(map(_plain, text))


def _plain(character: str) -> str:
    if character.isascii():
        return character
    width = cell_len(character)
    letter = unicodedata.normalize("NFKD", character)[0]
    known = _GLYPHS.get(character) or (letter if letter.isascii() and letter.isprintable() else "?")
    return known.ljust(width)[:width]
