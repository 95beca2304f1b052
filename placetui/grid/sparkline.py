"""Percentages over time in a few characters."""

from __future__ import annotations

from collections.abc import Sequence

from placetui.grid.glyphs import glyphs


def sparkline(values: Sequence[int | None], width: int, *, ascii: bool = False) -> str:
    """A character for each value, the oldest first; with more values than columns the highest of each few.

    What is not known is blank, so that it differs from zero.

    Args:
        values: Percentages, 0–100.
        width: Most columns to take.
        ascii: Print nothing but ASCII.
    """
    ramp = glyphs(ascii).ramp
    number = min(len(values), max(0, width))
    steps = len(ramp) - 2
    shown = []
    for column in range(number):
        few = values[column * len(values) // number : (column + 1) * len(values) // number]
        known = [value for value in few if value is not None]
        shown.append(ramp[1 + round(min(100, max(0, max(known))) * steps / 100)] if known else " ")
    return "".join(shown)
