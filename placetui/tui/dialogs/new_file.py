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
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from placetui.document import PlanRequest
from placetui.document.new_file import new_file
from placetui.frameworks.new_job import ADVICE, JobSize, Layout
from placetui.frameworks.registry import frameworks
from placetui.grid import Drawing, to_text
from placetui.placement.config.settings_section import MOST_GPUS, MOST_NODES
from placetui.placement.edits import Refusal
from placetui.placement.wording import plain
from placetui.tui.background import in_thread
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.session import Session
from placetui.tui.widgets.field import TextField

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
NEW_NAME = "placement.yaml"
MOST_LINES = 14
"""Lines of the preview."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """What the user wants."""

    file: str
    text: str


class NewFileScreen(Dialog[NewFile | None]):
    """Framework, layout and sizes; the grid that they give is shown below."""

    CHIP = "NEW"
    KEYS = (("enter", "create"), ("tab", "next field"), ("↑ ↓", "choose"), ("escape", "cancel"))

    def __init__(self, file: str, ascii: bool, letters: Mapping[str, str]) -> None:
        super().__init__("New file", ascii=ascii)
        self._request = PlanRequest(letters=letters)
        self._file = file or NEW_NAME

    def compose(self) -> ComposeResult:
        with self.box(VerticalScroll, "-tall", can_focus=False):
            with Horizontal(classes="fields"):
                yield Label("file")
                yield TextField(self._file, id="file", classes="-wide-field", compact=True)
            with Horizontal(classes="fields"):
                yield from self._number("nodes", "nodes", "1")
                yield from self._number("gpus", "GPUs per node", "8")
            with Horizontal(classes="fields"):
                yield from self._number("training", "training GPUs", "")
                yield from self._number("engine", "GPUs per engine", "1")
            with Horizontal(classes="lists"):
                with Vertical():
                    yield Label("framework", classes="heading")
                    yield OptionList(
                        *(Option(one.title, one.name) for one in frameworks() if one.template), id="framework"
                    )
                with Vertical():
                    yield Label("layout", classes="heading")
                    yield OptionList(*map(Option, LAYOUTS), id="layout")
            yield Static("", id="advice")
            yield Static("", id="preview", markup=False)

    def _number(self, name: str, label: str, value: str) -> ComposeResult:
        yield Label(label)
        yield TextField(value, type="integer", id=name, compact=True, placeholder="half" if name == "training" else "")

    def on_mount(self) -> None:
        for listing in self.query(OptionList):
            listing.highlighted = 0
        self.query_one("#nodes", Input).focus()
        self._preview()

    @on(Input.Changed)
    @on(OptionList.OptionHighlighted)
    def _answered(self) -> None:
        self._preview()

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
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
        return LAYOUTS[self.query_one("#layout", OptionList).highlighted or 0]

    def _text(self) -> str | Refusal:
        nodes, gpus = self._value("nodes", 1, MOST_NODES), self._value("gpus", 1, MOST_GPUS)
        engine = self._value("engine", 1, MOST_NODES * MOST_GPUS)
        if nodes is None or gpus is None or engine is None:
            return Refusal(f"nodes must be a number from 1 to {MOST_NODES}, GPUs one up to {MOST_GPUS}")
        training = self._value("training", 1, MOST_NODES * MOST_GPUS)
        chosen = self.query_one("#framework", OptionList)
        framework = chosen.get_option_at_index(chosen.highlighted or 0).id or ""
        return new_file(self._layout, JobSize(nodes, gpus, training, engine), framework)

    @work(exclusive=True)
    async def _preview(self) -> None:
        self.query_one("#advice", Static).update(Content(ADVICE[self._layout]))
        preview, text = self.query_one("#preview", Static), self._text()
        if isinstance(text, Refusal):
            preview.update(plain(f"{text.reason}\n{text.hint}").strip())
            return
        width = max(40, preview.size.width or self.size.width * 8 // 10)
        grid = await in_thread(lambda: self._grid(text, width), "preview")
        preview.update(grid)

    def _grid(self, text: str, width: int) -> str:
        """In a thread: the file, and the top of its grid."""
        plan = Session.of_text(NEW_NAME, text, self._request).plan
        nodes = range(min(8, len(plan.nodes)))
        drawing = Drawing(plan, "letters", ascii=self._ascii, width=width, cell_width=cell_len, nodes=nodes)
        return "\n".join([*text.splitlines()[:MOST_LINES], "", *to_text(drawing).splitlines()[:MOST_LINES]])
