"""What a look at the cluster costs the dashboard: the grid, and each table over it.

python benchmarks/tables.py [nodes …]

A simulated cluster with three ranks on each GPU. CPU milliseconds of the process from the observation until the screen
is painted: with a tenth of the nodes changed, and with all of them; the median of a few.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Sequence
from statistics import median

from grid import SIZE, painted, session_of

from placetui.observe.model import Observation
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.tui.app import Dashboard, Options

SIZES = (128, 1024)
REPEAT = 9
TARGETS = {128: 100.0, 1024: 100.0}
"""Milliseconds with a tenth changed: 10 % of a core at 1 Hz, and what 1,024 nodes may take."""

VIEWS: dict[str, tuple[str, ...]] = {
    "grid": (),
    "processes": ("3",),
    "processes by memory": ("3", "s", "s", "s", "s"),
    "ranks by state": ("4", "s"),
    "drift": ("5",),
}


def looks(nodes: int, sampled: float) -> list[Observation]:
    layout = layout_of(session_of(nodes).plan)
    simulation = Simulation(layout, SimulationOptions(seed=1, sampled=sampled, rank_dies_every=None))
    for second in range(20):
        simulation.step(float(second))
    return [simulation.step(20.0 + second) for second in range(REPEAT + 1)]


async def cost(nodes: int, keys: Sequence[str], observations: Sequence[Observation]) -> float:
    app = Dashboard(session_of(nodes), Options())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        main = app.main
        assert main is not None
        main.observe(observations[0])
        await pilot.press(*keys)
        await painted(app)
        spent = []
        for observation in observations[1:]:
            gc.collect()
            before = time.process_time()
            main.observe(observation)
            await painted(app)
            spent.append((time.process_time() - before) * 1e3)
    return median(spent)


def main() -> None:
    print(f"{'nodes':>6}  {'view':22}{'a tenth':>10}{'all':>10}")
    for nodes in [int(word) for word in sys.argv[1:]] or SIZES:
        few, many = looks(nodes, 0.1), looks(nodes, 1.0)
        for view, keys in VIEWS.items():
            tenth, everything = asyncio.run(cost(nodes, keys, few)), asyncio.run(cost(nodes, keys, many))
            target = TARGETS.get(nodes)
            verdict = "" if target is None else f"   at most {target:.0f}: {'yes' if tenth <= target else 'NO'}"
            print(f"{nodes:>6}  {view:22}{tenth:>8.1f}ms{everything:>8.1f}ms{verdict}")


if __name__ == "__main__":
    main()
