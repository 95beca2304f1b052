"""A table of any length on the Line API: only rows on screen are drawn, and only those that changed painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from placetui.grid import Line, Run
from placetui.grid.style import HEADER, MUTED, NODE_NAME
from placetui.grid.tables import TablePen
from placetui.observe.columns import Sorting, key_of
from placetui.tui.actions import bindings
from placetui.tui.themes import GridPalette

HEADER_HEIGHT = 2
"""A caption, and the titles of the columns."""

MOVES = (
    "cursor_up",
    "cursor_down",
    "page_up",
    "page_down",
    "row_start",
    "row_end",
    "first_node",
    "last_node",
    "jump",
)
"""Actions of the grid that make sense in a table."""


@dataclass(frozen=True, slots=True)
class Table:
    """What a table shows."""

    pen: TablePen
    rows: Sequence[Any]
    sorting: Sorting
    caption: str
    """What these rows are, and how many."""

    nothing: str
    """What to say when there are none."""


class TableView(ScrollView, can_focus=True):
    """Rows with a cursor that stays on the same one while others come, go and change places."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("grid", only=MOVES)
    COMPONENT_CLASSES: ClassVar[set[str]] = {"table-view--cursor", "table-view--hover"}
    """
    | Class | Description |
    | :- | :- |
    | `table-view--cursor` | The row under the cursor. |
    | `table-view--hover` | The row under the mouse. |
    """

    @dataclass
    class Moved(Message):
        """The cursor is on another row."""

    @dataclass
    class Chosen(Message):
        """The user wants to see the place of a row."""

        row: Any

    @dataclass
    class SortBy(Message):
        """The user wants another order."""

        column: str

    @dataclass
    class Resized(Message):
        """There is another width to draw rows for."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.table: Table | None = None
        self.palette: GridPalette | None = None
        self.cursor = 0
        """Number of the row under the cursor."""

        self._key: object = None
        """What the row under the cursor is known by."""

        self._hover: int | None = None
        self._lines: dict[int, Line] = {}

    # What is shown

    def show(self, table: Table, palette: GridPalette, *, anew: bool = False) -> None:
        """Show other rows; with `anew` it is another table, and the cursor goes to its first row."""
        before, lines, old = self.table, self._lines, (self.cursor, self.scroll_offset)
        self.table, self._lines = table, {}
        if anew:
            self._key, self.cursor = None, 0
            self.scroll_to(y=0, animate=False, immediate=True)
        self.virtual_size = Size(self.size.width, len(table.rows) + HEADER_HEIGHT)
        self._find_cursor()
        other_look = palette is not self.palette or before is None or before.pen is not table.pen
        self.palette = palette
        self._keep_in_view()
        if anew or other_look or old != (self.cursor, self.scroll_offset):
            self.refresh()
        else:
            self._refresh_changes(before, lines)
        self.post_message(self.Moved())

    def _find_cursor(self) -> None:
        """The row that the cursor is on, wherever it went; if it is gone, the one in its place."""
        rows = self.table.rows if self.table else ()
        here = min(self.cursor, len(rows) - 1)
        if self._key is not None and rows and key_of(rows[here]) != self._key:
            here = next((number for number, row in enumerate(rows) if key_of(row) == self._key), here)
        self.cursor = max(0, here)
        self._key = key_of(rows[self.cursor]) if rows else None

    def _refresh_changes(self, before: Table | None, lines: dict[int, Line]) -> None:
        table, width = self.table, self.size.width
        if table is None or before is None or (before.caption, before.sorting) != (table.caption, table.sorting):
            self.refresh(Region(0, 0, width, HEADER_HEIGHT))
        first = self.scroll_offset.y
        for y in range(first, first + max(0, self.size.height - HEADER_HEIGHT)):
            if lines.get(y) != self._line(y):
                self.refresh(Region(0, y - first + HEADER_HEIGHT, width, 1))

    def _line(self, number: int) -> Line | None:
        table = self.table
        if table is None or not 0 <= number < len(table.rows):
            return None
        line = self._lines.get(number)
        if line is None:
            line = self._lines[number] = table.pen.line(table.rows[number])
        return line

    @property
    def row(self) -> Any:
        """What the cursor is on; None in an empty table."""
        table = self.table
        return table.rows[self.cursor] if table is not None and self.cursor < len(table.rows) else None

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the caption and the titles stay at the top."""
        width, base = self.size.width, self.visual_style.rich_style
        table, number = self.table, y - HEADER_HEIGHT + self.scroll_offset.y
        if table is None or self.palette is None:
            return Strip.blank(width, base)
        ground = RichStyle()
        if y == 0:
            line: Line = (Run(table.pen.pen.cut(table.caption, width), NODE_NAME),)
        elif y == 1:
            line = table.pen.header(table.sorting) if table.rows else (Run("", HEADER),)
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
        style = self.get_component_rich_style(f"table-view--{name}")
        return RichStyle(bgcolor=style.bgcolor, bold=style.bold or None, reverse=style.reverse or None)

    # The cursor

    def _move(self, number: int) -> None:
        table = self.table
        if table is None or not table.rows:
            return
        number = max(0, min(number, len(table.rows) - 1))
        if number != self.cursor:
            for row in (self.cursor, number):
                self.refresh(Region(0, row - self.scroll_offset.y + HEADER_HEIGHT, self.size.width, 1))
            self.cursor = number
            self._key = key_of(table.rows[number])
            self.post_message(self.Moved())
        self._keep_in_view()

    def _keep_in_view(self) -> None:
        room = max(1, self.size.height - HEADER_HEIGHT)
        top = self.scroll_offset.y
        if not top <= self.cursor < top + room:
            y = self.cursor if self.cursor < top else self.cursor - room + 1
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def action_cursor_up(self) -> None:
        self._move(self.cursor - 1)

    def action_cursor_down(self) -> None:
        self._move(self.cursor + 1)

    def action_page_up(self) -> None:
        self._move(self.cursor - self._page)

    def action_page_down(self) -> None:
        self._move(self.cursor + self._page)

    @property
    def _page(self) -> int:
        return max(1, self.size.height - HEADER_HEIGHT - 1)

    def action_first_node(self) -> None:
        self._move(0)

    action_row_start = action_first_node

    def action_last_node(self) -> None:
        self._move(len(self.table.rows) - 1 if self.table else 0)

    action_row_end = action_last_node

    def action_jump(self) -> None:
        if self.row is not None:
            self.post_message(self.Chosen(self.row))

    def on_resize(self) -> None:
        self.post_message(self.Resized())

    # The mouse

    def _at(self, offset: Offset | None) -> int | None:
        """Number of the row under a point of the widget."""
        if offset is None or offset.y < HEADER_HEIGHT or self.table is None:
            return None
        number = offset.y - HEADER_HEIGHT + self.scroll_offset.y
        return number if number < len(self.table.rows) else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        before, self._hover = self._hover, self._at(event.get_content_offset(self))
        if before != self._hover:
            for row in (before, self._hover):
                if row is not None:
                    self.refresh(Region(0, row - self.scroll_offset.y + HEADER_HEIGHT, self.size.width, 1))

    def on_leave(self) -> None:
        before, self._hover = self._hover, None
        if before is not None:
            self.refresh(Region(0, before - self.scroll_offset.y + HEADER_HEIGHT, self.size.width, 1))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y == 1 and self.table is not None:
            column = self.table.pen.column_at(offset.x)
            if column is not None:
                self.post_message(self.SortBy(column))
            return
        number = self._at(offset)
        if number is not None:
            self._move(number)
            if event.chain == 2:
                self.action_jump()
