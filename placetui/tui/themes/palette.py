"""From what a run of the drawing means to what it looks like under a theme."""

from __future__ import annotations

from collections.abc import Mapping

from rich.color import Color as RichColor
from rich.style import Style as RichStyle
from textual.color import Color

from placetui.grid.look.palette import Palette
from placetui.grid.look.style import Ground, Role, Style
from placetui.tui.themes.colors import COMPONENTS, HEAT, solid


class GridPalette:
    """The looks of the grid under one theme. Make a new one when the theme changes."""

    def __init__(self, variables: Mapping[str, str], *, color: bool = True) -> None:
        """Read the colours.

        Args:
            variables: The variables of the current theme, our own among them: `App.theme_variables`.
            color: Whether colours may be used; without, weight, underline and reverse say the same.
        """
        self._color = color
        self._looks: dict[Style, RichStyle] = {}
        self._over: dict[tuple[RichStyle, Style], RichStyle] = {}
        self.colors = palette_of(variables)

    def rich_style(self, style: Style) -> RichStyle:
        """The look of a run; without a ground where the widget's own shows."""
        look = self._looks.get(style)
        if look is None:
            look = self._colored(style) if self._color else monochrome(style)
            self._looks[style] = look
        return look

    def over(self, base: RichStyle, style: Style) -> RichStyle:
        """The look of a run on a widget's own; kept here, since a heat wall has more of them than Rich keeps."""
        key = base, style
        look = self._over.get(key)
        if look is None:
            look = self._over[key] = base + self.rich_style(style)
        return look

    def _colored(self, style: Style) -> RichStyle:
        look = self.colors.look(style)
        return RichStyle(
            color=_rich(look.foreground),
            bgcolor=None if look.background is None else _rich(look.background),
            bold=look.bold or None,
            underline=look.underline or None,
            strike=look.strike or None,
        )


_MIXED = (
    *("tile", "raised", "track", "border", "white", "muted", "ok"),
    *("error", "error-ground", "error-border", "warning", "warning-ground", "warning-border"),
)
"""Colours that are mixed with others, or grounds: these must be known; text can be the terminal's own."""


def palette_of(variables: Mapping[str, str]) -> Palette:
    """The colours of a theme, as drawings use them."""

    def of(name: str) -> str:
        return variables[f"grid-{name}"]

    ground = solid(of("ground"), "#808080")
    return Palette(
        name="theme",
        ground=ground,
        **{name.replace("-", "_"): solid(of(name), ground) for name in _MIXED},
        **{name: of(name) for name in ("text", "body", "faint", "ghost")},
        hues=tuple(solid(variables[name], ground) for name in COMPONENTS),
        heat=tuple(solid(variables[name], ground) for name in HEAT),
    )


def monochrome(style: Style) -> RichStyle:
    """The look of a run without any colour."""
    look = _WEIGHTS.get(style.role, RichStyle.null()) + _GROUNDS.get(style.ground, RichStyle.null())
    return look + RichStyle(bold=style.bold or None, underline=style.underline or None, strike=style.strike or None)


_WEIGHTS: dict[Role, RichStyle] = {
    **dict.fromkeys(("muted", "faint", "ghost", "track", "border"), RichStyle(dim=True)),
    "chip": RichStyle(reverse=True),
    "warning": RichStyle(bold=True),
    "error": RichStyle(bold=True, reverse=True),
}

_GROUNDS: dict[Ground | None, RichStyle] = {
    **dict.fromkeys(("white", "alarm", "ok"), RichStyle(reverse=True, bold=True)),
    "moved": RichStyle(bold=True),
}


def _rich(color: str) -> RichColor:
    return Color.parse(color).rich_color
