"""Nothing dangerous by accident, and nothing that surprises: what a person does, and what must not come of it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from placetui.document import PlanRequest
from placetui.observe.model import NodeSample
from placetui.placement.topology import Node
from placetui.tui import app as app_module
from placetui.tui.dialogs.choose import ChooseScreen
from placetui.tui.dialogs.launch import LaunchScreen
from placetui.tui.main import MainScreen
from placetui.tui.session import Session
from tests.tui.pretend import PretendedOperations

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, World

PLAN = """\
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-3
    rollout: 4-7
placetui:
  topology: {nodes: 2, gpus_per_node: 8}
"""


async def test_a_question_of_a_launch_does_not_open_above_the_find_field(desk: Desk) -> None:
    """`may` typed into the find field once started a job."""
    operations = PretendedOperations()
    async with desk.open(desk.write(PLAN), operations=operations, write=True) as seat:
        await seat.press("L", "enter")
        await seat.until(lambda: seat.shows(LaunchScreen))
        await seat.press("b")  # back to the grid; it continues
        await seat.until(lambda: seat.shows(MainScreen))
        await seat.press("slash", "m")
        up = operations.of("up")
        up.check(seat.session.plan)
        await seat.until(lambda: any("needs your answer: press L" in toast for toast in seat.toasts))
        await seat.press("a", "y")
        assert seat.shows(MainScreen)
        assert seat.main.query_one("#find", Input).value == "may"
        assert not up.answers
        await seat.press("escape", "L")
        await seat.until(lambda: seat.shows(LaunchScreen))
        await seat.press("y", "enter")
        assert not up.answers, "neither a letter nor enter starts it"
        await seat.press("ctrl+l")
        await seat.until(lambda: up.answers == [True])


async def test_ranks_of_a_job_that_was_stopped_are_gone_and_not_missed(desk: Desk, world: World) -> None:
    operations = PretendedOperations()
    operations.replies["down"] = {"actors": 16, "groups": 1}
    async with desk.open("collocated", live=True, operations=operations, address="10.0.0.1:1", write=True) as seat:
        seat.app.cluster.job = "conf"
        desk.sources[0].deliver(replace(world.simulated(seat.session.plan), job="conf"))
        await seat.sees("· alive")
        await seat.press("X")
        await seat.sees("Type conf and press enter")
        await seat.write("conf")
        await seat.press("enter")
        await seat.until(lambda: "stopped conf" in seat.toasts)
        await seat.misses("· alive")
        assert seat.observation is None or not any(seat.observation.ranks.values())
        assert "drift" not in seat.status


async def test_a_row_leads_to_its_place_also_far_down(desk: Desk, world: World) -> None:
    async with desk.open("large", live=True) as seat:
        desk.sources[0].deliver(world.simulated(seat.session.plan))
        await seat.until(lambda: seat.observation is not None)
        await seat.press("4")
        await seat.find("actor 3000")
        await seat.press("enter")
        await seat.until(lambda: seat.main.view == "grid")
        place = seat.grid.cursor
        assert place.node > 300
        await seat.until(lambda: seat.grid.scroll_offset.y > 0, "scrolled")
        await seat.until(lambda: any(f"node{place.node} " in line for line in seat.lines), "its node is in view")


async def test_a_broken_file_says_so_in_a_small_terminal(desk: Desk) -> None:
    async with desk.open("broken-out-of-range", (40, 10)) as seat:
        await seat.sees("device 8 of 0-8 does not exist", "node0")


async def test_the_error_count_leads_to_the_errors(desk: Desk) -> None:
    async with desk.open("broken-out-of-range", (120, 36)) as seat:
        await seat.press("right")
        await seat.sees("node0 · GPU 1")
        await seat.pilot.click(offset=(seat.status.index("error"), 0))
        await seat.sees("Problem 1 of 4")


async def test_the_find_field_goes_when_the_focus_leaves_it(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        await seat.press("slash", "r", "o")
        await seat.sees("16 hits")
        await seat.pilot.click(seat.grid, offset=(20, 3))
        await seat.until(lambda: not seat.main.query_one("#find-bar").display)


async def test_hits_of_live_data_stay_after_an_edit(desk: Desk, world: World) -> None:
    async with desk.open(desk.write(PLAN), live=True) as seat:
        seen = world.simulated(seat.session.plan)
        desk.sources[0].deliver(world.with_rank(seen, "rollout", 2, state="dead"))
        await seat.until(lambda: seat.observation is not None)
        await seat.find("dead")
        assert len(seat.grid.look.hits.places) == 1
        await seat.press("home", "right_square_bracket")
        await seat.until(lambda: seat.editor.dirty)
        assert len(seat.grid.look.hits.places) == 1


async def test_nobody_undoes_what_the_cluster_did(desk: Desk, world: World) -> None:
    seen = world.simulated(Session.open(str(desk.copy("collocated")), PlanRequest()).plan)
    app = app_module.Dashboard(None, desk.options(picture=lambda: desk.fake(Session.of_observation(seen, {}).plan)))
    app.animation_level = "none"
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: desk.sources and desk.sources[0].subscriber is not None)
        desk.sources[0].deliver(replace(seen, nodes=tuple(_idle(node) for node in seen.nodes), ranks={}))
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None)
        before = seat.session
        desk.sources[0].deliver(replace(seen, time=seen.time + 5))
        await seat.until(lambda: seat.session is not before, "followed")
        now = seat.session
        await seat.press("u")
        assert "nothing to undo" in seat.toasts[-1]
        assert seat.session is now


def _idle(node: NodeSample) -> NodeSample:
    return replace(node, devices=tuple(replace(one, processes=(), claims=()) for one in node.devices))


async def test_a_file_that_is_gone_is_written_again_after_asking(desk: Desk) -> None:
    path = desk.write(PLAN)
    async with desk.open(path, write=True) as seat:
        path.unlink()
        await seat.press("ctrl+s")
        await seat.until(lambda: seat.shows(ChooseScreen))
        await seat.sees("Someone removed this file")
        assert not path.exists()
        await seat.press("m")
        await seat.until(lambda: path.exists() and path.read_text() == PLAN)


async def test_another_file_is_opened_under_the_same_assumptions(desk: Desk) -> None:
    plan_request = PlanRequest(nodes=(Node(4), Node(4), Node(4)), topology_source="flag")
    other = desk.write(PLAN.replace("placetui:\n  topology: {nodes: 2, gpus_per_node: 8}\n", ""), "other.yaml")
    async with desk.open(desk.copy("collocated"), plan_request=plan_request) as seat:
        await seat.app.open_file(str(other))
        await seat.until(lambda: seat.session.file == str(other))
        assert {node.gpus for node in seat.session.plan.nodes} == {4}


async def test_keys_work_while_a_file_hangs(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    opened = Session.open

    def hanging(file: str, plan_request: PlanRequest) -> Session:
        go_on.wait()
        return opened(file, plan_request)

    other = desk.write(PLAN, "other.yaml")
    async with desk.open("collocated", choices=[app_module.Choice(str(other))]) as seat:
        monkeypatch.setattr(Session, "open", staticmethod(hanging))
        await seat.press("o", "enter")
        await seat.until(lambda: seat.shows(MainScreen))
        await seat.press("right", "right")
        assert seat.cursor == (0, "gpu", 2)
        go_on.set()
        await seat.until(lambda: seat.session.file == str(other))


async def test_sorting_shows_the_top_of_the_order(desk: Desk) -> None:
    async with desk.open("large") as seat:
        await seat.press("G", "s")
        assert seat.grid.drawing is not None
        assert seat.grid.cursor.node == seat.grid.drawing.nodes[0]
        assert seat.grid.scroll_offset.y == 0


async def test_a_component_moves_to_the_selected_devices_and_nowhere_else(desk: Desk) -> None:
    """Shift and its letter: only there, and the dialog says so."""
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("down", "shift+right", "a")
        await seat.until(lambda: seat.shows(ChooseScreen))
        await seat.sees("only here, the component leaves its other devices", "shift+letter  only here")
        await seat.press("A")
        await seat.until(lambda: "actor: 8-9" in seat.session.text)
        await seat.press("u")
        await seat.until(lambda: seat.session.text == PLAN)


async def test_what_if_shows_who_moves(desk: Desk) -> None:
    async with desk.open(desk.write(PLAN)) as seat:
        await seat.press("w", "down")
        await seat.sees("collocated")
        await seat.until(lambda: "actor" in str(seat.app.screen.query_one("#verdict").render()), "the moves")
        await seat.press("enter")
        await seat.until(lambda: seat.session.tried)
        await seat.misses("line 4")
        await seat.press("enter")
        await seat.until(lambda: any("not in the file" in toast for toast in seat.toasts))
