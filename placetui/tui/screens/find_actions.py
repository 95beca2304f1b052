"""Finding things in the grid: hits, filter, order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.widgets import Input

from placetui.grid import Place
from placetui.grid.find import find
from placetui.observe.model import Observation
from placetui.tui.session import Session
from placetui.tui.view import NOTHING, View

if TYPE_CHECKING:
    from placetui.tui.widgets.grid_view import GridView


class FindActions(Screen[None]):
    """The finding half of the main screen."""

    session: Session
    view: View
    observation: Observation | None
    _ascii: bool

    if TYPE_CHECKING:

        @property
        def grid(self) -> GridView: ...

        def action_view_plan(self) -> None: ...

        def _draw(self) -> None: ...

        def _occupants(self, place: Place, most: int = 8) -> list[tuple[str, int]]: ...

        def _fill_panels(self) -> None: ...

        def _update_status(self) -> None: ...

    def show_found(self, query: str) -> None:
        """Go where a query leads."""
        self._find(query)

    def ranks_here(self) -> list[tuple[str, int]]:
        """Component and rank of the processes under the cursor."""
        return self._occupants(self.grid.emphasis.cursor)

    def action_find(self) -> None:
        field = self.query_one("#find", Input)
        field.display = True
        field.value = ""
        field.focus()

    def _find(self, query: str) -> None:
        hits = find(self.session.plan, query, observation=self.observation) if query.strip() else NOTHING
        if hits.message:
            self.notify(hits.message, severity="warning", markup=False)
            return
        narrowed = self.view.narrowed
        self.view = replace(self.view, hits=hits, at=-1)
        if narrowed:
            self._draw()
        self.grid.emphasise(component=self.view.component, hits=self.view.hits.places)
        self._update_status()
        if hits.places:
            self.action_find_next()

    def action_find_next(self) -> None:
        self._step_hits(1)

    def action_find_previous(self) -> None:
        self._step_hits(-1)

    def _step_hits(self, steps: int) -> None:
        stops = self.view.hits.stops()
        if not stops:
            self.notify("nothing was searched for: press / first", markup=False)
            return
        at = (self.view.at + steps) % len(stops) if self.view.at >= 0 or steps > 0 else len(stops) - 1
        self.view = replace(self.view, at=at)
        self.action_view_plan()
        self.grid.set_cursor(stops[at])
        self._update_status()
        self.notify(f"{self.view.hits.about}: {at + 1} of {len(stops)}", timeout=2, markup=False)

    def action_filter(self) -> None:
        if not self.view.hits.places:
            self.notify("nothing to filter by: press / first", markup=False)
            return
        self.view = replace(self.view, filtered=not self.view.filtered)
        self._draw()

    def action_sort(self) -> None:
        self.view = replace(self.view, order=self.view.next_order())
        self._draw()
        self.notify(f"nodes by {self.view.order}", timeout=2, markup=False)

    def action_clear(self) -> None:
        self.view = View(self.view.density)
        self.grid.select(())
        self._draw()
        self._fill_panels()
        self.action_view_plan()
