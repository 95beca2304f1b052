"""The jobs of the cluster; one of them can be looked at or ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message_pump import MessagePump
from textual.widgets import DataTable, Static

from placetui.grid import clean
from placetui.grid.text import cut
from placetui.observe.ages import age
from placetui.observe.operations import Failure, Operation
from placetui.tui.jobs import Job
from placetui.tui.reporting import Ended
from placetui.tui.screens.dialog import Dialog

LOOK_AGAIN = 2.0
"""Seconds between looks."""

LONGEST_NAME = 40
OTHER_COLUMNS = 38
"""Columns of state, number of ranks and age, and all that is between and around."""


@dataclass(frozen=True, slots=True)
class JobChoice:
    """What to do with which job."""

    what: Literal["attach", "stop"]
    job: str


class JobsScreen(Dialog[JobChoice | None]):
    """A table of jobs that is kept up to date."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back"),
        Binding("s,delete", "stop", "stop it"),
    ]

    def __init__(self, look: Callable[[MessagePump], Operation], now: Callable[[], float], ascii: bool) -> None:
        super().__init__()
        self._look = look
        self._now = now
        self._ascii = ascii
        self._looking: Operation | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -jobs") as box:
            box.border_title = "jobs"
            box.border_subtitle = "enter looks at one, s stops it, escape goes back"
            yield Static("looking for the cluster …" if not self._ascii else "looking for the cluster", id="jobs-says")
            yield DataTable(cursor_type="row", zebra_stripes=False)

    def on_mount(self) -> None:
        table = self._table
        for label in ("name", "state", "alive", "age", "file"):
            table.add_column(label, key=label)
        table.display = False
        table.focus()
        self._ask()
        self.set_interval(LOOK_AGAIN, self._ask)

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one(DataTable)

    def _ask(self) -> None:
        if self._looking is None:
            self._looking = self._look(self)

    def on_ended(self, event: Ended) -> None:
        self._looking = None
        says = self.query_one("#jobs-says", Static)
        if isinstance(event.outcome, Failure):
            hint = f" ({event.outcome.hint})" if event.outcome.hint else ""
            says.update(Content(clean(f"{event.outcome.message}{hint}", self._ascii)))
            return
        jobs = [Job.read(one) for one in event.outcome.get("jobs", ())]
        where = f"on {event.outcome.get('address', '')}"
        says.update(Content(where if jobs else f"there are no jobs {where}: L launches the open file"))
        self._fill(jobs)

    def _fill(self, jobs: list[Job]) -> None:
        """Rows in place, so that the cursor stays where it is."""
        table = self._table
        for gone in {row.value for row in table.rows} - {job.name for job in jobs}:
            if gone is not None:
                table.remove_row(gone)
        ellipsis = ".." if self._ascii else "…"
        longest = max(16, min(LONGEST_NAME, self.size.width // 4))
        room = max(8, min(120, self.size.width * 9 // 10) - OTHER_COLUMNS - longest)
        for job in jobs:
            name = cut(clean(job.name, self._ascii), longest, keep="ends", ellipsis=ellipsis)
            file = cut(clean(job.file, self._ascii), room, keep="end", ellipsis=ellipsis)
            alive = f"{job.alive}/{job.world_size}" if job.world_size else ""
            # As texts: the table would read plain strings as markup.
            cells = tuple(map(Text, (name, job.state, alive, age(job.created, self._now()), file)))
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

    def _chosen(self) -> str | None:
        table = self._table
        if not table.row_count:
            return None
        return table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        if event.row_key.value is not None:
            self.dismiss(JobChoice("attach", event.row_key.value))

    def action_stop(self) -> None:
        job = self._chosen()
        if job is not None:
            self.dismiss(JobChoice("stop", job))
