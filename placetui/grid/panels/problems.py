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

MOST_LINES = 4
"""Lines of a sentence."""

LEAST_LINES = 4
"""Lines from which on a part of an entry is shown: below its title and its place there is room for text."""


def problem_entries(
    pen: Pen,
    problems: Sequence[Problem],
    notices: Sequence[Notice],
    width: int,
    *,
    chosen: Problem | None = None,
    room: int = 0,
) -> list[Entry]:
    """A tinted block for each for which there is room, and how many more there are; at the end what is fine.

    The chosen one is among them; choosing the line that counts the rest leads to the first that is not.
    Notices have shorter sentences if not all of them fit: the list of drift has these as a whole.
    """
    found = [*problems, *sorted(notices, key=lambda one: one.kind not in DEADLY)]
    choices = range(MOST_LINES, 0, -1)
    for lines in choices:
        if sum(len(_block(pen, one, width, lines)) + 1 for one in found[:room]) <= room + 1:
            break
    else:  # as many as possible, with as much of each as is possible then
        lines = max(choices, key=lambda lines: len(_from(pen, found, 0, width, lines, chosen, room)))
    place = found.index(chosen) if chosen in found else 0
    first = max(0, place - room)
    entries = _from(pen, found, first, width, lines, chosen, room)
    while first + len(entries) <= place < len(found):
        first += 1
        entries = _from(pen, found, first, width, lines, chosen, room)
    if more := len(found) - len(entries):
        beyond = found[(first + len(entries)) % len(found)]
        entries.append(Entry(((Run(f"  and {more} more", MUTED),),), beyond))
    if not problems and sum(len(one.lines) for one in entries) < room:
        entries.append(Entry((pen.fitted([Run(f"{pen.glyphs.done} ", OK), Run("the file is fine", FAINT)], width),)))
    return entries


def _from(
    pen: Pen, found: Sequence[Problem | Notice], first: int, width: int, most: int, chosen: Problem | None, room: int
) -> list[Entry]:
    """Those from one on for which there is room beside a line that counts the rest; the last one is cut if need be."""
    entries: list[Entry] = []
    left = room
    for one in found[first:]:
        space = left if len(entries) == len(found) - 1 else left - 2  # of a blank line and the count
        lines = _block(pen, one, width, most, chosen=one == chosen)
        if len(lines) > space:
            if entries and space < LEAST_LINES:
                break
            lines = _block(pen, one, width, most, chosen=one == chosen, room=max(1, space))
        entries.append(Entry((*lines, ()), one))
        left -= len(lines) + 1
    return entries


def _block(
    pen: Pen, one: Problem | Notice, width: int, most: int, *, chosen: bool = False, room: int | None = None
) -> list[Line]:
    """A title and sentences of at most so many lines; in all no more than there is room for."""
    if isinstance(one, Problem):
        sign, title, sentences, error = _of_problem(pen, one, width)
        most = MOST_LINES
    else:
        title, *sentences = notice_words(pen, one)
        sign, error = notice_sign(pen, one), one.kind in DEADLY
    ground: Ground = "error" if error else "warning"
    style = ERROR if error else WARNING
    titles = list(_in_lines(pen.clean(title), width - 2))
    signs = [f"{pen.glyphs.right if chosen else sign} ", *["  "] * (len(titles) - 1)]
    lines = [
        spread(pen, [Run(start, style), Run(part, style)], [], width, ground)
        for start, part in zip(signs, titles, strict=True)
    ]
    for sentence in filter(None, sentences):
        left = most if room is None else min(most, room - len(lines))
        lines += wrapped(pen, sentence, width, TEXT, ground, most=left) if left > 0 else []
    return lines[:room]


def _of_problem(pen: Pen, problem: Problem, width: int) -> tuple[str, str, list[str], bool]:
    """Its sign, title and sentences, and whether it is an error."""
    error = problem.severity == "error"
    place, title = f"line {problem.line}" if problem.line else "", problem.rule
    if place and len(title) + len(place) + 4 <= width:
        title, place = f"{title}  {place}", ""
    sign = pen.glyphs.states["dead"] if error else pen.glyphs.above
    return sign, title, [plain(one) for one in (place, problem.message, problem.hint) if one], error


def _in_lines(title: str, room: int) -> Iterator[str]:
    """A title as a whole, broken at its blanks and underscores."""
    while len(title) > room > 0:
        end = max(title.rfind("_", 0, room), title.rfind(" ", 0, room)) + 1 or room
        yield title[:end]
        title = title[end:]
    yield title


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
