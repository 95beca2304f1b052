"""A part of a file with a problem in its place: what is wrong stands below the characters that are meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from placetui.grid.inspector.flow import Flow
from placetui.grid.look.style import (
    BODY,
    ERROR,
    FAINT,
    MUTED,
    NAME,
    TEXT,
    WARNING,
    WHITE,
    Ground,
    Line,
    Run,
    Style,
)
from placetui.grid.marks import Mark
from placetui.grid.panels.entries import spread
from placetui.grid.pen import Pen
from placetui.grid.yaml_text import yaml_line
from placetui.placement.problems import Problem
from placetui.placement.wording import plain

LEAST_WORDS = 36
"""Columns that words need beside the carets."""

_MEANT = re.compile(r"""[^\s:#'"{},\[\]]+(?=\s*:(?:\s|$))|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_IN_FLOW, _IN_BLOCK = re.compile(r"[^,}\]#]*"), re.compile(r"(?:(?!\s#).)*")


def severity_style(problem: Problem) -> Style:
    """Of what is said about a problem."""
    return {"error": ERROR, "warning": WARNING}.get(problem.severity, NAME)


def severity_ground(problem: Problem) -> Ground:
    """What a problem stands on."""
    return "error" if problem.severity == "error" else "warning" if problem.severity == "warning" else "tile"


def severity_sign(pen: Pen, problem: Problem) -> str:
    """Before the words of a problem."""
    signs = {"error": pen.glyphs.states["dead"], "warning": pen.glyphs.above}
    return signs.get(problem.severity, pen.glyphs.empty)


def excerpt_lines(
    pen: Pen,
    lines: Sequence[str],
    line: int,
    problems: Sequence[Problem],
    width: int,
    height: int,
    *,
    context: int = 1 << 20,
) -> list[Line]:
    """The lines around one, counted from 1, which is raised; its problems are below it.

    At most `height` lines, and at most `context` of the file before and after.
    """
    gutter = gutter_of(lines)
    text = shown(pen, lines[line - 1])
    starts = [pen.measure(shown(pen, lines[line - 1][: (one.column or 1) - 1])) for one in problems]
    lengths = [_length(text, start, one) for start, one in zip(starts, problems, strict=True)]
    room = width - gutter
    ends = max((start + length for start, length in zip(starts, lengths, strict=True)), default=0)
    shift = max(0, min(min(starts, default=0), ends - room))
    below = [
        wrong
        for one, start, length in zip(problems, starts, lengths, strict=True)
        for wrong in problem_block(pen, one, width, gutter + start - shift, length, least=gutter)
    ][: max(0, height - 1)]
    left = max(0, height - 1 - len(below))
    after = min(context, left // 2, len(lines) - line)
    before = min(context, left - after, line - 1)
    after = min(context, left - before, len(lines) - line)
    found: list[Line] = []
    for number in range(line - before, line + after + 1):
        sign = (severity_style(problems[0]) if problems else NAME) if number == line else None
        runs = numbered_line(pen, number, shown(pen, lines[number - 1])[shift:], gutter, pen.marks, sign)
        found.append(spread(pen, runs, [], width, "raised") if sign else pen.fitted(runs, width))
        found += below if sign else []
    return found


def gutter_of(lines: Sequence[str]) -> int:
    """Columns of the numbers of these lines."""
    return len(str(len(lines))) + 4


def numbered_line(
    pen: Pen, number: int, text: str, gutter: int, marks: Mapping[str, Mark], sign: Style | None = None
) -> Line:
    """A line of the file, with its number where there is a gutter; with the style of a sign, the line that is meant."""
    here = sign is not None
    head = (
        Run(pen.glyphs.right if here else " ", sign or TEXT),
        Run(f" {number:>{gutter - 4}}  ", NAME if here else FAINT),
    )
    runs = yaml_line(text, marks, key=BODY if here else MUTED, value=WHITE if here else BODY)
    return (*head, *runs) if gutter else runs


def problem_block(
    pen: Pen, problem: Problem, width: int, column: int = 0, carets: int = 0, *, least: int = 0, named: bool = False
) -> list[Line]:
    """What is wrong, below carets from a column on, and what to write instead; without carets, behind its sign.

    If it is `named`, its rule stands beside the carets, where no title names it.
    """
    style, ground = severity_style(problem), severity_ground(problem)
    flow = Flow(pen, width)
    words = min(column, max(least, width - LEAST_WORDS - 12))
    """Where the words begin: below the carets, or to their left where there is too little room."""
    found: list[Line] = []
    sign = "^" * min(carets, max(1, width - column)) if carets else severity_sign(pen, problem)
    head: list[Run] = [Run(" " * column, TEXT), Run(sign, style), Run(" ", TEXT)]
    if carets and (named or words < column or width - column - len(sign) < LEAST_WORDS):
        found.append((*head, Run(problem.rule, style)) if named else tuple(head))
        head = [Run(" " * words, TEXT)]
    said = _words(pen, problem.message, *((TEXT, WHITE) if named else (style, style)))
    message = flow.lines(said, head=tuple(head), indent=words, separator=" ")
    found += [tuple(Run(text, style if look is FAINT else look) for text, look in line) for line in message]
    if problem.hint:
        head = [Run(" " * words, TEXT), Run("hint", style), Run("  ", TEXT)]
        hint = _words(pen, problem.hint, BODY, WHITE)
        found += flow.lines(hint, head=tuple(head), indent=words + 6, separator=" ")
    return [spread(pen, one, [], width, ground) for one in found]


def problem_title(pen: Pen, problem: Problem, problems: Sequence[Problem], width: int) -> Line:
    """`Problem 1 of 4  resource_out_of_range  line 12:18`, as far as there is room."""
    runs = [Run("Problem", NAME)]
    style = severity_style(problem)
    if problem in problems:
        runs += [Run(" ", TEXT), Run(f"{problems.index(problem) + 1}", style), Run(f" of {len(problems)}", MUTED)]
    runs += [Run("  ", TEXT), Run(problem.rule, style)]
    place = [Run(f"  line {_place(problem)}", MUTED)] if problem.line else []
    fits = pen.width((*runs, *place)) <= width
    return pen.fitted([*runs, *place] if fits else runs, width)


def problem_rows(pen: Pen, problems: Sequence[Problem], chosen: Problem, width: int, rows: int) -> list[Line]:
    """The problems after one, and from the first on again: a line each."""
    at = problems.index(chosen) if chosen in problems else -1
    others = [*enumerate(problems[at + 1 :], at + 2), *enumerate(problems[: max(0, at)], 1)]
    shown = others if len(others) <= rows else others[: rows - 1]
    widest = max((len(one.rule) for _, one in shown), default=0)
    places = max((len(_place(one)) for _, one in shown), default=0)
    numbers = len(str(len(problems)))
    found = [_row(pen, number, one, width, (numbers, places, widest)) for number, one in shown]
    if len(shown) < len(others) and rows:
        found.append((Run(f"and {len(others) - len(shown)} more", MUTED),))
    return found


def _row(pen: Pen, number: int, problem: Problem, width: int, widths: tuple[int, int, int]) -> Line:
    numbers, places, widest = widths
    style = severity_style(problem)
    mark = pen.marks.get(problem.component or "")
    letter = Run(f"{mark.letter:<2}", pen.letter_style(mark.name)) if mark else Run("  ", TEXT)
    runs = [
        Run(f"{number:>{numbers}}", style),
        Run(f"  {_place(problem):<{places}}  ", MUTED),
        letter,
        Run(f" {problem.rule:<{widest}}  ", TEXT),
        Run(pen.clean(plain(problem.message)), MUTED),
    ]
    return pen.fitted(runs, width)


def problem_lines(
    pen: Pen,
    lines: Sequence[str],
    problem: Problem,
    problems: Sequence[Problem],
    width: int,
    height: int,
    *,
    context: int = 1 << 20,
) -> list[Line]:
    """A problem in its place, and below it the others; without lines of the file, its words alone."""
    place = problem.line if problem.line is not None and problem.line <= len(lines) else None
    block = problem_block(pen, problem, width)
    least = len(block) + (0 if place is None else 5)
    rows = min(len(problems) - 1, max(0, height - least - 1)) if problem in problems else 0
    rows = 0 if rows < min(2, len(problems) - 1) else rows
    if place is None:
        found = block[:height]
    else:
        found = excerpt_lines(pen, lines, place, [problem], width, height - rows - bool(rows), context=context)
    if rows:
        rule = "-" if pen.ascii else "╌"
        found += [(Run(rule * width, Style("border")),), *problem_rows(pen, problems, problem, width, rows)]
    return found


def _place(problem: Problem) -> str:
    return ":".join(str(part) for part in (problem.line, problem.column) if part is not None)


def shown(pen: Pen, text: str) -> str:
    """A line of the file as it is drawn."""
    return pen.clean(text.expandtabs())


def _length(text: str, start: int, problem: Problem) -> int:
    """Characters that are meant from a column on."""
    if problem.span is not None:
        return max(1, problem.span[1] - problem.span[0])
    token = _MEANT.match(text, start)
    if token is None:
        flow = any(one in text[:start] for one in "{[")
        token = (_IN_FLOW if flow else _IN_BLOCK).match(text, start)
    return max(1, len(token.group().rstrip()) if token else 1)


def _words(pen: Pen, text: str, style: Style, quoted: Style) -> Iterator[Line]:
    """The words of a sentence, with a style of its own for what is quoted in it."""
    word: list[Run] = []
    for number, part in enumerate(pen.clean(text).split("`")):
        look = quoted if number % 2 else style
        for place, piece in enumerate(part.split(" ")):
            if place and word:
                yield tuple(word)
                word = []
            if piece:
                word.append(Run(piece, look))
    if word:
        yield tuple(word)
