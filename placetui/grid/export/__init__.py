"""A drawing for other programs: text, text with colours, SVG."""

from __future__ import annotations

from placetui.grid.export.svg import to_svg
from placetui.grid.export.text import Colors, caption, to_ansi, to_text

__all__ = ["Colors", "caption", "to_ansi", "to_svg", "to_text"]
