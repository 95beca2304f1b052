"""`Drawing`: a plan as styled lines, any window of it at the same cost."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Literal

from placetui.grid.densities import (
    DENSITIES,
    Census,
    CursorMark,
    Density,
    DensityLayout,
    HeatMetric,
    LayoutRequest,
    Place,
    Region,
    lay_out,
)
from placetui.grid.look.style import MUTED, TEXT, Line, LineBuilder, Run, plain
from placetui.grid.look.text import CellWidth, cell_width
from placetui.grid.marks import Mark
from placetui.grid.overlay import Overlay
from placetui.grid.pen import Compared, Pen
from placetui.placement.plan import GPU, Component, Plan
from placetui.placement.wording import count, share_figure

LEGEND = 72
"""Columns that the legend takes at least where no width is given."""

IMPORTANCE = (
    *("dead", "oversubscribed", "not as planned", "above threshold", "far below", "restarting", "stale", "pending"),
    *("starting", "place not fixed", "one process", "not adjacent", "free", "no GPU", "service"),
)
"""What the signs mean that do not occur in every picture, the most important first."""

WIDEST_NAME, WIDEST_RULE, LEAST_RULE = 24, 32, 8
"""Columns of names and rules in the legend."""

FEW_LINES = 2
"""Lines that do not matter if they are out of view."""

MOST_SPARE = 20
"""Lines that a node gets at most beyond what it needs."""

WIDEST_GAP = 4
"""Columns between two nodes of the heat wall at most."""

REMEMBERED = 512
"""Bands whose lines are kept."""


class Drawing:
    """A plan drawn in one density.

    Nothing of it changes: another width, density, order of nodes or live picture is another drawing, made from this
    one by `change`, which keeps what stays the same. Lines are drawn on demand.
    """

    def __init__(
        self,
        plan: Plan,
        density: Density = "tile",
        *,
        ascii: bool = False,
        color: bool = True,
        width: int | None = None,
        cell_width: CellWidth = cell_width,
        nodes: Sequence[int] | None = None,
        overlay: Overlay | None = None,
        metric: HeatMetric = "memory",
        component: str | None = None,
        compared: Compared | None = None,
    ) -> None:
        """Lay out a drawing.

        Without a width it has its natural size; it can be wider than asked for where devices do not fit. Without
        colours the heat wall has digits, and with a component it is about that one. Nodes are drawn in the order of
        these ranks. `cell_width` counts the columns of a text: a terminal library knows better than the default.
        """
        self.plan = plan
        self.density = density
        self.ascii = ascii
        self.requested_width = width
        self.nodes: Sequence[int] = range(len(plan.nodes)) if nodes is None else nodes
        self.overlay = overlay
        self.metric: HeatMetric = metric
        self.component = component
        self.spare = 0
        """Lines of each node beyond what it needs; -1: one less, where GPUs are known by their columns.

        On the heat wall, where a GPU has a whole cell if there are any, columns between two nodes.
        """

        self.pen = Pen(plan, ascii, cell_width, color=color, compared=compared)
        self.census = Census(plan)
        """What stands on each node, counted once."""

        self._lines: OrderedDict[int, tuple[Line, ...]] = OrderedDict()
        self._layouts: dict[tuple[Density, int], DensityLayout] = {}
        """Those that were needed so far, by density and spare lines; shared with drawings that differ in these or in
        live data only."""

    def change(
        self,
        *,
        density: Density | None = None,
        width: int | Literal["same"] | None = "same",
        nodes: Sequence[int] | Literal["same"] | None = "same",
        overlay: Overlay | Literal["same"] | None = "same",
        metric: HeatMetric | None = None,
        component: str | Literal["same"] | None = "same",
        spare: int | None = None,
    ) -> Drawing:
        """The same plan drawn otherwise; with fresh live data, or in a density that was drawn before, at no cost."""
        drawing = copy(self)
        drawing._lines = OrderedDict()
        if overlay != "same":
            drawing.overlay = overlay
        if density is not None:
            drawing.density = density
        if metric is not None:
            drawing.metric = metric
        if component != "same":
            drawing.component = component
        if spare is not None:
            drawing.spare = spare
        if width != "same":
            drawing.requested_width = width
        if nodes != "same":
            drawing.nodes = range(len(self.plan.nodes)) if nodes is None else nodes
            for name in ("_positions", "nodes_by_letters"):
                drawing.__dict__.pop(name, None)
        if drawing._request != self._request:
            drawing._layouts = {}
        return drawing

    @property
    def _request(self) -> LayoutRequest:
        live = self.overlay is not None
        return LayoutRequest(self.pen, self.nodes, self.requested_width, live, self.census, self.metric, self.component)

    @property
    def _layout(self) -> DensityLayout:
        key = self.density, self.spare
        if key not in self._layouts:
            self._layouts[key] = lay_out(self.density, replace(self._request, spare=self.spare))
        return self._layouts[key]

    def fitted(self, height: int) -> Drawing:
        """In the most detailed density at which all nodes fit into the width and this many lines; else in the last.

        Names and letters of a few nodes are worth more than a wall of one line: they may scroll a little.
        """
        drawing = self
        # All but the last have a line for each node at least: of thousands they need not be laid out.
        for density in DENSITIES if len(self.nodes) <= height + FEW_LINES else DENSITIES[-1:]:
            drawing = self.change(density=density, spare=0)
            if drawing._fits(height):
                return drawing.grown(height)
            if density == "small" and (tight := drawing.change(spare=-1))._fits(height):
                return tight
            if density == "letters" and drawing._fits(height + FEW_LINES):
                return drawing
        return drawing

    def grown(self, height: int) -> Drawing:
        """With what is left of this many lines given to the nodes, where they show more then."""
        if self.density == "heat":
            gaps = (self.change(spare=gap) for gap in range(WIDEST_GAP, 0, -1))
            return next((drawing for drawing in gaps if drawing._fits(height)), self)
        left, compared = height - self.height - len(self.header()), self.pen.compared
        nobody = not self.plan.components and self.overlay is None
        # A figure below the residents stays there.
        measured = compared is not None and compared.measured
        if left <= 0 or nobody or measured or self.density not in ("card", "tile"):
            return self
        spare = min(MOST_SPARE, left // max(1, sum(self.plan.nodes[node].gpus > 0 for node in self.nodes)))
        return self.change(spare=spare) if spare else self

    def _fits(self, height: int) -> bool:
        room = self.width if self.requested_width is None else self.requested_width
        return self.height + len(self.header()) <= height and max(self.least_width, self.width) <= room

    def residents(self, node: int) -> int:
        """The most rows of residents on a GPU of a node."""
        return self.census[node].gpu_rows

    # What the layout says of itself: see `DensityLayout`.

    @property
    def height(self) -> int:
        return self._layout.height

    @property
    def width(self) -> int:
        return self._layout.width

    @property
    def least_width(self) -> int:
        return self._layout.least_width

    @property
    def gutter(self) -> int:
        return self._layout.gutter

    @property
    def pitch(self) -> int:
        return self._layout.pitch

    @property
    def across(self) -> int:
        return self._layout.across

    @property
    def marks(self) -> dict[str, Mark]:
        """Letter and hue of each component."""
        return self.pen.marks

    @property
    def cell_width(self) -> CellWidth:
        return self.pen.measure

    def header(self) -> tuple[Line, ...]:
        return self._layout.header

    def line(self, y: int) -> Line:
        """Line `y`, counted from 0 below the header."""
        layout = self._layout
        if not 0 <= y < layout.height:
            raise IndexError(f"line {y} of {layout.height}")
        band = layout.band_at(y)
        lines = self._lines.get(band)
        if lines is None:
            lines = self._lines[band] = layout.draw(band, self.overlay)
            if len(self._lines) > REMEMBERED:
                self._lines.popitem(last=False)
        return lines[y - layout.top(band)]

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[Line]:
        """Lines from `start` up to but not including `stop`."""
        for y in range(max(0, start), min(self.height, self.height if stop is None else stop)):
            yield self.line(y)

    def locate(self, node: int, index: int = 0, kind: str = GPU) -> Region | None:
        """Where a device is drawn; None if the drawing does not show it."""
        position = self.position_of(node)
        return None if position is None or index < 0 else self._layout.locate(position, index, kind)

    def cursor(self, place: Place) -> list[CursorMark]:
        position = self.position_of(place.node)
        return [] if position is None else list(self._layout.cursor(position, place.index, place.kind, self.overlay))

    def at(self, x: int, y: int) -> Place | None:
        """The device at a column and line; the first of those in the cell."""
        return self._layout.at(x, y)

    def position_of(self, node: int) -> int | None:
        """Place of a node in the order of the drawing; None if it is not shown."""
        if isinstance(self.nodes, range):
            return self.nodes.index(node) if node in self.nodes else None
        return self._positions.get(node)

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {node: position for position, node in enumerate(self.nodes)}

    def nodes_at(self, y: int) -> Sequence[int]:
        """Ranks of the nodes on a line."""
        first = self._layout.band_at(y) * self.across
        return self.nodes[first : first + self.across]

    def top_of(self, node: int) -> int | None:
        """First line of a node; None if the drawing does not show it."""
        position = self.position_of(node)
        return None if position is None else self._layout.top(position // self.across)

    def legend(self) -> tuple[Line, ...]:
        """What letters and signs mean: a line per component, then the signs."""
        width = self.requested_width or max(self.width, LEGEND)
        return (*_legend_lines(self.pen, width), *_key_lines(self.signs(), width))

    def signs(self) -> list[tuple[Run, str]]:
        """The signs that occur in the plan and in what is live, and what they mean; the most important first."""
        signs = list(self._layout.key())
        always = [one for one in signs if one[1] not in IMPORTANCE]
        return always + sorted(
            (one for one in signs if one[1] in self._occurring), key=lambda one: IMPORTANCE.index(one[1])
        )

    @property
    def _occurring(self) -> frozenset[str]:
        live = self.overlay.signs | self._layout.drawn_signs if self.overlay else frozenset()
        planned = {"place not fixed": self.plan.unfixed_nodes, "service": self.plan.services}
        return self.census.signs | live | {sign for sign, found in planned.items() if found}

    def shares_layout(self, other: Drawing) -> bool:
        """Whether both differ in what is live at most."""
        return self._layout is other._layout

    def has_signs_of(self, other: Drawing) -> bool:
        return self.shares_layout(other) and self._occurring == other._occurring

    def letters_of(self, node: int) -> Line:
        """The letters of the components on a node's GPUs."""
        return self.pen.letters(self.census[node].components)

    @cached_property
    def nodes_by_letters(self) -> Counter[str]:
        """How many of the nodes have which letters."""
        first_of = {self.census[node]: node for node in self.nodes}
        found: Counter[str] = Counter()
        for extent, number in Counter(map(self.census.__getitem__, self.nodes)).items():
            found[plain(self.letters_of(first_of[extent]))] += number
        return found

    @property
    def free(self) -> tuple[int, int]:
        """GPUs that nobody is on, and nodes all of whose GPUs are free."""
        return self.census.free

    def key(self, width: int) -> Line:
        """What the signs mean that occur, as much of it as fits into `width` columns."""
        return _key_lines(self.signs(), width)[0]


def _legend_lines(pen: Pen, width: int) -> tuple[Line, ...]:
    """One line per component, in columns; rules are cut for what follows them."""
    components = list(pen.plan.components.values())
    if not components:
        return ()
    letter = max(len(mark.letter) for mark in pen.marks.values())
    name = min(WIDEST_NAME, max(pen.name_width(component.name) for component in components))
    ranks = [_ranks(component) for component in components]
    rule = min(WIDEST_RULE, max(pen.name_width(component.rule.text) for component in components))
    rule = max(LEAST_RULE, min(rule, width - letter - name - max(map(len, ranks)) - 12))
    lines: list[Line] = []
    for component, size in zip(components, ranks, strict=True):
        mark = pen.marks[component.name]
        line = LineBuilder()
        line.put(0, mark.letter, pen.letter_style(component.name))
        x = letter + 2
        pen.put_name(line, x, component.name, name, TEXT)
        x += name + 2
        pen.put_name(line, x, component.rule.text, rule, MUTED, keep="start")
        x += rule + 2
        share = share_figure(component.share) if component.share is not None else ""
        line.put(x + 4 - len(share), share, MUTED)
        line.put(x + 6, size, MUTED)
        lines.append(pen.fitted(line.runs, width))
    return tuple(lines)


def _ranks(component: Component) -> str:
    missing = f", {component.not_fixed} not fixed before launch" if component.not_fixed else ""
    return f"{count(component.world_size, 'rank')}{missing}"


def _key_lines(key: Iterable[tuple[Run, str]], width: int) -> tuple[Line, ...]:
    """Signs and their meanings, as many in a line as fit into `width`."""
    lines: list[Line] = []
    line = LineBuilder()
    for run, meaning in key:
        if line.column and line.column + len(run.text) + len(meaning) + 4 > width:
            lines.append(line.finish(line.column))
            line = LineBuilder()
        line.put(line.column + (3 if line.column else 0), run.text, run.style)
        line.add(f" {meaning}", MUTED)
    return (*lines, line.finish(line.column))
