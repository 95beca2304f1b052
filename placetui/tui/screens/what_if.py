"""Try another topology, mode or layout; the file stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from placetui.placement.layouts import ADVICE, Layout
from placetui.placement.settings import MODES, MOST_GPUS, MOST_NODES
from placetui.tui.screens.dialog import Dialog

AS_WRITTEN = "as written"
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


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

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel")]

    def __init__(self, now: WhatIf, *, modes: bool, title: str = "what if") -> None:
        super().__init__()
        self._title = title
        self._now = now
        self._modes = (AS_WRITTEN, *MODES) if modes else (AS_WRITTEN,)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -tall", can_focus=False) as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "enter tries it, tab moves on, escape goes back"
            with Horizontal(classes="fields"):
                yield Label("nodes")
                yield Input(str(self._now.nodes), type="integer", id="nodes", compact=True)
                yield Label("GPUs per node")
                yield Input(str(self._now.gpus), type="integer", id="gpus", compact=True)
            with Horizontal(classes="lists"):
                with Vertical():
                    yield Label("layout", classes="heading")
                    yield OptionList(*(Option(name) for name in (AS_WRITTEN, *LAYOUTS)), id="layout")
                with Vertical():
                    yield Label("mode", classes="heading")
                    yield OptionList(*(Option(name) for name in self._modes), id="mode")
            yield Static("", id="advice")

    def on_mount(self) -> None:
        for field in self.query(Input):
            field.cursor_blink = False
        layouts = self.query_one("#layout", OptionList)
        layouts.highlighted = 0 if self._now.layout is None else 1 + LAYOUTS.index(self._now.layout)
        modes = self.query_one("#mode", OptionList)
        modes.highlighted = self._modes.index(self._now.mode) if self._now.mode in self._modes else 0
        self.query_one("#nodes", Input).focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list.id == "layout":
            layout = self._layout()
            advice = " ".join(ADVICE.values()) if layout is None else ADVICE[layout]
            self.query_one("#advice", Static).update(advice)

    def on_option_list_option_selected(self) -> None:
        self._try()

    def on_input_submitted(self) -> None:
        self._try()

    def _layout(self) -> Layout | None:
        highlighted = self.query_one("#layout", OptionList).highlighted or 0
        return LAYOUTS[highlighted - 1] if highlighted else None

    def _number(self, name: str, least: int, most: int) -> int | None:
        text = self.query_one(f"#{name}", Input).value
        number = int(text) if text.isdecimal() else -1
        if least <= number <= most:
            return number
        self.notify(f"{name} must be a number from {least} to {most}", severity="warning", markup=False)
        return None

    def _try(self) -> None:
        nodes, gpus = self._number("nodes", 1, MOST_NODES), self._number("gpus", 0, MOST_GPUS)
        if nodes is not None and gpus is not None:
            mode = self._modes[self.query_one("#mode", OptionList).highlighted or 0]
            self.dismiss(WhatIf(nodes, gpus, None if mode == AS_WRITTEN else mode, self._layout()))
