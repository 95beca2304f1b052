"""The grid widget against a DataTable and a widget per cell: CPU per operation, what is drawn for it, memory.

Run: python benchmarks/grid.py [nodes …]

All designs show the same plan (three components on every GPU) in a terminal of 140 × 44. Times are CPU of the process
from the trigger until the screen is painted, best of a few; cells and bytes are what leaves for the terminal. Scroll,
page and zoom begin with tiles, all else at the density that the grid starts with.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, NamedTuple

from rich.text import Text
from terminal import CountingDriver, drawn
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Static

from placetui.document import Document, PlanRequest, plan_document
from placetui.observe.model import Observation
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from placetui.tui.app import Dashboard, Options
from placetui.tui.session import Session

SIZE = (140, 44)
SIZES = (8, 128, 1024, 4096)
LARGEST_TABLE = 1024
LARGEST_CELLS = 128
REPEAT = 5


class Cost(NamedTuple):
    """CPU milliseconds, and the bytes and cells that were written."""

    spent: float
    sent: int
    cells: int


async def painted(app: App[Any]) -> None:
    done = asyncio.Event()
    app.screen.call_after_refresh(done.set)
    await done.wait()
    await asyncio.sleep(0.02)


async def measure(app: App[Any], work: Callable[[int], Awaitable[None] | None]) -> Cost:
    """The least of a few runs."""
    best = Cost(float("inf"), 0, 0)
    for turn in range(REPEAT):
        gc.collect()
        drawn()
        before = time.process_time()
        result = work(turn)
        if result is not None:
            await result
        await painted(app)
        best = min(best, Cost((time.process_time() - before) * 1e3, *drawn()))
    return best


def session_of(nodes: int) -> Session:
    last = 8 * nodes - 1
    rules = f"    actor: all\n    rollout: 0-{last}\n    env: 0-7,8-{last}\n"
    text = f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n{rules}"
    document = Document(text, "large.yaml")
    plan_request = PlanRequest(nodes=(Node(8),) * nodes)
    plan = plan_document(document, plan_request)
    return Session("large.yaml", document, plan, (), plan_request)


def observations(plan: Plan) -> tuple[Observation, Observation, Observation]:
    """Two pictures in which everything differs, and one that differs from the second in one device."""
    simulation = Simulation(layout_of(plan), SimulationOptions(seed=1, sampled=None))
    first, second = simulation.step(1.0), simulation.step(60.0)
    node = second.nodes[1]
    device = replace(node.devices[3], memory_used=(node.devices[3].memory_used or 0) // 2)
    changed = replace(node, devices=(*node.devices[:3], device, *node.devices[4:]))
    return first, second, replace(second, nodes=(second.nodes[0], changed, *second.nodes[2:]))


Row = dict[str, Cost]


async def grid(nodes: int) -> Row:
    session = session_of(nodes)
    first, second, one = observations(session.plan)
    app = Dashboard(session, Options())
    app.driver_class = CountingDriver
    found: Row = {}
    drawn()
    before = time.process_time()
    async with app.run_test(size=SIZE, headless=False) as pilot:
        await pilot.pause()
        found["mount"] = Cost((time.process_time() - before) * 1e3, *drawn())
        main = app.main
        assert main is not None
        main.observe(first)
        await painted(app)

        async def all_changed(turn: int) -> None:
            main.observe(second if turn % 2 == 0 else first)

        async def one_changed(turn: int) -> None:
            main.observe(one if turn % 2 == 0 else second)

        found["refresh"] = await measure(app, all_changed)
        main.observe(second)
        await painted(app)
        found["one cell"] = await measure(app, one_changed)
        found["cursor"] = await measure(app, lambda turn: main.grid._by_devices(1 if turn % 2 == 0 else -1))
        # At the density that starts, a small cluster is all in view: tiles scroll on every size.
        main.grid.look = replace(main.grid.look, density="tile")
        await painted(app)
        found["scroll"] = await measure(app, lambda turn: main.grid.scroll_relative(y=1, animate=False))
        found["page"] = await measure(app, lambda turn: main.grid._by_rows(5))

        async def zoom(turn: int) -> None:
            main.grid._zoom(1 if turn % 2 == 0 else -1)

        found["zoom"] = await measure(app, zoom)
    return found


class TableApp(App[None]):
    def __init__(self, plan: Plan) -> None:
        super().__init__(driver_class=CountingDriver)
        self.plan = plan

    def compose(self) -> ComposeResult:
        yield DataTable()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("node", *(str(index) for index in range(8)))
        for node in self.plan.nodes:
            table.add_row(node.name, *cells(self.plan, node.rank, 0), height=4, key=str(node.rank))


class CellsApp(App[None]):
    CSS = "VerticalScroll { layout: grid; grid-size: 8; } Static { height: 4; }"

    def __init__(self, plan: Plan) -> None:
        super().__init__(driver_class=CountingDriver)
        self.plan = plan

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            for node in self.plan.nodes:
                for text in cells(self.plan, node.rank, 0):
                    yield Static(text)


def cells(plan: Plan, node: int, salt: int) -> list[Text]:
    return [
        Text("\n".join(f"{one.component[0]}{one.rank} {one.share}" for one in device.occupants) + f"\n{salt} GiB")
        for device in plan.devices_of(node)
    ]


async def table(nodes: int) -> Row:
    plan = session_of(nodes).plan
    app = TableApp(plan)
    found: Row = {}
    drawn()
    before = time.process_time()
    async with app.run_test(size=SIZE, headless=False) as pilot:
        await pilot.pause()
        found["mount"] = Cost((time.process_time() - before) * 1e3, *drawn())
        widget = app.query_one(DataTable)
        columns = list(widget.columns)

        def refresh(turn: int) -> None:
            for node in plan.nodes:
                for column, text in zip(columns[1:], cells(plan, node.rank, turn), strict=True):
                    widget.update_cell(str(node.rank), column, text)

        found["refresh"] = await measure(app, refresh)
        found["one cell"] = await measure(app, lambda turn: widget.update_cell("0", columns[1], Text(f"x{turn}")))
        found["scroll"] = await measure(app, lambda turn: widget.scroll_relative(y=1, animate=False))
    return found


async def widgets(nodes: int) -> Row:
    plan = session_of(nodes).plan
    app = CellsApp(plan)
    found: Row = {}
    drawn()
    before = time.process_time()
    async with app.run_test(size=SIZE, headless=False) as pilot:
        await pilot.pause()
        found["mount"] = Cost((time.process_time() - before) * 1e3, *drawn())
        boxes = list(app.query(Static))

        def refresh(turn: int) -> None:
            texts = (text for node in plan.nodes for text in cells(plan, node.rank, turn))
            for box, text in zip(boxes, texts, strict=True):
                box.update(text)

        found["refresh"] = await measure(app, refresh)
        found["one cell"] = await measure(app, lambda turn: boxes[0].update(f"x{turn}"))
        scroll = app.query_one(VerticalScroll)
        found["scroll"] = await measure(app, lambda turn: scroll.scroll_relative(y=1, animate=False))
    return found


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    columns = ("mount", "refresh", "one cell", "cursor", "scroll", "page", "zoom")
    print(f"{'design':<14}{'nodes':>6}  " + "".join(f"{name:>22}" for name in columns) + f"{'RSS MB':>9}")
    first: dict[str, Row] = {}
    for nodes in sizes:
        designs: list[tuple[str, Callable[[int], Awaitable[Row]]]] = [("grid", grid)]
        if nodes <= LARGEST_TABLE:
            designs.append(("DataTable", table))
        if nodes <= LARGEST_CELLS:
            designs.append(("widget per cell", widgets))
        ours: Row = {}
        for name, run in designs:
            row = asyncio.run(run(nodes))  # type: ignore[arg-type]
            ours = ours or row
            first.setdefault(name, row)
            parts = [
                f"{f'{row[key].spent:.1f}ms {row[key].cells}c {row[key].sent / 1e3:.1f}KB':>22}"
                if key in row
                else " " * 22
                for key in columns
            ]
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
            print(f"{name:<14}{nodes:>6}  " + "".join(parts) + f"{rss:>9.0f}")
            if name != "grid":
                shared = [key for key in columns if key in row and key in ours]
                print(" " * 22 + "  ".join(f"{key} x{row[key][0] / ours[key][0]:.1f}" for key in shared))
        if nodes != sizes[0]:
            growth = "  ".join(f"{key} x{ours[key][0] / first['grid'][key][0]:.2f}" for key in columns)
            print(f"{'':22}grid against {sizes[0]} nodes: {growth}")


if __name__ == "__main__":
    main()
