"""From what a run of the drawing means to what it looks like under a theme."""

from __future__ import annotations

from collections.abc import Mapping

from rich.color import Color as RichColor
from rich.style import Style as RichStyle
from textual.color import Color

from placetui.grid.identity import HUES
from placetui.grid.palette import mix
from placetui.grid.style import LEVELS, Role, Style
from placetui.tui.theme_colors import COMPONENTS, READABLE, legible, solid

FULLEST = LEVELS - 1


class GridPalette:
    """The looks of the grid under one theme. Make a new one when the theme changes."""

    def __init__(self, variables: Mapping[str, str], *, color: bool = True) -> None:
        """Read the colours.

        Args:
            variables: The variables of the current theme, our own among them: `App.theme_variables`.
            color: Whether colours may be used; without, weight, underline and reverse say the same.
        """
        self._variables = variables
        self._color = color
        self._ground = solid(variables["grid-ground"], "#808080")
        self._looks: dict[Style, RichStyle] = {}

    def rich_style(self, style: Style) -> RichStyle:
        """The look of a run; without a ground where the widget's own shows."""
        look = self._looks.get(style)
        if look is None:
            look = self._colored(style) if self._color else monochrome(style)
            self._looks[style] = look
        return look

    def component_color(self, component: int) -> str:
        """The hue of the component at this position of the file."""
        return self._variables[COMPONENTS[component % HUES]]

    def _colored(self, style: Style) -> RichStyle:
        color = self._foreground(style)
        ground: str | None = None
        if style.role == "tile":
            # A tinted ground, so that a screen full of tiles stays quiet; the letter keeps the hue.
            weight = 0.12 + 0.26 * (FULLEST if style.level is None else style.level) / FULLEST
            hue = solid(color, legible(self._ground, (self._ground,), READABLE))
            ground = mix(self._ground, hue, weight)
            color = legible(hue, (ground,), READABLE)
        elif style.role in ("memory", "memory_used"):
            ground = self._variables[f"grid-{style.role.replace('_', '-')}"]
        return RichStyle(color=_rich(color), bgcolor=None if ground is None else _rich(ground), bold=style.bold or None)

    def _foreground(self, style: Style) -> str:
        if style.component is not None and style.role in ("component", "bar", "link", "tile"):
            return self.component_color(style.component)
        return self._variables[_VARIABLE_OF.get(style.role, f"grid-{style.role}")]


_VARIABLE_OF: dict[Role, str] = {
    "component": "grid-muted",
    "bar": "grid-muted",
    "memory": "grid-muted",
    "memory_used": "grid-text",
}
"""Roles whose text has no variable of its name."""


def monochrome(style: Style) -> RichStyle:
    """The look of a run without any colour."""
    if style.role == "tile":
        return _FULLNESS[FULLEST if style.level is None else style.level]
    look = _WEIGHTS.get(style.role, RichStyle.null())
    return look + RichStyle(bold=True) if style.bold else look


_FULLNESS = (
    RichStyle(dim=True),
    RichStyle.null(),
    RichStyle(bold=True),
    RichStyle(bold=True, underline=True),
    RichStyle(reverse=True),
)
"""Tiles from empty to full: ever more ink."""

_WEIGHTS: dict[Role, RichStyle] = {
    **dict.fromkeys(("muted", "faint", "share", "track", "empty", "absent", "service", "memory"), RichStyle(dim=True)),
    "header": RichStyle(underline=True),
    "memory_used": RichStyle(reverse=True),
    "warning": RichStyle(bold=True),
    "error": RichStyle(bold=True, reverse=True),
}


def _rich(color: str) -> RichColor:
    return Color.parse(color).rich_color
