"""Try another topology, mode or layout; the file stays as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, cast, get_args

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label

from placetui.document.splice import unified_diff
from placetui.frameworks.new_job import ADVICE, Layout
from placetui.frameworks.registry import framework_of
from placetui.grid import DENSITIES, Drawing, Line, Pen, Run, caption, clean, plain, to_text
from placetui.grid.look.style import FAINT, MUTED, NAME
from placetui.grid.moves import Moves
from placetui.grid.panels.what_if import PlanComparison, advice_lines, verdict_lines, verdict_title
from placetui.grid.pen import Compared
from placetui.grid.yaml_text import yaml_line
from placetui.observe.history import MemoryUse
from placetui.placement.config.settings_section import MOST_GPUS, MOST_NODES
from placetui.placement.diff import Difference
from placetui.placement.edits import Refusal
from placetui.placement.plan import Plan
from placetui.placement.pools import Advice, moved_border
from placetui.placement.wording import count
from placetui.placement.wording import plain as plain_words
from placetui.tui.background import in_thread
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.session import Session, what_if_applied
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.choices import Choices
from placetui.tui.widgets.content import content_of
from placetui.tui.widgets.field import Fields, TextField
from placetui.tui.widgets.panel import Panel, title_of
from placetui.tui.widgets.pool_border import PoolBorder
from placetui.tui.widgets.status_bar import StatusBar, TopLine

if TYPE_CHECKING:
    from placetui.tui.app import Dashboard

AS_WRITTEN = "as written"
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
WITHOUT_MOVES = ("letters", "heat")
"""Densities that do not show where ranks move."""

LEAST_VERDICT = 8
"""Lines that are left to the verdict where more detailed plans need the rest."""

LEAST_PLAN = 6
"""Lines of a plan in letters, for which verdict and advice scroll."""

LEAST_PANEL = 6
"""Lines of verdict and advice, for which what is above them scrolls."""

MOST_VERDICT = 20
"""Lines that verdict and advice take from plans that could use them."""

LEAST_ASIDE = 53
"""Columns of verdict and advice beside plans that stand below each other."""

ROOM_FOR_CHANGE = 36
"""Lines of a terminal from which on it may have room for the difference of the text."""

LEAST_CHANGE, MOST_CHANGE = 4, 16
"""Lines from which on the difference of the text is shown, and those that plans leave to it if they can."""

CONTEXTS = (60, 12, 8, 5, 3)
"""Lines around each difference of the text: the first number for which there is room."""

FEW_NODES = 64
"""Nodes up to which plans can be drawn as tiles in any terminal."""

BORDER_KEYS = ("[ ]", "border")
UNCHANGED = "nothing changes until you apply it"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What the user wants to try."""

    nodes: int
    gpus: int
    mode: str | None = None
    """None: what the file says."""

    layout: Layout | None = None
    """None: as written."""

    training: int | None = None
    """GPUs for training when disaggregated; None for what the framework gives it."""


Where: TypeAlias = Literal["beside", "below", "aside"]
"""The plans beside each other, or below each other; `aside`: below each other, and the verdict at their right."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Where both plans stand, and how many columns and lines each drawing has."""

    name: Where

    width: int
    height: int

    def drawn(self, plans: Sequence[Drawing]) -> list[Drawing]:
        """Both plans alike, in the most detailed density that fits."""
        fitted = [one.change(width=self.width).fitted(self.height) for one in plans]
        density = max((one.density for one in fitted), key=DENSITIES.index)
        return [one.change(density=density, spare=min(one.spare for one in fitted)) for one in fitted]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a what-if comes to; worked out in a thread."""

    session: Session
    comparison: PlanComparison
    moves: tuple[Moves, Moves]
    """Who goes, and who came."""

    text: str | Refusal
    """Of the file once the what-if is applied, or why that is not possible; as it is where there is no room for it."""


def _silent(outcome: Outcome) -> Outcome:
    """Without the moves in words, where the plans show them."""
    return replace(outcome, comparison=replace(outcome.comparison, moves=()))


class WhatIfScreen(Dialog[WhatIf | None]):
    """Nodes, GPUs per node, mode and layout; the border between training and generation."""

    CHIP = "WHAT IF"
    KEYS = (
        ("enter", "apply"),
        ("← →", "choose"),
        ("tab", "next row"),
        BORDER_KEYS,
        ("y", "copy"),
        ("x", "export"),
        ("escape", "cancel"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "border(-1)", "border", priority=True),
        Binding("right_square_bracket", "border(1)", "border", priority=True),
        Binding("y", "copy", "copy", priority=True),
        Binding("x", "export", "export", priority=True),
    ]

    def __init__(
        self,
        now: WhatIf,
        modes: Sequence[str],
        before: Session,
        tried: Callable[[WhatIf], Session],
        measured: Callable[[], Mapping[tuple[int, int], MemoryUse]],
        *,
        ascii: bool,
    ) -> None:
        super().__init__(ascii=ascii)
        self._now = now
        self._modes = (AS_WRITTEN, *modes)
        self._before = before
        self._tried = tried
        """What the session would be; called in a thread."""

        self._measured = measured
        """The peak memory of each GPU; called in a thread."""

        self._training = now.training
        self._divided = now.layout, now.nodes, now.gpus
        """What the border is of."""

        self._outcome: Outcome | None = None
        self._shown: Sequence[Drawing] = ()

    def compose(self) -> ComposeResult:
        yield StatusBar()
        with VerticalScroll(classes="dialog -whole", can_focus=False):
            with Horizontal(classes="box", id="choices"):
                with Vertical(id="chosen"):
                    now = self._now
                    layout = 0 if now.layout is None else 1 + LAYOUTS.index(now.layout)
                    layouts = LAYOUTS if framework_of(self._before.plan).arrange is not None else ()
                    yield Choices("layout", (AS_WRITTEN, *layouts), layout, id="layout")
                    mode = self._modes.index(now.mode) if now.mode in self._modes else 0
                    yield Choices("mode", self._modes, mode, id="mode")
                    with Fields():
                        yield Label("nodes")
                        yield TextField(str(now.nodes), type="integer", id="nodes", compact=True)
                        yield Label("GPUs per node")
                        yield TextField(str(now.gpus), type="integer", id="gpus", compact=True)
                yield PoolBorder(id="split")
            with Vertical(id="compared"):
                with Horizontal(id="plans"):
                    yield Panel(id="before")
                    yield Panel(id="after")
                with Horizontal(id="verdicts"):
                    yield Panel(id="verdict")
                    with Vertical(id="advised"):
                        yield Panel(id="advice")
                        yield Panel(id="change")

    def on_mount(self) -> None:
        self.query_one("#layout").focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._answered)

    @on(Choices.Changed)
    @on(Input.Changed)
    def _chosen(self) -> None:
        """Another layout or size begins with its own border."""
        wanted = self._wanted()
        if wanted is not None and (wanted.layout, wanted.nodes, wanted.gpus) != self._divided:
            self._divided = wanted.layout, wanted.nodes, wanted.gpus
            self._training = None
        self._answered()

    def _answered(self) -> None:
        if (wanted := self._wanted()) is not None:
            self._compare(wanted)

    @work(exclusive=True)
    async def _compare(self, wanted: WhatIf) -> None:
        outcome = self._outcome = await in_thread(lambda: self._work_out(wanted), "what if")
        bar, box, words = self.query_one(StatusBar), self.query_one("#choices"), caption(self._before.plan)
        bar.palette = self._palette
        bar.status = TopLine(
            file=self._before.file,
            topology=clean(words.replace("×", "x") if self._ascii else words, self._ascii),
            marks=("what if",),
            note=UNCHANGED,
            ascii=self._ascii,
        )
        box.border_title = title_of("What if", None, "" if bar.display else UNCHANGED)
        self.name_keys(tuple(one for one in self.KEYS if self._movable or one != BORDER_KEYS))
        pools, pen = outcome.comparison.pools[1], self._pen(outcome.comparison.before)
        training = wanted.training or (pools.training if pools.apart else None)
        self.query_one(PoolBorder).divide(training, pools.total, pen, self._palette, movable=self._movable)
        self.call_after_refresh(self._show_plans, outcome)

    def _work_out(self, wanted: WhatIf) -> Outcome:
        """In a thread: both plans compared, and what would be written."""
        after = self._tried(wanted)
        comparison = PlanComparison.of(self._before.plan, after.plan, self._measured())
        written = self.size.height >= ROOM_FOR_CHANGE and after.tried and not after.errors
        applied = what_if_applied(after) if written else after
        leaving, coming = (Moves(comparison.difference, side, ascii=self._ascii) for side in ("before", "after"))
        return Outcome(after, comparison, (leaving, coming), applied if isinstance(applied, Refusal) else applied.text)

    # The border between training and generation

    def action_border(self, steps: int) -> None:
        """Give training fewer GPUs, or more; half of them where both pools did not fit."""
        if self._outcome is None or not self._movable:
            return
        pools = self._outcome.comparison.pools[1]
        if self._training is None and not pools.apart:
            self._training = moved_border(pools, pools.total // 2, 0)
        else:
            self._training = moved_border(pools, self._training or pools.training, steps)
        self._answered()

    @property
    def _movable(self) -> bool:
        """Whether training can be given other GPUs than generation."""
        return self._layout() == "disaggregated"

    # What it comes to

    def _pen(self, plan: Plan) -> Pen:
        return Pen(plan, self._ascii, cell_len, color=not self.app.no_color)

    @property
    def _palette(self) -> GridPalette:
        return GridPalette(self.app.theme_variables, color=not self.app.no_color)

    def _show_plans(self, outcome: Outcome) -> None:
        compared, plans = self.query_one("#compared"), self.query_one("#plans")
        arrangement, drawings = self._arranged(outcome)
        self._shown = drawings
        for name in ("below", "aside"):
            compared.set_class(arrangement.name == name, f"-{name}")
        written = [_trimmed([*one.header(), *one.lines(0, arrangement.height)]) for one in drawings]
        heights = [len(lines) + 2 for lines in written]
        aside, stacked = arrangement.name == "aside", arrangement.name != "beside"
        lines = sum(heights) if stacked else max(heights)
        plans.styles.width = arrangement.width + 4 if aside else "1fr"
        plans.styles.height = "1fr" if aside else lines
        self.query_one("#verdict").styles.height = self._verdict_height(outcome) if aside else "1fr"
        compared.styles.min_height = lines if aside else lines + LEAST_PANEL
        for name, drawing, shown, height in zip(("before", "after"), drawings, written, heights, strict=True):
            self.query_one(f"#{name}").styles.height = height if arrangement.name == "below" else "1fr"
            self._entitle(name, drawing, outcome.comparison.difference)
            self.query_one(f"#{name}", Panel).show(shown, self._palette)
        self.call_after_refresh(self._judge, outcome)

    def _judge(self, outcome: Outcome) -> None:
        """Say whether it fits, who moves, and what speaks for it, in the room that the plans leave."""
        comparison, problems, palette = outcome.comparison, outcome.session.problems, self._palette
        pens = self._pen(comparison.before), self._pen(comparison.after)
        panel = self.query_one("#verdict", Panel)
        panel.border_title = content_of(verdict_title(pens[1], comparison, problems), palette)
        panel.set_class(bool(outcome.session.errors), "-trouble")
        panel.show(verdict_lines(pens, comparison, problems, panel.content_size.width, panel.room), palette)
        self._advise(outcome, pens[1])

    def _advise(self, outcome: Outcome, pen: Pen) -> None:
        """Points for and against; below them, where there is room, what would be written."""
        advised, panel, change = (self.query_one(name) for name in ("#advised", "#advice", "#change"))
        lines = advice_lines(pen, self._points(outcome), advised.size.width - 4, advised.size.height - 2)
        room = advised.size.height - len(lines) - 4
        text = self._change_lines(outcome.text, pen, room) if room >= LEAST_CHANGE else []
        change.display = bool(text)
        panel.styles.height = len(lines) + 2 if change.display else "1fr"
        for name, title, shown in (("#advice", "Advice", lines), ("#change", "File", text)):
            panel = self.query_one(name, Panel)
            panel.border_title = title_of(title, None, "" if title == "Advice" else "once applied")
            panel.show(shown, self._palette)

    def _points(self, outcome: Outcome) -> list[Advice]:
        """What speaks for and against, and what speaks for a layout in general."""
        layout = self._layout()
        general = [ADVICE[layout]] if layout is not None else list(ADVICE.values())
        points = [one for one in outcome.comparison.advice if not one.detail]
        return points + [Advice("hint", words) for words in general]

    def _change_lines(self, text: str | Refusal, pen: Pen, room: int) -> list[Line]:
        """What changes in the file, with as much of what stays around it as there is room for."""
        if isinstance(text, Refusal):
            words = f"Cannot be written: {plain_words(text.reason)}"
            return [(Run(clean(words, self._ascii), MUTED),)]
        lines: list[str] = []
        for context in CONTEXTS:
            lines = unified_diff(self._before.text, text, "", context)[2:]
            if len(lines) <= room:
                break
        styles = {"-": MUTED, "@": FAINT}
        shown: list[Line] = []
        for line in (clean(line, self._ascii) for line in lines[:room]):
            if (style := styles.get(line[:1])) is not None:
                shown.append((Run(line, style),))
            elif line[:1] == "+":
                shown.append((Run("+", NAME), *yaml_line(line[1:], pen.marks, key=NAME, value=NAME)))
            else:
                shown.append(yaml_line(line, pen.marks))
        return shown

    def _arranged(self, outcome: Outcome) -> tuple[Arrangement, list[Drawing]]:
        """Beside each other if that shows who moves, else where the plans show most; of what shows as much, the first.

        Only if nothing else shows who moves do they go without what was measured, and then take lines that verdict and
        advice need.
        """
        memory = outcome.comparison.memory
        drawings = self._drawings(outcome, memory)
        width, height = self.size.width, self.query_one(".dialog").size.height
        height -= self.query_one("#choices").outer_size.height
        words, least = max(self._needed(_silent(outcome), width * 3 // 5, width * 2 // 5)), LEAST_VERDICT
        change = 2 + len(self._change_lines(outcome.text, self._pen(outcome.comparison.after), MOST_CHANGE))
        fewest = min(LEAST_PLAN, 1 + max(len(one.plan.nodes) for one in drawings))

        def found(name: Where, columns: int, lines: int) -> tuple[Arrangement, list[Drawing]]:
            arrangement = Arrangement(name, max(20, columns - 4), max(fewest, lines - 2))
            return arrangement, arrangement.drawn(drawings)

        def roomy() -> list[tuple[Arrangement, list[Drawing]]]:
            beside = found("beside", width // 2, height - words)
            shorter = found("beside", width // 2, height - words - change)
            if shorter[1][0].density == beside[1][0].density:
                beside = shorter
            if beside[1][0].density not in WITHOUT_MOVES or width <= 2 * LEAST_ASIDE:
                return [beside]
            return [beside, found("aside", width - LEAST_ASIDE, height // 2)]

        def is_silent() -> bool:
            return all(shown[0].density in WITHOUT_MOVES for _, shown in choices)

        choices = roomy()
        if memory and is_silent():
            drawings = self._drawings(outcome, {})
            choices += roomy()
        if is_silent():
            choices += found("beside", width // 2, height - least), found("below", width, (height - least) // 2)
        return min(choices, key=lambda one: DENSITIES.index(one[1][0].density))

    def _drawings(self, outcome: Outcome, memory: Mapping[tuple[int, int], MemoryUse]) -> list[Drawing]:
        """Both plans; the figures that were measured belong to the first, and to the second if that is the same."""
        plans = outcome.comparison.before, outcome.comparison.after
        rows = [max(rows) for rows in zip_longest(*map(_residents, plans), fillvalue=0)]
        figures = memory, {} if outcome.comparison.difference else memory
        return [
            Drawing(
                plan,
                ascii=self._ascii,
                color=not self.app.no_color,
                cell_width=cell_len,
                compared=Compared(moves, measured, bool(memory), rows),
            )
            for plan, moves, measured in zip(plans, outcome.moves, figures, strict=True)
        ]

    def _needed(self, outcome: Outcome, verdict: int, advice: int) -> tuple[int, int]:
        """Lines that verdict and advice take in so many columns, with their borders."""
        comparison, problems = outcome.comparison, outcome.session.problems
        pens = self._pen(comparison.before), self._pen(comparison.after)
        words = verdict_lines(pens, comparison, problems, verdict - 2, MOST_VERDICT)
        points = advice_lines(pens[1], self._points(outcome), advice - 4, MOST_VERDICT)
        return 2 + len(words), 2 + len(points)

    def _verdict_height(self, outcome: Outcome) -> int:
        """Beside plans, which show who moves: the verdict says it too in the lines that advice does not need."""
        room = self.query_one("#compared").size.height
        least, _ = self._needed(_silent(outcome), LEAST_ASIDE, LEAST_ASIDE)
        verdict, advice = self._needed(outcome, LEAST_ASIDE, LEAST_ASIDE)
        return min(room - LEAST_PANEL, max(least, min(verdict, room - advice)))

    def _entitle(self, name: str, drawing: Drawing, difference: Difference) -> None:
        """Say in the border of a plan what it is, and what its signs mean."""
        panel, plan = self.query_one(f"#{name}", Panel), drawing.plan
        ranks = count(sum(one.world_size for one in plan.components.values()), "rank")
        tried = self._layout() if name == "after" else self._now.layout
        nodes = len(plan.nodes)
        resized = [count(nodes, "node")] * (name == "after" and nodes != len(self._before.plan.nodes))
        about = ", ".join([tried or AS_WRITTEN, *resized, ranks])
        title = title_of(name.capitalize(), None, about)
        moving = difference.counts["moves"]
        if name == "after" and moving:
            title = Content.assemble(title, (f"  {moving} move", "bold $grid-text"))
        panel.border_title = title
        pen, letters = drawing.pen, drawing.density == "letters"
        key = [f"{'tinted' if pen.color else 'underlined'}: moves"] * (letters and bool(moving))
        signs = pen.moves_key() if drawing.density != "heat" else ()
        key += [f"{sign.text} {text}" for sign, text in signs if not letters or sign.text == pen.glyphs.ends]
        key += [f"{pen.glyphs.eighths[-1]} peak memory"] * (drawing.density not in WITHOUT_MOVES and bool(pen.memory))
        panel.border_subtitle = Content("   ".join(key))

    # Taking it along

    def _exported(self) -> str:
        if self._outcome is None:
            return ""
        comparison, problems = self._outcome.comparison, self._outcome.session.problems
        pens = self._pen(comparison.before), self._pen(comparison.after)
        parts = [f"{name}\n{to_text(drawing)}" for name, drawing in zip(("Before", "After"), self._shown, strict=True)]
        verdict = [verdict_title(pens[1], comparison, problems), *verdict_lines(pens, comparison, problems, 100, 100)]
        advice = advice_lines(pens[1], comparison.advice, 100, 100)
        parts += ["\n".join(plain(line).rstrip() for line in lines) for lines in (verdict, advice) if lines]
        return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._exported())
        self.notify("copied before and after, if the terminal supports OSC 52; x saves them to a file", markup=False)

    @work
    async def action_export(self) -> None:
        from placetui.tui.shot import stable

        picture = stable(self.app.export_screenshot(title=self._before.file, simplify=True))
        stem = os.path.splitext(os.path.basename(self._before.file))[0] or "what-if"
        question = "File name; .svg draws a picture, anything else text."
        name = await self.app.push_screen_wait(AskScreen("Export", question, f"{stem}-what-if.svg"))
        if name is not None:
            text = picture if name.endswith(".svg") else self._exported()
            cast("Dashboard", self.app).write_new(name, text)

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
        layout = self._layout()
        training = self._training if layout == "disaggregated" else None
        return WhatIf(nodes, gpus, None if mode == AS_WRITTEN else mode, layout, training)


def _residents(plan: Plan) -> list[int]:
    """The most rows of residents of each node; nothing of plans that are never drawn as tiles."""
    drawing = Drawing(plan)
    return [drawing.residents(node) for node in range(len(plan.nodes))] if len(plan.nodes) <= FEW_NODES else []


def _trimmed(lines: list[Line]) -> list[Line]:
    """Without blank lines at the end; what has a ground is not blank."""
    while lines and not plain(lines[-1]).strip() and all(run.style.ground is None for run in lines[-1]):
        lines.pop()
    return lines
