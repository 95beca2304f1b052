"""What is wrong: problems of the file, differences between plan and reality, values beyond their thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placetui.grid.look.style import ERROR, FAINT, MUTED, OK, TEXT, WARNING, Ground, Line, Run
from placetui.grid.panels.entries import LEAST_LINES, Entry, is_whole, spread, wrapped
from placetui.grid.pen import Pen
from placetui.grid.tables.rows import Notice, key_of
from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift
from placetui.placement.problems import Problem
from placetui.placement.wording import plain

DEADLY = ("dead_rank", "missing_rank")
"""Differences that are errors; all others are warnings."""

MOST_LINES = 4
"""Lines of a sentence."""

MOST_NOTICES = 50


def problem_entries(
    pen: Pen,
    problems: Sequence[Problem],
    notices: Sequence[Notice],
    width: int,
    *,
    chosen: Problem | Notice | None = None,
    opened: object = None,
    room: int = 0,
) -> list[Entry]:
    """A tinted block for each; at the end what is fine.

    If not all fit into the room, sentences of notices are shorter, and those but the opened one, else the first, may
    have none, in a very low room even that: the file and the list of drift have them as a whole.
    """
    found = [*problems, *sorted(notices, key=lambda one: one.kind not in DEADLY)]
    shown = found[: len(problems) + MOST_NOTICES]
    key = None if chosen is None else problem_key(chosen)

    open_key = None if opened is None else problem_key(opened)
    at = next((place for place, one in enumerate(shown) if problem_key(one) == open_key), 0)

    def entry(place: int, most: int) -> Entry:
        one = shown[place]
        block = _block(pen, one, width, most, chosen=problem_key(one) == key)
        return Entry((*block, ()) if most else tuple(block), one)

    near = range(min(len(shown), max(room, at + 1)))
    by_lines = [[entry(place, most) for place in near] for most in range(MOST_LINES + 1)]

    def whole(lines: tuple[int, int]) -> int:
        """How many are whole where the one and the others have so many lines."""
        mixed = [by_lines[lines[place != at]][place] for place in near]
        return sum(is_whole(mixed, 0, place, room, counted=True) for place in near)

    mosts = range(MOST_LINES, 0, -1)
    one_lines, lines = max(((most, other) for most in mosts for other in range(most, -1, -1)), key=whole)
    if room < LEAST_LINES and not whole((one_lines, lines)):
        one_lines = lines = 0
    entries = [entry(place, one_lines if place == at else lines) for place in range(len(shown))]
    if rest := found[len(shown) :]:
        entries.append(Entry(((Run(f"  and {len(rest)} more", MUTED),),), rest[0], len(rest)))
    if not problems:
        entries.append(Entry((pen.fitted([Run(f"{pen.glyphs.done} ", OK), Run("the file is fine", FAINT)], width),)))
    return entries


def problem_key(one: object) -> object:
    """What stays the same of it from one observation to the next."""
    return key_of(one) if isinstance(one, Drift | Alert) else one


def _block(pen: Pen, one: Problem | Notice, width: int, most: int, *, chosen: bool) -> list[Line]:
    """A title with its place, and sentences of at most so many lines; those of a problem are whole if there are any."""
    if isinstance(one, Problem):
        sign, title, place, sentences, error = _of_problem(pen, one, width)
        most = most and MOST_LINES
    else:
        title, place, *sentences = notice_words(pen, one)
        sign, error = notice_sign(pen, one), one.kind in DEADLY
    ground: Ground = "error" if error else "warning"
    style = ERROR if error else WARNING
    titles = list(_in_lines(pen.clean(title), width - 2))
    signs = [f"{pen.glyphs.right if chosen else sign} ", *["  "] * (len(titles) - 1)]
    lines = [
        spread(pen, [Run(start, style), Run(part, style)], [], width, ground)
        for start, part in zip(signs, titles, strict=True)
    ]
    for sentence in filter(None, (place, *(sentences if most else ()))):
        lines += wrapped(pen, sentence, width, TEXT, ground, most=max(1, most))
    return lines


def _of_problem(pen: Pen, problem: Problem, width: int) -> tuple[str, str, str, list[str], bool]:
    """Its sign, title, place and sentences, and whether it is an error."""
    error = problem.severity == "error"
    place, title = f"line {problem.line}" if problem.line else "", problem.rule
    if place and len(title) + len(place) + 4 <= width:
        title, place = f"{title}  {place}", ""
    sign = pen.glyphs.states["dead"] if error else pen.glyphs.above
    return sign, title, place, [plain(one) for one in (problem.message, problem.hint) if one], error


def _in_lines(title: str, room: int) -> Iterator[str]:
    """A title as a whole, broken at its blanks and underscores."""
    while len(title) > room > 0:
        end = max(title.rfind("_", 0, room), title.rfind(" ", 0, room)) + 1 or room
        yield title[:end]
        title = title[end:]
    yield title


def notice_sign(pen: Pen, notice: Notice) -> str:
    """Dead, stale, not as planned, or above a threshold."""
    if not isinstance(notice, Drift):
        return pen.glyphs.above
    if notice.kind == "stale":
        return pen.glyphs.states["stale"]
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
    said = said.removeprefix(f"is {title}").lstrip(":, ")
    return title, place, said.removesuffix(f" is on {place}").rstrip(",")
