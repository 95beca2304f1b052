"""Colours for what is printed and exported; the dashboard has themes of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from placetui.grid.identity import HUES
from placetui.grid.style import LEVELS, Role, Style


class Look(NamedTuple):
    """A foreground, a ground if it differs from the page's, and weight."""

    foreground: str
    background: str | None = None
    bold: bool = False


@dataclass(frozen=True)
class Palette:
    """Colours as `#rrggbb`."""

    name: str
    background: str
    border: str
    text: str
    muted: str
    faint: str
    memory: str
    """Ground of the memory in use."""

    ok: str
    warning: str
    error: str
    hues: tuple[str, ...]
    """One per component, in an order in which neighbours differ most."""

    def __hash__(self) -> int:
        return hash(self.name)

    def look(self, style: Style) -> Look:
        return _look(self, style)


DARK = Palette(
    name="dark",
    background="#11161c",
    border="#2a323d",
    text="#e2e8f0",
    muted="#94a0b0",
    faint="#566375",
    memory="#2c3a4c",
    ok="#3fb68b",
    warning="#f0c000",
    error="#ff6b57",
    # Okabe and Ito's hues, moved apart for eyes that see red, green or blue less.
    hues=("#2fc8fd", "#fda204", "#16995f", "#ab6e97", "#fbf972", "#d8550a", "#6f75da"),
)

LIGHT = Palette(
    name="light",
    background="#fbfcfd",
    border="#d5dbe3",
    text="#1b2430",
    muted="#5f6b7a",
    faint="#b3bcc8",
    memory="#d7e1ec",
    ok="#00795a",
    warning="#8a6a00",
    error="#c5281c",
    # The same for a light ground.
    hues=("#0079bf", "#a36700", "#0a5839", "#c1496d", "#7b753d", "#911f00", "#513fba"),
)

PALETTES = {palette.name: palette for palette in (DARK, LIGHT)}


@lru_cache(maxsize=1024)
def _look(palette: Palette, style: Style) -> Look:
    hue = palette.text if style.component is None else palette.hues[style.component % HUES]
    if style.role == "tile":
        return _tile(palette, hue, style.level)
    if style.role in ("component", "bar", "link"):
        shown = palette.muted if style.component is None else hue
        return Look(shown, bold=style.bold)
    if style.role == "memory_used":
        return Look(palette.text, palette.memory)
    if style.role == "memory":
        return Look(palette.muted, mix(palette.background, palette.memory, 0.4))
    foreground: dict[Role, str] = {
        "text": palette.text,
        "node": palette.text,
        "rank": palette.text,
        "ok": palette.ok,
        "warning": palette.warning,
        "error": palette.error,
        "faint": palette.faint,
        "track": palette.faint,
        "absent": palette.faint,
    }
    return Look(foreground.get(style.role, palette.muted), bold=style.bold)


def _tile(palette: Palette, hue: str, level: int | None) -> Look:
    """A tinted ground, so that a screen full of tiles stays quiet; the letter keeps the hue."""
    weight = 0.12 + 0.26 * (LEVELS - 1 if level is None else level) / (LEVELS - 1)
    return Look(hue, mix(palette.background, hue, weight))


def mix(under: str, over: str, weight: float) -> str:
    """`over` laid on `under`, with 0 ≤ `weight` ≤ 1."""
    pairs = zip(rgb(under), rgb(over), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * weight):02x}" for low, high in pairs)


def rgb(color: str) -> tuple[int, int, int]:
    """The parts of `#rrggbb`."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
