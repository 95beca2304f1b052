"""Replay: a recording is played like a cluster that is there, and can be stepped through."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placetui.observe.model import Observation
from placetui.observe.ports import ClusterSource, Status
from placetui.observe.recording.reader import Recording
from placetui.observe.recording.replay import Replays, ReplaySource, pace_of
from placetui.observe.recording.writer import Recorder
from placetui.observe.simulation import Simulation, SimulationOptions
from tests.observe.test_recording import LAYOUT

START = 1_700_000_000.0


class Looker:
    """Collects what comes, and waits for it."""

    def __init__(self) -> None:
        self.updates: list[Observation] = []
        self.said: list[Status] = []
        self._news = threading.Condition()

    def updated(self, update: Observation) -> None:
        with self._news:
            self.updates.append(update)
            self._news.notify_all()

    def status_changed(self, status: Status) -> None:
        with self._news:
            self.said.append(status)
            self._news.notify_all()

    def until(self, condition: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(condition, 20), (self.numbers, self.said)

    @property
    def numbers(self) -> list[int]:
        return [round(update.time - START) for update in self.updates]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    simulation = Simulation(LAYOUT, SimulationOptions())
    with Recorder(tmp_path / "r", whole_every=7) as recorder:
        for number in range(20):
            recorder.write(simulation.step(START + number))
    return tmp_path / "r"


@pytest.fixture
def looker() -> Looker:
    return Looker()


@pytest.fixture
def paused(path: Path, looker: Looker) -> Iterator[ReplaySource]:
    source = ReplaySource(Recording(path), paused=True)
    source.start(looker)
    looker.until(lambda: looker.numbers == [0])
    yield source
    source.close()


def test_it_plays_to_the_end_and_says_so(path: Path, looker: Looker) -> None:
    source: ClusterSource = ReplaySource(Recording(path), interval=0.002)
    source.start(looker)
    looker.until(lambda: looker.said[-1:] == [Status("connected", "the end of the recording")])
    assert looker.numbers == list(range(20))
    assert {update.source for update in looker.updates} == {"replay"}
    source.close()


def test_it_steps_forwards_and_back(paused: ReplaySource, looker: Looker) -> None:
    paused.step()
    looker.until(lambda: looker.numbers[-1] == 1)
    paused.step(10)
    looker.until(lambda: looker.numbers[-1] == 11)
    assert (paused.position.number, paused.position.count, paused.position.time) == (11, 20, START + 11)
    paused.step(-1)
    looker.until(lambda: looker.numbers[-1] == 10)
    paused.step(-100)
    looker.until(lambda: looker.numbers[-1] == 0)
    paused.step(100)
    looker.until(lambda: looker.numbers[-1] == 19)
    assert (paused.position.number, paused.position.count) == (19, 20)


def test_it_seeks_by_time_and_skips(paused: ReplaySource, looker: Looker) -> None:
    paused.seek(START + 13.4)
    looker.until(lambda: looker.numbers[-1] == 13)
    paused.skip(-5)
    looker.until(lambda: looker.numbers[-1] == 8)
    assert paused.paused


def test_a_step_rests_and_going_on_goes_on(paused: ReplaySource, looker: Looker) -> None:
    paused.set_paused(False)
    paused.step()
    looker.until(lambda: looker.numbers[-1] == 1)
    assert paused.paused
    paused.set_interval(0.001)
    paused.set_paused(False)
    looker.until(lambda: looker.numbers[-1] == 19)
    # From its end one can go back, and it goes on from there.
    paused.seek(START)
    looker.until(lambda: looker.numbers.count(5) == 2)


def test_nothing_comes_after_closing(paused: ReplaySource, looker: Looker) -> None:
    paused.close()
    paused.step()
    paused.seek(START + 5)
    assert looker.numbers == [0]


def test_a_subscriber_may_close_it(path: Path) -> None:
    class Closing(Looker):
        def updated(self, update: Observation) -> None:
            super().updated(update)
            source.close()

    looker = Closing()
    source = ReplaySource(Recording(path), interval=0.001)
    source.start(looker)
    looker.until(lambda: looker.numbers == [0])


def test_a_damaged_recording_says_to_where_it_plays(path: Path, looker: Looker) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 40])
    source = ReplaySource(Recording(path), interval=0.001)
    source.start(looker)
    looker.until(lambda: any("it plays to" in status.message for status in looker.said))
    source.close()
    assert "the recording is cut off after" in looker.said[1].message


def test_an_empty_recording_fails_with_a_sentence(tmp_path: Path, looker: Looker) -> None:
    Recorder(tmp_path / "empty").close()
    ReplaySource(Recording(tmp_path / "empty")).start(looker)
    looker.until(lambda: looker.said[-1:] == [Status("failed", f"{tmp_path / 'empty'}: nothing was recorded")])


def test_another_plan_goes_on_where_the_last_one_was(path: Path, looker: Looker) -> None:
    replays = Replays(Recording(path))
    first = replays(None)
    first.set_paused(True)
    first.start(looker)
    looker.until(lambda: looker.numbers == [0])
    first.step(6)
    looker.until(lambda: looker.numbers[-1] == 6)
    first.close()
    second, later = replays(None), Looker()
    assert second.paused
    second.start(later)
    later.until(lambda: later.numbers == [6])
    second.close()


def test_the_pace_is_that_of_the_recording() -> None:
    assert pace_of([0.0, 5.0, 10.0, 500.0]) == 5.0
    assert pace_of([3.0]) == 1.0
    assert pace_of([3.0, 3.0]) > 0


def test_a_recording_that_was_removed_meanwhile_fails_with_a_sentence(path: Path, looker: Looker) -> None:
    recording = Recording(path)
    path.unlink()
    ReplaySource(recording).start(looker)
    looker.until(lambda: looker.said[-1].link == "failed")
    assert "damaged after 0 observations" in looker.said[-1].message


def test_a_source_that_was_never_started_keeps_its_place(path: Path) -> None:
    recording = Recording(path)
    assert ReplaySource(recording, start=6).position.number == 6
