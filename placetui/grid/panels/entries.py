"""An entry of a panel: a few lines, and what they lead to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import TextWrapper
from typing import Any, NamedTuple

from placetui.grid.look.style import TEXT, Ground, Line, LineBuilder, Run, Style
from placetui.grid.pen import Pen

_JOINTS = re.compile("(?<=[_./,])")


class Entry(NamedTuple):
    """Lines that belong together."""

    lines: tuple[Line, ...]
    value: Any = None
    """What choosing it leads to; None: nothing."""


def spread(pen: Pen, left: Sequence[Run], right: Sequence[Run], width: int, ground: Ground | None = None) -> Line:
    """Runs at the left and at the right edge; the left ones are cut where both do not fit."""
    tail = pen.width(right)
    line = LineBuilder()
    for text, style in left:
        room = width - tail - line.column - bool(right)
        shown = text if pen.measure(text) <= room else pen.cut(text, max(0, room))
        line.add(shown, pen.on(style, ground), pen.measure(shown))
    if width - tail > line.column:
        line.add(" " * (width - tail - line.column), pen.on(TEXT, ground))
    for text, style in right:
        line.add(text, pen.on(style, ground), pen.measure(text))
    return tuple(line.runs)


def wrapped(
    pen: Pen, text: str, width: int, style: Style, ground: Ground | None = None, *, indent: int = 2, most: int = 4
) -> list[Line]:
    """A sentence in lines of the whole width, indented."""
    room = max(4, width - indent)
    parts = _Wrapper(room, max_lines=most, placeholder=pen.glyphs.ellipsis).wrap(pen.clean(text))
    return [spread(pen, [Run(" " * indent, TEXT), Run(part, style)], [], width, ground) for part in parts]


class _Wrapper(TextWrapper):
    """Breaks a word that is longer than a line after what joins its parts."""

    def _split(self, text: str) -> list[str]:
        chunks = super()._split(text)
        return [
            part for chunk in chunks for part in (_JOINTS.split(chunk) if len(chunk) > self.width else [chunk]) if part
        ]
