"""What there is room for is shown: devices first, then the side bar; notices never where keys are named."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.screen import ModalScreen

from placetui.observe.model import JobSummary
from placetui.tui.widgets.panel import ListPanel
from tests.tui.conftest import SAMPLES

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat, World

LONG = """\
cluster:
  num_nodes: 2
  component_placement:
    actor_with_a_long_name: 0-1,3,5,7,9,11,13,15
    rollout: 2,4,6,8,10,12,14
    reward_model: 0-3
placetui:
  topology: {nodes: 2, gpus_per_node: 8}
"""
BROKEN = sorted(path.stem for path in SAMPLES.glob("broken-*.yaml"))


def unwrapped(seat: Seat) -> str:
    """The screen without its line ends and borders."""
    return " ".join(seat.text.replace("│", " ").split())


@pytest.mark.parametrize("width", [80, 99, 100, 104, 108, 109, 112, 120, 160, 200])
async def test_all_eight_gpus_of_a_node_are_in_view(desk: Desk, width: int) -> None:
    async with desk.open("collocated", (width, 30), density=None) as seat:
        await seat.sees("node1")
        await seat.until(lambda: seat.grid.max_scroll_x == 0)
        # Every GPU is named, each rank or all that share it: `W15`, `ARW15`.
        assert all(re.search(rf"[AW]{rank}\b", seat.text) for rank in range(16))


async def test_side_panels_make_room_and_come_back(desk: Desk) -> None:
    async with desk.open("collocated", (104, 30)) as seat:
        await seat.sees("Components 3", "Problems", "Events")
        await seat.press("b")
        await seat.misses("Problems")
        await seat.press("b")
        await seat.sees("Problems")
        await seat.pilot.resize_terminal(80, 24)
        await seat.misses("Problems")
        await seat.sees("Components 3", "16 ranks")
        await seat.pilot.resize_terminal(170, 40)
        await seat.sees("Components 3", "Problems", "Events")


async def test_rules_and_names_of_components_are_whole(desk: Desk) -> None:
    async with desk.open(desk.write(LONG), (120, 36)) as seat:
        await seat.sees("actor_with_", "0-1,3,5,7,9,11,13,15", "reward_model", "2,4,6,8,10,12,14")


async def test_problems_are_whole(desk: Desk) -> None:
    async with desk.open("broken-out-of-range", (120, 40)) as seat:
        panel = seat.main.query_one("#problems", ListPanel)
        panel.focus()
        for problem in seat.session.problems:
            side = " ".join(str(panel.render()).split())
            for words in (problem.rule, problem.message.replace("`", ""), problem.hint.replace("`", "")):
                assert " ".join(words.split()) in side
            await seat.press("down")


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_file_says_its_first_problem_and_draws_what_is_valid(desk: Desk, name: str) -> None:
    async with desk.open(name, (80, 24), density=None) as seat:
        session, first = seat.session, seat.session.problems[0]
        words = first.message.replace("`", "")
        await seat.until(lambda: words in unwrapped(seat) or not session.broken, words)
        drawing = seat.grid.drawing
        assert drawing is not None
        labels = [drawing.marks[name].label(0) for name in session.plan.components]
        await seat.sees(*labels)
        assert not session.broken or words in unwrapped(seat)


@pytest.mark.parametrize("key", ["w", "question_mark", "a", "ctrl+n", "d"])
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_notices_leave_the_keys_of_a_dialog_in_view(desk: Desk, key: str, size: tuple[int, int]) -> None:
    async with desk.open("collocated", size) as seat:
        await seat.press(key)
        await seat.until(lambda: isinstance(seat.app.screen, ModalScreen), "a dialog")
        await seat.pilot.pause(0.1)
        before = seat.lines
        for number in range(3):
            seat.app.notify(f"notice {number} " + "that says more than one line of a terminal has room for " * 2)
        await seat.sees("notice 2")
        *above, _, _, keys = seat.lines
        assert [*above, keys] == [*before[:-3], before[-1]]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 36), (200, 60)])
async def test_the_compact_view_names_the_ranks_of_every_node(desk: Desk, size: tuple[int, int]) -> None:
    async with desk.open("collocated", size, density="letters") as seat:
        await seat.sees("node1")
        for node in ("node0", "node1"):
            line = next(line for line in seat.lines if node in line)
            ranks = [re.findall(r"\d+", cell)[-1] for cell in line.split(node)[1].split()[:8]]
            first = 8 * int(node[-1])
            assert ranks == [str(rank) for rank in range(first, first + 8)], line


async def test_nothing_stands_where_components_would_if_there_are_none(desk: Desk) -> None:
    for size in ((80, 24), (120, 36)):
        async with desk.open("broken-indentation", size) as seat:
            await seat.sees("missing_field")
            assert "Components" not in seat.text


async def test_jobs_have_a_panel_from_160_columns(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (160, 48), live=True) as seat:
        seen = replace(
            world.simulated(seat.session.plan),
            job="collocated",
            jobs=(JobSummary("judge-bench", "verl", started=1_000_000.0 - 7200),),
        )
        seen = world.with_rank(seen, "reward", 3, state="dead")
        assert "Jobs" not in seat.text
        await seat.until(lambda: desk.sources[-1].subscriber)
        desk.sources[-1].deliver(seen)
        await seat.sees("Jobs 2", "collocated", "degraded", "47/48 alive, 2 nodes", "judge-bench", "2 h")
        await seat.pilot.resize_terminal(150, 48)
        await seat.misses("judge-bench")


@pytest.mark.parametrize(("nodes", "size"), [(2, (60, 16)), (2, (80, 16)), (2, (60, 18)), (12, (80, 24))])
async def test_the_grid_comes_to_rest(desk: Desk, world: World, nodes: int, size: tuple[int, int]) -> None:
    """Panels that come and go with a density must not be why another one fits."""
    rule = f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n    actor: all\n"
    file = desk.write(f"{rule}placetui:\n  topology: {{nodes: {nodes}, gpus_per_node: 8}}\n")
    async with desk.open(file, size, live=True, density=None) as seat:
        desk.sources[0].deliver(world.simulated(desk.sources[0].plan))
        await seat.sees("simulated")
        for _ in range(20):
            await seat.pilot.pause(0.02)
        before = seat.grid.drawing
        for _ in range(20):
            await seat.pilot.pause(0.02)
        assert seat.grid.drawing is before
        assert seat.grid.size.height > 1
