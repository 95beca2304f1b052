"""One line to find something in, or to filter a table by; hits show while it is typed."""

from __future__ import annotations

from typing import Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from placetui.tui.messages import FindClosed
from placetui.tui.widgets.field import TextField
from placetui.tui.widgets.panel import title_of


class Findable(Protocol):
    """A pane in which something can be found."""

    find_title: str
    """What finding is called there."""

    @property
    def find_examples(self) -> str:
        """What can be typed."""

    def begin_find(self) -> str:
        """What the field begins with."""

    def find_while_typing(self, text: str) -> str:
        """Show the hits of a text that is being typed; how many there are."""

    def search(self, text: str) -> None:
        """Find it."""

    def cancel_find(self) -> None:
        """Restore the view from before the search."""


class FindBar(Horizontal):
    """A field, and how many hits there are. It goes away when the focus leaves it."""

    def compose(self) -> ComposeResult:
        yield TextField(id="find", compact=True)
        yield Static("", id="find-says")

    def open(self, pane: Findable) -> None:
        """Begin to find something in a pane."""
        self._pane = pane
        self.border_title = title_of(pane.find_title, None, pane.find_examples)
        self.display = True
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = pane.begin_find()
        field.placeholder = "" if self.gutter.height else pane.find_examples  # a border says it already
        self.screen.set_focus(field)  # at once: what is typed next is to be found
        self._say("")

    def _say(self, words: str) -> None:
        self.query_one("#find-says", Static).update(Content(words), layout=False)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self._say(self._pane.find_while_typing(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.close()
        self._pane.search(event.value)

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.display:
            event.stop()
            self._pane.cancel_find()
            self.close()

    def on_descendant_blur(self) -> None:
        self.display = False

    def close(self) -> None:
        self.display = False
        self.post_message(FindClosed())
