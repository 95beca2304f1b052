"""Tables of processes, ranks, groups and drift: rows, filters, and their drawing."""

from __future__ import annotations

from placetui.grid.tables.drift import drift_lines
from placetui.grid.tables.filters import Filter, FilterError, read_filter
from placetui.grid.tables.rows import (
    FIELDS,
    LARGEST_FIRST,
    ORDERS,
    Notice,
    Row,
    Sorting,
    TableName,
    haystack,
    key_of,
    place_of,
)
from placetui.grid.tables.table import TablePen, row_lines

__all__ = [
    "FIELDS",
    "LARGEST_FIRST",
    "ORDERS",
    "Filter",
    "FilterError",
    "Notice",
    "Row",
    "Sorting",
    "TableName",
    "TablePen",
    "drift_lines",
    "haystack",
    "key_of",
    "place_of",
    "read_filter",
    "row_lines",
]
