"""Pictures of the main screens. PLACETUI_UPDATE_GOLDENS=1 takes them anew: look at them before you keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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


@pytest.mark.parametrize("density", ["compact", "heat"])
async def test_the_other_densities(desk: Desk, snapshots: Snapshots, density: str) -> None:
    async with desk.open("large", (80, 24), density=density) as seat:
        await seat.press("c")
        snapshots.same(density, await seat.svg())


async def test_a_live_picture(desk: Desk, snapshots: Snapshots, world: World) -> None:
    async with desk.open("collocated", (100, 30), live=True) as seat:
        picture = world.simulated(desk.sources[0].plan)
        picture = world.with_rank(picture, "rollout", 3, state="dead", reason="killed by signal 9: out of host memory")
        desk.sources[0].deliver(picture)
        await seat.sees("simulated, every 1 s")
        await seat.press("right", "right", "right")
        snapshots.same("live", await seat.svg())


async def test_the_yaml_with_problems(desk: Desk, snapshots: Snapshots) -> None:
    async with desk.open("broken-out-of-range", (100, 30)) as seat:
        await seat.press("exclamation_mark")
        snapshots.same("yaml", await seat.svg())


@pytest.mark.parametrize(("key", "name"), [("w", "what-if"), ("question_mark", "help"), ("d", "details")])
async def test_dialogs(desk: Desk, snapshots: Snapshots, key: str, name: str) -> None:
    async with desk.open("collocated", (100, 30)) as seat:
        await seat.press(key)
        snapshots.same(name, await seat.svg())


async def test_ascii_without_colour(desk: Desk, snapshots: Snapshots) -> None:
    async with desk.open("broken-oversubscribed", (80, 24), ascii=True, color=False) as seat:
        await seat.press("right")
        snapshots.same("plain", await seat.svg())
