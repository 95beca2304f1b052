"""The characters of the drawing, in Unicode and in ASCII. Each takes one column."""

from __future__ import annotations

from dataclasses import dataclass, field


def _by_state(signs: str) -> dict[str, str]:
    return dict(zip(("pending", "starting", "alive", "restarting", "dead", "stale"), signs, strict=True))


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of characters, by default in Unicode."""

    foot: str = "▂"
    """Shares of a device, in the last line of a tile."""

    bar: str = "━"
    half: str = "╸"
    rest: str = "─"
    """A thin meter: full, half a column at its end, and what is left."""

    eighths: str = " ▏▎▍▌▋▊▉█"
    """A column of a meter filled from the left, from a blank to all of it."""

    hatch: str = "▒"
    """Memory of unknown processes."""

    span: str = "─"
    """Links the devices of one process where they are adjacent."""

    left: str = "◂"
    right: str = "▸"
    """Where other devices of a process are, that are not adjacent."""

    empty: str = "·"
    """A device that is free."""

    absent: str = "\u2571"
    """A place without a device."""

    gap: str = "…"
    """Between two ends of a range that is not complete."""

    times: str = "×"
    ellipsis: str = "…"
    service: str = "▫"
    divider: str = "│"
    degree: str = "°"
    dot: str = " · "
    """Between two pieces of a sentence."""

    ramp: str = " ▁▂▃▄▅▆▇█"
    """From nothing to full."""

    box: str = "╭╮╯╰─│"
    """Corners from the top left with the clock, then the horizontal and the vertical line."""

    cursor: str = "▌▐"
    """At the left and at the right of what the cursor is on."""

    differs: str = "≠"
    """Not as planned."""

    above: str = "▲"
    below: str = "▼"
    """A value above its threshold; one far below that of its peers."""

    came: str = "←"
    goes: str = "→"
    """Before the place that a rank came from, and that it goes to."""

    ends: str = "−"
    """A rank that goes away."""

    done: str = "✓"
    """All is well, or a step is done."""

    unfixed: str = "≈"
    """Before a rank whose place the framework chooses when it starts."""

    states: dict[str, str] = field(default_factory=lambda: _by_state("○⠹·↻✗?"))
    """Sign of each state of a rank."""

    squares: dict[str, str] = field(default_factory=lambda: _by_state("□▣■▣✗?"))
    """A rank in a row of squares, by its state."""


UNICODE = Glyphs()
ASCII = Glyphs(
    foot="_",
    bar="=",
    half="-",
    rest=".",
    eighths=" ...:::##",
    hatch="%",
    span="-",
    left="<",
    right=">",
    empty=".",
    absent="/",
    gap="..",
    times="x",
    ellipsis="~",
    service="+",
    divider="|",
    degree="C",
    dot=", ",
    ramp=" .:-=+*%#",
    box="++++-|",
    cursor="><",
    differs="!",
    above="^",
    below="v",
    came="<",
    goes=">",
    ends="-",
    done="+",
    unfixed="~",
    states=_by_state("o~.@x?"),
    squares=_by_state(".+#@x?"),
)


def glyphs(ascii: bool) -> Glyphs:
    """The set to draw with."""
    return ASCII if ascii else UNICODE
