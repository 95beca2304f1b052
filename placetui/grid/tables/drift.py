"""Differences between plan and reality, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.text import cut
from placetui.observe.drift import Drift
from placetui.placement.wording import clean, ranges

MOST = 3
"""Of one kind and component: nobody reads a thousand lines that say the same."""


def drift_lines(drifts: Sequence[Drift], width: int | None = None, *, ascii: bool = False) -> Iterator[str]:
    """One line for each difference; of many of one kind the first, and which others there are."""
    alike: dict[tuple[str, str | None], list[Drift]] = {}
    for one in drifts:
        alike.setdefault((one.kind, one.component), []).append(one)
    for (kind, component), found in alike.items():
        # "1 more" takes as much room as the one.
        shown = found if len(found) <= MOST + 1 else found[:MOST]
        texts = [f"{kind}: {one.message}" for one in shown]
        rest = found[len(shown) :]
        if rest:
            ranks = sorted({one.rank for one in rest if one.rank is not None})
            which = f": {component} {ranges(ranks)}" if component is not None and ranks else ""
            texts.append(f"{kind}: {len(rest)} more{which}")
        for text in texts:
            safe = clean(text, ascii)
            yield safe if width is None else cut(safe, width, ellipsis=glyphs(ascii).ellipsis)
