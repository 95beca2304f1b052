"""What all dialogs have in common."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """A dialog that takes away itself alone, and once.

    Textual takes away the screen on top, whichever that is: the second of two keys that arrive together would close
    what is beneath.
    """

    _answer: tuple[ScreenResultType | None] | None = None
    """The first answer, which counts."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """End with this answer: at once if nothing covers the dialog, otherwise as soon as it is on top again."""
        if self._answer is None:
            self._answer = (result,)
        return super().dismiss(*self._answer) if self.is_active else AwaitComplete()

    def on_screen_resume(self) -> None:
        if self._answer is not None:
            self.dismiss()
