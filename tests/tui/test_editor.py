"""The editor without a screen: one history, what would be saved, what is kept; and text carried over from a pane."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.document._document import Document as PaneDocument

from placetui.document import PlanRequest
from placetui.document.storage import recovery
from placetui.document.storage.save import Conflict, NotSaved, Saved
from placetui.grid import Place
from placetui.placement.edits import (
    Add,
    Assign,
    Join,
    Move,
    Operation,
    Refusal,
    Remove,
    Rename,
    Resize,
    SetMode,
    SetShare,
    Spread,
    Swap,
    Unassign,
    WriteRule,
)
from placetui.tui.editor import Editor
from placetui.tui.panes.file import carried_over, held_lines
from placetui.tui.session import Session

SAMPLES = Path(__file__).parents[2] / "sample_configs"
PLAN = """\
# Who sits where
cluster:
  num_nodes: 2   # two of them
  component_placement:
    actor: 0-7
    rollout,reward: 8-15
placetui: {topology: {nodes: 2, gpus_per_node: 8}}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


def opened(path: Path, *, write: bool = True) -> tuple[Editor, Session]:
    session = Session.open(str(path), PlanRequest())
    return Editor(session, write=write), session


def done(result: Session | Refusal) -> Session:
    assert isinstance(result, Session), result
    return result


def unsaved(editor: Editor) -> bool:
    return editor.dirty


# History


def test_an_edit_changes_the_text_and_the_plan_and_undo_brings_both_back(plan: Path) -> None:
    editor, session = opened(plan)
    after = done(editor.do(session, Move("actor", 1, "node")))
    assert "actor: 8-15" in editor.history.text
    assert after.text == editor.history.text
    assert after.plan.components["actor"].placements[0].cluster_node_rank == 1
    assert unsaved(editor)
    step = editor.undo(after)
    assert step is not None
    label, back = step
    assert label == "move actor to 8-15"
    assert back.text == editor.history.text == PLAN
    assert not unsaved(editor)
    again = editor.redo(back)
    assert again is not None
    assert again[0] == label
    assert again[1].text == after.text


def test_a_preview_changes_nothing(plan: Path) -> None:
    editor, session = opened(plan)
    tried = done(editor.preview(session, WriteRule("actor", "0-3")))
    assert tried.plan.components["actor"].world_size == 4
    assert editor.history.text == PLAN
    assert editor.undo(session) is None


def test_a_refusal_changes_nothing(plan: Path) -> None:
    editor, session = opened(plan)
    refusal = editor.do(session, Move("rollout", 1, "node"))
    assert isinstance(refusal, Refusal)
    assert refusal.reason
    assert editor.history.text == PLAN
    assert not editor.dirty


def test_typing_is_one_step_however_fast_it_is(plan: Path) -> None:
    editor, session = opened(plan)
    for text in ("# 0\n", "# 012\n", "# 0123\n", "# 01\n", "# 01x\n"):
        session = editor.type(session, PLAN + text)
    texts = []
    while step := editor.undo(session):
        texts.append((step[0], step[1].text.removeprefix(PLAN)))
    assert texts == [("typing", "# 0123\n"), ("typing", "# 0\n"), ("typing", "")]


def test_a_broken_text_is_not_edited_in_the_grid(plan: Path) -> None:
    editor, session = opened(plan)
    broken = editor.type(session, PLAN.replace("actor: 0-7", "actor: ["))
    assert broken.old
    assert broken.plan is session.plan
    refusal = editor.do(broken, Move("actor"))
    assert isinstance(refusal, Refusal)
    assert "invalid" in refusal.reason


def test_an_edit_of_another_text_than_the_edited_one_is_refused(plan: Path) -> None:
    editor, session = opened(plan)
    other = session.with_text(PLAN.replace("actor: 0-7", "actor: 0-3"))
    refusal = editor.do(other, Resize("rollout", -1))
    assert isinstance(refusal, Refusal)
    assert editor.history.text == PLAN


def test_what_is_forgotten_can_be_undone(plan: Path) -> None:
    editor, session = opened(plan)
    edited = editor.do(session, Rename("actor", "trainer"))
    assert isinstance(edited, Session)
    editor.keep()
    forgotten = editor.discard(edited)
    assert forgotten.text == editor.history.text == PLAN
    assert not editor.dirty
    assert recovery.find(plan) is None
    undone = editor.undo(forgotten)
    assert undone is not None
    assert undone[1].text == edited.text


def random_operation(random: random.Random, names: list[str]) -> Operation:
    name, other = (random.choice(names or ["nobody"]) for _ in range(2))
    spots = tuple(Place(random.randrange(2), "gpu", index) for index in random.sample(range(8), random.randint(1, 4)))
    operations: list[Operation] = [
        Assign(name, spots),
        Unassign(name, spots),
        Move(name, random.choice((-1, 1)), random.choice(("device", "node"))),
        Resize(name, random.choice((-2, -1, 1, 2))),
        Swap(name, other),
        Spread(name, processes_per_device=random.randint(1, 2)),
        Join(name, other),
        Rename(name, f"{name[:4]}{random.randrange(9)}"),
        Add(f"new{random.randrange(9)}", spots),
        Remove(name),
        SetShare(name, random.choice((None, 0.1, 0.25))),
        SetMode(random.choice((None, "hybrid"))),
        WriteRule(name, random.choice(("all", "0-3", "4-7:0-1", "0,1"))),
    ]
    return random.choice(operations)


def test_a_thousand_edits_and_undos_return_to_the_same_bytes(plan: Path) -> None:
    editor, session = opened(plan)
    chance, texts = random.Random(6), [PLAN]
    while len(texts) <= 1000:
        result = editor.do(session, random_operation(chance, list(session.plan.components)))
        if isinstance(result, Session):
            session = result
            assert session.text == editor.history.text
            if texts[-1] != session.text:
                texts.append(session.text)
    assert len(set(texts)) > 100
    for text in reversed(texts[:-1]):
        assert editor.history.undo() == text
    assert editor.history.text == PLAN
    assert not editor.dirty
    for text in texts[1:]:
        assert editor.history.redo() == text


# Saving


def test_what_a_save_would_change(plan: Path) -> None:
    editor, session = opened(plan)
    session = done(editor.do(session, WriteRule("actor", "0-3")))
    review = editor.review(session)
    assert "-    actor: 0-7" in review.text
    assert "+    actor: 0-3" in review.text
    assert review.heading == "Changes"
    assert any("actor" in line for line in review.moves)


def test_a_review_of_what_moves_nobody_and_of_what_is_broken(plan: Path) -> None:
    editor, session = opened(plan)
    session = editor.type(session, PLAN + "# the end\n")
    assert editor.review(session).heading == "no rank moves"
    session = editor.type(session, PLAN + "more: [\n")
    review = editor.review(session)
    assert "invalid" in review.heading
    assert review.moves == []


def test_a_new_file_is_reviewed_as_a_whole_and_saved_once(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    session = Session.of_text(str(path), PLAN, PlanRequest())
    editor = Editor(session, write=True, new=True)
    assert unsaved(editor)
    review = editor.review(session)
    assert review.heading == "a new file"
    assert [line for line in review.text if line.startswith("+") and "actor" in line]
    assert isinstance(editor.save(session), Saved)
    assert path.read_text() == PLAN
    assert not unsaved(editor)


def test_undo_after_a_save_is_unsaved_again(plan: Path) -> None:
    editor, session = opened(plan)
    session = done(editor.do(session, Resize("actor", -1)))
    assert isinstance(editor.save(session), Saved)
    assert not unsaved(editor)
    step = editor.undo(session)
    assert step is not None
    assert unsaved(editor)
    assert isinstance(editor.save(step[1]), Saved)
    assert plan.read_text() == PLAN


def test_saving_as_makes_a_new_file_and_never_touches_an_old_one(plan: Path, tmp_path: Path) -> None:
    editor, session = opened(plan, write=False)
    session = done(editor.do(session, Resize("actor", -1)))
    other = tmp_path / "other.yaml"
    other.write_text("mine: 1\n")
    assert isinstance(editor.save_as(session, str(other)), Conflict)
    assert isinstance(editor.save_as(session, str(plan)), Conflict)
    assert not editor.write
    new = tmp_path / "new.yaml"
    assert isinstance(editor.save_as(session, str(new)), Saved)
    assert (other.read_text(), plan.read_text(), new.read_text()) == ("mine: 1\n", PLAN, editor.history.text)
    assert editor.path == str(new)
    assert editor.write, "what the user made in this run may be written again"


def test_somebody_else_wrote_between_reading_and_editing(plan: Path) -> None:
    session = Session.open(str(plan), PlanRequest())
    plan.write_text(PLAN + "# theirs\n")
    editor = Editor(session, write=True)
    assert editor.changed_on_disk()
    session = done(editor.do(session, Resize("actor", -1)))
    result = editor.save(session)
    assert isinstance(result, Conflict)
    assert plan.read_text() == PLAN + "# theirs\n"
    taken = editor.take_theirs(session, result)
    assert taken.text == editor.history.text == PLAN + "# theirs\n"
    assert not editor.dirty
    assert not editor.changed_on_disk()
    step = editor.undo(taken)
    assert step is not None
    assert step[0] == "reload the file from disk"
    assert step[1].plan.components["actor"].world_size == 7


def test_a_file_that_cannot_be_written_stays(plan: Path) -> None:
    editor, session = opened(plan)
    session = done(editor.do(session, Resize("actor", -1)))
    os.link(plan, plan.with_name("another name"))
    result = editor.save(session)
    assert isinstance(result, NotSaved)
    assert "hard links" in result.message
    assert plan.read_text() == PLAN
    assert editor.dirty


# What must not be lost


def test_unsaved_work_is_kept_in_private_and_goes_when_it_is_saved(plan: Path) -> None:
    editor, session = opened(plan)
    editor.keep()
    assert recovery.find(plan) is None
    session = done(editor.do(session, Resize("actor", -1)))
    editor.keep()
    records = list(recovery.unsaved_dir().iterdir())
    assert [stat.S_IMODE(record.stat().st_mode) for record in records] == [0o600]
    found = opened(plan)[0].lost_work()
    assert found is not None
    assert found.text == editor.history.text
    assert isinstance(editor.save(session), Saved)
    assert recovery.find(plan) is None


def test_work_left_for_later_outlives_a_run_that_changes_nothing(plan: Path) -> None:
    recovery.keep(plan, "later", "")
    editor, _ = opened(plan)
    assert editor.lost_work() is not None
    editor.keep()
    assert opened(plan)[0].lost_work() is not None


def test_what_another_dashboard_keeps_stays(plan: Path) -> None:
    (first, first_session), (second, second_session) = opened(plan), opened(plan)
    second_session = done(second.do(second_session, Resize("actor", -2)))
    second.keep()
    done(first.do(first_session, Resize("actor", -1)))
    first.keep()
    second.undo(second_session)
    second.keep()
    found = recovery.find(plan)
    assert found is not None
    assert found.text == first.history.text


def test_restored_work_goes_on_and_can_be_undone(plan: Path) -> None:
    first, session = opened(plan)
    done(first.do(session, Resize("actor", -1)))
    first.keep()
    second, session = opened(plan)
    lost = second.lost_work()
    assert lost is not None
    assert not second.moved_on(lost)
    session = second.restore(session, lost)
    assert session.text == first.history.text
    assert second.history.undo_label == "restore unsaved work"
    assert isinstance(second.save(session), Saved)
    assert recovery.find(plan) is None


def test_restored_work_does_not_overwrite_what_was_saved_since(plan: Path) -> None:
    first, session = opened(plan)
    done(first.do(session, Resize("actor", -1)))
    first.keep()
    plan.write_text(PLAN + "# theirs\n")
    second, session = opened(plan)
    lost = second.lost_work()
    assert lost is not None
    assert second.moved_on(lost)
    result = second.save(second.restore(session, lost))
    assert isinstance(result, Conflict)
    assert result.theirs == PLAN + "# theirs\n"
    assert plan.read_text() == PLAN + "# theirs\n"


# Text that was typed into a pane

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\x0c", "\u2028", "\x85"])
LINES = st.lists(st.tuples(st.text("ab:", max_size=3), LINE_ENDS))
TEXTS = st.builds(lambda lines, last: "".join(map("".join, lines)) + last, LINES, st.text("ab", max_size=2))


@given(TEXTS)
def test_a_pane_holds_these_lines(text: str) -> None:
    assert held_lines(text) == PaneDocument(text).lines


@given(st.lists(LINE_ENDS), st.data(), st.text("x\n", max_size=3))
def test_what_was_not_touched_in_the_pane_stays_as_it_was(ends: list[str], data: st.DataObject, typed: str) -> None:
    whole = [f"{number}: line{end}" for number, end in enumerate(ends)]
    text = "".join(whole)
    pane = PaneDocument(text)
    before, lines = pane.text, list(pane.lines)
    assert carried_over(text, before, before, pane.newline) == text
    start, end = sorted(data.draw(st.tuples(*[position(lines)] * 2), label="from and to"))
    pane.replace_range(start, end, typed)
    after = carried_over(text, before, pane.text, pane.newline)
    head, tail = "".join(whole[: start[0]]), "".join(whole[end[0] + 1 :])
    assert after.startswith(head)
    assert after.endswith(tail)
    touched = lines[start[0]][: start[1]] + typed + lines[end[0]][end[1] :]
    assert held_lines(after[len(head) : len(after) - len(tail)])[: typed.count("\n") + 1] == touched.split("\n")


def position(lines: list[str]) -> st.SearchStrategy[tuple[int, int]]:
    rows = st.integers(0, len(lines) - 1)
    return rows.flatmap(lambda row: st.tuples(st.just(row), st.integers(0, len(lines[row]))))
