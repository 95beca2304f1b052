"""The jobs of the cluster; one of them can be followed or ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from placetui.grid import clean
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.text import cut
from placetui.observe.operations import Failure
from placetui.placement.wording import age
from placetui.tui.cluster.jobs import Job
from placetui.tui.cluster.requests import ClusterRequest, Outcome, failure_words
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.widgets.panel import title_of

LOOK_AGAIN = 2.0
"""Seconds between looks."""

LONGEST_NAME = 40
LOOKS = {"degraded": "grid-error", "failed": "grid-error", "incomplete": "grid-warning", "starting": "grid-warning"}
"""Colours of states that are not as they should be."""

OTHER_COLUMNS = 38
"""Columns of state, number of ranks and age, and all that is between and around."""


@dataclass(frozen=True, slots=True)
class JobChoice:
    """What to do with which job."""

    what: Literal["attach", "stop"]
    job: str
    owner: str = ""


class JobsScreen(Dialog[JobChoice | None]):
    """A table of jobs that is kept up to date."""

    CHIP = "JOBS"
    KEYS = (("escape", "close"),)
    KEYS_OF_JOBS = (("enter", "follow"), ("s", "stop"), *KEYS)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back"),
        Binding("s,delete", "stop", "stop it"),
    ]

    def __init__(self, look: Callable[[], ClusterRequest], now: Callable[[], float], ascii: bool) -> None:
        super().__init__("Jobs", ascii=ascii)
        self._look = look
        self._now = now
        self._owners: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        with self.box(classes="-jobs"):
            yield Static("Looking for the cluster …" if not self._ascii else "Looking for the cluster", id="jobs-says")
            yield DataTable(cursor_type="row", zebra_stripes=False)

    def on_mount(self) -> None:
        table = self._table
        for label in ("name", "state", "alive", "age", "file"):
            table.add_column(label, key=label)
        table.display = False
        table.focus()
        self._follow()

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one(DataTable)

    @work
    async def _follow(self) -> None:
        """Look again and again."""
        while True:
            self._show(await self._look())
            await asyncio.sleep(LOOK_AGAIN)

    def _show(self, outcome: Outcome) -> None:
        says = self.query_one("#jobs-says", Static)
        if isinstance(outcome, Failure):
            says.update(Content(clean(failure_words(outcome), self._ascii)))
            return
        jobs = [Job.read(one) for one in outcome.get("jobs", ())]
        address = clean(str(outcome.get("address", "")), self._ascii)
        says.display = not jobs
        says.update(Content(f"No jobs on {address}. L launches the open file."))
        self.query_one(".dialog").border_title = title_of("Jobs", len(jobs) or None, address)
        self._fill(jobs)

    def _fill(self, jobs: list[Job]) -> None:
        """Rows in place, so that the cursor stays where it is."""
        table = self._table
        self._owners = {job.name: job.owner for job in jobs}
        for gone in {row.value for row in table.rows} - {job.name for job in jobs}:
            if gone is not None:
                table.remove_row(gone)
        ellipsis = glyphs(self._ascii).ellipsis
        names = max((cell_len(clean(job.name, self._ascii)) for job in jobs), default=0)
        longest = min(names, max(16, min(LONGEST_NAME, self.size.width // 4)))
        room = max(8, min(120, self.size.width * 9 // 10) - OTHER_COLUMNS - longest)
        for job in jobs:
            name = cut(clean(job.name, self._ascii), longest, keep="ends", ellipsis=ellipsis)
            file = cut(
                clean(job.file or job.entrypoint, self._ascii),
                room,
                keep="end" if job.file else "ends",
                ellipsis=ellipsis,
            )
            alive = f"{job.alive}/{job.world_size}" if job.world_size else ""
            # As texts: the table would read plain strings as markup.
            colors = self.app.theme_variables
            muted = colors["grid-muted"]
            look = colors[LOOKS[job.state]] if job.state in LOOKS else ""
            cells = (
                Text(name, "bold"),
                Text(job.state, look),
                Text(alive, look, justify="right"),
                Text(age(job.created, self._now()), muted, justify="right"),
                Text(file, muted),
            )
            if job.name not in {row.value for row in table.rows}:
                table.add_row(*cells, key=job.name)
                continue
            for column, cell in zip(("name", "state", "alive", "age", "file"), cells, strict=True):
                if table.get_cell(job.name, column) != cell:
                    table.update_cell(job.name, column, cell, update_width=True)
        if jobs and not table.display:
            table.display = True
            table.focus()
        table.display = bool(jobs)
        self.name_keys(self.KEYS_OF_JOBS if jobs else self.KEYS)

    def _chosen(self) -> str | None:
        table = self._table
        if not table.row_count:
            return None
        return table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value

    @on(DataTable.RowSelected)
    def _row_selected(self, event: DataTable.RowSelected) -> None:
        if event.row_key.value is not None:
            self.dismiss(JobChoice("attach", event.row_key.value))

    def action_stop(self) -> None:
        job = self._chosen()
        if job is not None:
            self.dismiss(JobChoice("stop", job, self._owners.get(job, "")))
