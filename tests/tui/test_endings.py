"""What the system does to the real program: signals, stops, a terminal that is gone. Nothing is lost or left behind."""

from __future__ import annotations

import os
import re
import signal
import termios
import time
from functools import partial
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


TAKEN = re.compile(rb"\x1b\[>\d+u")
"""How the program takes the keyboard; how much of it depends on the version of Textual."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


def edit(desk: Terminal) -> None:
    desk.sees("node0", "A3")
    desk.press("]]")
    desk.sees("A5", "edited")


def times_taken(desk: Terminal) -> int:
    return len(TAKEN.findall(desk.output))


def is_taken_again(desk: Terminal, before: int) -> bool:
    return times_taken(desk) > before


def is_kept(plan: Path) -> bool:
    lost = recovery.find(plan)
    return lost is not None and "0-5" in lost.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_clean_terminal_and_keeps_the_work(plan: Path, number: signal.Signals) -> None:
    with terminal(str(plan), "--write") as desk:
        edit(desk)
        os.kill(desk.process.pid, number)
        assert desk.ends() == 128 + number
        desk.is_clean()
    assert is_kept(plan)
    assert plan.read_text() == PLAN
    assert [entry.name for entry in plan.parent.iterdir()] == ["plan.yaml"], "the note for others is gone"


def test_after_a_stop_it_goes_on_and_leaves_a_clean_terminal(plan: Path) -> None:
    with terminal(str(plan), "--write") as desk:
        edit(desk)
        for _ in range(2):
            taken = times_taken(desk)
            os.kill(desk.process.pid, signal.SIGSTOP)
            os.waitpid(desk.process.pid, os.WUNTRACED)
            # What a shell does meanwhile: its own modes, and something on the screen.
            desk.cook()
            with desk.lock:
                desk.screen.reset()
            os.kill(desk.process.pid, signal.SIGCONT)
            desk.until(partial(is_taken_again, desk, taken), "the terminal taken again")
            desk.sees("node0", "A5", "edited")
        desk.press("u")
        desk.until(lambda: "A5" not in desk.text, "keys work")
        desk.press("\x03")
        assert desk.ends() == 0
        desk.is_clean()


def test_a_terminal_that_is_gone_ends_the_program_and_keeps_the_work(plan: Path) -> None:
    with terminal(str(plan), "--write") as desk:
        edit(desk)
        desk.until(lambda: is_kept(plan), "the edits kept")
        desk.hang_up()
        # Whoever notices first: we, or Textual, which cannot read any more.
        assert desk.ends() in (1, 128 + signal.SIGHUP)
    assert is_kept(plan)
    assert plan.read_text() == PLAN


def test_a_terminal_that_takes_nothing_does_not_keep_the_program(plan: Path) -> None:
    with terminal(str(plan), "--write") as desk:
        edit(desk)
        desk.until(lambda: is_kept(plan), "the edits kept")
        with desk.lock:
            # Nobody reads: soon the program waits for room in the terminal.
            for _ in range(40):
                desk.press("?q")
                time.sleep(0.01)
            os.kill(desk.process.pid, signal.SIGTERM)
            assert desk.ends() == 128 + signal.SIGTERM
    assert is_kept(plan)


def test_ctrl_z_is_for_undo_and_the_modes_are_those_of_the_program(plan: Path) -> None:
    with terminal(str(plan), "--write") as desk:
        edit(desk)
        desk.press("\x1a")
        desk.until(lambda: "A5" not in desk.text, "undone")
        assert not termios.tcgetattr(desk.slave)[3] & termios.ICANON
        desk.press("\x03")
        assert desk.ends() == 0
        desk.is_clean()
