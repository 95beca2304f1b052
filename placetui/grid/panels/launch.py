"""A launch: its steps, how many ranks are alive, and who is waited for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Literal, NamedTuple, TypeAlias

from placetui.grid.look.style import ERROR, FAINT, MUTED, NAME, OK, TEXT, WARNING, WHITE, Line, LineBuilder, Run, Style
from placetui.grid.panels.entries import spread
from placetui.grid.pen import Pen
from placetui.observe.model import State
from placetui.placement.wording import ranges

SLOW = 15.0
"""Seconds in one state after which a rank is called slow."""

INDENT = len("✓ connect  ")
"""Columns before what is known of a step."""

MOST_LINES = 3
"""For what is known of a step."""

LEAST_GAP, MOST_GAP = 6, 12
"""Columns between steps: with fewer than these there is no room for words below them; more look torn apart."""

ROOM_FOR_REASON = 60
"""Columns from which the reason stands beside who is waited for, not below."""

Progress: TypeAlias = Literal["done", "doing", "failed", "todo"]


class LaunchStep(NamedTuple):
    """A step on the way to a running job."""

    name: str
    progress: Progress
    words: str = ""
    short: str = ""
    """The words again, for where there is little room."""


class WaitedFor(NamedTuple):
    """Ranks of a component that are not alive yet."""

    component: str
    ranks: tuple[int, ...]
    state: State
    seconds: float
    """For how long the one that takes longest has been in that state."""


def step_lines(pen: Pen, steps: Sequence[LaunchStep], width: int, *, listed: bool = False) -> list[Line]:
    """`✓ connect ── ✓ match ── …`; below what is known of each, where there is room.

    With `listed`, what is known is shown in full: those steps take their own lines.
    """
    known = [one for one in steps if listed and one.words]
    lines = [line for step in known for line in _listed(pen, step, width)]
    return lines + _track(pen, [one for one in steps if one not in known], width)


def _sign(pen: Pen, progress: Progress) -> tuple[str, Style]:
    done, doing, todo = ("+", ">", "o") if pen.ascii else ("✓", pen.glyphs.states["starting"], "○")
    failed = pen.glyphs.states["dead"]
    return {"done": (done, OK), "doing": (doing, WHITE), "failed": (failed, ERROR), "todo": (todo, FAINT)}[progress]


def _listed(pen: Pen, step: LaunchStep, width: int) -> Iterator[Line]:
    """`✓ match    node 0 = …`, on as many lines as that takes, up to some."""
    sign, style = _sign(pen, step.progress)
    words = wrap(pen.clean(step.words), max(10, width - INDENT), max_lines=MOST_LINES, placeholder=" ...")
    for number, text in enumerate(words):
        line = LineBuilder()
        if number == 0:
            line.put(0, f"{sign} ", style)
            line.add(step.name, NAME)
        line.put(INDENT, pen.cut(text, width - INDENT), TEXT)
        yield tuple(line.runs)


def _track(pen: Pen, steps: Sequence[LaunchStep], width: int) -> list[Line]:
    needed = sum(len(one.name) + 2 for one in steps)
    gap = min(MOST_GAP, max(1, (width - needed) // max(1, len(steps) - 1)))
    first, second, x = LineBuilder(), LineBuilder(), 0
    for place, step in enumerate(steps):
        if x + len(step.name) + 2 > width:
            break
        sign, style = _sign(pen, step.progress)
        first.put(x, f"{sign} ", style)
        first.add(step.name, FAINT if step.progress == "todo" else NAME)
        if gap > 2 and place + 1 < len(steps):
            first.add(f" {pen.glyphs.rest * (gap - 2)} ", OK if step.progress == "done" else Style("track"))
        room = len(step.name) + gap - 1
        if step.words and gap >= LEAST_GAP:
            second.put(x + 2, pen.cut(pen.clean(step.short or step.words), room), MUTED)
        x += len(step.name) + 2 + gap
    return [tuple(one.runs) for one in (first, second) if one.runs]


def rank_bar(pen: Pen, alive: Mapping[str, int], total: int, width: int) -> Line:
    """`A 14  R 12  W 5`: the ranks that are alive, by component, as parts of a bar; then how many that are."""
    number = sum(alive.values())
    words = f" {100 * number // max(1, total)}%  {number} of {total} alive"
    room = max(10, width - len(words) - 6)
    line = LineBuilder()
    line.put(0, "ranks ", MUTED)
    for component, ranks in alive.items():
        cells = round(ranks / max(1, total) * room)
        mark = pen.marks[component]
        label = f"{mark.letter} {ranks}"
        line.add((label if cells > len(label) else "").center(cells)[:cells], Style("chip", mark.hue, bold=True))
    left = room - (line.column - 6)
    if left > 0:
        line.add(" " * left, Style("track", ground="track"))
    line.add(words, NAME)
    return tuple(line.runs)


def waiting_lines(pen: Pen, waiting: Sequence[WaitedFor], width: int, most: int) -> Iterator[Line]:
    """Who is waited for, the longest first, on at most that many lines; slow ones are highlighted."""
    ordered, short = sorted(waiting, key=lambda one: -one.seconds), width < ROOM_FOR_REASON
    shown = most // 2 if short else most
    for one in ordered[:shown]:
        slow = one.seconds >= SLOW and one.state != "pending"
        mark, ground = pen.marks[one.component], "warning" if slow else None
        sign = pen.glyphs.above if slow else pen.glyphs.states[one.state]
        left = [
            Run(f"{sign} ", WARNING if slow else MUTED),
            Run(mark.letter, pen.letter_style(one.component)),
            Run(f"{mark.separator}{ranges(one.ranks)}", TEXT),
        ]
        reason = Run(f"  {_reason(one)}", MUTED)
        since = [] if one.state == "pending" else [Run(f"{one.seconds:.0f} s", WARNING if slow else MUTED)]
        yield spread(pen, left if short else [*left, reason], since, width, ground)  # type: ignore[arg-type]
        if short:
            yield spread(pen, [reason], [], width, ground)  # type: ignore[arg-type]
    if len(ordered) > shown:
        yield (Run(f"and {len(ordered) - shown} more", FAINT),)


def _reason(one: WaitedFor) -> str:
    if one.state == "pending":
        return "waits for earlier ranks"
    if one.state == "starting":
        return "imports code, loads data"
    return one.state
