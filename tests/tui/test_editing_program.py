"""Edits in the real program, which is killed: nothing is lost, and the file is as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from placetui.document.storage import recovery
from tests.tui.test_program import Terminal, terminal

PLAN = """\
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-3
placetui: {topology: {nodes: 1, gpus_per_node: 8}}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


def kept(desk: Terminal, path: Path) -> None:
    desk.until(lambda: (lost := recovery.find(path)) is not None and "0-5" in lost.text, "the edits kept")


def test_a_kill_loses_nothing(plan: Path) -> None:
    with terminal(str(plan), "--write") as desk:
        desk.sees("node0", "A3")
        desk.press("]]")
        desk.sees("A5", "edited")
        kept(desk, plan)
        desk.process.kill()
        desk.process.wait()
    assert plan.read_text() == PLAN
    with terminal(str(plan), "--write") as desk:
        desk.sees("unsaved work: ctrl+r")
        desk.press("\x12")
        desk.sees("continue with it")
        desk.press("r")
        desk.sees("A5", "edited")
        desk.press("\x13")
        desk.sees("Save plan.yaml", "+    actor: 0-5")
        desk.press("\r")
        desk.until(lambda: "actor: 0-5" in plan.read_text(), "the file saved")
        desk.press("q")
        assert desk.ends() == 0
        desk.is_clean()
    assert recovery.find(plan) is None
    assert [entry.name for entry in plan.parent.iterdir()] == ["plan.yaml"]


def test_ctrl_c_leaves_at_once_and_keeps_what_is_unsaved(plan: Path) -> None:
    with terminal(str(plan)) as desk:
        desk.sees("A3")
        desk.press("]]")
        desk.sees("A5")
        desk.press("\x03")
        assert desk.ends() == 0
        desk.is_clean()
        kept(desk, plan)
    assert plan.read_text() == PLAN


def test_two_people_are_told_of_each_other(plan: Path) -> None:
    with terminal(str(plan), "--write") as first:
        first.sees("A3")
        note = next(entry for entry in plan.parent.iterdir() if entry.name.endswith(recovery.LOCK_SUFFIX))
        assert json.loads(note.read_text())["pid"] == first.process.pid
        with terminal(str(plan), "--write") as second:
            second.sees(f"(process {first.process.pid})", "writing")
            second.press("q")
            assert second.ends() == 0
        os.kill(first.process.pid, 9)
        first.process.wait()
    assert recovery.others(plan) == [], "a note of a process that is gone is no note"


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    with terminal(str(path), "--write") as desk:
        desk.sees("New file", "collocated")
        desk.press("\r")
        desk.sees("A7", "edited", "writable")
        desk.press("\x13")
        desk.sees("a new file")
        desk.press("\r")
        desk.until(path.exists, "the file made")
        desk.press("q")
        assert desk.ends() == 0
        desk.is_clean()
    assert "actor: all" in path.read_text()
