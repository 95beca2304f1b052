"""The densities: how much room a node takes, and what is shown in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from placetui.grid.densities.bank import CARD, SMALL, TILE
from placetui.grid.densities.base import CursorMark, DensityLayout, Place, Region
from placetui.grid.densities.heat import METRICS, Heat, HeatMetric
from placetui.grid.densities.letters import Letters
from placetui.grid.densities.rows import Census
from placetui.grid.densities.tiles import Tiles
from placetui.grid.pen import Pen

Density: TypeAlias = Literal["card", "tile", "small", "letters", "heat"]
DENSITIES: tuple[Density, ...] = get_args(Density)
"""From the most detailed on."""

OTHER_NAMES: dict[str, Density] = {"full": "tile", "compact": "letters"}

_TILES = {"card": CARD, "tile": TILE, "small": SMALL}


def density_named(name: object) -> Density | None:
    """The density of a name; None if there is none."""
    return next((one for one in DENSITIES if one == name), OTHER_NAMES.get(str(name)))


def lay_out(
    density: Density,
    pen: Pen,
    nodes: Sequence[int],
    width: int | None,
    live: bool,
    census: Census,
    metric: HeatMetric = "memory",
    spare: int = 0,
) -> DensityLayout:
    """Lay out the nodes of these ranks, in this order; with `spare` lines for each beyond what it needs."""
    if size := _TILES.get(density):
        return Tiles(size, pen, nodes, width, live, census, spare)
    if density == "letters":
        return Letters(pen, nodes, width, live, census)
    return Heat(pen, nodes, width, live, census, metric)


__all__ = [
    "DENSITIES",
    "METRICS",
    "OTHER_NAMES",
    "Census",
    "CursorMark",
    "Density",
    "DensityLayout",
    "HeatMetric",
    "Place",
    "Region",
    "density_named",
    "lay_out",
]
