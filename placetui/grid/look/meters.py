"""Meters: how full, how full over time, and who holds how much, as styled runs."""

from __future__ import annotations

from collections.abc import Sequence

from placetui.grid.look.glyphs import Glyphs
from placetui.grid.look.style import LEVELS, Ground, Line, Run, Style, level_of

_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Dots of a braille cell from the bottom, for its left and its right half."""


def _cell(left: int, right: int) -> str:
    bits = sum(_DOTS[0][:left]) + sum(_DOTS[1][:right])
    return chr(0x2800 + bits) if bits else " "


_CELLS = tuple(tuple(_cell(left, right) for right in range(5)) for left in range(5))
"""Braille cells by the heights of their halves."""


def gradient(
    glyphs: Glyphs, width: int, percent: float, ground: Ground | None = None, unknown: float = 0.0
) -> list[Run]:
    """Each column in the heat of its own place, the last one in eighths; unknown processes are hatched."""
    eighths = round(min(100.0, max(0.0, percent)) / 100 * width * 8)
    if percent > 0:
        eighths = max(1, eighths)
    full, part = divmod(eighths, 8)
    hatched = min(full, max(1, round(unknown / 100 * width))) if unknown > 0 else 0
    runs = [
        Run(glyphs.eighths[-1], Style("heat", level=_place(column, width), ground="track"))
        for column in range(full - hatched)
    ]
    if hatched:
        runs.append(Run(glyphs.hatch * hatched, Style("warning", ground=ground)))
    if part and not hatched:
        runs.append(Run(glyphs.eighths[part], Style("heat", level=_place(full, width), ground="track")))
        full += 1
    if full < width:
        runs.append(Run(glyphs.eighths[0] * (width - full), Style("track", ground="track")))
    return runs


def _place(column: int, width: int) -> int:
    return round((column + 0.5) / width * (LEVELS - 1))


def graded(glyphs: Glyphs, width: int, percent: float) -> list[Run]:
    """`━━━╸───`: as `thin`, each column in the heat of its own place."""
    full, half = divmod(round(min(100.0, max(0.0, percent)) / 50 * width), 2)
    signs = glyphs.bar * full + glyphs.half * half
    runs = [Run(sign, Style("heat", level=_place(column, width))) for column, sign in enumerate(signs)]
    return [*runs, Run(glyphs.rest * (width - len(signs)), Style("track"))]


def thin(glyphs: Glyphs, width: int, part: float, style: Style, rest: Style) -> list[Run]:
    """`━━━╸───`: a part of the whole, 0 to 1, in halves of a column."""
    halves = round(min(1.0, max(0.0, part)) * width * 2)
    if part > 0:
        halves = max(1, halves)
    full, half = divmod(halves, 2)
    runs = [Run(glyphs.bar * full + glyphs.half * half, style)] if halves else []
    if full + half < width:
        runs.append(Run(glyphs.rest * (width - full - half), rest))
    return runs


def history(
    glyphs: Glyphs, values: Sequence[int | None], width: int, lines: int, ground: Ground | None = None
) -> list[Line]:
    """The last percentages, the newest at the right: two in a column, coloured by height.

    What is not known is blank, so that it differs from zero. In ASCII one value in a column and one line of signs.
    """
    if glyphs.eighths.isascii():
        blank = (Run(" " * width, Style(ground=ground)),)
        return [*[blank] * (lines - 1), (_ramp(glyphs, values, width, ground),)]
    wanted = width * 2
    shown = [*(None,) * (wanted - len(values)), *values[-wanted:]] if wanted else []
    most = 4 * lines
    dots = [0 if value is None else max(1, -(-min(100, max(0, value)) * most // 100)) for value in shown]
    if lines == 1:
        return [_one_line(dots, width, ground)]
    found: list[Line] = []
    for line in reversed(range(lines)):
        here = [max(0, min(4, height - 4 * line)) for height in dots]
        cells = [_CELLS[left][right] for left, right in zip(here[::2], here[1::2], strict=True)]
        level = round((line + 0.5) / lines * (LEVELS - 1))
        found.append((Run("".join(cells), Style("heat", level=level, ground=ground)),))
    return found


def _one_line(dots: Sequence[int], width: int, ground: Ground | None) -> Line:
    """Coloured by the higher of two values."""
    styles = [Style("heat", level=level_of(height * 25), ground=ground) for height in range(5)]
    runs: list[Run] = []
    last = -1
    for column in range(width):
        left, right = dots[2 * column], dots[2 * column + 1]
        cell, height = _CELLS[left][right], max(left, right)
        if height == last:
            runs[-1] = Run(runs[-1].text + cell, styles[height])
        else:
            runs.append(Run(cell, styles[height]))
            last = height
    return tuple(runs)


def _ramp(glyphs: Glyphs, values: Sequence[int | None], width: int, ground: Ground | None) -> Run:
    ramp = glyphs.ramp[1:]
    shown = values[-width:] if width else ()
    signs = [" " if value is None else ramp[round(min(100, max(0, value)) / 100 * (len(ramp) - 1))] for value in shown]
    return Run("".join(signs).rjust(width), Style("text", ground=ground))
