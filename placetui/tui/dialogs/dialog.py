"""What all dialogs have in common."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget

from placetui.tui.terminal.toasts import repaint_when_gone
from placetui.tui.widgets.key_bar import Chip, KeyBar, pressed


class Dialog(ModalScreen[ScreenResultType]):
    """A dialog that takes away itself alone, and once.

    Textual takes away the screen on top, whichever that is: the second of two keys that arrive together would close
    what is beneath.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel")]

    CHIP = ""
    """What the bottom line is about."""

    KEYS: tuple[tuple[str, str], ...] = (("escape", "cancel"),)
    """Keys and what they do, for the bottom line."""

    _answer: tuple[ScreenResultType | None] | None = None
    """The first answer, which counts."""

    def __init__(self, heading: str = "", *, ascii: bool = False) -> None:
        super().__init__()
        self._heading = heading
        self._ascii = ascii

    def box(self, kind: type[Widget] = Vertical, classes: str = "", **options: bool) -> Widget:
        """What all of it stands in, with the heading in its border."""
        box = kind(classes=f"dialog {classes}", **options)  # type: ignore[arg-type]
        box.border_title = Content(self._heading)
        box.styles.min_width = min(cell_len(self._heading) + 8, self.app.size.width)
        return box

    def on_mount(self) -> None:
        repaint_when_gone(self)
        self._bar = KeyBar({}, self.has_class("-ascii"))
        self._bar.chip = Chip(self.CHIP)
        self.name_keys(self.KEYS)
        self.mount(self._bar)

    def name_keys(self, keys: tuple[tuple[str, str], ...]) -> None:
        """Name these keys in the bottom line."""
        self._bar.hints = tuple(pressed(key, label) for key, label in keys)

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """End with this answer: at once if nothing covers the dialog, otherwise as soon as it is on top again."""
        if self._answer is None:
            self._answer = (result,)
        return super().dismiss(*self._answer) if self.is_active else AwaitComplete()

    def on_screen_resume(self) -> None:
        if self._answer is not None:
            self.dismiss()
