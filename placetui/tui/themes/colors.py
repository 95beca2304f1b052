"""Colours that every theme needs and most do not have: derived from the ones they have."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from textual.color import Color
from textual.theme import Theme

from placetui.grid.look.palette import DARK, LIGHT, READABLE, VISIBLE, contrast, legible, luminance, mix
from placetui.grid.marks import ROLES

COMPONENTS = tuple(f"component-{role}" for role in ROLES)
"""Variables for the hues of components, one for each role."""

HEAT = tuple(f"grid-heat-{number}" for number in range(len(DARK.heat)))
"""Variables for heat, from nothing to full."""

FOREGROUNDS = {
    "grid-white": "cursor, focus and what is active",
    "grid-text": "values, names and ranks",
    "grid-body": "sentences",
    "grid-muted": "labels and units",
    "grid-faint": "what may be missed",
    "grid-ghost": "rules and struck places",
    "grid-ok": "all is well",
    "grid-warning": "a warning",
    "grid-error": "an error",
}
"""Variables for text, and what they are for."""

LINES = {
    "grid-border": "border of panels and cards",
    "grid-warning-border": "border of what has a warning",
    "grid-error-border": "border of what has an error",
}
"""Variables for lines, and what they are for."""

GROUNDS = {
    "grid-ground": "what tints are mixed with: the ground that the grid stands on",
    "grid-bar": "the first and the last line of the screen",
    "grid-tile": "a GPU",
    "grid-raised": "what is raised: a key, the active tab",
    "grid-track": "the part of a meter that is not filled",
    "grid-warning-ground": "a GPU or a line with a warning",
    "grid-error-ground": "a GPU or a line with an error",
    "grid-hit": "a device that was found",
    "grid-highlight": "a device of the chosen component",
    "grid-mate": "another device of the process under the cursor",
    "grid-hover": "the device under the mouse",
    "grid-cursor": "the row under the cursor",
}
"""Variables for grounds, and what they are for."""

VARIABLES = (*COMPONENTS, *FOREGROUNDS, *LINES, *GROUNDS, *HEAT)
"""All variables of our own, for themes to set and style sheets to use."""

SEEN = 3.4
"""Contrast of text that may be missed."""

HINTED = 2.0
"""Contrast of what may be overlooked."""

FRAMED = 1.4
"""Contrast of a border that frames and says nothing."""

AREA = 1.45, 1.24
"""Contrast of a tinted area with a dark ground, and with a light one."""

DULLEST, SHRILLEST = (0.3, 0.5), (0.55, 0.7)
"""Saturation of such an area on a dark and a light ground: a hue is seen, and text is read on it."""


def variable_defaults(theme: Theme) -> dict[str, str]:
    """Values for our own variables: those that the theme sets, the others fitted to its colours."""
    ground = _Ground(theme)
    own = {name: value for name, value in theme.variables.items() if name in VARIABLES}
    design = DARK if ground.dark else LIGHT
    tile = solid(own.get("grid-tile", ground.tinted(ground.foreground, 1.12)), ground.background)
    warning, error = ground.color("warning"), ground.color("error")
    if ground.area(warning) == ground.area(error):
        warning = design.warning  # a theme of few colours has one hue for both
    areas = {
        name: solid(own.get(f"grid-{name}-ground", ground.area(color)), ground.background)
        for name, color in (("warning", warning), ("error", error))
    }
    values = {name: ground.legible(hue, VISIBLE) for name, hue in zip(COMPONENTS, design.hues, strict=True)}
    values |= dict(zip(HEAT, design.heat, strict=True))
    values |= {
        "grid-white": "#ffffff" if ground.dark else "#000000",
        "grid-text": ground.text,
        "grid-body": ground.toned(0.8, READABLE),
        "grid-muted": legible(ground.toned(0.62, READABLE), (ground.background, tile), READABLE),
        "grid-faint": legible(ground.toned(0.45, SEEN), (ground.background, tile), SEEN),
        "grid-ghost": ground.toned(0.25, 1.5),
        "grid-ok": ground.legible(ground.color("success"), READABLE),
        "grid-warning": legible(ground.legible(warning, READABLE), (areas["warning"],), READABLE),
        "grid-error": legible(ground.legible(error, READABLE), (areas["error"],), READABLE),
        "grid-border": legible(ground.color("border-blurred"), (ground.background,), FRAMED),
        "grid-warning-border": ground.legible(warning, HINTED),
        "grid-error-border": ground.legible(error, HINTED),
        "grid-ground": ground.background,
        "grid-bar": ground.tinted(ground.foreground, 1.15),
        "grid-tile": tile,
        "grid-raised": ground.tinted(ground.foreground, 1.3),
        "grid-track": ground.tinted(ground.foreground, 1.4),
        "grid-warning-ground": areas["warning"],
        "grid-error-ground": areas["error"],
        "grid-hit": ground.tinted(ground.foreground, 1.5),
        "grid-highlight": ground.tinted(ground.foreground, 1.2),
        "grid-mate": ground.tinted(ground.foreground, 1.35),
        "grid-hover": ground.tinted(ground.foreground, 1.25),
        "grid-cursor": ground.tinted(ground.foreground, 1.45),
    }
    return {**values, **own}


GREY = 0.05
"""Saturation up to which a colour has no hue."""


class _Ground:
    """The ground of a theme and what can be seen on it."""

    def __init__(self, theme: Theme) -> None:
        self._variables = theme.to_color_system().generate()
        # The terminal's own colours are not known: what stands on them is made for black or white.
        nominal = "#000000" if theme.dark else "#ffffff"
        self.background = solid(self._variables["background"], nominal)
        self._luminance = luminance(self.background)
        self.dark = self._luminance < 0.18
        self._surface = self.color("surface")
        self.foreground = solid(self._variables["foreground"], "#ffffff" if self.dark else "#000000")
        terminals = Color.parse(self._variables["foreground"]).ansi is not None
        self.text = self._variables["foreground"] if terminals else self.foreground

    def color(self, name: str) -> str:
        """One of the theme's own colours."""
        return solid(self._variables[name], self.background)

    def _contrast(self, color: str) -> float:
        return contrast(color, self.background)

    def tinted(self, color: str, most: float) -> str:
        """The ground with some of a colour: to be seen beside it, and text on it still to be read."""
        steps = range(2, 101, 2)
        beyond = bisect_right(steps, most, key=lambda step: self._contrast(mix(self.background, color, step / 100)))
        return mix(self.background, color, steps[max(0, beyond - 1)] / 100)

    def area(self, color: str) -> str:
        """A soft tint in the hue of a colour; a mix with the ground is grey on some grounds, and shrill on others."""
        light = int(not self.dark)
        hue, saturation, _ = Color.parse(color).hsl
        saturation = min(max(saturation, DULLEST[light]), SHRILLEST[light]) if saturation > GREY else 0.0
        steps = range(101) if self.dark else range(100, -1, -1)

        def tint(step: int) -> str:
            return Color.from_hsl(hue, saturation, step / 100).hex6.lower()

        def apart(step: int) -> float:
            """Less than 1 on the wrong side of the ground."""
            ratio = self._contrast(tint(step))
            return ratio if (luminance(tint(step)) > self._luminance) is self.dark else 1 / ratio

        found = bisect_left(steps, AREA[light], key=apart)
        return tint(steps[found]) if found < len(steps) else self.background

    def toned(self, weight: float, least: float) -> str:
        """Text that steps back, but not below a contrast that the theme's own text has."""
        steps = range(round(100 * weight), 100, 2)
        enough = bisect_left(
            steps, least, key=lambda step: self._contrast(mix(self.background, self.foreground, step / 100))
        )
        return mix(self.background, self.foreground, steps[enough] / 100) if enough < len(steps) else self.foreground

    def legible(self, color: str, least: float) -> str:
        """The colour, lightened or darkened as much as this ground needs."""
        return legible(color, (self.background, self._surface), least)


def solid(color: str, under: str) -> str:
    """A colour as `#rrggbb`, laid on `under` if it is translucent; `under` for the terminal's default."""
    parsed = Color.parse(color)
    if parsed.ansi == -1:
        return under
    if parsed.ansi is not None:
        red, green, blue = parsed.rich_color.get_truecolor()
        parsed = Color(red, green, blue)
    return mix(under, parsed.hex6.lower(), parsed.a)
