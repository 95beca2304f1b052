"""Choose a file: recent ones and the samples, or a path."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from placetui.grid import clean
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.options import Choice
from placetui.tui.widgets.field import TextField

ABOUT = "Type to filter, or a path and enter."


class PickerScreen(Dialog[str | None]):
    """A list of files; typing filters it, and a path can be typed too."""

    CHIP = "OPEN"
    KEYS = (("enter", "open"), ("↑ ↓", "choose"), ("escape", "cancel"))

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('cursor_up')", "up", show=False),
        Binding("down", "move('cursor_down')", "down", show=False),
        Binding("pageup", "move('page_up')", "page up", show=False),
        Binding("pagedown", "move('page_down')", "page down", show=False),
    ]

    def __init__(
        self,
        choices: Sequence[Choice],
        ascii: bool,
        *,
        start: bool = False,
        find_clusters: Callable[[], Awaitable[list[Choice]]] | None = None,
    ) -> None:
        super().__init__("placetui" if start else "Open a file", ascii=ascii)
        self._start = start
        self.set_class(start, "-start")
        self._find_clusters = find_clusters
        """Looks for clusters on this machine, which takes a moment."""

        self._choices = list(choices)
        self._shown = list(choices)

    def compose(self) -> ComposeResult:
        with self.box(classes="-tall"):
            if self._start:
                yield Static(self._banner(""), id="banner")
            yield Static(ABOUT, id="picker-says", classes="muted", markup=False)
            yield TextField(placeholder="path of a placement file", compact=True)
            yield OptionList()

    def _banner(self, note: str) -> Text:
        """The name, what this is, and something to know."""
        colors = self.app.theme_variables
        text = Text()
        for role in ("actor", "rollout", "reward"):
            text.append("# " if self._ascii else "▌", colors[f"component-{role}"])
        text.append(" placetui\n", "bold")
        text.append("Which process of a training job runs on which GPU of a Ray cluster.", colors["grid-muted"])
        if note:
            text.append(f"\n{clean(note, self._ascii)}", colors["grid-muted"])
        return text

    def on_mount(self) -> None:
        if self._start:
            nothing_below = len(self.app.screen_stack) == 2
            self.KEYS = (*self.KEYS[:2], ("escape", "quit" if nothing_below else "back"))
        self._fill("")
        if self._find_clusters is not None:
            self._add_clusters(self._find_clusters)

    @work
    async def _add_clusters(self, find: Callable[[], Awaitable[list[Choice]]]) -> None:
        found = await find()
        if found:
            listing = self.query_one(OptionList)
            chosen = None if listing.highlighted is None else self._shown[listing.highlighted]
            self._choices[:0] = found
            self._fill(self.query_one(Input).value.strip())
            if chosen in self._shown:
                listing.highlighted = self._shown.index(chosen)
        else:
            note = "No Ray cluster was found. Pass --address HOST:PORT."
            self.query_one("#banner", Static).update(self._banner(note))

    def _lines(self) -> Iterator[Text]:
        """The choices in columns; what kind they are stands beside the first of a kind."""
        files = [choice.path if choice.kind in ("recent", "sample") else "" for choice in self._shown]
        names = [clean(os.path.basename(file), self._ascii) for file in files]
        width = max((cell_len(name) for name in names), default=0) + 2
        kind = ""
        for choice, name in zip(self._shown, names, strict=True):
            text = Text(no_wrap=True)
            text.append(f"{'' if choice.kind == kind else choice.kind:<9}", "dim")
            kind, about = choice.kind, clean(choice.about, self._ascii).replace("`", "")
            if not name:
                text.append(about, "bold")
            else:
                where = clean(os.path.dirname(choice.path), self._ascii) if choice.kind == "recent" else ""
                text.append(name + " " * (width - cell_len(name)), "bold")
                text.append("  ".join(filter(None, (where, about))), "dim")
            yield text

    def _fill(self, words: str) -> None:
        self._shown = [choice for choice in self._choices if words.lower() in f"{choice.path} {choice.about}".lower()]
        listing = self.query_one(OptionList)
        listing.set_options(map(Option, self._lines()))
        files = [number for number, choice in enumerate(self._shown) if choice.kind in ("recent", "sample")]
        listing.highlighted = files[0] if files else 0 if self._shown else None
        nothing = words and not self._shown and not os.path.isfile(os.path.expanduser(words))
        says = "No file in the list matches, and none has this path." if nothing else ABOUT
        self.query_one("#picker-says", Static).update(says)

    def action_move(self, where: str) -> None:
        """Move in the list while the field keeps the focus."""
        getattr(self.query_one(OptionList), f"action_{where}")()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        typed = event.value.strip()
        if typed and os.path.isfile(os.path.expanduser(typed)):
            self.dismiss(os.path.expanduser(typed))
        elif self._shown:
            highlighted = self.query_one(OptionList).highlighted
            self.dismiss(self._shown[highlighted or 0].path)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index].path)
