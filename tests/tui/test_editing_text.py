"""A rule in place, and the whole file as text: the grid follows, what is broken is said, one history takes it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.widgets import Input

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat, World

PLAN = """\
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-3 # trains
    rollout: 8-11
placetui: {topology: {nodes: 2, gpus_per_node: 8}}
"""


def text(seat: Seat) -> str:
    return seat.editor.history.text


def size(seat: Seat, component: str) -> int:
    """Ranks on the grid."""
    return seat.session.plan.components[component].world_size


def says(seat: Seat) -> str:
    """What stands beside the rule and below it."""
    panel = seat.main.rule
    assert panel is not None
    return " ".join(str(panel.query_one(f"#rule-{name}").render()) for name in ("aside", "below"))


# A rule in place


async def test_action_edit_rule(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e")
        await seat.sees("line 4 of plan.yaml", "▸ 4      actor: 0-3", "# trains")
        sizes = []
        await seat.press("end")
        for key in ("backspace", "7", "minus", "backspace", "comma", "8"):
            await seat.press(key)
            sizes.append((size(seat, "actor"), says(seat)))
        assert [number for number, _ in sizes] == [4, 8, 4, 8, 8, 9], "what cannot be placed shows the file as it was"
        assert "was 0-3   8 GPUs, 8 ranks, 1 node" in sizes[1][1]
        assert "^^^^ rank_format" in sizes[2][1]
        assert "0-7- is not a rank" in sizes[2][1]
        await seat.sees("A8", "9 ranks")
        assert text(seat) == PLAN, "nothing is done yet"
        await seat.press("enter")
        assert text(seat) == PLAN.replace("0-3", "0-7,8"), "as it was written"
        assert len(seat.editor.history) == 1
        assert seat.grid.has_focus
        await seat.press("u")
        assert text(seat) == PLAN
        assert size(seat, "actor") == 4


async def test_the_rule_is_replaced_by_what_is_typed_however_fast(desk: Desk) -> None:
    """Keys that arrive together with `e`, as from a slow line or a paste, reach the rule."""
    async with desk.open(desk.copy("hybrid")) as seat:
        for key in ("e", "2", "-", "5", "enter"):
            seat.app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await seat.until(lambda: "actor: 2-5" in text(seat))
        assert seat.main.view == "grid"


async def test_tab_goes_on_to_the_next_rule(desk: Desk) -> None:
    async with desk.open(desk.copy("hybrid")) as seat:
        await seat.press("e", "2", "minus", "5", "tab")
        await seat.sees("EDIT env", "env: 0-3")
        assert "actor: 2-5" in text(seat)
        await seat.press("0", "tab", "9", "9", "tab")
        assert "env: 0\n" in text(seat)
        await seat.sees("EDIT rollout")
        await seat.press("escape")
        assert "rollout: 4-7" in text(seat)
        assert len(seat.editor.history) == 2


async def test_escape_brings_the_rule_and_the_grid_back(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e", "end", "backspace", "7")
        await seat.sees("A7")
        await seat.press("escape")
        await seat.misses("A7")
        assert text(seat) == PLAN
        assert len(seat.editor.history) == 0
        assert "edited" not in seat.status


async def test_a_rule_that_is_not_understood_is_refused_and_stays_to_be_corrected(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e")
        seat.main.query_one("#rule", Input).value = "0-99"
        await seat.pilot.pause()
        assert seat.main.query_one("#rule-panel").has_class("-trouble")
        assert size(seat, "actor") == 4
        await seat.press("enter")
        await seat.sees("Not possible", "0-99")
        assert text(seat) == PLAN
        await seat.press("end", "backspace", "enter")
        await seat.until(lambda: text(seat) == PLAN.replace("0-3", "0-9"))


async def test_what_is_only_tried_is_taken_before_something_else_is_done(desk: Desk) -> None:
    """A click into the grid while the rule is open, and an edit there, must not splice into another text."""
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e", "end", "backspace", "1", "5")
        await seat.sees("A15")
        seat.grid.focus()
        await seat.press("down", "down", "c", "c", "left_square_bracket")
        await seat.until(lambda: len(seat.editor.history) == 2)
        assert text(seat) == PLAN.replace("0-3", "0-15").replace("8-11", "8-10")
        assert not seat.main.query_one("#rule-panel").display
        await seat.press("u", "u")
        assert text(seat) == PLAN


async def test_saving_in_the_middle_of_a_rule_saves_the_rule(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        await seat.press("e", "end", "backspace", "1", "ctrl+s")
        await seat.sees("Save plan.yaml", "+    actor: 0-1 # trains")
        await seat.press("enter")
        await seat.until(lambda: path.read_text() == PLAN.replace("0-3", "0-1"))


async def test_the_grid_and_the_panels_show_who_moves(desk: Desk) -> None:
    plan = PLAN.replace("8}}", "8}, shares: {actor: 0.6, rollout: 0.5}}")
    async with desk.open(desk.write(plan)) as seat:
        await seat.sees("plan, no cluster", "Fits", "4.4/16", "8 GPUs free", "no GPU over 1.0")
        await seat.misses("Events ─")
        await seat.press("e", "tab")
        await seat.sees("Rule  rollout  line 5", "no rank moves")
        await seat.press("3", "minus", "6")
        await seat.sees("preview of rollout: 3-6", "4 move", "4 stay", "8 ranks", "1 error")
        await seat.sees("3 ✗ 1.10", "R0    ←8", "R0    →3", "← comes from", "→ goes to")
        await seat.sees(
            "Changes 4", "1/gpu0 → 0/gpu3", "4 ranks stay", "was 8-11", "1 GPU over 1.0", "^^^ oversubscribed"
        )
        await seat.press("x")
        await seat.sees("✗ rank_format", "1 error")
        await seat.sees("last that fits rollout: 8-11", "the rule cannot be placed")
        await seat.misses("1.10", "4 move", "←8")
        await seat.press("escape")
        await seat.sees("plan, no cluster", "node0 · GPU 0", "8 GPUs free")
        await seat.misses("Changes", "preview of", "←8", "1 error")


async def test_while_a_rule_is_typed_what_runs_is_not_compared_with_it(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[0]
        first = world.simulated(source.plan)
        source.deliver(first)
        await seat.sees("plan and live", "48/48 ranks alive")
        await seat.press("e", "0", "minus", "7")
        await seat.sees("preview of actor: 0-7", "8 removed", "A8", "−")
        source.deliver(world.with_rank(first, "rollout", 3, state="dead", reason="out of memory"))
        await seat.until(lambda: seat.main.running.notices, "the picture behind it")
        assert [one.kind for one in seat.main.running.notices] == ["dead_rank"], "against the file, not the preview"
        assert seat.main.picture.notices == ()
        await seat.misses("drift", "ranks alive", "dead")
        await seat.press("escape")
        await seat.sees("plan and live", "47/48 ranks alive", "rollout 3 is dead")


async def test_signs_that_are_keys_elsewhere_are_typed_into_a_rule(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e", "question_mark", "exclamation_mark", "1", "slash")
        assert seat.main.rule is not None
        assert seat.main.rule.text == "?!1/"


async def test_a_click_on_another_view_applies_the_rule(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("e", "0", "minus", "5")
        await seat.sees("A5")
        await seat.app.run_action("app.act('view_ranks')")
        await seat.until(lambda: "actor: 0-5" in text(seat))
        assert not seat.main.workspace.drafting


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (40, 30)])
async def test_a_rule_is_edited_in_a_small_terminal(desk: Desk, size: tuple[int, int]) -> None:
    async with desk.open(desk.write(PLAN), size, density=None) as seat:
        await seat.press("e", "0", "minus", "9", "9")
        await seat.sees("actor: 0-99", "device 99 of 0-99")
        if size == (80, 24):
            await seat.sees("^^^^ resource_out_of_range", "hint", "EDIT actor", "enter apply")
        await seat.press("backspace")
        await seat.misses("device 99")
        await seat.press("enter")
        await seat.until(lambda: "actor: 0-9" in text(seat))
        assert seat.grid.has_focus


async def test_who_moves_of_very_many_ranks_is_said_a_moment_later(desk: Desk) -> None:
    plan = PLAN.replace("nodes: 2", "nodes: 1024").replace("0-3", "0-8190")
    async with desk.open(desk.write(plan), density=None) as seat:
        await seat.press("e", "1", "minus", "8", "1", "9", "1")
        await seat.sees("preview of actor: 1-8191", "8,191 move", "Changes 8,191", "and 8,1")


# The whole file


async def test_action_edit_yaml(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), (130, 40)) as seat:
        await seat.press("E")
        await seat.sees("4      actor: 0-3 # trains", "back to the grid")
        assert seat.grid.display, "the grid stays beside the text"
        assert seat.grid.region.width > 20
        assert seat.yaml.has_focus
        seat.yaml.move_cursor((3, 14))
        await seat.press("backspace", "7")
        await seat.until(lambda: size(seat, "actor") == 8, "the grid follows")
        await seat.sees("A6", "edited")
        assert text(seat) == PLAN.replace("0-3", "0-7")
        await seat.press("escape")
        assert seat.grid.has_focus
        assert size(seat, "actor") == 8
        await seat.press("2")
        await seat.sees("0-7 # trains")
        assert seat.yaml.read_only, "looking is not editing"


async def test_grid_and_text_have_borders_of_their_own_and_tiles_where_they_fit(desk: Desk) -> None:
    async with desk.open("hybrid") as seat:
        await seat.press("E")
        await seat.until(lambda: seat.yaml.has_focus)
        await seat.sees("─ Grid  plan", "─ File  hybrid.yaml  edit")
        await seat.until(lambda: seat.grid.drawing is not None and seat.grid.drawing.density in ("tile", "small"))
        assert seat.grid.region.right == seat.yaml.region.x, "they touch"
        await seat.pilot.click(seat.grid, offset=(20, 4))
        await seat.until(lambda: seat.cursor[2] == 2, "what is under the mouse")
        await seat.press("escape")
        await seat.misses("─ File")


async def test_below_the_file_stands_where_all_ranks_go(desk: Desk) -> None:
    """The components themselves are listed at the right."""
    async with desk.open("disaggregated") as seat:
        await seat.press("2")
        await seat.sees("Components 4  nodes and devices", "R node1       GPU 0-3           rank 1")
        assert sum("inference" in line for line in seat.lines[-12:]) == 0


async def test_the_file_opens_at_the_problem_with_the_others_below(desk: Desk) -> None:
    async with desk.open("broken-out-of-range") as seat:
        await seat.press("2")
        await seat.until(lambda: seat.yaml.cursor_location[0] == 11, "line 12")
        await seat.sees("Problem 1 of 4")
        below = "\n".join(seat.lines[20:])
        for words in ("Problem 1 of 4", "device 8 of 0-8 does not exist", "2  15:18", "4  17:13"):
            assert words in below
        await seat.press("1", "exclamation_mark", "exclamation_mark", "2")
        await seat.until(lambda: seat.yaml.cursor_location[0] == 15, "the problem that is selected")


async def test_in_a_narrow_terminal_there_is_the_text_alone(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), (80, 24)) as seat:
        await seat.press("E")
        await seat.sees("rollout: 8-11")
        assert not seat.grid.display
        assert seat.yaml.region.width >= 76
        await seat.press("x")
        await seat.sees("OLD: the file is invalid")
        await seat.press("escape")
        await seat.sees("A3")
        assert seat.grid.display


async def test_a_broken_text_keeps_the_last_good_grid(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), (150, 40)) as seat:
        await seat.press("E")
        await seat.sees("trains")
        seat.yaml.move_cursor((3, 14))
        await seat.press("minus")
        await seat.sees("OLD: the file is invalid", "✗ rank_format")
        line = next(line for line in seat.lines if "✗ rank_format" in line)
        assert "actor: 0-3-" in line, "the problem is named at its line"
        assert size(seat, "actor") == 4
        assert "A3" in seat.text
        await seat.press("ctrl+s")
        await seat.sees("the text is invalid")
        await seat.press("escape")
        await seat.press("backspace")
        await seat.misses("OLD", "✗ rank_format")


async def test_one_history_for_grid_and_text(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), (130, 40)) as seat:
        await seat.press("right_square_bracket")
        await seat.until(lambda: "0-4" in text(seat))
        await seat.press("E")
        await seat.sees("0-4 # trains")
        seat.yaml.move_cursor((4, 17))
        await seat.press("backspace", "5")
        # Before the text was taken over: undo takes back what was just typed, not what came before.
        await seat.press("ctrl+z")
        await seat.until(lambda: "rollout: 8-15" not in text(seat) and "8-15" not in seat.yaml.text)
        while seat.editor.history.undo_label == "typing":
            await seat.press("ctrl+z")
        assert text(seat) == seat.yaml.text == PLAN.replace("0-3", "0-4")
        await seat.press("ctrl+z")
        assert text(seat) == seat.yaml.text == PLAN
        assert size(seat, "actor") == 4
        assert seat.editor.history.redo_label is not None
        await seat.press("ctrl+y")
        assert text(seat) == PLAN.replace("0-3", "0-4")
        await seat.press("escape", "u")
        assert text(seat) == PLAN


async def test_action_undo(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("u")
        assert seat.toasts[-1] == "nothing to undo"
        await seat.press("ctrl+right")
        await seat.until(lambda: "1-4" in text(seat))
        await seat.press("u")
        assert seat.toasts[-1] == "undone: move actor to 1-4"
        assert text(seat) == PLAN
        await seat.misses("edited")


async def test_action_redo(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("U")
        assert seat.toasts[-1] == "nothing to redo"
        await seat.press("ctrl+right")
        await seat.until(lambda: "1-4" in text(seat))
        await seat.press("ctrl+z", "U")
        assert seat.toasts[-1] == "redone: move actor to 1-4"
        assert "actor: 1-4" in text(seat)


async def test_odd_line_ends_outside_of_what_was_typed_stay(desk: Desk, tmp_path: Path) -> None:
    odd = PLAN.replace("num_nodes: 2\n", "num_nodes: 2\r\n").replace(" trains\n", " trains\u2028# really\n") + "# end"
    path = tmp_path / "odd.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + odd.encode())
    async with desk.open(path, (130, 40), write=True) as seat:
        await seat.press("E")
        await seat.sees("rollout: 8-11")
        await seat.pilot.pause(0.3)
        assert text(seat) == odd, "looking changes nothing"
        assert "edited" not in seat.status
        row = next(number for number, line in enumerate(seat.yaml.document.lines) if "rollout" in line)
        seat.yaml.move_cursor((row, 17))
        await seat.press("backspace", "5")
        await seat.until(lambda: size(seat, "rollout") == 8)
        await seat.press("ctrl+s", "enter")
        await seat.until(lambda: not seat.editor.dirty)
    assert path.read_bytes() == b"\xef\xbb\xbf" + odd.replace("8-11", "8-15").encode()


async def test_a_rule_edited_beside_the_text_is_one_step(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), (130, 40)) as seat:
        await seat.press("E")
        await seat.sees("trains")
        seat.grid.focus()
        await seat.press("e", "end", "backspace", "7")
        await seat.sees("0-7 # trains")
        await seat.pilot.pause(0.3)
        assert text(seat) == PLAN, "the text that is only tried is nothing that was typed"
        await seat.press("escape")
        await seat.sees("0-3 # trains")
        assert len(seat.editor.history) == 0


async def test_typing_is_kept_when_the_program_is_left_at_once(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, (130, 40)) as seat:
        await seat.press("E")
        await seat.sees("trains")
        await seat.pilot.press("x", "ctrl+c")
    async with desk.open(path, (130, 40)) as seat:
        await seat.press("ctrl+r")
        await seat.sees("continue with it")
        await seat.press("r")
        assert text(seat) == "x" + PLAN
