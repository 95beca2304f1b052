"""Undo, redo, save, and what must not be lost."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import work
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from placetui.document import recovery
from placetui.document.save import Conflict, NotSaved, Saved
from placetui.grid import clean
from placetui.placement.edit_types import Refusal
from placetui.tui.editing import Editor
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.choose import Answer, ChooseScreen
from placetui.tui.screens.save import SaveScreen
from placetui.tui.session import Session
from placetui.tui.themes import GridPalette

KEEP_AFTER = 0.5
"""Seconds from an edit until it is kept."""


class SaveActions(Screen[None]):
    """What happens to the text after an edit."""

    @dataclass
    class Edited(Message):
        """The text is another one now."""

    @dataclass
    class SavedAs(Message):
        """The text is in another file now."""

        path: str

    session: Session
    editor: Editor
    _palette: GridPalette
    _ascii: bool
    _keeping: Timer | None = None

    if TYPE_CHECKING:

        def show_session(self, session: Session) -> None: ...

        def settle(self) -> None: ...

        def _update_status(self) -> None: ...

    def _after_edit(self, session: Session) -> None:
        self.show_session(session)
        if self._keeping is None:
            self._keeping = self.set_timer(KEEP_AFTER, self._keep, name="keep unsaved work")
        self.post_message(self.Edited())

    def _keep(self) -> None:
        self._keeping = None
        self.editor.keep()

    def _refuse(self, refusal: Refusal) -> None:
        text = f"{refusal.reason}; {refusal.hint}" if refusal.hint else refusal.reason
        self.notify(clean(text, self._ascii), title="not possible", severity="warning", timeout=8, markup=False)

    def restore(self, lost: recovery.Unsaved) -> None:
        """Go on with unsaved work of an earlier run."""
        self.settle()
        self._after_edit(self.editor.restore(self.session, lost))

    # Undo and redo

    def action_undo(self) -> None:
        self.settle()
        self._step(self.editor.undo(self.session), "undone", "nothing to undo")

    def action_redo(self) -> None:
        self.settle()
        self._step(self.editor.redo(self.session), "done again", "nothing to redo")

    def _step(self, result: tuple[str, Session] | None, word: str, nothing: str) -> None:
        if result is None:
            self.notify(nothing, timeout=2, markup=False)
            return
        label, session = result
        self._after_edit(session)
        self.notify(f"{word}: {clean(label, self._ascii)}", timeout=2, markup=False)

    # Save

    @work
    async def action_save(self) -> None:
        """Save, after showing what changes."""
        await self.save()

    async def save(self) -> bool:
        """Save as the user wants it; whether it was saved."""
        self.settle()
        if not self.editor.dirty:
            self.notify("nothing has changed", timeout=2, markup=False)
            return True
        name = clean(os.path.basename(self.editor.path), self._ascii)
        title = f"save {name}" if self.editor.write else f"{name} is read-only: save as a new file"
        if self.editor.pictured:
            title = "save as a new file"
        review = self.editor.review(self.session)
        if not await self.app.push_screen_wait(SaveScreen(title, review, self._ascii)):
            return False
        if not self.editor.write:
            return await self._save_as()
        return await self._told(self.editor.save(self.session))

    async def _save_as(self) -> bool:
        stem, suffix = os.path.splitext(self.editor.path)
        question = "The opened file stays as it is (start with --write to change it). A new file:"
        wanted: str | None = f"{stem}-new{suffix}"
        if self.editor.pictured:
            question, wanted = "A new file:", self.editor.path
        while True:
            wanted = await self.app.push_screen_wait(AskScreen("save as", question, wanted or ""))
            if wanted is None:
                return False
            path = os.path.abspath(os.path.expanduser(wanted))
            result = self.editor.save_as(self.session, path)
            if isinstance(result, Saved):
                self.session = replace(self.session, file=path)
                self.post_message(self.SavedAs(path))
                return await self._told(result)
            if isinstance(result, NotSaved):
                return await self._told(result)
            question = "There is such a file already, and it stays as it is. Another name:"

    async def _told(self, result: Saved | Conflict | NotSaved) -> bool:
        """Say how a save went, and ask what to do about a file that somebody else changed."""
        while isinstance(result, Conflict):
            answer = await self._ask_about(result)
            if answer == "see":
                review = self.editor.against(result)
                await self.app.push_screen_wait(SaveScreen("theirs to mine", review, self._ascii, only_look=True))
            elif answer == "mine":
                result = self.editor.save(self.session, overwrite=result)
            else:
                if answer == "theirs":
                    self._after_edit(self.editor.take_theirs(self.session, result))
                return False
        if isinstance(result, NotSaved):
            self._refuse(Refusal(result.message, result.hint))
            return False
        self.notify(f"saved {clean(self.editor.path, self._ascii)}", markup=False)
        self._update_status()
        return True

    async def _ask_about(self, conflict: Conflict) -> str | None:
        gone = conflict.theirs is None and not conflict.stamp.exists
        answers = [
            Answer("mine", "keep mine, write the file again" if gone else "keep mine, overwrite the file", key="m"),
            Answer("theirs", "take theirs, forget my changes (undo brings them back)", key="t"),
            Answer("see", "see the difference first", key="d"),
        ]
        if conflict.theirs is None:
            answers = answers[:1]
        title = "somebody removed this file" if gone else "somebody else saved this file"
        question = f"The file {'is gone' if gone else 'changed on disk'} since it was read. Nothing was written."
        return await self.app.push_screen_wait(ChooseScreen(title, answers, question))
