"""A new file from a few questions, with a preview of its grid."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Label

from placetui.document import PlanRequest
from placetui.document.new_file import new_file
from placetui.frameworks.new_job import ADVICE, JobSize, Layout
from placetui.frameworks.registry import frameworks
from placetui.grid import Drawing, Pen, Run, clean
from placetui.grid.look.style import ERROR
from placetui.grid.panels.what_if import advice_lines
from placetui.grid.yaml_text import yaml_line
from placetui.placement.config.settings_section import MOST_GPUS, MOST_NODES
from placetui.placement.edits import Refusal
from placetui.placement.pools import Advice, Pools, advise, moved_border, pools_of
from placetui.placement.wording import count, plain
from placetui.tui.background import in_thread
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.session import Session
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.choices import Choices
from placetui.tui.widgets.field import Fields, TextField
from placetui.tui.widgets.panel import Panel, title_of
from placetui.tui.widgets.pool_border import PoolBorder
from placetui.tui.widgets.status_bar import StatusBar, TopLine

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
NEW_NAME = "placement.yaml"
FRAMES = 6
"""Lines of the borders of grid and file, the top line and the keys."""

LEAST_GRID = 9
"""Lines of the grid, however long the file is."""

UNWRITTEN = "nothing is written until you save"


@dataclass(frozen=True, slots=True)
class NewFile:
    """What the user wants."""

    file: str
    text: str


class NewFileScreen(Dialog[NewFile | None]):
    """Framework, layout and sizes; the grid that they give is shown below."""

    CHIP = "NEW"
    KEYS = (("enter", "open draft"), ("← →", "choose"), ("tab", "next row"), ("[ ]", "border"), ("escape", "cancel"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "border(-1)", "border", priority=True),
        Binding("right_square_bracket", "border(1)", "border", priority=True),
    ]

    def __init__(self, file: str, ascii: bool, letters: Mapping[str, str]) -> None:
        super().__init__("New file", ascii=ascii)
        self._request = PlanRequest(letters=letters)
        self._file = file or NEW_NAME
        self._pools: Pools | None = None

    def compose(self) -> ComposeResult:
        yield StatusBar()
        with VerticalScroll(classes="dialog -whole", can_focus=False):
            with Horizontal(classes="box", id="choices"):
                with Vertical(id="chosen"):
                    self._frameworks = [one for one in frameworks() if one.template]
                    yield Choices("framework", [one.title for one in self._frameworks], id="framework")
                    yield Choices("layout", LAYOUTS, id="layout")
                    with Fields():
                        yield from self._number("nodes", "nodes", "1")
                        yield from self._number("gpus", "GPUs per node", "8")
                    with Fields():
                        yield from self._number("training", "train GPUs", "")
                        yield from self._number("engine", "GPUs per engine", "1")
                    with Fields():
                        yield Label("file")
                        yield TextField(self._file, id="file", classes="-wide-field", compact=True)
                yield PoolBorder(id="split")
            with Horizontal(id="plans"):
                yield Panel(id="preview")
            with Horizontal(id="verdicts"):
                yield Panel(id="text")
                with Vertical(id="advised"):
                    yield Panel(id="advice")

    def _number(self, name: str, label: str, value: str) -> ComposeResult:
        yield Label(label)
        yield TextField(value, type="integer", id=name, compact=True, placeholder="half" if name == "training" else "")

    def on_mount(self) -> None:
        self.query_one("#framework").focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._preview)

    @on(Input.Changed)
    @on(Choices.Changed)
    def _answered(self) -> None:
        self._preview()

    @on(Input.Submitted)
    @on(Choices.Submitted)
    def _submitted(self) -> None:
        text, file = self._text(), self.query_one("#file", Input).value.strip()
        if isinstance(text, Refusal):
            self.notify(f"{text.reason}; {text.hint}" if text.hint else text.reason, severity="warning", markup=False)
        elif not file or os.path.lexists(os.path.expanduser(file)):
            self.notify(f"{file or 'nothing'} already exists; choose another name", severity="warning", markup=False)
            self.query_one("#file", Input).focus()
        else:
            self.dismiss(NewFile(os.path.expanduser(file), text))

    def _value(self, name: str, least: int, most: int) -> int | None:
        return self.query_one(f"#{name}", TextField).number(least, most)

    @property
    def _layout(self) -> Layout:
        return LAYOUTS[self.query_one("#layout", Choices).chosen]

    def _text(self) -> str | Refusal:
        nodes, gpus = self._value("nodes", 1, MOST_NODES), self._value("gpus", 1, MOST_GPUS)
        engine = self._value("engine", 1, MOST_NODES * MOST_GPUS)
        if nodes is None or gpus is None or engine is None:
            return Refusal(f"nodes must be a number from 1 to {MOST_NODES}, GPUs one up to {MOST_GPUS}")
        training = self._value("training", 1, MOST_NODES * MOST_GPUS)
        framework = self._frameworks[self.query_one("#framework", Choices).chosen]
        return new_file(self._layout, JobSize(nodes, gpus, training, engine), framework.name)

    def action_border(self, steps: int) -> None:
        """Give training fewer GPUs, or more."""
        if self._layout == "disaggregated" and self._pools is not None and self._pools.apart:
            training = self._value("training", 1, self._pools.total) or self._pools.training
            self.query_one("#training", Input).value = str(moved_border(self._pools, training, steps))

    @work(exclusive=True)
    async def _preview(self) -> None:
        text, palette = self._text(), GridPalette(self.app.theme_variables, color=not self.app.no_color)
        bar, preview = self.query_one(StatusBar), self.query_one("#preview", Panel)
        file = self.query_one("#file", Input).value
        bar.palette = palette
        bar.status = TopLine(file=file, note=UNWRITTEN, ascii=self._ascii)
        self.query_one("#choices").border_title = title_of("New file", None, "" if bar.display else UNWRITTEN)
        preview.set_class(isinstance(text, Refusal), "-trouble")
        if isinstance(text, Refusal):
            preview.border_title = title_of("Grid", "not possible", trouble=True)
            reasons = [plain(words) for words in (text.reason, text.hint) if words]
            preview.show([(Run(clean(words, self._ascii), ERROR),) for words in reasons], palette)
            return
        width, height, written = self.size.width - 4, self.size.height, text.splitlines()
        left = height - self.query_one("#choices").outer_size.height - len(written) - FRAMES
        room = max(LEAST_GRID, left)
        self.query_one("#text").styles.width = min(self.size.width * 3 // 5, max(map(len, written)) + 4)
        drawing, advice, pools = await in_thread(lambda: self._drawn(text, width, room), "preview")
        self._pools = pools
        ranks = count(sum(one.world_size for one in drawing.plan.components.values()), "rank")
        preview.border_title = title_of("Grid", None, f"{count(len(drawing.plan.nodes), 'node')}, {ranks}")
        lines = [*drawing.header(), *drawing.lines(0, room)]
        preview.show(lines, palette)
        self.query_one("#plans").styles.height = len(lines) + 2
        disaggregated = self._layout == "disaggregated"
        self.query_one(PoolBorder).divide(
            pools.training if pools.apart else None,
            pools.total,
            drawing.pen,
            palette,
            movable=disaggregated,
        )
        self.call_after_refresh(self._explain, drawing.pen, text, advice, palette)

    def _explain(self, pen: Pen, text: str, advice: Sequence[Advice], palette: GridPalette) -> None:
        """What the file says, and when to choose this layout."""
        written, panel = self.query_one("#text", Panel), self.query_one("#advice", Panel)
        written.border_title, panel.border_title = title_of("File"), title_of("Advice")
        written.show([yaml_line(line, pen.marks) for line in text.splitlines()[: written.room]], palette)
        points = [Advice("hint", ADVICE[self._layout]), *advice]
        panel.show(advice_lines(pen, points, panel.content_size.width, panel.room), palette)

    def _drawn(self, text: str, width: int, room: int) -> tuple[Drawing, list[Advice], Pools]:
        """In a thread: the grid that a file gives, and what follows from it."""
        plan = Session.of_text(NEW_NAME, text, self._request).plan
        drawing = Drawing(
            plan, ascii=self._ascii, color=not self.app.no_color, width=max(20, width), cell_width=cell_len
        )
        return drawing.fitted(room), advise(None, plan), pools_of(plan)
