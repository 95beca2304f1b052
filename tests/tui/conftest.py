"""A desk to work at: files, the dashboard over them, and a cluster that says what the test wants it to say."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from placetui.document import PlanRequest
from placetui.observe.model import Observation
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.plan import Plan
from placetui.tui.app import Dashboard, Options
from placetui.tui.editor import Editor
from placetui.tui.main import MainScreen
from placetui.tui.panes.file import FilePane
from placetui.tui.panes.grid import GridPane
from placetui.tui.session import Session
from tests.sources import SpokenFor

SAMPLES = Path(__file__).parents[2] / "sample_configs"
# Read at import: the environment of a test is emptied.
UPDATE = bool(os.environ.get("PLACETUI_UPDATE_GOLDENS"))
PATIENCE = 60.0
"""Seconds until something that has to happen counts as missing, also on a machine that is busy with other things."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


class FakeSource(SpokenFor):
    """The cluster behind a plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan


def simulated(plan: Plan, seconds: float = 12.0) -> Observation:
    """What a simulated job looks like that many seconds after its start: always the same."""
    simulation = Simulation(layout_of(plan), SimulationOptions(rank_dies_every=None, node_stale_every=None))
    simulation.step(1_000_000.0)
    return simulation.step(1_000_000.0 + seconds)


def with_device(observation: Observation, node: int, index: int, **values: Any) -> Observation:
    """The same with other values on one device."""
    nodes = list(observation.nodes)
    devices = list(nodes[node].devices)
    devices[index] = replace(devices[index], **values)
    nodes[node] = replace(nodes[node], devices=tuple(devices))
    return replace(observation, time=observation.time + 1, nodes=tuple(nodes))


def with_rank(observation: Observation, component: str, rank: int, **values: Any) -> Observation:
    """The same with one rank in another state."""
    states = list(observation.ranks[component])
    states[rank] = replace(states[rank], **values)
    return replace(observation, time=observation.time + 1, ranks={**observation.ranks, component: tuple(states)})


class Seat:
    """A person in front of the dashboard."""

    def __init__(self, app: Dashboard, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def write(self, text: str) -> None:
        names = {" ": "space", "/": "slash", ":": "colon", ".": "full_stop", "-": "minus", ">": "greater_than_sign"}
        await self.press(*(names.get(character, character) for character in text))

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait for something that happens in the background."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, (
                f"did not happen: {what or inspect.getsource(condition).strip()}\n{self.text}"
            )
            await self.pilot.pause(0.01)
        await self.pilot.pause()

    async def heard(self) -> None:
        """Wait until the app has taken in all that was posted to it so far."""
        reached: list[bool] = []
        self.app.call_later(reached.append, True)
        await self.until(lambda: reached, "the app is at the end of its queue")

    async def sees(self, *words: str) -> None:
        """Wait until the screen says something; painting comes a moment after its cause."""
        await self.until(lambda: all(word in self.text for word in words), f"{words} on the screen")

    async def misses(self, *words: str) -> None:
        """Wait until the screen says something no longer."""
        await self.until(lambda: not any(word in self.text for word in words), f"{words} gone from the screen")

    async def find(self, query: str) -> None:
        """Type a query after `/`."""
        await self.press("slash")
        self.app.screen.query_one("#find", Input).value = query
        await self.press("enter")

    @property
    def main(self) -> MainScreen:
        assert self.app.main is not None
        return self.app.main

    @property
    def session(self) -> Session:
        """What is on the screen."""
        return self.main.workspace.session

    @property
    def editor(self) -> Editor:
        return self.main.workspace.editor

    @property
    def observation(self) -> Observation | None:
        return self.main.picture.observation

    @property
    def grid(self) -> GridPane:
        return self.main.grid

    @property
    def yaml(self) -> FilePane:
        return self.main.query_one(FilePane)

    def shows(self, screen: type[Screen[Any]]) -> bool:
        """Whether a screen of this kind is on top."""
        return isinstance(self.app.screen, screen)

    def density(self) -> str:
        return self.grid.drawing.density if self.grid.drawing else ""

    @property
    def cursor(self) -> tuple[int, str, int]:
        """Node, kind and index under the cursor."""
        place = self.grid.cursor
        return place.node, place.kind, place.index

    @property
    def lines(self) -> list[str]:
        """The screen as it is read."""
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def status(self) -> str:
        """The lines above the panels: what is open, and the tabs."""
        return "\n".join(self.lines[:2])

    @property
    def toasts(self) -> list[str]:
        """What was said in passing, latest last."""
        return [notification.message for notification in self.app._notifications]

    async def svg(self) -> str:
        """A picture of the screen once it is at rest, without what differs from one to the next."""
        before = ""
        while before != self.text:
            before = self.text
            await self.pilot.pause(0.05)
        svg = self.app.export_screenshot(title="placetui", simplify=True)
        return re.sub(r"terminal-\d+-", "terminal-", svg)


class Desk:
    """Files, and the dashboard over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remembered: list[tuple[str, Any]] = []
        self.sources: list[FakeSource] = []

    def write(self, text: str, name: str = "plan.yaml") -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def copy(self, sample: str) -> Path:
        """A sample that may be changed."""
        return self.write((SAMPLES / f"{sample}.yaml").read_text(encoding="utf-8"))

    def fake(self, plan: Plan) -> FakeSource:
        self.sources.append(FakeSource(plan))
        return self.sources[-1]

    def options(self, *, live: bool = False, **options: Any) -> Options:
        options.setdefault("user_themes", self.folder / "no themes")
        options.setdefault("density", "tile")
        return Options(
            remember=lambda key, value: self.remembered.append((key, value)),
            source_for=self.fake if live else None,
            **options,
        )

    @asynccontextmanager
    async def open(
        self,
        file: str | Path | None,
        size: tuple[int, int] = (120, 36),
        *,
        plan_request: PlanRequest | None = None,
        live: bool = False,
        **options: Any,
    ) -> AsyncIterator[Seat]:
        """Open a sample (by its name) or a file, and sit down before it."""
        session = None
        if file is not None:
            path = file if isinstance(file, Path) else SAMPLES / f"{file}.yaml"
            session = Session.open(str(path), plan_request or PlanRequest())
            # The same words on every machine.
            session = replace(session, file=path.name) if isinstance(file, str) else session
        app = Dashboard(session, self.options(live=live, **options))
        app.animation_level = "none"
        async with app.run_test(size=size, notifications=True) as pilot:
            seat = Seat(app, pilot)
            if session is not None:
                await seat.until(lambda: app.main is not None and app.main.is_mounted, "the main screen")
                if min(size) > 4:
                    await seat.until(lambda: seat.grid.drawing is not None, "the grid")
            await pilot.pause()
            yield seat


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


class World:
    """What the tests of the live picture need."""

    samples = SAMPLES
    seat = Seat
    simulated = staticmethod(simulated)
    with_device = staticmethod(with_device)
    with_rank = staticmethod(with_rank)


@pytest.fixture
def world() -> World:
    return World()


class Snapshots:
    """Pictures to compare with."""

    folder = Path(__file__).parent / "snapshots"
    update = UPDATE

    def same(self, name: str, svg: str) -> None:
        """Whether a picture is as it was; if not, the new one is put beside it."""
        path = self.folder / f"{name}.svg"
        new = path.with_suffix(".new.svg")
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old == svg:
            new.unlink(missing_ok=True)
            return
        if self.update:
            self.folder.mkdir(exist_ok=True)
            path.write_text(svg, encoding="utf-8")
            new.unlink(missing_ok=True)
            return
        new.write_text(svg, encoding="utf-8")
        difference = "\n".join(list(unified_diff(words(old), words(svg), "before", "now", n=0, lineterm=""))[:60])
        pytest.fail(
            f"{path.name} is another picture now: look at {new.name}, and run with PLACETUI_UPDATE_GOLDENS=1 "
            f"if that is right.\n{difference or 'Only colours differ.'}"
        )


@pytest.fixture
def snapshots() -> Snapshots:
    return Snapshots()


def words(svg: str) -> list[str]:
    """The text in a picture."""
    return [match.replace("&#160;", " ") for match in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
