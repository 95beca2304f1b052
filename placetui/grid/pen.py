"""What all densities share: names, marks and figures of one plan."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

from placetui.grid.arrange import Process
from placetui.grid.glyphs import Glyphs, glyphs
from placetui.grid.identity import Identity, identities
from placetui.grid.live import Overlay, RankState
from placetui.grid.style import ERROR, MUTED, OK, WARNING, LineBuilder, Style
from placetui.grid.text import CellWidth, Keep, cell_width, clean, cut
from placetui.placement.plan import Plan, PlanNode

STATE_STYLES: dict[RankState, Style] = {
    "pending": MUTED,
    "starting": WARNING,
    "alive": OK,
    "restarting": WARNING,
    "dead": ERROR,
    "stale": WARNING,
}

ATTENTION: tuple[RankState, ...] = ("dead", "restarting", "stale", "starting", "pending", "alive")
"""States, the one that needs attention most first."""


@dataclass(frozen=True)
class Pen:
    """Writes parts of one plan in one set of characters."""

    plan: Plan
    ascii: bool = False
    measure: CellWidth = cell_width
    overlay: Overlay | None = None
    marks: dict[str, Identity] = field(init=False)
    order: dict[str, int] = field(init=False)
    """Position of each component in the file."""

    by_index: tuple[Identity, ...] = field(init=False)
    services: dict[int, list[str]] = field(init=False)
    """What the framework itself adds, by node."""

    glyphs: Glyphs = field(init=False)
    _styles: dict[str, Style] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "marks", identities(self.plan.components))
        put(self, "order", {name: index for index, name in enumerate(self.plan.components)})
        put(self, "by_index", tuple(self.marks.values()))
        put(self, "_styles", {name: Style("component", index, bold=True) for name, index in self.order.items()})
        put(self, "glyphs", glyphs(self.ascii))
        services: dict[int, list[str]] = {}
        for service in self.plan.services:
            text = f"{self.glyphs.service} {self.clean(service.name)} {service.cpus:g} CPU"
            services.setdefault(service.node, []).append(text)
        put(self, "services", services)

    def with_overlay(self, overlay: Overlay | None) -> Pen:
        """The same pen over other live data."""
        pen = copy(self)
        object.__setattr__(pen, "overlay", overlay)
        return pen

    def clean(self, text: str) -> str:
        return clean(text, self.ascii)

    def cut(self, text: str, width: int, *, keep: Keep = "start") -> str:
        return cut(text, width, ellipsis=self.glyphs.ellipsis, measure=self.measure, keep=keep)

    def put_name(self, line: LineBuilder, column: int, text: str, room: int, style: Style, keep: Keep = "ends") -> None:
        """Write a name from outside in at most `room` columns."""
        shown = self.cut(self.clean(text), room, keep=keep)
        line.put(column, shown, style, self.measure(shown))

    def groups(self, node: PlanNode) -> str:
        return ",".join(node.groups)

    def name_width(self, text: str) -> int:
        return self.measure(self.clean(text))

    def worst_state(self, processes: Sequence[Process]) -> tuple[str, Style] | None:
        """Mark of the state that needs attention most."""
        if self.overlay is None:
            return None
        states = {self.overlay.rank(process.component, process.rank) for process in processes}
        worst = next((state for state in ATTENTION if state in states), None)
        return (self.glyphs.states[worst], STATE_STYLES[worst]) if worst else None

    def ranks(self, ranks: Sequence[int]) -> str:
        """`3`, `0–199`, `0,4`, `0…398`: sorted ranks in a few characters."""
        if len(ranks) == 1:
            return str(ranks[0])
        if ranks[-1] - ranks[0] == len(ranks) - 1:
            return f"{ranks[0]}{self.glyphs.to}{ranks[-1]}"
        if len(ranks) <= 3:
            return ",".join(map(str, ranks))
        return f"{ranks[0]}{self.glyphs.gap}{ranks[-1]}"

    def crowd(self, processes: Sequence[Process], room: int) -> tuple[str, str]:
        """Mark and the rest of `A 0–199 ×200`, or as much of it as `room` takes."""
        mark = self.marks[processes[0].component].mark
        times = f"{self.glyphs.times}{len(processes)}"
        ranks = self.ranks([process.rank for process in processes])
        if len(processes) == 1:
            return mark, self.cut(f" {ranks}", room - len(mark))
        close = f"{self.marks[processes[0].component].separator}{ranks} {times}"
        for rest in (f" {ranks} {times}", close, f" {times}", times):
            if len(mark) + len(rest) <= room:
                return mark, rest
        return mark[:room], self.cut(times, max(0, room - len(mark)))

    def component_style(self, component: str) -> Style:
        return self._styles[component]
