"""The inspector: all about the device under the cursor, in words."""

from __future__ import annotations

from placetui.grid.inspector.flow import Flow
from placetui.grid.inspector.inspect import Inspection, environment_lines, inspect, problem_lines

__all__ = ["Flow", "Inspection", "environment_lines", "inspect", "problem_lines"]
