"""The drawing: a plan (and what is known of the running cluster) as styled lines. Pure."""

from __future__ import annotations

from placetui.grid.drawing import DENSITIES, Density, Drawing
from placetui.grid.export import Colors, caption, to_ansi, to_text
from placetui.grid.identity import HUES, Identity, identities
from placetui.grid.live import DeviceLive, Overlay, RankState
from placetui.grid.palette import DARK, LIGHT, PALETTES, Look, Palette
from placetui.grid.places import Place, Region
from placetui.grid.style import LEVELS, Line, Role, Run, Style, plain
from placetui.grid.svg import to_svg
from placetui.grid.text import CellWidth, cell_width, clean, share_figure

__all__ = [
    "DARK",
    "DENSITIES",
    "HUES",
    "LEVELS",
    "LIGHT",
    "PALETTES",
    "CellWidth",
    "Colors",
    "Density",
    "DeviceLive",
    "Drawing",
    "Identity",
    "Line",
    "Look",
    "Overlay",
    "Palette",
    "Place",
    "RankState",
    "Region",
    "Role",
    "Run",
    "Style",
    "caption",
    "cell_width",
    "clean",
    "identities",
    "plain",
    "share_figure",
    "to_ansi",
    "to_svg",
    "to_text",
]
