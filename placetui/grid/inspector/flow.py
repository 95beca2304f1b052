"""Text that flows: pieces that stay whole, in lines of a width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from placetui.grid.look.style import FAINT, TEXT, Line, LineBuilder, Run, Style
from placetui.grid.pen import Pen

_LEAST = 16
"""Columns that a hanging indent leaves at least."""


@dataclass(frozen=True)
class Flow:
    """Writes pieces in lines of at most `width` columns."""

    pen: Pen
    width: int

    @property
    def separator(self) -> str:
        return ", " if self.pen.ascii else " · "

    def text(self, text: str, style: Style = TEXT) -> Line:
        """A piece from any text, cleaned."""
        return (Run(self.pen.clean(text), style),)

    def measure(self, piece: Line) -> int:
        return sum(self.pen.measure(run.text) for run in piece)

    def lines(
        self, pieces: Iterable[Line], *, head: Line = (), indent: int = 0, separator: str | None = None
    ) -> list[Line]:
        """The pieces after `head`, in as many lines as they need, those after the first indented; wide ones are cut."""
        between = self.separator if separator is None else separator
        indent = indent if self.width - indent >= _LEAST else 0
        line = LineBuilder()
        self.pen.write(line, head, self.width)
        done: list[Line] = []
        # A blank line is no place for a separator, a head has its own.
        fresh = True
        for piece in pieces:
            gap = 0 if fresh else len(between)
            if line.column + gap + self.measure(piece) > self.width and line.column > indent:
                done.append(tuple(line.runs))
                line = LineBuilder()
                line.put(indent, "")
                fresh = True
            if not fresh:
                line.add(between, FAINT)
            self.pen.write(line, piece, self.width - line.column)
            fresh = False
        if line.runs:
            done.append(tuple(line.runs))
        return done

    def sentence(self, text: str, style: Style, indent: int = 0) -> list[Line]:
        """A text broken at its blanks."""
        start: Line = (Run(" " * indent, TEXT),) if indent and self.width - indent >= _LEAST else ()
        words = [self.text(word, style) for word in text.split()]
        return self.lines(words, head=start, indent=indent, separator=" ")

    def cut(self, pieces: Sequence[Line]) -> Line:
        """As many whole pieces as fit in one line; at least a part of the first."""
        line = LineBuilder()
        for number, piece in enumerate(pieces):
            gap = self.separator if number else ""
            if number and line.column + len(gap) + self.measure(piece) > self.width:
                break
            line.add(gap, FAINT)
            self.pen.write(line, piece, self.width - line.column)
        return tuple(line.runs)
