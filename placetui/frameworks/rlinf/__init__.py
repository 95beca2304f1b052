"""RLinf: rules per component over node groups, and the modes that derive them from parallel sizes."""

from __future__ import annotations

RULES: tuple[str | int, ...] = ("cluster", "component_placement")
"""The mapping from components to placement rules."""
