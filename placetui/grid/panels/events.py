"""What happened, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from time import localtime, strftime
from typing import NamedTuple

from placetui.grid.look.style import ERROR, FAINT, MUTED, OK, TEXT, WARNING, Ground, Line, Run, Style
from placetui.grid.panels.entries import Entry, spread
from placetui.grid.pen import Pen
from placetui.observe.events import Event
from placetui.observe.model import Observation
from placetui.placement.plan import GPU
from placetui.placement.wording import ranges

CLOCK = 56
"""Columns from which on the time of day is shown, and the event in columns."""

WIDEST_WHO, WIDEST_PLACE = 16, 16
RECENT = 60
"""Seconds for which a problem is tinted that is about no rank."""

_SIGNS: dict[str, tuple[str, Style]] = {
    "rank_died": ("dead", ERROR),
    "node_lost": ("dead", ERROR),
    "rank_restarting": ("restarting", WARNING),
    "node_stale": ("stale", WARNING),
    "device_stale": ("stale", WARNING),
}


_SHORT = {
    "foreign process": "foreign",
    "unknown in group": "unknown",
    "high memory": "full",
    "high temperature": "hot",
}
"""Titles in a word, for lines that also say where."""


class EventParts(NamedTuple):
    """An event in pieces that stand in columns."""

    time: Run
    sign: Run
    who: Line
    place: str
    what: str
    style: Style
    """Of what happened."""

    ground: Ground | None


def event_parts(pen: Pen, event: Event, seen: Observation | None) -> EventParts:
    """What an event says, and whether it still holds."""
    sign, style = _sign(pen, event)
    device = None if event.device is None else f"gpu{event.device}"
    place = "" if event.node is None else pen.clean(pen.node_name(event.node))
    subject, what = "", event.message
    if event.component is not None and event.rank is not None:
        subject = f"{event.component} {event.rank}"
        device = device or _planned_device(pen, event)
    elif event.component is not None:
        subject = event.component
    elif event.kind.startswith("job"):
        subject, _, what = what.replace(" started", ": started").replace(" ended", ": ended").partition(": ")
    where = f"{place}/{device}" if place and device else place
    if event.is_over and event.what:
        what = f"no longer: {event.what}"  # the figures that it had are old
    for name in (f"{event.component}:{event.rank}", subject, where):
        if name and what.startswith(name):
            what = what.removeprefix(name).lstrip(": ")
    if where:
        what = what.removesuffix(f" is on {where}")
    mark = pen.marks.get(event.component or "")
    letter = () if mark is None else (Run(f"{mark.letter} ", pen.letter_style(event.component or "")),)
    loud = event.is_problem or style is OK
    return EventParts(
        Run(strftime("%H:%M:%S", localtime(event.time)), FAINT),
        Run(sign, style),
        (*letter, Run(pen.clean(subject), TEXT if loud else MUTED)),
        where,
        pen.clean(what),
        TEXT if loud else MUTED,
        _ground(event, style, seen),
    )


def _planned_device(pen: Pen, event: Event) -> str | None:
    """The GPU of a rank that is on its planned node."""
    component = pen.plan.components.get(event.component or "")
    if component is None or event.rank is None or event.rank >= len(component.placements):
        return None
    planned = component.placements[event.rank]
    here = planned.cluster_node_rank == event.node and planned.devices and pen.plan.kind_of(planned) == GPU
    return f"gpu{ranges(planned.devices)}" if here else None


def _ground(event: Event, style: Style, seen: Observation | None) -> Ground | None:
    """Of problems that still hold; of those that are about no rank, the recent ones."""
    if not event.is_problem or seen is None:
        return None
    if event.kind in ("rank_died", "rank_restarting") and event.component is not None and event.rank is not None:
        state = seen.rank(event.component, event.rank)
        if state is None or state.state != ("dead" if event.kind == "rank_died" else "restarting"):
            return None
    elif seen.time - event.time >= RECENT:
        return None
    return "error" if style is ERROR else "warning"


def event_entries(pen: Pen, events: Iterable[Event], seen: Observation | None, width: int) -> list[Entry]:
    """A line for each event: in columns where there is room."""
    shown = list(events)
    parts = [event_parts(pen, event, seen) for event in shown]
    if width >= CLOCK:
        who = min(WIDEST_WHO, max((pen.width(one.who) for one in parts), default=0))
        place = min(WIDEST_PLACE, max((pen.measure(one.place) for one in parts), default=0))
        return [Entry((_columns(pen, one, who, place, width),), event) for event, one in zip(shown, parts, strict=True)]
    now = seen.time if seen else max((event.time for event in shown), default=0.0)
    return [Entry((_brief_line(pen, event, one, now, width),), event) for event, one in zip(shown, parts, strict=True)]


def _columns(pen: Pen, parts: EventParts, who: int, place: int, width: int) -> Line:
    after_who = 13 + who
    starts = 0, 9, 11, after_who, after_who + (place + 2 if place else 0)
    cells = (parts.time,), (parts.sign,), parts.who, (Run(parts.place, MUTED),), (Run(parts.what, parts.style),)
    return spread(pen, pen.across(cells, starts, width), [], width, parts.ground)


def _brief_line(pen: Pen, event: Event, parts: EventParts, now: float, width: int) -> Line:
    head = [Run(f"{_ago(now - event.time):>5} ", FAINT), parts.sign, Run(" ", TEXT)]
    told = _brief(pen, event, pen.clean(event.message), width - pen.width(head))
    letter = pen.marks[event.component].letter if event.component in pen.marks else ""
    if letter and told.startswith(letter):  # of `A7 died`, the letter has its hue
        head.append(Run(letter, pen.letter_style(event.component or "")))
        told = told.removeprefix(letter)
    return spread(pen, [*head, Run(told, parts.style)], [], width)


def _brief(pen: Pen, event: Event, brief: str, room: int) -> str:
    """The rank by its letter; what happened with its reason if there is room for it, else without, and where."""
    label = ""
    if event.component in pen.marks and event.rank is not None:
        label = pen.marks[event.component].label(event.rank)
        for name in (f"{event.component}:{event.rank} ", f"{event.component} {event.rank} "):
            brief = brief.replace(pen.clean(name), f"{label} ", 1)
    brief = brief.replace(" is restarting", " restarts")
    head, _, rest = brief.partition(": ")
    shorter = [rest if event.kind.startswith("job") else head, head.partition(", ")[0]]
    place = f"{event.node}/gpu{event.device}" if event.node is not None and event.device is not None else ""
    if event.what:
        what, short = event.what, _SHORT.get(event.what, event.what)
        with_place = [f"{what} on {place}", f"{short} on {place}"]
        if event.is_over:
            what, with_place = f"{what} over", [f"{what} over on {place}", f"not {short} {place}"]
        shorter = [*(with_place if place and not label else ()), f"{label} {what}".lstrip(), what]
    shorter.append(place)
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
        return pen.glyphs.done, OK
    return pen.glyphs.empty, FAINT


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
