"""The densities: how much room a node takes, and what is shown in it."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from placetui.grid.densities.bank import CARD, SMALL, TILE
from placetui.grid.densities.base import METRICS, CursorMark, DensityLayout, HeatMetric, LayoutRequest, Place, Region
from placetui.grid.densities.heat import Heat
from placetui.grid.densities.letters import Letters
from placetui.grid.densities.rows import Census
from placetui.grid.densities.tiles import Tiles

Density: TypeAlias = Literal["card", "tile", "small", "letters", "heat"]
DENSITIES: tuple[Density, ...] = get_args(Density)
"""From the most detailed on."""

OTHER_NAMES: dict[str, Density] = {"full": "tile", "compact": "letters"}

_TILES = {"card": CARD, "tile": TILE, "small": SMALL}


def density_named(name: object) -> Density | None:
    """The density of a name; None if there is none."""
    return next((one for one in DENSITIES if one == name), OTHER_NAMES.get(str(name)))


def lay_out(density: Density, request: LayoutRequest) -> DensityLayout:
    """Lay out the nodes of a drawing in a density."""
    if size := _TILES.get(density):
        return Tiles(size, request)
    return Letters(request) if density == "letters" else Heat(request)


__all__ = [
    "DENSITIES",
    "METRICS",
    "OTHER_NAMES",
    "Census",
    "CursorMark",
    "Density",
    "DensityLayout",
    "HeatMetric",
    "LayoutRequest",
    "Place",
    "Region",
    "density_named",
    "lay_out",
]
