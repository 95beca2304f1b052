"""The inspector: all about the device under the cursor, in words."""

from __future__ import annotations

from placetui.grid.inspector.flow import Flow
from placetui.grid.inspector.inspect import COMPACT, Inspection, inspect

__all__ = ["COMPACT", "Flow", "Inspection", "inspect"]
