"""Nothing but ASCII from Textual's own widgets, as far as they can be told."""

from __future__ import annotations

from textual.scrollbar import ScrollBar, ScrollBarRender


class AsciiScrollBarRender(ScrollBarRender):
    """A scroll bar of blanks: its colours show it, not its glyphs."""

    VERTICAL_BARS = [" "] * 8
    HORIZONTAL_BARS = [" "] * 8


def enable() -> None:
    """For the whole program: it is one terminal."""
    ScrollBar.renderer = AsciiScrollBarRender
