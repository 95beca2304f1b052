"""Recordings: what was written is read again, and of a damaged file what is whole."""

from __future__ import annotations

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placetui.observe.model import Observation
from placetui.observe.ports import Status
from placetui.observe.recording import writer
from placetui.observe.recording.reader import Recording, RecordingError
from placetui.observe.recording.writer import Recorder, RecordingSubscriber
from placetui.observe.simulation import LayoutComponent, LayoutNode, SimulatedLayout, Simulation, SimulationOptions

LAYOUT = SimulatedLayout(
    tuple(LayoutNode(f"node{rank}", f"10.0.0.{rank}", 4) for rank in range(3)),
    (LayoutComponent("actor", "train", tuple((node, (gpu,)) for node in range(3) for gpu in range(4))),),
)


def observations(count: int, seed: int = 0) -> list[Observation]:
    simulation = Simulation(LAYOUT, SimulationOptions(seed=seed, rank_dies_every=3.0, node_stale_every=4.0))
    return [simulation.step(1_700_000_000.0 + number) for number in range(count)]


MANY = observations(25)


def record(path: Path, seen: list[Observation], whole_every: int = 10) -> Path:
    with Recorder(path, whole_every=whole_every) as recorder:
        for one in seen:
            recorder.write(one)
    return path


@cache
def recorded_bytes() -> bytes:
    """The same each time, which the time at the head of a recording is not."""
    with TemporaryDirectory() as folder:
        return record(Path(folder) / "r", MANY).read_bytes()


def test_everything_comes_back_in_order(tmp_path: Path) -> None:
    read = Recording(record(tmp_path / "r", MANY))
    assert list(read) == MANY
    assert read.problem is None


def test_it_is_compressed_json_lines_with_a_schema(tmp_path: Path) -> None:
    path = record(tmp_path / "r", MANY)
    header, first, second, *rest = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    assert (header["format"], header["schema"]) == ("placetui recording", 1)
    assert (list(first), list(second)) == (["time", "whole"], ["time", "change"])
    assert sum("whole" in line for line in [first, second, *rest]) == 3


def test_only_its_owner_can_read_it_and_nothing_is_overwritten(tmp_path: Path) -> None:
    path = record(tmp_path / "r", MANY[:1])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        Recorder(path)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        Recorder(tmp_path / "link")


def test_jumps_give_the_same_as_reading_on(tmp_path: Path) -> None:
    read = Recording(record(tmp_path / "r", MANY))
    read.scan()
    assert read.times == [one.time for one in MANY]
    for number in (24, 0, 9, 10, 11, 23, 3, 3, 4):
        assert read.observation(number) == MANY[number]
    assert [read.number_at(moment) for moment in (0.0, MANY[7].time, MANY[7].time + 0.5, 9e9)] == [0, 7, 7, 24]
    with pytest.raises(RecordingError):
        read.observation(25)


def test_a_clock_that_was_set_back_does_not_confuse(tmp_path: Path) -> None:
    seen = [MANY[5], replace(MANY[6], time=1.0), MANY[7]]
    read = Recording(record(tmp_path / "r", seen))
    read.scan()
    assert read.times == [MANY[5].time, MANY[5].time, MANY[7].time]
    assert list(read) == seen


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_cut_off_plays_to_where_it_ends(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path, content = Path(folder) / "r", recorded_bytes()
        kept = data.draw(st.integers(1, len(content) - 1))
        path.write_bytes(content[:kept])
        try:
            read = Recording(path)
        except RecordingError:
            assert kept < 200  # not even its first line is there
            return
        played = list(read)
        assert played == MANY[: len(played)]
        assert len(played) < len(MANY) or read.problem
        if len(played) % 10:
            assert read.problem == f"cut off after {len(played)} observation{'s' if len(played) != 1 else ''}"


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_is_damaged_plays_to_where_it_is_whole(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path, content = Path(folder) / "r", bytearray(recorded_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        try:
            read, scanned = Recording(path), Recording(path)
        except RecordingError:
            assert place < 200
            return
        played = list(read)
        assert played == MANY[: len(played)]
        # Some bytes of a gzip header mean nothing.
        assert len(played) == len(MANY) or read.problem
        scanned.scan()
        assert len(scanned.times) == len(played)
        assert scanned.problem == read.problem


@pytest.mark.parametrize(
    "content", [b"", b"hello", gzip.compress(b"hello\n", mtime=0), gzip.compress(b"[1]\n", mtime=0), bytes(100)]
)
def test_another_file_is_no_recording(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="not a recording"):
        Recording(path)


def test_a_later_schema_and_a_missing_file_are_said(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_bytes(gzip.compress(json.dumps({"format": "placetui recording", "schema": 2}).encode() + b"\n"))
    with pytest.raises(RecordingError, match="written with schema 2, this version reads 1"):
        Recording(path)
    with pytest.raises(RecordingError, match="there is no file"):
        Recording(tmp_path / "nowhere")


@pytest.mark.parametrize("moment", ["1e999", "-5.0", "1e300"])
def test_a_time_that_no_calendar_has_is_damage(tmp_path: Path, moment: str) -> None:
    with gzip.open(tmp_path / "r", "wt") as file:
        file.write(json.dumps({"format": "placetui recording", "schema": 1}) + "\n")
    with gzip.open(tmp_path / "r", "at") as file:
        file.write(f'{{"time":{moment},"whole":{{}}}}\n')
    recording = Recording(tmp_path / "r")
    assert list(recording) == []
    assert recording.problem == "damaged after 0 observations: a line is of no time"


def test_a_large_cluster_is_written_in_parts_that_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LARGEST_MEMBER", 4000)
    path = record(tmp_path / "r", MANY)
    lines = gzip.decompress(path.read_bytes()).splitlines()
    assert sum(b'"whole"' in line for line in lines) > 5
    assert list(Recording(path)) == MANY


KILLED = """
import os, signal, sys
from tests.observe.test_recording import MANY
from placetui.observe.recording.writer import Recorder
now = 0.0
recorder = Recorder(sys.argv[1], clock=lambda: now)
for one in MANY:
    recorder.write(one)
    now += 1.0
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_recorder_that_is_killed_loses_a_few_seconds(tmp_path: Path) -> None:
    path = tmp_path / "r"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", KILLED, path], cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    assert done.returncode == -signal.SIGKILL
    read = Recording(path)
    played = list(read)
    assert played == MANY[: len(played)]
    assert len(played) >= len(MANY) - 3
    assert read.problem == f"cut off after {len(played)} observations"


class Looker:
    """One who looks."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.said: list[Status] = []

    def updated(self, update: Observation) -> None:
        self.seen.append(update)

    def status_changed(self, status: Status) -> None:
        self.said.append(status)


def test_recording_passes_everything_on(tmp_path: Path) -> None:
    looker = Looker()
    recorded = RecordingSubscriber(looker, Recorder(tmp_path / "r"))
    recorded.status_changed(Status("connected"))
    recorded.updated(Observation(0.0, "nvml"))
    for one in MANY[:3]:
        recorded.updated(one)
    recorded.close()
    assert looker.said == [Status("connected")]
    assert looker.seen[1:] == MANY[:3]
    assert list(Recording(tmp_path / "r")) == MANY[:3]


def test_a_full_disk_is_said_once_and_looking_goes_on() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    looker = Looker()
    with TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "r")
        os.dup2(os.open("/dev/full", os.O_WRONLY), recorder._file.fileno())
        recorded = RecordingSubscriber(looker, recorder)
        for one in observations(400):
            recorded.updated(one)
        recorded.close()
    assert len(looker.seen) == 400
    assert len(looker.said) <= 1
    assert recorded.problem is not None
    assert "No space left" in recorded.problem
