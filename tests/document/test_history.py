from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from placetui.document.history import EditHistory
from placetui.document.splice import Splice


def test_undo_and_redo_with_labels() -> None:
    history = EditHistory("actor: 0-7\n")
    history.apply(Splice(7, 10, "8-15"), "move actor to 8-15")
    history.apply([Splice(0, 5, "trainer"), Splice(9, 9, " ")], "rename")
    assert history.text == "trainer:  8-15\n"
    assert (history.undo_label, history.redo_label, len(history)) == ("rename", None, 2)
    assert history.undo() == "actor: 8-15\n"
    assert history.redo_label == "rename"
    assert history.undo() == "actor: 0-7\n"
    assert history.undo() is None
    assert history.redo() == "actor: 8-15\n"
    assert history.redo() == "trainer:  8-15\n"
    assert history.redo() is None


def test_a_new_step_forgets_what_was_undone() -> None:
    history = EditHistory("a")
    history.apply(Splice(1, 1, "b"), "one")
    history.undo()
    history.apply(Splice(1, 1, "c"), "two")
    assert history.redo() is None
    assert history.labels == ["two"]


def test_typing_is_one_step_until_something_else_happens() -> None:
    history = EditHistory("x: \ny")
    for index, character in enumerate("0-15"):
        history.apply(Splice(3 + index, 3 + index, character), "actor's rule", typed=True)
    history.apply(Splice(6, 7, ""), "actor's rule", typed=True)
    assert history.text == "x: 0-1\ny"
    assert len(history) == 2  # typing, and deleting
    history.apply(Splice(5, 6, ""), "actor's rule", typed=True)
    assert len(history) == 2
    history.apply(Splice(5, 5, "7"), "another label", typed=True)
    assert len(history) == 3
    history.apply(Splice(0, 0, "#"), "another label", typed=True)
    assert len(history) == 4  # elsewhere
    while history.undo() is not None:
        pass
    assert history.text == "x: \ny"


def test_deleting_goes_on_in_both_directions() -> None:
    for splices in ([Splice(3, 4, ""), Splice(2, 3, ""), Splice(1, 2, "")], [Splice(1, 2, "")] * 3):
        history = EditHistory("abcdef")
        for splice in splices:
            history.apply(splice, "delete", typed=True)
        assert (history.text, len(history)) == ("aef", 1)
        assert history.undo() == "abcdef"
        assert history.redo() == "aef"


def is_dirty(history: EditHistory) -> bool:
    return history.dirty


def test_saving_is_a_mark() -> None:
    history = EditHistory("ab")
    assert not is_dirty(history)
    history.apply(Splice(2, 2, "c"), "t", typed=True)
    assert is_dirty(history)
    history.mark_saved()
    assert not is_dirty(history)
    history.apply(Splice(3, 3, "d"), "t", typed=True)
    assert is_dirty(history)
    assert history.undo() == "abc"  # typing does not reach back over a save
    assert not is_dirty(history)
    history.undo()
    assert is_dirty(history)
    history.apply(Splice(2, 2, "c"), "by another way")
    assert not is_dirty(history)


def test_what_changes_nothing_is_no_step() -> None:
    history = EditHistory("ab")
    history.apply(Splice(1, 2, "b"), "nothing")
    history.apply([], "nothing")
    assert not len(history)


def test_thousands_of_steps_keep_no_copies() -> None:
    history = EditHistory("x" * 1_000_000)
    for index in range(2_000):
        history.apply(Splice(index, index + 1, "y"), f"step {index}")
    kept = sum(sys.getsizeof(splice.text) for step in history._done for splice in (*step.forth, *step.back))
    assert kept < 1_000_000
    for _ in range(2_000):
        history.undo()
    assert history.text == "x" * 1_000_000
    assert history.undo() is None


def test_limits_forget_the_oldest() -> None:
    history = EditHistory("", most_steps=3, most_characters=10)
    for character in "abcd":
        history.apply(Splice(len(history.text), len(history.text), character), character)
    assert history.labels == ["b", "c", "d"]
    history.apply(Splice(0, 0, "x" * 9), "long")
    assert history.labels == ["d", "long"]
    history.apply(Splice(0, 0, "y" * 99), "longer")
    assert history.labels == ["longer"]
    assert history.undo() == "x" * 9 + "abcd"
    assert history.undo() is None


class Model(RuleBasedStateMachine):
    """Against a history that keeps whole texts; typing may join steps, never change texts."""

    def __init__(self) -> None:
        super().__init__()
        self.history = EditHistory("start\n")
        self.past: list[str] = []
        self.future: list[str] = []
        self.text = "start\n"
        self.saved = self.text

    @rule(data=st.data(), text=st.text("ab\n", max_size=3), typed=st.booleans(), label=st.sampled_from("xy"))
    def edit(self, data: st.DataObject, text: str, typed: bool, label: str) -> None:
        start = data.draw(st.integers(0, len(self.text)))
        end = data.draw(st.integers(start, min(len(self.text), start + 2)))
        steps = len(self.history)
        after = self.text[:start] + text + self.text[end:]
        assert self.history.apply(Splice(start, end, text), label, typed=typed) == after
        if after == self.text:
            return
        if len(self.history) > steps:
            self.past.append(self.text)
        self.future.clear()
        self.text = after

    @rule()
    def undo(self) -> None:
        expected = self.past.pop() if self.past else None
        assert self.history.undo() == expected
        if expected is not None:
            self.future.append(self.text)
            self.text = expected

    @rule()
    def redo(self) -> None:
        expected = self.future.pop() if self.future else None
        assert self.history.redo() == expected
        if expected is not None:
            self.past.append(self.text)
            self.text = expected

    @precondition(lambda self: self.text)
    @rule()
    def save(self) -> None:
        self.history.mark_saved()
        self.saved = self.text

    @invariant()
    def agrees(self) -> None:
        assert self.history.text == self.text
        assert self.history.dirty == (self.text != self.saved)
        assert len(self.history) == len(self.past)


TestModel = Model.TestCase
TestModel.settings = hypothesis_settings(max_examples=100, stateful_step_count=30)


@given(st.text(min_size=1, max_size=20))
def test_typing_any_text_is_undone_line_by_line(text: str) -> None:
    history = EditHistory("")
    for index, character in enumerate(text):
        history.apply(Splice(index, index, character), "typing", typed=True)
    assert history.text == text
    while history.undo() is not None:
        assert text.startswith(history.text)
