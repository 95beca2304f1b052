"""Edits in the grid, as a person makes them: select, press a key, look at the grid and at the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.events import MouseMove
from textual.widgets import Input

from placetui.grid import Place
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.choose import ChooseScreen

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat

PLAN = """\
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-3       # trains
    rollout: 8-11
placetui: {topology: {nodes: 2, gpus_per_node: 8}}
"""


def selected(seat: Seat) -> list[tuple[int, int]]:
    """Node and index of what is selected, nothing if only the cursor stands somewhere."""
    return sorted((place.node, place.index) for place in seat.grid.selected)


def text(seat: Seat) -> str:
    return seat.editor.history.text


def on(seat: Seat, component: str) -> list[tuple[int, tuple[int, ...]]]:
    placements = seat.session.plan.components[component].placements
    return [(one.cluster_node_rank, tuple(one.local_hardware_ranks)) for one in placements]


async def choose(seat: Seat, *keys: str) -> None:
    """Answer dialogs one after the other; each has to be there before it is answered."""
    for key in keys:
        await seat.until(lambda: isinstance(seat.app.screen, ChooseScreen), "a dialog")
        await press_and_close(seat, key)


async def answer(seat: Seat, words: str) -> None:
    await seat.until(lambda: isinstance(seat.app.screen, AskScreen), "a question")
    seat.app.screen.query_one(Input).value = words
    await press_and_close(seat, "enter")


async def press_and_close(seat: Seat, key: str) -> None:
    dialog = seat.app.screen
    await seat.press(key)
    await seat.until(lambda: seat.app.screen is not dialog, "the dialog closed")


# Selecting


async def test_action_extend_right(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("right", "shift+right", "shift+right")
        assert selected(seat) == [(0, 1), (0, 2), (0, 3)]
        assert seat.cursor == (0, "gpu", 3)


async def test_action_extend_left(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("end", "shift+left", "shift+left", "shift+left", "shift+right")
        assert selected(seat) == [(0, 5), (0, 6), (0, 7)]


async def test_action_extend_down(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("shift+right", "shift+down")
        assert selected(seat) == [(0, 0), (0, 1), (1, 0), (1, 1)]


async def test_action_extend_up(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("shift+down", "shift+up", "shift+up")
        assert selected(seat) == [(0, 0)]
        await seat.press("down", "down", "shift+up")
        assert selected(seat) == [(0, 0), (1, 0)], "a plain arrow begins a new selection"


async def test_action_toggle_select(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("space", "right", "right", "space", "right", "space", "space")
        assert selected(seat) == [(0, 0), (0, 2)]
        await seat.press("escape")
        assert selected(seat) == []


async def test_action_select_node(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("down", "v")
        assert selected(seat) == [(1, index) for index in range(8)]


async def test_action_select_column(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("right", "V")
        assert selected(seat) == [(0, 1), (1, 1)]


async def test_dragging_selects_and_a_click_clears(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        here, there = (region(seat, node, index) for node, index in ((0, 2), (1, 4)))
        await seat.pilot.mouse_down("#grid", offset=here)
        await drag(seat, there)
        await seat.pilot.mouse_up("#grid", offset=there)
        await seat.pilot.pause()
        assert selected(seat) == [(node, index) for node in (0, 1) for index in (2, 3, 4)]
        await seat.pilot.click("#grid", offset=here)
        assert selected(seat) == []
        assert seat.cursor == (0, "gpu", 2)


def region(seat: Seat, node: int, index: int) -> tuple[int, int]:
    found = seat.grid._region(Place(node, "gpu", index))
    assert found is not None
    return found.x + 1, found.y


async def drag(seat: Seat, to: tuple[int, int]) -> None:
    """Move the mouse with its button down, as a terminal reports it."""
    x, y = seat.grid.content_region.offset + to
    event = MouseMove(seat.grid, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y)
    seat.app.screen._forward_event(event)
    await seat.pilot.pause()


async def test_devices_that_are_gone_are_no_longer_selected(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN.replace("rollout: 8-11", "rollout: 4-7"))) as seat:
        await seat.press("down", "v")
        session = seat.session.with_text(text(seat).replace("nodes: 2", "nodes: 1"))
        seat.main.workspace.show(session)
        await seat.pilot.pause()
        assert selected(seat) == []


# Editing


async def test_a_component_can_leave_the_file_while_it_is_chosen(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("end", "m")
        await seat.sees("Change which component?")
        seat.main.workspace.show(seat.session.with_text(text(seat).replace("    rollout: 8-11\n", "")))
        await choose(seat, "r")
        await seat.sees("rollout is no longer in the file")


async def test_action_assign(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press(*["right"] * 4, *["shift+right"] * 3, "a")
        await seat.sees("Assign to 4 selected devices", "0-3", "8-11", "a new component")
        await choose(seat, "a")
        assert text(seat) == PLAN.replace("actor: 0-3  ", "actor: 0-7  ")
        await seat.sees("A7", "edited")
        assert any("actor" in toast for toast in seat.toasts)


async def test_a_new_component_is_assigned(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("end", "V", "a")
        await choose(seat, "plus")
        await answer(seat, "reward")
        assert text(seat) == PLAN.replace("    rollout: 8-11\n", "    rollout: 8-11\n    reward: 7,15\n")
        await seat.sees("reward")


async def test_a_component_is_chosen_with_the_arrows_too(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press(*["right"] * 4, "a")
        await choose(seat, "enter")
        assert "actor: 0-4 " in text(seat)
        await seat.press("a")
        await choose(seat, "escape")
        assert "actor: 0-4 " in text(seat)


async def test_action_take_off(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("right", "right", "shift+right", "delete")
        await seat.until(lambda: text(seat) != PLAN)
        assert text(seat) == PLAN.replace("0-3  ", "0-1  ")
        await seat.press("end", "backspace")
        assert seat.toasts[-1] == "nothing is placed here"


async def test_taking_off_asks_whom(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN.replace("8-11", "0-11"))) as seat:
        await seat.press("delete")
        await seat.sees("Unassign from node0/gpu0")
        await choose(seat, "r")
        assert on(seat, "rollout")[0] == (0, (1,))
        assert on(seat, "actor")[0] == (0, (0,))


async def test_action_move_on(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("ctrl+right")
        await seat.until(lambda: "actor: 1-4 " in text(seat))
        assert seat.editor.history.undo_label == "move actor to 1-4"


async def test_action_move_back(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("ctrl+left")
        await seat.sees("Not possible")
        assert text(seat) == PLAN
        await seat.press("down", "ctrl+left")
        await seat.until(lambda: "rollout: 7-10" in text(seat))


async def test_action_move_down(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("ctrl+down")
        await seat.until(lambda: "actor: 8-11 " in text(seat))
        assert seat.cursor == (1, "gpu", 0), "the cursor goes with it"
        await seat.press("ctrl+down")
        await seat.sees("Not possible")
        await seat.press("ctrl+right")
        await seat.until(lambda: "actor: 9-12 " in text(seat), "the same one, though rollout is here too")


async def test_action_move_up(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("down", "ctrl+up")
        await seat.until(lambda: "rollout: 0-3" in text(seat))
        assert on(seat, "rollout") == on(seat, "actor")


async def test_action_grow(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("right_square_bracket", "right_square_bracket")
        await seat.until(lambda: "actor: 0-5 " in text(seat))
        assert len(seat.editor.history) == 2


async def test_action_shrink(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("down", "left_square_bracket")
        await seat.until(lambda: "rollout: 8-10\n" in text(seat))


async def test_the_highlighted_component_is_meant_wherever_the_cursor_is(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("c", "c", "right_square_bracket")
        await seat.until(lambda: "rollout: 8-12" in text(seat))


async def test_action_more(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("m")
        await seat.sees("swap places", "rename it", "remove it")
        await choose(seat, "s", "r")
        assert on(seat, "actor")[0] == (1, (0,))
        assert on(seat, "rollout")[0] == (0, (0,))
        assert seat.editor.history.labels == ["swap actor and rollout"]


async def test_more_that_asks_for_words(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        for key, words, after in (
            ("p", "2x", PLAN.replace("0-3  ", "0-3:0-7  ")),
            ("p", "/2", PLAN.replace("0-3  ", "0-3:0-1  ")),
            ("h", "0.5", PLAN.replace("8}}", "8}, shares: {actor: 0.5}}")),
            ("r", "trainer", PLAN.replace("actor", "trainer").replace("8}}", "8}, train: [trainer]}")),
        ):
            await seat.press("m")
            await choose(seat, key)
            await answer(seat, words)
            await seat.until(lambda: text(seat) != PLAN)
            assert text(seat) == after
            await seat.press("u")
            assert text(seat) == PLAN


async def test_more_that_asks_for_a_choice(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        without = PLAN.replace("    actor: 0-3       # trains\n", "")
        for keys, after in (("jr", without.replace("rollout:", "rollout,actor:")), ("x", without)):
            await seat.press("m")
            await choose(seat, *keys)
            await seat.until(lambda: text(seat) != PLAN)
            assert text(seat) == after
            await seat.press("u", "g")


async def test_the_mode_of_the_file(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("m")
        await choose(seat, "m")
        await seat.sees("as in the file", "component", "multi_agent")
        await seat.press("down")
        await choose(seat, "enter")
        assert text(seat) == PLAN.replace("8}}", "8}, mode: component}")


async def test_a_component_on_a_node_group(desk: Desk) -> None:
    async with desk.open(desk.copy("node-groups")) as seat:
        await seat.press("c", "m")
        await choose(seat, "g")
        await seat.sees("Node group", "a800", "4090")
        await seat.press("down")
        await choose(seat, "enter")
        assert on(seat, "actor") == [(node, (index,)) for node in (1, 2) for index in range(4)]
        assert "node_group: 4090\n      placement: all\n    rollout:" in text(seat)


async def test_an_answer_that_makes_no_sense_changes_nothing(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        for key, words, reason in (
            ("p", "many", "is neither"),
            ("h", "a lot", "is not a number"),
            ("h", "7", "share"),
            ("r", "a,b", "name"),
        ):
            await seat.press("m")
            await choose(seat, key)
            await answer(seat, words)
            await seat.sees("Not possible")
            assert reason in seat.toasts[-1]
            assert text(seat) == PLAN
            assert "edited" not in seat.status


async def test_a_rule_that_is_an_expression_is_not_rewritten(desk: Desk) -> None:
    plan = PLAN.replace("rollout: 8-11", "rollout: ${where}").replace("cluster:", "where: 8-11\ncluster:")
    async with desk.open(desk.write(plan)) as seat:
        await seat.press("down", "ctrl+right")
        await seat.sees("Not possible", "${")
        assert text(seat) == plan


# Files in slime's own arguments


async def test_a_slime_file_is_edited_through_its_arguments(desk: Desk) -> None:
    async with desk.open(desk.copy("slime-disaggregated")) as seat:
        before = text(seat)
        await seat.press("e")
        await seat.until(lambda: seat.main.view == "text", "the text, since there are no rules")
        await seat.press("escape")
        assert text(seat) == before
        await seat.press("c", "c", "left_square_bracket")
        await seat.until(lambda: text(seat) != before)
        assert text(seat) == before.replace("rollout-num-gpus: 12", "rollout-num-gpus: 10"), "one engine less"
        await seat.press("ctrl+right")
        await seat.sees("Not possible")
        assert len(seat.editor.history) == 1
