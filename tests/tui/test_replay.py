"""The dashboard over a recording, and the marks of drift in its grid."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placetui.document import Wishes
from placetui.observe.model import ProcessSample
from placetui.observe.playback import Recording
from placetui.observe.recording import Recorder
from placetui.observe.replay import Replays
from placetui.tui.app import Dashboard
from placetui.tui.live import ObservationOverlay
from placetui.tui.session import Session

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, World

GIB = 1 << 30


async def test_a_recording_is_shown_and_stepped_through(desk: Desk, world: World) -> None:
    file = desk.copy("collocated")
    session = replace(Session.open(str(file), Wishes()), file=file.name)
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
        await seat.until(lambda: app.main is not None and app.main.observation is not None, "the first picture")
        await seat.sees("replay, every 1 s")
        assert any("the recording is cut off after" in toast for toast in seat.toasts)
        source = replays.latest
        assert source is not None
        source.step(-100)
        source.step(4)
        await seat.until(lambda: seat.main.observation == replace(pictures[4], source="replay"), "the fifth picture")
        assert source.paused


def test_a_device_with_drift_is_marked(desk: Desk, world: World) -> None:
    plan = Session.open(str(desk.copy("collocated")), Wishes()).plan
    seen = world.simulated(plan, 20)
    calm = ObservationOverlay(plan, seen)
    live = calm.device(0, 1)
    assert live is not None
    assert not live.alert
    device = seen.nodes[0].devices[1]
    foreign = ProcessSample(4242, GIB, command="python mine.py")
    odd = world.with_device(seen, 0, 1, processes=(*device.processes, foreign))
    overlay = ObservationOverlay(plan, odd).after(calm)
    marked = {
        (node.rank, index)
        for node in plan.nodes
        for index in range(node.gpus)
        if (live := overlay.device(node.rank, index)) is not None and live.alert
    }
    assert marked == {(0, 1)}
    assert [one.kind for one in overlay.drift] == ["foreign_process"]


def test_a_device_that_is_not_there_is_marked_and_a_dead_rank_has_its_own_sign(desk: Desk, world: World) -> None:
    plan = Session.open(str(desk.copy("collocated")), Wishes()).plan
    seen = world.simulated(plan, 20)
    node = seen.nodes[0]
    fewer = replace(seen, nodes=(replace(node, devices=node.devices[:-1]), *seen.nodes[1:]))
    live = ObservationOverlay(plan, fewer).device(0, len(node.devices) - 1)
    assert live is not None
    assert live.alert
    dead = ObservationOverlay(plan, world.with_rank(seen, "actor", 0, state="dead")).device(0, 0)
    assert dead is not None
    assert (dead.state, dead.alert) == ("dead", False)
