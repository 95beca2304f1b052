"""Text that flows: pieces that stay whole, in lines of a width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from placetui.grid.look.style import FAINT, MUTED, NAME, TEXT, Line, LineBuilder, Run, Style
from placetui.grid.pen import Pen

_LEAST = 16
"""Columns that a hanging indent leaves at least."""

_LONG = 8
"""Fields from which on a single column is halved."""


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

    def fields(self, heads: Sequence[Line], sections: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Line]:
        """Names down, and a column of values for each head: as many columns beside each other as there is room for.

        Sections stand below each other in the same columns, each but a nameless one below its title. A section of a
        single column continues beside itself where there is room.
        """
        rows = [row for section in sections.values() for row in section.items()]
        if not rows:
            return []
        label = min(max(self.pen.name_width(name) for name, _ in rows), max(8, self.width // 2)) + 2
        widths = [
            max(self.measure(head), *(self.pen.name_width(values[place]) for _, values in rows)) + 3
            for place, head in enumerate(heads)
        ]
        lines: list[Line] = []
        first = 0
        while first < len(heads):
            last = first + 1
            while last < len(heads) and label + sum(widths[first : last + 1]) - 3 <= self.width:
                last += 1
            lines += [()] if lines else []
            lines += self._columns(heads[first:last], {}, label, widths[first:last])
            for title, section in sections.items():
                part = {name: values[first:last] for name, values in section.items()}
                lines += [(), self.cut([self.text(title, NAME)])] if title and part else []
                lines += self._section(part, label, widths[first:last], halved=len(heads) == 1)
            first = last
        return lines

    def _section(
        self, rows: Mapping[str, Sequence[str]], label: int, widths: Sequence[int], *, halved: bool
    ) -> Iterator[Line]:
        gap = label + widths[0]
        if not halved or len(rows) <= _LONG or 2 * gap > self.width:
            yield from self._columns((), rows, label, widths)
            return
        half = -(-len(rows) // 2)
        left, right = (
            self._columns((), dict(list(rows.items())[start : start + half]), label, widths) for start in (0, half)
        )
        for one, other in zip_longest(left, right, fillvalue=()):
            yield (*one, Run(" " * (gap - self.measure(one)), TEXT), *other)

    def _columns(
        self, heads: Sequence[Line], rows: Mapping[str, Sequence[str]], label: int, widths: Sequence[int]
    ) -> Iterator[Line]:
        cells = [(name, [self.text(value) for value in values]) for name, values in rows.items()]
        for name, values in [("", list(heads)), *cells] if heads else cells:
            line = LineBuilder()
            self.pen.write(line, self.text(self.pen.cut(self.pen.clean(name), label - 2, keep="ends"), MUTED), label)
            x = label
            for width, value in zip(widths, values, strict=True):
                line.put(x, "")
                self.pen.write(line, value, max(0, min(width - 1, self.width - x)))
                x += width
            yield self.cut([tuple(line.runs)])
