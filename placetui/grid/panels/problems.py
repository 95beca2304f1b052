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

MOST_LINES = 4
"""Lines of a sentence."""


def problem_entries(
    pen: Pen,
    problems: Sequence[Problem],
    notices: Sequence[Notice],
    width: int,
    *,
    chosen: Problem | None = None,
    room: int = 0,
) -> list[Entry]:
    """A tinted block for each; at the end what is fine.

    Notices have shorter sentences if not all of them fit: the list of drift has these as a whole.
    """
    entries: list[Entry] = []
    for lines in range(MOST_LINES, 0, -1):
        entries = _entries(pen, problems, notices, width, chosen, lines)
        if sum(len(one.lines) for one in entries if one.value is not None) <= room + 1:  # the last one's blank line
            break
    return entries


def _entries(
    pen: Pen,
    problems: Sequence[Problem],
    notices: Sequence[Notice],
    width: int,
    chosen: Problem | None,
    lines: int,
) -> list[Entry]:
    found = [Entry(tuple(_problem(pen, one, width, MOST_LINES, one == chosen)), one) for one in problems]
    ordered = sorted(notices, key=lambda one: one.kind not in DEADLY)
    found += [Entry(tuple(_notice(pen, one, width, lines)), one) for one in ordered[:MOST_NOTICES]]
    if len(ordered) > MOST_NOTICES:
        found.append(Entry(((Run(f"  and {len(ordered) - MOST_NOTICES} more", MUTED),),)))
    apart = [Entry((*one.lines, ()), one.value) for one in found]
    if not problems:
        apart.append(Entry((pen.fitted([Run(f"{pen.glyphs.done} ", OK), Run("the file is fine", FAINT)], width),)))
    return apart


def _block(pen: Pen, sign: str, title: str, sentences: Sequence[str], error: bool, width: int, most: int) -> list[Line]:
    ground: Ground = "error" if error else "warning"
    style = ERROR if error else WARNING
    titles = list(_in_lines(pen.clean(title), width - 2))
    signs = [f"{sign} ", *["  "] * (len(titles) - 1)]
    lines = [
        spread(pen, [Run(start, style), Run(part, style)], [], width, ground)
        for start, part in zip(signs, titles, strict=True)
    ]
    for sentence in sentences:
        lines += wrapped(pen, sentence, width, TEXT, ground, most=most)
    return lines


def _in_lines(title: str, room: int) -> Iterator[str]:
    """A title as a whole, broken at its blanks and underscores."""
    while len(title) > room > 0:
        end = max(title.rfind("_", 0, room), title.rfind(" ", 0, room)) + 1 or room
        yield title[:end]
        title = title[end:]
    yield title


def _problem(pen: Pen, problem: Problem, width: int, most: int, chosen: bool) -> Iterator[Line]:
    error = problem.severity == "error"
    place, title = f"line {problem.line}" if problem.line else "", problem.rule
    if place and len(title) + len(place) + 4 <= width:
        title, place = f"{title}  {place}", ""
    sign = pen.glyphs.right if chosen else pen.glyphs.states["dead"] if error else pen.glyphs.above
    sentences = [plain(one) for one in (place, problem.message, problem.hint) if one]
    yield from _block(pen, sign, title, sentences, error, width, most)


def notice_sign(pen: Pen, notice: Notice) -> str:
    """Dead, not as planned, or above a threshold."""
    if not isinstance(notice, Drift):
        return pen.glyphs.above
    return pen.glyphs.states["dead"] if notice.kind in DEADLY else pen.glyphs.differs


def notice_words(pen: Pen, notice: Notice) -> tuple[str, str, str]:
    """What it is, its place, and what else is to be said."""
    title = notice.title
    if isinstance(notice, Drift) and notice.component is not None and notice.rank is not None:
        title = f"{notice.component} {notice.rank}: {title}"
        title = title.replace(": dead rank", " is dead").replace(": missing rank", " is missing")
    place = ""
    if notice.node is not None:
        place = pen.node_name(notice.node) + ("" if notice.device is None else f"/gpu{notice.device}")
    said = notice.message.removeprefix(title).removeprefix(place).lstrip(":, ")
    return title, place, said.removesuffix(f" is on {place}").rstrip(",")


def _notice(pen: Pen, notice: Notice, width: int, most: int) -> Iterator[Line]:
    title, *sentences = notice_words(pen, notice)
    error = notice.kind in DEADLY
    yield from _block(pen, notice_sign(pen, notice), title, [one for one in sentences if one], error, width, most)
