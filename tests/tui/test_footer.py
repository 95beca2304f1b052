"""The bottom line: what it is about, and the keys that do something there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.tui.test_editing_grid import PLAN

if TYPE_CHECKING:
    from tests.tui.conftest import Desk


async def test_hits_are_stepped_through_and_cleared(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.find("rollout")
        await seat.until(lambda: seat.lines[-1].startswith(" FIND 1/16   n  next   N  previous   escape  clear "))
        await seat.press("n")
        await seat.until(lambda: seat.lines[-1].startswith(" FIND 2/16 "))
        await seat.press("escape")
        await seat.until(lambda: "FIND" not in seat.lines[-1])


async def test_several_devices_are_counted(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("right", "shift+right", "shift+down")
        await seat.until(lambda: seat.lines[-1].startswith(" 4 GPUs   a  assign "))


async def test_what_is_edited_can_be_saved_and_undone_and_done_again(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), (160, 40), write=True) as seat:
        assert "undo" not in seat.lines[-1]
        assert "save" not in seat.lines[-1]
        await seat.press("c", "ctrl+right")
        await seat.until(lambda: "u  undo   ctrl+s  save" in seat.lines[-1])
        await seat.press("E")
        await seat.until(lambda: "undo" in seat.lines[-1] and "redo" not in seat.lines[-1])
        await seat.press("ctrl+z")
        await seat.until(lambda: "redo" in seat.lines[-1] and "undo" not in seat.lines[-1])


async def test_brackets_change_the_size_of_a_component_while_its_rule_is_typed(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), write=True) as seat:
        await seat.press("down", "e")  # the one on the second node
        await seat.until(lambda: "[ ]  size" in seat.lines[-1] and "undo" not in seat.lines[-1])
        assert seat.main.rule is not None
        before = seat.main.rule.text
        await seat.press("left_square_bracket")
        await seat.until(lambda: "ctrl+z  undo   ctrl+s  save" in seat.lines[-1])
        assert seat.main.rule.text not in (before, f"{before}[")
        await seat.press("right_square_bracket")
        await seat.until(lambda: seat.main.rule is not None and seat.main.rule.text == before)


async def test_the_only_problem_has_no_next_one(desk: Desk) -> None:
    text = PLAN.replace("rollout: 8-11", "rollout: 8-99")
    async with desk.open(desk.write(text)) as seat:
        await seat.until(lambda: seat.lines[-1].startswith(" 1/1 ✗ "))
        assert "next" not in seat.lines[-1]
        await seat.press("2", "down")
        await seat.until(lambda: "!  next" in seat.lines[-1], "from another line of the file there is")


async def test_commands_and_themes_have_keys_of_their_own(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("ctrl+p")
        await seat.sees(" COMMANDS   enter  choose ")
        await seat.press("escape")
        seat.app.search_themes()
        await seat.sees(" THEMES   enter  choose ")
