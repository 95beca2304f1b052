"""A new file from a few questions, with a preview of its grid."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from placetui.document import PlanRequest
from placetui.document.new_file import new_file
from placetui.frameworks.new_job import ADVICE, JobSize, Layout
from placetui.frameworks.registry import frameworks
from placetui.grid import Drawing, Run, clean
from placetui.grid.look.style import BODY, ERROR
from placetui.placement.config.settings_section import MOST_GPUS, MOST_NODES
from placetui.placement.edits import Refusal
from placetui.placement.wording import count, plain
from placetui.tui.background import in_thread
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.session import Session
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.choices import Choices
from placetui.tui.widgets.field import TextField
from placetui.tui.widgets.panel import Panel, title_of

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
NEW_NAME = "placement.yaml"


@dataclass(frozen=True, slots=True)
class NewFile:
    """What the user wants."""

    file: str
    text: str


class NewFileScreen(Dialog[NewFile | None]):
    """Framework, layout and sizes; the grid that they give is shown below."""

    CHIP = "NEW"
    KEYS = (("enter", "create"), ("← →", "choose"), ("tab", "next row"), ("escape", "cancel"))

    def __init__(self, file: str, ascii: bool, letters: Mapping[str, str]) -> None:
        super().__init__("New file", ascii=ascii)
        self._request = PlanRequest(letters=letters)
        self._file = file or NEW_NAME

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -whole", can_focus=False):
            with Vertical(classes="box") as box:
                box.border_title = title_of("New file", None, "nothing is written until you save")
                self._frameworks = [one for one in frameworks() if one.template]
                yield Choices("framework", [one.title for one in self._frameworks], id="framework")
                yield Choices("layout", LAYOUTS, id="layout")
                with Horizontal(classes="fields"):
                    yield from self._number("nodes", "nodes", "1")
                    yield from self._number("gpus", "GPUs per node", "8")
                with Horizontal(classes="fields"):
                    yield from self._number("training", "train GPUs", "")
                    yield from self._number("engine", "GPUs per engine", "1")
                with Horizontal(classes="fields"):
                    yield Label("file")
                    yield TextField(self._file, id="file", classes="-wide-field", compact=True)
                yield Static("", id="advice")
            with Horizontal(id="plans"):
                yield Panel(id="text")
                yield Panel(id="preview")

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

    @work(exclusive=True)
    async def _preview(self) -> None:
        self.query_one("#advice", Static).update(Content(ADVICE[self._layout]))
        written, preview, text = self.query_one("#text", Panel), self.query_one("#preview", Panel), self._text()
        palette = GridPalette(self.app.theme_variables, color=not self.app.no_color)
        written.border_title = title_of("File")
        preview.set_class(isinstance(text, Refusal), "-trouble")
        if isinstance(text, Refusal):
            preview.border_title = title_of("Grid", "not possible", trouble=True)
            reasons = [plain(words) for words in (text.reason, text.hint) if words]
            preview.show([(Run(clean(words, self._ascii), ERROR),) for words in reasons], palette)
            return
        drawing = await in_thread(lambda: self._grid(text, preview.content_size.width, preview.room), "preview")
        ranks = count(sum(one.world_size for one in drawing.plan.components.values()), "rank")
        preview.border_title = title_of("Grid", None, f"{count(len(drawing.plan.nodes), 'node')}, {ranks}")
        written.show([(Run(line, BODY),) for line in text.splitlines()[: written.room]], palette)
        preview.show([*drawing.header(), *drawing.lines(0, preview.room)], palette)

    def _grid(self, text: str, width: int, room: int) -> Drawing:
        """In a thread: the grid that a file gives."""
        plan = Session.of_text(NEW_NAME, text, self._request).plan
        return Drawing(plan, ascii=self._ascii, width=max(20, width), cell_width=cell_len).fitted(room)
