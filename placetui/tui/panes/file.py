"""The file's text, coloured, with its problems marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.geometry import Size
from textual.reactive import reactive
from textual.widgets import TextArea

from placetui.document.splice import apply, difference
from placetui.grid import clean
from placetui.placement.problems import Problem
from placetui.placement.wording import plain
from placetui.tui.live import LivePicture
from placetui.tui.messages import SelectionChanged, TextTyped
from placetui.tui.selection import Selection
from placetui.tui.themes import GridPalette


class FilePane(TextArea):
    """An editor pane, read-only until the user wants to edit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"file-pane--error", "file-pane--warning", "file-pane--info"}
    """
    | Class | Description |
    | :- | :- |
    | `file-pane--error` | A line with an error. |
    | `file-pane--warning` | A line with a warning. |
    | `file-pane--info` | A line of which there is something to know. |
    """

    picture: reactive[LivePicture | None] = reactive(None, repaint=False, init=False)
    palette: reactive[GridPalette | None] = reactive(None, init=False)

    def __init__(self, ascii: bool, *, id: str | None = None) -> None:
        self._marked: dict[int, Problem] = {}
        self._given = self._given_here = ""
        """The text that was shown last, and how the pane holds it: it knows one kind of line end only."""

        self._arrow = "<-" if ascii else "←"
        super().__init__(
            "",
            language="yaml",
            theme="css",
            read_only=True,
            show_line_numbers=True,
            soft_wrap=False,
            highlight_cursor_line=False,  # it would hide the colour of a problem
            id=id,
        )

    def watch_picture(self, picture: LivePicture) -> None:
        """Show the text, unless the user has typed on meanwhile."""
        if not self.typed or self.written == picture.session.text:
            self.show(picture.session.text, picture.session.problems)

    @on(TextArea.Changed)
    def _changed(self) -> None:
        if self.typed:
            self.post_message(TextTyped(self.written))

    @on(TextArea.SelectionChanged)
    def _moved(self) -> None:
        self.post_message(SelectionChanged(self.target))

    @property
    def target(self) -> Selection:
        """No device is selected in a text."""
        return Selection(row=self.problem)

    def show(self, text: str, problems: Sequence[Problem]) -> None:
        """Show a text; of several problems on a line the first of the most severe ones counts."""
        marked: dict[int, Problem] = {}
        for problem in sorted(problems, key=lambda one: ("error", "warning", "info").index(one.severity)):
            if problem.line is not None:
                marked.setdefault(problem.line - 1, problem)
        self._marked = marked
        if text != self.written or (self.typed and held_lines(text) != self.document.lines):
            place, offset = self.cursor_location, self.scroll_offset
            self.load_text(text)
            self.move_cursor(place)
            self.scroll_to(*offset, animate=False)
        self._given, self._given_here = text, self.text
        self._refresh_size()
        self._line_cache.clear()
        self.refresh()

    @property
    def problem(self) -> Problem | None:
        return self._marked.get(self.cursor_location[0])

    @property
    def typed(self) -> bool:
        """Whether the user changed the text since it was shown."""
        return self.text != self._given_here

    @property
    def written(self) -> str:
        """The text as the user left it; untouched lines keep their line ends."""
        return carried_over(self._given, self._given_here, self.text, self.document.newline)

    def get_line(self, line_index: int) -> Text:
        """A line of the text, problems standing out."""
        line = super().get_line(line_index)
        problem = self._marked.get(line_index)
        if problem is not None:
            style = self.get_component_rich_style(f"file-pane--{problem.severity}", partial=True)
            line.stylize(style)
            line.append(self._note(problem), style)
        return line

    def _note(self, problem: Problem) -> str:
        return f"   {self._arrow} {problem.severity}[{problem.rule}]: {clean(plain(problem.message))}"

    def _refresh_size(self) -> None:
        """Room for the longest line and the note behind it."""
        super()._refresh_size()
        widths = (
            cell_len(self.document.get_line(line)) + cell_len(self._note(problem)) + self.gutter_width + 1
            for line, problem in self._marked.items()
            if line < self.document.line_count
        )
        self.virtual_size = Size(max(self.virtual_size.width, *widths, 0), self.virtual_size.height)

    def action_undo(self) -> None:
        """Undo belongs to the one history of grid and text."""
        self.app.call_later(self.app.run_action, "app.act('undo')")

    def action_redo(self) -> None:
        self.app.call_later(self.app.run_action, "app.act('redo')")

    def on_resize(self) -> None:
        """Lines start at the left edge again, where the cursor is in view there, too."""
        if self.cursor_location[1] + self.gutter_width < self.content_size.width:
            self.call_after_refresh(self.scroll_to, x=0, animate=False)

    def go_to(self, line: int, column: int = 1) -> None:
        """Put the cursor on a line, counted from 1."""
        self.move_cursor((max(0, line - 1), max(0, column - 1)))
        middle = max(0, line - 1 - self.content_size.height // 2)
        # Lines start at the left edge: a problem reads better with what stands before it.
        # Twice later, since a pane that was just made scrolls to its cursor once it is on the screen.
        self.call_after_refresh(self.call_after_refresh, self.scroll_to, x=0, y=middle, animate=False)


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
