"""Tables of processes, ranks and drift: which one is open, its filter, its order, and where its rows lead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual.widgets import ContentSwitcher, Input

from placetui.grid import Line, Place, clean
from placetui.grid.flow import Flow
from placetui.grid.pen import Pen
from placetui.grid.tables import TablePen, row_lines
from placetui.observe.columns import FIELDS, LARGEST_FIRST, ORDERS, Sorting, TableName, haystack, place_of
from placetui.observe.filtering import Filter, FilterError, read_filter
from placetui.observe.roster import Roster
from placetui.placement.plan import GPU, NODE
from placetui.placement.problems import count
from placetui.tui.screens.find_actions import FindActions
from placetui.tui.screens.live_screen import LiveScreen
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.table_view import Table, TableView

NOT_IN_TABLES = frozenset(
    "assign take_off move_back move_on move_up move_down grow shrink edit_rule more filter find_next find_previous "
    "zoom_in zoom_out next_component".split()
)
"""Actions on what the grid shows: not while it is hidden."""

EXAMPLES: dict[TableName, str] = {
    "processes": "component:rollout mem>60, kind:foreign, node:3, -user:root …",
    "ranks": "state:dead, component:actor mem>40, restarts>0, node:0-3 …",
    "drift": "kind:foreign, component:rollout, node:3 …",
    "groups": "state:pending, namespace:placetui, gpus>8 …",
}
NOTHING: dict[TableName, str] = {
    "processes": "nobody is on any GPU",
    "ranks": "there are no ranks",
    "drift": "no drift: what is seen is what is planned",
    "groups": "there are no placement groups",
}

NO_FILTER: Filter[Any] = Filter("", None)


@dataclass(frozen=True, slots=True)
class Looking:
    """How a table is looked at."""

    sorting: Sorting
    filter: Filter[Any] = NO_FILTER


class TableActions(LiveScreen, FindActions):
    """The tables of the main screen."""

    table_name: TableName = "processes"
    _palette: GridPalette
    _table_pen: TablePen | None = None

    if TYPE_CHECKING:

        @property
        def _showing(self) -> str: ...

        def _switch(self, view: str) -> None: ...

        def _resized(self) -> None: ...

    def open_tables(self) -> None:
        """Begin: every table in the order in which its rows come."""
        self.roster = Roster()
        self.looking: dict[TableName, Looking] = {
            name: Looking(Sorting(next(iter(orders)))) for name, orders in ORDERS.items()
        }

    async def action_view_processes(self) -> None:
        await self._show_table("processes")

    async def action_view_ranks(self) -> None:
        await self._show_table("ranks")

    async def action_view_drift(self) -> None:
        await self._show_table("drift")

    async def action_view_groups(self) -> None:
        await self._show_table("groups")

    async def _show_table(self, name: TableName) -> None:
        self.remove_class("-editing")
        views = self.query_one("#views", ContentSwitcher)
        if not views.query(TableView):
            await views.add_content(TableView(id="table"))
        anew = name != self.table_name or self._showing != "table"
        self.table_name = name
        self._switch("table")
        self.call_after_refresh(self._fill_table, anew=anew)
        self.call_after_refresh(self._inspect)
        self.query_one(TableView).focus()

    @property
    def table(self) -> TableView | None:
        """The table, while it is shown."""
        return self.query_one(TableView) if self._showing == "table" else None

    # Filling

    def _fill_table(self, *, anew: bool = False) -> None:
        view = self.table
        if view is None or not view.size.width:
            return
        looking = self.looking[self.table_name]
        rows, total = self._rows(looking)
        view.show(
            Table(
                self._pen_for(view.scrollable_content_region.width),
                rows,
                looking.sorting,
                clean(self._caption(looking, len(rows), total), self._ascii),
                clean(self._nothing(looking, total), self._ascii),
            ),
            self._palette,
            anew=anew,
        )

    def on_table_view_resized(self) -> None:
        self._fill_table()

    def _rows(self, looking: Looking) -> tuple[list[Any], int]:
        """What is to be shown, and how much there is in all."""
        matches = looking.filter.matches
        if self.observation is None:
            return [], 0
        rows: list[Any]
        if self.table_name == "processes":
            self.roster.update(self.observation)
            rows = list(self.roster.processes())
            found = rows if matches is None else list(self.roster.processes(matches))
        else:
            if self.table_name == "ranks":
                self.roster.update(self.observation)
                rows = list(self.roster.ranks(self.session.plan))
            else:
                rows = list(self.notices if self.table_name == "drift" else self.observation.groups)
            found = rows if matches is None else [row for row in rows if matches(row)]
        return self._sorted(found, looking.sorting), len(rows)

    def _sorted(self, rows: list[Any], sorting: Sorting) -> list[Any]:
        orders = ORDERS[self.table_name]
        if sorting.column == next(iter(orders)) and self.table_name in ("processes", "ranks"):
            return rows[::-1] if sorting.descending else rows  # they come so
        order: Callable[[Any], Any] = orders[sorting.column]
        return sorted(rows, key=order, reverse=sorting.descending)

    def _pen_for(self, width: int) -> TablePen:
        pen, plan = self._table_pen, self.session.plan
        if pen is None or (pen.table, pen.width, pen.pen.plan) != (self.table_name, width, plan):
            pen = self._table_pen = TablePen(self.table_name, Pen(plan, self._ascii, cell_len), width)
        return pen

    def _caption(self, looking: Looking, shown: int, total: int) -> str:
        name = self.table_name
        what = f"{'placement groups' if name == 'groups' else name}: {total}"
        if name == "drift":
            what = self._drift_caption()
        if looking.filter.text:
            what += f"   filter {looking.filter.text}: {shown}"
        return what

    def _drift_caption(self) -> str:
        overlay = self.overlay
        drift, alerts = (len(overlay.drift), len(overlay.alerts)) if overlay else (0, 0)
        return f"drift: {drift}   {count(alerts, 'alert')}"

    def _nothing(self, looking: Looking, total: int) -> str:
        if self.observation is None:
            return "there is no live picture: no cluster is attached"
        if total:
            return f"nothing matches `{looking.filter.text}`: escape forgets it"
        if self.table_name == "drift" and self.session.pictured:
            return "no drift: the plan is what is seen, as it is"
        return NOTHING[self.table_name]

    # Filter and order

    def action_find(self) -> None:
        """Find in the grid; in a table, filter."""
        super().action_find()
        field = self.query_one("#find", Input)
        if self.table is not None:
            field.value = self.looking[self.table_name].filter.text
            field.placeholder = EXAMPLES[self.table_name]
        else:
            field.placeholder = self.find_examples

    find_examples = "rollout 17, node5/gpu3, free, shared, a host name …"

    def _find(self, query: str) -> None:
        if self.table is None:
            super()._find(query)
            return
        self._filter_table(query, loud=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        """A table follows each key of its filter."""
        if event.input.id == "find" and self.table is not None and event.input.display:
            self._filter_table(event.value)

    def _filter_table(self, text: str, *, loud: bool = False) -> None:
        looking = self.looking[self.table_name]
        if text == looking.filter.text:
            return
        try:
            wanted = read_filter(text, FIELDS[self.table_name], haystack)
        except FilterError as problem:
            if loud:
                self.notify(clean(str(problem), self._ascii), severity="warning", markup=False)
            return
        self.looking[self.table_name] = replace(looking, filter=wanted)
        self._fill_table()

    def action_sort(self) -> None:
        """Sort the nodes of the grid, or a table by its next column."""
        view = self.table
        if view is None:
            super().action_sort()
            return
        # Who types fast sorts before there is anything to see.
        columns = [
            slot.column.name for slot in self._pen_for(view.scrollable_content_region.width or self.size.width).slots
        ]
        now = self.looking[self.table_name].sorting.column
        place = columns.index(now) + 1 if now in columns else 0
        self._sort_table(columns[place % len(columns)])

    def action_reverse(self) -> None:
        if self.table is None:
            self.notify("only tables can be turned round: 3 to 6 show them", timeout=2, markup=False)
        else:
            self._sort_table(self.looking[self.table_name].sorting.column)

    def on_table_view_sort_by(self, event: TableView.SortBy) -> None:
        self._sort_table(event.column)

    def _sort_table(self, column: str) -> None:
        """Sort by a column; the same one again turns the order round."""
        looking = self.looking[self.table_name]
        before = looking.sorting
        descending = not before.descending if before.column == column else column in LARGEST_FIRST
        self.looking[self.table_name] = replace(looking, sorting=Sorting(column, descending))
        self._fill_table(anew=True)  # who sorts wants to see what comes first

    def action_clear(self) -> None:
        """Forget a table's filter first, then leave the table."""
        if self.table is not None and self.looking[self.table_name].filter.text:
            self._filter_table("")
        else:
            super().action_clear()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is done to the grid is not done while it is hidden behind a table."""
        if action in NOT_IN_TABLES and self.is_mounted and self.table is not None:
            return False
        return super().check_action(action, parameters)

    # Where rows lead

    def on_table_view_moved(self) -> None:
        self._inspect()

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        place = self._place_of(event.row)
        if place is None:
            self.notify("this has no place in the grid", markup=False)
            return
        if self.view.narrowed and self.grid.drawing is not None and self.grid.drawing.top_of(place.node) is None:
            self.action_filter()  # the node is filtered away
        self.action_view_plan()
        self.grid.set_cursor(place)

    @property
    def looked_at(self) -> Place:
        """The place under the cursor of what is shown."""
        view = self.table
        place = None if view is None or view.row is None else self._place_of(view.row)
        return place or self.grid.emphasis.cursor

    def _row_lines(self, width: int) -> list[Line]:
        """All that the row of the table says, which stands before what is known of its place."""
        row = self.table.row if self.table is not None else None
        return [] if row is None else row_lines(Flow(Pen(self.session.plan, self._ascii, cell_len), width), row)

    def _place_of(self, row: Any) -> Place | None:
        found, nodes = place_of(row), self.session.plan.nodes
        if found is None or not 0 <= found[0] < len(nodes):
            return None
        node, device = found
        if device is None:
            return Place(node, GPU, 0) if nodes[node].gpus else Place(node, NODE, 0)
        return Place(node, GPU, device) if device < nodes[node].gpus else None
