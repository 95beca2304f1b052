"""Looking at a plan: cursor, mouse, rules, finding, problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.geometry import Offset
from textual.widgets import ContentSwitcher

from placetui.grid import Place
from placetui.grid.look.style import ERROR
from placetui.tui.dialogs.details import DetailsScreen
from placetui.tui.main import MainScreen

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat

UNEVEN = """
cluster:
  num_nodes: 3
  component_placement: {actor: 0-12}
placetui:
  topology:
    nodes:
      - {name: big, gpus: 8}
      - {name: small, gpus: 1}
      - {name: middle, gpus: 4}
"""


def spot(seat: Seat, node: int, index: int, kind: str = "gpu") -> tuple[int, int]:
    """Where a device is in the grid widget."""
    assert seat.grid.drawing is not None
    region = seat.grid.drawing.locate(node, index, kind)
    assert region is not None
    scroll = seat.grid.scroll_offset
    return region.x + 1 - scroll.x, region.y + seat.grid.header_height - scroll.y


def looks(seat: Seat, node: int, index: int, kind: str = "gpu") -> set[str]:
    """The emphases that a device is painted with."""
    assert seat.grid.drawing is not None
    region = seat.grid.drawing.locate(node, index, kind)
    assert region is not None
    found = (entry for y in range(region.y, region.y + region.height) for entry in seat.grid._emphases(y))
    return {name for start, end, name, _ in found if start <= region.x < end}


# The cursor


async def test_the_cursor_keeps_its_column_over_shorter_nodes(desk: Desk) -> None:
    async with desk.open(desk.write(UNEVEN)) as seat:
        await seat.press("end", "down")
        assert seat.cursor == (1, "gpu", 0)
        await seat.press("down")
        assert seat.cursor == (2, "gpu", 3)
        await seat.press("up", "up")
        assert seat.cursor == (0, "gpu", 7)


async def test_the_cursor_reaches_robots_and_nodes_without_devices(desk: Desk) -> None:
    async with desk.open("heterogeneous") as seat:
        seen = [seat.cursor[:2]]
        for _ in range(10):
            await seat.press("down")
            seen.append(seat.cursor[:2])
        kinds = dict(seen)
        assert set(kinds) == set(range(8))
        assert {kind for node, kind in seen if node in (4, 5)} >= {"Franka"}
        await seat.press("up")
        assert seat.cursor[0] == 6


@pytest.mark.parametrize("density", ["card", "tile", "small", "letters", "heat"])
async def test_every_device_can_be_reached_and_inspected_in_every_density(desk: Desk, density: str) -> None:
    async with desk.open(desk.write(UNEVEN), density=density) as seat:
        reached = set()
        await seat.press("g", "home")
        for _ in range(20):
            reached.add(seat.cursor)
            await seat.press("right")
            if seat.cursor in reached:
                await seat.press("home", "down")
        assert {(node, index) for node, _, index in reached} >= {
            *((0, index) for index in range(8)),
            (1, 0),
            *((2, index) for index in range(4)),
        }


async def test_the_heat_density_steps_from_node_to_node(desk: Desk) -> None:
    async with desk.open("large", density="heat") as seat:
        drawing = seat.grid.drawing
        assert drawing is not None
        across = drawing.across
        assert across > 1
        await seat.press("end", "right")
        assert seat.cursor == (1, "gpu", 0)
        await seat.press("left")
        assert seat.cursor == (0, "gpu", 7)
        await seat.press("down")
        assert seat.cursor == (across, "gpu", 7)
        await seat.press("G", "down", "right")
        assert seat.cursor[0] == 1023
        await seat.press("up")
        assert seat.cursor[0] == 1023 - across


async def test_zoom_keeps_the_device_under_the_cursor_in_view(desk: Desk) -> None:
    async with desk.open("large") as seat:
        await seat.find("node700/gpu5")
        for key in ("minus", "minus", "plus", "plus"):
            await seat.press(key)
            assert seat.cursor == (700, "gpu", 5)
            await seat.until(lambda: 0 <= spot(seat, 700, 5)[1] < seat.grid.size.height, "the device in view")
        await seat.sees("node700 ")


async def test_zooming_in_keeps_the_line_of_the_node_in_view(desk: Desk) -> None:
    async with desk.open("disaggregated", (80, 24), density="small", live=True) as seat:
        await seat.press("plus")
        assert seat.density() == "tile"
        await seat.until(lambda: "node0" in seat.lines[seat.grid.region.y], "the node above its GPUs")


async def test_what_is_wrong_keeps_its_colour_under_the_cursor(desk: Desk) -> None:
    async with desk.open("broken-oversubscribed") as seat:
        grid = seat.grid
        assert grid.palette is not None
        wrong = grid.palette.rich_style(ERROR._replace(ground="white"))
        x, y = spot(seat, 0, 0)
        segments = list(grid.render_line(y).crop(x, x + 8))
        sign = next(segment for segment in segments if "✗" in segment.text)
        assert sign.style is not None
        assert (sign.style.color, sign.style.bgcolor) == (wrong.color, wrong.bgcolor)


async def test_the_wall_of_a_plan_is_about_the_highlighted_component(desk: Desk) -> None:
    async with desk.open("large", density="heat") as seat:
        assert seat.grid.drawing is not None
        whole = seat.grid.drawing.line(0)
        await seat.press("c")
        await seat.sees("promised share of actor")
        assert seat.grid.drawing.line(0) != whole
        await seat.press("c", "c", "c")
        assert seat.grid.drawing.line(0) == whole


async def test_names_and_numbers_stay_while_the_grid_scrolls(desk: Desk) -> None:
    text = UNEVEN.replace("gpus: 8", "gpus: 32").replace("0-12", "0-36")
    async with desk.open(desk.write(text), (80, 12)) as seat:
        await seat.press("end", "down")
        assert seat.cursor == (1, "gpu", 0)
        await seat.press("up")
        await seat.until(lambda: seat.grid.scroll_offset.x > 0, "scrolled sideways")
        region = seat.grid.region
        first = seat.lines[region.y]
        assert "31" in first
        assert "big" in first
        assert "A31" in "".join(seat.lines[region.y : region.bottom])


# The mouse


async def test_hover_click_and_double_click(desk: Desk) -> None:
    async with desk.open("disaggregated") as seat:
        await seat.pilot.hover(seat.grid, offset=spot(seat, 1, 5))
        assert seat.grid.hover == Place(1, "gpu", 5)
        assert "hover" in looks(seat, 1, 5)
        assert seat.cursor == (0, "gpu", 0)
        await seat.pilot.click(seat.grid, offset=spot(seat, 1, 5))
        await seat.pilot.pause()
        assert seat.cursor == (1, "gpu", 5)
        await seat.pilot.hover("StatusBar")
        await seat.until(lambda: seat.grid.hover is None)
        await seat.pilot.click(seat.grid, offset=spot(seat, 0, 4), times=2)
        await seat.until(lambda: seat.main.query_one("#views", ContentSwitcher).current == "file", "the YAML")
        assert seat.yaml.document.get_line(seat.yaml.cursor_location[0]).strip() == "rollout: 4-11"


async def test_a_click_beside_the_devices_changes_nothing(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("right")
        await seat.pilot.click(seat.grid, offset=(2, 0))
        await seat.pilot.click(seat.grid, offset=(2, seat.grid.size.height - 1))
        assert seat.cursor == (0, "gpu", 1)


async def test_the_wheel_scrolls(desk: Desk) -> None:
    async with desk.open("large") as seat:
        await seat.pilot._post_mouse_events([_wheel("MouseScrollDown")], seat.grid, offset=(20, 5))
        await seat.until(lambda: seat.grid.scroll_offset.y > 0, "scrolled down")
        await seat.pilot._post_mouse_events([_wheel("MouseScrollUp")], seat.grid, offset=(20, 5))
        await seat.until(lambda: seat.grid.scroll_offset.y == 0, "scrolled up")
        assert seat.cursor == (0, "gpu", 0)


def _wheel(name: str) -> type:
    from textual import events

    return getattr(events, name)  # type: ignore[no-any-return]


async def test_a_click_hits_the_device_on_screen_after_scrolling(desk: Desk) -> None:
    async with desk.open("large") as seat:
        await seat.find("node500")
        await seat.pilot.click(seat.grid, offset=spot(seat, 500, 3))
        await seat.pilot.pause()
        assert seat.cursor == (500, "gpu", 3)


# What lights up


async def test_the_cursor_frames_the_whole_tile_of_a_rank(desk: Desk) -> None:
    async with desk.open("disaggregated") as seat:
        await seat.find("0/5")
        assert "cursor" in looks(seat, 0, 5)
        assert "cursor-mark" in looks(seat, 0, 4)
        assert not looks(seat, 0, 0)


async def test_a_chosen_component_stands_out(desk: Desk) -> None:
    async with desk.open("hybrid") as seat:
        seat.main.query_one("#components").focus()
        await seat.press("down", "enter")
        assert seat.main.grid.look.component == "env"
        assert [index for index in range(8) if "highlight" in looks(seat, 0, index)] == [0, 1, 2, 3]
        await seat.press("enter")
        assert not any("highlight" in looks(seat, 0, index) for index in range(8))


# Finding


@pytest.mark.parametrize(
    ("sample", "query", "place", "hits"),
    [
        ("collocated", "rollout 11", (1, "gpu", 3), 1),
        ("collocated", "actor:2-4", (0, "gpu", 2), 3),
        ("collocated", "node1/gpu3", (1, "gpu", 3), 1),
        ("collocated", "1/3", (1, "gpu", 3), 1),
        ("collocated", "shared", (0, "gpu", 0), 16),
        ("heterogeneous", "sim-1", (3, "gpu", 0), 1),
        ("heterogeneous", "10.0.0.11", (1, "gpu", 0), 1),
        ("heterogeneous", "env", (4, "Franka", 0), 3),
        ("broken-oversubscribed", "oversubscribed", (0, "gpu", 0), 8),
    ],
)
async def test_finding(desk: Desk, sample: str, query: str, place: tuple[int, str, int], hits: int) -> None:
    async with desk.open(sample) as seat:
        await seat.find(query)
        assert seat.cursor == place
        assert len(seat.main.grid.look.hits.stops()) == hits
        assert "hit" in looks(seat, *place[::2], place[1])


async def test_finding_what_is_free(desk: Desk) -> None:
    async with desk.open(desk.write(UNEVEN.replace("0-12", "0-6"))) as seat:
        await seat.find("free")
        assert seat.cursor == (0, "gpu", 7)
        await seat.press("n")
        assert seat.cursor == (1, "gpu", 0)


async def test_what_is_not_found_is_said_and_leaves_all_as_it_was(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.find("actor 3")
        await seat.find("rolout 3")
        assert "rollout" in seat.toasts[-1]
        assert seat.cursor == (0, "gpu", 3)
        assert seat.main.grid.look.hits.query == "actor 3"
        await seat.find("free")
        assert "no GPU is free" in seat.toasts[-1]


async def test_an_empty_query_forgets_the_hits(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.find("actor 3")
        await seat.find("")
        assert not seat.main.grid.look.hits.places
        assert "hit" not in looks(seat, 0, 3)


async def test_a_filter_follows_the_next_query(desk: Desk) -> None:
    async with desk.open("heterogeneous") as seat:
        await seat.find("rollout")
        await seat.press("f")
        await seat.find("actor")
        assert seat.grid.drawing is not None
        assert list(seat.grid.drawing.nodes) == [0, 1]
        await seat.press("escape")
        assert len(seat.grid.drawing.nodes) == 8


# Problems


async def test_choosing_a_problem_shows_its_place(desk: Desk) -> None:
    async with desk.open("broken-out-of-range") as seat:
        seat.main.query_one("#problems").focus()
        await seat.press("down", "enter")
        index = 1
        await seat.until(lambda: seat.main.query("#file"), "the YAML")
        await seat.until(lambda: seat.yaml.cursor_location[0] + 1 == seat.session.problems[index].line, "the line")
        await seat.sees(f"Problem 2 of 4  {seat.session.problems[index].rule}")
        assert "4 errors" in seat.status or "errors" in seat.status


async def test_choosing_nothing_placed_says_so(desk: Desk) -> None:
    async with desk.open(desk.write(UNEVEN.replace("0-12", "0-6"))) as seat:
        await seat.press("end", "enter")
        assert seat.toasts == ["nothing is placed here"]


async def test_the_panel_below_the_file_is_about_the_line_under_the_cursor(desk: Desk) -> None:
    async with desk.open(desk.write(UNEVEN.replace("actor: ", "actor: # 0\n      ")), (80, 24)) as seat:
        await seat.press("2")
        await seat.sees("Components")
        row = next(row for row, line in enumerate(seat.yaml.document.lines) if "actor" in line)
        seat.yaml.move_cursor((row + 1, 8))
        await seat.sees(f"actor  line {row + 2}", "big", "GPU 0-7", "ranks 0-7", "and 5 more ranks")
        await seat.pilot.resize_terminal(120, 36)
        await seat.sees("small", "rank 8", "middle", "ranks 9-12")
    async with desk.open("broken-out-of-range", (80, 24)) as seat:
        await seat.press("2")
        seat.yaml.move_cursor((15, 4))
        await seat.sees(
            "Problem 3 of 4  process_across_nodes", "✗ process 0 must be on one node", "hint  choose devices"
        )
        await seat.press("down")
        await seat.sees("Problem 4 of 4  process_start")


async def test_the_problem_stays_until_the_cursor_moves_and_comes_back(desk: Desk) -> None:
    async with desk.open("broken-out-of-range", (80, 24)) as seat:
        await seat.press("exclamation_mark")
        await seat.sees("Problem 2 of 4", "▸ 15", "201 processes cannot be spread", "missing: A G R W", "2/4 ✗")
        await seat.press("right")
        await seat.sees("node0 · GPU 1", "2 of 6 components can be placed")
        await seat.misses("Problem 2 of 4")
        await seat.press("exclamation_mark")
        await seat.sees("Problem 2 of 4", "1  12:18  A")
        await seat.pilot.resize_terminal(120, 36)
        await seat.sees("Problems 4", "▸ not_divisible")
        await seat.misses("3  16:14  R")
        await seat.press("b")
        await seat.sees("3  16:14  R")
        await seat.press("escape")
        await seat.misses("Problem 2 of 4")


async def test_the_rule_of_a_component_that_cannot_be_placed_is_edited(desk: Desk) -> None:
    async with desk.open(desk.copy("broken-out-of-range")) as seat:
        await seat.press("e")
        await seat.sees("EDIT actor", "actor: 0-8")
        await seat.write("0-7")
        await seat.sees("8 GPUs, 8 ranks, 1 node", "preview of actor: 0-7", "3 errors")
        await seat.press("enter")
        await seat.sees("Problem 1 of 3  not_divisible", "missing: G R W")
        assert "      placement: 0-7\n" in seat.session.text


async def test_the_bottom_line_names_what_can_be_done_about_problems(desk: Desk) -> None:
    async with desk.open("broken-oversubscribed", (80, 24)) as seat:
        await seat.sees("!  next problem")
        await seat.press("exclamation_mark")
        await seat.sees("1/3 ✗", "e  edit rule", "E  edit file")
        await seat.press("exclamation_mark", "exclamation_mark")
        await seat.sees("3/3 ▲", "E  edit file")
        await seat.misses("e  edit rule")


async def test_editing_what_no_rule_says_opens_the_text_there(desk: Desk) -> None:
    async with desk.open("broken-slime", (80, 24)) as seat:
        await seat.press("e")
        await seat.until(lambda: seat.main.view == "text")
        problem = seat.session.problems[0]
        await seat.until(lambda: seat.yaml.cursor_location == ((problem.line or 0) - 1, (problem.column or 0) - 1))


async def test_a_long_line_of_the_file_is_wrapped(desk: Desk) -> None:
    comment = "# " + " ".join(f"word{number}" for number in range(30))
    async with desk.open(desk.write(f"{comment}\n{UNEVEN}"), (80, 24)) as seat:
        await seat.press("2")
        await seat.sees("word0", "word29")
        assert not seat.yaml.show_horizontal_scrollbar


async def test_a_file_without_a_plan_says_why_there_is_nothing_to_see(desk: Desk) -> None:
    async with desk.open(desk.write(""), (80, 24)) as seat:
        await seat.sees(
            "empty_file", "the file is empty", "hint  a placement file begins with", "nothing can be placed"
        )


async def test_the_grid_follows_what_happened_behind_the_yaml(desk: Desk) -> None:
    """The grid is hidden then, and has no size."""
    async with desk.open("heterogeneous") as seat:
        await seat.find("rollout")
        await seat.press("f", "2", "escape")
        assert seat.grid.drawing is not None
        assert len(seat.grid.drawing.nodes) == 8
        await seat.press("2")
        await seat.pilot.resize_terminal(160, 40)
        await seat.press("1")
        await seat.until(lambda: seat.grid.drawing and seat.grid.drawing.requested_width == seat.grid.room)


async def test_details_scroll_and_close(desk: Desk) -> None:
    async with desk.open("collocated", (80, 24)) as seat:
        await seat.press("d", "pagedown")
        assert seat.shows(DetailsScreen)
        box = seat.app.screen.query_one(".dialog")
        await seat.until(lambda: box.scroll_offset != Offset(0, 0), "scrolled")
        await seat.press("q")
        assert seat.app.screen is seat.main


async def test_half_an_export_is_not_left_behind(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        seat.app.write_new("out.txt", "a name that no encoding knows: \ud800")
        await seat.until(lambda: seat.toasts)
        assert seat.toasts[-1].startswith("out.txt cannot be written")
        assert not (desk.folder / "out.txt").exists()
        seat.app.write_new("out.txt", "whole")
        seat.app.write_new("out.txt", "\ud800")
        assert (desk.folder / "out.txt").read_text() == "whole"


async def test_keys_on_a_file_without_a_plan(desk: Desk) -> None:
    async with desk.open(desk.write("cluster: [", "broken.yaml")) as seat:
        assert not seat.session.plan.nodes
        await seat.press("v", "V", "[", "]", "d", "escape")
        await seat.press("w")
        assert seat.shows(MainScreen)
