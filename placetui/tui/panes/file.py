"""The file's text, coloured, with its problems marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.text import Text
from textual import on
from textual.geometry import Offset
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from placetui.document.splice import apply, difference
from placetui.grid import Pen, Style
from placetui.grid.excerpt import severity_ground, severity_sign, severity_style
from placetui.grid.yaml_text import names_at, yaml_line
from placetui.placement.problems import Problem
from placetui.tui.live import LivePicture
from placetui.tui.messages import TextTyped
from placetui.tui.selection import NOTHING, Selection
from placetui.tui.themes import GridPalette


class FilePane(TextArea):
    """An editor pane, read-only until the user wants to edit."""

    picture: reactive[LivePicture | None] = reactive(None, repaint=False, init=False)
    palette: reactive[GridPalette | None] = reactive(None, init=False)
    target: reactive[Selection] = reactive(NOTHING, repaint=False, init=False, always_update=True)
    """The line under the cursor; what belongs to it can change while it stays."""

    def __init__(self, ascii: bool, *, id: str | None = None) -> None:
        self._marked: dict[int, list[Problem]] = {}
        self._given = self._given_here = ""
        """The text that was shown last, and how the pane holds it: it knows one kind of line end only."""

        self.pen: Pen | None = None
        """Of the plan that belongs to the text."""

        self._ascii = ascii
        super().__init__(
            "",
            theme="css",
            read_only=True,
            show_line_numbers=True,
            highlight_cursor_line=False,  # it would hide the ground of a problem
            id=id,
        )

    def watch_palette(self, palette: GridPalette | None) -> None:
        """Take over the theme's greys: Textual's are those of an editor."""
        if palette is not None:
            gutter = RichStyle(color=palette.colors.faint)
            self.register_theme(TextAreaTheme("placetui", gutter_style=gutter))
            # Of a theme with the name of the current one, the colours are not taken over.
            self.theme = "css"
            self.theme = "placetui"
            self._line_cache.clear()

    def watch_picture(self, picture: LivePicture) -> None:
        """Show the text, unless the user has typed on meanwhile."""
        if self.pen is None or self.pen.plan is not picture.plan:
            self.pen = Pen(picture.plan, self._ascii, cell_len)
            self._line_cache.clear()
            self.refresh()
        if not self.typed or self.written == picture.session.text:
            self.show(picture.session.text, picture.session.problems)

    @on(TextArea.Changed)
    def _changed(self) -> None:
        if self.typed:
            self.post_message(TextTyped(self.written))

    @on(TextArea.SelectionChanged)
    def _moved(self) -> None:
        self.target = Selection(row=self.cursor_location[0])

    def show(self, text: str, problems: Sequence[Problem]) -> None:
        """Show a text with its problems, the most severe ones of a line first."""
        marked: dict[int, list[Problem]] = {}
        for problem in sorted(problems, key=lambda one: ("error", "warning", "info").index(one.severity)):
            if problem.line is not None:
                marked.setdefault(problem.line - 1, []).append(problem)
        self._marked = marked
        if text != self.written or (self.typed and held_lines(text) != self.document.lines):
            place, offset = self.cursor_location, self.scroll_offset
            self.load_text(text)
            self.move_cursor(place)
            self.scroll_to(*offset, animate=False)
        self._given, self._given_here = text, self.text
        self._line_cache.clear()
        self.refresh()
        self._moved()

    @property
    def problems(self) -> Sequence[Problem]:
        """Those of the line under the cursor; without any, those of the component that it belongs to."""
        row = self.cursor_location[0]
        if row in self._marked or self.pen is None:
            return self._marked.get(row, ())
        unplaced = names_at(self.document.lines, row, self.pen.plan.unplaced) if self.pen.plan.unplaced else ()
        return [one for found in self._marked.values() for one in found if one.component in unplaced]

    @property
    def components(self) -> list[str]:
        """Those that the line under the cursor is about."""
        names = () if self.pen is None else self.pen.plan.components
        return names_at(self.document.lines, self.cursor_location[0], names)

    @property
    def typed(self) -> bool:
        """Whether the user changed the text since it was shown."""
        return self.text != self._given_here

    @property
    def written(self) -> str:
        """The text as the user left it; untouched lines keep their line ends."""
        return carried_over(self._given, self._given_here, self.text, self.document.newline)

    def get_line(self, line_index: int) -> Text:
        """A line of the text in colours."""
        line = super().get_line(line_index)
        if self.palette is not None and self.pen is not None:
            start = 0
            for run in yaml_line(line.plain, self.pen.marks):
                line.stylize(self.palette.rich_style(run.style), start, start + len(run.text))
                start += len(run.text)
        return line

    def render_line(self, y: int) -> Strip:
        """A line on its ground: that of its problem, else raised under the cursor."""
        strip, pen, row = super().render_line(y), self.pen, y + self.scroll_offset.y
        if self.palette is None or pen is None or row >= self.wrapped_document.height:
            return strip
        line = self.wrapped_document.offset_to_location(Offset(0, row))[0]
        problem = next(iter(self._marked.get(line, ())), None)
        if problem is None and line != self.cursor_location[0]:
            return strip
        look = Style("text", ground="raised" if problem is None else severity_ground(problem))
        if problem is not None:
            end = self.wrapped_document.location_to_offset((line, len(self.document[line]))).y
            strip = self._with_note(strip, problem) if row == end else strip
        return self._on_ground(strip, self.palette.rich_style(look).bgcolor)

    def _with_note(self, strip: Strip, problem: Problem) -> Strip:
        """The sign of a problem at the end of its line, and its rule where there is room."""
        assert self.palette is not None
        assert self.pen is not None
        room = self.scrollable_content_region.width - cell_len(strip.text.rstrip()) - 3
        sign = severity_sign(self.pen, problem)
        note = next((one for one in (f"{sign} {problem.rule}", sign) if cell_len(one) <= room), "")
        if not note:
            return strip
        ground = severity_ground(problem)
        style = self.rich_style + self.palette.rich_style(severity_style(problem)._replace(ground=ground))
        width = self.scrollable_content_region.width - cell_len(note) - 1
        return Strip([*strip.crop(0, width), Segment(note, style), Segment(" ", self.rich_style)])

    def _on_ground(self, strip: Strip, ground: RichColor | None) -> Strip:
        """A line on another ground, apart from its cursor and its selection."""
        if ground is None:
            return strip
        page, over = self.rich_style.bgcolor, RichStyle(bgcolor=ground)
        return Strip(
            [
                Segment(text, over if style is None else style + over)
                if style is None or style.bgcolor in (None, page)
                else Segment(text, style)
                for text, style, _ in strip
            ],
            strip.cell_length,
        )

    def action_undo(self) -> None:
        """Undo belongs to the one history of grid and text."""
        self.app.call_later(self.app.run_action, "app.act('undo')")

    def action_redo(self) -> None:
        self.app.call_later(self.app.run_action, "app.act('redo')")

    def go_to(self, line: int, column: int = 1) -> None:
        """Put the cursor on a line, counted from 1."""
        self.move_cursor((max(0, line - 1), max(0, column - 1)))
        row = self.wrapped_document.location_to_offset(self.cursor_location).y
        middle = max(0, row - self.content_size.height // 2)
        # Twice later, since a pane that was just made scrolls to its cursor once it is on the screen.
        self.call_after_refresh(self.call_after_refresh, self.scroll_to, y=middle, animate=False)


def held_lines(text: str) -> list[str]:
    """The lines of a text as the pane holds them."""
    return text.splitlines() + [""] * (text.endswith(("\n", "\r")) or not text)


def carried_over(text: str, before: str, after: str, newline: str) -> str:
    """A text with what was changed in a pane that holds it with one kind of line end.

    Args:
        text: the text itself.
        before: as the pane held it.
        after: as the pane holds it now.
        newline: the pane's line end.
    """
    if text == before:
        return after
    splice = difference(before, after)
    if splice is None:
        return text
    lines = text.splitlines(keepends=True)

    def place(offset: int) -> int:
        row = before.count(newline, 0, offset)
        column = offset - before.rfind(newline, 0, offset) - len(newline) if row else offset
        return sum(map(len, lines[:row])) + column

    return apply(text, replace(splice, start=place(splice.start), end=place(splice.end)))
