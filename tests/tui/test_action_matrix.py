"""Every action in every view: whether it is there, what it lacks, and that it does something to what is selected."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, get_args

import pytest

from placetui.tui.actions import (
    ACTIONS,
    BY_ID,
    FILES,
    GRID,
    MAIN,
    TABLES,
    Action,
    Context,
    FileKind,
    View,
    availability,
    footer,
    is_named,
    why_not,
)
from placetui.tui.dialogs.ask import ConfirmScreen
from tests.tui.pretend import PretendedOperations

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat, World

VIEWS: tuple[View, ...] = get_args(View)
KEYS: dict[View, str] = {
    "grid": "1",
    "file": "2",
    "text": "E",
    "processes": "3",
    "ranks": "4",
    "drift": "5",
    "groups": "6",
    "events": "7",
}
LEAVING = frozenset({"quit", "interrupt"})

CONTEXTS = [
    Context(view, job, file, write)
    for view, job, file, write in product(VIEWS, (False, True), get_args(FileKind), (False, True))
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_availability(action: Action) -> None:
    """It depends on the view, the job, the file and `--write` alone, and always in the same way."""
    for context in CONTEXTS:
        lacks = [
            ("file" in action.needs and context.file in ("record", "none")),
            ("write" in action.needs and not context.write),
            ("job" in action.needs and not context.job),
        ]
        expected = False if context.view not in action.views else None if any(lacks) else True
        assert availability(action, context) is expected
        assert bool(why_not(action, context)) == any(lacks)


def test_what_has_nothing_to_act_on_is_not_named() -> None:
    named = {action.id for action in ACTIONS if is_named(action, Context("grid"))}
    simulated = {action.id for action in ACTIONS if is_named(action, Context("grid", cluster=False))}
    assert named - simulated == {
        *("launch", "preflight", "jobs", "stop_job", "ray_log"),
        *("call", "rank_log", "rank_stack", "kill_rank", "restart_rank"),
    }
    for lacking, missing in (
        (Context("grid", undo=False), "undo"),
        (Context("grid", redo=False), "redo"),
        (Context("grid", changes=False), "save"),
        (Context("grid", problems=False), "next_problem"),
    ):
        assert named - {action.id for action in ACTIONS if is_named(action, lacking)} == {missing}


def test_what_belongs_where() -> None:
    edits = [action for action in ACTIONS if action.owner == "edits"]
    assert edits
    assert all(action.views == GRID for action in edits), "no edit of a grid that is hidden"
    assert all(action.needs[:1] == ("write",) for action in ACTIONS if action.id in ("stop_job", "kill_rank", "call"))
    for view in VIEWS:
        named = [one for group in footer(Context(view)) for names, _ in group for one in names.split("+")]
        shown = [one for one in named if view in BY_ID[one].views]
        assert len(shown) > 3 or view == "waiting", f"the footer of {view}"
    assert set(BY_ID["reverse"].views) == set(TABLES)
    assert set(BY_ID["undo"].views) == {*GRID, *FILES}


async def prepared(desk: Desk, seat: Seat, world: World, view: View) -> None:
    """A job that runs, one rank of which has died, and the view on it."""
    seat.app.cluster.job = "plan"
    seen = world.simulated(seat.session.plan)
    desk.sources[0].deliver(seen)
    await seat.until(lambda: seat.observation is not None)
    desk.sources[0].deliver(world.with_rank(seen, "actor", 9, state="dead", reason="killed"))
    await seat.until(lambda: seat.observation is not None and seat.observation.time > seen.time)
    await seat.press(KEYS[view])
    assert seat.main.view == view


async def back_to(seat: Seat, view: View) -> None:
    """Close what an action has opened, and go back to the view."""
    for _ in range(20):
        if seat.app.screen is seat.main:
            break
        await seat.press("escape")
    assert seat.app.screen is seat.main
    if seat.main.focused is not None and seat.main.focused.id in ("find", "rule"):
        await seat.press("escape")
    if seat.main.view != view:
        if seat.main.view == "text":
            await seat.press("escape")
        await seat.press(KEYS[view])
    assert seat.main.view == view


@pytest.mark.slow
@pytest.mark.parametrize("view", MAIN)
async def test_each_action_of_a_view_can_be_done(desk: Desk, world: World, view: View) -> None:
    operations = PretendedOperations()
    operations.replies = {kind: {} for kind in ("ps", "logs", "call", "job")}
    async with desk.open(
        desk.copy("collocated"), live=True, operations=operations, address="10.0.0.1:1", write=True
    ) as seat:
        await prepared(desk, seat, world, view)
        done = [action for action in ACTIONS if view in action.views and action.id not in LEAVING]
        for action in done:
            assert availability(action, seat.app.context) is True, action.id
            await seat.app.run_action(f"app.act({action.id!r})")
            await seat.pilot.pause()
            assert not seat.app._exit, action.id
            await back_to(seat, view)
        assert not {one.kind for one in operations.begun} & {"up", "down", "kill", "restart"}, "nothing by accident"


@pytest.mark.parametrize(("key", "what"), [("K", "kill"), ("R", "restart")])
async def test_a_rank_of_the_table_is_meant_and_not_the_one_of_the_hidden_grid(
    desk: Desk, world: World, key: str, what: str
) -> None:
    operations = PretendedOperations()
    async with desk.open("collocated", live=True, operations=operations, address="10.0.0.1:1", write=True) as seat:
        await prepared(desk, seat, world, "ranks")
        await seat.find("actor state:dead")
        await seat.press(key)
        await seat.until(lambda: seat.shows(ConfirmScreen))
        await seat.sees(f"{what.title()} actor:9", "Type actor:9 and press enter")
        await seat.press("y", "enter")
        assert not operations.begun, "a letter does nothing"
        await seat.press("backspace")
        await seat.write("actor:9")
        await seat.press("enter")
        await seat.until(lambda: operations.asked(what))
        assert (operations.of(what).body["component"], operations.of(what).body["rank"]) == ("actor", 9)


async def test_a_click_on_the_footer_does_what_the_key_does(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        await prepared(desk, seat, world, "ranks")
        bar = seat.main.query_one("KeyBar")
        x = seat.lines[bar.region.y].index("enter  to grid") + 2
        await seat.press("down")
        await seat.pilot.click(offset=(x, bar.region.y))
        await seat.until(lambda: seat.main.view == "grid", "the grid, not the file")
