"""Under strain: a monkey, storms of resizes, thousands of nodes, a thousand edits. The full runs are in `make soak`."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest
from textual.pilot import Pilot

from placetui.bridge.client import Bridge
from placetui.bridge.source import simulated_source
from placetui.document import Document, PlanRequest, plan_document
from placetui.placement.topology import Node
from placetui.tui.app import Options
from placetui.tui.session import Session
from tests.tui.monkey import SETTLE, SIZES, Monkey, Painted, SimulatedSource

SAMPLES = Path(__file__).parents[2] / "sample_configs"
FILES = ["collocated", "disaggregated", "hybrid", "slime-ppo-critic", "broken-oversubscribed", "heterogeneous"]

PLAN = """\
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-3
    rollout: 4-7
placetui: {topology: {nodes: 1, gpus_per_node: 8}}
"""

LARGE = """\
cluster:
  num_nodes: 4096
  component_placement:
    actor: all
    rollout: 0-32767:0-16383
"""

pytestmark = pytest.mark.slow
needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads its memory in /proc")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def monkey(seed: int, folder: Path) -> Monkey:
    return Monkey(seed, folder, [SAMPLES / f"{name}.yaml" for name in FILES])


@pytest.mark.parametrize(
    ("seed", "events"),
    [
        (1, 60),
        pytest.param(2, 300, marks=pytest.mark.soak),
        *(pytest.param(seed, 1_000, marks=pytest.mark.soak) for seed in range(10, 20)),
    ],
)
def test_a_monkey_finds_no_exception_and_no_torn_screen(folder: Path, seed: int, events: int) -> None:
    one = monkey(seed, folder)
    one.run(events)
    assert one.events >= events


async def at_rest(app: Painted, pilot: Pilot[int]) -> None:
    """Wait until the terminal shows what it should."""
    end = time.monotonic() + SETTLE
    await pilot.pause()
    while torn := app.torn():
        assert time.monotonic() < end, "a torn screen:\n" + "\n".join(torn)
        await pilot.pause(0.02)


@pytest.mark.parametrize("resizes", [30, pytest.param(500, marks=pytest.mark.soak)])
def test_a_storm_of_resizes_leaves_no_torn_screen(folder: Path, resizes: int) -> None:
    sources: list[SimulatedSource] = []

    def source_for(plan: Any) -> SimulatedSource:
        sources.append(SimulatedSource(plan))
        return sources[-1]

    async def storm() -> None:
        random = Random(5)
        session = Session.open(str(SAMPLES / "heterogeneous.yaml"), PlanRequest())
        app = Painted(session, Options(source_for=source_for, user_themes=folder), SIZES[0])
        async with app.run_test(size=SIZES[0]) as pilot:
            for number in range(resizes):
                await pilot.resize_terminal(random.randint(2, 180), random.randint(2, 60))
                sources[-1].tick()
                if number % 20 == 0:
                    await at_rest(app, pilot)
            await pilot.resize_terminal(*SIZES[0])
            await at_rest(app, pilot)
            assert "Components 5" in "\n".join(app.terminal.lines)

    asyncio.run(storm())


def held() -> tuple[int, int]:
    """File descriptors and threads of this process."""
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def resident() -> int:
    """Bytes of memory in use."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@needs_proc
@pytest.mark.parametrize("cycles", [6, pytest.param(1_000, marks=pytest.mark.soak)])
def test_edit_undo_save_again_and_again(folder: Path, cycles: int) -> None:
    """A cycle is two edits, an undo, a redo and a save; every save must be on the disk, and nothing may pile up."""
    file = folder / "plan.yaml"
    file.write_text(PLAN)
    warm = cycles // 5

    async def until(pilot: Pilot[int], text: str) -> None:
        end = time.monotonic() + 30
        while file.read_text() != text:
            assert time.monotonic() < end, f"not saved: {file.read_text()}"
            await pilot.pause(0.01)

    async def work() -> None:
        session = Session.open(str(file), PlanRequest())
        app = Painted(session, Options(write=True, user_themes=folder / "none"), (100, 30))
        before = (0, 0, 0)
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            await pilot.pause()
            for number in range(cycles):
                smaller = number % 2 == 0
                key = "left_square_bracket" if smaller else "right_square_bracket"
                await pilot.press(key, key, "u", "U", "u", "ctrl+s", "enter")
                await until(pilot, PLAN.replace("0-3", "0-2") if smaller else PLAN)
                if number == warm:
                    before = (*held(), resident())
            await at_rest(app, pilot)
            assert held()[0] <= before[0] + 2
            assert held()[1] <= before[1] + 1
            assert resident() < before[2] + 40 * 2**20 + cycles * 4096
        assert [entry.name for entry in folder.iterdir() if entry.is_file()] == ["plan.yaml"]

    asyncio.run(work())


@needs_proc
@pytest.mark.parametrize("seconds", [15, pytest.param(600, marks=pytest.mark.soak)])
def test_four_thousand_nodes_live(folder: Path, seconds: int, record_property: Any) -> None:
    """Memory stays flat, and the dashboard needs a fraction of a core however long it runs."""
    plan_request = PlanRequest(nodes=(Node(8),) * 4096)
    file = folder / "large.yaml"
    file.write_text(LARGE)
    figures: dict[str, float] = {}

    async def watch() -> None:
        document = Document.from_file(str(file))
        assert plan_document(document, plan_request).components
        with Bridge(folder / "logs") as bridge:
            options = Options(source_for=partial(simulated_source, bridge), user_themes=folder / "none")
            app = Painted(Session.open(str(file), plan_request), options, (160, 48))
            async with app.run_test(size=(160, 48)) as pilot:
                main = app.main
                assert main is not None
                end = time.monotonic() + 60
                while main.picture.observation is None:
                    assert time.monotonic() < end, "no news"
                    await pilot.pause(0.1)
                await pilot.pause(5)
                start, cpu, memory = time.monotonic(), time.process_time(), resident()
                keys = ["down", "pagedown", "minus", "plus", "end", "home", "pageup"]
                spent: list[float] = []
                news = 0
                seen = main.picture.observation
                while time.monotonic() < start + seconds or (news < 2 and time.monotonic() < start + seconds + 60):
                    begun = time.process_time()
                    await pilot.press(keys[int(time.monotonic()) % len(keys)])
                    spent.append(time.process_time() - begun)
                    await pilot.pause(0.5)
                    if main.picture.observation is not seen:
                        seen, news = main.picture.observation, news + 1
                passed = time.monotonic() - start
                figures.update(
                    seconds=round(passed),
                    observations=news,
                    cpu_percent=round(100 * (time.process_time() - cpu) / passed),
                    key_ms=round(median(spent) * 1000),
                    growth_mib=round((resident() - memory) / 2**20, 1),
                    memory_mib=round(resident() / 2**20),
                )
                await at_rest(app, pilot)

    asyncio.run(watch())
    record_property("figures", figures)
    sys.stdout.write(f"{figures}\n")
    assert figures["observations"] >= 2
    assert figures["growth_mib"] < 60, figures
    assert figures["cpu_percent"] < 80, figures
    assert figures["key_ms"] < 1_000, figures
