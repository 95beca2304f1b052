"""Pictures of the main screens. PLACETUI_UPDATE_GOLDENS=1 takes them anew: look at them before you keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placetui.observe.model import ProcessSample
from tests.tui.pretend import ADDRESS, PretendedOperations

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Snapshots, World


@pytest.mark.parametrize("theme", ["dark", "light", "high-contrast", "colour-blind"])
async def test_the_main_screen_in_each_theme(desk: Desk, snapshots: Snapshots, theme: str) -> None:
    async with desk.open("disaggregated", theme=f"placetui-{theme}") as seat:
        await seat.find("0/5")
        seat.app.clear_notifications()
        snapshots.same(f"main-{theme}", await seat.svg())


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
async def test_the_main_screen_at_other_sizes(desk: Desk, snapshots: Snapshots, size: tuple[int, int]) -> None:
    async with desk.open("heterogeneous", size) as seat:
        snapshots.same(f"main-{size[0]}x{size[1]}", await seat.svg())


@pytest.mark.parametrize("density", ["letters", "heat"])
async def test_the_other_densities(desk: Desk, snapshots: Snapshots, density: str) -> None:
    async with desk.open("large", (80, 24), density=density) as seat:
        await seat.press("c")
        snapshots.same(density, await seat.svg())


async def test_a_live_picture(desk: Desk, snapshots: Snapshots, world: World) -> None:
    async with desk.open("collocated", (100, 30), live=True) as seat:
        picture = world.simulated(desk.sources[0].plan)
        picture = world.with_rank(picture, "rollout", 3, state="dead", reason="killed by signal 9: out of host memory")
        desk.sources[0].deliver(picture)
        await seat.sees("simulated", "✗")
        await seat.press("right", "right", "right")
        snapshots.same("live", await seat.svg())


@pytest.mark.parametrize(
    ("key", "name", "size", "plain"),
    [
        ("3", "processes", (100, 30), False),
        ("3", "processes-plain", (80, 24), True),
        ("4", "ranks", (100, 30), False),
        ("5", "drift", (100, 30), False),
    ],
)
async def test_tables(
    desk: Desk, snapshots: Snapshots, world: World, key: str, name: str, size: tuple[int, int], plain: bool
) -> None:
    """Who is on which GPU, how each rank is, and what differs: with a stranger and a dead rank among them."""
    async with desk.open("collocated", size, live=True, ascii=plain, color=not plain) as seat:
        picture = world.simulated(desk.sources[0].plan)
        held = picture.nodes[0].devices[0].processes
        stranger = ProcessSample(4242, 3 << 30, user="eve", command="python mine.py")
        picture = world.with_device(picture, 0, 0, processes=(*held, stranger))
        picture = world.with_rank(picture, "actor", 3, state="dead", reason="killed by signal 9", restarts=2)
        desk.sources[0].deliver(picture)
        await seat.sees("47/48")
        await seat.press(key, "down")
        snapshots.same(name, await seat.svg())


async def test_the_yaml_with_problems(desk: Desk, snapshots: Snapshots) -> None:
    async with desk.open("broken-out-of-range", (100, 30)) as seat:
        await seat.press("exclamation_mark")
        snapshots.same("yaml", await seat.svg())


@pytest.mark.parametrize(("key", "name"), [("question_mark", "help"), ("d", "details")])
async def test_dialogs(desk: Desk, snapshots: Snapshots, key: str, name: str) -> None:
    async with desk.open("collocated", (100, 30)) as seat:
        await seat.press(key)
        snapshots.same(name, await seat.svg())


async def test_what_if_marks_the_ranks_that_move(desk: Desk, snapshots: Snapshots) -> None:
    async with desk.open("collocated", (140, 40)) as seat:
        await seat.press("w", "down", "down")
        await seat.sees("R0 →8", "R0 ←0", "16 stay")
        snapshots.same("what-if", await seat.svg())


async def test_ascii_without_colour(desk: Desk, snapshots: Snapshots) -> None:
    async with desk.open("broken-oversubscribed", (80, 24), ascii=True, color=False) as seat:
        await seat.press("right")
        snapshots.same("plain", await seat.svg())


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
async def test_a_launch(desk: Desk, snapshots: Snapshots, size: tuple[int, int]) -> None:
    operations = PretendedOperations()
    async with desk.open("disaggregated", size, operations=operations, write=True) as seat:
        await seat.press("L", "enter")
        await seat.until(lambda: operations.asked("up"))
        operations.of("up").check(seat.session.plan)
        await seat.sees("do not launch")
        snapshots.same(f"launch-{size[0]}x{size[1]}", await seat.svg())


async def test_a_launch_in_the_grid(desk: Desk, snapshots: Snapshots) -> None:
    operations = PretendedOperations()
    async with desk.open("collocated", (100, 30), operations=operations, write=True, now=lambda: 1_000_000.0) as seat:
        await seat.press("L", "enter")
        await seat.until(lambda: operations.asked("up"))
        up, plan = operations.of("up"), seat.session.plan
        up.check(plan)
        await seat.sees("do not launch")
        await seat.press("ctrl+l")
        up.reserve()
        up.start(plan, "starting")
        up.tell(step="launch", component="actor", rank=0, state="alive")
        await seat.sees("1/48 ranks alive", "LAUNCH 1/48")
        snapshots.same("launching", await seat.svg())


@pytest.mark.parametrize("plain", [False, True], ids=["colour", "plain"])
async def test_the_list_of_jobs(desk: Desk, snapshots: Snapshots, plain: bool) -> None:
    operations = PretendedOperations()
    groups = {"actor": {"world_size": 8, "alive": 7}}
    job = {"name": "colocate", "file": "/home/me/runs/colocate.yaml", "created": 1_000_000.0, "groups": groups}
    other = {**job, "name": "a-name-that-is-longer-than-the-column", "state": "degraded", "created": 990_000.0}
    operations.replies["ps"] = {"address": ADDRESS, "jobs": [{**job, "state": "running"}, other]}
    size = (80, 24)
    async with desk.open(
        "collocated", size, operations=operations, now=lambda: 1_000_065.0, ascii=plain, color=not plain
    ) as seat:
        await seat.press("J")
        await seat.sees("degraded")
        snapshots.same("jobs-plain" if plain else "jobs", await seat.svg())
