"""The looks of the grid: every style has one, in every theme and without colour."""

from __future__ import annotations

from itertools import product
from math import dist
from pathlib import Path
from typing import get_args

import pytest
from rich.color import Color as RichColor
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from placetui.grid import HUES, LEVELS, Role, Style
from placetui.grid.palette import rgb
from placetui.tui.grid_palette import monochrome
from placetui.tui.theme_colors import DARK_HUES, READABLE, contrast
from placetui.tui.themes import DEFAULT_THEME, GridPalette, load_themes, variable_defaults

OURS = {theme.name: theme for theme in load_themes(Path("/nonexistent"))[0]}
ALL = {**OURS, **BUILTIN_THEMES}

ROLES: tuple[Role, ...] = get_args(Role)
STYLES = [
    Style(role, component, bold, level)
    for role, component, bold, level in product(ROLES, (None, 0, 9), (False, True), (None, *range(LEVELS)))
]


def palette_of(theme: Theme, *, color: bool = True) -> GridPalette:
    variables = {**variable_defaults(theme), **theme.to_color_system().generate(), **theme.variables}
    return GridPalette(variables, color=color)


def hex_of(color: RichColor | None) -> str:
    assert color is not None
    return color.get_truecolor().hex


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_every_style_has_a_look(theme: Theme) -> None:
    palette = palette_of(theme)
    for style in STYLES:
        look = palette.rich_style(style)
        assert look.color is not None
        assert look.bold in ((True,) if style.bold else (None, False))
        assert palette.rich_style(style) is look
        assert (look.bgcolor is not None) == (style.role in ("tile", "memory", "memory_used"))


def test_components_keep_their_hue_in_every_role() -> None:
    palette = palette_of(OURS[DEFAULT_THEME])
    for role in ("component", "bar", "link"):
        assert palette.rich_style(Style(role, 1)).color == Color.parse(DARK_HUES[1]).rich_color
    assert palette.component_color(HUES + 1) == DARK_HUES[1]


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_letters_on_tiles_can_be_read(theme: Theme) -> None:
    palette = palette_of(theme)
    for component, level in product((None, *range(HUES)), range(LEVELS)):
        look = palette.rich_style(Style("tile", component, level=level))
        assert contrast(hex_of(look.color), hex_of(look.bgcolor)) >= READABLE


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_fuller_tiles_have_more_of_their_hue(theme: Theme) -> None:
    palette = palette_of(theme)
    ground = variable_defaults(theme)["grid-ground"]
    for component in (None, 0, 4):
        looks = [palette.rich_style(Style("tile", component, level=level)) for level in range(LEVELS)]
        grounds = [hex_of(look.bgcolor) for look in looks]
        away = [dist(rgb(ground), rgb(one)) for one in grounds]
        assert away == sorted(set(away))
        assert len(away) == LEVELS


def test_without_colour_nothing_is_coloured_and_nothing_lost() -> None:
    palette = palette_of(OURS[DEFAULT_THEME], color=False)
    for style in STYLES:
        look = palette.rich_style(style)
        assert (look.color, look.bgcolor) == (None, None)
    tiles = {monochrome(Style("tile", 0, level=level)) for level in range(LEVELS)}
    assert len(tiles) == LEVELS
    apart = {monochrome(Style(role)) for role in ("memory", "memory_used", "text", "warning", "error")}
    assert len(apart) == 5
