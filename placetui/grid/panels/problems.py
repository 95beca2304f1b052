"""What is wrong: problems of the file, differences between plan and reality, values beyond their thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placetui.grid.look.style import ERROR, FAINT, MUTED, OK, TEXT, WARNING, Ground, Line, Run
from placetui.grid.panels.entries import Entry, spread, wrapped
from placetui.grid.pen import Pen
from placetui.grid.tables.rows import Notice
from placetui.observe.drift import Drift
from placetui.placement.problems import Problem
from placetui.placement.wording import plain

DEADLY = ("dead_rank", "missing_rank")
"""Differences that are errors; all others are warnings."""

MOST_NOTICES = 50


def problem_entries(
    pen: Pen, problems: Sequence[Problem], notices: Sequence[Notice], width: int, *, lines: int = 4
) -> list[Entry]:
    """A tinted block for each; at the end what is fine."""
    found = [Entry(tuple(_problem(pen, one, width, lines)), one) for one in problems]
    ordered = sorted(notices, key=lambda one: one.kind not in DEADLY)
    found += [Entry(tuple(_notice(pen, one, width, lines)), one) for one in ordered[:MOST_NOTICES]]
    if len(ordered) > MOST_NOTICES:
        found.append(Entry(((Run(f"  and {len(ordered) - MOST_NOTICES} more", MUTED),),)))
    apart = [Entry((*one.lines, ()), one.value) for one in found]
    if not problems:
        sign = "+" if pen.ascii else "✓"
        apart.append(Entry((spread(pen, [Run(f"{sign} ", OK), Run("the file is fine", FAINT)], [], width),)))
    return apart


def _block(pen: Pen, sign: str, title: str, sentences: Sequence[str], error: bool, width: int, most: int) -> list[Line]:
    ground: Ground = "error" if error else "warning"
    style = ERROR if error else WARNING
    lines = [spread(pen, [Run(f"{sign} ", style), Run(pen.clean(title), style)], [], width, ground)]
    for sentence in sentences:
        lines += wrapped(pen, sentence, width, TEXT, ground, most=most)
    return lines


def _problem(pen: Pen, problem: Problem, width: int, most: int) -> Iterator[Line]:
    error = problem.severity == "error"
    place = f"line {problem.line}" if problem.line else ""
    title = f"{problem.rule}" + (f"  {place}" if place else "")
    sign = pen.glyphs.states["dead"] if error else pen.glyphs.above
    sentences = [plain(one) for one in (problem.message, problem.hint) if one]
    yield from _block(pen, sign, title, sentences, error, width, most)


def _notice(pen: Pen, notice: Notice, width: int, most: int) -> Iterator[Line]:
    sign, title = pen.glyphs.above, notice.kind.replace("_", " ")
    if isinstance(notice, Drift):
        sign = pen.glyphs.states["dead"] if notice.kind in DEADLY else pen.glyphs.differs
        if notice.component is not None and notice.rank is not None:
            title = f"{notice.component} {notice.rank}: {title}"
            title = title.replace(": dead rank", " is dead").replace(": missing rank", " is missing")
    place = ""
    if notice.node is not None:
        place = pen.node_name(notice.node) + ("" if notice.device is None else f"/gpu{notice.device}")
    said = notice.message.removeprefix(title).removeprefix(place).lstrip(":, ")
    sentences = [sentence for sentence in (place, said) if sentence]
    yield from _block(pen, sign, title, sentences, notice.kind in DEADLY, width, most)
