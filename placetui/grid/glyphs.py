"""The characters of the drawing, in Unicode and in ASCII. Each takes one column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of characters."""

    patterns: tuple[str, ...]
    """Fills of the share bar, one per component."""

    track: str
    """Part of a bar that nobody holds."""

    span: str
    """Links the devices of one process where they are adjacent."""

    elsewhere: str
    """Links a device to others of its process that are not adjacent."""

    left: str
    right: str
    """Where those others are."""

    empty: str
    """A device that nobody is on."""

    absent: str
    """A place without a device."""

    to: str
    """Between two ends of a range."""

    gap: str
    """Between two ends of a range that is not complete."""

    times: str
    ellipsis: str
    service: str
    divider: str
    ramp: str
    """From nothing to full."""

    states: dict[str, str]
    """Mark of each state of a rank."""


UNICODE = Glyphs(
    patterns=("━", "╍", "─", "▪", "▱", "╌", "◆"),
    track="┈",
    span="═",
    elsewhere="╌",
    left="◂",
    right="▸",
    empty="·",
    absent="\u2571",
    to="–",
    gap="…",
    times="×",
    ellipsis="…",
    service="▫",
    divider="│",
    ramp=" ▁▂▃▄▅▆▇█",
    states={"pending": "○", "starting": "◔", "alive": "●", "restarting": "↻", "dead": "✗", "stale": "?"},
)

ASCII = Glyphs(
    patterns=("#", "%", "-", "o", "+", "~", "*"),
    track=".",
    span="=",
    elsewhere="-",
    left="<",
    right=">",
    empty=".",
    absent="/",
    to="-",
    gap="..",
    times="x",
    ellipsis="~",
    service="+",
    divider="|",
    ramp=" .:-=+*%#",
    states={"pending": "o", "starting": "~", "alive": "+", "restarting": "@", "dead": "x", "stale": "?"},
)


def glyphs(ascii: bool) -> Glyphs:
    """The set to draw with."""
    return ASCII if ascii else UNICODE
