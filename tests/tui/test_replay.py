"""The dashboard over a recording, and the marks of drift in its grid."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from placetui.document import PlanRequest
from placetui.grid import Overlay
from placetui.observe.model import Observation, ProcessSample
from placetui.observe.recording.reader import Recording
from placetui.observe.recording.replay import Replays
from placetui.observe.recording.writer import Recorder
from placetui.tui.app import Dashboard
from placetui.tui.session import Session

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, Seat, World

GIB = 1 << 30


async def test_a_recording_is_shown_and_stepped_through(desk: Desk, world: World) -> None:
    file = desk.copy("collocated")
    session = replace(Session.open(str(file), PlanRequest()), file=file.name)
    pictures = [replace(world.simulated(session.plan, seconds), time=1e9 + seconds) for seconds in range(5, 15)]
    path = desk.folder / "recording"
    with Recorder(path) as recorder:
        for picture in pictures:
            recorder.write(picture)
    path.write_bytes(path.read_bytes()[:-8])
    replays = Replays(Recording(path))
    app = Dashboard(session, replace(desk.options(), source_for=replays))
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: app.main is not None and app.main.picture.observation is not None, "the first picture")
        await seat.sees("replay ", "/10 ")
        assert any("the recording is cut off after" in toast for toast in seat.toasts)
        source = replays.latest
        assert source is not None
        source.step(-100)
        source.step(4)
        await seat.until(lambda: seat.observation == replace(pictures[4], source="replay"), "the fifth picture")
        assert source.paused


def test_a_device_with_drift_is_marked(desk: Desk, world: World) -> None:
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    seen = world.simulated(plan, 20)
    calm = Overlay(plan, seen)
    assert not calm.is_marked(0, 1)
    device = seen.nodes[0].devices[1]
    foreign = ProcessSample(4242, GIB, command="python mine.py")
    odd = world.with_device(seen, 0, 1, processes=(*device.processes, foreign))
    overlay = Overlay(plan, odd, earlier=calm)
    assert overlay.marked == {(0, 1)}
    assert [one.kind for one in overlay.drift] == ["foreign_process"]


def test_a_device_that_is_not_there_is_marked_and_a_dead_rank_has_its_own_sign(desk: Desk, world: World) -> None:
    plan = Session.open(str(desk.copy("collocated")), PlanRequest()).plan
    seen = world.simulated(plan, 20)
    node = seen.nodes[0]
    fewer = replace(seen, nodes=(replace(node, devices=node.devices[:-1]), *seen.nodes[1:]))
    assert Overlay(plan, fewer).is_marked(0, len(node.devices) - 1)
    dead = Overlay(plan, world.with_rank(seen, "actor", 0, state="dead"))
    assert (dead.state_on(0, 0), dead.is_marked(0, 0)) == ("dead", False)


# Keys of a recording


def recorded(desk: Desk, world: World, cut: int = 0) -> tuple[Session, Replays, list[Observation]]:
    """Ten looks, a second apart but for a minute in the middle."""
    file = desk.copy("collocated")
    session = replace(Session.open(str(file), PlanRequest()), file=file.name)
    moments = [*range(5), *range(64, 69)]
    pictures = [replace(world.simulated(session.plan, 5 + seconds), time=1e9 + seconds) for seconds in moments]
    path = desk.folder / "recording"
    with Recorder(path, whole_every=4) as recorder:
        for picture in pictures:
            recorder.write(picture)
    if cut:
        path.write_bytes(path.read_bytes()[:-cut])
    return session, Replays(Recording(path)), pictures


@asynccontextmanager
async def replaying(
    desk: Desk, world: World, session: Session | None, replays: Replays, size: tuple[int, int] = (140, 36)
) -> AsyncIterator[Seat]:
    options = replace(desk.options(), source_for=replays, picture=lambda: replays(None))
    app = Dashboard(session, options)
    app.animation_level = "none"
    async with app.run_test(size=size, notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: app.main is not None and app.main.picture.observation is not None, "the first picture")
        yield seat


async def at(seat: Seat, picture: Observation) -> None:
    await seat.until(lambda: seat.observation == replace(picture, source="replay"), "that picture")


async def test_action_step_on(desk: Desk, world: World) -> None:
    session, replays, pictures = recorded(desk, world)
    async with replaying(desk, world, session, replays) as seat:
        await seat.press("p")
        start = replays.latest.position.number if replays.latest else 0
        await seat.press("full_stop")
        await at(seat, pictures[start + 1])
        await seat.sees(f"replay {start + 2}/10 ", ", paused")


async def test_action_step_back(desk: Desk, world: World) -> None:
    session, replays, pictures = recorded(desk, world)
    async with replaying(desk, world, session, replays) as seat:
        await seat.press("full_stop", "full_stop", "comma")
        await seat.press(*["comma"] * 12)
        await at(seat, pictures[0])
        await seat.sees("replay 1/10 ", ", paused")


async def test_action_skip_on(desk: Desk, world: World) -> None:
    session, replays, pictures = recorded(desk, world)
    async with replaying(desk, world, session, replays) as seat:
        await seat.press("p", "right_curly_bracket")
        await at(seat, pictures[4])
        await seat.press("right_curly_bracket")
        await at(seat, pictures[5])


async def test_action_skip_back(desk: Desk, world: World) -> None:
    session, replays, pictures = recorded(desk, world)
    async with replaying(desk, world, session, replays) as seat:
        await seat.press("p", *["full_stop"] * 9, "left_curly_bracket")
        await at(seat, pictures[4])


async def test_action_seek(desk: Desk, world: World) -> None:
    session, replays, pictures = recorded(desk, world)
    async with replaying(desk, world, session, replays) as seat:
        await seat.press("p", "T")
        for character in "#7":
            await seat.press({"#": "number_sign"}.get(character, character))
        await seat.press("enter")
        await at(seat, pictures[6])
        await seat.press("T", "x", "enter")
        assert "x is no place in a recording" in seat.toasts[-1]
        assert seat.observation == replace(pictures[6], source="replay")
    async with desk.open("collocated", live=True) as seat:
        await seat.press("T")
        assert "no recording is open" in seat.toasts[-1]


async def test_a_recording_that_was_cut_off_says_so_where_it_stands(desk: Desk, world: World) -> None:
    session, replays, _ = recorded(desk, world, cut=9)
    async with replaying(desk, world, session, replays) as seat:
        await seat.sees("(cut off)", "replay ")
        assert any("the recording is cut off after" in toast for toast in seat.toasts)


async def test_a_recording_without_a_file_is_shown_as_it_is(desk: Desk, world: World) -> None:
    session, replays, _ = recorded(desk, world)
    async with replaying(desk, world, None, replays) as seat:
        await seat.sees("as it is", "replay ", "A actor", "R rollout")
        assert "ranks alive" in seat.status
        shown = seat.session.plan
        assert {name: one.world_size for name, one in shown.components.items()} == {
            name: one.world_size for name, one in session.plan.components.items()
        }
