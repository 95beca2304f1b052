"""The jobs of a cluster: first the one that is followed, then others that run, then those that ended lately."""

from __future__ import annotations

from collections.abc import Iterator

from placetui.grid.look.style import ERROR, FAINT, MUTED, NAME, TEXT, WARNING, Ground, Line, Run, Style
from placetui.grid.panels.entries import Entry, spread
from placetui.grid.pen import Pen
from placetui.observe.model import JobSummary, Observation
from placetui.observe.totals import Totals
from placetui.placement.wording import age, count

_STATES: dict[str, Style] = {"degraded": ERROR, "failed": ERROR, "starting": WARNING, "ended": FAINT}


def jobs_of(observation: Observation) -> list[JobSummary]:
    """Recognised jobs, and those that placetui launched, which bear the names of their placement groups."""
    found = {job.name: job for job in observation.jobs}
    launched = [group.name for group in observation.groups if group.namespace == "placetui" and group.name]
    for name in filter(None, (observation.job, *launched)):
        if name not in found:
            ranks = observation.ranks.values() if name == observation.job else ()
            first = min((since for states in ranks for one in states[:1] if (since := one.since)), default=None)
            found[name] = JobSummary(name, "placetui", started=first)
    return sorted(found.values(), key=lambda job: (job.name != observation.job, not job.runs, -(job.started or 0.0)))


def job_entries(pen: Pen, observation: Observation, totals: Totals | None, width: int) -> list[Entry]:
    """A line for each job, with its state and age; of the followed one also how many of its ranks are alive."""
    return [Entry(tuple(_lines(pen, job, observation, totals, width)), job) for job in jobs_of(observation)]


def _lines(pen: Pen, job: JobSummary, observation: Observation, totals: Totals | None, width: int) -> Iterator[Line]:
    followed = job.name == observation.job
    state: str = job.state
    if followed and totals is not None and job.runs:
        state = "degraded" if totals.dead else "starting" if totals.ranks_alive < totals.ranks else state
    ground: Ground | None = "raised" if followed else None
    left = [
        Run(f"{pen.glyphs.right} " if followed else "  ", NAME),
        Run(pen.clean(job.name), NAME if followed else TEXT),
    ]
    right = [Run(state, _STATES.get(state, MUTED)), Run(f"  {age(job.started or 0.0, observation.time)}", FAINT)]
    yield spread(pen, left, right, width, ground)
    if followed and totals is not None:
        figures = [
            Run("  ", TEXT),
            Run(f"{totals.ranks_alive:,}/{totals.ranks:,}", TEXT),
            Run(f" alive, {count(len(observation.nodes), 'node')}", MUTED),
        ]
        yield spread(pen, figures, [], width, ground)
