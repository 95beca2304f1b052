"""The grid: one widget on the Line API, flat in cost however many nodes there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Offset, Region, Size, Spacing
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from placetui.grid import DENSITIES, Density, Drawing, Line, Place, plain
from placetui.placement.plan import GPU, NODE, Plan
from placetui.tui.actions import bindings
from placetui.tui.themes import GridPalette

EMPHASES = ("hit", "highlight", "mate", "hover", "cursor")
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


class GridView(ScrollView, can_focus=True):
    """Nodes × devices, with a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"grid-view--{name}" for name in EMPHASES}
    """
    | Class | Description |
    | :- | :- |
    | `grid-view--hit` | A device that was found. |
    | `grid-view--highlight` | A device of the chosen component. |
    | `grid-view--mate` | Another device of a process under the cursor. |
    | `grid-view--hover` | The device under the mouse. |
    | `grid-view--cursor` | The device under the cursor. |
    """

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
        self.palette: GridPalette | None = None
        self.emphasis = Emphasis(Place(0, GPU, 0))
        self._column = 0
        """The device column that the cursor keeps while it passes shorter rows."""
        self._strips: LRUCache[object, Strip] = LRUCache(4096)

    # What is shown

    def show(self, drawing: Drawing, *, keep_place: bool = True) -> None:
        """Show another drawing; the device under the cursor stays where it is on the screen."""
        before = self._on_screen()
        self.drawing = drawing
        self._strips.clear()
        self.virtual_size = Size(drawing.width, drawing.height + self.header_height)
        self._move_into(drawing.plan)
        if before is not None and keep_place:
            region = self._region(self.emphasis.cursor)
            if region is not None:
                self.scroll_to(
                    x=max(0, region.x - before.x),
                    y=max(0, region.y - before.y),
                    animate=False,
                    force=True,
                    immediate=True,
                )
        self.refresh()
        self.call_after_refresh(self.show_cursor)

    def show_live(self, drawing: Drawing, changed: Collection[int]) -> None:
        """Show the same layout with new live data; only cells that changed are painted again."""
        old = self.drawing
        if old is None or (old.height, old.width) != (drawing.height, drawing.width):
            self.show(drawing)
            return
        self.drawing = drawing
        first, last = self._visible_lines()
        for y in range(first, last):
            if not any(node in changed for node in drawing.nodes_at(y)):
                continue
            span = _difference(old.line(y), drawing.line(y))
            if span is not None:
                self._refresh_span(y, *span)

    def use_palette(self, palette: GridPalette) -> None:
        """Colours of the theme; everything is painted anew."""
        self.palette = palette
        self._strips.clear()
        self.refresh()

    @property
    def header_height(self) -> int:
        return len(self.drawing.header()) if self.drawing else 0

    @property
    def plan(self) -> Plan | None:
        return self.drawing.plan if self.drawing else None

    # Painting

    def render_line(self, y: int) -> Strip:
        """One line of the screen: node names stay on the left, device numbers at the top."""
        width = self.size.width
        base = self.visual_style.rich_style
        drawing = self.drawing
        if drawing is None or self.palette is None:
            return Strip.blank(width, base)
        header = drawing.header()
        scroll_x, scroll_y = self.scroll_offset
        if y < len(header):
            strip = self._strip(header[y], ("header", y), ())
        else:
            line = y - len(header) + scroll_y
            if line >= drawing.height:
                return Strip.blank(width, base)
            strip = self._strip(drawing.line(line), None, self._emphases(line))
        gutter = min(drawing.gutter, width)
        if scroll_x:
            left = strip.crop(0, gutter)
            body = strip.crop(gutter + scroll_x, max(gutter + scroll_x, width + scroll_x))
            strip = Strip.join([left, body])
        return strip.crop_extend(0, width, base).apply_style(base) if scroll_x else strip.crop_extend(0, width, base)

    def _strip(self, line: Line, key: object, emphases: tuple[tuple[int, int, str], ...]) -> Strip:
        assert self.palette is not None
        # While a component is chosen, all that is not its own steps back.
        dimmed = self.emphasis.component is not None and key is None
        cache_key = (key, line, emphases, dimmed)
        strip = self._strips.get(cache_key)
        if strip is None:
            base = self.visual_style.rich_style
            segments = [Segment(run.text, base + self.palette.rich_style(run.style)) for run in line]
            strip = Strip(segments)
            if dimmed:
                strip = _painted(strip, RichStyle(dim=True))
            for start, end, name in emphases:
                style = self._ground(name)
                strip = Strip.join(
                    [strip.crop(0, start), _painted(strip.crop(start, end), style), strip.crop(end, strip.cell_length)]
                )
            self._strips[cache_key] = strip
        return strip

    def _ground(self, name: str) -> RichStyle:
        """What an emphasis adds: a ground and weight, never another colour for the text."""
        style = self.get_component_rich_style(f"grid-view--{name}")
        if name == "cursor" and self.drawing is not None and self.drawing.density == "heat":
            return RichStyle(reverse=True, bold=True)  # the tiles have grounds of their own
        return RichStyle(
            bgcolor=style.bgcolor,
            dim=False,
            bold=style.bold or None,
            underline=style.underline or None,
            reverse=style.reverse or None,
        )

    def _emphases(self, y: int) -> tuple[tuple[int, int, str], ...]:
        """Column ranges of a line that stand out, weakest first."""
        assert self.drawing is not None
        found: list[tuple[int, int, str]] = []
        wanted = self.drawing.nodes_at(y)
        for place, name in self._standing_out(wanted):
            region = self.drawing.locate(place.node, place.index, place.kind)
            if region is None or not region.y <= y < region.y + region.height:
                continue
            if name != "highlight" or any(region.x <= x < region.x + region.width for x in self._chosen_columns(y)):
                found.append((region.x, region.x + region.width, name))
        found.sort(key=lambda entry: EMPHASES.index(entry[2]))
        return tuple(found)

    def _chosen_columns(self, y: int) -> list[int]:
        """Where the chosen component stands on a line: other processes share its devices."""
        assert self.drawing is not None
        mark = self.drawing.marks.get(self.emphasis.component or "")
        columns: list[int] = []
        x = 0
        for run in self.drawing.line(y):
            if mark is not None and run.style.component == mark.index:
                columns.append(x)
            x += self.drawing.cell_width(run.text)
        return columns

    def _standing_out(self, nodes: Collection[int]) -> Iterator[tuple[Place, str]]:
        emphasis, plan = self.emphasis, self.plan
        assert plan is not None
        for node in nodes:
            if emphasis.hits or emphasis.component is not None:
                for device in plan.devices_of(node):
                    place = Place(node, device.kind, device.index)
                    if place in emphasis.hits:
                        yield place, "hit"
                    if any(one.component == emphasis.component for one in device.occupants):
                        yield place, "highlight"
        if emphasis.cursor.node in nodes:
            for place in self._mates():
                yield place, "mate"
            yield emphasis.cursor, "cursor"
        if emphasis.hover is not None and emphasis.hover.node in nodes:
            yield emphasis.hover, "hover"

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
        if place != before:
            touched = {before, place, *self._mates()}
            self.emphasis = Emphasis(place, self.emphasis.hover, self.emphasis.component, self.emphasis.hits)
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
        self.emphasis = Emphasis(self.emphasis.cursor, self.emphasis.hover, component, hits)
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
            self.emphasis = Emphasis(place, None, self.emphasis.component, self.emphasis.hits)
        self.post_message(self.Moved(place))

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

    # The mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        place = self._at(event.get_content_offset(self) or Offset(-1, -1))
        before = self.emphasis.hover
        if place != before:
            self.emphasis = Emphasis(self.emphasis.cursor, place, self.emphasis.component, self.emphasis.hits)
            self._refresh_places([one for one in (before, place) if one is not None])

    def on_leave(self) -> None:
        before = self.emphasis.hover
        if before is not None:
            self.emphasis = Emphasis(self.emphasis.cursor, None, self.emphasis.component, self.emphasis.hits)
            self._refresh_places([before])

    def on_click(self, event: events.Click) -> None:
        place = self._at(event.get_content_offset(self) or Offset(-1, -1))
        if place is not None:
            self._column = place.index
            self.set_cursor(place)
            if event.chain == 2:
                self.action_jump()


def _painted(strip: Strip, style: RichStyle) -> Strip:
    """The strip with `style` laid over it."""
    return Strip([Segment(segment.text, (segment.style or RichStyle()) + style) for segment in strip])


def _difference(old: Line, new: Line) -> tuple[int, int] | None:
    """First and last column where two lines differ; None when they do not."""
    if old == new:
        return None
    before, after = _cells(old), _cells(new)
    if len(before) != len(after):
        return 0, max(len(before), len(after))
    first = next(column for column, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)
    last = next(c for c in range(len(after) - 1, -1, -1) if before[c] != after[c])
    # Names with wide characters have fewer characters than columns: then the whole line is painted.
    wide = any(ord(character) > 0x2E80 for character in plain(new))
    return (0, len(after) * 2) if wide else (first, last + 1)


def _cells(line: Line) -> list[tuple[str, object]]:
    return [(character, run.style) for run in line for character in run.text]


def next_density(density: Density, steps: int) -> Density:
    """One step towards full (down) or heat (up)."""
    return DENSITIES[max(0, min(len(DENSITIES) - 1, DENSITIES.index(density) + steps))]
