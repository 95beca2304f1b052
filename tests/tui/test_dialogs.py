"""Dialogs end once: keys that come faster than the screen never close what is beneath."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.screen import ModalScreen

import placetui.tui.dialogs as dialogs
from placetui.tui.app import Choice
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.choose import Answer, ChooseScreen
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.main import MainScreen

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat


def at_once(seat: Seat, *keys: str) -> None:
    """Keys that are all there before the first is dealt with, as from a slow line."""
    for key in keys:
        seat.app.post_message(events.Key(key, "\r" if key == "enter" else key if len(key) == 1 else None))


@pytest.mark.parametrize(
    ("opened", "keys"),
    [
        ("x", ["enter", "enter", "enter"]),
        ("x", ["enter", "escape"]),
        ("x", ["escape", "escape", "escape"]),
        ("a", ["enter", "enter"]),
        ("a", ["a", "a", "a"]),
        ("w", ["enter", "enter"]),
        ("o", ["enter", "enter"]),
        ("question_mark", ["escape", "escape"]),
        ("d", ["enter", "enter"]),
    ],
)
async def test_keys_that_arrive_together_close_one_dialog(desk: Desk, opened: str, keys: list[str]) -> None:
    file = desk.copy("collocated")
    async with desk.open(file, choices=[Choice(str(file))]) as seat:
        await seat.press(opened)
        await seat.until(lambda: isinstance(seat.app.screen, ModalScreen), "a dialog")
        dialog = seat.app.screen
        at_once(seat, *keys)
        await seat.until(lambda: dialog not in seat.app.screen_stack, "the dialog closed")
        await seat.press()
        assert isinstance(seat.app.screen_stack[1], MainScreen)


async def test_keys_typed_at_once_are_meant_for_the_dialog(desk: Desk) -> None:
    """In the grid `r` would read the file again."""
    async with desk.open(desk.copy("hybrid")) as seat:
        at_once(seat, "c", "m", "r")
        await seat.sees("Rename", "New name:")
        await seat.press("escape")
        at_once(seat, "a", "r")
        await seat.until(lambda: seat.editor.dirty, "rollout was assigned")


async def test_the_first_answer_counts(desk: Desk) -> None:
    answers: list[str | None] = []
    async with desk.open("collocated") as seat:
        dialog = ChooseScreen("which", [Answer("one", "one", key="1"), Answer("two", "two", key="2")])
        seat.app.push_screen(dialog, answers.append)
        await seat.until(lambda: seat.app.screen is dialog)
        at_once(seat, "2", "1", "escape")
        await seat.until(lambda: answers)
        await seat.press()
        assert answers == ["two"]
        assert seat.shows(MainScreen)


async def test_a_covered_dialog_ends_when_it_is_on_top_again(desk: Desk) -> None:
    answers: list[str | None] = []
    async with desk.open("collocated") as seat:
        below, above = AskScreen("below", "?"), AskScreen("above", "?")
        seat.app.push_screen(below, answers.append)
        seat.app.push_screen(above, answers.append)
        await seat.until(lambda: above.is_mounted)
        below.dismiss("from code")
        below.dismiss("again")
        await seat.press()
        assert seat.app.screen is above
        assert answers == []
        await seat.press("escape")
        await seat.until(lambda: seat.shows(MainScreen))
        assert answers == [None, "from code"]


def test_every_dialog_is_one() -> None:
    """Textual's own modal screen takes away whatever is on top."""
    from importlib import import_module
    from pkgutil import iter_modules

    found = [
        one
        for module in iter_modules(dialogs.__path__)
        for one in vars(import_module(f"{dialogs.__name__}.{module.name}")).values()
        if isinstance(one, type) and issubclass(one, ModalScreen) and one is not ModalScreen
    ]
    assert len(found) > 10
    assert [one for one in found if not issubclass(one, Dialog)] == []


@pytest.mark.parametrize(("size", "whole"), [((80, 24), False), ((200, 60), True), ((300, 60), True)])
async def test_the_list_of_files_is_as_wide_as_what_it_says(desk: Desk, size: tuple[int, int], whole: bool) -> None:
    about = "Two sentences about what the file shows " * 3
    choices = [
        Choice("plan.yaml", about.strip(), framework="RLinf"),
        Choice("x", "start here", "new", label="new file"),
    ]
    async with desk.open("collocated", size, choices=choices) as seat:
        await seat.press("o")
        await seat.sees("Type to filter, or type a path and press enter.", "Without a file", "Samples 1", "new file")
        region = seat.app.screen.query_one(".dialog").region
        row = next(line for line in seat.lines if "plan.yaml" in line)
        assert (about.strip() in row) == whole
        assert region.width == (80 if not whole else len(about.strip()) + row.index("Two") - region.x + 4)
        await seat.write("plan")
        await seat.misses("new file")
        assert seat.app.screen.query_one(".dialog").region.width == region.width


async def test_a_click_on_a_key_of_a_dialog_presses_it(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("question_mark")
        await seat.sees("KEYS")
        line = seat.lines[-1]
        await seat.pilot.click(offset=(line.index("escape") + 1, len(seat.lines) - 1))
        await seat.until(lambda: seat.shows(MainScreen), "closed by the mouse")


@pytest.mark.parametrize("size", [(120, 36), (80, 24)], ids=["120x36", "80x24"])
async def test_notices_leave_the_keys_readable(desk: Desk, size: tuple[int, int]) -> None:
    async with desk.open("collocated", size) as seat:
        keys = seat.lines[-1]
        await seat.press("u")
        await seat.sees("nothing to undo")
        assert seat.lines[-1] == keys
        await seat.press("d")
        await seat.until(lambda: "DETAILS" in seat.text)
        assert "Details" not in seat.lines[0], "the notice stands above the dialog"
