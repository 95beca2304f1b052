"""The drawing: a plan (and what is known of the running cluster) as styled lines. Pure."""

from __future__ import annotations

from placetui.grid.densities import (
    DENSITIES,
    METRICS,
    OTHER_NAMES,
    CursorMark,
    Density,
    HeatMetric,
    Place,
    density_named,
)
from placetui.grid.drawing import Drawing
from placetui.grid.export import Colors, caption, to_ansi, to_svg, to_text
from placetui.grid.look.palette import DARK, LIGHT, Palette
from placetui.grid.look.style import Line, Role, Run, Style, plain
from placetui.grid.look.text import cell_width
from placetui.grid.marks import HUES, component_marks
from placetui.grid.overlay import Overlay
from placetui.grid.pen import Pen
from placetui.placement.wording import clean, share_figure

__all__ = [
    "DARK",
    "DENSITIES",
    "HUES",
    "LIGHT",
    "METRICS",
    "OTHER_NAMES",
    "Colors",
    "CursorMark",
    "Density",
    "Drawing",
    "HeatMetric",
    "Line",
    "Overlay",
    "Palette",
    "Pen",
    "Place",
    "Role",
    "Run",
    "Style",
    "caption",
    "cell_width",
    "clean",
    "component_marks",
    "density_named",
    "plain",
    "share_figure",
    "to_ansi",
    "to_svg",
    "to_text",
]
