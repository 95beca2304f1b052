"""The GPUs of one node, line by line: numbers, residents, meters; a process over several GPUs is one tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from placetui.grid.densities.cell import Cell, memory_figure
from placetui.grid.densities.rows import (
    Process,
    RowSlot,
    adjacent,
    departed,
    is_oversubscribed,
    joined_tiles,
    processes_on,
    shape_of,
)
from placetui.grid.look.style import (
    BODY,
    ERROR,
    FAINT,
    MUTED,
    NAME,
    OK,
    TEXT,
    WARNING,
    Ground,
    Line,
    LineBuilder,
    Run,
    Style,
)
from placetui.grid.overlay import SLOW, Overlay, ShownState
from placetui.grid.pen import STATE_STYLES
from placetui.placement.wording import GIB, share_figure

if TYPE_CHECKING:
    from placetui.grid.densities.tiles import Tiles


@dataclass(frozen=True, slots=True)
class TileSize:
    """What one of the three densities shows."""

    least: int
    """Columns of a GPU, from which on all of it is shown."""

    squeezed: int
    """Columns of a GPU where there are fewer."""

    natural: int
    most: int
    lines: int
    """Lines of a GPU beside its residents."""

    planned_lines: int
    """The same without live data."""

    per_resident: int = 1
    border: int = 0
    history: int = 0
    """Lines of the load's history, of those of a live GPU."""

    numbered: bool = True
    """Whether the first line is the GPU's number."""

    names_left: bool = False
    """Whether the node's name stands at the left of its GPUs, where there is room."""

    spread: int = 0
    """Lines of a planned GPU that show shares as areas, beside those of the residents."""

    def with_spare(self, spare: int, live: bool) -> TileSize:
        """With more lines for each GPU than it needs, or one less."""
        if spare > 0 and self.history and live:
            return replace(self, lines=self.lines + spare, history=self.history + spare)
        if spare > 0 and self.history:
            # Areas say what the shares at the foot of a tile do.
            lines = self.planned_lines + spare
            return replace(self, planned_lines=lines, spread=lines - (2 if self.border else 1))
        if spare < 0 and self.names_left:
            return replace(self, lines=self.lines - 1, planned_lines=self.planned_lines - 1, numbered=False)
        return self

    def with_memory(self) -> TileSize:
        """With room for a meter and a figure below the residents of a plan."""
        return replace(self, planned_lines=4 if self.border else 3)

    def first_row(self, live: bool) -> int:
        """The line of a GPU on which its residents begin."""
        if self.border:
            return 1 + (3 + self.history + 1 if live else 0)
        return int(self.numbered)


WHOLE = 0.999
"""Shares of a GPU from which on it is promised whole; they are rounded."""

CARD = TileSize(17, 17, 19, 40, 10, 2, per_resident=2, border=1, history=3)
TILE = TileSize(10, 7, 10, 30, 4, 3, history=1)
SMALL = TileSize(7, 5, 8, 16, 2, 2, names_left=True)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Adjacent GPUs that one process, or a crowd, or nobody is on in one row."""

    first: int
    last: int
    members: tuple[int, ...] = ()
    below: int = 0
    """Which line of theirs."""


class Bank:
    """Writes the GPUs of one node."""

    def __init__(
        self, layout: Tiles, cells: Sequence[Cell], overlay: Overlay | None, tops: Sequence[Sequence[int]]
    ) -> None:
        self.layout = layout
        self.pen = layout.pen
        self.cells = cells
        self.overlay = overlay
        self.tops = tops
        """By GPU the lines on which its rows of residents begin, and the one after the last."""

        self.inner = layout.inner
        self.processes = processes_on([cell.device for cell in cells], self.pen)
        self.processes += departed(cells[0].device.node, self.pen)
        self.slots = layout.slots(shape_of(self.processes, self.pen))
        self.joined = self._joined()
        """By the first and last of GPUs that are one tile, the process that they belong to."""

        self._wide = {index: ends for ends in self.joined for index in range(ends[0], ends[1] + 1)}
        self._bases = [self._base(cell.index, cell.index) for cell in cells]
        """What blanks of each GPU look like."""

    def _joined(self) -> dict[tuple[int, int], Process]:
        """Adjacent GPUs that have the same processes, and nobody else."""
        return {
            (first, last): self.processes[process]
            for (first, last), process in joined_tiles(self.slots).items()
            if not any(self.cells[index].sign for index in range(first, last + 1))
        }

    def _base(self, first: int, last: int) -> Style:
        """Of adjacent GPUs: the hue of a process that they belong to, else the tint of the worst."""
        if process := self.joined.get(self._wide.get(first, (-1, -1))):
            return Style("text", self.pen.marks[process.component].hue, ground="component")
        tints = {self.cells[index].ground for index in range(first, last + 1)}
        wanted: tuple[Ground, ...] = ("error", "warning") if self.layout.size.border else ("error", "warning", "tile")
        return Style("text", ground=next((one for one in wanted if one in tints), None))

    def _tint(self, process: Process) -> Style:
        return Style("text", self.pen.marks[process.component].hue, ground="component")

    def write(self, lines: Sequence[LineBuilder]) -> None:
        """All lines of the GPUs, from the first on."""
        size, live, tops = self.layout.size, self.overlay is not None, self.tops
        parts: dict[int, Callable[[LineBuilder, Cell, Style], None]] = {}
        last = len(lines) - 1
        first, end = tops[0][0], last + (not size.border) if size.spread else tops[0][-1]
        if size.border:
            if live:
                history = [self._history(cell, size.history) for cell in self.cells]
                parts = {1: self._memory_line, 2: self._meter, 3: self._load_line, last - 1: self._unknown_process}
                parts |= {4 + number: partial(self._history_line, history, number) for number in range(size.history)}
        elif size.names_left:
            parts = {last: self._meter} if live else {}
        elif live:
            graph = last - size.history
            parts = {graph - 1: self._meter, graph: self._memory, last: self._load}
            if size.history > 1:
                history = [self._history(cell, size.history - 1) for cell in self.cells]
                parts[graph + 1] = self._load_line
                parts |= {
                    graph + 2 + line: partial(self._history_line, history, line) for line in range(size.history - 1)
                }
        if self.pen.memory:
            parts = {last - 1 - size.border: self._meter, last - size.border: self._measured}
        for number, line in enumerate(lines):
            if (number == 0 and size.numbered) or (size.border and number == last):
                self._edge(line, top=number == 0)
            elif first <= number < end:
                self._row(line, number)
            elif part := parts.get(number):
                self._each(line, part)
            elif number == last and not live:
                self._foot(line)
            else:
                self._each(line, _nothing if live else self._spare)

    # One line of all GPUs

    def _each(self, line: LineBuilder, write: Callable[[LineBuilder, Cell, Style], None]) -> None:
        """Write a part of every GPU; the gaps within a tile of several are filled."""
        for cell in self.cells:
            base = self._bases[cell.index]
            x = self.layout.x(cell.index)
            first, last = self._wide.get(cell.index, (cell.index, cell.index))
            self._start(line, x, base, base, within=cell.index > first)
            write(line, cell, base)
            within = cell.index < last
            self._fill(line, x + (self.layout.pitch if within else self.layout.cell), base, base, within=within)

    def _start(self, line: LineBuilder, x: int, base: Style, frame: Style, *, within: bool = False) -> None:
        """The left side of a GPU, which has no border within a card of several."""
        line.put(x, "")
        if self.layout.size.border:
            line.add(" " if within else self.pen.glyphs.box[5], base if within else self._border(frame))
        line.add(" ", base)

    def _fill(self, line: LineBuilder, end: int, base: Style, frame: Style, *, within: bool = False) -> None:
        border = self.layout.size.border and not within
        line.add(" " * (end - border - line.column), base)
        if border:
            line.add(self.pen.glyphs.box[5], self._border(frame))

    def _border(self, base: Style) -> Style:
        if base.hue is not None:
            return Style("component", base.hue, ground=base.ground)
        role = {"error": "error_border", "warning": "warning_border"}.get(base.ground or "", "border")
        return Style(role, ground=base.ground)  # type: ignore[arg-type]

    def _on(self, style: Style, base: Style) -> Style:
        if base.hue is None or style.hue is not None:
            return self.pen.on(style, base.ground)
        return style._replace(ground=base.ground, hue=base.hue)

    def _grounded(self, line: Line, base: Style) -> Line:
        """A meter on the tint of a hue."""
        if base.hue is None:
            return line
        return tuple(run if run.style.ground == "track" else Run(run.text, self._on(run.style, base)) for run in line)

    def _edge(self, line: LineBuilder, *, top: bool) -> None:
        """The number of each GPU with its temperature or what is wrong, or the border of a card."""
        for first, last in self._blocks():
            base = self._bases[first]
            if self.layout.size.border:
                self._card_edge(line, self.cells[first : last + 1], base, top)
            elif last > first:
                line.put(self.layout.x(first), " ", base)
                self._joined_numbers(line, first, last, base)
                line.add(" " * (self.layout.x(last) + self.layout.cell - line.column), base)
            else:
                self._number(line, self.cells[first], base)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        for cell in self.cells:
            first, last = self._wide.get(cell.index, (cell.index, cell.index))
            if cell.index == first:
                yield first, last

    def _number(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        x = self.layout.x(cell.index)
        line.put(x, " ", base)
        shown, right, style = self._title(cell, cell.number, self.inner)
        line.add(shown, self._on(style, base))
        beside = self._beside_title(cell, right, style)
        line.add(right.rjust(x + 1 + self.inner - line.column), self._on(beside, base))
        line.add(" " * (x + self.layout.cell - line.column), base)

    def _title(self, cell: Cell, name: str, room: int) -> tuple[str, str, Style]:
        """Number and sign at the left, what stands at the right, and the style."""
        if sign := cell.sign:
            words = f"{sign.text} {sign.words}"
            if len(name) + 1 + len(words) > room:
                words = sign.text
            if len(words) > 1 and room - len(name) - len(words) < 3:
                return f"{name} {words}"[:room], "", sign.style
            return name, words, sign.style
        style = NAME if cell.device.occupants else MUTED
        right = self._corner(cell)
        return name, right if len(name) + 1 + len(right) <= room else "", style

    def _beside_title(self, cell: Cell, right: str, style: Style) -> Style:
        return style if cell.sign else OK if right == self.pen.glyphs.done else FAINT

    def _corner(self, cell: Cell) -> str:
        """The temperature; while ranks start, how many are alive; in a plan, the sum of the shares."""
        if self.overlay is None:
            total = cell.device.total_share
            return "" if total is None or self.layout.size.names_left else f"{total:.2f}"
        if self.overlay.launching or self.overlay.state_on(cell.device.node, cell.index) in ("starting", "pending"):
            states = [self.overlay.state_of(one.component, one.rank) for one in cell.device.occupants]
            alive = states.count("alive")
            return "" if not states else self.pen.glyphs.done if alive == len(states) else f"{alive}/{len(states)}"
        if cell.sample is None or cell.sample.temperature is None or self.layout.size.names_left:
            return ""
        return f"{cell.sample.temperature:.0f}{self.pen.glyphs.degree}"

    def _joined_numbers(self, line: LineBuilder, first: int, last: int, base: Style) -> None:
        """`4 ─── 5 ─── 6 ─── 7`."""
        link = Style("component", base.hue, ground=base.ground)
        start = line.column - self.layout.x(first)
        for one, other in pairwise(range(first, last + 1)):
            line.add(self.cells[one].number, self._on(NAME, base))
            room = start + self.layout.x(other) - line.column
            line.add(f" {self.pen.glyphs.span * (room - 2)} " if room > 2 else " " * room, link)
        line.add(self.cells[last].number, self._on(NAME, base))

    def _card_edge(self, line: LineBuilder, cells: Sequence[Cell], base: Style, top: bool) -> None:
        """A border of one card; that of several GPUs has the titles of all."""
        box, border = self.pen.glyphs.box, self._border(base)
        x, width = self.layout.x(cells[0].index), self.layout.cell
        end = self.layout.x(cells[-1].index) + width - 1
        line.put(x, "")
        if not top:
            line.add(box[3] + box[4] * (end - line.column - 1) + box[2], border)
            return
        line.add(box[0], border)
        for cell in cells:
            line.add(box[4] * (self.layout.x(cell.index) + 1 - line.column), border)
            shown, right, style = self._title(cell, f"GPU {cell.number}", width - 6)
            line.add(f" {shown} ", self._on(style, base))
            beside = self._beside_title(cell, right, style)
            right = f" {right} " if right else ""
            line.add(box[4] * (self.layout.x(cell.index) + width - 1 - line.column - len(right)), border)
            line.add(right, self._on(beside, base))
        line.add(box[1], border)

    def _row(self, line: LineBuilder, number: int) -> None:
        """A line of residents."""
        pieces = [
            _Piece(first, last, slot.processes, number - self._top(slot))
            for slot in self.slots
            if self._covers(slot, number)
            for first, last in adjacent(slot.devices)
        ]
        taken = {index for piece in pieces for index in range(piece.first, piece.last + 1)}
        for first, last in self._blocks():
            if not taken.intersection(range(first, last + 1)):
                above = self._only(first, last)
                if above is not None and number > self._top(above):
                    pieces.append(_Piece(first, last, above.processes, number - self._top(above)))
                else:
                    pieces.append(_Piece(first, last, (), number - self.tops[0][0]))
        for piece in sorted(pieces, key=lambda one: one.first):
            self._resident(line, piece)

    def _only(self, first: int, last: int) -> RowSlot | None:
        """Of a planned tile of several GPUs, the only process on it: below, which rank it is."""
        found = [slot for slot in self.slots if first in slot.devices]
        return found[0] if self.overlay is None and (first, last) in self.joined and len(found) == 1 else None

    def _top(self, slot: RowSlot) -> int:
        return self.tops[slot.devices[0]][slot.row]

    def _covers(self, slot: RowSlot, number: int) -> bool:
        """Whether processes are on a line: in their row, or where shares are areas, as far down as theirs reaches."""
        tops = self.tops[slot.devices[0]]
        if not tops[slot.row] <= number:
            return False
        if number < tops[slot.row + 1]:
            return True
        # What is promised whole has no blanks at its end.
        whole = all((self.cells[index].device.total_share or 0.0) > WHOLE for index in slot.devices)
        return bool(self.layout.size.spread) and whole and slot.row + 2 == len(tops)

    def _resident(self, line: LineBuilder, piece: _Piece) -> None:
        """One process, a crowd or nobody; what looks as it did on an earlier drawing is not written again."""
        members = [self.processes[member] for member in piece.members]
        base = self._bases[piece.first] if piece.first == piece.last else self._base(piece.first, piece.last)
        line.put(self.layout.x(piece.first), "")
        key: tuple[object, ...] = (piece.first, piece.last, base, piece.below)
        if len(members) == 1:
            one = members[0]
            held = self.cells[piece.first].held.get((one.component, one.rank)) if self.layout.size.border else None
            state = self.overlay.state_of(one.component, one.rank) if self.overlay else None
            key = (one.component, one.rank, one.gone, state, self._seconds(one), held, *key)
        elif piece.below == 0 and not members:
            key = (not self.cells[piece.first].device.occupants, *key)
        known = self.layout.pieces.get(key) if len(members) < 2 else None
        if known is None:
            known = self._piece(members, piece, base)
            if len(members) < 2:
                self.layout.keep(key, known)
        line.extend(known, self.layout.x(piece.last) + self.layout.cell - line.column)

    def _piece(self, members: Sequence[Process], piece: _Piece, base: Style) -> Line:
        layout, below = self.layout, piece.below
        gone = self._gone(members)
        frame = base
        if members and not gone and base.ground in ("tile", None) and (piece.last > piece.first or layout.size.spread):
            base = self._tint(members[0])
            frame = frame if layout.size.border else base
        if len(members) == 1 and not (gone or below) and self._move(members[0]):
            base = Style("text", self.pen.marks[members[0].component].hue, ground="moved")
        line = LineBuilder()
        end = layout.x(piece.last) + layout.cell - layout.x(piece.first)
        self._start(line, 0, base, frame)
        room = end - 2 - 2 * layout.size.border
        if gone:
            self._departed(line, members, gone, 0 if below else room, base)
        elif below and members:
            if below < layout.size.per_resident:
                self._held(line, members, piece, room, base)
            elif below == layout.size.per_resident and piece.last > piece.first:
                if (piece.first, piece.last) in self.joined:
                    self._place_in_group(line, members[0], base)
                else:
                    self._joined_numbers(line, piece.first, piece.last, base)
            elif layout.size.spread and not self.pen.color:
                # Where there are no colours, the letter goes down its area.
                line.add(self.pen.marks[members[0].component].letter, self._letter(members[0].component, base))
        elif len(members) == 1:
            self._process(line, members[0], piece, room, base)
        elif members:
            self._crowd(line, members, room, base)
        elif not below and not self.cells[piece.first].device.occupants:
            line.add(f"{self.pen.glyphs.empty} free" if room > 5 else self.pen.glyphs.empty, self._on(FAINT, base))
        self._fill(line, end, base, frame)
        return tuple(line.runs)

    def _process(self, line: LineBuilder, process: Process, piece: _Piece, room: int, base: Style) -> None:
        """`A0     .80`, `R0  one process on 4 GPUs  1.0`, `R0 ▸ .20` where its other devices are elsewhere."""
        pen = self.pen
        start = line.column
        state = self.overlay.state_of(process.component, process.rank) if self.overlay else None
        letter, rank = pen.label(process.component, process.rank)
        rank_style = STATE_STYLES[state] if state in ("dead", "restarting", "stale") else TEXT
        fixed = pen.is_fixed(process.component, process.rank)
        number = (rank.text if fixed else f"{pen.glyphs.unfixed}{rank.text}") + (
            pen.glyphs.states[state] if state in ("dead", "restarting", "stale") else ""
        )
        right, right_style = self._beside(process, state, piece, room - len(letter.text) - pen.measure(number) + 1)
        number = pen.cut(number, room - len(letter.text))
        line.add(letter.text, self._letter(process.component, base, faint=state == "pending"))
        line.add(number, self._on(MUTED if not fixed else FAINT if state == "pending" else rank_style, base))
        left = room - (line.column - start)
        links = pen.glyphs.left * (process.devices[0] < piece.first) + pen.glyphs.right * (
            process.devices[-1] > piece.last
        )
        if links and left > len(links):
            line.add(f" {links}", self._letter(process.component, base))
            left -= 1 + len(links)
        group = pen.group_of(process.component, process.rank)
        size = f"one process on {piece.last - piece.first + 1} GPUs" if piece.last > piece.first else ""
        kind = group.rpartition("/")[2]
        for words in filter(None, (f"{group}  {size}".strip(), f"{kind}  {size}".strip(), group, kind)):
            width = pen.measure(words)
            if left > width + len(right) + 3:
                line.add(f"  {words}", self._on(BODY, base), 2 + width)
                left -= 2 + width
                break
        needed = state not in (None, "alive") or bool(self._move(process))
        if self._move(process) and len(right) > left > 0:
            right = right[0]  # at least the sign
        if len(right) < left or (left == len(right) and needed):
            line.add(" " * (left - len(right)), base)
            line.add(right, self._on(right_style, base))

    def _gone(self, members: Sequence[Process]) -> str:
        """Where the first of them went, or that they are removed; empty while they are here."""
        ends = self.pen.glyphs.ends
        if not members or members[0].gone:
            return members[0].gone if members else ""
        return ends if all(self._move(one) == ends for one in members) else ""

    def _departed(self, line: LineBuilder, processes: Sequence[Process], gone: str, room: int, base: Style) -> None:
        """`R0     →8`: who was here, struck out, and where it went."""
        if not room:
            return
        first, start = processes[0], line.column
        letter, rest = self.pen.crowd(first.component, [one.rank for one in processes], room)
        name = letter.text + (self.pen.label(first.component, first.rank)[1].text if len(processes) == 1 else rest.text)
        struck = self._on(FAINT, base)._replace(strike=True)
        line.add(self.pen.cut(name, room), struck)
        left = room - (line.column - start)
        if len(processes) == 1 and len(gone) <= left:
            line.add(" " * (left - len(gone)), base)
            line.add(gone, self._on(FAINT, base))

    def _move(self, process: Process) -> str:
        return self.pen.moves.get((process.component, process.rank), "")

    def _letter(self, component: str, base: Style, *, faint: bool = False) -> Style:
        style = self.pen.letter_style(component)
        return style._replace(ground=base.ground, bold=not faint)

    def _seconds(self, process: Process) -> int | None:
        """For how long a process has been starting, in whole seconds."""
        seconds = self.overlay.seconds_starting(process.component, process.rank) if self.overlay else None
        return None if seconds is None else int(seconds)

    def _beside(self, process: Process, state: ShownState | None, piece: _Piece, room: int) -> tuple[str, Style]:
        """The share and, on a card, the memory of a rank; or that it is not alive yet."""
        if state in ("starting", "pending"):
            sign, seconds = self.pen.glyphs.states[state], self._seconds(process)
            style = WARNING if seconds is not None and seconds >= SLOW else STATE_STYLES[state]
            long = sign if seconds is None else f"{sign} {seconds}s"
            return long if len(long) < room else sign, style
        if move := self._move(process):
            return move, NAME
        shown = self.layout.cell >= 8 and (self.layout.shares or len(process.devices) > 1)
        share = share_figure(process.share) if process.share is not None and shown else ""
        if not self.layout.size.border or (self.overlay is not None and state is None):
            return share, MUTED
        if self.overlay is None:
            return share or "n/a", MUTED if share else FAINT
        held = self.cells[piece.first].held.get((process.component, process.rank))
        figure = "dead" if state == "dead" else f"{held / GIB:.1f}G" if held else "n/a"
        apart = "" if not share else "  " if len(f"{share}  {figure:>5}") < room - 1 else " "
        return f"{share}{apart}{figure:>5}", ERROR if state == "dead" else MUTED

    def _held(self, line: LineBuilder, members: Sequence[Process], piece: _Piece, room: int, base: Style) -> None:
        """What a rank holds of a GPU's memory; in a plan, its share."""
        part = sum(one.share or 0.0 for one in members)
        cell = self.cells[piece.first]
        if self.overlay is None and all(one.share is None for one in members):
            return
        if self.overlay is not None:
            total = (cell.sample.memory_total if cell.sample else None) or 0
            held = sum(cell.held.get((one.component, one.rank), 0) for one in members)
            part = held / total if total else 0.0
        style = self.pen.style("component", members[0].component)
        line.extend(self._grounded(self.pen.thin(part, room, style, base.ground), base), room)

    def _crowd(self, line: LineBuilder, processes: Sequence[Process], room: int, base: Style) -> None:
        """`G 0–199 ×200`."""
        start = line.column
        state = self.overlay.worst_of((one.component, one.rank) for one in processes) if self.overlay else None
        sign = self.pen.state(state) if state not in (None, "alive") else None
        letter, rest = self.pen.crowd(
            processes[0].component, [one.rank for one in processes], room - 1 if sign else room
        )
        line.add(letter.text, self._letter(processes[0].component, base))
        line.add(rest.text, self._on(rest.style, base))
        if sign:
            line.add(sign.text, self._on(sign.style, base))
        if processes[0].share is not None and self.layout.cell >= 8:
            share = share_figure(sum(one.share or 0 for one in processes))
            left = room - (line.column - start)
            if left > len(share):
                line.add(" " * (left - len(share)), base)
                line.add(share, self._on(MUTED, base))

    # Parts of one GPU

    def _spare(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        """Below the residents of a plan: how much too much is promised, or which rank a process over several is."""
        if is_oversubscribed(cell.device):
            over = f"over {share_figure((cell.device.total_share or 0.0) - 1)}"
            line.add(over[: self.inner], self._on(ERROR, base))
            return
        ends = self._wide.get(cell.index)
        if ends and ends[0] == cell.index and (len(self.tops[0]) == 2 or not self._only(*ends)):
            # It continues over the next GPUs of the tile.
            self._place_in_group(line, self.joined[ends], base)

    def _place_in_group(self, line: LineBuilder, process: Process, base: Style) -> None:
        size = self.pen.plan.components[process.component].world_size
        line.add(f"rank {process.rank} of {size}", self._on(MUTED, base))

    def _foot(self, line: LineBuilder) -> None:
        """The shares in the order of the rows above; all of the width, the padding too."""
        width = self.layout.cell
        for cell in self.cells:
            ground = self._bases[cell.index].ground
            base = self._bases[cell.index]._replace(role="track")
            line.put(self.layout.x(cell.index), "")
            scale = width / max(cell.device.total_share or 0.0, 1.0)
            held, at = 0.0, 0
            ends = self._wide.get(cell.index, (cell.index, cell.index))
            gap = 1 if cell.index < ends[1] else 0
            for one in cell.device.occupants:
                held += one.share or 0.0
                upto = min(width, max(round(held * scale), at))
                sign = self.pen.glyphs.foot if self.pen.color else self.pen.marks[one.component].letter[0]
                fills = gap if upto == width and at < width else 0
                line.add(sign * (upto - at + fills), self.pen.style("component", one.component, ground))
                gap -= fills
                at = upto
            line.add(self.pen.glyphs.foot * (width - at) + " " * gap, base)

    def _percent(self, cell: Cell) -> float | None:
        measured = self.pen.memory.get((cell.device.node, cell.index))
        return measured.percent if measured else cell.sample.memory_percent if cell.sample else None

    def _measured(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        """`71.0 89%`, of a plan."""
        if measured := self.pen.memory.get((cell.device.node, cell.index)):
            used, percent = memory_figure(measured.used), f"{measured.percent:.0f}%"
            self._pair(line, used, percent if len(used) + len(percent) < self.inner else "", base, TEXT, MUTED)

    def _meter(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        percent = self._percent(cell)
        if percent is None:
            words = "" if self.overlay and self.overlay.launching else "n/a"
            line.add(words[: self.inner], self._on(FAINT, base))
        else:
            line.extend(
                self._grounded(self.pen.meter(percent, self.inner, base.ground, cell.unknown), base), self.inner
            )

    def _memory(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        """`71.0 89%`."""
        percent = self._percent(cell)
        alarming = cell.sign is not None and cell.sign.words == "mem"
        if percent is None or cell.sample is None:
            return
        used = memory_figure(cell.sample.memory_used)
        self._pair(line, used, f"{percent:.0f}%", base, WARNING if alarming else TEXT, WARNING if alarming else MUTED)

    def _load(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        """The load of the last seconds, then as it is."""
        sample = cell.sample
        if sample is None or self.overlay is None or (self.overlay.launching and sample.utilization is None):
            return
        load = "" if sample.utilization is None else f"{sample.utilization:.0f}%"
        width = self.inner - max(4, len(load) + 1)
        history = self.overlay.history
        if history is not None and width > 0:
            values = history.series(cell.device.node, cell.index, "utilization", last=2 * width)
            line.extend(self._grounded(self.pen.history(values, width, 1, base.ground)[0], base), width)
        else:
            line.add(" " * max(0, width), base)
        line.add(load.rjust(self.inner - max(0, width)), self._on(MUTED, base))

    def _memory_line(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        """`71.0 GiB  89%`, on a card."""
        percent = self._percent(cell)
        if percent is None or cell.sample is None:
            return
        used = memory_figure(cell.sample.memory_used)
        style = WARNING if cell.sign is not None and cell.sign.words == "mem" else TEXT
        line.add(used, self._on(style._replace(bold=True), base))
        line.add(" GiB", self._on(MUTED, base))
        line.add(f"{percent:.0f}%".rjust(self.inner - len(used) - 4), self._on(style, base))

    def _load_line(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        sample = cell.sample
        if sample is None or (sample.utilization is None and self.overlay is not None and self.overlay.launching):
            return
        load = "n/a" if sample.utilization is None else f"{sample.utilization:.0f}%"
        temperature = f"  {sample.temperature:.0f}{self.pen.glyphs.degree}" if cell.sign and sample.temperature else ""
        if len(f"load{temperature} {load}") > self.inner:
            temperature = ""
        self._pair(line, f"load{temperature}", load, base, MUTED, FAINT if sample.utilization is None else TEXT)

    def _history(self, cell: Cell, lines: int) -> list[Line]:
        history = self.overlay.history if self.overlay else None
        if history is None:
            return []
        base = self._bases[cell.index]
        values = history.series(cell.device.node, cell.index, "utilization", last=2 * self.inner)
        return [self._grounded(line, base) for line in self.pen.history(values, self.inner, lines, base.ground)]

    def _history_line(
        self, history: Sequence[Sequence[Line]], number: int, line: LineBuilder, cell: Cell, base: Style
    ) -> None:
        if lines := history[cell.index]:
            line.extend(lines[number], self.inner)

    def _unknown_process(self, line: LineBuilder, cell: Cell, base: Style) -> None:
        """`? 31877  6.2G`: the largest unknown process."""
        foreign = [one for one in (cell.sample.processes if cell.sample else ()) if one.kind in ("foreign", "gone")]
        if not foreign:
            return
        first = max(foreign, key=lambda one: one.memory or 0)
        more = f" +{len(foreign) - 1}" if len(foreign) > 1 else ""
        held = f"{first.memory / GIB:.1f}G" if first.memory else ""
        self._pair(line, f"? {first.pid}{more}", held, base, WARNING, WARNING)

    def _pair(self, line: LineBuilder, left: str, right: str, base: Style, style: Style, other: Style) -> None:
        """One text at the left, another at the right, if both fit."""
        left = left[: self.inner]
        line.add(left, self._on(style, base))
        room = self.inner - len(left)
        if right and len(right) < room + (room == len(right)):
            line.add(" " * (room - len(right)), base)
            line.add(right, self._on(other, base))


def _nothing(line: LineBuilder, cell: Cell, base: Style) -> None:
    """A blank line of a GPU."""
