"""From what a run means to colours: the two palettes of the design, and what follows from any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from placetui.grid.look.style import LEVELS, PAINTS, SHADED, Role, Style

READABLE = 4.5
"""Contrast of text that has to be read."""

VISIBLE = 3.0
"""Contrast of signs and of large or bold letters."""

SPANNING = 0.17
"""How much of its hue is in the ground of a process over several devices."""

MOVED = 0.35
"""How much of its hue is in the ground of a process that moves."""

SHADE = 0.4
"""How much is left of a colour that is shaded."""

_BRIGHTER: dict[Role, Role] = {
    "body": "text",
    "muted": "body",
    "faint": "muted",
    "ghost": "faint",
    "track": "muted",
    "border": "muted",
}
"""On an error or warning ground each grey goes one step up."""


_GROUNDS = {"warning": "warning_ground", "error": "error_ground"}
"""Grounds that are called otherwise than their colour."""


class Appearance(NamedTuple):
    """A foreground, a ground if it differs from the page's, and how it is written."""

    foreground: str
    background: str | None = None
    bold: bool = False
    underline: bool = False
    strike: bool = False


@dataclass(frozen=True)
class Palette:
    """Colours as `#rrggbb`, by default those of the dark palette."""

    name: str = "dark"
    ground: str = "#0e1217"
    tile: str = "#171e27"
    raised: str = "#232d3a"
    track: str = "#27313e"
    """The part of a meter that is not filled."""

    border: str = "#2d3846"
    white: str = "#ffffff"
    text: str = "#e6ecf3"
    body: str = "#bcc7d4"
    muted: str = "#8996a7"
    faint: str = "#647183"
    ghost: str = "#394554"
    error: str = "#ff8c80"
    error_ground: str = "#561f26"
    error_border: str = "#cf5a53"
    warning: str = "#f6d24e"
    warning_ground: str = "#3f3612"
    warning_border: str = "#a18a2c"
    ok: str = "#7fd1ae"
    # Any two differ by a ΔE (CIE76) of 20.5 and more, also for eyes without red, green or blue cones.
    hues: tuple[str, ...] = tuple("#74b6fe #fbaa3d #d066b7 #4df3ec #a5a6a6 #629747 #8b73fa #f1e2a7".split())
    """One per role of components, in the order of `ROLES`."""

    heat: tuple[str, ...] = tuple("#3a2a72 #3e4989 #31688e #26828e #1f9e89 #35b779 #6ece58 #b5de2b #fde725".split())
    """From nothing to full, at equal distances."""

    def hue(self, number: int) -> str:
        return self.hues[number % len(self.hues)]

    def heat_at(self, level: int) -> str:
        """The colour of a step, 0 to `LEVELS` - 1, or of another paint."""
        if level >= SHADED // 2:
            return mix(self.ground, self.heat_at(level - SHADED), SHADE)
        if level < 0:
            return str(getattr(self, PAINTS[-1 - level]))
        if level >= LEVELS:
            return self.hue(level - LEVELS)
        place = min(LEVELS - 1, max(0, level)) / (LEVELS - 1) * (len(self.heat) - 1)
        low = min(int(place), len(self.heat) - 2)
        return mix(self.heat[low], self.heat[low + 1], place - low)

    def look(self, style: Style) -> Appearance:
        ground = self._ground(style)
        if style.role == "chip":
            hue = self.muted if style.hue is None else self.hue(style.hue)
            return Appearance(legible(self.ground, (hue,), READABLE), hue, style.bold, style.underline)
        return Appearance(self._foreground(style, ground), ground, style.bold, style.underline, style.strike)

    def _ground(self, style: Style) -> str | None:
        kind = style.ground
        if kind is None:
            return None
        if kind == "heat":
            return self.heat_at(style.under or 0)
        if kind == "alarm":
            return legible(mix(self.error_border, "#ff0000", 0.5), ("#ffffff",), READABLE)
        if kind in ("component", "moved"):
            hue = self.muted if style.hue is None else self.hue(style.hue)
            return mix(self.ground, hue, SPANNING if kind == "component" else MOVED)
        return str(getattr(self, _GROUNDS.get(kind, kind)))

    def _foreground(self, style: Style, ground: str | None) -> str:
        role, kind = style.role, style.ground
        if role == "heat":
            return self.heat_at(style.level or 0)
        if kind == "alarm":
            return "#ffffff"
        if role == "component":
            color = self.muted if style.hue is None else self.hue(style.hue)
            return color if ground is None else legible(color, (ground,), VISIBLE)
        if kind == "ok" and ground is not None:
            return legible(self.ground, (ground,), READABLE)
        if kind == "white" and role not in ("error", "warning"):
            return self.ground
        if kind in ("error", "warning", "moved", "component"):
            role = "ghost" if (role, kind) == ("track", "component") else _BRIGHTER.get(role, role)
        color = str(getattr(self, role))
        if ground is None or role not in ("white", "text", "body", "error", "warning") or not color.startswith("#"):
            return color
        return legible(color, (ground,), READABLE)


DARK = Palette()
LIGHT = Palette(
    name="light",
    ground="#fbfcfd",
    tile="#eef1f5",
    raised="#dde3ea",
    track="#d9e0e8",
    border="#c6cfd9",
    white="#000000",
    text="#18202a",
    body="#3a4654",
    muted="#5b6776",
    faint="#778392",
    ghost="#aeb8c4",
    error="#b3181b",
    error_ground="#ffd9d5",
    error_border="#d2605b",
    warning="#7a5b00",
    warning_ground="#fbeab0",
    warning_border="#b8952a",
    ok="#0b6b50",
    # The same for a light ground, with 19.8 and more.
    hues=tuple("#0060d3 #c0630e #b23a9e #0d9283 #494b4e #366b30 #591795 #322400".split()),
    heat=tuple("#f3e27a #c3d64a #74c168 #35a583 #22888a #2d6b8c #3b4d88 #432a78 #3b0f5c".split()),
)


def mix(under: str, over: str, weight: float) -> str:
    """`over` laid on `under`, with 0 ≤ `weight` ≤ 1."""
    pairs = zip(rgb(under), rgb(over), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * weight):02x}" for low, high in pairs)


def rgb(color: str) -> tuple[int, int, int]:
    """The parts of `#rrggbb`."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def luminance(color: str) -> float:
    """Relative luminance of `#rrggbb`, 0 to 1, as WCAG 2 defines it."""
    parts = [part / 255 for part in rgb(color)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21, as WCAG 2 defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def legible(color: str, grounds: Iterable[str], least: float) -> str:
    """The colour, lightened or darkened until its contrast on all grounds is enough."""
    grounds = tuple(grounds)
    limit = max(("#ffffff", "#000000"), key=lambda one: min(contrast(one, ground) for ground in grounds))
    for percent in range(0, 100, 2):
        shown = mix(color, limit, percent / 100)
        if min(contrast(shown, ground) for ground in grounds) >= least:
            return shown
    return limit
