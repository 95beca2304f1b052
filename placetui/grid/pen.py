"""What all drawings share: names, marks and figures of one plan in one set of characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.meters import gradient, history, thin
from placetui.grid.look.style import (
    ERROR,
    FAINT,
    MUTED,
    NAME,
    TEXT,
    WARNING,
    Ground,
    Line,
    LineBuilder,
    Role,
    Run,
    Style,
)
from placetui.grid.look.text import CellWidth, Keep, cell_width, cut
from placetui.grid.marks import Mark, plan_marks
from placetui.grid.moves import ADDED, Departure, Moves
from placetui.grid.overlay import ShownState
from placetui.observe.history import MemoryUse
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from placetui.placement.wording import clean, number_range

STATE_STYLES: dict[ShownState, Style] = {
    "pending": MUTED,
    "starting": TEXT,
    "alive": FAINT,
    "restarting": WARNING,
    "dead": ERROR,
    "stale": WARNING,
}


MOST_LETTERS = 4
"""Components that a node is known by at most."""

REMEMBERED = 4096
"""Meters that are kept."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What is drawn of a plan beside another: then devices are numbered over all nodes, as moves name them."""

    moves: Moves

    memory: Mapping[tuple[int, int], MemoryUse] = field(default_factory=dict)
    """By node and GPU, what was measured; nothing of a plan that is only tried."""

    measured: bool = False
    """Whether there is such a figure in either plan, for which GPUs have room in both."""

    rows: Sequence[int] = ()
    """By node, residents of a GPU that there is room for at least, so that nodes are as high in both plans."""


class Pen:
    """Writes parts of one plan."""

    def __init__(
        self,
        plan: Plan,
        ascii: bool = False,
        measure: CellWidth = cell_width,
        *,
        color: bool = True,
        compared: Compared | None = None,
    ) -> None:
        self.plan = plan
        self.ascii = ascii
        self.measure = measure
        self.color = color
        """Whether colours are shown: what they would say is written otherwise."""

        self.compared = compared
        """None: the plan is drawn for itself."""

        self.memory: Mapping[tuple[int, int], MemoryUse] = compared.memory if compared else {}
        self.glyphs = glyphs(ascii)
        self._cleaned: dict[str, str] = {}
        self._styles: dict[tuple[object, ...], Style] = {}
        self._meters: dict[tuple[object, ...], Line] = {}

    @cached_property
    def moves(self) -> Mapping[tuple[str, int], str]:
        """By component and rank, where it goes or came from, as `→8`."""
        return {} if self.compared is None else self.compared.moves.beside

    @cached_property
    def left(self) -> Mapping[int, Sequence[Departure]]:
        """By node, who was on its GPUs in the plan before, and where they went."""
        return {} if self.compared is None else self.compared.moves.left

    @cached_property
    def marks(self) -> dict[str, Mark]:
        """Letter and hue of each component, in the order of the file; of those that are not placed, too."""
        return plan_marks(self.plan)

    @cached_property
    def by_number(self) -> tuple[Mark, ...]:
        """The marks by position of the component in the file."""
        return tuple(self.marks.values())

    @cached_property
    def order(self) -> dict[str, int]:
        """Position of each component in the file."""
        return {name: number for number, name in enumerate(self.plan.components)}

    @cached_property
    def world_sizes(self) -> tuple[int, ...]:
        """Ranks of each component, by its position in the file."""
        return tuple(component.world_size for component in self.plan.components.values())

    @cached_property
    def services(self) -> dict[int, list[str]]:
        """What the framework itself adds, by node."""
        found: dict[int, list[str]] = {}
        for service in self.plan.services:
            unit = "CPU" if service.cpus == 1 else "CPUs"
            text = f"{self.glyphs.service} {self.clean(service.name)} {service.cpus:g} {unit}"
            found.setdefault(service.node, []).append(text)
        return found

    def letter_style(self, component: str) -> Style:
        return self.style("component", component, bold=True)

    def style(self, role: Role, component: str, ground: Ground | None = None, *, bold: bool = False) -> Style:
        """Of something that belongs to the component."""
        key = role, component, ground, bold
        style = self._styles.get(key)
        if style is None:
            mark = self.marks[component]
            style = Style(role, mark.hue, bold, None, mark.second and bold, component, ground)
            self._styles[key] = style
        return style

    def on(self, style: Style, ground: Ground | None) -> Style:
        if style.ground is ground:
            return style
        key = style, ground
        shown = self._styles.get(key)
        if shown is None:
            shown = self._styles[key] = style._replace(ground=ground)
        return shown

    def label(self, component: str, rank: int | str) -> tuple[Run, Run]:
        """`A3`: letter and rank."""
        mark = self.marks[component]
        return Run(mark.letter, self.letter_style(component)), Run(f"{mark.separator}{rank}", TEXT)

    def letters(self, components: Sequence[int]) -> Line:
        """The letters of some components by their position in the file; a dot if there are none."""
        marks = [self.by_number[number] for number in components[:MOST_LETTERS]]
        letters = tuple(Run(mark.letter[0], self.letter_style(mark.name)) for mark in marks)
        return letters or (Run(self.glyphs.empty, FAINT),)

    def state(self, state: ShownState) -> Run:
        return Run(self.glyphs.states[state], STATE_STYLES[state])

    def state_word(self, state: ShownState) -> Run:
        """`· alive`, `✗ dead`."""
        return Run(f"{self.glyphs.states[state]} {state}", STATE_STYLES[state])

    def chip(self, component: str) -> Run:
        """` A `: the letter on its hue."""
        mark = self.marks[component]
        return Run(f" {mark.letter} ", Style("chip", mark.hue, True, None, mark.second, component))

    def meter(self, percent: float, width: int, ground: Ground | None = None, unknown: float = 0.0) -> Line:
        """How full, in the colours of heat; `unknown` percent belong to unknown processes."""
        key = round(percent * width), width, ground, round(unknown * width)
        return self._meters.get(key) or self._keep(key, gradient(self.glyphs, width, percent, ground, unknown))

    def thin(self, part: float, width: int, style: Style, ground: Ground | None = None) -> Line:
        """What one rank holds, 0 to 1."""
        key = "thin", round(part * width * 2), part > 0, width, style, ground
        return self._meters.get(key) or self._keep(
            key, thin(self.glyphs, width, part, self.on(style, ground), Style("track", ground=ground))
        )

    def history(
        self, values: Sequence[int | None], width: int, lines: int = 1, ground: Ground | None = None
    ) -> list[Line]:
        """Percentages over time, the newest at the right."""
        return history(self.glyphs, values, width, lines, ground)

    def _keep(self, key: tuple[object, ...], runs: Sequence[Run]) -> Line:
        if len(self._meters) >= REMEMBERED:
            self._meters.clear()
        line = self._meters[key] = tuple(runs)
        return line

    def clean(self, text: str) -> str:
        known = self._cleaned.get(text)
        if known is None:
            known = self._cleaned[text] = clean(text, self.ascii)
        return known

    def cut(self, text: str, width: int, *, keep: Keep = "start") -> str:
        return cut(text, width, ellipsis=self.glyphs.ellipsis, measure=self.measure, keep=keep)

    def write(self, line: LineBuilder, runs: Iterable[Run], room: int) -> None:
        """Write runs in at most `room` columns; the first that does not fit is cut, and the rest is left out."""
        for text, style in runs:
            shown = self.cut(text, room)
            cells = self.measure(shown)
            line.add(shown, style, cells)
            room -= cells
            if shown != text:
                return

    def width(self, runs: Iterable[Run]) -> int:
        """Columns that runs take."""
        return sum(self.measure(text) for text, _ in runs)

    def fitted(self, runs: Iterable[Run], room: int) -> Line:
        """As much of a line as there is room for."""
        line = LineBuilder()
        self.write(line, runs, room)
        return tuple(line.runs)

    def across(self, cells: Iterable[Iterable[Run]], starts: Sequence[int], width: int) -> Line:
        """Runs beside each other, each cut where the next one begins."""
        line = LineBuilder()
        ends = (*(start - 1 for start in starts[1:]), width)
        for runs, start, end in zip(cells, starts, ends, strict=False):
            if start < end:
                line.put(start, "")
                self.write(line, runs, min(end, width) - start)
        return tuple(line.runs)

    def tinted(self, line: Iterable[Run], ground: Ground | None) -> Line:
        """A line on another ground."""
        return tuple(Run(text, self.on(style, ground)) for text, style in line)

    def put_name(self, line: LineBuilder, column: int, text: str, room: int, style: Style, keep: Keep = "ends") -> None:
        """Write a name from outside in at most `room` columns."""
        shown = self.cut(self.clean(text), room, keep=keep)
        line.put(column, shown, style, self.measure(shown))

    def is_fixed(self, component: str, rank: int) -> bool:
        """Whether the plan decides where a rank will be, rather than the framework when it starts."""
        placements = self.plan.components[component].placements
        return rank >= len(placements) or placements[rank].fixed

    def unfixed_key(self) -> Iterator[tuple[Run, str]]:
        """What the sign of ranks means whose place is only expected, where there are any."""
        if self.plan.unfixed_nodes:
            yield Run(self.glyphs.unfixed, MUTED), "place not fixed"

    def moves_key(self) -> Iterator[tuple[Run, str]]:
        """What the signs beside ranks mean that come or go, where there are any."""
        shown = {text[0] for text in self.moves.values()} | {one.gone[0] for node in self.left.values() for one in node}
        signs = (self.glyphs.came, self.glyphs.goes, ADDED, self.glyphs.ends)
        words = zip(signs, ("comes from", "goes to", "added", "removed"), strict=True)
        yield from ((Run(sign, NAME), text) for sign, text in words if sign in shown)

    def group_of(self, component: str, rank: int) -> str:
        """The server group of an engine; empty where all are alike."""
        engines = self.plan.components[component].engines
        return self.clean(engines[rank].group) if rank < len(engines) else ""

    def groups(self, node: Node) -> str:
        return ",".join(node.groups)

    def name_width(self, text: str) -> int:
        return self.measure(self.clean(text))

    def node_name(self, rank: int) -> str:
        nodes = self.plan.nodes
        return nodes[rank].name if 0 <= rank < len(nodes) else f"node {rank}"

    def ranks(self, ranks: Sequence[int]) -> str:
        """`3`, `0-199`, `0,4`, `0…398`: sorted ranks in a few characters."""
        if len(ranks) == 1:
            return str(ranks[0])
        if ranks[-1] - ranks[0] == len(ranks) - 1:
            return number_range(ranks[0], ranks[-1])
        if len(ranks) <= 3:
            return ",".join(map(str, ranks))
        return f"{ranks[0]}{self.glyphs.gap}{ranks[-1]}"

    def crowd(self, component: str, ranks: Sequence[int], room: int) -> tuple[Run, Run]:
        """`A 0-199 ×200`, or as much of it as `room` takes."""
        mark = self.marks[component]
        which = self.ranks(ranks)
        times = f"{self.glyphs.times}{len(ranks)}"
        rest = self.cut(times, max(0, room - len(mark.letter)))
        if len(ranks) == 1:
            rest = self.cut(f" {which}", room - len(mark.letter))
        else:
            texts = (f" {which} {times}", f"{mark.separator}{which} {times}", f" {times}", times)
            rest = next((text for text in texts if len(mark.letter) + len(text) <= room), rest)
        return Run(mark.letter[:room], self.letter_style(component)), Run(rest, TEXT)
