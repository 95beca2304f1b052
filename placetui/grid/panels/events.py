"""What happened, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from time import localtime, strftime

from placetui.grid.look.style import ERROR, FAINT, MUTED, OK, TEXT, WARNING, Run, Style
from placetui.grid.panels.entries import Entry, spread
from placetui.grid.pen import Pen
from placetui.observe.events import Event

CLOCK = 56
"""Columns from which on the time of day is shown, and not how long ago it was."""

_SIGNS: dict[str, tuple[str, Style]] = {
    "rank_died": ("dead", ERROR),
    "node_lost": ("dead", ERROR),
    "rank_restarting": ("restarting", WARNING),
    "node_stale": ("stale", WARNING),
    "device_stale": ("stale", WARNING),
}


def event_entries(pen: Pen, events: Iterable[Event], now: float, width: int) -> list[Entry]:
    """A line for each event."""
    return [_entry(pen, event, now, width) for event in events]


def _entry(pen: Pen, event: Event, now: float, width: int) -> Entry:
    sign, style = _sign(pen, event)
    when = strftime("%H:%M:%S", localtime(event.time)) if width >= CLOCK else f"{_ago(now - event.time):>5}"
    words = TEXT if event.is_problem or event.kind in ("rank_back", "job_ready") else MUTED
    ground = None
    if width >= CLOCK and event.is_problem and now - event.time < 60:
        ground = "error" if style is ERROR else "warning"
    head = [Run(f"{when} ", FAINT), Run(f"{sign} ", style)]
    told = pen.clean(event.message)
    if width < CLOCK:
        told = _brief(pen, event, told, width - sum(pen.measure(run.text) for run in head))
    letter = pen.marks[event.component].letter if event.component in pen.marks else ""
    if letter and told.startswith(letter):  # of `A7 died`, the letter has its hue
        head.append(Run(letter, pen.letter_style(event.component or "")))
        told = told.removeprefix(letter)
    runs = [*head, Run(told, words)]
    return Entry((spread(pen, runs, [], width, ground),), event)  # type: ignore[arg-type]


def _brief(pen: Pen, event: Event, brief: str, room: int) -> str:
    """The rank by its letter; what happened with its reason if there is room for it, else without; else the place."""
    if event.component in pen.marks and event.rank is not None:
        label = pen.marks[event.component].label(event.rank)
        for name in (f"{event.component}:{event.rank} ", f"{event.component} {event.rank} "):
            brief = brief.replace(pen.clean(name), f"{label} ", 1)
    brief = brief.replace(" is restarting", " restarts")
    head, _, rest = brief.partition(": ")
    shorter = [rest if event.kind.startswith("job") else head, head.partition(", ")[0]]
    if event.node is not None and event.device is not None:
        shorter.append(f"{pen.clean(pen.node_name(event.node))}/gpu{event.device}")
    return next((one for one in (brief, *shorter) if one and pen.measure(one) <= room), brief)


def _sign(pen: Pen, event: Event) -> tuple[str, Style]:
    if event.kind in _SIGNS:
        state, style = _SIGNS[event.kind]
        return pen.glyphs.states[state], style
    if event.kind == "drift":
        return pen.glyphs.differs, WARNING
    if event.is_problem:
        return pen.glyphs.above, WARNING
    if event.kind in ("job_ready", "rank_back", "node_back", "device_back"):
        return "+" if pen.ascii else "✓", OK
    return pen.glyphs.empty, FAINT


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
