"""Tables of processes, ranks, drift, groups and events: only rows on screen are drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partialmethod
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
from placetui.grid.inspector.flow import Flow
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.style import MUTED, NAME
from placetui.grid.pen import Pen
from placetui.grid.tables.filters import Filter, FilterError, read_filter
from placetui.grid.tables.rows import LARGEST_FIRST, ORDERS, Sorting, TableName, key_of
from placetui.grid.tables.table import MARGIN, TablePen, group_lines
from placetui.observe.events import EventLog
from placetui.observe.model import GroupState, Observation
from placetui.observe.rows import TableRows
from placetui.placement.wording import count, gib, plain
from placetui.tui.actions import BY_ID, bindings, key_names
from placetui.tui.live import LivePicture
from placetui.tui.messages import RowChosen
from placetui.tui.selection import NOTHING, Selection, selected_row
from placetui.tui.themes import GridPalette

NO_FILTER: Filter = Filter("", None)

EXAMPLES: dict[TableName, str] = {
    "processes": "component:rollout mem>60, kind:foreign, node:3, -user:root …",
    "ranks": "state:dead, component:actor mem>40, restarts>0, node:0-3 …",
    "drift": "kind:foreign, component:rollout, node:3 …",
    "groups": "state:pending, namespace:placetui, gpus>8 …",
    "events": "kind:rank_died, component:actor, node:3 …",
}
WHEN_EMPTY: dict[TableName, str] = {
    "processes": "no process is on any GPU",
    "ranks": "there are no ranks",
    "drift": "no drift: the cluster matches the plan",
    "groups": "there are no placement groups",
    "events": "no events since the dashboard started",
}
ABOUT: dict[TableName, str] = {
    "processes": "Every process on a GPU is listed here, with its memory, job and user.",
    "ranks": "Every rank is listed here, with its state, memory and restarts.",
    "drift": "Differences from the plan and values beyond their thresholds are listed here.",
    "groups": "Placement groups of Ray are listed here, with the nodes of their bundles.",
    "events": "Ranks, nodes and jobs that start, stop or fail are listed here.",
}
"""What a table shows when there is something to show."""

MOST_SUMMED = 5000
"""Rows up to which a filter also says how much memory they have together."""

MOST_KEPT = 64
"""Placement groups whose bundles are remembered."""

BELOW = 4
"""Lines that have to be free below the rows, to show more of the selected one."""


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
    seen: Observation | None
    caption: str
    """How many rows a filter leaves; empty without a filter."""

    nothing: tuple[str, ...]
    """What to say when there are none."""

    @property
    def header(self) -> int:
        """Lines above the rows: the caption, and the titles of the columns."""
        return 1 + bool(self.caption)


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
    target: reactive[Selection] = reactive(NOTHING, repaint=False, init=False)
    table: reactive[TableName] = reactive("processes", repaint=False, init=False)
    """Which one is shown."""

    summary: reactive[tuple[str, str]] = reactive(("", ""), repaint=False, init=False)
    """How many rows there are, and what they are about, for the border."""

    def __init__(
        self, events: EventLog, *, ascii: bool, keys: Mapping[str, str] | None = None, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.content: TableContent | None = None
        self.cursor = 0
        """Number of the row under the cursor."""

        self.looking: dict[TableName, Looking] = {
            name: Looking(Sorting(next(iter(orders)), descending=name == "events")) for name, orders in ORDERS.items()
        }
        self._events = events
        self._keys = keys or {}
        self._roster = TableRows()
        self._ascii = ascii
        self._pen: TablePen | None = None
        self._filter_before = ""
        self._key: object = None
        """What the row under the cursor is known by."""

        self._hover: int | None = None
        self._lines: dict[int, Line] = {}
        self._below: list[Line] = []
        """What stands below the rows about the selected one."""

        self._bundles: dict[str, tuple[object, list[Line]]] = {}
        """By placement group: what stands below, and what it was made of."""

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
            self.picture.observation,
            clean(self._caption(rows, total), self._ascii),
            tuple(clean(line, self._ascii) for line in self._nothing(total)),
        )
        number = f"{len(rows):,} of {total:,}" if looking.filter.text else f"{total:,}"
        self.summary = number if total or self.picture.live else "", clean(self._about(total), self._ascii)
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

    def _caption(self, rows: Sequence[Any], total: int) -> str:
        """What a filter leaves, and what that holds together."""
        text = self._looking.filter.text
        if not text:
            return ""
        memory = 0
        if self.table in ("processes", "ranks") and len(rows) <= MOST_SUMMED:
            memory = sum(row.memory or 0 for row in rows)
        return f"filter {text}: {len(rows):,} of {total:,}{f' with {gib(memory)}' if memory else ''}"

    def _about(self, total: int) -> str:
        """What the rows are about, in a few words."""
        assert self.picture is not None
        live, totals = self.picture.live, self.picture.totals
        if self.table == "events":
            return f"since {time.strftime('%H:%M:%S', time.localtime(self._events.events[0].time))}" if total else ""
        if live is None or totals is None:
            return ""
        if self.table == "processes":
            return f"on {count(totals.busy, 'GPU')} of {count(len(live.observation.nodes), 'node')}"
        if self.table == "ranks":
            dead = sum(totals.dead.values())
            return f"{totals.ranks_alive:,} alive" + (f", {dead:,} dead" if dead else "")
        if self.table == "drift":
            drift = f"{count(len(live.drift), 'difference')} from the plan"
            return ", ".join([drift] * bool(live.drift) + [count(len(live.alerts), "alert")] * bool(live.alerts))
        waiting = sum(group.state != "created" for group in live.observation.groups)
        return f"{waiting} not placed" if waiting else "all placed" if total else ""

    def _nothing(self, total: int) -> tuple[str, ...]:
        """Why there is nothing, what there would be, and what to press."""
        assert self.picture is not None
        if total:
            return f"nothing matches {self._looking.filter.text}", "", f"{self._key_of('clear')}: clear the filter"
        to_grid = f"{self._key_of('view_plan')}: grid"
        if self.picture.observation is None:
            keys = f"{self._key_of('launch')}: launch · {self._key_of('jobs')}: jobs · {to_grid}"
            return "no live values: no cluster is attached", ABOUT[self.table], "", keys
        words = WHEN_EMPTY[self.table]
        if self.table == "drift" and self.picture.session.pictured:
            words = "no drift: the plan was read from the cluster"
        return words, ABOUT[self.table], "", to_grid

    def _key_of(self, action: str) -> str:
        return next(key_names(BY_ID[action], self._keys, self._ascii))

    # Filter and order

    find_title = "Filter"

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
        wrong = self._filter_by(text)
        return wrong or (count(len(self.content.rows), "row") if self.content is not None else "")

    def search(self, text: str) -> None:
        """Filter by a text, or say what is wrong with it."""
        if wrong := self._filter_by(text):
            self.notify(wrong, severity="warning", markup=False)

    def _filter_by(self, text: str) -> str:
        """What is wrong with a text that cannot be a filter."""
        try:
            wanted = read_filter(text, self.table, self.picture.plan if self.picture else None)
        except FilterError as problem:
            return clean(plain(str(problem)), self._ascii)
        if wanted.text != self._looking.filter.text:
            self.looking[self.table] = replace(self._looking, filter=wanted)
            self.fill()
        return ""

    def sort(self) -> None:
        # Who types fast sorts before there is anything to see.
        pen = self._pen_for(self.scrollable_content_region.width or self.screen.size.width)
        columns = [slot.column.name for slot in pen.slots if slot.column.name in ORDERS[self.table]]
        now = self._looking.sorting.column
        place = columns.index(now) + 1 if now in columns else 0
        self._sort_by(columns[place % len(columns)])

    def reverse(self) -> None:
        self._sort_by(self._looking.sorting.column)

    def _sort_by(self, column: str) -> None:
        """Sort by a column, if rows can be; the same one again reverses the order."""
        if column not in ORDERS[self.table]:
            return
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

    def _select(self) -> None:
        self.target = NOTHING if self.picture is None else selected_row(self.picture.plan, self.row)

    def jump(self) -> None:
        if self.row is not None:
            self.post_message(RowChosen(self.row))

    # Painting

    def _show(self, content: TableContent, *, anew: bool) -> None:
        before, lines, old = self.content, self._lines, (self.cursor, self.scroll_offset)
        self.content, self._lines = content, {}
        self.virtual_size = Size(self.size.width, len(content.rows) + content.header)
        self._find_cursor()
        self._keep_in_view()
        alike = before is not None and (before.pen, before.caption, before.nothing, len(before.rows)) == (
            *(content.pen, content.caption, content.nothing),
            len(content.rows),
        )
        if anew or before is None or not alike or old != (self.cursor, self.scroll_offset):
            self._describe()
            self.refresh()
        else:
            self._refresh_changes(before, lines)
            self._refresh_below()
        self._select()

    @property
    def _header(self) -> int:
        return self.content.header if self.content is not None else 1

    def _describe(self) -> bool:
        """Work out what stands below the rows; whether it differs from what is there."""
        content, row = self.content, self.row
        room = 0 if content is None else self.size.height - content.header - len(content.rows) - 1
        lines: list[Line] = []
        if content is not None and room >= BELOW and isinstance(row, GroupState):
            key = row, room, content.pen
            known = self._bundles.get(row.id)
            if known is None or known[0] != key:
                if len(self._bundles) >= MOST_KEPT:
                    self._bundles.clear()
                flow = Flow(content.pen.pen, max(20, content.pen.width - 2 * MARGIN))
                known = self._bundles[row.id] = key, [(), *group_lines(flow, row, room)]
            lines = known[1]
        before, self._below = self._below, lines
        return before is not lines and before != lines

    def _refresh_below(self) -> None:
        if self._describe() and self.content is not None:
            first = self.content.header + len(self.content.rows)
            self.refresh(Region(0, first, self.size.width, max(0, self.size.height - first)))

    def _find_cursor(self) -> None:
        """The row that the cursor is on, wherever it went; if it is gone, the one in its place."""
        rows = self.content.rows if self.content else ()
        here = min(self.cursor, len(rows) - 1)
        if self._key is not None and rows and key_of(rows[here]) != self._key:
            here = next((number for number, row in enumerate(rows) if key_of(row) == self._key), here)
        self.cursor = max(0, here)
        self._key = key_of(rows[self.cursor]) if rows else None

    def _refresh_changes(self, before: TableContent, lines: dict[int, Line]) -> None:
        table, width, header = self.content, self.size.width, self._header
        if table is None or before.sorting != table.sorting:
            self.refresh(Region(0, 0, width, header))
        first = self.scroll_offset.y
        for y in range(first, first + max(0, self.size.height - header)):
            if lines.get(y) != self._line(y):
                self.refresh(Region(0, y - first + header, width, 1))

    def _line(self, number: int) -> Line | None:
        table = self.content
        if table is None or not 0 <= number < len(table.rows):
            return None
        line = self._lines.get(number)
        if line is None:
            line = self._lines[number] = table.pen.line(table.rows[number], table.seen)
        return line

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the caption and the titles stay at the top."""
        width, base = self.size.width, self.visual_style.rich_style
        table = self.content
        if table is None or self.palette is None:
            return Strip.blank(width, base)
        number, over = y - table.header + self.scroll_offset.y, RichStyle()
        line: Line | None = None
        if not table.rows:
            line = self._centred(y)
        elif y < table.header:
            line = table.pen.header(table.sorting) if y == table.header - 1 else (Run(f" {table.caption}", NAME),)
        elif number < len(table.rows):
            line = self._line(number)
            if line is not None and number in (self.cursor, self._hover):
                line, over = self._marked(line, number == self.cursor)
        elif number - len(table.rows) < len(self._below):
            line = (Run(" " * MARGIN, MUTED), *self._below[number - len(table.rows)])
        if line is None:
            return Strip.blank(width, base)
        style = self.palette.rich_style
        strip = Strip([Segment(run.text, base + style(run.style) + over) for run in line])
        # What is wrong has its ground up to the border.
        end = style(line[-1].style).bgcolor if line and line[-1].style.ground is not None else None
        return strip.crop_extend(0, width, base + over + RichStyle(bgcolor=end))

    def _centred(self, y: int) -> Line | None:
        """A line of what is said in the middle of an empty table."""
        table = self.content
        assert table is not None
        number = y - max(0, (self.size.height - len(table.nothing)) // 2)
        if not 0 <= number < len(table.nothing):
            return None
        text = table.pen.pen.cut(table.nothing[number], self.size.width)
        left = max(0, (self.size.width - cell_len(text)) // 2)
        return (Run(" " * left + text, NAME if number == 0 else MUTED),)

    def _marked(self, line: Line, cursor: bool) -> tuple[Line, RichStyle]:
        """A row under the cursor or the mouse; what is wrong keeps its ground."""
        style = self.get_component_rich_style(f"table-pane--{'cursor' if cursor else 'hover'}")
        tinted = bool(line) and line[0].style.ground is not None
        over = RichStyle(
            bgcolor=None if tinted else style.bgcolor, bold=style.bold or tinted or None, reverse=style.reverse or None
        )
        if not cursor or not line or not line[0].text.startswith(" "):
            return line, over
        first = line[0]
        sign = glyphs(self._ascii).cursor[0]
        return (Run(sign, first.style._replace(role="white")), Run(first.text[1:], first.style), *line[1:]), over

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
            self._refresh_below()
            self._select()
        self._keep_in_view()

    def _keep_in_view(self) -> None:
        room = max(1, self.size.height - self._header)
        top = self.scroll_offset.y
        if not top <= self.cursor < top + room:
            y = self.cursor if self.cursor < top else self.cursor - room + 1
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def _by_rows(self, steps: int) -> None:
        self._move(self.cursor + steps)

    def _by_pages(self, pages: int) -> None:
        self._move(self.cursor + pages * max(1, self.size.height - self._header - 1))

    cursor_up = partialmethod(_by_rows, -1)
    cursor_down = partialmethod(_by_rows, 1)
    page_up = partialmethod(_by_pages, -1)
    page_down = partialmethod(_by_pages, 1)
    first_node = row_start = partialmethod(_move, 0)
    last_node = row_end = partialmethod(_move, 1 << 40)

    # The mouse

    def _at(self, offset: Offset | None) -> int | None:
        """Number of the row under a point of the widget."""
        if offset is None or offset.y < self._header or self.content is None:
            return None
        number = offset.y - self._header + self.scroll_offset.y
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
                self.refresh(Region(0, row - self.scroll_offset.y + self._header, self.size.width, 1))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y == self._header - 1 and self.content is not None:
            column = self.content.pen.column_at(offset.x)
            if column is not None:
                self._sort_by(column)
            return
        number = self._at(offset)
        if number is not None:
            self._move(number)
            if event.chain == 2:
                self.jump()
