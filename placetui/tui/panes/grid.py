"""The grid: one widget on the Line API, flat in cost however many nodes there are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partialmethod
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Offset, Region, Size, Spacing
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from placetui.grid import DENSITIES, METRICS, CursorMark, Density, Drawing, HeatMetric, Line, Place
from placetui.grid.find import MARKED, ORDERS, Hits, Order, find, marked, matching_nodes, order_nodes
from placetui.grid.look.style import ERROR, WARNING
from placetui.grid.moves import Moves
from placetui.grid.pen import Compared
from placetui.placement.diff import Difference
from placetui.placement.plan import GPU, Plan
from placetui.placement.wording import count, plain
from placetui.tui.actions import bindings
from placetui.tui.live import LivePicture, changed_between
from placetui.tui.messages import HitShown, JumpToRule
from placetui.tui.panes.navigation import Navigator
from placetui.tui.selection import NOTHING, Selection, ranks_at
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import changed_columns

NO_HITS = Hits("")

HIGHLIGHT = 1.0
"""Seconds for which a change is highlighted."""

MOST_HIGHLIGHTED = 512
"""Devices: where more change at once, no eye could follow, and nothing is highlighted."""

MOST_COMPARED = 2048
"""Ranks of two plans up to which it is worked out whom an edit moves."""

EMPHASES = ("changed", "hit", "highlight", "selected", "mate", "hover", "cursor", "cursor-mark")
"""Highlights, weakest first; later ones cover earlier ones."""

ON_WHITE = {one.role: one._replace(ground="white") for one in (ERROR, WARNING)}
"""By role, what is wrong, under the cursor."""

Emphasis: TypeAlias = tuple[int, int, str, str]
"""First column, column after the last, the highlight there, and marks to show instead of the content."""


@dataclass(frozen=True, slots=True)
class GridLook:
    """How the grid is viewed."""

    density: Density | None = None
    """None: the most detailed one at which all nodes fit."""

    metric: HeatMetric = "memory"
    """What the heat wall is coloured by."""

    component: str | None = None
    """The component that is highlighted."""

    hits: Hits = NO_HITS
    at: int = -1
    """Which of the stops the cursor is on."""

    filtered: bool = False
    order: Order = "rank"

    @property
    def narrowed(self) -> bool:
        return self.filtered and bool(self.hits.places)

    def nodes(self, picture: LivePicture) -> Sequence[int] | None:
        """Nodes to draw, in order; None for all by rank."""
        plan = picture.plan
        if self.order == "rank":
            return matching_nodes(self.hits, plan) if self.narrowed else None
        ordered = order_nodes(plan, self.order, picture.observation)
        if not self.narrowed:
            return ordered
        wanted = set(matching_nodes(self.hits, plan))
        return [node for node in ordered if node in wanted]

    def next_order(self) -> Order:
        return ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]


MANY = 32
"""Devices that are painted one by one; of more, the whole grid is."""

TALLEST = 64
"""Lines of a node at most, with all that is beside its GPUs."""


class GridPane(ScrollView, can_focus=True):
    """Nodes × devices, with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(panes=True)
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"grid-pane--{name}" for name in EMPHASES}
    """
    | Class | Description |
    | :- | :- |
    | `grid-pane--changed` | A device on which a rank has just come up or died. |
    | `grid-pane--hit` | A device that was found. |
    | `grid-pane--highlight` | A device of the highlighted component. |
    | `grid-pane--selected` | A device that the next edit is about. |
    | `grid-pane--mate` | Another device of a process under the cursor. |
    | `grid-pane--hover` | The device under the mouse. |
    | `grid-pane--cursor` | The first line of the device under the cursor. |
    | `grid-pane--cursor-mark` | Signs at its sides, or its border. |
    """

    find_title = "Find"
    find_examples = "rollout 17, node5/gpu3, free, shared, a host name …"

    picture: reactive[LivePicture | None] = reactive(None, repaint=False, init=False)
    palette: reactive[GridPalette | None] = reactive(None, init=False)
    look: reactive[GridLook] = reactive(GridLook(), repaint=False, init=False)
    cursor: reactive[Place] = reactive(Place(0, GPU, 0), repaint=False, init=False)
    hover: reactive[Place | None] = reactive(None, repaint=False, init=False)
    selected: reactive[frozenset[Place]] = reactive(frozenset(), init=False)
    """What an edit is about; empty: the device under the cursor."""

    target: reactive[Selection] = reactive(NOTHING, repaint=False, init=False)
    drawing: reactive[Drawing | None] = reactive(None, repaint=False, init=False, always_update=True)

    def __init__(
        self,
        *,
        density: Density | None = None,
        ascii: bool,
        color: bool = True,
        motion: bool = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.set_reactive(GridPane.look, GridLook(density))
        self._ascii = ascii
        self._color = color
        self._motion = motion
        self._changed: frozenset[Place] = frozenset()
        """Devices that are highlighted for a moment, since something just happened there."""

        self._difference: Difference | None = None
        """What the drawing shows of the moves of a rule that is typed."""

        self._column = 0
        """The device column that the cursor keeps while it passes shorter rows."""

        self._anchor: Place | None = None
        """Where a selection with shift or by dragging began."""

        self._pressed: Place | None = None
        """Where the mouse button went down."""

        self._dragged = False
        self._found_before = NO_HITS, -1
        self._strips: LRUCache[object, Strip] = LRUCache(4096)

    # What is shown

    def watch_picture(self, before: LivePicture | None, after: LivePicture | None) -> None:
        """A new plan is drawn as a whole; of live data, only what changed is painted."""
        if after is None:
            return
        changed = None if before is None else changed_between(before, after)
        if changed is not None and self.drawing is not None and self.drawing.plan is after.plan:
            self._show_live(self.drawing.change(overlay=after.live), changed)
            if self._motion and before is not None and before.live is not None and after.live is not None:
                self._highlight_changes(after.live.changed_since(before.live))
        else:
            other = before is not None and before.plan is not after.plan
            if other:
                self._follow_plan(after)
            if self._other_moves(before, after):
                self.draw()
            if self._motion and other and before is not None and after.preview is None:
                self._highlight_changes(moved_between(before.plan, after.plan))
        self._select()

    def _other_moves(self, before: LivePicture | None, after: LivePicture) -> bool:
        """Whether two pictures differ in more than a heat wall shows."""
        wall = self.drawing is not None and self.drawing.density == "heat" and self.drawing.plan is after.plan
        return not wall or before is None or before.preview is None or after.preview is None

    def _highlight_changes(self, places: Collection[tuple[int, int]]) -> None:
        """Highlight devices for a moment."""
        if not 0 < len(places) <= MOST_HIGHLIGHTED:
            return
        new = frozenset(Place(node, GPU, index) for node, index in places)
        self._changed |= new
        self._refresh_places(new)

        def over() -> None:
            self._changed -= new
            self._refresh_places(new)

        self.set_timer(HIGHLIGHT, over)

    def _follow_plan(self, picture: LivePicture) -> None:
        """Look at another plan as at the one before, as far as it has the same things."""
        look = self.look
        if look.hits.query:
            look = replace(look, hits=find(picture.plan, look.hits.query, observation=picture.observation), at=-1)
        if look.component not in picture.plan.components:
            look = replace(look, component=None)
        self.look = look

    def watch_look(self, before: GridLook, after: GridLook) -> None:
        """Redraw if other nodes are shown, or in another way; else only the highlight changes."""
        shown = [
            (look.density, look.metric, look.order, look.narrowed, look.narrowed and look.hits)
            for look in (before, after)
        ]
        if shown[0] != shown[1]:
            self.draw()
        elif before.component != after.component and self.drawing is not None and self.drawing.density == "heat":
            self._show(self.drawing.change(component=after.component))
        elif (before.component, before.hits) != (after.component, after.hits):
            self.refresh()

    def watch_palette(self) -> None:
        self._strips.clear()

    @property
    def room(self) -> int:
        """Columns for a drawing beside the scroll bar; 0 while it is hidden."""
        return self.scrollable_content_region.width

    def draw(self) -> None:
        """Draw the picture for the room there is; a grid that is hidden for the one it had."""
        picture, before = self.picture, self.drawing
        width = self.room or (before.requested_width if before else 0)
        if picture is None or not width:
            return
        preview, look = picture.preview, self.look
        # What the nodes are sorted by may not be seen in a preview.
        nodes = before.nodes if preview is not None and before is not None else look.nodes(picture)
        difference = None if preview is None else preview.difference
        if before is not None and before.plan is picture.plan and difference is self._difference:
            drawing = before.change(
                density=look.density,
                width=width,
                nodes=nodes,
                overlay=picture.live,
                metric=look.metric,
                component=look.component,
                spare=0,
            )
        else:
            self._difference = difference
            drawing = Drawing(
                picture.plan,
                look.density or (before.density if before else "tile"),
                ascii=self._ascii,
                color=self._color,
                width=width,
                cell_width=cell_len,
                nodes=nodes,
                overlay=picture.live,
                metric=look.metric,
                component=look.component,
                compared=None if difference is None else Compared(Moves(difference, "both", ascii=self._ascii)),
            )
        if look.density is None and self.size.height:
            # What fits needs no scroll bar, and has its room; beside one that is yet to appear there is less of it.
            whole = drawing.change(width=self.size.width).fitted(self.size.height)
            fits = whole.height + len(whole.header()) <= self.size.height
            beside = self.size.width - self.styles.scrollbar_size_vertical
            drawing = whole if fits else drawing.change(width=beside).fitted(self.size.height)
        elif look.density is not None:
            drawing = drawing.grown(self.size.height)
        self._show(drawing)

    def on_resize(self) -> None:
        if self.drawing is None or self.room:
            self.draw()

    def on_show(self) -> None:
        self.call_after_refresh(self.show_cursor)

    def _show(self, drawing: Drawing) -> None:
        """Show another drawing; the device under the cursor stays where it is on the screen."""
        before, scrolled, old = self._on_screen(), self.scroll_offset, self.drawing
        self.drawing = drawing
        # A drawing without scroll bars also has the column that is kept free for one.
        width = min(drawing.width, self.room) if 0 < self.room < drawing.width <= self.size.width else drawing.width
        self.virtual_size = Size(width, drawing.height + self.header_height)
        navigator = Navigator(drawing)
        place = navigator.nearest(self.cursor)
        if place is not None and place != self.cursor:
            self.set_reactive(GridPane.hover, None)
            self.cursor = place
        if self.selected:
            self._anchor = None
            self.selected = frozenset(navigator.existing(self.selected))
        region = self._region(self.cursor)
        if before is not None and region is not None:
            x, y = max(0, region.x - before.x), max(0, region.y - before.y)
            self.scroll_to(x=x, y=y, animate=False, force=True, immediate=True)
        if old is not None and self.scroll_offset == scrolled and self._alike(old, drawing):
            self._refresh_changes(old, drawing)
        else:
            self.refresh()
        self._select()
        self.call_after_refresh(self.show_cursor)

    def _alike(self, old: Drawing, new: Drawing) -> bool:
        """Whether two drawings differ in what stands on their lines, and in nothing else that is painted."""
        plain = self.look.component is None and not self.look.hits.places and not self.selected
        return plain and (old.height, old.width, old.density, old.header()) == (
            new.height,
            new.width,
            new.density,
            new.header(),
        )

    def _refresh_changes(self, old: Drawing, new: Drawing) -> None:
        """Paint the lines on screen that read otherwise, and those around the cursor."""
        for y in range(*self._visible_lines()):
            around = self.cursor.node in new.nodes_at(y)
            span = (0, new.width) if around else changed_columns(old.line(y), new.line(y))
            if span is not None:
                self._refresh_span(y, *span)

    def _show_live(self, drawing: Drawing, changed: Collection[int]) -> None:
        """Show the same layout with new live data; only cells that changed are painted again."""
        old = self.drawing
        if old is None or (old.height, old.width) != (drawing.height, drawing.width):
            self._show(drawing)
            return
        self.drawing = drawing
        for y in range(*self._visible_lines()):
            if any(node in changed for node in drawing.nodes_at(y)):
                span = changed_columns(old.line(y), drawing.line(y))
                if span is not None:
                    self._refresh_span(y, *span)

    # What is selected

    def _select(self) -> None:
        """The selected devices in the order of the plan; without any, the one under the cursor."""
        places = sorted(self.selected or {self.cursor}, key=lambda place: (place.node, place.kind, place.index))
        ranks = () if self.picture is None else ranks_at(self.picture.plan, self.cursor)
        self.target = Selection(self.cursor, tuple(places), ranks)

    watch_selected = _select

    def watch_cursor(self, before: Place, after: Place) -> None:
        navigator = self._navigator
        mates = [] if navigator is None else [*navigator.mates(before), *navigator.mates(after)]
        self._refresh_places({before, after, *mates})
        if self.drawing is not None and self.drawing.across > 1:
            for place in (before, after):
                for mark in self.drawing.cursor(place):
                    self._refresh_span(mark.y, mark.x, mark.x + mark.width)
        self.show_cursor()
        self._select()

    def watch_hover(self, before: Place | None, after: Place | None) -> None:
        self._refresh_places([place for place in (before, after) if place is not None])

    @property
    def _navigator(self) -> Navigator | None:
        return Navigator(self.drawing) if self.drawing is not None else None

    def go_to(self, place: Place | None) -> None:
        """Move the cursor and keep it in view."""
        self._anchor = None
        if place is None:
            return
        if place == self.cursor:
            self.show_cursor()
        else:
            self.cursor = place

    def show_cursor(self) -> None:
        """Scroll so that the cursor's device is in view."""
        region = self._region(self.cursor)
        if region is not None and self.drawing is not None and self.size:
            head = (self.drawing.top_of(self.cursor.node) or 0) + self.header_height
            if region.bottom - head <= self.size.height - self.header_height:
                # With the line of the node above it, where both fit.
                region = Region(region.x, head, region.width, region.bottom - head)
            gutter, top = min(self.drawing.gutter, self.size.width // 2), self.header_height
            self.scroll_to_region(
                region, spacing=Spacing(top=top, left=gutter), animate=False, force=True, immediate=True
            )

    # Moving

    def _by_rows(self, steps: int) -> None:
        if navigator := self._navigator:
            self.go_to(navigator.by_rows(self.cursor, steps, self._column))

    def _by_devices(self, steps: int) -> None:
        if navigator := self._navigator:
            self.go_to(navigator.by_devices(self.cursor, steps))
            self._column = self.cursor.index

    def _to_position(self, position: int) -> None:
        if navigator := self._navigator:
            self.go_to(navigator.at(position, self._column))

    @property
    def _page(self) -> int:
        """Nodes that one screen shows, at least one."""
        if self.drawing is None or not self.drawing.height:
            return 1
        lines = self.drawing.height * self.drawing.across / max(1, len(self.drawing.nodes))
        return max(1, int((self.size.height - self.header_height) / max(lines, 1)) - 1)

    cursor_left = partialmethod(_by_devices, -1)
    cursor_right = partialmethod(_by_devices, 1)
    cursor_up = partialmethod(_by_rows, -1)
    cursor_down = partialmethod(_by_rows, 1)
    row_end = partialmethod(_by_devices, 1 << 20)
    first_node = partialmethod(_to_position, 0)
    last_node = partialmethod(_to_position, -1)

    def row_start(self) -> None:
        self._by_devices(-self.cursor.index)

    def page_up(self) -> None:
        self._by_rows(-self._page)

    def page_down(self) -> None:
        self._by_rows(self._page)

    def jump(self) -> None:
        self.post_message(JumpToRule(self.cursor))

    # Selecting

    def _select_to(self, place: Place) -> None:
        """Select the rectangle from where the selection began to a device."""
        if navigator := self._navigator:
            self._anchor = self._anchor or self.cursor
            places = navigator.rectangle(self._anchor, place)
            if places is not None:
                self.selected = frozenset(places)

    def _extend(self, *, rows: int = 0, devices: int = 0) -> None:
        anchor = self._anchor or self.cursor
        if rows:
            self._by_rows(rows)
        else:
            self._by_devices(devices)
        self._anchor = anchor
        self._select_to(self.cursor)

    extend_left = partialmethod(_extend, devices=-1)
    extend_right = partialmethod(_extend, devices=1)
    extend_up = partialmethod(_extend, rows=-1)
    extend_down = partialmethod(_extend, rows=1)

    def toggle_select(self) -> None:
        self.selected = self.selected ^ {self.cursor}

    def select_node(self) -> None:
        if (navigator := self._navigator) and self.picture and self.cursor.node < len(self.picture.plan.nodes):
            node, kind = self.cursor.node, self.cursor.kind
            self.selected = frozenset(Place(node, kind, index) for index in range(navigator.rows(node)[kind]))

    def select_column(self) -> None:
        if self.drawing is not None:
            column = (Place(node, self.cursor.kind, self.cursor.index) for node in self.drawing.nodes)
            self.selected = frozenset(Navigator(self.drawing).existing(column))

    # Density, highlight, order

    def _zoom(self, steps: int) -> None:
        shown = self.drawing.density if self.drawing else "tile"
        position = DENSITIES.index(self.look.density or shown) + steps
        if 0 <= position < len(DENSITIES):
            self.look = replace(self.look, density=DENSITIES[position])

    zoom_in = partialmethod(_zoom, -1)
    zoom_out = partialmethod(_zoom, 1)

    def next_metric(self) -> None:
        metric = METRICS[(METRICS.index(self.look.metric) + 1) % len(METRICS)]
        self.look = replace(self.look, metric=metric)

    def next_component(self) -> None:
        names: Sequence[str | None] = [None, *(self.picture.plan.components if self.picture else ())]
        self.highlight(names[(names.index(self.look.component) + 1) % len(names)])

    def highlight(self, component: str | None) -> None:
        """Highlight a component; None for none."""
        self.look = replace(self.look, component=component)

    def sort(self) -> None:
        """Show the nodes in the next order, from its top."""
        self.look = replace(self.look, order=self.look.next_order())
        self._to_position(0)
        self.scroll_home(animate=False, force=True, immediate=True)
        self.notify(f"nodes by {self.look.order}", timeout=2, markup=False)

    def clear(self) -> None:
        """Forget highlight, hits, filter, order and selection."""
        self.look = GridLook(self.look.density, self.look.metric)
        self.selected = frozenset()

    # Finding

    def begin_find(self) -> str:
        """The initial text of the find field; previous hits are kept."""
        self._found_before = self.look.hits, self.look.at
        return ""

    def cancel_find(self) -> None:
        hits, at = self._found_before
        self.look = replace(self.look, hits=hits, at=at)

    def find_while_typing(self, query: str) -> str:
        """Show the hits of a query that is being typed; how many there are, or why there are none."""
        hits = self._hits(query)
        if not query.strip():
            hits = NO_HITS
        self.look = replace(self.look, hits=NO_HITS if hits.message else hits, at=-1)
        return plain(hits.message) or (count(len(hits.stops()), "hit") if hits.query else "")

    def search(self, query: str) -> None:
        """Go where a query leads."""
        hits = self._hits(query) if query.strip() else NO_HITS
        if hits.message:
            self.cancel_find()
            self.notify(hits.message, severity="warning", markup=False)
            return
        self.look = replace(self.look, hits=hits, at=-1)
        if hits.places:
            self.find_next()

    def _hits(self, query: str) -> Hits:
        if self.picture is None:
            return NO_HITS
        return find(self.picture.plan, query, observation=self.picture.observation)

    def _step_hits(self, steps: int) -> None:
        look = self.look
        stops = look.hits.stops()
        if not stops:
            self.notify("no search yet: press / first", markup=False)
            return
        at = (look.at + steps) % len(stops) if look.at >= 0 or steps > 0 else len(stops) - 1
        self.look = replace(look, at=at)
        self.post_message(HitShown())
        self.go_to(stops[at])
        self.notify(f"{look.hits.about}: {at + 1} of {len(stops)}", timeout=2, markup=False)

    find_next = partialmethod(_step_hits, 1)
    find_previous = partialmethod(_step_hits, -1)

    def filter(self) -> None:
        look, live = self.look, self.picture.live if self.picture else None
        if look.hits.places and not (look.filtered and look.hits.query == MARKED):
            self.look = replace(look, filtered=not look.filtered)
        elif look.hits.places:
            self.look = replace(look, hits=NO_HITS, at=-1, filtered=False)
        elif self.picture is not None and live is not None and (hits := marked(self.picture.plan, live)).places:
            self.look = replace(look, hits=hits, at=-1, filtered=True)
        else:
            self.notify("nothing is marked, and nothing was searched for: press / first", markup=False)

    def reveal(self, place: Place) -> None:
        """Go to a place, also if its node is filtered away."""
        if self.look.narrowed and self.drawing is not None and self.drawing.top_of(place.node) is None:
            self.filter()
        self.go_to(place)

    # Where things are on the screen

    @property
    def header_height(self) -> int:
        return len(self.drawing.header()) if self.drawing else 0

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
        region = self._region(self.cursor)
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

    def _refresh_places(self, places: Iterable[Place]) -> None:
        if self.drawing is None:
            return
        first, last = self._visible_lines()
        # Of thousands, few are in view, and only of these it is asked where they are.
        tops = ((place, self.drawing.top_of(place.node)) for place in places)
        visible = [place for place, top in tops if top is not None and first - TALLEST < top < last]
        if len(visible) > MANY:
            self.refresh()
        elif regions := [region for place in visible if (region := self._region(place)) is not None]:
            scrolled = -self.scroll_offset
            self.refresh(*(region.translate(scrolled) for region in regions))

    def _at(self, event: events.MouseEvent) -> Place | None:
        offset = event.get_content_offset(self)
        if self.drawing is None or offset is None or offset.y < self.header_height:
            return None
        x = offset.x if offset.x < self.drawing.gutter else offset.x + self.scroll_offset.x
        return self.drawing.at(x, offset.y - self.header_height + self.scroll_offset.y)

    # The mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        place = self._at(event)
        if event.button == 1 and self._pressed is not None and place is not None:
            self._anchor = self._pressed
            self._dragged = True
            self._select_to(place)
        self.hover = place

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = self._at(event) if event.button == 1 else None
        self._dragged = False

    def on_mouse_up(self) -> None:
        self._pressed = None

    def on_leave(self) -> None:
        self.hover = None

    def on_click(self, event: events.Click) -> None:
        place = self._at(event)
        if place is not None:
            self._column = place.index
            self.go_to(place)
            if not self._dragged:
                self.selected = frozenset()
            if event.chain == 2:
                self.jump()

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

    @property
    def _highlighted(self) -> str | None:
        """The chosen component; none on the heat wall, which is about it, or while those are tinted who move."""
        if self.picture is None or self.picture.preview is not None:
            return None
        return None if self.drawing is None or self.drawing.density == "heat" else self.look.component

    def _strip(self, line: Line, key: object, emphases: tuple[Emphasis, ...]) -> Strip:
        assert self.palette is not None
        # While a component is chosen, all that is not its own steps back.
        chosen = self._highlighted if key is None else None
        mark = self.drawing.marks.get(chosen) if self.drawing and chosen is not None else None
        cache_key = (key, line, emphases, chosen, mark)
        strip = self._strips.get(cache_key)
        if strip is None:
            base = self.visual_style.rich_style
            palette = self.palette
            styles = [palette.over(base, run.style) for run in line]
            if chosen is not None:  # but what needs attention
                quiet = RichStyle(dim=True)
                styles = [
                    style if run.style.role in ("error", "warning") or run.style.component == chosen else style + quiet
                    for run, style in zip(line, styles, strict=True)
                ]
            strip = Strip([Segment(run.text, style) for run, style in zip(line, styles, strict=True)])
            if emphases:
                strip = self._emphasized(strip, emphases)
            self._strips[cache_key] = strip
        return strip

    def _emphasized(self, strip: Strip, emphases: tuple[Emphasis, ...]) -> Strip:
        """The strip with what is laid over it, cut once: in the heat wall a line can have hundreds of changes."""
        length = strip.cell_length
        ranges = [(min(start, length), min(end, length), name, text) for start, end, name, text in emphases]
        cuts = sorted({length, *(cut for start, end, _, _ in ranges for cut in (start, end) if cut)})
        pieces = list(strip.divide(cuts))
        over: list[list[tuple[RichStyle, str]]] = [[] for _ in pieces]
        for start, end, name, text in ranges:
            first = bisect_left(cuts, start) + 1 if start else 0
            for number in range(first, bisect_left(cuts, end) + 1):
                begin = cuts[number - 1] if number else 0
                over[number].append((self._ground(name), text[begin - start : cuts[number] - start]))
        for number, layers in enumerate(over):
            for style, text in layers:
                pieces[number] = _painted(pieces[number], style, text)
        return Strip.join(pieces)

    def _ground(self, name: str) -> RichStyle:
        """What an emphasis adds: a ground and weight; for the cursor also the colour of the text."""
        if name in ON_WHITE and self.palette is not None:
            return self.palette.rich_style(ON_WHITE[name])
        style = self.get_component_rich_style(f"grid-pane--{name}")
        is_cursor = name in ("cursor", "cursor-mark")
        return RichStyle(
            color=style.color if is_cursor else None,
            bgcolor=None if name == "cursor-mark" else style.bgcolor,
            dim=False,
            bold=style.bold or None,
            underline=style.underline or None,
            reverse=style.reverse or None,
        )

    def _emphases(self, y: int) -> tuple[Emphasis, ...]:
        """Highlighted column ranges of a line, weakest first, and signs to show there."""
        assert self.drawing is not None
        found: list[Emphasis] = []
        wanted = self.drawing.nodes_at(y)
        columns = self._chosen_columns(y) if self._highlighted is not None else []
        for place, name in self._standing_out(wanted):
            region = self.drawing.locate(place.node, place.index, place.kind)
            if region is None or not region.y <= y < region.y + region.height:
                continue
            if name != "highlight" or any(region.x <= x < region.x + region.width for x in columns):
                found.append((region.x, region.x + region.width, name, ""))
        found.sort(key=lambda entry: EMPHASES.index(entry[2]))
        if self.cursor.node in wanted:
            for mark in self._cursor_marks():
                if mark.y == y:
                    found += self._cursor_emphases(mark)
        return tuple(found)

    def _cursor_emphases(self, mark: CursorMark) -> Iterator[Emphasis]:
        """A mark of the cursor; what is wrong keeps its colour on white."""
        assert self.drawing is not None
        start, end = mark.x, mark.x + mark.width
        yield start, end, "cursor" if mark.inverse else "cursor-mark", mark.text
        x = 0
        for run in self.drawing.line(mark.y) if mark.inverse else ():
            first, x = x, x + self.drawing.cell_width(run.text)
            if run.style.role in ON_WHITE and first < end and x > start:
                yield max(first, start), min(x, end), run.style.role, ""

    def _cursor_marks(self) -> list[CursorMark]:
        assert self.drawing is not None
        marks = self.drawing.cursor(self.cursor)
        if marks or (top := self.drawing.top_of(self.cursor.node)) is None:
            return marks
        return [CursorMark(0, top, max(1, self.drawing.gutter))]

    def _chosen_columns(self, y: int) -> list[int]:
        """Where the chosen component stands on a line: other processes share its devices."""
        assert self.drawing is not None
        columns: list[int] = []
        x = 0
        for run in self.drawing.line(y):
            if run.style.component is not None and run.style.component == self.look.component:
                columns.append(x)
            x += self.drawing.cell_width(run.text)
        return columns

    def _standing_out(self, nodes: Collection[int]) -> Iterator[tuple[Place, str]]:
        assert self.drawing is not None
        hits = self.look.hits.places
        yield from ((place, "changed") for place in self._changed if place.node in nodes)
        yield from ((place, "selected") for place in self.selected if place.node in nodes)
        for node in nodes:
            if hits or self._highlighted is not None:
                for device in self.drawing.plan.devices_of(node):
                    place = Place(node, device.kind, device.index)
                    if place in hits:
                        yield place, "hit"
                    if any(one.component == self._highlighted for one in device.occupants):
                        yield place, "highlight"
        if self.cursor.node in nodes:
            for place in Navigator(self.drawing).mates_apart(self.cursor):
                yield place, "mate"
        if self.hover is not None and self.hover.node in nodes:
            yield self.hover, "hover"


def _painted(strip: Strip, style: RichStyle, text: str = "") -> Strip:
    """The strip with `style` laid over it, and with other signs if there are any."""
    segments = list(strip)
    if text and segments:
        segments = [Segment(text, segments[0].style)]
    return Strip([Segment(segment.text, (segment.style or RichStyle()) + style) for segment in segments])


def moved_between(before: Plan, after: Plan) -> set[tuple[int, int]]:
    """Nodes and GPUs to which an edit brings a rank; none if it is about other nodes, or of very many ranks."""
    sizes = sum(one.world_size for plan in (before, after) for one in plan.components.values())
    if before.source != after.source or list(before.nodes) != list(after.nodes) or sizes > MOST_COMPARED:
        return set()
    places = [
        {
            (name, placed.rank, placed.cluster_node_rank, device)
            for name, component in plan.components.items()
            for placed in component.placements
            if plan.kind_of(placed) == GPU
            for device in placed.devices
        }
        for plan in (before, after)
    ]
    return {(node, device) for _, _, node, device in places[1] - places[0]}
