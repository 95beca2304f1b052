"""The cluster as it is, without a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input

from placetui.document import PlanRequest
from placetui.observe.model import Claim, Observation, ProcessSample
from placetui.observe.ports import ClusterSource, Status
from placetui.tui.app import Choice, Dashboard
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.picker import PickerScreen
from placetui.tui.dialogs.save import SaveScreen
from placetui.tui.dialogs.waiting import WaitingScreen
from placetui.tui.session import Session
from placetui.tui.widgets.rule_panel import RulePanel
from tests.tui.pretend import PretendedOperations

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, World

GIB = 1 << 30


def occupied(world: World, seen: Observation) -> Observation:
    """A cluster with trainers of a program that placetui knows nothing of."""
    for number in range(4):
        trainer = Claim(f"t{number}", "Trainer", 70 + number, None, None, "04", 0.5, class_name="Trainer")
        process = ProcessSample(70 + number, 9 * GIB, actor="Trainer", job="04", kind="actor", actor_id=f"t{number}")
        seen = world.with_device(seen, 0, number, claims=(trainer,), processes=(process,))
    return seen


def idle(desk: Desk, world: World) -> Observation:
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    return replace(world.simulated(replace(plan, components={})), source="ray")


async def test_a_cluster_is_opened_followed_and_kept_as_a_file(desk: Desk, world: World) -> None:
    seen = idle(desk, world)
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan

    def cluster() -> ClusterSource:
        return desk.fake(plan)

    app = Dashboard(None, desk.options(picture=cluster))
    app.animation_level = "none"
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.sees("looking for the Ray cluster")
        desk.sources[0].say(Status("starting", "ray is asked [really]"))
        await seat.sees("starting: ray is asked [really]")
        desk.sources[0].deliver(seen)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None, "the grid")
        await seat.sees("cluster.yaml", "as it is", "2 nodes", "GiB")
        assert not seat.session.plan.components
        busy = occupied(world, seen)
        desk.sources[0].deliver(busy)
        await seat.until(lambda: "Trainer" in seat.session.plan.components, "the actors")
        await seat.sees("A Trainer", "A0", "fine")
        assert len(desk.sources) == 1
        assert not seat.editor.dirty
        await seat.press("P")
        await seat.sees("Save the cluster as a file")
        await seat.press("enter")
        assert "saved cluster.yaml" in seat.toasts[-1]
        await seat.press("P", "enter")
        assert "already exists" in seat.toasts[-1]
        await seat.press("r")  # there is nothing to read again
        await pilot.pause()
        assert "as it is" in seat.status
    kept = Session.open(str(desk.folder / "cluster.yaml"), PlanRequest())
    assert kept.errors == 0
    assert [one.local_hardware_ranks for one in kept.plan.components["Trainer"].placements] == [[0], [1], [2], [3]]
    assert kept.plan.components["Trainer"].share == 0.5


async def test_action_keep(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await seat.press("P")
        assert "nothing to save" in seat.toasts[-1]
        seen = world.simulated(desk.sources[0].plan)
        desk.sources[0].deliver(seen)
        await seat.until(lambda: seat.observation is seen)
        await seat.press("P", "enter")
    kept = Session.open(str(desk.folder / "cluster.yaml"), PlanRequest())
    assert {name: one.world_size for name, one in kept.plan.components.items()} == {
        "actor": 16,
        "reward": 16,
        "rollout": 16,
    }


async def test_what_a_file_cannot_say_is_said_before_it_is_kept(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        seen = world.simulated(replace(desk.sources[0].plan, components={}))
        wide = Claim("w", "Wide", 7, None, None, "04", 1.0, class_name="Wide")
        for number in (0, 2):
            seen = world.with_device(seen, 0, number, claims=(wide,))
        desk.sources[0].deliver(seen)
        await seat.until(lambda: seat.observation is seen)
        await seat.press("P")
        await seat.sees(
            "A file cannot express everything: Wide: a process on GPUs that are not", "is written as several"
        )
        await seat.press("enter")
        assert "saved cluster.yaml" in seat.toasts[-1]
    assert "is written as several" in (desk.folder / "cluster.yaml").read_text()


async def test_an_edit_of_the_picture_is_a_plan_to_compare_with(desk: Desk, world: World) -> None:
    seen = occupied(world, idle(desk, world))
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    app = Dashboard(None, desk.options(live=True, picture=lambda: desk.fake(plan)))
    app.animation_level = "none"
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: desk.sources and desk.sources[0].subscriber)
        desk.sources[0].deliver(seen)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None, "the grid")
        await seat.press("right_square_bracket")  # one more device for the trainer
        await seat.until(lambda: not seat.session.pictured, "a plan")
        assert seat.session.plan.components["Trainer"].world_size == 5
        await seat.until(lambda: "as it is" not in seat.status and "edited" in seat.status)


async def test_a_file_can_be_opened_instead(desk: Desk, world: World) -> None:
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    app = Dashboard(None, desk.options(picture=lambda: desk.fake(plan)))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.sees("looking for the Ray cluster")
        await seat.press("o")
        assert seat.shows(PickerScreen)


async def test_of_several_clusters_on_this_machine_one_can_be_chosen(desk: Desk, world: World) -> None:
    seen, operations, addresses = idle(desk, world), PretendedOperations(), []
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    operations.replies["clusters"] = {"clusters": ["10.0.0.1:6379", "10.0.0.1:6380"]}

    def picture_of(address: str) -> ClusterSource:
        addresses.append(address)
        return desk.fake(plan)

    options = desk.options(operations=operations, picture=lambda: desk.fake(plan), picture_of=picture_of)
    app = Dashboard(None, options)
    app.animation_level = "none"
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: desk.sources and desk.sources[0].subscriber)
        desk.sources[0].say(Status("lost", "there are 2 Ray clusters on this machine"))
        await seat.sees("10.0.0.1:6379", "10.0.0.1:6380")
        await seat.write("6380")
        await seat.press("enter")
        await seat.until(lambda: addresses == ["10.0.0.1:6380"] and desk.sources[-1].subscriber)
        desk.sources[-1].deliver(seen)
        await seat.sees("as it is", "2 nodes")
        assert app.cluster.address == "10.0.0.1:6380"


@pytest.mark.parametrize("touched", [False, True])
async def test_the_start_screen_gives_way_to_a_cluster_unless_the_user_chooses(
    desk: Desk, world: World, touched: bool
) -> None:
    seen, operations = idle(desk, world), PretendedOperations()
    operations.replies["clusters"] = {"clusters": ["10.0.0.1:6379"], "sizes": {"10.0.0.1:6379": (2, 16)}}
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    looks: dict[str, Any] = {"picture": lambda: desk.fake(plan), "picture_of": lambda _: desk.fake(plan)}
    app = Dashboard(None, desk.options(operations=operations, choices=[Choice("mine.yaml")], **looks))
    app.animation_level = "none"
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: seat.shows(PickerScreen), "the start screen before a cluster answered")
        await seat.sees("mine.yaml", "10.0.0.1:6379", "2 nodes, 16 GPUs")
        await seat.until(lambda: desk.sources and desk.sources[0].subscriber)
        if touched:
            await seat.press("m")
        desk.sources[0].deliver(seen)
        await seat.heard()
        if touched:
            assert seat.shows(PickerScreen)
            await seat.press("backspace")
            await seat.write("6379")
            await seat.press("enter")
            await seat.until(lambda: len(desk.sources) > 1 and desk.sources[-1].subscriber)
            desk.sources[-1].deliver(seen)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None, "the grid")
        await seat.sees("as it is", "2 nodes")
        assert [type(screen).__name__ for screen in app.screen_stack] == ["Screen", "MainScreen"]


async def test_escape_leaves_the_start_screen_while_a_cluster_is_looked_for(desk: Desk, world: World) -> None:
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    looks: dict[str, Any] = {"picture": lambda: desk.fake(plan), "picture_of": lambda _: desk.fake(plan)}
    app = Dashboard(None, desk.options(operations=PretendedOperations(), **looks))
    async with app.run_test(size=(120, 36)) as pilot:
        seat = world.seat(app, pilot)
        await seat.sees("Looking for a Ray cluster", "quit")
        await seat.press("escape")
    assert app.return_value == 0


async def test_without_a_cluster_the_start_screen_says_so(desk: Desk, world: World) -> None:
    operations = PretendedOperations()
    operations.replies["clusters"] = {"clusters": []}
    options = desk.options(operations=operations, picture_of=lambda address: desk.fake(None))  # type: ignore[arg-type]
    async with Dashboard(None, options).run_test(size=(100, 30), notifications=True) as pilot:
        await world.seat(pilot.app, pilot).sees("No Ray cluster was found. Pass --address HOST:PORT.")  # type: ignore[arg-type]


async def test_the_first_look_waits_for_the_picker(desk: Desk, world: World) -> None:
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    seen = idle(desk, world)
    app = Dashboard(None, desk.options(picture=lambda: desk.fake(plan)))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.sees("looking for the Ray cluster")
        await seat.press("o")
        await seat.until(lambda: seat.shows(PickerScreen))
        picker = app.screen
        desk.sources[0].say(Status("starting", "no Ray cluster was found", absent=True))
        desk.sources[0].deliver(seen)
        await seat.heard()
        assert app.screen is picker
        await seat.press("escape")
        await seat.until(lambda: seat.shows(WaitingScreen))
        await seat.sees("no Ray cluster was found")
        desk.sources[0].deliver(seen)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None, "the grid")
        assert [type(screen).__name__ for screen in app.screen_stack] == ["Screen", "MainScreen"]


async def test_an_edited_picture_is_saved_as_a_new_file(desk: Desk, world: World) -> None:
    seen = occupied(world, idle(desk, world))
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    theirs, new = desk.write("mine: 1\n", "cluster.yaml"), desk.folder / "new.yaml"
    app = Dashboard(None, desk.options(write=True, picture=lambda: desk.fake(plan)))
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: desk.sources and desk.sources[0].subscriber is not None)
        desk.sources[0].deliver(seen)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None, "the grid")
        await seat.press("right_square_bracket")
        await seat.until(lambda: seat.editor.dirty)
        await seat.press("ctrl+s")
        await seat.until(lambda: seat.shows(SaveScreen))
        await seat.sees("Save as a new file")
        assert "is read-only: save" not in seat.text
        await seat.press("enter")
        await seat.until(lambda: seat.shows(AskScreen))
        await seat.sees("Name of the new file:")
        assert "The opened file" not in seat.text
        await seat.press("enter")
        await seat.sees("This file already exists")
        app.screen.query_one(Input).value = str(new)
        await seat.press("enter")
        await seat.until(lambda: new.exists() and not seat.editor.dirty)
        await seat.sees("new.yaml", "writable")
    assert theirs.read_text() == "mine: 1\n"


async def test_the_picture_waits_for_a_rule_that_is_being_written(desk: Desk, world: World) -> None:
    empty = idle(desk, world)
    seen = occupied(world, empty)
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    app = Dashboard(None, desk.options(picture=lambda: desk.fake(plan)))
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: desk.sources and desk.sources[0].subscriber is not None)
        desk.sources[0].deliver(seen)
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None, "the grid")
        await seat.press("e")
        before = seat.session
        assert not seat.main.workspace.follow(before, before.followed(empty))
        assert seat.main.query_one(RulePanel).display
        assert seat.session is before
        await seat.press("escape")
        assert seat.session.text == seat.editor.history.text
        desk.sources[0].deliver(empty)
        await seat.until(lambda: not seat.session.plan.components, "the cluster is followed")
