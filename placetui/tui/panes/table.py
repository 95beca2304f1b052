"""Tables of processes, ranks, drift, groups and events: only rows on screen are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset, Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from placetui.grid import Line, Run, clean
from placetui.grid.look.style import FAINT, MUTED, NAME
from placetui.grid.pen import Pen
from placetui.grid.tables import TablePen
from placetui.grid.tables.filters import Filter, FilterError, read_filter
from placetui.grid.tables.rows import LARGEST_FIRST, ORDERS, Sorting, TableName, key_of
from placetui.observe.events import EventLog
from placetui.observe.rows import TableRows
from placetui.placement.wording import count, plain
from placetui.tui.actions import bindings
from placetui.tui.live import LivePicture
from placetui.tui.messages import RowChosen, SelectionChanged
from placetui.tui.selection import Selection, selected_row
from placetui.tui.themes import GridPalette

HEADER_HEIGHT = 2
"""A caption, and the titles of the columns."""

NO_FILTER: Filter = Filter("", None)

EXAMPLES: dict[TableName, str] = {
    "processes": "component:rollout mem>60, kind:foreign, node:3, -user:root …",
    "ranks": "state:dead, component:actor mem>40, restarts>0, node:0-3 …",
    "drift": "kind:foreign, component:rollout, node:3 …",
    "groups": "state:pending, namespace:placetui, gpus>8 …",
    "events": "kind:rank_died, component:actor, node:3 …",
}
NOTHING: dict[TableName, str] = {
    "processes": "no process is on any GPU",
    "ranks": "there are no ranks",
    "drift": "no drift: the cluster matches the plan",
    "groups": "there are no placement groups",
    "events": "no events since the dashboard started",
}


@dataclass(frozen=True, slots=True)
class Looking:
    """How a table is viewed."""

    sorting: Sorting
    filter: Filter = NO_FILTER


@dataclass(frozen=True, slots=True)
class TableContent:
    """What a table shows."""

    pen: TablePen
    rows: Sequence[Any]
    sorting: Sorting
    caption: str
    """What these rows are, and how many."""

    nothing: str
    """What to say when there are none."""


class TablePane(ScrollView, can_focus=True):
    """Rows with a cursor that stays on the same one while others come, go and change places."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(panes=True)
    COMPONENT_CLASSES: ClassVar[set[str]] = {"table-pane--cursor", "table-pane--hover"}
    """
    | Class | Description |
    | :- | :- |
    | `table-pane--cursor` | The row under the cursor. |
    | `table-pane--hover` | The row under the mouse. |
    """

    picture: reactive[LivePicture | None] = reactive(None, repaint=False, init=False)
    palette: reactive[GridPalette | None] = reactive(None, init=False)
    table: reactive[TableName] = reactive("processes", repaint=False, init=False)
    """Which one is shown."""

    def __init__(self, events: EventLog, *, ascii: bool, id: str | None = None) -> None:
        super().__init__(id=id)
        self.content: TableContent | None = None
        self.cursor = 0
        """Number of the row under the cursor."""

        self.looking: dict[TableName, Looking] = {
            name: Looking(Sorting(next(iter(orders)), descending=name == "events")) for name, orders in ORDERS.items()
        }
        self._events = events
        self._roster = TableRows()
        self._ascii = ascii
        self._pen: TablePen | None = None
        self._filter_before = ""
        self._key: object = None
        """What the row under the cursor is known by."""

        self._hover: int | None = None
        self._lines: dict[int, Line] = {}

    # What is shown

    def watch_picture(self) -> None:
        self.fill()

    def watch_table(self) -> None:
        """Another table: the cursor goes to its first row."""
        self.fill(anew=True)

    def on_resize(self) -> None:
        self.fill()

    def on_show(self) -> None:
        self.call_after_refresh(self.fill)

    def fill(self, *, anew: bool = False) -> None:
        """Work out the rows, if the table is in view; with `anew`, start at the top."""
        if anew:
            self._key, self.cursor = None, 0
            self.scroll_to(y=0, animate=False, immediate=True)
        if self.picture is None or not self.size.width or not self.display:
            return
        rows, total = self._rows(self.picture)
        looking = self._looking
        content = TableContent(
            self._pen_for(self.scrollable_content_region.width),
            rows,
            looking.sorting,
            clean(self._caption(len(rows), total), self._ascii),
            clean(self._nothing(total), self._ascii),
        )
        self._show(content, anew=anew)

    @property
    def _looking(self) -> Looking:
        return self.looking[self.table]

    def _rows(self, picture: LivePicture) -> tuple[list[Any], int]:
        """The rows to show, and the total number."""
        matches = self._looking.filter.matches
        observation = picture.observation
        if self.table == "events":
            rows: list[Any] = list(self._events.events)
        elif observation is None:
            rows = []
        elif self.table == "processes":
            self._roster.update(observation)
            rows = list(self._roster.processes())
        elif self.table == "ranks":
            self._roster.update(observation)
            rows = list(self._roster.ranks(picture.plan))
        else:
            rows = list(picture.notices if self.table == "drift" else observation.groups)
        if matches is None:
            found = rows
        elif self.table == "processes":
            found = list(self._roster.processes(matches))
        else:
            found = [row for row in rows if matches(row)]
        return self._sorted(found), len(rows)

    def _sorted(self, rows: list[Any]) -> list[Any]:
        orders, sorting = ORDERS[self.table], self._looking.sorting
        if sorting.column == next(iter(orders)) and self.table in ("processes", "ranks", "events"):
            return rows[::-1] if sorting.descending else rows  # they come so
        order: Callable[[Any], Any] = orders[sorting.column]
        return sorted(rows, key=order, reverse=sorting.descending)

    def _pen_for(self, width: int) -> TablePen:
        assert self.picture is not None
        pen, plan = self._pen, self.picture.plan
        if pen is None or (pen.table, pen.width, pen.pen.plan) != (self.table, width, plan):
            pen = self._pen = TablePen(self.table, Pen(plan, self._ascii, cell_len), width)
        return pen

    def _caption(self, shown: int, total: int) -> str:
        what = f"{'placement groups' if self.table == 'groups' else self.table}: {total}"
        live = self.picture.live if self.picture else None
        if self.table == "drift":
            drift, alerts = (len(live.drift), len(live.alerts)) if live else (0, 0)
            what = f"drift: {drift}   {count(alerts, 'alert')}"
        text = self._looking.filter.text
        return f"{what}   filter {text}: {shown}" if text else what

    def _nothing(self, total: int) -> str:
        assert self.picture is not None
        if self.picture.observation is None and not total:
            return "no live values: no cluster is attached"
        if total:
            return f"nothing matches {self._looking.filter.text}; escape: clear the filter"
        if self.table == "drift" and self.picture.session.pictured:
            return "no drift: the plan was read from the cluster"
        return NOTHING[self.table]

    # Filter and order

    @property
    def find_examples(self) -> str:
        return EXAMPLES[self.table]

    def begin_find(self) -> str:
        """The filter, which is kept in mind."""
        self._filter_before = self._looking.filter.text
        return self._filter_before

    def cancel_find(self) -> None:
        self.find_while_typing(self._filter_before)

    def find_while_typing(self, text: str) -> str:
        """Filter by a text that is being typed; how many rows are left, or what is wrong with it."""
        looking = self._looking
        if text != looking.filter.text:
            try:
                wanted = read_filter(text, self.table, self.picture.plan if self.picture else None)
            except FilterError as problem:
                return clean(plain(str(problem)), self._ascii)
            self.looking[self.table] = replace(looking, filter=wanted)
            self.fill()
        return count(len(self.content.rows), "row") if self.content is not None else ""

    def search(self, text: str) -> None:
        """Filter by a text, or say what is wrong with it."""
        words = self.find_while_typing(text)
        if text != self._looking.filter.text:
            self.notify(words, severity="warning", markup=False)

    def sort(self) -> None:
        # Who types fast sorts before there is anything to see.
        pen = self._pen_for(self.scrollable_content_region.width or self.screen.size.width)
        columns = [slot.column.name for slot in pen.slots]
        now = self._looking.sorting.column
        place = columns.index(now) + 1 if now in columns else 0
        self._sort_by(columns[place % len(columns)])

    def reverse(self) -> None:
        self._sort_by(self._looking.sorting.column)

    def _sort_by(self, column: str) -> None:
        """Sort by a column; the same one again reverses the order."""
        before = self._looking.sorting
        descending = not before.descending if before.column == column else column in LARGEST_FIRST
        self.looking[self.table] = replace(self._looking, sorting=Sorting(column, descending))
        self.fill(anew=True)  # who sorts wants to see what comes first

    def clear(self) -> bool:
        """Forget the filter; whether there was one."""
        filtered = bool(self._looking.filter.text)
        if filtered:
            self.find_while_typing("")
        return filtered

    # What is selected

    @property
    def row(self) -> Any:
        """What the cursor is on; None in an empty table."""
        content = self.content
        return content.rows[self.cursor] if content is not None and self.cursor < len(content.rows) else None

    @property
    def target(self) -> Selection:
        return Selection() if self.picture is None else selected_row(self.picture.plan, self.row)

    def _tell(self) -> None:
        self.post_message(SelectionChanged(self.target))

    def jump(self) -> None:
        if self.row is not None:
            self.post_message(RowChosen(self.row))

    # Painting

    def _show(self, content: TableContent, *, anew: bool) -> None:
        before, lines, old = self.content, self._lines, (self.cursor, self.scroll_offset)
        self.content, self._lines = content, {}
        self.virtual_size = Size(self.size.width, len(content.rows) + HEADER_HEIGHT)
        self._find_cursor()
        self._keep_in_view()
        if anew or before is None or before.pen is not content.pen or old != (self.cursor, self.scroll_offset):
            self.refresh()
        else:
            self._refresh_changes(before, lines)
        self._tell()

    def _find_cursor(self) -> None:
        """The row that the cursor is on, wherever it went; if it is gone, the one in its place."""
        rows = self.content.rows if self.content else ()
        here = min(self.cursor, len(rows) - 1)
        if self._key is not None and rows and key_of(rows[here]) != self._key:
            here = next((number for number, row in enumerate(rows) if key_of(row) == self._key), here)
        self.cursor = max(0, here)
        self._key = key_of(rows[self.cursor]) if rows else None

    def _refresh_changes(self, before: TableContent, lines: dict[int, Line]) -> None:
        table, width = self.content, self.size.width
        if table is None or (before.caption, before.sorting) != (table.caption, table.sorting):
            self.refresh(Region(0, 0, width, HEADER_HEIGHT))
        first = self.scroll_offset.y
        for y in range(first, first + max(0, self.size.height - HEADER_HEIGHT)):
            if lines.get(y) != self._line(y):
                self.refresh(Region(0, y - first + HEADER_HEIGHT, width, 1))

    def _line(self, number: int) -> Line | None:
        table = self.content
        if table is None or not 0 <= number < len(table.rows):
            return None
        line = self._lines.get(number)
        if line is None:
            line = self._lines[number] = table.pen.line(table.rows[number])
        return line

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the caption and the titles stay at the top."""
        width, base = self.size.width, self.visual_style.rich_style
        table, number = self.content, y - HEADER_HEIGHT + self.scroll_offset.y
        if table is None or self.palette is None:
            return Strip.blank(width, base)
        ground = RichStyle()
        if y == 0:
            line: Line = (Run(table.pen.pen.cut(table.caption, width), NAME),)
        elif y == 1:
            line = table.pen.header(table.sorting) if table.rows else (Run("", FAINT),)
        elif not table.rows:
            line = (Run(table.nothing if y == HEADER_HEIGHT else "", MUTED),)
        else:
            found = self._line(number)
            if found is None:
                return Strip.blank(width, base)
            line = found
            if number in (self.cursor, self._hover):
                ground = self._ground("cursor" if number == self.cursor else "hover")
        style = self.palette.rich_style
        strip = Strip([Segment(run.text, base + style(run.style) + ground) for run in line])
        return strip.crop_extend(0, width, base + ground)

    def _ground(self, name: str) -> RichStyle:
        style = self.get_component_rich_style(f"table-pane--{name}")
        return RichStyle(bgcolor=style.bgcolor, bold=style.bold or None, reverse=style.reverse or None)

    # The cursor

    def _move(self, number: int) -> None:
        table = self.content
        if table is None or not table.rows:
            return
        number = max(0, min(number, len(table.rows) - 1))
        if number != self.cursor:
            self._refresh_rows(self.cursor, number)
            self.cursor = number
            self._key = key_of(table.rows[number])
            self._tell()
        self._keep_in_view()

    def _keep_in_view(self) -> None:
        room = max(1, self.size.height - HEADER_HEIGHT)
        top = self.scroll_offset.y
        if not top <= self.cursor < top + room:
            y = self.cursor if self.cursor < top else self.cursor - room + 1
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    @property
    def _page(self) -> int:
        return max(1, self.size.height - HEADER_HEIGHT - 1)

    def cursor_up(self) -> None:
        self._move(self.cursor - 1)

    def cursor_down(self) -> None:
        self._move(self.cursor + 1)

    def page_up(self) -> None:
        self._move(self.cursor - self._page)

    def page_down(self) -> None:
        self._move(self.cursor + self._page)

    def first_node(self) -> None:
        self._move(0)

    def last_node(self) -> None:
        self._move(len(self.content.rows) - 1 if self.content else 0)

    row_start = first_node
    row_end = last_node

    # The mouse

    def _at(self, offset: Offset | None) -> int | None:
        """Number of the row under a point of the widget."""
        if offset is None or offset.y < HEADER_HEIGHT or self.content is None:
            return None
        number = offset.y - HEADER_HEIGHT + self.scroll_offset.y
        return number if number < len(self.content.rows) else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._hover_over(self._at(event.get_content_offset(self)))

    def on_leave(self) -> None:
        self._hover_over(None)

    def _hover_over(self, row: int | None) -> None:
        before, self._hover = self._hover, row
        if before != row:
            self._refresh_rows(before, row)

    def _refresh_rows(self, *rows: int | None) -> None:
        for row in rows:
            if row is not None:
                self.refresh(Region(0, row - self.scroll_offset.y + HEADER_HEIGHT, self.size.width, 1))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y == 1 and self.content is not None:
            column = self.content.pen.column_at(offset.x)
            if column is not None:
                self._sort_by(column)
            return
        number = self._at(offset)
        if number is not None:
            self._move(number)
            if event.chain == 2:
                self.jump()
