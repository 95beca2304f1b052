"""From the drawing's lines to Textual's text. What comes from files and hosts is never read as markup."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.text import Text
from textual.content import Content

from placetui.grid import Line, plain
from placetui.tui.themes import GridPalette


def text_of(line: Line, palette: GridPalette) -> Text:
    """One line."""
    text = Text(no_wrap=True, end="")
    for run in line:
        text.append(run.text, palette.rich_style(run.style))
    return text


@lru_cache(maxsize=16)
def content_of(line: Line, palette: GridPalette) -> Content:
    """One line, for the border of a panel; the same as long as it says the same."""
    return Content.from_rich_text(text_of(line, palette))


def text_of_lines(lines: Iterable[Line], palette: GridPalette) -> Text:
    """Several lines."""
    return Text("\n").join([text_of(line, palette) for line in lines])


def changed_columns(old: Line, new: Line) -> tuple[int, int] | None:
    """First and last column where two lines differ; None when they do not."""
    if old == new:
        return None
    before, after = _cells(old), _cells(new)
    if before == after:  # the same in other pieces
        return None
    if len(before) != len(after):
        return 0, max(len(before), len(after))
    first = next(column for column, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)
    last = next(c for c in range(len(after) - 1, -1, -1) if before[c] != after[c])
    # Names with wide characters have fewer characters than columns: then the whole line is painted.
    wide = any(ord(character) > 0x2E80 for character in plain(new))
    return (0, len(after) * 2) if wide else (first, last + 1)


def _cells(line: Line) -> list[tuple[str, object]]:
    return [(character, run.style) for run in line for character in run.text]
