"""A monkey at the dashboard: seeded keys, clicks, drags, resizes, news from the cluster and from the disk.

What it does is decided by its seed alone. The screen is painted as a terminal would have it, piece by piece, and now
and then compared with a picture of the whole.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from rich.cells import cell_len
from textual import events
from textual._compositor import CompositorUpdate
from textual.geometry import Offset
from textual.pilot import OutOfBounds, Pilot
from textual.screen import Screen

from placetui.document import PlanRequest
from placetui.observe.ports import Status
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.plan import Plan
from placetui.tui.actions import ACTIONS
from placetui.tui.app import Choice, Dashboard, Options
from placetui.tui.main import MainScreen
from placetui.tui.panes.grid import GridPane
from placetui.tui.session import Session
from tests.sources import SpokenFor
from tests.tui.pretend import PretendedOperations

SIZES = [(120, 36), (80, 24), (200, 60), (100, 30), (60, 16), (40, 10), (20, 5)]
LEAVING = frozenset({"q", "ctrl+c", "ctrl+q"})
KEYS = sorted({key for action in ACTIONS for key in action.keys.split(",")} - LEAVING)
WORDS = [*"0123456789acehlmnorstvwxyz:-, ", "enter", "escape", "tab", "shift+tab", "up", "down", "home", "backspace"]
SETTLE = 30.0
"""Seconds that painting may take on a busy machine."""


class Canvas:
    """As much of a terminal as painting needs; a complete one would take longer than the dashboard itself."""

    _SEQUENCES = re.compile(r"(\x1b\[[0-9;?]*[@-~]|\r?\n)")

    def __init__(self, width: int, height: int) -> None:
        self.size = width, height
        self._rows = [[" "] * width for _ in range(height)]

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._rows]

    def feed(self, text: str) -> None:
        column = row = 0
        for place, piece in enumerate(self._SEQUENCES.split(text)):
            if place % 2 == 0:
                column = self._write(row, column, piece)
            elif piece.endswith("\n"):
                column, row = 0, row + 1
            elif piece.endswith("H"):
                numbers = piece[2:-1].split(";") if piece != "\x1b[H" else ["1", "1"]
                row, column = int(numbers[0]) - 1, int(numbers[1]) - 1
            else:
                assert piece.endswith("m"), f"not known to be painted: {piece!r}"

    def _write(self, row: int, column: int, text: str) -> int:
        width, height = self.size
        for character in text:
            room = cell_len(character)
            # What was laid out for a larger window is cut off, as every terminal does.
            if room and row < height and column + room <= width:
                self._rows[row][column : column + room] = [character, *[""] * (room - 1)]
            column += room
        return column


class Painted(Dashboard):
    """The dashboard, with a terminal that gets what a real one would get."""

    CSS_PATH = str(Path(sys.modules[Dashboard.__module__].__file__ or "").with_name("placetui.tcss"))

    def __init__(self, session: Session | None, options: Options, size: tuple[int, int]) -> None:
        super().__init__(session, options)
        self.terminal = Canvas(*size)
        self.animation_level = "none"

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate) and not self._batch_count:
            if self.terminal.size != self.size:
                self.terminal = Canvas(*self.size)
            self.terminal.feed(renderable.render_segments(self.console))
        super()._display(screen, renderable)

    def torn(self) -> list[str]:
        """Lines that are not on the terminal as they should be."""
        whole = [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]
        painted = self.terminal.lines
        return [
            f"{row}: {have!r} instead of {want!r}"
            for row, (have, want) in enumerate(zip(painted, whole, strict=False))
            if have != want
        ]


class SimulatedSource(SpokenFor):
    """A cluster whose news come when the monkey wants."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._simulation = Simulation(layout_of(plan), SimulationOptions())
        self._time = 1_000_000.0

    def tick(self, lost: bool = False) -> None:
        if self.subscriber is None or self.closed:
            return
        if lost:
            self.say(Status("lost", "the monkey pulled the plug", 1.0))
        else:
            self._time += 3.0
            self.deliver(self._simulation.step(self._time))


@dataclass
class Monkey:
    """One who presses everything."""

    seed: int
    folder: Path
    samples: list[Path]
    done: deque[str] = field(default_factory=lambda: deque(maxlen=60))
    """What it did last."""

    operations: PretendedOperations = field(default_factory=PretendedOperations)
    events: int = 0
    sessions: int = 0

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._files = []
        for sample in self.samples:
            copy = self.folder / sample.name
            copy.write_bytes(sample.read_bytes())
            self._files.append(copy)
        self._texts = {file: file.read_bytes() for file in self._files}
        self._sources: list[SimulatedSource] = []

    def run(self, events: int) -> None:
        """So many events, in as many sessions as it takes."""
        try:
            while self.events < events:
                asyncio.run(self._session(events))
        except BaseException as problem:
            if hasattr(problem, "add_note"):
                problem.add_note(f"seed {self.seed}, event {self.events}; last: {' '.join(self.done)}")
            raise

    async def _session(self, events: int) -> None:
        self.sessions += 1
        file = self._random.choice(self._files)
        file.write_bytes(self._texts[file])
        size = self._random.choice(SIZES[:4])
        options = Options(
            write=self._random.random() < 0.8,
            ascii=self._random.random() < 0.2,
            source_for=self._source_for if self._random.random() < 0.8 else None,
            operations=self.operations,
            address="10.0.0.1:6379",
            choices=tuple(Choice(str(one), "") for one in self._files),
            user_themes=self.folder / "no themes",
        )
        self.done.append(f"[{file.name} {size}]")
        app = Painted(Session.open(str(file), PlanRequest()), options, size)
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            until = min(events, self.events + 500)
            while self.events < until and app._exit is False:
                await self._act(app, pilot, file)
                self.events += 1
                if self.events % 20 == 0:
                    await self._compare(app, pilot)
        # Leaves by itself: run_test raises what the app has raised.

    def _source_for(self, plan: Plan) -> SimulatedSource:
        self._sources.append(SimulatedSource(plan))
        return self._sources[-1]

    async def _compare(self, app: Painted, pilot: Pilot[int]) -> None:
        end = time.monotonic() + SETTLE
        while not app._exit:
            await pilot.pause()
            self._check(app)
            if not (torn := app.torn()):
                return
            assert time.monotonic() < end, "a torn screen:\n" + "\n".join(torn)
            await pilot.pause(0.05)

    def _check(self, app: Painted) -> None:
        """What holds whatever is pressed."""
        if app._exit:
            return
        mains = [screen for screen in app.screen_stack if isinstance(screen, MainScreen)]
        assert len(mains) == 1, f"main screens: {app.screen_stack}"
        assert mains[0].workspace is app.workspace
        if isinstance(app.screen, MainScreen) and not isinstance(app.screen.focused, GridPane):
            assert app.screen.focused is not None or not mains[0].is_mounted, "the focus is nowhere"
        changed = {one.kind for one in self.operations.begun} & {"down", "kill", "restart"}
        assert not changed, f"without its name being typed: {changed}"
        for one in self.operations.begun:
            assert not any(one.answers), "a job was started without its confirmation"

    async def _act(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        acts: list[tuple[int, Callable[..., Any]]] = [
            (50, self._key),
            (10, self._burst),
            (12, self._typing),
            (12, self._click),
            (6, self._drag),
            (4, self._hover),
            (4, self._resize),
            (8, self._news),
            (2, self._disk),
            (1, self._leave),
        ]
        [act] = self._random.choices([act for _, act in acts], [weight for weight, _ in acts])
        # What a click cannot reach, because the screen changed under it, is no click.
        with suppress(OutOfBounds):
            await act(app, pilot, file)

    def _note(self, text: str) -> None:
        self.done.append(text)

    async def _key(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        key = self._random.choice(KEYS)
        self._note(key)
        await pilot.press(key)

    async def _burst(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        """Keys that are all there before the first is dealt with, as from a slow line."""
        keys = self._random.choices([*KEYS, "enter", "enter", "escape"], k=self._random.randint(2, 4))
        self._note(f"burst:{'+'.join(keys)}")
        for key in keys:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()

    async def _typing(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        words = self._random.choices(WORDS, k=self._random.randint(1, 4))
        names = {" ": "space", ":": "colon", "-": "minus", ",": "comma"}
        self._note(f"type:{'+'.join(words)}")
        await pilot.press(*(names.get(word, word) for word in words))

    def _place(self, app: Painted) -> Offset:
        width, height = app.size
        return Offset(self._random.randrange(max(1, width)), self._random.randrange(max(1, height)))

    async def _click(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        place, times = self._place(app), self._random.choice([1, 1, 1, 2, 3])
        shift, control = self._random.random() < 0.15, self._random.random() < 0.1
        self._note(f"click:{place.x},{place.y}x{times}")
        await pilot.click(offset=place, times=times, shift=shift, control=control)

    async def _drag(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        start, end = self._place(app), self._place(app)
        self._note(f"drag:{start.x},{start.y}-{end.x},{end.y}")
        await pilot.mouse_down(offset=start)
        with suppress(OutOfBounds):
            await pilot.hover(offset=end)
        await pilot.mouse_up(offset=end)

    async def _hover(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        place = self._place(app)
        self._note(f"hover:{place.x},{place.y}")
        await pilot.hover(offset=place)

    async def _resize(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        size = self._random.choice(SIZES)
        self._note(f"resize:{size[0]}x{size[1]}")
        await pilot.resize_terminal(*size)

    async def _news(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        lost = self._random.random() < 0.1
        self._note("lost" if lost else "news")
        if self._sources:
            self._sources[-1].tick(lost)

    async def _disk(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        what = self._random.choice(["replace", "truncate", "delete", "restore", "garbage"])
        self._note(f"disk:{what}")
        new = file.with_name("new")
        new.write_bytes(self._texts[self._random.choice(self._files)] if what == "replace" else self._texts[file])
        if what in ("replace", "restore"):
            os.replace(new, file)
        elif what == "delete":
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(b"" if what == "truncate" else b"\xff\x00 [")
        new.unlink(missing_ok=True)

    async def _leave(self, app: Painted, pilot: Pilot[int], file: Path) -> None:
        key = self._random.choice(sorted(LEAVING))
        self._note(key)
        await pilot.press(key)
