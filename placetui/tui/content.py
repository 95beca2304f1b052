"""From the drawing's lines to Textual's text. What comes from files and hosts is never read as markup."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from placetui.grid import Line
from placetui.tui.themes import GridPalette


def text_of(line: Line, palette: GridPalette) -> Text:
    """One line."""
    text = Text(no_wrap=True, end="")
    for run in line:
        text.append(run.text, palette.rich_style(run.style))
    return text


def text_of_lines(lines: Iterable[Line], palette: GridPalette) -> Text:
    """Several lines."""
    return Text("\n").join([text_of(line, palette) for line in lines])
