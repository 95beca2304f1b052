"""Colours that every theme needs and most do not have: derived from the ones they have."""

from __future__ import annotations

from collections.abc import Iterable

from textual.color import Color
from textual.theme import Theme

from placetui.grid.palette import DARK, LIGHT, mix, rgb

DARK_HUES = (*DARK.hues, "#b6ccd6")
"""For components on a dark ground."""

LIGHT_HUES = (*LIGHT.hues, "#463d5d")
"""The same for a light ground."""

COMPONENTS = tuple(f"component-{number}" for number in range(len(DARK_HUES)))
"""Variables for the hues of components, in the order of the file."""

FOREGROUNDS = {
    "grid-text": "what there is to read",
    "grid-muted": "what is said in passing",
    "grid-faint": "what is hardly there",
    "grid-header": "device numbers",
    "grid-node": "node names",
    "grid-rank": "rank numbers",
    "grid-share": "the share of a rank",
    "grid-link": "a link that belongs to no component, as in the legend",
    "grid-track": "the part of a bar that nobody holds",
    "grid-tile": "a tile that belongs to no component",
    "grid-empty": "a device that nobody is on",
    "grid-absent": "a place without a device",
    "grid-service": "what runs on a node beside its devices",
    "grid-ok": "all is well",
    "grid-warning": "a warning",
    "grid-error": "an error",
}
"""Variables for text, and what they are for."""

GROUNDS = {
    "grid-ground": "what tiles are tinted from: the ground that the grid stands on",
    "grid-memory": "ground of a device's memory",
    "grid-memory-used": "ground of the memory in use",
    "grid-hit": "ground of a device that was found",
    "grid-highlight": "ground of a device of the chosen component",
    "grid-mate": "ground of another device of the process under the cursor",
    "grid-hover": "ground of the device under the mouse",
    "grid-cursor": "ground of the device under the cursor",
}
"""Variables for grounds, and what they are for."""

VARIABLES = (*COMPONENTS, *FOREGROUNDS, *GROUNDS)
"""All variables of our own, for themes to set and style sheets to use."""

READABLE = 4.5
"""Contrast of text that has to be read."""

VISIBLE = 3.0
"""Contrast of signs and of large or bold letters."""

HINTED = 2.0
"""Contrast of what may be overlooked."""


def variable_defaults(theme: Theme) -> dict[str, str]:
    """Values for our own variables: those that the theme sets, the others fitted to its colours."""
    ground = _Ground(theme)
    own = {name: value for name, value in theme.variables.items() if name in VARIABLES}
    text = own.get("grid-text", ground.text)
    muted = own.get("grid-muted", ground.toned(0.62, READABLE))
    faint = own.get("grid-faint", ground.toned(0.32, HINTED))
    memory = own.get("grid-memory-used", ground.tinted(ground.foreground, 1.4))
    hues = DARK_HUES if ground.dark else LIGHT_HUES
    values = {name: ground.legible(hue, VISIBLE) for name, hue in zip(COMPONENTS, hues, strict=True)}
    values |= dict.fromkeys(("grid-text", "grid-node", "grid-rank", "grid-tile"), text)
    values |= dict.fromkeys(
        ("grid-muted", "grid-header", "grid-share", "grid-link", "grid-empty", "grid-service"), muted
    )
    values |= dict.fromkeys(("grid-faint", "grid-track", "grid-absent"), faint)
    values |= {
        "grid-ok": ground.legible(ground.color("success"), READABLE),
        "grid-warning": ground.legible(ground.color("warning"), READABLE),
        "grid-error": ground.legible(ground.color("error"), READABLE),
        "grid-ground": ground.background,
        "grid-memory": mix(ground.background, solid(memory, ground.background), 0.4),
        "grid-memory-used": memory,
        "grid-hit": ground.tinted(ground.color("warning"), 1.35),
        "grid-highlight": ground.tinted(ground.foreground, 1.12),
        "grid-mate": ground.tinted(ground.color("primary"), 1.25),
        "grid-hover": ground.tinted(ground.foreground, 1.2),
        "grid-cursor": ground.tinted(ground.color("primary"), 1.45),
    }
    return {**values, **own}


class _Ground:
    """The ground of a theme and what can be seen on it."""

    def __init__(self, theme: Theme) -> None:
        self._variables = theme.to_color_system().generate()
        # The terminal's own colours are not known: what stands on them is made for black or white.
        nominal = "#000000" if theme.dark else "#ffffff"
        self.background = solid(self._variables["background"], nominal)
        self.dark = luminance(self.background) < 0.18
        self._surface = self.color("surface")
        self.foreground = solid(self._variables["foreground"], "#ffffff" if self.dark else "#000000")
        terminals = Color.parse(self._variables["foreground"]).ansi is not None
        self.text = self._variables["foreground"] if terminals else self.foreground

    def color(self, name: str) -> str:
        """One of the theme's own colours."""
        return solid(self._variables[name], self.background)

    def tinted(self, color: str, most: float) -> str:
        """The ground with some of a colour: to be seen beside it, and text on it still to be read."""
        shown = color
        for percent in range(100, 0, -2):
            shown = mix(self.background, color, percent / 100)
            if contrast(shown, self.background) <= most:
                break
        return shown

    def toned(self, weight: float, least: float) -> str:
        """Text that steps back, but not below a contrast that the theme's own text has."""
        for percent in range(round(100 * weight), 100, 2):
            color = mix(self.background, self.foreground, percent / 100)
            if contrast(color, self.background) >= least:
                return color
        return self.foreground

    def legible(self, color: str, least: float) -> str:
        """The colour, lightened or darkened as much as this ground needs."""
        return legible(color, (self.background, self._surface), least)


def legible(color: str, grounds: Iterable[str], least: float) -> str:
    """The colour, lightened or darkened until its contrast on all grounds is enough."""
    grounds = tuple(grounds)
    limit = max(("#ffffff", "#000000"), key=lambda one: min(contrast(one, ground) for ground in grounds))
    for percent in range(0, 100, 2):
        shown = mix(color, limit, percent / 100)
        if min(contrast(shown, ground) for ground in grounds) >= least:
            return shown
    return limit


def solid(color: str, under: str) -> str:
    """A colour as `#rrggbb`, laid on `under` if it is translucent; `under` for the terminal's default."""
    parsed = Color.parse(color)
    if parsed.ansi == -1:
        return under
    if parsed.ansi is not None:
        red, green, blue = parsed.rich_color.get_truecolor()
        parsed = Color(red, green, blue)
    return mix(under, parsed.hex6.lower(), parsed.a)


def luminance(color: str) -> float:
    """Relative luminance of `#rrggbb`, 0 to 1, as WCAG 2 defines it."""
    parts = [part / 255 for part in rgb(color)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21, as WCAG 2 defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)
