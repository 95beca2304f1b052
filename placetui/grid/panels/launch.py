"""A launch: its steps, how many ranks are alive, and who is waited for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Literal, NamedTuple, TypeAlias

from placetui.grid.look.style import (
    ERROR,
    FAINT,
    GHOST,
    MUTED,
    NAME,
    OK,
    TEXT,
    TRACK,
    WARNING,
    Ground,
    Line,
    LineBuilder,
    Run,
    Style,
)
from placetui.grid.overlay import SLOW
from placetui.grid.panels.entries import Entry, spread
from placetui.grid.pen import Pen
from placetui.observe.model import State
from placetui.placement.wording import ranges

INDENT = len("✓ connect  ")
"""Columns before what is known of a step."""

MOST_LINES = 3
"""For what is known of a step."""

PITCH, LEAST_PITCH = 28, 15
"""Columns from one step to the next, at most; and those from which there is room for chips and for words below them."""

MOST_GAP = 12
"""Columns between steps without such room; more look torn apart."""

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

    seconds: float | None = None
    """How long it took, or takes so far."""


class WaitedFor(NamedTuple):
    """Ranks of a component that are not alive yet."""

    component: str
    ranks: tuple[int, ...]
    state: State
    seconds: float
    """For how long the one that takes longest has been in that state."""

    reason: str = ""
    """What they do, or wait for."""


def step_lines(pen: Pen, steps: Sequence[LaunchStep], width: int, *, listed: bool = False) -> list[Line]:
    """`✓ connect ── ✓ match ── …`; below what is known of each and its seconds, where there is room.

    With `listed`, what is known is shown in full: those steps take their own lines.
    """
    known = [one for one in steps if listed and one.words]
    lines = [line for step in known for line in _listed(pen, step, width)]
    return lines + _track(pen, [one for one in steps if one not in known], width, below=not listed)


def _sign(pen: Pen, progress: Progress) -> tuple[str, Style]:
    """The sign of a step, and the look of its chip."""
    states = pen.glyphs.states
    return {
        "done": (pen.glyphs.done, Style("text", bold=True, ground="ok")),
        "doing": (states["starting"], Style("text", bold=True, ground="white")),
        "failed": (states["dead"], Style("text", bold=True, ground="alarm")),
        "todo": (states["pending"], Style("faint", ground="tile")),
    }[progress]


def _listed(pen: Pen, step: LaunchStep, width: int) -> Iterator[Line]:
    """`✓ match    node 0 = …`, on as many lines as that takes, up to some."""
    sign, look = pen.glyphs.done, OK
    if step.progress != "done":
        sign, look = _sign(pen, step.progress)[0], ERROR if step.progress == "failed" else NAME
    words = wrap(pen.clean(step.words), max(10, width - INDENT), max_lines=MOST_LINES, placeholder=" ...")
    for number, text in enumerate(words):
        line = LineBuilder()
        if number == 0:
            line.put(0, f"{sign} ", look)
            line.add(step.name, NAME)
        line.put(INDENT, pen.cut(text, width - INDENT), TEXT)
        yield tuple(line.runs)


def _track(pen: Pen, steps: Sequence[LaunchStep], width: int, *, below: bool) -> list[Line]:
    """Steps in a row, joined by lines."""
    if not steps:
        return []
    pitch = min(PITCH, (width - len(steps[-1].name) - 4) // max(1, len(steps) - 1))
    roomy = below and pitch >= LEAST_PITCH
    needed = sum(len(one.name) + 2 for one in steps)
    gap = min(MOST_GAP, max(1, (width - needed) // max(1, len(steps) - 1)))
    lines = [LineBuilder(), LineBuilder(), LineBuilder()]
    x = 0
    for place, step in enumerate(steps):
        if x + len(step.name) + 2 > width:
            break
        sign, chip = _sign(pen, step.progress)
        name = FAINT if step.progress == "todo" else NAME if step.progress == "doing" else TEXT
        if roomy:
            lines[0].put(x, f" {sign} ", chip)
            lines[0].add(f" {step.name}", name)
        else:
            plain = {"done": OK, "failed": ERROR, "todo": FAINT, "doing": NAME}[step.progress]
            lines[0].put(x, f"{sign} ", plain)
            lines[0].add(step.name, name)
        end = x + pitch if roomy else lines[0].column + gap
        if (room := end - lines[0].column - 2) > 0 and place + 1 < len(steps):
            sign, look = (pen.glyphs.bar, OK) if step.progress == "done" else (pen.glyphs.rest, GHOST)
            lines[0].add(f" {sign * room}", look)
        if roomy:
            lines[1].put(x + 4, pen.cut(pen.clean(step.short or step.words), pitch - 5), MUTED)
            if step.seconds is not None:
                lines[2].put(x + 4, seconds_text(step.seconds), FAINT)
        x = end
    return [tuple(one.runs) for one in lines if one.runs]


def clock_text(seconds: float) -> str:
    """`0:41`."""
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f}"


def seconds_text(seconds: float) -> str:
    """`0.2 s`, `38 s`, `2:05`."""
    if seconds >= 60:
        return clock_text(int(seconds))
    return f"{max(0.1, seconds):.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def rank_bar(pen: Pen, alive: Mapping[str, int], total: int, width: int, left: float | None = None) -> Line:
    """`A 14  R 12  W 5`: the ranks that are alive, by component, as parts of a bar; then how many that is."""
    number = sum(alive.values())
    share = Run(f"  {100 * number // max(1, total)}%", NAME)
    about = f"about {clock_text(5 * math.ceil(left / 5))} left" if left else ""
    words = [Run(f"  {about}" if about else f"  {number} of {total} alive", MUTED)]
    heading = "ranks  " if width >= ROOM_FOR_REASON else ""
    room = width - len(heading) - pen.width((share, *words))
    line = LineBuilder()
    line.put(0, heading, MUTED)
    ends, done = len(heading), 0
    for component, ranks in alive.items():
        done += ranks
        cells = len(heading) + round(done / max(1, total) * room) - ends
        ends += cells
        mark = pen.marks[component]
        label = f"{mark.letter} {ranks}"
        shown = label if cells > len(label) else mark.letter if cells >= len(mark.letter) else ""
        line.add(shown.center(cells), Style("chip", mark.hue, bold=True))
    line.add((" " if pen.color else pen.glyphs.rest) * (len(heading) + room - ends), TRACK._replace(ground="track"))
    for run in (share, *words):
        line.add(*run)
    return tuple(line.runs)


def launch_key(pen: Pen) -> Line:
    """What the signs of ranks mean that come up."""
    states = pen.glyphs.states
    signs = (
        (states["starting"], TEXT, "starting"),
        (states["pending"], MUTED, "pending"),
        (pen.glyphs.above, WARNING, "slow"),
    )
    return tuple(run for sign, style, words in signs for run in (Run(f"  {sign}", style), Run(f" {words}", MUTED)))


def waiting_entries(pen: Pen, waiting: Sequence[WaitedFor], width: int) -> Iterator[Entry]:
    """Who is waited for, the longest first; slow ones are highlighted. Each leads to its first rank."""
    short = width < ROOM_FOR_REASON
    for one in sorted(waiting, key=lambda one: (one.state == "pending", -one.seconds)):
        slow = one.seconds >= SLOW and one.state != "pending"
        mark = pen.marks[one.component]
        ground: Ground | None = "warning" if slow else None
        sign = pen.glyphs.above if slow else pen.glyphs.states[one.state]
        left = [
            Run(f"{sign} ", WARNING if slow else MUTED),
            Run(mark.letter, pen.letter_style(one.component)),
            Run(f"{mark.separator}{ranges(one.ranks)}", WARNING if slow else TEXT),
        ]
        reason = Run(f"  {pen.clean(one.reason)}", MUTED)
        since = [Run(f"{one.seconds:.0f} s", WARNING if slow else MUTED)]
        if one.state == "pending":
            since = [Run("after these", FAINT)]
        lines = [spread(pen, left if short else [*left, reason], since, width, ground)]
        if short and one.reason:
            lines.append(spread(pen, [reason], [], width, ground))
        yield Entry(tuple(lines), (one.component, one.ranks[0]))


def waiting_lines(pen: Pen, waiting: Sequence[WaitedFor], width: int, most: int) -> Iterator[Line]:
    """The same in at most that many lines."""
    entries = list(waiting_entries(pen, waiting, width))
    for number, entry in enumerate(entries):
        most -= len(entry.lines)
        if most < 0 or (most == 0 and number + 1 < len(entries)):
            yield (Run(f"and {len(entries) - number} more", FAINT),)
            return
        yield from entry.lines
