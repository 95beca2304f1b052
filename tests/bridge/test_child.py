"""The child process by itself, spoken to over its pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from placetui.bridge.messages import PROTOCOL
from placetui.bridge.process import child_command
from placetui.observe.simulation import SimulatedLayout
from tests.bridge.conftest import PATIENCE


class Talk:
    """One child, and the lines it writes."""

    def __init__(self, command: list[str], log: Path) -> None:
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self._stdout = self.process.stdin, self.process.stdout

    def say(self, **message: Any) -> None:
        self.say_line(json.dumps(message).encode())

    def say_line(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def hear(self, kind: str) -> dict[str, Any]:
        """The next message of that type."""
        while line := self._stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message["type"] == kind:
                return message
        raise AssertionError(f"the child ended before it said {kind}")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.stdin.close()
        self._stdout.close()


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    talks: list[Talk] = []

    def begin(command: list[str] | None = None) -> Talk:
        talks.append(Talk(command or child_command(), tmp_path / "log"))
        return talks[-1]

    yield begin
    for one in talks:
        # A pipe that is broken may not be flushed.
        try:
            one.end()
        except BrokenPipeError:
            continue


def test_it_says_hello_first(talk: Callable[..., Talk]) -> None:
    child = talk()
    assert child.hear("hello") == {"type": "hello", "protocol": PROTOCOL, "pid": child.process.pid}


def test_it_streams_what_it_simulates(talk: Callable[..., Talk], layout: SimulatedLayout) -> None:
    child = talk()
    options = {"layout": layout.to_dict(), "options": {"seed": 3}}
    child.say(type="start", id=7, service="simulation", options=options, seconds=0.05)
    assert child.hear("reply") == {"type": "reply", "id": 7}
    sequences = [child.hear("observation")["sequence"] for _ in range(3)]
    assert sequences == [0, 1, 2]


def test_it_refuses_with_a_reason(talk: Callable[..., Talk], layout: SimulatedLayout) -> None:
    child = talk()
    good = {"service": "simulation", "options": {"layout": layout.to_dict()}, "seconds": 1.0}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"service": "weather"}, "no service weather"),
        ({"options": {"layout": {}}}, "not a layout"),
        ({"seconds": "fast"}, "seconds is 'fast'"),
        ({"seconds": 0.0}, "0.01 to 3600"),
        ({"type": "dance"}, "dance is not a request"),
    ]
    for number, (change, reason) in enumerate(wrong, 1):
        child.say(**{"type": "start", "id": number, **good, **change})
        assert reason in child.hear("reply")["error"]


def test_a_request_that_is_none_is_reported_and_the_next_is_answered(talk: Callable[..., Talk]) -> None:
    child = talk()
    child.say_line(b"\xff garbage")
    assert "not JSON" in child.hear("error")["message"]
    child.say(type="stop")
    assert "id is None" in child.hear("error")["message"]
    child.say(type="cancel", request=[])
    child.say(type="stop", id=1)
    assert child.hear("reply")["id"] == 1


def test_a_request_that_was_cancelled_in_time_is_not_begun(talk: Callable[..., Talk], layout: SimulatedLayout) -> None:
    child = talk()
    child.hear("hello")
    child.say(type="cancel", request=5)
    child.say(type="start", id=5, service="simulation", options={"layout": layout.to_dict()}, seconds=0.01)
    assert child.hear("reply") == {"type": "reply", "id": 5, "error": "cancelled"}
    child.say(type="shutdown", id=6)
    with pytest.raises(AssertionError, match="ended before"):
        child.hear("observation")


def test_shutdown_is_answered_and_obeyed(talk: Callable[..., Talk]) -> None:
    child = talk()
    child.say(type="shutdown", id=1)
    assert child.hear("reply")["id"] == 1
    assert child.process.wait(5) == 0


def test_an_interrupt_from_the_keyboard_is_not_for_it_but_being_terminated_is(talk: Callable[..., Talk]) -> None:
    child = talk()
    child.hear("hello")
    child.process.send_signal(signal.SIGINT)
    child.say(type="stop", id=1)
    assert child.hear("reply")["id"] == 1
    child.process.send_signal(signal.SIGTERM)
    assert child.process.wait(5) == 0


BUSY = """
from placetui.bridge.child import run

class Busy:
    def __init__(self, options):
        self.how = options["how"]

    def observe(self, deadline):
        while self.how == "computing":
            pass
        time.sleep(600)

run({"busy": Busy})
"""


@pytest.mark.parametrize("how", ["computing", "waiting"])
def test_the_end_of_the_pipe_ends_it_whatever_it_is_busy_with(
    talk: Callable[..., Talk], script: Callable[[str], list[str]], how: str
) -> None:
    child = talk(script(BUSY))
    child.say(type="start", id=1, service="busy", options={"how": how}, seconds=0.01)
    child.hear("reply")
    child.stdin.close()
    # By itself it would go on for ten minutes, or forever.
    child.process.wait(PATIENCE)


def test_it_goes_when_its_parent_is_killed(
    tmp_path: Path, script: Callable[[str], list[str]], gone: Callable[[int, float], None]
) -> None:
    parent_text = """
        import subprocess, sys
        child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        child.stdin.write(b'{"type": "start", "id": 1, "service": "busy", "options": {"how": "computing"}, '
                          b'"seconds": 0.01}\\n')
        child.stdin.flush()
        child.stdout.readline(), child.stdout.readline()
        print(child.pid, flush=True)
        child.wait()
    """
    parent_file = tmp_path / "parent.py"
    parent_file.write_text(textwrap.dedent(parent_text))
    with subprocess.Popen([sys.executable, str(parent_file), *script(BUSY)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.kill()
    gone(pid, PATIENCE)


def test_what_is_printed_goes_to_the_log_and_not_into_the_stream(
    talk: Callable[..., Talk], script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    child = talk(
        script(
            """
import os, subprocess, sys
from placetui.bridge.child import run
from placetui.observe.model import Observation

class Loud:
    def __init__(self, options):
        print("printed", flush=True)
        os.write(1, b"written to descriptor 1\\n")
        subprocess.run([sys.executable, "-c", "print('from a grandchild')"], check=True)
        print("not flushed")

    def observe(self, deadline):
        print("again", flush=True)
        return Observation(1.0, "nvml")

run({"loud": Loud})
"""
        )
    )
    child.say(type="start", id=1, service="loud", options={}, seconds=0.01)
    for _ in range(3):
        child.hear("observation")
    child.say(type="shutdown", id=2)
    child.process.wait(5)
    log = (tmp_path / "log").read_text()
    assert all(text in log for text in ("printed", "descriptor 1", "grandchild", "not flushed", "again"))
