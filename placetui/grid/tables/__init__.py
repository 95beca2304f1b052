"""Tables of processes, ranks, groups and drift: rows, filters, and their drawing."""

from __future__ import annotations

from placetui.grid.tables.table import TablePen, row_lines

__all__ = ["TablePen", "row_lines"]
