"""Keys and news of the dashboard on clusters of several sizes: CPU of the real app with live data coming in.

Run: python benchmarks/keys.py [nodes …]

Two processes on every GPU, in a terminal of 160 × 48. First the news: observations in which 1, 10 and 100 % of the
nodes changed; what the thread that reads them takes (parse, compare with the last one and with the plan), and what the
thread that hears keys takes until it is painted, with the number of cells that were written to the terminal. Then keys,
while a simulated cluster sends news through the pipe once a second: CPU of the thread that hears them until all is
painted, the median and the longest, and cells. "In view" is how many GPUs the screen shows at the density it starts
with. The last line says how all this grows.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from terminal import CountingDriver, drawn

from placetui.bridge.client import Bridge
from placetui.bridge.source import simulated_source
from placetui.bridge.stream import StreamReceiver
from placetui.document import PlanRequest
from placetui.observe.codec import encode_delta
from placetui.observe.delta import NOTHING, changes, parts
from placetui.observe.model import Observation, Source
from placetui.observe.ports import Subscriber
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.topology import Node
from placetui.tui.app import Dashboard, Options
from placetui.tui.session import Session

SIZE = (160, 48)
SIZES = (8, 128, 1024, 4096)
CHANGED = (0.01, 0.1, 1.0)
LOOKS = 5
ROUNDS = 8
STARTED = 9.0
"""Seconds until the ranks of a simulated job are alive and the first picture is taken in."""

KEYS = {
    "cursor": ("right", "left"),
    "row": ("down", "up"),
    "page": ("pagedown", "pageup"),
    "compact": ("minus", "plus"),
    "heat": ("minus", "minus", "plus", "plus"),
    "end": ("G", "g"),
}


class Hand:
    """A source whose news come when the benchmark wants."""

    name: Source = "simulated"
    interval = 1.0
    paused = False
    subscriber: Subscriber | None = None

    def start(self, subscriber: Subscriber) -> None:
        self.subscriber = subscriber

    def set_interval(self, seconds: float) -> None:
        pass

    def set_paused(self, paused: bool) -> None:
        pass

    def close(self) -> None:
        pass


def session_of(nodes: int, folder: Path) -> Session:
    file = folder / f"{nodes}.yaml"
    rules = f"    actor: all\n    rollout: 0-{8 * nodes - 1}:0-{4 * nodes - 1}\n"
    file.write_text(f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n{rules}")
    return Session.open(str(file), PlanRequest(nodes=(Node(8),) * nodes))


async def painted(app: Dashboard) -> None:
    done = asyncio.Event()
    app.screen.call_after_refresh(done.set)
    await done.wait()
    await asyncio.sleep(0.03)


def looks(session: Session, part: float) -> list[Observation]:
    """A job from its first moment to when all its ranks are alive, then so many looks."""
    simulation = Simulation(layout_of(session.plan), SimulationOptions(seed=1, sampled=part))
    start = [simulation.step(1e6), simulation.step(1e6 + 30)]
    return start + [simulation.step(1e6 + 31 + number) for number in range(LOOKS)]


def in_view(app: Dashboard) -> int:
    """GPUs of the nodes that are on the screen."""
    assert app.main is not None
    grid, drawing = app.main.grid, app.main.grid.drawing
    assert drawing is not None
    lines = range(min(drawing.height, grid.size.height - grid.header_height))
    return sum(drawing.plan.nodes[node].gpus for node in {node for y in lines for node in drawing.nodes_at(y)})


async def news(nodes: int, part: float, folder: Path) -> tuple[float, float, float, int]:
    """An observation in which a part of the nodes changed: CPU ms of reading and of showing it; cells; GPUs in view."""
    hand, session = Hand(), session_of(nodes, folder)
    app = Dashboard(session, Options(source_for=lambda _: hand, user_themes=folder / "none"))
    app.driver_class = CountingDriver
    found: list[tuple[float, float, int]] = []
    async with app.run_test(size=SIZE, headless=False) as pilot:
        await pilot.pause()
        assembly, last, sequence = StreamReceiver(), NOTHING, 0
        looks_of = looks(session, part)
        for look in looks_of:
            lines = [json.dumps(encode_delta(piece)) for piece in parts(changes(last, look), 256)]
            last = look
            begun = time.process_time()
            seen: Observation | None = None
            for place, line in enumerate(lines):
                seen = assembly.take(0, sequence, place == len(lines) - 1, json.loads(line))
                sequence += 1
            assert seen is not None
            assert hand.subscriber is not None
            hand.subscriber.updated(seen)
            read = time.process_time()
            drawn()
            await painted(app)
            found.append(((read - begun) * 1e3, (time.process_time() - read) * 1e3, drawn()[1]))
            if len(found) <= len(looks_of) - LOOKS:  # What the start of the job highlights is over.
                await asyncio.sleep(1.2)
        shown = in_view(app)
    read, showing, cells = (median(values) for values in zip(*found[-LOOKS:], strict=True))
    return read, showing, cells, shown


async def keys(nodes: int, folder: Path) -> dict[str, tuple[float, float, float]]:
    """CPU milliseconds of a key: the median and the most; and the median of cells."""
    spent: dict[str, list[float]] = {name: [] for name in KEYS}
    cells: dict[str, list[int]] = {name: [] for name in KEYS}
    with Bridge(folder / f"logs {nodes}") as bridge:
        options = Options(source_for=partial(simulated_source, bridge), user_themes=folder / "none")
        app = Dashboard(session_of(nodes, folder), options)
        app.driver_class = CountingDriver
        async with app.run_test(size=SIZE, headless=False) as pilot:
            while app.main is None or app.main.picture.observation is None:
                await asyncio.sleep(0.1)
            await asyncio.sleep(STARTED)
            for _ in range(ROUNDS):
                for name, pressed in KEYS.items():
                    for key in pressed:
                        drawn()
                        begun = time.thread_time()
                        await pilot.press(key)
                        await painted(app)
                        spent[name].append((time.thread_time() - begun) * 1e3)
                        cells[name].append(drawn()[1])
    return {name: (median(times), max(times), median(cells[name])) for name, times in spent.items()}


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    growth: dict[str, list[float]] = {}
    titles = "".join(f"{f'{part:.0%} changed':>24}" for part in CHANGED)
    print(f"CPU ms of news, read + shown, cells\n{'nodes':>6}{titles}{'in view':>9}{'RSS MB':>9}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for nodes in sizes:
            row: list[Any] = []
            for part in CHANGED:
                read, shown, cells, gpus = asyncio.run(news(nodes, part, folder))
                row.append(f"{read:.1f} + {shown:.1f}, {cells:.0f}")
                growth.setdefault(f"{part:.0%} shown", []).append(shown)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
            print(f"{nodes:>6}" + "".join(f"{cell:>24}" for cell in row) + f"{gpus:>9}{memory:>9.0f}", flush=True)
        print(
            f"\nCPU ms of a key while news come in, median / longest, cells\n{'nodes':>6}"
            + "".join(f"{k:>22}" for k in KEYS)
        )
        for nodes in sizes:
            found = asyncio.run(keys(nodes, folder))
            print(
                f"{nodes:>6}"
                + "".join(f"{f'{half:.1f} / {most:.1f}, {cells:.0f}':>22}" for half, most, cells in found.values()),
                flush=True,
            )
            for key, (half, _, _) in found.items():
                growth.setdefault(key, []).append(half)
    print(f"\n{sizes[-1]} nodes against {sizes[0]}")
    print("  ".join(f"{name} x{values[-1] / values[0]:.1f}" for name, values in growth.items()))


if __name__ == "__main__":
    main()
