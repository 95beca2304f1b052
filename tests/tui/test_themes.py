"""Themes: ours are legible and safe for colour-blind eyes, the user's are checked, Textual's own work too."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise
from math import dist
from pathlib import Path

import pytest
from rich.style import Style as RichStyle
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import Footer, Input, Label

from placetui import resources
from placetui.grid import Style
from placetui.grid.look.palette import DARK, LIGHT, READABLE, VISIBLE, contrast, rgb
from placetui.grid.marks import ROLES
from placetui.tui.themes import (
    DEFAULT_THEME,
    GridPalette,
    known_variables,
    load_themes,
    theme_names,
)
from placetui.tui.themes.colors import (
    COMPONENTS,
    FOREGROUNDS,
    GROUNDS,
    HEAT,
    LINES,
    VARIABLES,
    solid,
    variable_defaults,
)
from placetui.tui.themes.palette import palette_of

NOWHERE = Path("/nonexistent")
OURS = {theme.name: theme for theme in load_themes(NOWHERE)[0]}
ALL = {**OURS, **BUILTIN_THEMES}

Lab = tuple[float, float, float]
Matrix = tuple[tuple[float, float, float], ...]

EYES: dict[str, Matrix] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Simulation of missing cones in linear RGB: Machado, Oliveira and Fernandes, 2009, severity 1."""


def seen(color: str, eyes: str) -> Lab:
    """CIE L*a*b* of a colour as these eyes see it."""
    parts = [part / 255 for part in rgb(color)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    rows = (sum(weight * part for weight, part in zip(row, linear, strict=True)) for row in EYES[eyes])
    red, green, blue = (min(1.0, max(0.0, value)) for value in rows)
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def nearest(colors: list[str], eyes: str = "usual") -> float:
    """The smallest difference of any two colours (CIE76 ΔE)."""
    return min(dist(one, other) for one, other in combinations([seen(color, eyes) for color in colors], 2))


def hues(theme: Theme) -> list[str]:
    values = variable_defaults(theme)
    return [values[name] for name in COMPONENTS]


def text_of(theme: Theme, variable: str = "grid-text") -> str:
    """A colour of a theme; the terminal's own is taken for white on black or black on white."""
    return solid(variable_defaults(theme)[variable], "#ffffff" if theme.dark else "#000000")


def test_measures_agree_with_known_values() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert seen("#ff0000", "usual") == pytest.approx((53.24, 80.09, 67.20), abs=0.1)
    # Red and green of one lightness: far apart, but not without the red or green cones.
    assert nearest(["#b06030", "#708020"]) > 30
    assert nearest(["#b06030", "#708020"], "protan") < nearest(["#b06030", "#708020"]) / 2


# Ours


def test_ours_are_there_and_right() -> None:
    themes, problems = load_themes(NOWHERE)
    assert problems == []
    names = {"placetui-dark", "placetui-light", "placetui-high-contrast", "placetui-colour-blind"}
    assert {theme.name for theme in themes} == names
    assert DEFAULT_THEME in names
    assert [path.stem for path in resources.themes()] == sorted(names)


@pytest.mark.parametrize("theme", OURS.values(), ids=OURS)
@pytest.mark.parametrize("eyes", EYES)
def test_components_of_ours_are_told_apart_by_any_eyes(theme: Theme, eyes: str) -> None:
    least = {"placetui-dark": 20.5, "placetui-light": 19.8}.get(theme.name, 18)
    assert nearest(hues(theme), eyes) >= least


@pytest.mark.parametrize("theme", OURS.values(), ids=OURS)
@pytest.mark.parametrize("eyes", EYES)
def test_well_warning_and_error_of_ours_are_told_apart_by_any_eyes(theme: Theme, eyes: str) -> None:
    values = variable_defaults(theme)
    if theme.dark:  # on a light ground dark yellow and dark red are near: their grounds and signs tell them apart
        assert nearest([values[name] for name in ("grid-ok", "grid-warning", "grid-error")], eyes) >= 15
    assert nearest([values[name] for name in ("grid-tile", "grid-warning-ground", "grid-error-ground")], eyes) >= 7


@pytest.mark.parametrize("theme", OURS.values(), ids=OURS)
def test_the_focus_of_ours_has_no_hue(theme: Theme) -> None:
    for name in ("border", "border-blurred"):
        _, *hue = seen(theme.variables[name], "usual")
        assert dist((0, 0), hue) <= 15, name


@pytest.mark.parametrize("theme", OURS.values(), ids=OURS)
def test_ours_are_read_with_ease(theme: Theme) -> None:
    least = 7 if theme.name == "placetui-high-contrast" else READABLE
    values = variable_defaults(theme)
    for name in {*FOREGROUNDS} - {"grid-faint", "grid-ghost"}:
        assert contrast(values[name], values["grid-ground"]) >= least, name
    assert contrast(values["grid-faint"], values["grid-ground"]) >= (least if least == 7 else 3.4)
    for name in COMPONENTS:
        assert contrast(values[name], values["grid-ground"]) >= (least if least == 7 else VISIBLE), name
    for name in GROUNDS:
        assert contrast(values["grid-text"], values[name]) >= 7, name


def test_the_dark_and_the_light_one_show_what_other_themes_get() -> None:
    for name, design in (("placetui-dark", DARK), ("placetui-light", LIGHT)):
        theme = OURS[name]
        variables = {**theme.to_color_system().generate(), **variable_defaults(theme), **theme.variables}
        assert replace(palette_of(variables), name=design.name) == design


# Every theme


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_components_are_visible_and_distinct_in_every_theme(theme: Theme) -> None:
    values = variable_defaults(theme)
    for hue in hues(theme):
        assert contrast(hue, values["grid-ground"]) >= VISIBLE
    assert nearest(hues(theme)) >= 25
    assert min(nearest(hues(theme), eyes) for eyes in EYES) >= 13


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_heat_reads_in_grey(theme: Theme) -> None:
    light = [seen(variable_defaults(theme)[name], "usual")[0] for name in HEAT]
    steps = [after - before for before, after in pairwise(light)]
    assert all(step > 2 for step in steps) or all(step < -2 for step in steps)


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_text_is_legible_in_every_theme(theme: Theme) -> None:
    values = variable_defaults(theme)
    for name in ("grid-muted", "grid-ok", "grid-warning", "grid-error"):
        assert contrast(text_of(theme, name), values["grid-ground"]) >= READABLE, name
    for name in GROUNDS:
        assert contrast(text_of(theme), values[name]) >= VISIBLE, name
    for name in ("grid-ground", "grid-tile"):
        assert contrast(text_of(theme, "grid-faint"), values[name]) >= 3.35, name


@pytest.mark.parametrize("name", ["warning", "error"])
@pytest.mark.parametrize("theme", BUILTIN_THEMES.values(), ids=BUILTIN_THEMES)
def test_areas_of_warnings_and_errors_are_soft_and_their_signs_are_read_on_them(theme: Theme, name: str) -> None:
    values = variable_defaults(theme)
    area = values[f"grid-{name}-ground"]
    assert 1.2 <= contrast(area, values["grid-ground"]) <= 1.6
    assert contrast(values[f"grid-{name}"], area) >= READABLE
    assert Color.parse(area).hsl.s <= 0.9


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_what_stands_out_is_seen_beside_the_ground(theme: Theme) -> None:
    values = variable_defaults(theme)
    for name in set(GROUNDS) - {"grid-ground"}:
        assert contrast(values[name], values["grid-ground"]) >= 1.05, name
    assert contrast(values["grid-cursor"], values["grid-ground"]) >= 1.25
    assert contrast(values["grid-hit"], values["grid-tile"]) >= 1.2
    assert nearest([values["grid-hit"], values["grid-warning-ground"]]) >= 7, "yellow is for trouble"


@pytest.mark.parametrize("theme", ALL.values(), ids=ALL)
def test_every_variable_of_ours_has_a_value_in_every_theme(theme: Theme) -> None:
    values = variable_defaults(theme)
    assert set(values) == set(VARIABLES)
    for value in values.values():
        Color.parse(value)
    # A name of Textual's own would be overridden by it.
    assert set(VARIABLES).isdisjoint(theme.to_color_system().generate()) or theme.name in OURS


def test_what_a_theme_sets_reaches_what_follows_from_it() -> None:
    plain = Theme("plain", "#336699")
    changed = Theme("changed", "#336699", variables={"grid-muted": "#abcdef", "component-critic": "#123456"})
    differing = {name for name, value in variable_defaults(changed).items() if value != variable_defaults(plain)[name]}
    assert differing == {"grid-muted", "component-critic"}


class Small(App[None]):
    """The least that shows a theme."""

    CSS = "Label { background: $grid-cursor; color: $component-critic; } Input { border: tall $grid-error; }"
    BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        yield Label("text")
        yield Input()
        yield Footer()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)


async def switch_through_all() -> dict[str, tuple[Color, RichStyle]]:
    app = Small()
    found: dict[str, tuple[Color, RichStyle]] = {}
    async with app.run_test() as pilot:
        for theme in OURS.values():
            app.register_theme(theme)
        for name in theme_names(OURS.values()):
            app.theme = name
            await pilot.pause()
            palette = GridPalette(app.theme_variables)
            found[name] = app.query_one(Label).styles.color, palette.rich_style(Style("component", 3))
    return found


def test_an_app_can_switch_to_every_theme() -> None:
    import asyncio

    found = asyncio.run(switch_through_all())
    assert set(found) == set(ALL)
    for name, (color, look) in found.items():
        wanted = Color.parse(hues(ALL[name])[3])
        assert color == wanted
        assert look.color == wanted.rich_color


def test_the_documentation_names_every_variable_and_every_theme() -> None:
    text = (Path(__file__).parents[2] / "docs" / "themes.md").read_text(encoding="utf-8")
    for name in (*FOREGROUNDS, *LINES, *GROUNDS, *OURS):
        assert f"`{name}`" in text
    assert f"`{HEAT[0]}` … `{HEAT[-1]}`" in text
    for role, dark, light in zip(ROLES, DARK.hues, LIGHT.hues, strict=True):
        assert re.search(rf"\| `component-{role}` \| `[A-Z]` \| `{dark}` \| `{light}` \|", text), role
    assert set(VARIABLES) <= known_variables()
