"""A rule while it is typed: its place in the file, and below it what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from placetui.grid.excerpt import gutter_of, numbered_line, problem_block, shown
from placetui.grid.look.style import FAINT, MUTED, TEXT, WHITE, Line, Run, Style
from placetui.grid.panels.entries import spread, wrapped
from placetui.grid.pen import Pen
from placetui.placement.plan import Component
from placetui.placement.problems import Problem, Span
from placetui.placement.wording import count

SENTENCE = 56
"""Columns that a note below the rule has at least, where there are as many."""

LEAST = 30
"""Columns from which on lines have numbers."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """Where a rule stands in its file."""

    component: str
    lines: Sequence[str]
    number: int
    """Its line, counted from 1; 0: it is in no file."""

    before: str
    """What stands before it in its line."""

    after: str = ""
    also: range = range(0)
    """Lines that belong to it, counted from 1: the shares."""

    @classmethod
    def of(cls, component: str, text: str, span: Span | None, also: Span | None) -> RuleText:
        """The rule at a span of a text; `also` is the span of the shares."""
        if span is None or "\n" in text[slice(*span)]:
            return cls(component, (), 0, f"{component}: ")
        start = text.rfind("\n", 0, span[0]) + 1
        end = text.find("\n", span[1])
        before, after = text[start : span[0]], text[span[1] : end if end >= 0 else len(text)]
        shares = range(0)
        if also is not None:
            last = also[0] + len(text[slice(*also)].rstrip())
            shares = range(text.count("\n", 0, also[0]) + 1, text.count("\n", 0, last) + 2)
        number = text.count("\n", 0, start) + 1
        return cls(component, text.split("\n"), number, before.rstrip("\"'"), after.strip("\"'\r"), shares)

    def margin(self, width: int) -> int:
        """Columns of the line numbers; none where there is little room."""
        return gutter_of(self.lines) if self.number and width >= LEAST else 0

    def line(self, pen: Pen, number: int, text: str, width: int, sign: Style | None = None) -> Line:
        """A line of the file, in which this component alone has its hue."""
        marks = {name: mark for name, mark in pen.marks.items() if name == self.component}
        return numbered_line(pen, number, shown(pen, text), self.margin(width), marks, sign)


def head_line(pen: Pen, rule: RuleText, width: int) -> Line:
    """The line's number, and what stands before the rule."""
    key = rule.before if rule.margin(width) else rule.before.lstrip()
    found = rule.line(pen, rule.number, key, width, WHITE)
    room = max(4, width - 12)
    if pen.width(found) > room:
        found = (Run(pen.cut(pen.clean(rule.component), room - 2), pen.letter_style(rule.component)), Run(": ", MUTED))
    return pen.tinted(found, "raised")


def aside_line(pen: Pen, rule: RuleText, was: str, component: Component | None, width: int) -> Line:
    """`# comment   was 8-15   8 GPUs, 8 ranks, 2 nodes`, as much of it as there is room for."""
    pieces: list[list[Run]] = []
    if was:
        pieces.append([Run("was ", MUTED), Run(pen.clean(was), TEXT)])
    if component is not None:
        devices = sum(len(segment.resources) for segment in component.rule.segments)
        nodes = len({placement.cluster_node_rank for placement in component.placements})
        figures = [count(devices, "GPU")] if component.units is not None else []
        figures += [count(component.world_size, "rank"), count(nodes, "node")]
        pieces.append([Run(", ".join(figures), MUTED)])
    right: list[Run] = []
    for piece in pieces:
        added = [Run("   ", TEXT), *piece] if right else piece
        if pen.width((*right, *added)) <= width:
            right += added
    comment = [Run(pen.clean(rule.after), FAINT)] if rule.after.lstrip().startswith("#") else []
    return spread(pen, comment, right, width, "raised")


def lines_above(pen: Pen, rule: RuleText, width: int, room: int) -> list[Line]:
    """The lines of the file before the rule."""
    first = max(1, rule.number - room) if rule.margin(width) else rule.number
    return _file_lines(pen, rule, range(first, rule.number), width)


def lines_below(
    pen: Pen, rule: RuleText, problems: Sequence[Problem], text: str, column: int, width: int, room: int, note: str = ""
) -> list[Line]:
    """What is wrong with a text that begins at a column, a note, then how the file goes on, and the shares."""
    lines: list[Line] = []
    for problem in sorted(problems, key=lambda one: one.severity != "error"):
        start, end = problem.span or (0, len(text.strip()))
        at = column + start + len(text) - len(text.lstrip())
        carets = max(1, end - start) if room > 2 and at < width else 0
        lines += problem_block(pen, problem, width, at if carets else 0, carets, least=rule.margin(width), named=True)
    lines = lines[:room]
    if not rule.margin(width):
        return lines
    if note:
        lines += wrapped(pen, note, width, MUTED, indent=max(0, min(column, width - SENTENCE)))[: room - len(lines)]
    left, total = room - len(lines), len(rule.lines) - (not rule.lines[-1])
    also = [number for number in rule.also if number > rule.number + left][: left // 2]
    numbers = [*range(rule.number + 1, min(total, rule.number + left - len(also)) + 1), *also]
    return lines + _file_lines(pen, rule, numbers, width)


def _file_lines(pen: Pen, rule: RuleText, numbers: Iterable[int], width: int) -> list[Line]:
    return [spread(pen, rule.line(pen, one, rule.lines[one - 1].rstrip("\r"), width), [], width) for one in numbers]
