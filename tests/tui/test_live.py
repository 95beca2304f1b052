"""The live picture: what moves, what is said, and how little is sent to the terminal."""

from __future__ import annotations

import gc
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from placetui.document import PlanRequest
from placetui.grid.look.style import WARNING
from placetui.observe.alerts import Thresholds
from placetui.observe.model import ProcessSample
from placetui.observe.ports import Status
from placetui.tui.actions import Context
from placetui.tui.app import COLLECTING, Dashboard
from placetui.tui.session import Session
from placetui.tui.widgets.inspector import Inspector

if TYPE_CHECKING:
    from placetui.observe.model import Observation
    from tests.tui.conftest import Desk, Seat, World

GIB = 1 << 30


async def test_the_picture_is_called_simulated(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[0]
        assert source.interval == 1.0
        source.deliver(world.simulated(source.plan))
        await seat.sees("simulated every 1 s", "GiB")
        await seat.sees("memory GiB", ".80 share", "alive")
        assert "one process" not in seat.text, "the legend explains what is on the screen"
        source.deliver(world.with_rank(world.simulated(source.plan), "actor", 3, state="dead"))
        await seat.sees("✗ dead")


async def test_memory_and_states_are_shown_and_follow(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (200, 60), live=True) as seat:
        source = desk.sources[0]
        first = world.simulated(source.plan)
        source.deliver(first)
        await seat.until(lambda: seat.observation is first)
        before = seat.text
        source.deliver(world.with_device(first, 0, 0, memory_used=3 * GIB, utilization=7))
        await seat.until(lambda: seat.text != before, "another picture")
        source.deliver(world.with_rank(first, "actor", 0, state="dead", reason="killed [by] signal 9"))
        await seat.sees("killed [by] signal 9")
        await seat.find("dead")
        assert seat.cursor == (0, "gpu", 0)


async def test_of_many_pictures_the_latest_is_shown(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[0]
        pictures = [world.simulated(source.plan, seconds) for seconds in range(5, 25)]
        for picture in pictures:
            source.deliver(picture)
        await seat.until(lambda: seat.observation is pictures[-1])


async def test_a_lost_link_is_said_and_the_picture_stays(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[0]
        picture = world.simulated(source.plan)
        source.deliver(picture)
        await seat.sees("simulated every 1 s")
        source.say(Status("lost", "the child was killed by signal 9"))
        await seat.sees("lost: the child was killed by signal 9")
        assert seat.observation is picture
        source.say(Status("connected"))
        await seat.sees("simulated every 1 s")


def highlighted(seat: Seat) -> int:
    """Columns of the grid that have the look of a recent change."""
    look, region = seat.grid.get_component_rich_style("grid-pane--changed").bgcolor, seat.grid.region
    strips = seat.app.screen._compositor.render_strips()[region.y : region.bottom]
    cells = (one for strip in strips for one in strip.crop(region.x, region.right))
    return sum(one.cell_length for one in cells if one.style is not None and one.style.bgcolor == look)


@pytest.mark.parametrize("motion", [True, False])
async def test_what_just_changed_is_highlighted_for_a_moment(desk: Desk, world: World, motion: bool) -> None:
    async with desk.open(desk.copy("hybrid"), live=True, motion=motion) as seat:
        first = world.simulated(desk.sources[0].plan)
        desk.sources[0].deliver(first)
        await seat.sees("GiB")
        assert not highlighted(seat)
        desk.sources[0].deliver(world.with_rank(first, "actor", 3, state="dead", reason="killed"))
        await seat.sees("✗ dead")
        assert bool(highlighted(seat)) is motion, "a rank died"
        await seat.until(lambda: not highlighted(seat), "for a moment only")
        desk.sources[0].deliver(world.with_rank(first, "actor", 3, state="alive"))
        await seat.misses("✗ dead")
        assert bool(highlighted(seat)) is motion, "it is back"
        await seat.until(lambda: not highlighted(seat))
        await seat.press("a", "r")
        await seat.until(lambda: seat.editor.dirty and seat.session.plan is seat.grid.drawing.plan)  # type: ignore[union-attr]
        assert bool(highlighted(seat)) is motion, "ranks moved"
        await seat.until(lambda: not highlighted(seat))


async def test_the_garbage_collector_is_given_back(desk: Desk) -> None:
    before = gc.get_threshold()
    async with desk.open("collocated"):
        assert gc.get_threshold() == COLLECTING != before
    assert gc.get_threshold() == before


async def test_a_simulated_job_outlasts_an_edit_and_what_then_differs_is_drift_but_no_event(
    desk: Desk, world: World
) -> None:
    file = desk.copy("collocated")
    async with desk.open(file, live=True) as seat:
        seen = world.simulated(desk.sources[0].plan)
        desk.sources[0].deliver(seen)
        await seat.until(lambda: seat.observation is seen)
        file.write_text(file.read_text().replace("actor: all", "actor: 0-7"))
        await seat.until(lambda: seat.main.picture.notices, "the ranks that are not planned")
        desk.sources[0].deliver(later := world.with_device(seen, 0, 0, utilization=7))
        await seat.until(lambda: seat.observation is later)
        assert list(seat.main.feed.events.events) == []
        assert len(desk.sources) == 1


async def test_other_nodes_get_another_source(desk: Desk) -> None:
    file = desk.copy("collocated")
    async with desk.open(file, live=True) as seat:
        file.write_text(file.read_text().replace("nodes: 2", "nodes: 3"))
        await seat.until(lambda: len(desk.sources) == 2, "another source")
        await seat.until(lambda: desk.sources[0].closed, "the first one closed")
        assert desk.sources[1].plan is seat.session.plan
    assert desk.sources[1].closed


async def test_a_broken_file_keeps_the_source(desk: Desk) -> None:
    file = desk.copy("collocated")
    async with desk.open(file, live=True) as seat:
        file.write_text("cluster: [")
        await seat.until(lambda: "OLD" in seat.status, "marked as old")
        assert len(desk.sources) == 1
        assert not desk.sources[0].closed


async def test_live_values_do_not_bring_back_a_problem_that_was_left(desk: Desk, world: World) -> None:
    async with desk.open("broken-base60", live=True) as seat:
        await seat.sees("Problem 1 of 5")
        await seat.press("right")
        await seat.misses("Problem 1 of 5")
        picture = world.simulated(seat.session.plan)
        desk.sources[0].deliver(picture)
        await seat.until(partial(is_shown, seat, picture), "the picture")
        assert "Problem 1 of 5" not in seat.text


async def test_the_picture_goes_on_under_a_dialog_and_behind_the_yaml(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[0]
        for number, key in enumerate(("question_mark", "escape", "2", "1")):
            await seat.press(key)
            picture = world.simulated(source.plan, 10.0 + number)
            source.deliver(picture)
            await seat.until(partial(is_shown, seat, picture), "the picture")
        await seat.sees("GiB")


def is_shown(seat: Seat, picture: Observation) -> bool:
    return seat.observation is picture


async def test_sorting_by_memory_uses_what_is_seen(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[0]
        picture = world.simulated(source.plan)
        for index in range(8):
            picture = world.with_device(picture, 0, index, memory_used=1)
        source.deliver(picture)
        await seat.until(lambda: seat.observation is picture)
        await seat.press("s", "s")
        assert seat.main.grid.look.order == "memory"
        assert seat.grid.drawing is not None
        assert list(seat.grid.drawing.nodes) == [1, 0]


async def test_a_heat_wall_takes_the_lines_that_its_nodes_need(desk: Desk, world: World) -> None:
    async with desk.open("large", (120, 36), live=True, density=None) as seat:
        source = desk.sources[0]
        source.deliver(world.simulated(source.plan))
        await seat.sees("Cluster", "Fullest")
        inspector = seat.main.query_one("#inspector")
        await seat.until(lambda: inspector.size.height == 4)
        await seat.sees("actor 0", "env 0", "Map", "g G  ends")
        await seat.pilot.resize_terminal(200, 60)
        await seat.until(lambda: inspector.size.height > 4)
        await seat.sees(" 1020 A")
        drawing = seat.grid.drawing
        assert drawing is not None
        assert drawing.height + seat.grid.header_height == seat.grid.size.height, "all nodes, and no line more"
        await seat.press("2")
        await seat.until(lambda: seat.main.query_one("#lower").size.height == 13)
        await seat.misses("Fullest", "Cluster")


async def test_without_a_search_the_filter_shows_the_nodes_with_marks(desk: Desk, world: World) -> None:
    async with desk.open("large", live=True, density=None) as seat:
        source = desk.sources[0]
        seen = world.simulated(source.plan)
        source.deliver(seen)
        await seat.until(lambda: seat.observation is seen)
        await seat.press("f")
        assert seat.toasts == ["nothing is marked, and nothing was searched for: press / first"]
        dead = world.with_rank(seen, "actor", 8 * 700, state="dead")
        source.deliver(replace(dead, nodes=(replace(dead.nodes[0], stale=True), *dead.nodes[1:])))
        await seat.sees("??")
        await seat.press("f")
        assert seat.grid.drawing is not None
        assert list(seat.grid.drawing.nodes) == [0, 700]
        await seat.sees("filter: marked")
        await seat.press("f")
        assert len(seat.grid.drawing.nodes) == 1024


# How much is sent


class CountingDriver(HeadlessDriver):
    """Really encodes what a terminal would get, and keeps it."""

    sent: list[str]

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.__dict__.setdefault("sent", []).append(data)


async def test_one_changed_cell_costs_less_than_a_kilobyte(desk: Desk, world: World) -> None:
    session = Session.open(str(world.samples / "large.yaml"), PlanRequest())
    app = Dashboard(session, desk.options(live=True))
    app.driver_class = CountingDriver
    app.animation_level = "none"
    async with app.run_test(size=(140, 44), headless=False) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None)
        source = desk.sources[0]
        first = world.simulated(source.plan, 130)  # how long ranks have been up changes with each minute
        source.deliver(first)
        await seat.until(lambda: seat.observation is first)
        driver = app._driver
        assert isinstance(driver, CountingDriver)

        async def cost(observation: Observation) -> int:
            driver.sent.clear()
            source.deliver(observation)
            await seat.until(lambda: seat.observation is observation)
            await pilot.pause(0.1)
            return len("".join(driver.sent).encode())

        # What the first picture made dirty is sent along with the second.
        await cost(world.with_device(first, 2, 3, memory_used=2 * GIB))
        changed = world.with_device(first, 2, 3, memory_used=1 * GIB, utilization=3)
        assert 0 < await cost(changed) < 1024
        elsewhere = world.with_device(changed, 900, 3, memory_used=1 * GIB, utilization=3)
        assert await cost(elsewhere) < 1024  # nothing but the history under the cursor
        # A death is news: the totals, the tabs, the problems and the events say so too.
        assert await cost(world.with_rank(elsewhere, "actor", 17, state="dead")) < 8 * 1024


async def test_load_is_shown_whatever_it_is(desk: Desk, world: World) -> None:
    for size in ((80, 24), (100, 30), (120, 36), (200, 60)):
        async with desk.open("collocated", size, live=True) as seat:
            first = world.simulated(desk.sources[-1].plan)
            loads = (0, 7, 10, 55, 82, 99, 100, 100)
            for index, load in enumerate(loads):
                first = world.with_device(first, 0, index, utilization=load)
            desk.sources[-1].deliver(first)
            await seat.sees("100%")
            line = next(line for line in seat.lines if "100%" in line)
            assert [int(load) for load in re.findall(r"(\d+)%", line)] == list(loads), seat.text


async def test_a_temperature_alert_marks_the_temperature_and_nothing_else(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True, thresholds=Thresholds(temperature_above=75)) as seat:
        seen = world.simulated(desk.sources[0].plan)
        hot = world.with_device(seen, 0, 2, temperature=91, memory_used=33 * GIB)
        desk.sources[0].deliver(hot)
        await seat.sees("▲ 91°", "▲ 1 ")
        drawing = seat.grid.drawing
        assert drawing is not None
        styles = {
            run.text.strip(): run.style for y in range(drawing.height) for run in drawing.line(y) if run.text.strip()
        }
        warned = {text for text, style in styles.items() if style._replace(ground=None) == WARNING}
        assert warned == {"▲", "2 ▲ 91°"}, "the node, the number of the GPU and the temperature"


async def test_a_dead_rank_says_what_can_be_done_and_its_event_says_who_first(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[0]
        seen = world.simulated(source.plan)
        source.deliver(seen)
        await seat.until(lambda: seat.observation is seen)
        source.deliver(
            world.with_rank(seen, "reward", 0, state="dead", reason="killed by signal 9: out of host memory")
        )
        await seat.sees("✗ W0 died ")
        seat.main.query_one(Inspector)._app_context = lambda: Context("grid", job=True)
        await seat.press("right", "left")
        await seat.sees("▸ R restart rank (read-only: start placetui with --write) · F follow log")


async def test_the_next_problem_is_one_of_the_file_or_one_that_is_seen(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        seen = world.simulated(desk.sources[0].plan)
        desk.sources[0].deliver(world.with_rank(seen, "actor", 9, state="dead", reason="killed"))
        await seat.sees("actor 9 is dead")
        await seat.press("exclamation_mark")
        await seat.until(lambda: seat.cursor == (1, "gpu", 1), "the dead rank")


async def test_the_most_urgent_problem_is_in_view_until_another_is_selected(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (100, 30), live=True) as seat:
        source = desk.sources[0]
        seen = world.simulated(source.plan)
        foreign = ProcessSample(4711, 6 * GIB, user="tomas", command="python eval.py")
        first = seen.nodes[0].devices[2]
        seen = world.with_device(seen, 0, 2, processes=(*first.processes, foreign))
        source.deliver(seen)
        await seat.sees("Problems 1", "≠ foreign process")
        seen = world.with_rank(seen, "reward", 10, state="dead", reason="CUDA error: " + "an illegal access " * 8)
        source.deliver(seen)
        await seat.sees("Problems 2", "✗ reward 10 is dead")
        await seat.press("exclamation_mark", "exclamation_mark")
        await seat.sees("▸ foreign process")
