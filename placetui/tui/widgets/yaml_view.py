"""The file's text, coloured, with its problems marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.widgets import TextArea

from placetui.grid import clean
from placetui.placement.problems import Problem


class YamlView(TextArea):
    """A read-only editor pane."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"yaml-view--error", "yaml-view--warning"}
    """
    | Class | Description |
    | :- | :- |
    | `yaml-view--error` | A line with an error. |
    | `yaml-view--warning` | A line with a warning. |
    """

    @dataclass
    class Step(Message):
        """The user wants to undo or redo."""

        direction: Literal["undo", "redo"]

    def __init__(self, ascii: bool, *, id: str | None = None) -> None:
        self._marked: dict[int, Problem] = {}
        self._arrow = "<-" if ascii else "←"
        super().__init__(
            "", language="yaml", theme="css", read_only=True, show_line_numbers=True, soft_wrap=False, id=id
        )

    def show(self, text: str, problems: Sequence[Problem]) -> None:
        """Show a text; errors win over warnings on the same line."""
        marked: dict[int, Problem] = {}
        for problem in problems:
            if problem.line is not None and (problem.severity == "error" or problem.line - 1 not in marked):
                marked[problem.line - 1] = problem
        self._marked = marked
        if text != self.text:
            place = self.cursor_location
            self.load_text(text)
            self.move_cursor(place)
        self._refresh_size()
        self._line_cache.clear()
        self.refresh()

    def get_line(self, line_index: int) -> Text:
        """A line of the text, problems standing out."""
        line = super().get_line(line_index)
        problem = self._marked.get(line_index)
        if problem is not None:
            style = self.get_component_rich_style(f"yaml-view--{problem.severity}", partial=True)
            line.stylize(style)
            line.append(self._note(problem), style)
        return line

    def _note(self, problem: Problem) -> str:
        return f"   {self._arrow} {problem.severity}[{problem.rule}]: {clean(problem.message)}"

    def _refresh_size(self) -> None:
        """Room for the longest line, and for what is said behind it."""
        super()._refresh_size()
        widths = (
            cell_len(self.document.get_line(line)) + cell_len(self._note(problem)) + self.gutter_width + 1
            for line, problem in self._marked.items()
            if line < self.document.line_count
        )
        self.virtual_size = Size(max(self.virtual_size.width, *widths, 0), self.virtual_size.height)

    def action_undo(self) -> None:
        """Undo belongs to the one history of grid and text."""
        self.post_message(self.Step("undo"))

    def action_redo(self) -> None:
        """Redo likewise."""
        self.post_message(self.Step("redo"))

    def go_to(self, line: int, column: int = 1) -> None:
        """Put the cursor on a line, counted from 1."""
        self.move_cursor((max(0, line - 1), max(0, column - 1)))
        middle = max(0, line - 1 - self.content_size.height // 2)
        # Lines start at the left edge: a problem reads better with what stands before it.
        self.call_after_refresh(self.scroll_to, x=0, y=middle, animate=False)
