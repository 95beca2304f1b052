"""Where a cursor can go in a drawing of the grid. No Textual here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from placetui.grid import Drawing, Place
from placetui.placement.plan import NODE


class Navigator:
    """Steps from device to device of one drawing."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._plan = drawing.plan

    def rows(self, node: int) -> dict[str, int]:
        """The rows of a node that the cursor can stand on: kind and number of devices."""
        rows: dict[str, int] = {}
        for device in self._plan.devices_of(node):
            rows[device.kind] = rows.get(device.kind, 0) + 1
        return rows or {NODE: 1}

    def nearest(self, place: Place) -> Place | None:
        """The same place if it is drawn, else one near it; None if nothing is drawn."""
        nodes = self._drawing.nodes
        if not self._plan.nodes or not len(nodes):
            return None
        node = place.node if self._drawing.top_of(place.node) is not None else nodes[0]
        rows = self.rows(node)
        kind = place.kind if place.kind in rows else next(iter(rows))
        return Place(node, kind, min(place.index, rows[kind] - 1))

    def existing(self, places: Iterable[Place]) -> Iterator[Place]:
        """Those that the plan has."""
        sizes: dict[int, dict[str, int]] = {}
        for place in places:
            if 0 <= place.node < len(self._plan.nodes):
                if place.node not in sizes:
                    sizes[place.node] = self.rows(place.node)
                if place.index < sizes[place.node].get(place.kind, 0):
                    yield place

    def by_rows(self, place: Place, steps: int, column: int) -> Place | None:
        """So many rows on: those of the node first, then those of its neighbours above or below."""
        nodes = self._drawing.nodes
        if not len(nodes):
            return None
        position = self._drawing.position_of(place.node) or 0
        if self._drawing.across > 1:
            return self._by_nodes(position + steps * self._drawing.across, column)
        rows = self.rows(nodes[position])
        row = (list(rows).index(place.kind) if place.kind in rows else 0) + steps
        while row < 0 and position > 0:
            position -= 1
            rows = self.rows(nodes[position])
            row += len(rows)
        while row >= len(rows) and position < len(nodes) - 1:
            row -= len(rows)
            position += 1
            rows = self.rows(nodes[position])
        kind, size = list(rows.items())[max(0, min(row, len(rows) - 1))]
        return Place(nodes[position], kind, min(column, size - 1))

    def _by_nodes(self, position: int, column: int) -> Place | None:
        """Where several nodes stand in a line."""
        return self.at(position, column) if 0 <= position < len(self._drawing.nodes) else None

    def by_devices(self, place: Place, steps: int) -> Place | None:
        """So many devices on; where several nodes stand in a line, also to the next one."""
        if not len(self._drawing.nodes):
            return None
        size, index = self.rows(place.node).get(place.kind, 1), place.index + steps
        if self._drawing.across > 1 and abs(steps) == 1 and not 0 <= index < size:
            position = self._drawing.position_of(place.node) or 0
            return self._by_nodes(position + steps, 1 << 20 if steps < 0 else 0) or place
        return Place(place.node, place.kind, max(0, min(index, size - 1)))

    def at(self, position: int, column: int) -> Place | None:
        """A column of the node at a position of the drawing."""
        if not len(self._drawing.nodes):
            return None
        node = self._drawing.nodes[position]
        kind, size = next(iter(self.rows(node).items()))
        return Place(node, kind, max(0, min(column, size - 1)))

    def rectangle(self, one: Place, other: Place) -> Iterator[Place] | None:
        """All devices between two; None if they cannot span any."""
        first, last = self._drawing.position_of(one.node), self._drawing.position_of(other.node)
        if first is None or last is None or one.kind != other.kind:
            return None
        nodes = self._drawing.nodes[min(first, last) : max(first, last) + 1]
        columns = range(min(one.index, other.index), max(one.index, other.index) + 1)
        return self.existing(Place(node, one.kind, index) for node in nodes for index in columns)

    def mates(self, place: Place) -> list[Place]:
        """The other devices of the processes on a device."""
        if place.kind == NODE or place.node >= len(self._plan.nodes):
            return []
        found: dict[Place, None] = {}
        for device in self._plan.devices_of(place.node):
            if Place(device.node, device.kind, device.index) == place:
                for occupant in device.occupants:
                    placement = self._plan.components[occupant.component].placements[occupant.rank]
                    for index in placement.devices:
                        found[Place(place.node, place.kind, index)] = None
        found.pop(place, None)
        return list(found)

    def mates_apart(self, place: Place) -> list[Place]:
        """Those of them that the drawing does not show as one piece with it."""
        found = self.mates(place)
        if self._drawing.density not in ("card", "tile", "small"):
            return found
        together = {place.index, *(one.index for one in found)}
        between = {one: range(*sorted((one.index, place.index))) for one in found}
        return [one for one in found if not together.issuperset(between[one])]
