"""Panels beside the grid, as styled lines: components, problems, events, and the steps of a launch."""

from placetui.grid.panels.components import component_entries
from placetui.grid.panels.entries import Entry
from placetui.grid.panels.events import event_entries
from placetui.grid.panels.problems import problem_entries

__all__ = ["Entry", "component_entries", "event_entries", "problem_entries"]
