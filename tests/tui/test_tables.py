"""Tables of processes, ranks and drift, as a person uses them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from placetui.document import PlanRequest
from placetui.grid import Style
from placetui.observe.alerts import Thresholds
from placetui.observe.model import BundleState, Claim, GroupState, Observation, ProcessSample
from placetui.placement.topology import Node
from placetui.tui.app import Dashboard
from placetui.tui.dialogs.details import DetailsScreen
from placetui.tui.panes.table import TablePane
from placetui.tui.session import Session
from placetui.tui.widgets.status_bar import StatusBar

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat, World

GIB = 1 << 30
FOREIGN = ProcessSample(4242, 3 * GIB, user="eve", command="python mine.py [not markup]")


def crowded(world: World, observation: Observation) -> Observation:
    """The same with a stranger, an actor that holds nothing, and a dead rank."""
    held = observation.nodes[1].devices[2].processes
    found = world.with_device(observation, 1, 2, processes=(*held, FOREIGN))
    claim = Claim("ab12", "Trainer", 777, None, None, "04000000", 0.5, class_name="Trainer", placement_group="pg")
    found = world.with_device(found, 1, 5, claims=(claim,))
    return world.with_rank(found, "rollout", 3, state="dead", reason="killed by signal 9", restarts=2)


async def watch(desk: Desk, seat: Seat, world: World) -> Observation:
    observation = crowded(world, world.simulated(desk.sources[0].plan))
    desk.sources[0].deliver(observation)
    await seat.until(lambda: seat.observation is observation)
    return observation


def table(seat: Seat) -> TablePane:
    found = seat.main.table
    assert found is not None
    return found


async def test_action_view_processes(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await seat.press("3")
        await seat.sees("no live values")
        await watch(desk, seat, world)
        await seat.sees("Processes 50  on 16 GPUs of 2 nodes", "A actor 0", "rank", "G ")
        await seat.find("-kind:rank")
        await seat.sees(
            "Processes 2 of 50",
            "filter -kind:rank: 2 of 50 with 3.0 GiB",
            "python mine.py [not markup]",
            "foreign",
            "eve",
            "Trainer",
        )
        await seat.press("down")
        await seat.sees("reserved .50, not assigned", "placement group pg", "uses no memory yet")


async def test_action_view_ranks(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (160, 40), live=True) as seat:
        await watch(desk, seat, world)
        await seat.press("4")
        await seat.sees("Ranks 48  47 alive, 1 dead", "A actor 0", "· alive", "node0/gpu0", "actor: all")
        await seat.find("state:dead")
        await seat.sees("R rollout 3", "✗ dead", "×2", "killed by signal 9")


async def test_action_view_drift(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True, thresholds=Thresholds(temperature_above=75)) as seat:
        seen = await watch(desk, seat, world)
        await seat.until(lambda: "✗ 1" in seat.status and "47/48 ranks alive" in seat.status, "the dead rank")
        hot = world.with_device(seen, 0, 6, temperature=82)
        desk.sources[0].deliver(hot)
        await seat.until(lambda: "▲ 1" in seat.status and "•3" in seat.status, "as much as the tab counts")
        await seat.press("5")
        await seat.sees(
            "Drift 3  2 differences from the plan, 1 alert", "≠ foreign process", "✗ dead rank", "▲ high temperature"
        )
        await seat.find("kind:foreign")
        await seat.press("enter")  # shows it in the grid
        assert seat.cursor == (1, "gpu", 2)
        await seat.until(lambda: any("python mine.py [not" in line and "? foreign" in line for line in seat.lines))
        assert seat.main.table is None


async def test_a_reason_that_is_too_long_says_that_it_goes_on(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (80, 24), live=True) as seat:
        observation = world.simulated(desk.sources[0].plan)
        desk.sources[0].deliver(world.with_rank(observation, "rollout", 3, state="dead", reason="killed " * 20))
        await seat.sees("✗ 1", "47/48 ranks")

        def cut(row: str) -> bool:
            return any(row in line and "killed" in line and line.rstrip(" │").endswith("…") for line in seat.lines)

        await seat.press("4")
        await seat.find("rollout:3")
        await seat.until(lambda: cut("R rollout 3 "))
        await seat.press("5")
        await seat.until(lambda: cut("✗ dead rank "))


async def test_action_view_groups(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await seat.press("6")
        seen = world.simulated(desk.sources[0].plan)
        bundles = (*[BundleState(1, 1.0, 2.0)] * 4, BundleState(0, 1.0, 2.0))
        groups = (
            GroupState("ab12", "mine", "placetui", bundles=bundles),
            GroupState("cd34", "", "rl", "pending", "no_resources", (BundleState(None, 8.0, 1.0),)),
        )
        desk.sources[0].deliver(replace(seen, groups=groups))
        await seat.sees("Groups 2  1 not placed", "mine", "· created", "2 nodes", "cd34", "○ pending", "no_resources")
        await seat.press("down")
        await seat.sees("bundles 0-3 on node1: 1 GPU, 2 CPUs each", "bundle 4 on node0")
        await seat.find("state:pending")
        await seat.sees("filter state:pending: 1 of 2", "bundle 0 without a node: 8 GPUs, 1 CPU")
        await seat.press("enter")
        assert "this is not shown in the grid" in seat.toasts[-1]


async def test_bundles_of_the_selected_group_stand_below_where_there_is_room(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (120, 40), live=True) as seat:
        seen = world.simulated(desk.sources[0].plan)
        bundles = (*[BundleState(1, 1.0, 2.0)] * 3, *[BundleState(None, 1.0, 2.0)] * 2)
        groups = (GroupState("ab12", "mine", "rl", "rescheduling", "no_resources", bundles), GroupState("cd34"))
        desk.sources[0].deliver(replace(seen, groups=groups))
        await seat.press("6")
        await seat.sees("Bundles of cd34  0 of 0 placed")
        await seat.press("down")
        await seat.sees(
            "Bundles of mine  3 of 5 placed", "waiting □□ 2 GPUs, 4 CPUs: no_resources", "■ 2    1 GPU, 2 CPUs"
        )


async def test_a_problem_keeps_its_ground_under_the_cursor(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (160, 40), live=True) as seat:
        await watch(desk, seat, world)
        await seat.press("4", "s")  # by state: the dead one comes first
        await seat.sees("state▲")
        view = table(seat)
        ground = view.palette.rich_style(Style("text", ground="error")).bgcolor  # type: ignore[union-attr]
        row, below = view.render_line(1), view.render_line(2)
        assert row.text.startswith("▌R rollout 3")
        assert {segment.style.bgcolor for segment in row if segment.style} == {ground}
        assert ground not in {segment.style.bgcolor for segment in below if segment.style}


async def test_a_plan_that_holds_says_so(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        calm = world.simulated(desk.sources[0].plan)
        desk.sources[0].deliver(calm)
        await seat.press("5")
        await seat.sees("Drift 0", "no drift: the cluster matches the plan")
        assert "✓ 48/48 ranks alive" in seat.status


async def test_the_cursor_stays_on_its_process_while_others_come_and_go(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        seen = await watch(desk, seat, world)
        await seat.press("3", *"sssss")  # by memory
        assert table(seat).looking["processes"].sorting.column == "memory"
        await seat.press("down", "down", "down")
        chosen = table(seat).row
        other = seen.nodes[1].devices[7]
        greedy = tuple(replace(process, memory=90 * GIB) for process in other.processes)
        desk.sources[0].deliver(world.with_device(seen, 1, 7, processes=greedy))
        await seat.until(lambda: table(seat).cursor == 6)
        assert table(seat).row.key == chosen.key
        # Its own memory changes, and it moves.
        device = seen.nodes[chosen.node.rank].devices[chosen.device.index]
        smaller = tuple(replace(one, memory=1) if one.pid == chosen.pid else one for one in device.processes)
        desk.sources[0].deliver(world.with_device(seen, chosen.node.rank, chosen.device.index, processes=smaller))
        await seat.until(lambda: table(seat).row.memory == 1)
        assert table(seat).row.pid == chosen.pid
        assert table(seat).scroll_offset.y > 0
        # It ends: the cursor stays where it is.
        place = table(seat).cursor
        without = tuple(one for one in device.processes if one.pid != chosen.pid)
        desk.sources[0].deliver(world.with_device(seen, chosen.node.rank, chosen.device.index, processes=without))
        await seat.until(lambda: table(seat).row.pid != chosen.pid)
        assert table(seat).cursor == min(place, len(table(seat).content.rows) - 1)  # type: ignore[union-attr]


async def test_action_reverse(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await watch(desk, seat, world)
        await seat.press("3", "S")
        await seat.sees("node▼")
        assert table(seat).content is not None
        first = table(seat).content.rows[0]  # type: ignore[union-attr]
        assert (first.node.rank, first.device.index) == (1, 7)


async def test_a_click_on_a_title_sorts_and_on_a_row_moves(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await watch(desk, seat, world)
        await seat.press("3")
        view = table(seat)
        assert view.content is not None
        memory = next(slot.x for slot in view.content.pen.slots if slot.column.name == "memory")
        await seat.pilot.click(TablePane, offset=(memory + 4, 0))
        await seat.sees("memory▼")
        await seat.pilot.click(TablePane, offset=(memory + 4, 0))
        await seat.sees("memory▲")
        await seat.pilot.click(TablePane, offset=(3, 1 + 4))
        await seat.until(lambda: table(seat).cursor == 4)
        row = view.row
        await seat.pilot.click(TablePane, offset=(3, 1 + 4), times=2)
        await seat.until(lambda: seat.main.table is None, "the grid")
        assert seat.cursor == (row.node.rank, "gpu", row.device.index)


async def test_trouble_is_named_by_whom_it_is_about_with_keys_that_help(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await watch(desk, seat, world)
        await seat.press("exclamation_mark")
        await seat.until(lambda: seat.lines[-1].startswith(" R3 ✗ "), "the rank that is dead")
        assert "restart" not in seat.lines[-1], "not in a simulation"
        await seat.press("exclamation_mark")
        await seat.until(lambda: seat.lines[-1].startswith(" 1/gpu2 ≠   3  processes"), "not a rank beside it")


async def test_a_click_on_the_count_shows_what_is_counted(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (200, 36), live=True) as seat:
        await watch(desk, seat, world)
        await seat.until(lambda: "1 drift" in seat.status, "the count of what differs besides dead ranks")
        await seat.pilot.click(StatusBar, offset=(30, 0))
        assert seat.main.table is None
        await seat.pilot.click(StatusBar, offset=(seat.lines[0].index("1 drift"), 0))
        await seat.sees("Drift 2  2 differences from the plan ─")


async def test_a_filter_is_followed_while_it_is_written_and_forgotten_by_escape(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await watch(desk, seat, world)
        await seat.press("3", "slash")
        assert "kind:foreign" in seat.text
        await seat.write("eve")
        await seat.sees("filter eve: 1 of 50")
        await seat.press("enter")
        assert table(seat).has_focus
        await seat.find(" eve ")
        assert not seat.toasts
        await seat.find("knd:foreign")
        assert "did you mean kind?" in seat.toasts[-1]
        await seat.sees("filter eve: 1 of 50")
        await seat.find("nobody has this")
        await seat.sees("nothing matches nobody has this", "escape: clear the filter")
        await seat.press("escape")
        await seat.sees("Processes 50")
        await seat.press("slash", "e", "escape", "down")  # thinks better of it, and goes on
        assert table(seat).cursor == 1
        await seat.press("escape", "escape")
        assert seat.main.table is None
        await seat.press("slash")
        assert "rollout 17" in seat.text


async def test_moving_in_a_table(desk: Desk, world: World) -> None:
    async with desk.open("collocated", (80, 24), live=True) as seat:
        await watch(desk, seat, world)
        await seat.press("3", "j", "j", "k")
        assert table(seat).cursor == 1
        await seat.press("G")
        assert table(seat).cursor == 49
        await seat.press("pageup")
        page = 49 - table(seat).cursor
        assert page > 8
        await seat.press("g", "pagedown")
        assert table(seat).cursor == page
        before = seat.cursor
        await seat.press("a", "delete", "plus")  # what is done to the grid is not done here
        assert seat.main.table is not None
        assert (seat.cursor, seat.editor.dirty, seat.density()) == (before, False, "tile")
        await seat.press("d")
        assert seat.shows(DetailsScreen)


async def test_only_rows_that_changed_are_painted(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        seen = await watch(desk, seat, world)
        await seat.press("3")
        await seat.pilot.pause(0.1)
        view = table(seat)
        painted: list[int] = []
        paint = view.render_line

        def counted(y: int) -> object:
            painted.append(y)
            return paint(y)

        view.render_line = counted  # type: ignore[method-assign,assignment]
        first = seen.nodes[0].devices[1]
        more = (replace(first.processes[0], memory=7 * GIB), *first.processes[1:])
        desk.sources[0].deliver(world.with_device(seen, 0, 1, processes=more))
        await seat.sees("7.0G")
        # The titles stay; of the rows one is another.
        assert set(painted) == {1 + 3}
        painted.clear()
        later = world.with_device(seen, 1, 7, memory_used=GIB)
        desk.sources[0].deliver(world.with_device(later, 0, 1, processes=more))
        await seat.until(lambda: seat.observation is not None and seat.observation.nodes[1] is later.nodes[1])
        assert painted == []


async def test_eight_thousand_gpus_with_three_processes_each_stay_quick(desk: Desk, world: World) -> None:
    nodes = 1024
    text = f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n    actor: all\n    rollout,env: all\n"
    session = Session.of_text("large.yaml", text, PlanRequest(nodes=(Node(8),) * nodes))
    app = Dashboard(session, desk.options(live=True))
    app.animation_level = "none"
    async with app.run_test(size=(140, 44)) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None)
        seen = world.simulated(desk.sources[0].plan)
        desk.sources[0].deliver(seen)
        await seat.until(lambda: seat.observation is seen)
        await seat.press("3")
        await seat.sees("Processes 24,576")
        await seat.press("G", *"sssss")
        await seat.sees("memory▼")
        row = table(seat).row
        nodes_now = list(seen.nodes)
        for rank in range(0, nodes, 10):
            nodes_now[rank] = replace(nodes_now[rank], cpu_percent=77.0)
        changed = replace(seen, time=seen.time + 1, nodes=tuple(nodes_now))
        before = time.process_time()
        seat.main.observe(changed)
        spent = time.process_time() - before
        assert table(seat).row.key == row.key
        # A tenth of a second is what it should take; machines that test are slower and busy.
        assert spent < 1.0
        await asyncio.sleep(0)


async def test_action_view_events(desk: Desk, world: World) -> None:
    """What happened is listed with its time, the latest first, and leads to its place."""
    async with desk.open("collocated", live=True) as seat:
        seen = await watch(desk, seat, world)
        await seat.press("7")
        await seat.sees("Events 0", "no events since", "1: grid")
        desk.sources[0].deliver(world.with_rank(seen, "actor", 9, state="dead", reason="killed"))
        await seat.sees("Events 1", "✗ A actor 9", "node1/gpu1", "died: killed")
        await seat.press("1", "7", "enter")
        assert seat.cursor == (1, "gpu", 1)
