"""Undo and redo. Only the current and the saved text are stored; others are restored by inverse splices."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from placetui.document.splice import Splice, apply, inverse

MOST_STEPS = 10_000
"""Steps that can be undone; older ones are dropped."""

MOST_CHARACTERS = 32 * 1024 * 1024
"""Characters that all steps together may store: many times the largest file."""


@dataclass(frozen=True, slots=True)
class Step:
    """One undoable action."""

    label: str
    forth: tuple[Splice, ...]
    back: tuple[Splice, ...]
    """In the order in which they are applied."""

    typed: bool = False
    """Whether adjacent typing is merged into it."""

    @property
    def weight(self) -> int:
        return sum(len(splice.text) for splice in (*self.forth, *self.back))


class EditHistory:
    """A text with its undo history."""

    def __init__(self, text: str, *, most_steps: int = MOST_STEPS, most_characters: int = MOST_CHARACTERS) -> None:
        self.text = text
        self._done: deque[Step] = deque()
        self._undone: list[Step] = []
        self._most_steps = most_steps
        self._most_characters = most_characters
        self._weight = 0
        self._saved = text

    def apply(self, splices: Splice | Iterable[Splice], label: str, *, typed: bool = False) -> str:
        """Apply splices as one step, and return the new text; undone steps are dropped.

        Positions refer to the text after the previous splice. Adjacent keystrokes (`typed`) of one label are one step.
        """
        forth = (splices,) if isinstance(splices, Splice) else tuple(splices)
        back: list[Splice] = []
        text = self.text
        for splice in forth:
            back.append(inverse(text, splice))
            text = apply(text, splice)
        if text == self.text:
            return text
        step = Step(label, forth, tuple(reversed(back)), typed)
        joins = typed and self._done and not self._undone and self.dirty  # not over a save
        merged = _merged(self._done[-1], step) if joins else None
        self._undone.clear()
        if merged is not None:
            self._weight -= self._done.pop().weight
            step = merged
        self.text = text
        self._done.append(step)
        self._weight += step.weight
        while len(self._done) > self._most_steps or (self._weight > self._most_characters and len(self._done) > 1):
            self._weight -= self._done.popleft().weight
        return text

    def undo(self) -> str | None:
        """Undo the last step; the new text, or None if there is nothing to undo."""
        if not self._done:
            return None
        step = self._done.pop()
        self._weight -= step.weight
        self._undone.append(step)
        return self._splice(step.back)

    def redo(self) -> str | None:
        """Redo the last undone step; the new text, or None if there is nothing to redo."""
        if not self._undone:
            return None
        step = self._undone.pop()
        self._weight += step.weight
        self._done.append(step)
        return self._splice(step.forth)

    def _splice(self, splices: Iterable[Splice]) -> str:
        for splice in splices:
            self.text = apply(self.text, splice)
        return self.text

    @property
    def undo_label(self) -> str | None:
        return self._done[-1].label if self._done else None

    @property
    def redo_label(self) -> str | None:
        return self._undone[-1].label if self._undone else None

    @property
    def labels(self) -> list[str]:
        return [step.label for step in self._done]

    def __len__(self) -> int:
        return len(self._done)

    @property
    def dirty(self) -> bool:
        return self.text != self._saved

    def mark_saved(self) -> None:
        """Record that the file contains the current text. The next keystroke starts a new step."""
        self._saved = self.text


def _merged(before: Step, after: Step) -> Step | None:
    """Two adjacent keystrokes as one step: typing, or deleting in either direction."""
    if not (before.typed and after.typed and before.label == after.label):
        return None
    if not len(before.forth) == len(after.forth) == 1:
        return None
    one, other = before.forth[0], after.forth[0]
    removed, more = before.back[0].text, after.back[0].text
    if len(other.text) + len(more) != 1 or "\n" in other.text + more:
        return None
    if other.text and other.start == one.start + len(one.text):
        forth = Splice(one.start, one.end, one.text + other.text)
        return Step(before.label, (forth,), (Splice(one.start, one.start + len(forth.text), removed),), True)
    if one.text or not more:
        return None
    if other.end == one.start:
        removed = more + removed
    elif other.start == one.start:
        removed = removed + more
    else:
        return None
    start = other.start
    forth = Splice(start, start + len(removed), "")
    return Step(before.label, (forth,), (Splice(start, start, removed),), True)
