"""Try another topology, mode or layout; the file stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from placetui.frameworks.new_job import ADVICE, Layout
from placetui.grid import DENSITIES, Drawing, Line, Run, clean
from placetui.grid.look.glyphs import Glyphs, glyphs
from placetui.grid.look.style import BODY, ERROR, MUTED, NAME, WARNING
from placetui.placement.config.settings_section import MOST_GPUS, MOST_NODES
from placetui.placement.diff import Difference, RankPosition, diff_plans, difference_lines
from placetui.placement.plan import GPU, Plan
from placetui.placement.wording import count, plain
from placetui.tui.background import in_thread
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.session import Session
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.choices import Choices
from placetui.tui.widgets.field import TextField
from placetui.tui.widgets.panel import Panel, title_of

AS_WRITTEN = "as written"
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
WITHOUT_MOVES = ("letters", "heat")
"""Densities that do not show who moves."""

LEAST_VERDICT = 8
"""Lines that are left to the verdict below plans that stand below each other."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What the user wants to try."""

    nodes: int
    gpus: int
    mode: str | None = None
    """None: what the file says."""

    layout: Layout | None = None
    """None: as written."""


class WhatIfScreen(Dialog[WhatIf | None]):
    """Nodes, GPUs per node, mode and layout."""

    CHIP = "WHAT IF"
    KEYS = (("enter", "apply"), ("← →", "choose"), ("tab", "next row"), ("escape", "cancel"))

    def __init__(
        self, now: WhatIf, modes: Sequence[str], before: Session, tried: Callable[[WhatIf], Session], *, ascii: bool
    ) -> None:
        super().__init__(ascii=ascii)
        self._now = now
        self._modes = (AS_WRITTEN, *modes)
        self._before = before
        self._tried = tried
        """What the session would be; called in a thread."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -whole", can_focus=False):
            with Vertical(classes="box", id="choices") as box:
                box.border_title = title_of("What if", None, "nothing changes until you apply it")
                now = self._now
                layout = 0 if now.layout is None else 1 + LAYOUTS.index(now.layout)
                yield Choices("layout", (AS_WRITTEN, *LAYOUTS), layout, id="layout")
                mode = self._modes.index(now.mode) if now.mode in self._modes else 0
                yield Choices("mode", self._modes, mode, id="mode")
                with Horizontal(classes="fields"):
                    yield Label("nodes")
                    yield TextField(str(now.nodes), type="integer", id="nodes", compact=True)
                    yield Label("GPUs per node")
                    yield TextField(str(now.gpus), type="integer", id="gpus", compact=True)
            with Horizontal(id="plans"):
                yield Panel(id="before")
                yield Panel(id="after")
            with Horizontal(id="verdicts"):
                yield Panel(id="verdict")
                with Vertical(classes="box", id="advised") as box:
                    box.border_title = title_of("Advice")
                    yield Static("", id="advice")

    def on_mount(self) -> None:
        self.query_one("#layout").focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._answered)

    @on(Choices.Changed)
    @on(Input.Changed)
    def _answered(self) -> None:
        layout = self._layout()
        advice = " ".join(ADVICE.values()) if layout is None else ADVICE[layout]
        self.query_one("#advice", Static).update(advice)
        if (wanted := self._wanted()) is not None:
            self._show_moves(wanted)

    @work(exclusive=True)
    async def _show_moves(self, wanted: WhatIf) -> None:
        after = await in_thread(lambda: self._tried(wanted), "what if")
        difference = await in_thread(lambda: diff_plans(self._before.plan, after.plan), "what if")
        plans = self.query_one("#plans")
        stacked, drawings = self._drawings(after, *moves_between(difference, glyphs(self._ascii)))
        plans.set_class(stacked, "-stacked")
        heights = [self._draw(name, drawing) for name, drawing in zip(("before", "after"), drawings, strict=True)]
        plans.styles.height = sum(heights) if stacked else max(heights)
        for name, lines in zip(("before", "after"), heights, strict=True):
            self.query_one(f"#{name}").styles.height = lines if stacked else max(heights)
        self.call_after_refresh(self._judge, after, difference)

    def _judge(self, after: Session, difference: Difference) -> None:
        """Say whether it fits, and who moves, in the room that the plans leave."""
        moves = list(difference_lines(difference)) or ["no rank moves"]
        figures = difference.counts
        fits = not after.errors
        panel = self.query_one("#verdict", Panel)
        panel.border_title = title_of("Verdict", None if fits else "does not fit", "fits" if fits else "", trouble=True)
        panel.set_class(not fits, "-trouble")
        lines: list[Line] = []
        for problem in after.problems[:2]:
            style = ERROR if problem.severity == "error" else WARNING
            lines.append((Run(clean(plain(problem.message), self._ascii), style),))
        parts = [(figures["stays"], "stay"), (figures["moves"], "move"), (figures["appears"], "added")]
        parts.append((figures["vanishes"], "removed"))
        lines.append(tuple(run for number, word in parts if number for run in _figure(number, word)))
        room = max(1, panel.room - len(lines))
        shown = moves if len(moves) <= room else [*moves[: room - 1], f"and {len(moves) - room + 1} more"]
        lines += [(Run(clean(line, self._ascii), BODY),) for line in shown]
        panel.show(lines, self._palette)

    @property
    def _palette(self) -> GridPalette:
        return GridPalette(self.app.theme_variables, color=not self.app.no_color)

    def _drawings(
        self, after: Session, leaving: Mapping[tuple[str, int], str], coming: Mapping[tuple[str, int], str]
    ) -> tuple[bool, list[Drawing]]:
        """Both plans in the most detailed density that fits; below each other if only then they show who moves."""
        width, height = self.size.width, self.size.height - self.query_one("#choices").outer_size.height - 1
        found: list[tuple[bool, list[Drawing]]] = []
        beside, below = (False, width // 2, height * 2 // 3), (True, width, (height - LEAST_VERDICT) // 2)
        for stacked, columns, lines in (beside, below):
            whole = (
                Drawing(one.plan, ascii=self._ascii, width=max(20, columns - 4), cell_width=cell_len, moves=moves)
                for one, moves in ((self._before, leaving), (after, coming))
            )
            fitted = [one.fitted(max(6, lines - 2)) for one in whole]
            density = max((one.density for one in fitted), key=DENSITIES.index)
            found.append((stacked, [one.change(density=density) for one in fitted]))
            if density not in WITHOUT_MOVES:
                return found[-1]
        return min(found, key=lambda one: DENSITIES.index(one[1][0].density))

    def _draw(self, name: str, drawing: Drawing) -> int:
        """Draw a plan into its panel; how many lines that takes."""
        panel, plan, signs = self.query_one(f"#{name}", Panel), drawing.plan, glyphs(self._ascii)
        ranks = count(sum(one.world_size for one in plan.components.values()), "rank")
        panel.border_title = title_of(name.capitalize(), None, f"{count(len(plan.nodes), 'node')}, {ranks}")
        words = {
            signs.goes: "moves to this device",
            signs.came: "moves from this device",
            signs.ends: "removed",
            "+": "added",
        }
        shown = set() if drawing.density in WITHOUT_MOVES else {move[0] for move in drawing.pen.moves.values()}
        panel.border_subtitle = Content("   ".join(f"{sign} {text}" for sign, text in words.items() if sign in shown))
        lines = [*drawing.header(), *drawing.lines(0, max(6, self.size.height * 2 // 3))]
        while lines and not lines[-1]:
            lines.pop()
        panel.show(lines, self._palette)
        return len(lines) + 2

    @on(Choices.Submitted)
    @on(Input.Submitted)
    def _try(self) -> None:
        wanted = self._wanted()
        if wanted is None:
            words = f"nodes must be a number from 1 to {MOST_NODES}, GPUs one from 0 to {MOST_GPUS}"
            self.notify(words, severity="warning", markup=False)
        else:
            self.dismiss(wanted)

    def _layout(self) -> Layout | None:
        chosen = self.query_one("#layout", Choices).chosen
        return LAYOUTS[chosen - 1] if chosen else None

    def _wanted(self) -> WhatIf | None:
        nodes = self.query_one("#nodes", TextField).number(1, MOST_NODES)
        gpus = self.query_one("#gpus", TextField).number(0, MOST_GPUS)
        if nodes is None or gpus is None:
            return None
        mode = self._modes[self.query_one("#mode", Choices).chosen]
        return WhatIf(nodes, gpus, None if mode == AS_WRITTEN else mode, self._layout())


def _figure(number: int, word: str) -> Line:
    return Run(f"{number} ", NAME), Run(f"{word}  ", MUTED)


def moves_between(
    difference: Difference, signs: Glyphs
) -> tuple[dict[tuple[str, int], str], dict[tuple[str, int], str]]:
    """By component and rank, what is written beside it before (`→8`, `−`) and after (`←0`, `+`)."""
    leaving: dict[tuple[str, int], str] = {}
    coming: dict[tuple[str, int], str] = {}
    for one in difference.components:
        for move in one.moves:
            leaving[one.component, move.rank] = f"{signs.goes}{_number(difference.after, move.after)}"
            coming[one.component, move.rank] = f"{signs.came}{_number(difference.before, move.before)}"
        leaving.update({(one.component, rank): signs.ends for rank, _ in one.vanishes})
        coming.update({(one.component, rank): "+" for rank, _ in one.appears})
    return leaving, coming


def _number(plan: Plan, position: RankPosition) -> str:
    """The first device of a rank, counted over all nodes; of other hardware nothing."""
    if position.kind != GPU:
        return ""
    return str(sum(node.gpus for node in plan.nodes[: position.node]) + position.devices[0])
