"""Everything about the device under the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.text import Text
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from placetui.grid import Line
from placetui.grid.inspector import Inspection
from placetui.tui.content import changed_columns, text_of_lines
from placetui.tui.themes import GridPalette


class InspectorPanel(Widget):
    """Lines that follow the cursor. Only what changed is painted: with live data that is a little every second."""

    _lines: Sequence[Line] = ()
    _palette: GridPalette | None = None

    @property
    def room(self) -> int | None:
        """Lines that fit where it is as high as it may be."""
        most = self.styles.max_height
        return None if most is None else int(most.value) - self.gutter.height

    def show(self, inspection: Inspection, palette: GridPalette) -> None:
        """Write what is known."""
        before, self._lines = self._lines, inspection.lines
        if palette is not self._palette or len(before) != len(self._lines):
            self._palette = palette
            self.refresh(layout=True)
            return
        for y, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            span = changed_columns(old, new)
            if span is not None:
                self.refresh(Region(span[0], y, span[1] - span[0], 1))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """No line is wider than the panel."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """One line, painted by itself; text that is being selected, as Textual paints it."""
        if self.text_selection is not None:
            return super().render_line(y)
        base = self.visual_style.rich_style
        if self._palette is None or y >= len(self._lines):
            return Strip.blank(self.size.width, base)
        segments: list[Segment] = []
        for run in self._lines[y]:
            look = self._palette.rich_style(run.style)
            if not look and segments and segments[-1].style is base:
                # Runs without a look of their own are one piece of text, to terminals and in pictures.
                segments[-1] = Segment(segments[-1].text + run.text, base)
            else:
                segments.append(Segment(run.text, base + look if look else base))
        return Strip(segments).crop(0, self.size.width).apply_offsets(0, y)

    def render(self) -> Text:
        """The lines."""
        return Text() if self._palette is None else text_of_lines(self._lines, self._palette)
