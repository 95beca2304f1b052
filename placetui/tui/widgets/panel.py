"""Panels of styled lines in a border. Only what changed is painted: with live data that is a little every second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from placetui.grid import Line, Pen
from placetui.grid.look.glyphs import glyphs
from placetui.grid.panels import Entry
from placetui.grid.panels.entries import is_whole, windowed
from placetui.placement.plan import Plan
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import changed_columns, text_of_lines


@lru_cache(maxsize=64)
def title_of(name: str, count: int | str | None = None, about: str = "", *, trouble: bool = False) -> Content:
    """What stands in the border of a panel: its name, how many there are, and what it shows."""
    parts: list[str | tuple[str, str]] = [(name, "bold $grid-text")]
    if count is not None and count != "":
        parts.append((f" {count}", "$grid-error" if trouble else "$grid-muted"))
    if about:
        parts.append((f"  {about}", "$grid-muted"))
    return Content.assemble(*parts)


def name_border(widget: Widget, title: Content, subtitle: Content | str = "") -> None:
    """Write into a border what it does not say yet.

    Textual's own setters paint the whole widget, and with a container all that is in it; here it is the border's line.
    """
    subtitle = Content(subtitle) if isinstance(subtitle, str) else subtitle
    width, height = widget.content_size
    if not _same(widget._border_title, title):
        widget._border_title = title
        widget.refresh(Region(-1, -1, width + 2, 1))
    if not _same(widget._border_subtitle, subtitle):
        widget._border_subtitle = subtitle
        widget.refresh(Region(-1, height, width + 2, 1))


def _same(before: Content | None, after: Content) -> bool:
    """Whether two texts read and look the same; of contents, Textual compares the text alone."""
    return before is not None and (before.plain, before.spans) == (after.plain, after.spans)


class StyledLines(Widget):
    """Lines of which only those are painted that changed."""

    _lines: Sequence[Line] = ()
    _palette: GridPalette | None = None

    def show(self, lines: Sequence[Line], palette: GridPalette) -> None:
        """Write these lines; those that do not fit are not seen."""
        before, self._lines = self._lines, lines
        if palette is not self._palette or len(before) != len(lines):
            self._palette = palette
            self.refresh(layout=self.styles.auto_dimensions)
            return
        for y, (old, new) in enumerate(zip(before, lines, strict=True)):
            span = changed_columns(old, new)
            if span is not None:
                self.refresh(Region(span[0], y, span[1] - span[0], 1))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """No line is wider than the panel."""
        return len(self._lines)

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """Lines have no children, so another size of theirs calls for no other layout."""
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    def line_style(self, y: int) -> RichStyle:
        """What is laid over a line."""
        return RichStyle.null()

    def render_line(self, y: int) -> Strip:
        """One line, painted by itself; text that is being selected, as Textual paints it."""
        if self.text_selection is not None:
            return super().render_line(y)
        base, over = self.visual_style.rich_style, self.line_style(y)
        if self._palette is None or y >= len(self._lines):
            return Strip.blank(self.content_size.width, base)
        segments: list[Segment] = []
        for run in self._lines[y]:
            look = self._palette.rich_style(run.style)
            if not look and not over and segments and segments[-1].style is base:
                # Runs without a look of their own are one piece of text, to terminals and in pictures.
                segments[-1] = Segment(segments[-1].text + run.text, base)
            else:
                segments.append(Segment(run.text, base + look + over if look or over else base))
        return Strip(segments).crop(0, self.content_size.width).apply_offsets(0, y)

    def render(self) -> Text:
        return Text() if self._palette is None else text_of_lines(self._lines, self._palette)


class Bar(StyledLines):
    """Lines at the edge of the screen, drawn for the width there is."""

    palette: reactive[GridPalette | None] = reactive(None, repaint=False)

    def update(self) -> None:
        if self.palette is not None and self.size.width:
            self.show(self.lines(), self.palette)

    on_resize = watch_palette = update

    def lines(self) -> list[Line]:
        """What it shows; nothing by itself."""
        return []


class Panel(StyledLines):
    """Lines in a border."""

    @property
    def room(self) -> int:
        return self.content_size.height


class PlanPanel(Panel):
    """A panel about a plan, drawn for the room there is."""

    palette: reactive[GridPalette | None] = reactive(None, repaint=False, init=False)

    def __init__(self, *, ascii: bool, id: str) -> None:
        super().__init__(id=id)
        self._ascii = ascii
        self._pen: Pen | None = None

    def on_resize(self) -> None:
        self.call_after_refresh(self.update)  # a new layout that is asked for during one is lost

    on_show = on_resize

    def watch_palette(self) -> None:
        self.update()

    def pen_of(self, plan: Plan) -> Pen:
        """The same one as long as the plan is the same."""
        if self._pen is None or self._pen.plan is not plan:
            self._pen = Pen(plan, self._ascii, cell_len, color=not self.app.no_color)
        return self._pen

    def update(self) -> None:
        """Draw it; nothing by itself."""


class ListPanel(PlanPanel, can_focus=True):
    """Entries, one of which can be chosen: by a click, or by arrows and enter."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"list-panel--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("enter", "choose", "choose", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """An entry was chosen."""

        panel: ListPanel
        value: Any

        @property
        def control(self) -> ListPanel:
            return self.panel

    counts_rest: ClassVar[bool] = False
    """Whether the last line says how many entries are not in view."""

    _entries: Sequence[Entry] = ()
    _height = 0
    """Lines of all entries."""

    _cursor = 0
    _first = 0
    """The first entry in view."""

    _rows: Sequence[tuple[Line, Entry | None]] = ()
    """Every line in view, and its entry."""

    @property
    def selected(self) -> Any:
        """The value of the entry that is selected elsewhere: it is in view while the panel has no focus."""
        return None

    @property
    def current(self) -> Any:
        """The value under the cursor in focus, else what is selected."""
        return self._entries[self._cursor].value if self.has_focus and self._entries else self.selected

    def key_of(self, value: Any) -> object:
        """What stays the same of a value while its figures change."""
        return value

    def fill(self, entries: Sequence[Entry], palette: GridPalette) -> None:
        """Show other entries: from the top, or with what is selected in view.

        In focus, the cursor stays on its own entry, wherever that is now.
        """
        here, start = self.current, min(self._cursor, max(0, len(entries) - 1)) if self.has_focus else 0
        key = None if here is None else self.key_of(here)
        same = (
            place
            for place, one in enumerate(entries)
            if key is not None and one.value is not None and self.key_of(one.value) == key
        )
        self._entries, self._cursor = entries, next(same, start)
        self._show_entries(palette)

    def _show_entries(self, palette: GridPalette) -> None:
        """Draw from the first entry in view, which is the earliest from which the one at the cursor is whole."""
        entries, last, counted = self._entries, len(self._entries) - 1, self.counts_rest
        height = sum(len(one.lines) for one in entries)
        if self.styles.auto_dimensions and height != self._height:
            self.refresh(repaint=False, layout=True)
        self._height = height
        room = self.room or max(1, height)
        self._first = min(self._first, self._cursor)
        while self._first and is_whole(entries, self._first - 1, last, room, counted=counted):
            self._first -= 1
        while self._first < self._cursor and not is_whole(entries, self._first, self._cursor, room, counted=counted):
            self._first += 1
        self._rows = windowed(entries, self._first, room, glyphs(self._ascii).ellipsis, counted=counted)
        self.show([line for line, _ in self._rows], palette)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """All entries, whether there is room for them or not."""
        return self._height

    def entry_at(self, y: int) -> Entry | None:
        """The entry on a line of the panel."""
        entry = self._rows[y][1] if y < len(self._rows) else None
        return entry if entry is not None and entry.value is not None else None

    def line_style(self, y: int) -> RichStyle:
        """The entry under the cursor is highlighted while the panel has the focus."""
        if not self.has_focus or not self._entries or self.entry_at(y) is not self._entries[self._cursor]:
            return RichStyle.null()
        return RichStyle(bgcolor=self.get_component_rich_style("list-panel--cursor").bgcolor, bold=True)

    def action_move(self, steps: int) -> None:
        self._cursor = max(0, min(self._cursor + steps, len(self._entries) - 1))
        if self._palette is not None:
            self._show_entries(self._palette)
            self.refresh()

    def action_choose(self) -> None:
        if self._entries and (value := self._entries[self._cursor].value) is not None:
            self.post_message(self.Chosen(self, value))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        entry = None if offset is None else self.entry_at(offset.y)
        if entry is not None:
            self.action_move(list(self._entries).index(entry) - self._cursor)
            self.post_message(self.Chosen(self, entry.value))

    def on_focus(self) -> None:
        self.update()
        self.refresh()

    on_blur = on_focus
