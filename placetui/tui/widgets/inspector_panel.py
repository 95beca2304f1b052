"""Everything about the device under the cursor."""

from __future__ import annotations

from textual.widgets import Static

from placetui.grid.inspector import Inspection
from placetui.tui.content import text_of_lines
from placetui.tui.themes import GridPalette


class InspectorPanel(Static):
    """Lines that follow the cursor."""

    _shown: tuple[object, ...] = ()

    def show(self, inspection: Inspection, palette: GridPalette) -> None:
        """Write what is known; nothing is painted when nothing changed."""
        shown = (tuple(inspection.lines), palette)
        if shown != self._shown:
            self._shown = shown
            self.update(text_of_lines(inspection.lines, palette))
