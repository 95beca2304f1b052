"""A drawing as plain text and as text with colours for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from placetui.grid.drawing import Drawing
from placetui.grid.look.palette import DARK, Appearance, Palette, rgb
from placetui.grid.look.style import Line, Run, Style, plain
from placetui.placement.plan import Plan
from placetui.placement.wording import count

Colors: TypeAlias = Literal["truecolor", "256", "16"]

RESET = "\x1b[0m"
CUBE = (0, 95, 135, 175, 215, 255)
"""Steps of the 256-colour cube."""

DARK_COLORS = "#000000 #cd3131 #0dbc79 #e5e510 #2472c8 #bc3fbc #11a8cd #e5e5e5"
BRIGHT_COLORS = "#666666 #f14c4c #23d18b #f5f543 #3b8eea #d670d6 #29b8db #ffffff"
BASIC = tuple(map(rgb, f"{DARK_COLORS} {BRIGHT_COLORS}".split()))


def page(drawing: Drawing, *, legend: bool = True) -> Iterator[Line]:
    """Header, drawing and legend."""
    yield from drawing.header()
    yield from drawing.lines()
    if legend and (lines := drawing.legend()):
        yield ()
        yield from lines


def to_text(drawing: Drawing, *, legend: bool = True) -> str:
    """The drawing without colours; nothing but colour is lost."""
    return "".join(f"{plain(line).rstrip()}\n" for line in page(drawing, legend=legend))


def to_ansi(drawing: Drawing, *, colors: Colors = "truecolor", palette: Palette = DARK, legend: bool = True) -> str:
    """The drawing with escape sequences for a terminal of this many colours."""
    painter = _Painter(colors, palette)
    return "".join(f"{painter.line(line)}\n" for line in page(drawing, legend=legend))


class _Painter:
    """Writes lines with escape sequences; each style is worked out once."""

    def __init__(self, colors: Colors, palette: Palette) -> None:
        self._colors = colors
        self._palette = palette
        self._starts: dict[Style, tuple[str, bool]] = {}

    def line(self, line: Line) -> str:
        return "".join(map(self._run, line)).rstrip()

    def _run(self, run: Run) -> str:
        known = self._starts.get(run.style)
        if known is None:
            known = self._starts[run.style] = self._start(self._palette.look(run.style))
        start, has_ground = known
        # What is blank and has no ground stays outside of the colours, so that it can be stripped.
        text = run.text if has_ground else run.text.rstrip()
        return f"{start}{text}{RESET}{run.text[len(text) :]}" if start and text else run.text

    def _start(self, look: Appearance) -> tuple[str, bool]:
        """The sequence before a text; plain text keeps the terminal's own colour, whatever its background."""
        codes = [code for code, wanted in (("1", look.bold), ("4", look.underline), ("9", look.strike)) if wanted]
        if look.background or look.foreground != self._palette.text:
            codes.append(_code(look.foreground, self._colors, background=False))
        if look.background:
            codes.append(_code(look.background, self._colors, background=True))
        return f"\x1b[{';'.join(codes)}m" if codes else "", look.background is not None


def _code(color: str, colors: Colors, *, background: bool) -> str:
    red, green, blue = rgb(color)
    if colors == "truecolor":
        return f"{48 if background else 38};2;{red};{green};{blue}"
    if colors == "256":
        return f"{48 if background else 38};5;{_nearest_256(red, green, blue)}"
    nearest = min(range(16), key=lambda index: _distance(BASIC[index], (red, green, blue)))
    base = (100 if background else 90) - 8 if nearest >= 8 else (40 if background else 30)
    return str(base + nearest)


def _nearest_256(red: int, green: int, blue: int) -> int:
    steps = [min(range(6), key=lambda step: abs(CUBE[step] - part)) for part in (red, green, blue)]
    cube = 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    gray = min(23, max(0, round(((red + green + blue) / 3 - 8) / 10)))
    level = 8 + 10 * gray
    by_cube = _distance((CUBE[steps[0]], CUBE[steps[1]], CUBE[steps[2]]), (red, green, blue))
    return cube if by_cube <= _distance((level, level, level), (red, green, blue)) else 232 + gray


def _distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def caption(plan: Plan) -> str:
    """`2 nodes × 8 GPUs, assumed`: what a plan was made for."""
    sizes = sorted({node.gpus for node in plan.nodes})
    gpus = "0" if not sizes else str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"
    each = "GPU" if gpus == "1" else "GPUs"
    assumed = ", assumed" if plan.topology_source == "assumed" else ""
    return f"{count(len(plan.nodes), 'node')} × {gpus} {each}{assumed}"
