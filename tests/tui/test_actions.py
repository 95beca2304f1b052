"""What a person can do, one test for each action of the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual.widgets import ContentSwitcher, Input, OptionList

from placetui.tui.actions import ACTIONS, BY_ID
from placetui.tui.app import Choice
from placetui.tui.dialogs.details import DetailsScreen
from placetui.tui.dialogs.help import HelpScreen
from placetui.tui.dialogs.new_file import NewFileScreen
from placetui.tui.dialogs.picker import PickerScreen
from placetui.tui.dialogs.what_if import WhatIfScreen
from placetui.tui.widgets.choices import Choices

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat


def test_every_action_has_a_test() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    tested = re.findall(r"^(?:async )?def test_action_(\w+)\(", text, re.MULTILINE)
    assert set(tested) == {action.id for action in ACTIONS}


def test_no_key_serves_two_actions() -> None:
    keys = [key for action in ACTIONS for key in action.keys.split(",")]
    assert sorted(keys) == sorted(set(keys))


# Move


async def test_action_cursor_left(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("end", "left")
        assert seat.cursor == (0, "gpu", 6)
        await seat.press("h")
        assert seat.cursor == (0, "gpu", 5)
        await seat.press("home", "left")
        assert seat.cursor == (0, "gpu", 0)


async def test_action_cursor_right(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("right", "l")
        assert seat.cursor == (0, "gpu", 2)
        await seat.sees("node0 · GPU 2")
        await seat.press(*["right"] * 9)
        assert seat.cursor == (0, "gpu", 7)


async def test_action_cursor_up(desk: Desk) -> None:
    async with desk.open("heterogeneous") as seat:
        await seat.press("G", "up")
        assert seat.cursor[0] == 6
        await seat.press("k")
        assert seat.cursor[0] == 5
        await seat.press("g", "up")
        assert seat.cursor == (0, "gpu", 0)


async def test_action_cursor_down(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("right", "right", "down")
        assert seat.cursor == (1, "gpu", 2)
        await seat.press("j")
        assert seat.cursor == (1, "gpu", 2)


async def test_action_page_up(desk: Desk) -> None:
    async with desk.open("large") as seat:
        await seat.press("G", "pageup")
        first = seat.cursor[0]
        assert 1000 < first < 1023
        await seat.press("ctrl+b")
        assert seat.cursor[0] == first - (1023 - first)


async def test_action_page_down(desk: Desk) -> None:
    async with desk.open("large", density="letters") as seat:
        await seat.press("pagedown")
        step = seat.cursor[0]
        assert step >= 2
        await seat.sees(f"node{step} · GPU 0")
        await seat.press("ctrl+f")
        assert seat.cursor[0] == 2 * step


async def test_action_row_start(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("right", "right", "home")
        assert seat.cursor == (0, "gpu", 0)
        await seat.press("right", "0")
        assert seat.cursor == (0, "gpu", 0)


async def test_action_row_end(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("end")
        assert seat.cursor == (0, "gpu", 7)
        await seat.press("home", "dollar_sign")
        assert seat.cursor == (0, "gpu", 7)


async def test_action_first_node(desk: Desk) -> None:
    async with desk.open("large") as seat:
        await seat.press("G", "right", "g")
        assert seat.cursor == (0, "gpu", 1)
        await seat.sees("node0 · GPU 1")
        await seat.press("G", "ctrl+home")
        assert seat.cursor == (0, "gpu", 1)


async def test_action_last_node(desk: Desk) -> None:
    async with desk.open("large") as seat:
        await seat.press("G")
        assert seat.cursor == (1023, "gpu", 0)
        assert any(line.lstrip().startswith("node1023") for line in grid_lines(seat))
        await seat.press("g", "ctrl+end")
        assert seat.cursor == (1023, "gpu", 0)


def grid_lines(seat: Seat) -> list[str]:
    """The part of the screen that shows the grid."""
    region = seat.grid.region
    return [line[region.x : region.right] for line in seat.lines[region.y : region.bottom]]


# See


async def test_action_zoom_in(desk: Desk) -> None:
    async with desk.open("collocated", density="heat") as seat:
        await seat.press("plus")
        assert seat.density() == "letters"
        await seat.press("equals_sign", "plus")
        assert seat.density() == "tile"
        assert any(".80" in line for line in grid_lines(seat))


async def test_action_zoom_out(desk: Desk) -> None:
    async with desk.open("large", density="tile") as seat:
        full = "\n".join(grid_lines(seat)).count("node")
        await seat.press("minus", "minus")
        assert seat.density() == "letters"
        compact = "\n".join(grid_lines(seat)).count("node")
        assert compact > full
        await seat.press("underscore", "minus")
        assert seat.density() == "heat"
        assert seat.grid.drawing is not None
        assert seat.grid.drawing.across > 1


async def test_action_next_metric(desk: Desk) -> None:
    async with desk.open("collocated", density="heat") as seat:
        metrics = []
        for _ in range(4):
            await seat.press("M")
            metrics.append(seat.grid.look.metric)
        assert metrics == ["load", "temperature", "state", "memory"]


async def test_the_most_detailed_density_at_which_all_nodes_fit_is_chosen_at_start(desk: Desk) -> None:
    for file, densities in (("collocated", ("tile", "small")), ("large", ("heat",))):
        async with desk.open(file, density=None) as seat:
            assert seat.density() in densities


async def test_action_jump(desk: Desk) -> None:
    async with desk.open("disaggregated") as seat:
        await seat.press("right", "right", "right", "right", "enter")
        assert showing(seat) == "file"
        line, _ = seat.yaml.cursor_location
        assert seat.yaml.document.get_line(line).strip() == "rollout: 4-11"
        await seat.sees("rollout: 4-11")


def showing(seat: Seat) -> str | None:
    return seat.main.query_one("#views", ContentSwitcher).current


async def test_action_details(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("down", "d")
        assert seat.shows(DetailsScreen)
        await seat.sees("node1")
        await seat.sees("Environment", "A actor 8")
        await seat.sees("RANK  ")
        await seat.press("escape")
        assert seat.app.screen is seat.main


async def test_action_next_component(desk: Desk) -> None:
    async with desk.open("hybrid") as seat:
        chosen = []
        for _ in range(4):
            await seat.press("c")
            chosen.append(seat.main.grid.look.component)
        assert chosen == ["actor", "env", "rollout", None]


async def test_action_view_plan(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("2", "1")
        assert showing(seat) == "grid"
        assert seat.grid.has_focus


async def test_action_view_yaml(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("2")
        assert showing(seat) == "file"
        await seat.sees("rollout,reward: all")
        await seat.press("right", "down")
        assert seat.cursor == (0, "gpu", 0)


async def test_action_next_problem(desk: Desk) -> None:
    async with desk.open("broken-out-of-range") as seat:
        await seat.sees("Problem 1 of 4")
        for number in (2, 3, 4, 1):
            await seat.press("exclamation_mark")
            await seat.sees(f"Problem {number} of 4  {seat.session.problems[number - 1].rule}")
        assert showing(seat) == "grid"
        await seat.press("enter")
        lines = []
        for problem in seat.session.problems:
            lines.append(seat.yaml.cursor_location[0] + 1)
            await seat.sees(f"✗ {problem.rule}")
            await seat.press("exclamation_mark")
        assert lines == [problem.line for problem in seat.session.problems]
    async with desk.open("collocated") as seat:
        await seat.press("exclamation_mark")
        assert seat.toasts == ["there are no problems"]


async def test_action_toggle_side(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        width = seat.grid.size.width
        await seat.press("b")
        assert not seat.main.query_one("#side").display or not seat.main.query_one("#side").region
        assert seat.grid.size.width > width
        assert seat.grid.drawing is not None
        assert seat.grid.drawing.requested_width == seat.grid.room
        await seat.press("b")
        assert seat.grid.size.width == width


# Find


async def test_action_find(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("slash")
        assert seat.main.query_one("#find", Input).has_focus
        await seat.write("rollout 11")
        await seat.press("enter")
        assert seat.cursor == (1, "gpu", 3)
        assert seat.grid.has_focus
        await seat.press("slash", "escape")
        assert seat.grid.has_focus
        assert not seat.main.query_one("#find-bar").display


async def test_action_find_next(desk: Desk) -> None:
    async with desk.open("disaggregated") as seat:
        await seat.press("n")
        assert "press / first" in seat.toasts[-1]
        await seat.find("inference")
        places = [seat.cursor]
        for _ in range(4):
            await seat.press("n")
            places.append(seat.cursor)
        assert places == [(1, "gpu", 4), (1, "gpu", 5), (1, "gpu", 6), (1, "gpu", 7), (1, "gpu", 4)]
        assert "1 of 4" in seat.toasts[-1]


async def test_action_find_previous(desk: Desk) -> None:
    async with desk.open("disaggregated") as seat:
        await seat.find("inference")
        await seat.press("N")
        assert seat.cursor == (1, "gpu", 7)
        await seat.press("N")
        assert seat.cursor == (1, "gpu", 6)


async def test_action_filter(desk: Desk) -> None:
    async with desk.open("heterogeneous") as seat:
        await seat.press("f")
        assert "press / first" in seat.toasts[-1]
        await seat.find("rollout")
        await seat.press("f")
        await seat.sees("filter: rollout")
        assert seat.grid.drawing is not None
        assert list(seat.grid.drawing.nodes) == [2, 3]
        assert not any("train-0" in line for line in grid_lines(seat))
        await seat.press("f")
        assert len(seat.grid.drawing.nodes) == 8


async def test_action_sort(desk: Desk) -> None:
    text = "cluster:\n  num_nodes: 3\n  component_placement:\n    actor: 0-3\nplacetui:\n  topology:\n    nodes:\n"
    file = desk.write(text + "".join(f"      - {{name: {name}, gpus: 4}}\n" for name in ("zoe", "ann", "max")))
    async with desk.open(file) as seat:
        orders = {}
        for _ in range(5):
            assert seat.grid.drawing is not None
            orders[seat.main.grid.look.order] = list(seat.grid.drawing.nodes)
            await seat.press("s")
        assert orders["name"] == [1, 2, 0]
        assert orders["free"] == [1, 2, 0]
        assert orders["rank"] == orders["memory"] == orders["state"] == [0, 1, 2]
        assert seat.main.grid.look.order == "rank"


async def test_action_clear(desk: Desk) -> None:
    async with desk.open("heterogeneous") as seat:
        await seat.find("rollout")
        await seat.press("f", "c", "s", "minus", "2", "escape")
        view = seat.main.grid.look
        assert (view.component, view.filtered, view.order, len(view.hits.places)) == (None, False, "rank", 0)
        assert view.density is not None
        assert showing(seat) == "grid"
        await seat.until(lambda: "filter" not in seat.status)


# Try


async def test_action_what_if(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("w")
        assert seat.shows(WhatIfScreen)
        seat.app.screen.query_one("#nodes", Input).value = "4"
        await seat.press("enter")
        await seat.until(lambda: len(seat.session.plan.nodes) == 4)
        await seat.sees("4 nodes × 8 GPUs")
        await seat.until(lambda: "what if" in seat.status)
        await seat.sees("96 ranks", "32/32 GPUs")


async def test_action_apply_what_if(desk: Desk) -> None:
    """What is tried becomes an edit, which is undone and saved as any other."""
    path = desk.copy("disaggregated")
    before = path.read_text()
    async with desk.open(path, write=True) as seat:
        await seat.press("W")
        assert "no what-if is active" in seat.toasts[-1]
        await seat.press("w")
        seat.app.screen.query_one("#nodes", Input).value = "4"
        await seat.press("enter")
        await seat.until(lambda: len(seat.session.plan.nodes) == 4)
        await seat.sees("W  to the file", "r  discard")
        await seat.press("W")
        await seat.until(lambda: seat.editor.dirty)
        assert not seat.session.tried
        assert len(seat.session.plan.nodes) == 4
        assert "num_nodes: 4" in seat.session.text
        await seat.press("u")
        await seat.until(lambda: seat.session.text == before)
        await seat.press("U", "ctrl+s")
        await seat.sees("-  num_nodes: 2", "+  num_nodes: 4")
        await seat.press("enter")
        await seat.until(lambda: "num_nodes: 4" in path.read_text())


async def test_a_layout_that_was_applied_is_what_the_file_says_from_then_on(desk: Desk) -> None:
    async with desk.open(desk.copy("disaggregated"), write=True) as seat:
        await seat.press("w")
        layout = seat.app.screen.query_one("#layout", Choices)
        layout.chosen = layout.values.index("collocated")
        await seat.press("enter")
        await seat.until(lambda: seat.session.tried)
        await seat.press("W")
        await seat.until(lambda: seat.editor.dirty)
        await seat.press("w")
        assert seat.app.screen.query_one("#layout", Choices).chosen == 0


async def test_action_reload(desk: Desk) -> None:
    async with desk.open(desk.copy("collocated")) as seat:
        await seat.press("w")
        seat.app.screen.query_one("#gpus", Input).value = "4"
        await seat.press("enter")
        await seat.until(lambda: seat.session.plan.nodes[0].gpus == 4)
        await seat.press("r")
        await seat.until(lambda: seat.session.plan.nodes[0].gpus == 8)
        await seat.until(lambda: "what if" not in seat.status)


# Live


async def test_action_pause(desk: Desk) -> None:
    async with desk.open("collocated", live=True) as seat:
        paused = []
        for words in ("simulated, paused", "simulated every 1 s"):
            await seat.press("p")
            await seat.sees(words)
            paused.append(desk.sources[0].paused)
        assert paused == [True, False]
    async with desk.open("collocated") as seat:
        await seat.press("p")
        assert "no live values" in seat.toasts[-1]


async def test_action_faster(desk: Desk) -> None:
    async with desk.open("collocated", live=True) as seat:
        await seat.press("greater_than_sign")
        assert desk.sources[0].interval == 0.5
        await seat.sees("every 0.5 s")
        await seat.press(*["greater_than_sign"] * 5)
        assert desk.sources[0].interval == 0.2


async def test_action_slower(desk: Desk) -> None:
    async with desk.open("collocated", live=True, interval=10) as seat:
        await seat.press("less_than_sign")
        assert desk.sources[0].interval == 20
        await seat.press("less_than_sign")
        assert desk.sources[0].interval == 30


# Keep


async def test_action_copy(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("y")
        assert "node1" in seat.app.clipboard
        assert "A8" in seat.app.clipboard
        assert "OSC 52" in seat.toasts[-1]


@pytest.mark.parametrize(("name", "start"), [("grid.txt", "node"), ("grid.svg", "<svg")])
async def test_action_export(desk: Desk, name: str, start: str) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("x")
        field = seat.app.screen.query_one(Input)
        assert field.value == "collocated.svg"
        field.value = name
        await seat.press("enter")
        assert seat.toasts[-1] == f"saved {name}"
        text = (desk.folder / name).read_text(encoding="utf-8")
        assert start in text[:200]
        assert "15" in text
        assert "node1" in text


async def test_action_shot(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("Y")
        assert seat.app.screen.query_one(Input).value == "collocated-screen.svg"
        await seat.press("enter")
        svg = (desk.folder / "collocated-screen.svg").read_text(encoding="utf-8")
        assert svg.startswith("<svg")
        assert "File&#160;name" not in svg


# App


async def test_action_next_theme(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        seen = set()
        for _ in range(4):
            await seat.press("t")
            seen.add(seat.app.theme)
        assert seen == {f"placetui-{name}" for name in ("dark", "light", "high-contrast", "colour-blind")}
        assert ("theme", seat.app.theme) in desk.remembered


async def test_action_open(desk: Desk) -> None:
    file = desk.copy("hybrid")
    async with desk.open("collocated", choices=[Choice(str(file), "about it", "recent")]) as seat:
        await seat.press("o")
        assert seat.shows(PickerScreen)
        await seat.sees("about it")
        await seat.press("enter")
        await seat.until(lambda: seat.session.file == str(file))
        await seat.until(lambda: seat.grid.drawing is not None)
        assert ("recent", str(file)) in desk.remembered
        assert "simulator_type" in seat.session.document.text


async def test_action_help(desk: Desk) -> None:
    async with desk.open("collocated", (120, 40)) as seat:
        await seat.press("question_mark")
        assert seat.shows(HelpScreen)
        await seat.sees(BY_ID["cursor_up"].help)
        await seat.write("heat wall")
        await seat.sees(BY_ID["next_metric"].help)
        await seat.misses(BY_ID["cursor_up"].help)
        await seat.press("ctrl+u")
        await seat.write("zoom")
        await seat.sees(BY_ID["zoom_in"].help, BY_ID["zoom_out"].help)
        await seat.press("escape", "f1")
        assert seat.shows(HelpScreen)


async def test_action_quit(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("minus", "q")
    assert seat.app.return_code == 0


async def test_action_interrupt(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("slash", "a", "ctrl+c")
    assert seat.app.return_value == 0


async def test_the_palette_offers_the_actions_of_the_view_with_their_keys(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        offered = {command.title for command in seat.app.get_system_commands(seat.app.screen)}
        assert offered >= {"Themes", "Zoom in (+ =)", "What if (w)", "Launch (L)"}
        assert "Reverse (S)" not in offered
        await seat.press("3")
        offered = {command.title for command in seat.app.get_system_commands(seat.app.screen)}
        assert "Reverse (S)" in offered
        assert "Zoom in (+ =)" not in offered
        await seat.press("ctrl+p")
        await seat.until(lambda: "Apply what-if (W)" in seat.text, "the commands")
        line = next(line for line in seat.lines if "Apply what-if (W)" in line)
        assert "Apply the what-if to the file." in line, "each is one line"
        await seat.write("topology")  # a word of what it does
        listing = seat.app.screen.query_one(OptionList)
        await seat.until(lambda: listing.option_count and "Try another" in seat.text, "the hit")
        await seat.press("enter")
        await seat.until(lambda: isinstance(seat.app.screen, WhatIfScreen))


async def test_keys_can_be_bound_anew(desk: Desk) -> None:
    keys = {"cursor_right": "z", "view_yaml": "f5", "help": "f2"}
    async with desk.open("collocated", (120, 140), keys=keys) as seat:
        await seat.press("right", "z")
        assert seat.cursor == (0, "gpu", 1)
        await seat.press("f5")
        assert showing(seat) == "file"
        await seat.press("f2")
        assert seat.shows(HelpScreen)
        await seat.sees("f5 ")


async def test_action_new(desk: Desk) -> None:
    """A guided form with the grid that its answers give."""
    async with desk.open("collocated", write=True) as seat:
        await seat.press("ctrl+n")
        await seat.until(lambda: seat.shows(NewFileScreen))
        await seat.sees("framework", "component_placement", "A0")
        seat.app.screen.query_one("#nodes", Input).value = "2"
        seat.app.screen.query_one("#gpus", Input).value = "4"
        await seat.press("right")
        await seat.sees("slime:", "rollout_num_gpus_per_engine: 1")
        seat.app.screen.query_one("#engine", Input).value = "3"
        await seat.sees("cannot be divided into processes of 3")
        seat.app.screen.query_one("#engine", Input).value = "2"
        await seat.press("enter")
        await seat.until(lambda: seat.session.file == "placement.yaml" and seat.main.is_mounted)
        assert seat.session.plan.mode == "slime"
        assert seat.editor.dirty
        assert not (desk.folder / "placement.yaml").exists()
