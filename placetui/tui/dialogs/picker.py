"""Choose what to open: recent files, clusters, a new file, the samples, or a path."""

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
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.text import cut
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.options import Choice, ChoiceKind
from placetui.tui.widgets.field import TextField

ABOUT = "Type to filter, or type a path and press enter."
SECTIONS: dict[ChoiceKind, str] = {
    "recent": "Recent",
    "cluster": "Clusters",
    "new": "Without a file",
    "demo": "Without a file",
    "sample": "Samples",
}
"""Headings, in their order."""

NARROW = 100
"""Columns of a terminal of which the dialog leaves none."""

FRAME = 7
"""Columns of the dialog beside its list: border, padding and scroll bar."""

LEAST = 76
"""Columns of the dialog, however short the descriptions are: those that the banner needs."""

GAP = 3
"""Columns between a name and its description."""

ROOMY = 30
"""Lines of the terminal from which sections stand apart."""

ROOM_FOR_FRAMEWORK = 60
"""Columns from which the framework of a file is named."""

ENDS = (". ", "; ", ": ")
"""Where a description may end, if all of it does not fit."""


class PickerScreen(Dialog[str | None]):
    """A list of files; typing filters it, and a path can be typed too."""

    CHIP = "OPEN"
    KEYS = (("enter", "open"), ("↑ ↓", "choose"), ("pgup pgdn", "scroll"), ("escape", "cancel"))

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
        leaves: bool = False,
        find_clusters: Callable[[], Awaitable[list[Choice]]] | None = None,
    ) -> None:
        super().__init__("Open a file", ascii=ascii)
        self._start = start
        self.set_class(start, "-start")
        if start:
            self.KEYS = (*self.KEYS[:3], ("escape", "quit" if leaves else "back"))
        self._find_clusters = find_clusters
        """Looks for clusters on this machine, which takes a moment."""

        self.touched = False
        """Whether the user has begun to choose: then nothing else is opened."""

        self._choices = list(choices)
        self._rows: list[Choice | None] = []
        """What stands in each line of the list; None: a heading."""

    def compose(self) -> ComposeResult:
        if self._start:
            note = "" if self._find_clusters is None else "Looking for a Ray cluster"
            yield Static(self._banner(note), id="banner")
        with self.box(classes="-tall"):
            yield Static(ABOUT, id="picker-says", classes="muted", markup=False)
            yield TextField(placeholder="path of a placement file", compact=True)
            yield OptionList()

    def _banner(self, note: str) -> Text:
        """The name, what this is, and something to know."""
        colors = self.app.theme_variables
        text = Text()
        for role in ("actor", "rollout", "reward") if not self._ascii else ():
            text.append("▌", f"{colors[f'component-{role}']} on {colors['grid-white']}")
        text.append(" placetui ", f"bold {colors['grid-ground']} on {colors['grid-white']}")
        if note:
            text.append(f"   {clean(note, self._ascii)}", colors["grid-muted"])
        text.append("\nWhich process of a training job runs on which GPU of a Ray cluster.", colors["grid-muted"])
        return text

    def say(self, note: str) -> None:
        """Say something beside the name."""
        for banner in self.query("#banner").results(Static):
            banner.update(self._banner(note))

    def on_mount(self) -> None:
        self._fill("")
        if self._find_clusters is not None:
            self._add_clusters(self._find_clusters)

    @work
    async def _add_clusters(self, find: Callable[[], Awaitable[list[Choice]]]) -> None:
        found = await find()
        self.say("" if found else "No Ray cluster was found. Pass --address HOST:PORT.")
        if found:
            chosen = self._highlighted
            self._choices[:0] = found
            self._fill(self.query_one(Input).value.strip())
            if chosen in self._rows and self.touched:
                self.query_one(OptionList).highlighted = self._rows.index(chosen)

    @property
    def _highlighted(self) -> Choice | None:
        at = self.query_one(OptionList).highlighted
        return None if at is None else self._rows[at]

    def on_resize(self) -> None:
        chosen = self._highlighted
        self._fill(self.query_one(Input).value.strip())
        if chosen in self._rows:
            self.query_one(OptionList).highlighted = self._rows.index(chosen)

    def _options(self, shown: Sequence[Choice]) -> Iterator[tuple[Choice | None, Option]]:
        """The choices in columns, under headings."""
        colors = self.app.theme_variables
        muted, faint = colors["grid-muted"], colors["grid-faint"]
        named = {choice: clean(choice.name, self._ascii) for choice in shown}
        chips, column, room = self._columns()
        heading = ""
        for choice in shown:
            if SECTIONS[choice.kind] != heading:
                heading = SECTIONS[choice.kind]
                space = "\n" if self.size.height >= ROOMY and choice is not shown[0] else ""
                text = Text(f"{space}{heading}", f"bold {muted}")
                if choice.kind not in ("new", "demo"):
                    text.append(f" {sum(SECTIONS[one.kind] == heading for one in shown)}", faint)
                yield None, Option(text, disabled=True)
            text = Text("  ", no_wrap=True)
            if chips and choice.framework:
                text.append(f" {choice.framework:<{chips - 4}} ", f"{colors['grid-body']} on {colors['grid-raised']}")
            text.append(" " * (2 + chips - text.cell_len))
            text.append(named[choice] + " " * (column + GAP - cell_len(named[choice])), "bold")
            text.append(self._description(choice, room), muted)
            yield choice, Option(text)

    def _columns(self) -> tuple[int, int, int]:
        """Columns of the frameworks, the names and the descriptions, of all choices: typing moves nothing.

        The dialog is as wide as the longest description makes it.
        """
        chips = max((cell_len(choice.framework) for choice in self._choices), default=0)
        chips = chips + 4 if chips and self.size.width >= ROOM_FOR_FRAMEWORK else 0
        column = max((cell_len(clean(choice.name, self._ascii)) for choice in self._choices), default=0)
        wanted = max((cell_len(self._about(choice)) for choice in self._choices), default=0)
        taken = FRAME + 2 + chips + column + GAP
        for one in self.query(".dialog, #banner"):
            one.styles.max_width = max(LEAST, taken + wanted)
        return chips, column, (self.size.width if self.size.width < NARROW else self.size.width * 9 // 10) - taken

    def _about(self, choice: Choice) -> str:
        """Where a recent file is, and what a file shows."""
        about = clean(choice.about, self._ascii).replace("`", "")
        if choice.kind == "recent":
            home, folder = os.path.expanduser("~"), os.path.dirname(choice.path)
            folder = "~" + folder.removeprefix(home) if folder == home or folder.startswith(f"{home}/") else folder
            about = "  ".join(filter(None, (clean(folder, self._ascii), about)))
        return about

    def _description(self, choice: Choice, room: int) -> str:
        """As much of it as there is room for, up to where a sentence can end."""
        about = self._about(choice)
        if cell_len(about) <= room:
            return about
        ends = (about.rfind(end, 0, max(0, room)) for end in ENDS)
        end = next((at for at in ends if at >= room // 2), -1)
        return about[:end] if end > 0 else cut(about, max(0, room), ellipsis=glyphs(self._ascii).ellipsis)

    def _fill(self, words: str) -> None:
        found = [one for one in self._choices if words.lower() in f"{one.path} {one.framework} {one.about}".lower()]
        sections = list(SECTIONS)
        rows = list(self._options(sorted(found, key=lambda one: sections.index(one.kind))))
        self._rows = [choice for choice, _ in rows]
        listing = self.query_one(OptionList)
        listing.set_options(option for _, option in rows)
        files = [number for number, one in enumerate(self._rows) if one and one.kind not in ("new", "demo")]
        listing.highlighted = files[0] if files else 1 if rows else None
        nothing = words and not found and not os.path.isfile(os.path.expanduser(words))
        says = "No file in the list matches, and none has this path." if nothing else ABOUT
        self.query_one("#picker-says", Static).update(says)

    def action_move(self, where: str) -> None:
        """Move in the list while the field keeps the focus."""
        self.touched = True
        getattr(self.query_one(OptionList), f"action_{where}")()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.touched |= bool(event.value)
        self._fill(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        typed = event.value.strip()
        if typed and os.path.isfile(os.path.expanduser(typed)):
            self.dismiss(os.path.expanduser(typed))
        elif (chosen := self._highlighted) is not None:
            self.dismiss(chosen.path)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if (chosen := self._rows[event.option_index]) is not None:
            self.dismiss(chosen.path)
