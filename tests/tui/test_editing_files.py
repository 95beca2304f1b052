"""Whole tasks: edit, look at what would be saved, save it; and what happens when it cannot be, or is left undone."""

from __future__ import annotations

import os
import re
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from placetui.cli import main as placetui
from placetui.document.storage import recovery
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.choose import ChooseScreen
from placetui.tui.dialogs.new_file import NewFileScreen
from placetui.tui.dialogs.picker import PickerScreen
from placetui.tui.dialogs.save import SaveScreen
from placetui.tui.main import MainScreen
from placetui.tui.session import Session

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat, World

PLAN = """\
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-3   # trains
    rollout: 8-11
placetui: {topology: {nodes: 2, gpus_per_node: 8}}
"""
GROWN = PLAN.replace("0-3  ", "0-4  ")


def text(seat: Seat) -> str:
    return seat.editor.history.text


async def grow(seat: Seat) -> None:
    """An edit: one device more for the actor."""
    before = text(seat)
    await seat.press("right_square_bracket")
    await seat.until(lambda: text(seat) != before)


async def edits(seat: Seat, number: int) -> None:
    await seat.until(lambda: len(seat.editor.history) == number, f"{number} edits")


async def left(seat: Seat) -> None:
    await seat.until(lambda: not seat.app.is_running, "the program left")


async def answer(seat: Seat, words: str) -> None:
    asked = seat.app.screen
    asked.query_one(Input).value = words
    await seat.press("enter")
    await seat.until(lambda: seat.app.screen is not asked, "the question closed")


async def shows(seat: Seat, kind: type[object], *words: str) -> None:
    await seat.until(lambda: isinstance(seat.app.screen, kind), f"{kind.__name__}")
    await seat.sees(*words)


# Whole tasks


async def test_a_collocated_file_is_made_disaggregated(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    old, path = desk.copy("collocated").rename(desk.folder / "old.yaml"), desk.copy("collocated")
    before = path.read_bytes()
    async with desk.open(path, write=True) as seat:
        assert "writable" in seat.status
        await seat.press("down", "v", "delete")
        await shows(seat, ChooseScreen, "Unassign")
        await seat.press("a")
        await seat.until(lambda: "actor: 0-7" in text(seat))
        for number, key in enumerate("wr"):
            await seat.press("up", "v", "delete")
            await shows(seat, ChooseScreen, "Unassign")
            await seat.press(key)
            await edits(seat, 2 + number)
        await seat.press("ctrl+s")
        await shows(seat, SaveScreen, "Save plan.yaml", "-    actor: all", "+    actor: 0-7", "Changes")
        assert path.read_bytes() == before, "nothing is written before it was seen"
        await seat.press("enter")
        await seat.until(lambda: not seat.editor.dirty)
        assert seat.toasts[-1] == f"saved {path}"
        await seat.misses("edited")
    after = path.read_bytes()
    assert not [entry.name for entry in desk.folder.iterdir() if entry.name not in ("old.yaml", "plan.yaml")]
    rules = b"    actor: all\n    rollout,reward: all\n"
    head, tail = before.split(rules)
    assert after.startswith(head)
    assert after.endswith(tail), "every byte outside of the rules is as it was"
    assert placetui(["check", str(path)]) == 0
    capsys.readouterr()
    assert placetui(["diff", str(old), str(path)]) == 1
    said = capsys.readouterr().out
    for component in ("actor", "rollout", "reward"):
        assert f"{component}: 16 ranks → 8" in said
    assert re.search(r"24 ranks removed", said)


async def test_action_save(desk: Desk) -> None:
    path = desk.write(PLAN)
    path.chmod(0o640)
    async with desk.open(path, write=True) as seat:
        await seat.press("ctrl+s")
        assert seat.toasts[-1] == "nothing has changed"
        await grow(seat)
        await seat.press("ctrl+s")
        await shows(seat, SaveScreen, "actor: 4 ranks → 5", "1 rank added")
        await seat.press("escape")
        assert path.read_text() == PLAN
        await seat.press("ctrl+s", "enter")
        await seat.until(lambda: path.read_text() == GROWN)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        await seat.misses("edited")
        await seat.press("u")
        await seat.sees("edited")
        assert text(seat) == PLAN


async def test_a_link_stays_a_link(desk: Desk) -> None:
    target = desk.write(PLAN, "target.yaml")
    link = desk.folder / "link.yaml"
    link.symlink_to("target.yaml")
    async with desk.open(link, write=True) as seat:
        await grow(seat)
        await seat.press("ctrl+s", "enter")
        await seat.until(lambda: not seat.editor.dirty)
    assert link.is_symlink()
    assert target.read_text() == GROWN


async def test_read_only_means_save_as(desk: Desk) -> None:
    path, taken = desk.write(PLAN), desk.write("mine: 1\n", "taken.yaml")
    new = desk.folder / "new.yaml"
    async with desk.open(path) as seat:
        assert "read-only" in seat.status
        await grow(seat)
        await seat.press("ctrl+s")
        await shows(seat, SaveScreen, "plan.yaml is read-only: save as a new file")
        await seat.press("enter")
        await shows(seat, AskScreen, "start with --write")
        assert seat.app.screen.query_one(Input).value == str(desk.folder / "plan-new.yaml")
        for name in ("taken.yaml", "plan.yaml"):
            await answer(seat, str(desk.folder / name))
            await shows(seat, AskScreen, "This file already exists")
        seat.app.screen.query_one(Input).value = str(new)
        await seat.press("enter")
        await seat.until(lambda: new.exists() and not seat.editor.dirty)
        await seat.sees("new.yaml", "writable")
        await grow(seat)
        await seat.press("ctrl+s", "enter")
        await seat.until(lambda: "0-5" in new.read_text())
        new.write_text(PLAN)
        await seat.until(lambda: text(seat) == PLAN, "the new file is watched")
    assert (path.read_text(), taken.read_text()) == (PLAN, "mine: 1\n")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
async def test_a_directory_that_cannot_be_written(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        await grow(seat)
        desk.folder.chmod(0o500)
        try:
            await seat.press("ctrl+s", "enter")
            await seat.sees("Not possible", "no permission to write")
        finally:
            desk.folder.chmod(0o700)
        assert path.read_text() == PLAN
        assert seat.editor.dirty


async def test_a_file_with_two_names_is_not_saved(desk: Desk) -> None:
    path = desk.write(PLAN)
    os.link(path, desk.folder / "second name")
    async with desk.open(path, write=True) as seat:
        await grow(seat)
        await seat.press("ctrl+s", "enter")
        await seat.sees("Not possible", "hard links")
        assert path.read_text() == PLAN
        await seat.sees("edited")


# Somebody else saved

THEIRS = PLAN.replace("8-11", "8-15")


@pytest.mark.parametrize("way", ["mine", "theirs"])
async def test_somebody_else_saved_meanwhile(desk: Desk, way: str) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        await grow(seat)
        path.write_text(THEIRS)
        await seat.until(lambda: any("changed on disk" in toast for toast in seat.toasts))
        await seat.press("ctrl+s")
        await shows(seat, SaveScreen)
        await seat.press("enter")
        await shows(seat, ChooseScreen, "Someone else saved this file", "keep mine", "take theirs", "see the")
        assert path.read_text() == THEIRS
        if way == "mine":
            await seat.press("d")
            await shows(seat, SaveScreen, "-    rollout: 8-15", "+    rollout: 8-11", "- theirs, + mine")
            await seat.press("enter")
            await shows(seat, ChooseScreen, "keep mine")
            assert path.read_text() == THEIRS, "looking overwrites nothing"
            await seat.press("m")
            await seat.until(lambda: path.read_text() == GROWN)
            await seat.misses("edited")
        else:
            await seat.press("t")
            await seat.until(lambda: text(seat) == THEIRS)
            assert path.read_text() == THEIRS
            await seat.misses("edited")
            await seat.press("u")
            assert text(seat) == GROWN


async def test_a_file_that_was_removed_can_be_written_again(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        await grow(seat)
        path.unlink()
        await seat.press("ctrl+s", "enter")
        await shows(seat, ChooseScreen, "Someone removed this file")
        assert "take theirs" not in seat.text
        await seat.press("m")
        await seat.until(lambda: path.exists() and path.read_text() == GROWN)


async def test_a_plan_made_in_the_background_never_overwrites_an_edit(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path) as seat:
        late, go_on = seat.session.with_text(THEIRS), threading.Event()

        def plan() -> Session:
            go_on.wait()
            return late

        seat.main.workspace.plan(plan)
        await grow(seat)
        go_on.set()
        await seat.pilot.pause(0.05)
        assert text(seat) == seat.session.text == GROWN
        assert seat.editor.dirty


# What must not be lost


async def test_action_recover(desk: Desk) -> None:
    """Unsaved work is kept, announced with the file, and offered again until the user decides."""
    path = desk.write(PLAN)
    async with desk.open(path) as seat:
        await grow(seat)
        assert recovery.find(path) is None
        await seat.until(lambda: recovery.find(path) is not None)
        record = next(recovery.unsaved_dir().iterdir())
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        await seat.press("u")
        await seat.until(lambda: recovery.find(path) is None, "nothing unsaved leaves nothing behind")
        await seat.press("U", "ctrl+c")
    for key in "lr":
        async with desk.open(path) as seat:
            await seat.sees("unsaved work: ctrl+r")
            assert not seat.shows(ChooseScreen)
            await seat.press("ctrl+r")
            await shows(seat, ChooseScreen, "Unsaved work", "continue with it", "discard it", "later")
            await seat.press(key)
            await seat.misses("continue with it")
            assert ("unsaved work: ctrl+r" in seat.status) == (key == "l")
            assert text(seat) == (GROWN if key == "r" else PLAN)
            if key == "r":
                await seat.sees("edited", "A4")
                await seat.press("q")
                await shows(seat, ChooseScreen, "Unsaved changes")
                await seat.press("l")
            else:
                await seat.press("q")
            await left(seat)
    async with desk.open(path) as seat:
        await seat.press("ctrl+r")
        await shows(seat, ChooseScreen, "Unsaved work")
        await seat.press("ctrl+d")
        await seat.until(lambda: recovery.find(path) is None)
        await seat.until(lambda: "unsaved work" not in seat.status)
        await seat.press("ctrl+r")
        await seat.sees("there is no unsaved work of an earlier run")
    assert path.read_text() == PLAN


async def test_restored_work_asks_before_it_overwrites_what_came_since(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        await grow(seat)
        await seat.press("ctrl+c")
    path.write_text(THEIRS)
    async with desk.open(path, write=True) as seat:
        await seat.press("ctrl+r")
        await shows(seat, ChooseScreen, "The file has changed since")
        await seat.press("r")
        await seat.until(lambda: text(seat) == GROWN)
        await seat.press("ctrl+s", "enter")
        await shows(seat, ChooseScreen, "Someone else saved this file")
        assert path.read_text() == THEIRS


@pytest.mark.parametrize("key", ["s", "l", "ctrl+d"])
async def test_leaving_with_unsaved_changes_asks(desk: Desk, key: str) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        await grow(seat)
        await seat.press("q")
        await shows(
            seat, ChooseScreen, "Unsaved changes", "save", "leave without saving", "leave and discard the changes"
        )
        await seat.press("escape")
        await seat.misses("Unsaved changes")
        await seat.press("q")
        await shows(seat, ChooseScreen)
        await seat.press(key)
        if key == "s":
            await shows(seat, SaveScreen)
            await seat.press("enter")
        await left(seat)
    assert path.read_text() == (GROWN if key == "s" else PLAN)
    assert (recovery.find(path) is not None) == (key == "l")


# A new file, two people, a live picture


async def test_forgotten_changes_are_off_the_screen_too_when_the_user_stays(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        await seat.press("e")
        await seat.write("0-6:0-13")
        await seat.press("enter")
        await edits(seat, 1)
        await seat.press("o")
        await shows(seat, ChooseScreen, "Unsaved changes")
        await seat.press("ctrl+d")
        await shows(seat, PickerScreen)
        await seat.press("escape")
        await shows(seat, MainScreen)
        assert seat.session.text == text(seat) == PLAN
        await seat.misses("edited")
        await grow(seat)
        assert text(seat) == GROWN
        await seat.press("ctrl+s", "enter")
        await seat.until(lambda: path.read_text() == GROWN)


async def test_a_new_file_from_nothing(desk: Desk) -> None:
    path = desk.folder / "new.yaml"
    async with desk.open(None, write=True, new=str(path)) as seat:
        await shows(seat, NewFileScreen, "New file", "collocated", "disaggregated")
        seat.app.screen.query_one("#nodes", Input).value = "2"
        seat.app.screen.query_one("#gpus", Input).value = "4"
        await seat.press("tab", "right", "enter")
        await seat.until(lambda: seat.app.main is not None and seat.grid.drawing is not None)
        await seat.sees("node1", "edited", "writable")
        assert not path.exists()
        await seat.press("ctrl+s")
        await shows(seat, SaveScreen, "a new file", "+cluster:", "+  num_nodes: 2")
        await seat.press("enter")
        await seat.until(path.exists)
        await seat.misses("edited")
    assert placetui(["check", str(path)]) == 0
    assert "actor: 0-3" in path.read_text()
    assert "rollout: 4-7" in path.read_text()


async def test_the_border_of_a_new_file_moves_and_names_may_have_brackets(desk: Desk) -> None:
    async with desk.open(None, (140, 40), write=True, new=str(desk.folder / "new.yaml")) as seat:
        await shows(seat, NewFileScreen, "take turns on each GPU", "actor: all")
        await seat.press("tab", "right")
        await seat.sees("4 training : 4 generation")
        await seat.press("left_square_bracket", "left_square_bracket")
        await seat.sees("2 training : 6 generation", "actor: 0-1", "rollout: 2-7", "Both pools are on node0")
        name = seat.app.screen.query_one("#file", Input)
        name.focus()
        await seat.press("end", "left_square_bracket")
        assert name.value.endswith("[")
        await seat.sees("2 training : 6 generation")


async def test_somebody_else_has_the_file_open(desk: Desk) -> None:
    path, other = desk.write(PLAN), desk.write(PLAN, "other.yaml")
    me = os.getpid()
    async with desk.open(path, write=True) as seat:
        assert not seat.toasts
        notes = [entry for entry in desk.folder.iterdir() if entry.name.endswith(recovery.LOCK_SUFFIX)]
        assert len(notes) == 1
        # The same note by another process: the one that started this one lives as long.
        theirs = notes[0].read_text().replace(f'"pid": {me}', f'"pid": {os.getppid()}')
        started = recovery._started(os.getppid())
        theirs = re.sub(r'"started": "\d+"', f'"started": "{started}"', theirs)
        Path(str(notes[0]).replace(f".{me}.", f".{os.getppid()}.")).write_text(theirs)
        await seat.app.open_file(str(other))
        await seat.until(lambda: seat.session.file == str(other))
        assert not notes[0].exists(), "whoever leaves a file takes the note along"
        await seat.app.open_file(str(path))
        await seat.until(lambda: any("has this file open for writing too" in toast for toast in seat.toasts))
    assert not notes[0].exists()


async def test_the_live_picture_follows_edits_after_a_rest(desk: Desk, world: World) -> None:
    async with desk.open(desk.write(PLAN), live=True) as seat:
        assert len(desk.sources) == 1
        desk.sources[0].deliver(world.simulated(desk.sources[0].plan))
        await seat.sees("GiB")
        for _ in range(3):
            await grow(seat)
        # What was seen before the edit has other ranks and more nodes than the plan has now.
        fewer = PLAN.replace("nodes: 2", "nodes: 1").replace("8-11", "4-7").replace("actor", "trainer")
        await seat.press("E")
        seat.yaml.text = fewer
        await seat.until(lambda: "trainer" in seat.session.plan.components)
        await seat.press("escape", "right")
        await seat.sees("A3", "R0")
        await seat.until(lambda: len(desk.sources) == 2, "a source for other nodes")
        assert len(desk.sources[1].plan.nodes) == 1
        await seat.until(lambda: desk.sources[0].closed)
