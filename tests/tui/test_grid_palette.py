"""The looks of the grid: every style has one, in every theme and without colour."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from rich.color import Color as RichColor
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from placetui.grid import DARK, HUES, Role, Style
from placetui.grid.look.palette import READABLE, VISIBLE, contrast
from placetui.grid.look.style import Ground
from placetui.tui.themes import DEFAULT_THEME, GridPalette, load_themes, variable_defaults
from placetui.tui.themes.palette import monochrome

OURS = {theme.name: theme for theme in load_themes(Path("/nonexistent"))[0]}
ALL = {**OURS, **BUILTIN_THEMES}

ROLES: tuple[Role, ...] = get_args(Role)
STYLES = [
    Style(role, hue, bold, level=20, ground=ground, under=3)
    for role, hue, bold, ground in product(ROLES, (None, 0, 9), (False, True), (None, *get_args(Ground)))
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
        assert (look.bgcolor is not None) == (style.ground is not None or style.role == "chip")


def test_components_keep_their_hue() -> None:
    palette = palette_of(OURS[DEFAULT_THEME])
    assert palette.rich_style(Style("component", 1)).color == Color.parse(DARK.hues[1]).rich_color
    assert palette.colors.hue(HUES + 1) == DARK.hues[1]


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_what_stands_on_a_ground_can_be_read(theme: Theme) -> None:
    palette = palette_of(theme)
    roles: tuple[Role, ...] = ("text", "body", "error", "warning", "component", "chip")
    for role, ground, hue in product(roles, (*get_args(Ground), None), range(HUES)):
        look = palette.rich_style(Style(role, hue, ground=None if role == "chip" else ground, under=3))
        if look.bgcolor is None or ground == "heat" or look.color == RichColor.default():
            continue
        least = VISIBLE if role == "component" else READABLE
        assert contrast(hex_of(look.color), hex_of(look.bgcolor)) >= least, (role, ground, hue)


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_what_is_wrong_has_a_ground_of_its_own(theme: Theme) -> None:
    looks = [palette_of(theme).rich_style(Style(ground=ground)).bgcolor for ground in ("tile", "error", "warning")]
    assert len({hex_of(look) for look in looks}) == 3


def test_without_colour_nothing_is_coloured_and_nothing_lost() -> None:
    palette = palette_of(OURS[DEFAULT_THEME], color=False)
    for style in STYLES:
        look = palette.rich_style(style)
        assert (look.color, look.bgcolor) == (None, None)
    apart = {monochrome(Style(role)) for role in ("text", "muted", "warning", "error")}
    assert len(apart) == 4
    assert monochrome(Style("chip")).reverse
    assert monochrome(Style(ground="white")).reverse
