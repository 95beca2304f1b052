"""The file on disk, what is tried, what is kept."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from placetui.document import PlanRequest
from placetui.frameworks.new_job import ADVICE
from placetui.placement.topology import Node
from placetui.tui.app import Choice
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.picker import PickerScreen
from placetui.tui.dialogs.what_if import WhatIfScreen
from placetui.tui.session import Session
from placetui.tui.widgets.choices import Choices
from placetui.tui.widgets.rule_panel import RulePanel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.conftest import Desk, Seat, World

PLAN = """
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-3
placetui:
  topology: {nodes: 1, gpus_per_node: 8}
"""
MORE = PLAN.replace("0-3", "0-5")
HALF = PLAN[: PLAN.index("0-3")] + "[0-"
WRONG = PLAN.replace("0-3", "0-99")


def ranks(seat: Seat) -> int:
    return seat.session.plan.components["actor"].world_size


# The file is watched


async def test_the_grid_follows_the_file(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        await seat.press("right", "right")
        file.write_text(MORE)
        await seat.until(lambda: ranks(seat) == 6)
        await seat.sees("6 ranks", "6/8 GPUs")
        assert seat.cursor == (0, "gpu", 2)


async def test_the_yaml_follows_the_file(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        await seat.press("2")
        file.write_text(MORE)
        await seat.sees("actor: 0-5")
        await seat.press("1")
        await seat.sees("A5 ")


@pytest.mark.parametrize(
    ("broken", "rule"), [(HALF, "yaml_syntax"), (WRONG, "resource_out_of_range")], ids=["half", "wrong"]
)
async def test_a_broken_file_keeps_the_last_good_grid(desk: Desk, broken: str, rule: str) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        file.write_text(broken)
        await seat.until(lambda: "OLD" in seat.status, "marked as old")
        assert ranks(seat) == 4
        await seat.sees("A3 ", "1 error", rule)
        await seat.press("exclamation_mark")
        await seat.sees(f"Problem 1 of 1  {rule}")
        file.write_text(MORE)
        await seat.until(lambda: "OLD" not in seat.status, "fresh again")
        assert ranks(seat) == 6
        assert not seat.session.problems


async def test_a_deleted_file_keeps_the_grid_until_it_is_there_again(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        file.unlink()
        await seat.until(lambda: "OLD" in seat.status, "marked as old")
        assert ranks(seat) == 4
        assert seat.session.problems
        replacement = desk.write(MORE, "new.yaml")
        os.replace(replacement, file)
        await seat.until(lambda: ranks(seat) == 6)
        assert "OLD" not in seat.status


async def test_a_file_that_comes_back_as_it_was_is_fresh_again(desk: Desk) -> None:
    file, aside = desk.write(PLAN), desk.folder / "aside.yaml"
    async with desk.open(file) as seat:
        file.rename(aside)
        await seat.until(lambda: "OLD" in seat.status, "marked as old")
        aside.rename(file)
        await seat.until(lambda: "OLD" not in seat.status, "fresh again")
        assert not seat.session.problems
        await seat.press("right_square_bracket")
        await seat.until(lambda: ranks(seat) == 5)


async def test_what_is_wrong_with_an_unsaved_text_is_still_said_after_a_reload(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("E")
        seat.yaml.text = HALF
        await seat.until(lambda: seat.session.old)
        await seat.press("escape")
        before = seat.session
        seat.main.workspace.reload()
        await seat.until(lambda: seat.session is not before, "planned again")
        assert seat.session.old
        assert [one.rule for one in seat.session.problems] == ["yaml_syntax"]


async def test_the_file_waits_for_a_rule_that_is_being_written(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        await seat.press("e", "end")
        await seat.write(":")
        file.write_text(MORE)
        seat.main.workspace.file_changed()
        await seat.heard()
        panel = seat.main.query_one(RulePanel)
        assert panel.display
        assert panel.text == "0-3:"
        await seat.press("escape")
        await seat.until(lambda: ranks(seat) == 6, "the file is followed")
        assert not seat.editor.dirty


@pytest.mark.parametrize("way", ["escape", "enter"])
async def test_a_plan_waits_for_a_rule_that_is_being_written(desk: Desk, way: str) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        plan_request = replace(seat.session.plan_request, nodes=(Node(8), Node(8)), topology_source="flag")
        late = seat.session.wish(plan_request)
        go_on = threading.Event()

        def plan() -> Session:
            go_on.wait()
            return late

        seat.main.workspace.plan(plan)
        await seat.press("e", "end", "backspace")
        await seat.write("5")
        go_on.set()
        await seat.pilot.pause(0.05)
        panel = seat.main.query_one(RulePanel)
        assert panel.display
        assert panel.text == "0-5"
        await seat.press(way)
        if way == "escape":
            await seat.until(lambda: seat.session.tried, "what was planned")
            assert ranks(seat) == 4
        else:
            await seat.until(lambda: seat.editor.dirty, "the edit")
            await seat.heard()
            assert not seat.session.tried, "an edit counts more"
            assert ranks(seat) == 6
        assert seat.session.text == seat.editor.history.text


async def test_a_file_that_was_broken_from_the_start_is_followed_too(desk: Desk) -> None:
    file = desk.write(WRONG)
    async with desk.open(file) as seat:
        assert "1 error" in seat.status
        file.write_text(PLAN)
        await seat.until(lambda: not seat.session.problems)
        await seat.sees("4 ranks", "4/8 GPUs", "fine")


async def test_what_was_found_is_found_again_in_the_new_plan(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        await seat.find("free")
        assert len(seat.main.grid.look.hits.places) == 4
        file.write_text(MORE)
        await seat.until(lambda: ranks(seat) == 6)
        assert len(seat.main.grid.look.hits.places) == 2


async def test_the_cursor_leaves_nodes_that_are_gone(desk: Desk) -> None:
    file = desk.write(PLAN.replace("nodes: 1", "nodes: 4"))
    async with desk.open(file) as seat:
        await seat.press("G", "end")
        assert seat.cursor == (3, "gpu", 7)
        file.write_text(PLAN.replace("gpus_per_node: 8", "gpus_per_node: 4"))
        await seat.until(lambda: len(seat.session.plan.nodes) == 1)
        assert seat.cursor[0] == 0
        assert seat.cursor[2] < 4


# What if


async def try_out(seat: Seat, *, nodes: int | None = None, gpus: int | None = None, **chosen: str) -> None:
    """Fill in the dialog and try it."""
    await seat.press("w")
    screen = seat.app.screen
    assert isinstance(screen, WhatIfScreen)
    for name, number in (("nodes", nodes), ("gpus", gpus)):
        if number is not None:
            screen.query_one(f"#{name}", Input).value = str(number)
    for name, choice in chosen.items():
        choices = screen.query_one(f"#{name}", Choices)
        choices.chosen = choices.values.index(choice)
    await seat.pilot.pause()
    before = seat.session
    await seat.press("enter")
    await seat.until(lambda: seat.session is not before, "another plan")


@pytest.mark.parametrize("layout", ["collocated", "disaggregated"])
async def test_a_layout_is_tried_and_advice_given(desk: Desk, layout: str) -> None:
    async with desk.open("collocated") as seat:
        await try_out(seat, layout=layout)
        assert seat.toasts[-1] == ADVICE[layout]  # type: ignore[index]
        components = seat.session.plan.components
        actor = {place.cluster_node_rank for place in components["actor"].placements}
        rollout = {place.cluster_node_rank for place in components["rollout"].placements}
        assert (actor, rollout) == (({0, 1}, {0, 1}) if layout == "collocated" else ({0}, {1}))
        await seat.until(lambda: "what if" in seat.status)
        await try_out(seat, layout="as written")
        await seat.until(lambda: "what if" not in seat.status)


async def test_advice_is_read_while_choosing(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("w", "down")
        await seat.sees("Choose collocated if you have few GPUs")
        await seat.misses("Disaggregate when")
        await seat.press("down")
        await seat.sees("Choose disaggregated if rollout is heavy")


async def test_the_border_between_training_and_generation_moves(desk: Desk) -> None:
    async with desk.open("collocated", (140, 40)) as seat:
        await seat.press("w", "left_square_bracket")
        await seat.sees("nothing changes")
        await seat.press("right", "right")
        await seat.sees("8 training : 8 generation", "actor 8-15: removed")
        await seat.press("left_square_bracket", "left_square_bracket", "left_square_bracket")
        await seat.sees("5 training : 11 generation", "actor has 5 ranks instead of 16", "Both pools are on node0")
        await seat.press("tab", "tab", "right_square_bracket")
        await seat.sees("6 training : 10 generation")
        await seat.press("enter")
        await seat.until(lambda: seat.session.plan.components["actor"].world_size == 6)
        await seat.press("w")
        await seat.sees("6 training : 10 generation")
        await seat.press("left")
        await seat.sees("Choose collocated if you have few GPUs")
        await seat.press("right")
        await seat.sees("8 training : 8 generation")


@pytest.mark.parametrize(
    ("size", "where"), [((120, 36), "-aside"), ((200, 60), ""), ((300, 80), ""), ((80, 24), "-below")]
)
async def test_plans_stand_where_they_show_who_moves(desk: Desk, size: tuple[int, int], where: str) -> None:
    async with desk.open("collocated", size) as seat:
        await seat.press("w", "right", "right")
        await seat.sees("8 move", "✓ fits", "24 removed")
        compared = seat.app.screen.query_one("#compared")
        assert [name for name in ("-aside", "-below") if compared.has_class(name)] == [where] * bool(where)
        before, after = (seat.app.screen.query_one(f"#{name}").region for name in ("before", "after"))
        assert (before.width, before.x if where else before.y) == (after.width, after.x if where else after.y)
        if where == "-below":
            await seat.sees("tinted: moves   − removed", "ARW8−")
        else:
            await seat.sees("→8", "←0", "→ goes to   − removed")
            assert not any(row.strip() == "" for row in seat.lines[-5:]), "nothing is left over at the end"


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_keys_of_what_if_are_named_where_they_do_something(desk: Desk, width: int) -> None:
    async with desk.open("collocated", (width, 24)) as seat:
        await seat.press("w")
        await seat.sees("escape  cancel")
        assert ("tab  next row" in seat.lines[-1]) == (width > 40)
        assert "border" not in seat.lines[-1]
        await seat.press("right", "right")
        await seat.until(lambda: ("[ ]  border" in seat.lines[-1]) == (width > 80), "the key for the border")
        assert seat.lines[-1].rstrip().endswith("escape  cancel")


async def test_the_text_that_would_be_written_is_shown(desk: Desk) -> None:
    async with desk.open("collocated", (200, 60)) as seat:
        await seat.press("w", "right", "right")
        await seat.sees("File  once applied", "+    rollout: 8-15", "-    actor: all")
        assert "rollout: 8-15" not in seat.session.text


async def test_memory_is_shown_where_it_was_measured(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (140, 40), live=True) as seat:
        desk.sources[0].deliver(world.simulated(desk.sources[0].plan))
        await seat.sees("GiB")
        await seat.press("w", "right", "right")
        await seat.sees("peak memory", "fullest GPU", "not measured", "GiB free")
        await seat.press("enter")
        await seat.until(lambda: seat.session.tried)
        await seat.press("w", "left")
        await seat.sees("Verdict")
        await seat.misses("peak memory", "fullest GPU")


async def test_who_moves_is_shown_rather_than_what_was_measured(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        desk.sources[0].deliver(world.simulated(desk.sources[0].plan))
        await seat.sees("GiB")
        await seat.press("w", "right", "right")
        await seat.sees("→8", "←0", "fullest GPU")
        await seat.misses("peak memory")


async def test_both_plans_are_taken_along(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    async with desk.open("collocated", (140, 40)) as seat:
        await seat.press("w", "right", "right")
        await seat.sees("8 training : 8 generation", "actor 8-15: removed")
        await seat.press("y")
        assert all(words in seat.app.clipboard for words in ("Before\n", "After\n", "A8", "R0", "8 move", "✓ "))
        for name in ("both.txt", "both.svg"):
            await seat.press("x")
            await seat.until(lambda: seat.shows(AskScreen))
            seat.app.screen.query_one(Input).value = name
            await seat.press("enter")
            await seat.until((desk.folder / name).exists)
        assert (desk.folder / "both.txt").read_text() == seat.app.clipboard
        assert "Verdict" in (desk.folder / "both.svg").read_text()
        assert seat.shows(WhatIfScreen)


async def test_layouts_are_offered_where_the_framework_has_them(desk: Desk) -> None:
    async with desk.open("verl-colocated") as seat:
        await seat.press("w")
        assert list(seat.app.screen.query_one("#layout", Choices).values) == ["as written"]


@pytest.mark.parametrize(
    ("sample", "layout"), [("slime-colocated", "disaggregated"), ("slime-disaggregated", "collocated")]
)
async def test_slime_files_are_tried_out_too(desk: Desk, sample: str, layout: str) -> None:
    file = desk.copy(sample)
    file.write_text(file.read_text().replace("  train-async: true\n", ""))
    async with desk.open(file) as seat:
        await try_out(seat, nodes=4, layout=layout)
        shared = [device for device in seat.session.plan.devices if len(device.occupants) > 1]
        assert bool(shared) == (layout == "collocated")
        assert not seat.session.errors


async def test_another_mode(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await try_out(seat, mode="component")
        assert seat.session.plan.mode == "component"
        await seat.until(lambda: "component" in seat.status)


async def test_numbers_out_of_range_are_refused(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        for wrong in ("0", "99999999", ""):
            await seat.press("w")
            seat.app.screen.query_one("#nodes", Input).value = wrong
            await seat.press("enter")
            assert seat.shows(WhatIfScreen)
            assert "nodes must be a number from 1" in seat.toasts[-1]
            await seat.press("escape")
        assert len(seat.session.plan.nodes) == 2


async def test_what_is_tried_stays_when_the_file_changes(desk: Desk) -> None:
    file = desk.write(PLAN)
    async with desk.open(file) as seat:
        await try_out(seat, nodes=3)
        file.write_text(MORE)
        await seat.until(lambda: ranks(seat) == 6)
        assert len(seat.session.plan.nodes) == 3
        assert "what if" in seat.status


async def test_nothing_changes_what_the_command_line_set(desk: Desk) -> None:
    plan_request = PlanRequest(overrides=((("cluster", "component_placement", "actor"), "0-1"),))
    async with desk.open(desk.write(PLAN), plan_request=plan_request) as seat:
        assert ranks(seat) == 2
        await try_out(seat, gpus=4)
        assert ranks(seat) == 2
        await seat.press("r")
        await seat.until(lambda: seat.session.plan.nodes[0].gpus == 8)
        assert ranks(seat) == 2


# Keeping it


async def export(seat: Seat, name: str) -> str:
    await seat.press("x")
    seat.app.screen.query_one(Input).value = name
    await seat.press("enter")
    return seat.toasts[-1]


async def test_an_export_overwrites_nothing(desk: Desk) -> None:
    there = desk.write("mine", "grid.txt")
    async with desk.open("collocated") as seat:
        assert await export(seat, "grid.txt") == "grid.txt already exists; choose another name"
        assert there.read_text() == "mine"


async def test_an_export_that_cannot_be_written_says_why(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        assert "No such file or directory" in await export(seat, "nowhere/grid.txt")
        assert "cannot be written" in await export(seat, "a\0b")
        assert seat.app.screen is seat.main


async def test_an_export_has_the_density_on_screen(desk: Desk) -> None:
    async with desk.open("collocated", density="heat") as seat:
        await export(seat, str(desk.folder / "grid.txt"))
        heat = (desk.folder / "grid.txt").read_text()
        await seat.press("plus", "plus")
        await export(seat, "full.txt")
        assert heat.count("\n") < (desk.folder / "full.txt").read_text().count("\n")


# Choosing a file


async def test_without_a_file_there_is_a_picker(desk: Desk) -> None:
    choices = [Choice(str(desk.copy("hybrid")), "halves"), Choice(str(desk.write(PLAN, "other.yaml")), "plain")]
    async with desk.open(None, choices=choices) as seat:
        assert seat.shows(PickerScreen)
        await seat.sees("plan.yaml", "other.yaml")
        await seat.write("pla")
        await seat.press("down", "enter")
        await seat.until(lambda: seat.app.main is not None and seat.grid.drawing is not None, "the grid")
        assert seat.session.file.endswith("other.yaml")


async def test_leaving_the_picker_leaves(desk: Desk) -> None:
    async with desk.open(None) as seat:
        await seat.press("escape")
    assert seat.app.return_value == 0


async def test_a_file_that_cannot_be_read_is_told_and_asked_for_again(desk: Desk) -> None:
    bad: Path = desk.folder / "bad.yaml"
    bad.write_bytes(b"\xff\xfe\0")
    async with desk.open(None, choices=[Choice(str(bad))]) as seat:
        await seat.press("enter")
        await seat.until(lambda: seat.toasts, "a notice")
        await seat.until(lambda: isinstance(seat.app.screen, PickerScreen), "the picker again")
        bad.write_text(PLAN)
        await seat.press("enter")
        await seat.until(lambda: seat.app.main is not None and seat.grid.drawing is not None, "the grid")


async def test_a_typed_path_is_opened(desk: Desk) -> None:
    desk.write(PLAN, "typed.yaml")
    async with desk.open(None) as seat:
        await seat.write("typed.yaml")
        await seat.press("enter")
        await seat.until(lambda: seat.app.main is not None and seat.grid.drawing is not None, "the grid")
        assert seat.session.file == "typed.yaml"


async def test_letters_that_the_user_has_set_stay_while_the_file_changes(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN), plan_request=PlanRequest(letters={"actor": "T"})) as seat:
        assert "T0" in seat.text
        assert "A0" not in seat.text
        await seat.press("/", *"t3", "enter")
        assert seat.cursor == (0, "gpu", 3)
        desk.write(MORE)
        await seat.until(lambda: "T5" in seat.text, "the changed file")
