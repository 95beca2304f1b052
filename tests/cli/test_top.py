"""`placetui top`: the GPUs of this node, once, as a stream and on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placetui import locations
from placetui.cli import main
from placetui.cli.commands.cluster.top import TextStyle, lines
from placetui.cli.commands.cluster.top import stream as stream_of
from placetui.cli.exits import Abort
from placetui.cli.feed import Feed
from placetui.cli.parser import parse
from placetui.observe.model import DeviceSample, NodeSample, Observation, ProcessSample
from placetui.observe.ports import Status
from tests.telemetry.standin import StandIn

GIB = 2**30
COMMAND = [sys.executable, "-m", "placetui", "top", "--no-ray"]

BUSY = """
count = 2
[gpu 0]
used = 1G
util = 93
temp = 61
power = 612
proc = 4000001 40G
[gpu 1]
fault = nvmlDeviceGetPowerUsage NOT_SUPPORTED
"""


def top(standin: StandIn, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**standin.environment, "PYTHONUTF8": "1", **variables}
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=60)


def test_once_prints_gpus_and_processes(standin: StandIn) -> None:
    standin.configure(BUSY)
    done = top(standin, "--once")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    head, titles, first, second, _, process_titles, process = done.stdout.splitlines()
    assert "2 GPUs" in head
    assert titles.split() == ["GPU", "name", "memory", "load", "temp", "power"]
    assert first.split() == "0 NVIDIA H100 80GB HBM3 ████████░░░░░░░░ 41.0/79.6 GiB 93% 61°C 612 W".split()
    assert second.endswith("n/a  power: not supported here")
    assert process_titles.split() == ["GPU", "pid", "user", "memory", "command"]
    assert process.split(maxsplit=5) == ["0", "4000001", "?", "40.0", "GiB", "not visible from here"]


def test_once_as_json_is_one_object(standin: StandIn) -> None:
    standin.configure(BUSY)
    done = top(standin, "--once", "--json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["source"] == "nvml"
    assert seen["drift"] == []
    (node,) = seen["nodes"]
    assert (node["stale"], node["error"], node["age"]) == (False, None, 0)
    busy, idle = node["devices"]
    assert (busy["memory_used"], busy["utilization"], busy["error"]) == (41 * GIB, 93, None)
    (process,) = busy["processes"]
    expected = {"pid": 4000001, "memory": 40 * GIB, "component": None, "rank": None, "job": None, "actor": None}
    assert process.items() >= {**expected, "kind": "foreign"}.items()
    assert (idle["power"], idle["error"]) == (None, "power: not supported here")


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_driver_is_a_sentence_and_exit_3(standin: StandIn, form: str) -> None:
    done = top(standin, "--once", *(["--json"] if form == "json" else []), LD_LIBRARY_PATH="")
    assert done.returncode == 3
    assert "there is no NVIDIA driver here" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    if form == "json":
        assert json.loads(done.stdout)["nodes"][0]["devices"] == []
    else:
        assert done.stdout == ""


def test_a_driver_that_crashes_its_readers_is_a_sentence_and_exit_3(
    standin: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standin.configure("crash = nvmlInit*\n")
    for name, value in standin.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("placetui.cli.commands.cluster.top.PATIENCE", 1.5)
    assert main(["top", "--no-ray", "--once"]) == 3
    assert "killed by SIGSEGV" in capsys.readouterr().err


def test_all_gpus_hanging_is_exit_3_and_one_is_not(standin: StandIn) -> None:
    standin.configure("hang = nvmlDeviceGetMemoryInfo*\n")
    done = top(standin, "--once")
    assert done.returncode == 3
    assert "no GPU answers" in done.stderr
    standin.configure("[gpu 3]\nhang = nvmlDeviceGetMemoryInfo*\n")
    done = top(standin, "--once")
    assert done.returncode == 0
    assert "stale" in done.stdout


def test_without_a_cluster_it_is_this_node_and_a_note_says_so(
    standin: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in standin.variables.items():
        monkeypatch.setenv(name, value)
    # Other clusters may run on this machine just now.
    monkeypatch.setattr("placetui.cli.cluster.RUNTIME", "tests.cli.no_cluster")
    assert main(["top", "--once", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == (
        "note: no Ray cluster was found on this machine: showing the GPUs of this machine (as with --no-ray)\n"
    )
    seen = json.loads(printed.out)
    assert (seen["source"], len(seen["nodes"])) == ("nvml", 1)


def test_a_cluster_that_cannot_be_reached_is_a_sentence_and_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        assert main(["top", "--once", "--address", address]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"placetui top: nothing listens at {address}\n  hint: ")


@pytest.fixture
def stream(standin: StandIn) -> Iterator[subprocess.Popen[str]]:
    standin.configure(BUSY)
    command = [*COMMAND, "--json", "--interval", "0.2"]
    process = subprocess.Popen(
        command, env=standin.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate(timeout=10)


def next_object(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout
    seen = json.loads(process.stdout.readline())
    assert isinstance(seen, dict)
    return seen


def test_a_stream_is_one_object_per_line_until_interrupted(stream: subprocess.Popen[str], standin: StandIn) -> None:
    first, second = next_object(stream), next_object(stream)
    assert second["time"] > first["time"]
    standin.configure(BUSY.replace("used = 1G", "used = 2G"))
    while next_object(stream)["nodes"][0]["devices"][0]["memory_used"] != 42 * GIB:
        pass
    stream.send_signal(signal.SIGINT)
    assert stream.wait(10) == 130
    assert stream.stderr
    assert "Traceback" not in stream.stderr.read()


def test_a_stream_goes_on_while_its_reader_of_gpus_is_down(stream: subprocess.Popen[str], standin: StandIn) -> None:
    next_object(stream)
    standin.configure("crash = nvmlDeviceGetMemoryInfo*\n")
    while not (node := next_object(stream)["nodes"][0])["stale"]:
        pass
    assert "SIGSEGV" in node["error"]
    assert len(node["devices"]) == 2
    standin.configure(BUSY)
    while next_object(stream)["nodes"][0]["stale"]:
        pass


def test_a_reader_that_has_gone_ends_the_stream_quietly(stream: subprocess.Popen[str]) -> None:
    next_object(stream)
    assert stream.stdout
    stream.stdout.close()
    assert stream.wait(10) == 0
    assert stream.stderr
    assert stream.stderr.read().count("Traceback") == 0
    stream.stdout = None


class Replay(Feed):
    """Observations one after the other, and then the end."""

    def __init__(self, *observations: Observation) -> None:
        self.status = Status("connected")
        self._rest = list(observations)

    def wait(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        self._now = self._rest.pop(0)
        if not self._rest:
            self.status = Status("failed", "it ended")
        return []

    def latest(self) -> Observation | None:
        return self._now


@pytest.mark.parametrize("form", ["text", "json"])
def test_events_are_lines(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    locations.config_dir().mkdir(parents=True)
    locations.config_file().write_text("alerts: {temperature_above: 80}\n", encoding="utf-8")
    node = NodeSample(0, "gpu-1", devices=(DeviceSample(0, temperature=60),))
    silent = replace(node, stale=True, error="no answer")
    hot = replace(node, devices=(DeviceSample(0, temperature=90),))
    feed = Replay(*(Observation(float(time), "ray", (one,)) for time, one in enumerate((node, silent, node, hot), 1)))
    args = parse(["top", "--events", *(["--json"] if form == "json" else [])])
    with pytest.raises(Abort, match="it ended"):
        stream_of(feed, None, args)
    first, second, third = capsys.readouterr().out.splitlines()
    if form == "json":
        told = json.loads(first)
        assert (told["time"], told["kind"], told["node"], told["rank"]) == (2.0, "node_stale", 0, None)
    else:
        assert re.fullmatch(r"\d\d:\d\d:02  node_stale       gpu-1 is stale: no answer", first)
        assert re.fullmatch(r"\d\d:\d\d:03  node_back        gpu-1 is back", second)
        assert third[10:].startswith("alert            ")


class Terminal:
    """A terminal with `placetui top` in it."""

    def __init__(self, environment: dict[str, str], columns: int = 100, rows: int = 30) -> None:
        self.descriptor, self._other = pty.openpty()
        fcntl.ioctl(self._other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self._other)
        self.process = subprocess.Popen(
            COMMAND,
            env={**environment, "TERM": "xterm-256color", "PYTHONUTF8": "1"},
            stdin=self._other,
            stdout=self._other,
            stderr=self._other,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.text = ""

    def until(self, text: str, seconds: float = 15.0) -> str:
        """What was printed, up to the first `text` from here on."""
        deadline = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < deadline, f"no {text!r} in {self.text!r}"
            if select.select([self.descriptor], [], [], 0.1)[0]:
                self.text += os.read(self.descriptor, 65536).decode("utf-8", "replace")
        before, _, self.text = self.text.partition(text)
        return before

    def press(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def ends_clean(self) -> int:
        """The exit code; the terminal is as it was."""
        self.until("\x1b[?25h\x1b[?1049l")
        code = self.process.wait(10)
        assert termios.tcgetattr(self._other) == self.before
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        os.close(self.descriptor)
        os.close(self._other)


@pytest.fixture
def terminal(standin: StandIn) -> Iterator[Terminal]:
    standin.configure(BUSY)
    terminal = Terminal(standin.environment)
    yield terminal
    terminal.close()


def test_on_a_terminal_it_refreshes_in_place_until_q(terminal: Terminal, standin: StandIn) -> None:
    terminal.until("\x1b[?1049h\x1b[?25l")
    terminal.until("41.0/79.6 GiB")
    terminal.until("q quits")
    standin.configure(BUSY.replace("used = 1G", "used = 2G"))
    terminal.until("\x1b[H")
    terminal.until("42.0/79.6 GiB")
    terminal.press(b"q")
    assert terminal.ends_clean() == 0


@pytest.mark.parametrize(("keys", "number", "code"), [(b"\x03", 0, 130), (b"", signal.SIGTERM, 143)])
def test_on_a_terminal_an_interrupt_leaves_it_clean(terminal: Terminal, keys: bytes, number: int, code: int) -> None:
    terminal.until("q quits")
    if keys:
        terminal.press(keys)
    else:
        terminal.process.send_signal(number)
    assert terminal.ends_clean() == code


def test_a_terminal_is_clean_while_it_is_stopped(terminal: Terminal) -> None:
    terminal.until("q quits")
    terminal.process.send_signal(signal.SIGTSTP)
    terminal.until("\x1b[?25h\x1b[?1049l")
    terminal.process.send_signal(signal.SIGCONT)
    terminal.until("\x1b[?1049h\x1b[?25l")
    terminal.until("41.0/79.6 GiB")
    terminal.press(b"q")
    assert terminal.ends_clean() == 0


def test_no_driver_on_a_terminal_is_shown_until_q(standin: StandIn) -> None:
    terminal = Terminal({**standin.environment, "LD_LIBRARY_PATH": ""})
    try:
        terminal.until("there is no NVIDIA driver here")
        terminal.press(b"q")
        assert terminal.ends_clean() == 0
    finally:
        terminal.close()


def test_nothing_from_outside_reaches_the_terminal_as_a_command(standin: StandIn) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J"
    process = ProcessSample(1, 2 * GIB, user=evil, command=f"python {evil} 漢字")
    device = DeviceSample(0, "GPU-1", f"H100 {evil}", GIB, 80 * GIB, 5, 30, 70, (process,), f"odd {evil}")
    seen = Observation(0.0, "nvml", (NodeSample(0, evil, error=evil, devices=(device,)),))
    for look in (TextStyle(), TextStyle(width=40), TextStyle(width=40, ascii=True)):
        printed = list(lines(seen, look))
        assert not any("\x1b" in line or "\x07" in line for line in printed)
        assert not look.ascii or all(line.isascii() for line in printed)


def test_lines_are_as_wide_as_the_terminal_at_most() -> None:
    from placetui.grid.look.text import cell_width

    process = ProcessSample(1, 2 * GIB, user="漢字", command="漢" * 80)
    device = DeviceSample(0, "GPU-1", "H100", GIB, 80 * GIB, 5, 30, 70, (process,))
    seen = Observation(0.0, "nvml", (NodeSample(0, "node", devices=(device,)),))
    for width in range(1, 120, 7):
        assert max(map(cell_width, lines(seen, TextStyle(width=width)))) <= width


def test_a_node_that_is_stale_says_how_old_it_is() -> None:
    node = NodeSample(0, "a", age=12.4, stale=True, error="no GPU answers", devices=(DeviceSample(0, memory_used=1),))
    assert "no GPU answers, values are 12 s old" in list(lines(Observation(0.0, "nvml", (node,)), TextStyle()))


def test_gpus_are_called_by_their_physical_ids() -> None:
    device = DeviceSample(0, "GPU-1", "H100", GIB, 80 * GIB, processes=(ProcessSample(41, GIB),), physical=7)
    printed = list(lines(Observation(0.0, "ray", (NodeSample(0, "a", devices=(device,)),)), TextStyle()))
    assert [line.split()[:2] for line in printed if "H100" in line or " 41 " in line] == [["7", "H100"], ["7", "41"]]


def test_the_log_of_a_quiet_run_is_not_left_behind(standin: StandIn, quiet_environment: Path) -> None:
    assert top(standin, "--once").returncode == 0
    assert list((quiet_environment / "state").rglob("*.log")) == []


def test_nodes_of_one_machine_are_told_apart() -> None:
    nodes = tuple(NodeSample(rank, "gpu-17", "10.0.0.17") for rank in range(2))
    printed = list(lines(Observation(0.0, "ray", nodes), TextStyle()))
    assert [line.rpartition("  ")[0] for line in printed if line] == [
        "node0 gpu-17 10.0.0.17",
        "node1 gpu-17 10.0.0.17",
    ]


def test_what_is_wrong_with_all_gpus_is_said_once() -> None:
    devices = tuple(DeviceSample(index, error="the driver is not loaded") for index in range(2))
    node = NodeSample(0, "gpu-17", devices=devices)
    printed = "\n".join(lines(Observation(0.0, "ray", (node,)), TextStyle()))
    assert printed.count("the driver is not loaded") == 1
    other = replace(node, devices=(devices[0], replace(devices[1], error="the GPU is lost")))
    printed = "\n".join(lines(Observation(0.0, "ray", (other,)), TextStyle()))
    assert "the driver is not loaded" in printed
    assert "the GPU is lost" in printed


def test_a_node_that_is_about_to_go_says_so() -> None:
    node = NodeSample(0, "gpu-17", state="draining", reason="preempted")
    (line,) = lines(Observation(0.0, "ray", (node,)), TextStyle())
    assert line.startswith("gpu-17  draining: preempted  ")
