"""Where the cursor is in the grid, what is selected, and how keys and mouse move it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Offset, Region, Spacing
from textual.message import Message
from textual.scroll_view import ScrollView

from placetui.grid import Drawing, Place
from placetui.placement.plan import GPU, NODE, Plan
from placetui.tui.actions import bindings

EMPHASES = ("hit", "highlight", "selected", "mate", "hover", "cursor")
"""What can stand out, weakest first; later ones are laid over earlier ones."""


@dataclass(frozen=True, slots=True)
class Emphasis:
    """What stands out in the grid, and why."""

    cursor: Place
    hover: Place | None = None
    component: str | None = None
    """The component that the user chose."""

    hits: Collection[Place] = ()
    """What was found; a set, since it can be large."""

    selected: frozenset[Place] = frozenset()
    """What an edit is about; empty: the device under the cursor."""


class GridCursor(ScrollView, can_focus=True):
    """The grid without its looks."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("grid")

    @dataclass
    class Moved(Message):
        """The cursor is on another device."""

        place: Place

    @dataclass
    class Jump(Message):
        """The user asks for the rule behind a device."""

        place: Place

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.drawing: Drawing | None = None
        self.emphasis = Emphasis(Place(0, GPU, 0))
        self._column = 0
        """The device column that the cursor keeps while it passes shorter rows."""
        self._anchor: Place | None = None
        """Where a selection with shift or by dragging began."""

        self._pressed: Place | None = None
        """Where the mouse button went down."""

        self._dragged = False

    @property
    def header_height(self) -> int:
        return len(self.drawing.header()) if self.drawing else 0

    @property
    def plan(self) -> Plan | None:
        return self.drawing.plan if self.drawing else None

    def _mates(self) -> list[Place]:
        """The other devices of the processes under the cursor."""
        plan, cursor = self.plan, self.emphasis.cursor
        if plan is None or cursor.kind == NODE:
            return []
        device = next(
            (one for one in plan.devices_of(cursor.node) if Place(one.node, one.kind, one.index) == cursor), None
        )
        found: dict[Place, None] = {}
        for occupant in device.occupants if device else ():
            placement = plan.components[occupant.component].placements[occupant.rank]
            for index in placement.local_hardware_ranks:
                found[Place(cursor.node, cursor.kind, index)] = None
        found.pop(cursor, None)
        return list(found)

    # Where things are on the screen

    def _region(self, place: Place) -> Region | None:
        """Where a device is in the virtual grid, its header included."""
        if self.drawing is None:
            return None
        region = self.drawing.locate(place.node, place.index, place.kind)
        if region is None:
            top = self.drawing.top_of(place.node)
            return None if top is None else Region(0, top + self.header_height, self.drawing.gutter, 1)
        return Region(region.x, region.y + self.header_height, region.width, region.height)

    def _on_screen(self) -> Offset | None:
        region = self._region(self.emphasis.cursor)
        return None if region is None else Offset(region.x - self.scroll_offset.x, region.y - self.scroll_offset.y)

    def _visible_lines(self) -> tuple[int, int]:
        assert self.drawing is not None
        first = self.scroll_offset.y
        return first, min(self.drawing.height, first + max(0, self.size.height - self.header_height))

    def _refresh_span(self, y: int, start: int, end: int) -> None:
        """Paint some columns of a line again."""
        assert self.drawing is not None
        gutter = self.drawing.gutter
        if end > gutter:
            x = max(gutter, start - self.scroll_offset.x) if start >= gutter else start
            self.refresh(Region(x, y - self.scroll_offset.y + self.header_height, end - self.scroll_offset.x - x, 1))
        else:
            self.refresh(Region(start, y - self.scroll_offset.y + self.header_height, end - start, 1))

    def _refresh_places(self, places: Collection[Place]) -> None:
        for place in places:
            region = self._region(place)
            if region is not None:
                self.refresh(region.translate(-self.scroll_offset))

    def _at(self, offset: Offset) -> Place | None:
        """The device under a point of the widget."""
        if self.drawing is None or offset.y < self.header_height:
            return None
        x = offset.x if offset.x < self.drawing.gutter else offset.x + self.scroll_offset.x
        return self.drawing.at(x, offset.y - self.header_height + self.scroll_offset.y)

    # The cursor

    def set_cursor(self, place: Place) -> None:
        """Move the cursor and keep it in view."""
        before = self.emphasis.cursor
        self._anchor = None
        if place != before:
            touched = {before, place, *self._mates()}
            self.emphasis = replace(self.emphasis, cursor=place)
            touched.update(self._mates())
            self._refresh_places(touched)
            self.post_message(self.Moved(place))
        self.show_cursor()

    def show_cursor(self) -> None:
        """Scroll so that the cursor's device is in view."""
        region = self._region(self.emphasis.cursor)
        if region is not None and self.drawing is not None and self.size:
            gutter, top = min(self.drawing.gutter, self.size.width // 2), self.header_height
            self.scroll_to_region(
                region, spacing=Spacing(top=top, left=gutter), animate=False, force=True, immediate=True
            )

    def emphasise(self, *, component: str | None = None, hits: Collection[Place] = ()) -> None:
        """Highlight a component and what was found."""
        if component == self.emphasis.component and (hits is self.emphasis.hits or not (hits or self.emphasis.hits)):
            return
        self.emphasis = replace(self.emphasis, component=component, hits=hits)
        self.refresh()

    def _rows(self, node: int) -> list[tuple[str, int]]:
        """The rows of a node that the cursor can stand on: kind and number of devices."""
        assert self.plan is not None
        rows: dict[str, int] = {}
        for device in self.plan.devices_of(node):
            rows[device.kind] = rows.get(device.kind, 0) + 1
        return list(rows.items()) or [(NODE, 1)]

    def _move_into(self, plan: Plan) -> None:
        """After a change of plan, put the cursor on a device that exists."""
        assert self.drawing is not None
        cursor = self.emphasis.cursor
        nodes = self.drawing.nodes
        if not plan.nodes or not len(nodes):
            return
        node = cursor.node if self.drawing.top_of(cursor.node) is not None else nodes[0]
        rows = dict(self._rows(node))
        kind = cursor.kind if cursor.kind in rows else next(iter(rows))
        place = Place(node, kind, min(cursor.index, rows[kind] - 1))
        if place != cursor:
            self.emphasis = replace(self.emphasis, cursor=place, hover=None)
        if self.emphasis.selected:
            self._anchor = None
            self.select(self._existing(self.emphasis.selected))
        self.post_message(self.Moved(place))

    def _existing(self, places: Iterable[Place]) -> Iterator[Place]:
        """Those that the plan has."""
        assert self.plan is not None
        sizes: dict[int, dict[str, int]] = {}
        for place in places:
            if 0 <= place.node < len(self.plan.nodes):
                if place.node not in sizes:
                    sizes[place.node] = dict(self._rows(place.node))
                if place.index < sizes[place.node].get(place.kind, 0):
                    yield place

    def _step_rows(self, steps: int) -> None:
        """Move by rows: those of the node first, then to its neighbours above or below."""
        if self.drawing is None or not len(self.drawing.nodes):
            return
        nodes, cursor = self.drawing.nodes, self.emphasis.cursor
        position = self.drawing.position_of(cursor.node) or 0
        if self.drawing.across > 1:
            self._step_nodes(position, steps * self.drawing.across)
            return
        rows = self._rows(nodes[position])
        row = next((number for number, (kind, _) in enumerate(rows) if kind == cursor.kind), 0) + steps
        while row < 0 and position > 0:
            position -= 1
            rows = self._rows(nodes[position])
            row += len(rows)
        while row >= len(rows) and position < len(nodes) - 1:
            row -= len(rows)
            position += 1
            rows = self._rows(nodes[position])
        kind, size = rows[max(0, min(row, len(rows) - 1))]
        self.set_cursor(Place(nodes[position], kind, min(self._column, size - 1)))

    def _step_nodes(self, position: int, steps: int) -> None:
        """Move by nodes where several stand in a line."""
        assert self.drawing is not None
        target = position + steps
        if 0 <= target < len(self.drawing.nodes):
            kind, size = self._rows(self.drawing.nodes[target])[0]
            self.set_cursor(Place(self.drawing.nodes[target], kind, max(0, min(self._column, size - 1))))

    def _step_devices(self, steps: int) -> None:
        cursor = self.emphasis.cursor
        if self.drawing is None or not len(self.drawing.nodes):
            return
        size = dict(self._rows(cursor.node)).get(cursor.kind, 1)
        beyond = cursor.index + steps < 0 or cursor.index + steps >= size
        if self.drawing.across > 1 and beyond and abs(steps) == 1:
            self._column = 1 << 20 if steps < 0 else 0
            self._step_nodes(self.drawing.position_of(cursor.node) or 0, steps)
            self._column = self.emphasis.cursor.index
            return
        index = max(0, min(cursor.index + steps, size - 1))
        self._column = index
        self.set_cursor(Place(cursor.node, cursor.kind, index))

    def _rows_on_screen(self) -> int:
        """Nodes that one screen shows, at least one."""
        if self.drawing is None or not self.drawing.height:
            return 1
        lines = self.drawing.height * self.drawing.across / max(1, len(self.drawing.nodes))
        return max(1, int((self.size.height - self.header_height) / max(lines, 1)) - 1)

    def action_cursor_left(self) -> None:
        self._step_devices(-1)

    def action_cursor_right(self) -> None:
        self._step_devices(1)

    def action_cursor_up(self) -> None:
        self._step_rows(-1)

    def action_cursor_down(self) -> None:
        self._step_rows(1)

    def action_page_up(self) -> None:
        self._step_rows(-self._rows_on_screen())

    def action_page_down(self) -> None:
        self._step_rows(self._rows_on_screen())

    def action_row_start(self) -> None:
        self._step_devices(-self.emphasis.cursor.index)

    def action_row_end(self) -> None:
        self._step_devices(1 << 20)

    def action_first_node(self) -> None:
        self._go_to_position(0)

    def action_last_node(self) -> None:
        self._go_to_position(-1)

    def _go_to_position(self, position: int) -> None:
        if self.drawing is None or not len(self.drawing.nodes):
            return
        node = self.drawing.nodes[position]
        kind, size = self._rows(node)[0]
        self.set_cursor(Place(node, kind, min(self._column, size - 1)))

    def action_jump(self) -> None:
        self.post_message(self.Jump(self.emphasis.cursor))

    # Selecting what an edit is about

    @property
    def selected(self) -> tuple[Place, ...]:
        """The selected devices in the order of the plan; without any, the one under the cursor."""
        chosen = self.emphasis.selected or {self.emphasis.cursor}
        return tuple(sorted(chosen, key=lambda place: (place.node, place.kind, place.index)))

    def select(self, places: Iterable[Place]) -> None:
        """Select these devices and no others."""
        chosen = frozenset(places)
        if chosen != self.emphasis.selected:
            self.emphasis = replace(self.emphasis, selected=chosen)
            self.refresh()

    def _select_to(self, place: Place) -> None:
        """Select the rectangle from where the selection began to a device."""
        if self.drawing is None:
            return
        anchor = self._anchor or self.emphasis.cursor
        self._anchor = anchor
        first = self.drawing.position_of(anchor.node)
        last = self.drawing.position_of(place.node)
        if first is None or last is None or anchor.kind != place.kind:
            return
        nodes = self.drawing.nodes[min(first, last) : max(first, last) + 1]
        columns = range(min(anchor.index, place.index), max(anchor.index, place.index) + 1)
        self.select(self._existing(Place(node, place.kind, index) for node in nodes for index in columns))

    def _extend(self, move: Callable[[], None]) -> None:
        if self._anchor is None:
            self._anchor = self.emphasis.cursor
        anchor = self._anchor
        move()
        self._anchor = anchor
        self._select_to(self.emphasis.cursor)

    def action_extend_left(self) -> None:
        self._extend(self.action_cursor_left)

    def action_extend_right(self) -> None:
        self._extend(self.action_cursor_right)

    def action_extend_up(self) -> None:
        self._extend(self.action_cursor_up)

    def action_extend_down(self) -> None:
        self._extend(self.action_cursor_down)

    def action_toggle_select(self) -> None:
        self.select(self.emphasis.selected ^ {self.emphasis.cursor})

    def action_select_node(self) -> None:
        cursor = self.emphasis.cursor
        if self.plan is not None and cursor.node < len(self.plan.nodes):
            self.select(Place(cursor.node, cursor.kind, i) for i in range(dict(self._rows(cursor.node))[cursor.kind]))

    def action_select_column(self) -> None:
        if self.drawing is not None:
            cursor = self.emphasis.cursor
            self.select(self._existing(Place(node, cursor.kind, cursor.index) for node in self.drawing.nodes))

    # The mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        place = self._at(event.get_content_offset(self) or Offset(-1, -1))
        if event.button == 1 and self._pressed is not None and place is not None:
            self._anchor = self._pressed
            self._dragged = True
            self._select_to(place)
        before = self.emphasis.hover
        if place != before:
            self.emphasis = replace(self.emphasis, hover=place)
            self._refresh_places([one for one in (before, place) if one is not None])

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = self._at(event.get_content_offset(self) or Offset(-1, -1)) if event.button == 1 else None
        self._dragged = False

    def on_mouse_up(self) -> None:
        self._pressed = None

    def on_leave(self) -> None:
        before = self.emphasis.hover
        if before is not None:
            self.emphasis = replace(self.emphasis, hover=None)
            self._refresh_places([before])

    def on_click(self, event: events.Click) -> None:
        place = self._at(event.get_content_offset(self) or Offset(-1, -1))
        if place is not None:
            self._column = place.index
            self.set_cursor(place)
            if not self._dragged:
                self.select(())
            if event.chain == 2:
                self.action_jump()
