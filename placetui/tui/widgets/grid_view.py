"""The grid: one widget on the Line API, flat in cost however many nodes there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.cache import LRUCache
from textual.geometry import Size
from textual.strip import Strip

from placetui.grid import Drawing, Line, Place, Run
from placetui.tui.content import changed_columns
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.grid_cursor import EMPHASES, GridCursor


class GridView(GridCursor):
    """Nodes × devices, with a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"grid-view--{name}" for name in EMPHASES}
    """
    | Class | Description |
    | :- | :- |
    | `grid-view--hit` | A device that was found. |
    | `grid-view--highlight` | A device of the chosen component. |
    | `grid-view--selected` | A device that the next edit is about. |
    | `grid-view--mate` | Another device of a process under the cursor. |
    | `grid-view--hover` | The device under the mouse. |
    | `grid-view--cursor` | The device under the cursor. |
    """

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.palette: GridPalette | None = None
        self._strips: LRUCache[object, Strip] = LRUCache(4096)

    # What is shown

    @property
    def room(self) -> int:
        """Columns for a drawing beside the scroll bar; 0 while it is hidden."""
        return self.scrollable_content_region.width

    def show(self, drawing: Drawing, *, keep_place: bool = True) -> None:
        """Show another drawing; the device under the cursor stays where it is on the screen."""
        before, scrolled, old = self._on_screen(), self.scroll_offset, self.drawing
        self.drawing = drawing
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
        if old is not None and self.scroll_offset == scrolled and self._alike(old, drawing):
            self._refresh_changes(old, drawing)
        else:
            self.refresh()
        self.call_after_refresh(self.show_cursor)

    def _alike(self, old: Drawing, new: Drawing) -> bool:
        """Whether two drawings differ in what stands on their lines, and in nothing else that is painted."""
        emphasis = self.emphasis
        plain = emphasis.component is None and not emphasis.hits and not emphasis.selected
        return plain and (old.height, old.width, old.density, old.header()) == (
            new.height,
            new.width,
            new.density,
            new.header(),
        )

    def _refresh_changes(self, old: Drawing, new: Drawing) -> None:
        """Paint the lines on screen that read otherwise, and those around the cursor."""
        around = self.emphasis.cursor.node
        for y in range(*self._visible_lines()):
            span = (0, new.width) if around in new.nodes_at(y) else changed_columns(old.line(y), new.line(y))
            if span is not None:
                self._refresh_span(y, *span)

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
            span = changed_columns(old.line(y), drawing.line(y))
            if span is not None:
                self._refresh_span(y, *span)

    def use_palette(self, palette: GridPalette) -> None:
        """Colours of the theme; everything is painted anew."""
        self.palette = palette
        self._strips.clear()
        self.refresh()

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
        chosen = self.emphasis.component if key is None else None
        mark = self.drawing.marks.get(chosen) if self.drawing and chosen is not None else None
        cache_key = (key, line, emphases, chosen, mark)
        strip = self._strips.get(cache_key)
        if strip is None:
            base = self.visual_style.rich_style
            styles = [base + self.palette.rich_style(run.style) for run in line]
            if chosen is not None:  # but what needs attention
                # Tiles lose their ground, or those that step back would be the brighter ones.
                quiet = RichStyle(dim=True, bgcolor=base.bgcolor if self._heat else None)
                styles = [
                    style if run.style.role in ("error", "warning") or self._is_tile_of(chosen, run) else style + quiet
                    for run, style in zip(line, styles, strict=True)
                ]
            strip = Strip([Segment(run.text, style) for run, style in zip(line, styles, strict=True)])
            for start, end, name in emphases:
                style = self._ground(name)
                strip = Strip.join(
                    [strip.crop(0, start), _painted(strip.crop(start, end), style), strip.crop(end, strip.cell_length)]
                )
            self._strips[cache_key] = strip
        return strip

    @property
    def _heat(self) -> bool:
        return self.drawing is not None and self.drawing.density == "heat"

    def _is_tile_of(self, component: str, run: Run) -> bool:
        mark = self.drawing.marks.get(component) if self.drawing else None
        return run.style.role == "tile" and mark is not None and run.style.component == mark.index

    def _ground(self, name: str) -> RichStyle:
        """What an emphasis adds: a ground and weight, never another colour for the text."""
        style = self.get_component_rich_style(f"grid-view--{name}")
        if name == "cursor" and self._heat:
            return RichStyle(reverse=True, bold=True)  # the tiles have grounds of their own
        if name == "highlight" and self._heat:
            return RichStyle(bold=True)
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
        columns = self._chosen_columns(y) if self.emphasis.component is not None else []
        for place, name in self._standing_out(wanted):
            region = self.drawing.locate(place.node, place.index, place.kind)
            if region is None or not region.y <= y < region.y + region.height:
                continue
            if name != "highlight" or any(region.x <= x < region.x + region.width for x in columns):
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
        yield from ((place, "selected") for place in emphasis.selected if place.node in nodes)
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


def _painted(strip: Strip, style: RichStyle) -> Strip:
    """The strip with `style` laid over it."""
    return Strip([Segment(segment.text, (segment.style or RichStyle()) + style) for segment in strip])
