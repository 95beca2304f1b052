"""How GPUs are divided between training and generation, beside or below what can be chosen."""

from __future__ import annotations

from placetui.grid import Pen
from placetui.grid.panels.what_if import split_lines, undivided_lines
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.panel import StyledLines

ROOM_BESIDE = 120
"""Columns from which it stands beside what can be chosen."""

WIDTH = 48


class PoolBorder(StyledLines):
    """Squares of the GPUs, and the border between two pools; where they share any, how to divide them at most."""

    def divide(self, training: int | None, total: int, pen: Pen, palette: GridPalette, *, movable: bool) -> None:
        """Show GPUs of training, None if the pools share some, out of all; if movable, with the keys for it."""
        short = self.fit()
        self.set_class(training is None and not movable, "-none")
        if training is not None:
            width = self.app.size.width - 4 if short else WIDTH
            self.show(split_lines(pen, training, total - training, width, keys=movable, short=short), palette)
        elif movable:
            self.show(undivided_lines(short), palette)

    def fit(self) -> bool:
        """Stand where there is room; whether that is one line below."""
        short = self.app.size.width < ROOM_BESIDE
        assert self.parent is not None
        self.parent.set_class(short, "-stacked")
        return short

    def on_mount(self) -> None:
        self.fit()
