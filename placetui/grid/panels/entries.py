"""An entry of a panel: a few lines, and what they lead to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import TextWrapper
from typing import Any, NamedTuple

from placetui.grid.look.style import MUTED, TEXT, Ground, Line, LineBuilder, Run, Style
from placetui.grid.pen import Pen

LEAST_LINES = 4
"""Lines from which on a part of an entry is shown: below its title and its place there is room for text."""

_JOINTS = re.compile("(?<=[_./,])")


class Entry(NamedTuple):
    """Lines that belong together."""

    lines: tuple[Line, ...]
    value: Any = None
    """What choosing it leads to; None: nothing."""

    number: int = 1
    """How many things it stands for."""

    @property
    def height(self) -> int:
        """Its lines without the blank one that sets it apart from the next entry."""
        return len(self.lines) - (self.lines[-1:] == ((),))


def windowed(
    entries: Sequence[Entry], first: int, room: int, ellipsis: str, *, counted: bool
) -> list[tuple[Line, Entry | None]]:
    """The lines of as many entries as there is room for from the first one on, each with its entry; the last one is cut
    if need be.

    With `counted`, the last line says how many more there are, above and below, and leads to the next of them.
    """
    shown: list[tuple[Line, Entry | None]] = []
    hidden = entries[:first]
    for place, one in enumerate(entries[first:], first):
        space = room - len(shown) - _reserved(entries, first, place, counted)
        if one.height <= space:
            shown += ((line, one) for line in one.lines)
            continue
        after = entries[place:]
        if place == first or space >= LEAST_LINES:
            lines = one.lines[: max(1, space)]
            shown += ((line, one) for line in (*lines[:-1], _continued(lines[-1], ellipsis), *one.lines[one.height :]))
            after = after[1:]
        hidden = [*after, *hidden]
        break
    if counted and (hidden := [one for one in hidden if one.value is not None]):
        words = f"  and {sum(one.number for one in hidden):,} more"
        shown = [*shown[: room - 1], ((Run(words, MUTED),), hidden[0])]
    return shown[:room]


def is_whole(entries: Sequence[Entry], first: int, last: int, room: int, *, counted: bool) -> bool:
    """Whether a window that begins with the first entry shows all of the last one."""
    lines = sum(len(one.lines) for one in entries[first:last]) + entries[last].height
    return lines <= room - _reserved(entries, first, last, counted)


def _reserved(entries: Sequence[Entry], first: int, place: int, counted: bool) -> int:
    """Lines below an entry for the count of those that a window from the first one on does not show."""
    one = entries[place]
    hidden = counted and (first > 0 or any(other.value is not None for other in entries[place + 1 :]))
    return 1 + len(one.lines) - one.height if hidden else 0


def _continued(line: Line, ellipsis: str) -> Line:
    """A line that ends in an ellipsis, since what it begins goes on below the edge."""
    if not line:
        return line
    *runs, last = line
    text = last.text.rstrip()[: len(last.text) - len(ellipsis)]
    return (*runs, last._replace(text=f"{text}{ellipsis}".ljust(len(last.text))))


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
