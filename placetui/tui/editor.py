"""The text being edited: one history for grid and text, what the file held, and how it is saved. No Textual here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from placetui.document.edit import Edited, attempt
from placetui.document.history import EditHistory
from placetui.document.splice import Splice, difference, unified_diff
from placetui.document.storage import recovery
from placetui.document.storage.save import NO_FILE, Conflict, FileStamp, NotSaved, Saved, encoded, save, stamp_of
from placetui.placement.edits import Operation, Refusal
from placetui.tui.session import Session, what_if_applied

MOST_KEYS = 12
"""Keys that a person can press between two looks at the text."""


@dataclass(frozen=True, slots=True)
class Review:
    """What a save would change."""

    text: list[str]
    """A unified difference of the two texts."""

    moves: list[str]
    """Who moves where."""

    heading: str = ""
    """What to say above the moves, or instead of them."""


class Editor:
    """Edits of one file. The history's text is the truth; sessions follow from it."""

    def __init__(self, session: Session, *, write: bool, new: bool = False, recovers: bool = True) -> None:
        self._recovers = recovers
        """Whether unsaved work is kept, and what an earlier run kept is found."""

        self.write = write
        """Whether the opened file may be changed."""

        self.pictured = session.pictured
        """Whether the text was made from the cluster as it is, and is in no file yet."""

        self.path = os.path.abspath(session.file)
        # Of what was read, not of the file: somebody may have written it in between.
        self.stamp = NO_FILE if new else _stamp_of_text(session)
        self.history = EditHistory("" if new else session.text)
        if new:
            self.history.apply(Splice(0, 0, session.text), "new file")
        self._saved_as: Session | None = None if new else session
        """What the file holds, as far as we know; None when there is no file yet."""

        self._kept: str | None = None
        """The text of the unsaved work that we keep."""

    @property
    def dirty(self) -> bool:
        return self.history.dirty

    def do(self, session: Session, operation: Operation) -> Session | Refusal:
        """Make an edit, or say why not."""
        if session.text != self.history.text:
            # Its places would be those of another text.
            return Refusal("the grid does not show the text that is edited", "undo or redo shows it")
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
        if session.recorded:
            return Refusal("this is the record of a job, not a file", "o opens a file")
        if session.old:
            return Refusal("the file is invalid, and the grid shows the last valid one", "correct its text first")
        return attempt(session.document, session.plan, operation, session.plan_request)

    def type(self, session: Session, text: str) -> Session:
        splice = difference(self.history.text, text)
        if splice is None:
            return session
        removed = self.history.text[splice.start : splice.end]
        for keystroke in _keystrokes(splice, removed):
            self.history.apply(keystroke, "typing", typed=True)
        return session.with_text(self.history.text)

    def undo(self, session: Session) -> tuple[str, Session] | None:
        """Undo the last step: its label and the new session; None if there is none."""
        label = self.history.undo_label
        text = self.history.undo()
        return None if text is None else (label or "", session.with_text(text))

    def redo(self, session: Session) -> tuple[str, Session] | None:
        """Redo the last undone step: its label and the new session; None if there is none."""
        label = self.history.redo_label
        text = self.history.redo()
        return None if text is None else (label or "", session.with_text(text))

    def review(self, session: Session) -> Review:
        """What a save would change, against the file as read."""
        before = self._saved_as
        text = unified_diff(before.text if before else "", self.history.text, os.path.basename(self.path))
        if session.old:
            return Review(text, [], "the text is invalid: cannot tell which ranks move")
        if before is None:
            return Review(text, [], "a new file")
        from placetui.placement.diff import diff_plans, difference_lines

        found = diff_plans(before.plan, session.plan)
        if not found:
            return Review(text, [], "no rank moves")
        return Review(text, list(difference_lines(found)), "Changes")

    def save(self, session: Session, *, overwrite: Conflict | None = None) -> Saved | Conflict | NotSaved:
        expected = self.stamp if overwrite is None else overwrite.stamp
        result = save(self.path, self.history.text, expected=expected, bom=session.document.bom)
        if isinstance(result, Saved):
            self._saved(session, result)
        return result

    def save_as(self, session: Session, path: str) -> Saved | Conflict | NotSaved:
        """Write a new file, which must not exist."""
        result = save(path, self.history.text, expected=NO_FILE, bom=session.document.bom)
        if isinstance(result, Saved):
            self._forget()
            self.path = os.path.abspath(path)
            self.write, self.pictured = True, False  # the user has just made it, to be written
            self._saved(session, result)
        return result

    def against(self, conflict: Conflict) -> Review:
        """From what somebody else saved to this text."""
        text = unified_diff(conflict.theirs or "", conflict.mine, os.path.basename(self.path))
        return Review(text, [], "- theirs, + mine")

    def take_theirs(self, session: Session, conflict: Conflict) -> Session:
        """Continue with what someone else saved; undo restores this text."""
        theirs = conflict.theirs or ""
        self._replace(theirs, "reload the file from disk")
        self.history.mark_saved()
        self.stamp = conflict.stamp
        taken = session.with_text(theirs)
        self._saved_as = taken
        self._forget()
        return taken

    def reread(self, session: Session) -> None:
        """The file was read again, and nothing of ours was unsaved."""
        self._replace(session.text, "saved elsewhere")
        self.history.mark_saved()
        self.stamp = _stamp_of_text(session)
        self._saved_as = session

    def follow(self, session: Session) -> None:
        """The cluster that the text describes has changed: this is not an edit and cannot be undone."""
        self.history = EditHistory(session.text)
        self._saved_as = session

    def apply_what_if(self, session: Session) -> Session | Refusal:
        """Write into the text what was only tried."""
        if session.text != self.history.text or session.old:
            return Refusal("the grid does not show the text that is edited", "r shows it")
        applied = what_if_applied(session)
        if isinstance(applied, Refusal):
            return applied
        self._replace(applied.text, "what if")
        return applied

    def _replace(self, text: str, label: str) -> None:
        splice = difference(self.history.text, text)
        if splice is not None:
            self.history.apply(splice, label)

    def _saved(self, session: Session, result: Saved) -> None:
        self.stamp = result.stamp
        self.history.mark_saved()
        self._saved_as = session
        self._forget()

    def discard(self, session: Session) -> Session:
        """Discard unsaved changes; undo restores them while the file is open."""
        self._replace(self._saved_as.text if self._saved_as else "", "discard my changes")
        self._forget()
        return session.with_text(self.history.text)

    # What must not be lost

    def keep(self) -> None:
        """Keep unsaved work where a crash cannot reach it; nothing unsaved leaves nothing of ours behind."""
        if not self._recovers:
            return
        if self.dirty:
            if recovery.keep(self.path, self.history.text, self.stamp.digest):
                self._kept = self.history.text
        else:
            self._forget()

    def _forget(self) -> None:
        """Drop what we kept; what an earlier run kept and the user left for later stays, and what another one keeps."""
        if self._kept is not None:
            found = recovery.find(self.path)
            if found is not None and found.text == self._kept:
                recovery.discard(self.path)
            self._kept = None

    def lost_work(self) -> recovery.Unsaved | None:
        """Unsaved work of an earlier run."""
        found = recovery.find(self.path) if self._recovers else None
        return found if found is not None and found.text != self.history.text else None

    def moved_on(self, lost: recovery.Unsaved) -> bool:
        """Whether the file is another one than the one that unsaved work was made from."""
        return lost.base != self.stamp.digest

    def restore(self, session: Session, lost: recovery.Unsaved) -> Session:
        """Go on with unsaved work of an earlier run. If the file moved on since, saving will say so."""
        self._replace(lost.text, "restore unsaved work")
        self.stamp = FileStamp(lost.base)
        self._kept = lost.text
        return session.with_text(self.history.text)

    def is_gone(self) -> bool:
        return not os.path.lexists(self.path)

    def changed_on_disk(self) -> bool:
        """Whether somebody else wrote the file since it was read or saved."""
        return stamp_of(self.path) != self.stamp


def _keystrokes(splice: Splice, removed: str) -> Iterator[Splice]:
    """What a moment of typing was, key by key, so that it extends the previous step; a paste or a cut is one."""
    if len(removed) + len(splice.text) > MOST_KEYS or "\n" in removed + splice.text:
        yield splice
        return
    for end in range(splice.end, splice.start, -1):
        yield Splice(end - 1, end, "")
    for place, character in enumerate(splice.text, splice.start):
        yield Splice(place, place, character)


def _stamp_of_text(session: Session) -> FileStamp:
    return FileStamp.of(encoded(session.text, (session.written or session.document).bom))
