"""The text being edited: one history for grid and text, what the file held, and how it is saved. No Textual here."""

from __future__ import annotations

import os
from dataclasses import dataclass

from placetui.document import recovery
from placetui.document.difference import unified_diff
from placetui.document.edit import Edited, attempt
from placetui.document.history import History
from placetui.document.save import NO_FILE, Conflict, FileStamp, NotSaved, Saved, save, stamp_of
from placetui.document.splice import Splice, difference
from placetui.placement.diff import diff_plans
from placetui.placement.diff_text import difference_lines
from placetui.placement.edit_types import Operation, Refusal
from placetui.tui.session import Session


@dataclass(frozen=True, slots=True)
class Review:
    """What a save would change."""

    text: list[str]
    """A unified difference of the two texts."""

    moves: list[str]
    """Who moves where."""


class Editor:
    """Edits of one file. The history's text is the truth; sessions follow from it."""

    def __init__(self, session: Session, *, write: bool, new: bool = False) -> None:
        """Start editing.

        Args:
            session: what is open.
            write: whether the opened file may be changed.
            new: whether the text is not in its file yet.
        """
        self.write = write
        """Whether the opened file may be changed."""

        self.path = os.path.abspath(session.file)
        self.stamp: FileStamp = stamp_of(session.file)
        self.history = History("" if new else session.text)
        if new:
            self.history.apply(Splice(0, 0, session.text), "new file")
        self._opened = session

    @property
    def dirty(self) -> bool:
        return self.history.dirty

    def do(self, session: Session, operation: Operation) -> Session | Refusal:
        """Make an edit, or say why not."""
        edited = self._attempt(session, operation)
        if isinstance(edited, Refusal):
            return edited
        self.history.apply(edited.splices, edited.label)
        return session.edited(edited)

    def preview(self, session: Session, operation: Operation) -> Session | Refusal:
        """What an edit would give; nothing is changed."""
        edited = self._attempt(session, operation)
        return edited if isinstance(edited, Refusal) else session.edited(edited)

    def _attempt(self, session: Session, operation: Operation) -> Edited | Refusal:
        if session.old:
            return Refusal("the file is broken, and the grid shows an earlier one", "correct its text first")
        return attempt(session.document, session.plan, operation, session.wishes)

    def type(self, session: Session, text: str) -> Session:
        """Take over a text that was typed."""
        splice = difference(self.history.text, text)
        if splice is None:
            return session
        self.history.apply(splice, "typing", typed=True)
        return session.with_text(self.history.text)

    def undo(self, session: Session) -> tuple[str, Session] | None:
        """Take the last step back: its label, and what is then; None when there is none."""
        label = self.history.undo_label
        text = self.history.undo()
        return None if text is None else (label or "", session.with_text(text))

    def redo(self, session: Session) -> tuple[str, Session] | None:
        """Do the last undone step again: its label, and what is then; None when there is none."""
        label = self.history.redo_label
        text = self.history.redo()
        return None if text is None else (label or "", session.with_text(text))

    def review(self, session: Session) -> Review:
        """What a save would change, against the file as it was read."""
        before = self._opened
        moves = [] if session.old else list(difference_lines(diff_plans(before.plan, session.plan)))
        return Review(unified_diff(before.text, self.history.text, os.path.basename(self.path)), moves)

    def save(self, session: Session, *, overwrite: Conflict | None = None) -> Saved | Conflict | NotSaved:
        """Write the opened file."""
        expected = self.stamp if overwrite is None else overwrite.stamp
        result = save(self.path, self.history.text, expected=expected, bom=session.document.bom)
        if isinstance(result, Saved):
            self._saved(session, result)
        return result

    def save_as(self, session: Session, path: str) -> Saved | Conflict | NotSaved:
        """Write a new file, which must not exist."""
        result = save(path, self.history.text, expected=NO_FILE, bom=session.document.bom)
        if isinstance(result, Saved):
            recovery.discard(self.path)
            self.path = os.path.abspath(path)
            self._saved(session, result)
        return result

    def against(self, conflict: Conflict) -> Review:
        """From what somebody else saved to this text."""
        return Review(unified_diff(conflict.theirs or "", conflict.mine, os.path.basename(self.path)), [])

    def take_theirs(self, session: Session, conflict: Conflict) -> Session:
        """Go on with what somebody else saved; undo brings this text back."""
        theirs = conflict.theirs or ""
        splice = difference(self.history.text, theirs)
        if splice is not None:
            self.history.apply(splice, "take the file as it is on disk")
        self.history.mark_saved()
        self.stamp = conflict.stamp
        taken = session.with_text(theirs)
        self._opened = taken
        return taken

    def reread(self, session: Session) -> None:
        """The file was read again, and nothing of ours was unsaved."""
        splice = difference(self.history.text, session.text)
        if splice is not None:
            self.history.apply(splice, "saved elsewhere")
        self.history.mark_saved()
        self.stamp = stamp_of(self.path)
        self._opened = session

    def _saved(self, session: Session, result: Saved) -> None:
        self.stamp = result.stamp
        self.history.mark_saved()
        self._opened = session
        recovery.discard(self.path)

    def discard(self) -> None:
        """Forget what is unsaved."""
        self.history = History(self._opened.text)
        recovery.discard(self.path)

    # What must not be lost

    def keep(self) -> None:
        """Keep unsaved work where a crash cannot reach it; nothing unsaved leaves nothing behind."""
        if self.dirty:
            recovery.keep(self.path, self.history.text, self.stamp.digest)
        else:
            recovery.discard(self.path)

    def lost_work(self) -> recovery.Unsaved | None:
        """Unsaved work of an earlier run."""
        found = recovery.find(self.path)
        return found if found is not None and found.text != self.history.text else None

    def changed_on_disk(self) -> bool:
        """Whether somebody else wrote the file since it was read or saved."""
        return stamp_of(self.path) != self.stamp
