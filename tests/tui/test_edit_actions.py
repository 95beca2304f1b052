"""What a person can do to the placement in the grid, one test for each action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input

from placetui.tui.dialogs.choose import ChooseScreen
from placetui.tui.dialogs.save import SaveScreen
from placetui.tui.widgets.rule_panel import RulePanel

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat

PLAN = """\
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-3
    rollout: 4-7
placetui:
  topology: {nodes: 2, gpus_per_node: 8}
"""


def selected(seat: Seat) -> list[tuple[int, int]]:
    return [(place.node, place.index) for place in seat.grid.target.places]


def rule(seat: Seat, component: str = "actor") -> str:
    return seat.session.plan.components[component].rule.text.strip()


async def becomes(seat: Seat, wanted: str, component: str = "actor") -> None:
    await seat.until(lambda: rule(seat, component) == wanted, f"{component}: {wanted}")


# Selecting


async def test_action_extend_left(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("right", "right", "shift+left", "shift+left")
        assert selected(seat) == [(0, 0), (0, 1), (0, 2)]


async def test_action_extend_right(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("shift+right", "shift+right")
        assert selected(seat) == [(0, 0), (0, 1), (0, 2)]


async def test_action_extend_up(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("down", "shift+up", "shift+right")
        assert selected(seat) == [(0, 0), (0, 1), (1, 0), (1, 1)]


async def test_action_extend_down(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("shift+down")
        assert selected(seat) == [(0, 0), (1, 0)]


async def test_action_toggle_select(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("space", "right", "right", "space")
        assert selected(seat) == [(0, 0), (0, 2)]
        await seat.press("space")
        assert selected(seat) == [(0, 0)]


async def test_action_select_node(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("down", "v")
        assert selected(seat) == [(1, index) for index in range(8)]


async def test_action_select_column(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("right", "V")
        assert selected(seat) == [(0, 1), (1, 1)]


# Changing


async def test_action_assign(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        await seat.press("down", "shift+right", "a")
        assert seat.shows(ChooseScreen)
        await seat.press("a")
        await becomes(seat, "0-3,8-9")
        assert "actor: 0-3,8-9" in seat.session.text
        assert file.read_text() == PLAN
        await seat.until(lambda: "edited" in seat.status)


async def test_action_take_off(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("right", "right", "right", "delete")
        await becomes(seat, "0-2")
        await seat.press("G", "backspace")
        await seat.until(lambda: "nothing is placed here" in seat.toasts)


async def test_action_move_back(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("end", "ctrl+left")
        await becomes(seat, "3-6", "rollout")


async def test_action_move_on(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("end", "ctrl+right")
        await becomes(seat, "5-8", "rollout")


async def test_action_move_up(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN.replace("4-7", "12-15"))) as seat:
        await seat.press("down", "end", "ctrl+up")
        await becomes(seat, "4-7", "rollout")


async def test_action_move_down(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("ctrl+down")
        await becomes(seat, "8-11")


async def test_action_grow(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("end", "right_square_bracket")
        await becomes(seat, "4-8", "rollout")


async def test_action_shrink(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("left_square_bracket")
        await becomes(seat, "0-2")


async def test_action_edit_rule(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e")
        panel = seat.main.query_one(RulePanel)
        await seat.until(lambda: panel.display, "the rule")
        field = panel.query_one(Input)
        field.value = "0-1"
        await seat.sees("2 ranks")
        field.value = "0-99"
        await seat.sees("does not exist")
        field.value = "0-5"
        await seat.press("enter")
        await becomes(seat, "0-5")
        await seat.press("e")
        await seat.until(lambda: panel.display, "the rule")
        field.value = "0"
        await seat.press("escape")
        await becomes(seat, "0-5")


async def test_action_more(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("m")
        await seat.until(lambda: seat.shows(ChooseScreen), "the answers")
        await seat.press("s")
        await seat.sees("Swap actor with which component?")
        await seat.press("enter")
        await becomes(seat, "4-7")
        await becomes(seat, "0-3", "rollout")


async def test_action_edit_yaml(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("E")
        seat.yaml.replace("0-1", *_span(seat, "0-3"))
        await becomes(seat, "0-1")
        await seat.press("ctrl+z")
        await becomes(seat, "0-3")


def _span(seat: Seat, word: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where a word is in the text."""
    lines = seat.yaml.text.split("\n")
    line = next(number for number, text in enumerate(lines) if word in text)
    column = lines[line].index(word)
    return (line, column), (line, column + len(word))


async def test_action_undo(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("left_square_bracket")
        await becomes(seat, "0-2")
        await seat.press("u")
        await becomes(seat, "0-3")
        assert seat.session.text == PLAN


async def test_action_redo(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("left_square_bracket")
        await becomes(seat, "0-2")
        await seat.press("u", "U")
        await becomes(seat, "0-2")


async def test_action_save(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file, write=True) as seat:
        await seat.press("left_square_bracket")
        await becomes(seat, "0-2")
        await seat.press("ctrl+s")
        await seat.until(lambda: seat.shows(SaveScreen), "what changes")
        await seat.sees("actor: 0-2")
        assert file.read_text() == PLAN
        await seat.press("enter")
        await seat.until(lambda: file.read_text() == PLAN.replace("0-3", "0-2"), "saved")


async def test_a_rule_that_is_half_written_does_not_keep_the_program_from_ending(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e")
        await seat.until(lambda: seat.app.screen.query(RulePanel), "the rule")
    assert seat.app.return_code in (None, 0)
