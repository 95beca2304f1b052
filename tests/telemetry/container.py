"""A place to run processes and to read GPUs from: this machine, or a container with process numbers of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from placetui.runtime.watch.samplers import Reading
from tests.telemetry.standin import ROOT

HIDE = 'mount -t proc -o hidepid=$1 proc /proc && shift && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
"""In a shell: run a command as nobody, who cannot see the processes of others."""

UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]

INSIDE = """
import json, subprocess, sys
from functools import partial
from placetui.runtime.remote.sampler import PlacetuiSampler
from placetui.telemetry.node import NodeReader

started, sampler = {}, None

def start(title, number=0):
    if number:
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(number - 1))
    process = subprocess.Popen([title, "600"], executable=sys.argv[1])
    started[process.pid] = process
    return process.pid

def end(pid):
    process = started.pop(pid)
    process.kill()
    return process.wait()

def read(known):
    global sampler
    sampler = sampler or PlacetuiSampler(partial(NodeReader, 8, "RLINF_NODE_RANK"))
    return sampler.read("test", known, 3600.0)

for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = {"start": start, "end": end, "read": read}[name](*arguments)
    except OSError as problem:
        answer = {"failed": str(problem)}
    print(json.dumps(answer), flush=True)
for process in started.values():
    process.kill()
"""


class Surroundings:
    """Runs processes, and reads GPUs with a sampler that is there too."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, *request: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, title: str) -> int:
        """A process with this title; its number there."""
        return int(self.ask("start", title))

    def start_as(self, number: int, title: str) -> None:
        """The same, with a number that was given out before."""
        pid = self.ask("start", title, number)
        if pid != number:
            pytest.skip(f"numbers of processes cannot be chosen here: {pid}")

    def end(self, pid: int) -> None:
        self.ask("end", pid)

    def read(self, condition: Callable[[Reading], Any]) -> Reading:
        """What the sampler reads, once something is true of it."""
        deadline = time.monotonic() + 60
        while True:
            number, body = self.ask("read", 0)
            reading = Reading.of(number, body, 8) if body is not None else None
            if reading is not None and condition(reading):
                return reading
            assert time.monotonic() < deadline, reading
            time.sleep(0.1)

    def number_outside(self, pid: int) -> int:
        """What one of its processes is called on this machine."""
        return number_outside(self._process.pid, pid)


def number_outside(container: int, pid: int) -> int:
    """What a process is called on this machine; `container` is the `unshare` that it runs under."""
    namespace = _namespace(children_of(container)[0])
    for entry in filter(str.isdigit, os.listdir("/proc")):
        if _namespace(int(entry)) == namespace and _inner_number(int(entry)) == pid:
            return int(entry)
    raise AssertionError(f"no process is {pid} there")


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _namespace(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return 0


def _inner_number(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[-1]) for line in lines if line.startswith("NSpid:")), 0)


def need_containers() -> None:
    """Skip a test, aloud, where there can be none."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no `unshare` to make a container with")
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, timeout=30)
    if done.returncode:
        pytest.skip(f"no container can be made here: {done.stderr.strip()}")


def hidden(how: int) -> list[str]:
    """A command before another: as nobody, with `/proc` mounted as hidepid=1 or hidepid=2 do."""
    return ["unshare", "--mount", "sh", "-c", HIDE, "sh", str(how)]


def need_hiding(how: int) -> None:
    """Skip a test, aloud, where processes cannot be hidden, or nobody cannot use this Python."""
    command = [*hidden(how), sys.executable, "-c", "import placetui.observe.model, ray"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
    except OSError as problem:
        pytest.skip(f"no process can be hidden here: {problem}")
    if done.returncode:
        pytest.skip(f"no process can be hidden here: {(done.stderr.strip().splitlines() or ['?'])[-1]}")


@contextmanager
def surroundings(environment: Mapping[str, str], around: Sequence[str] = ()) -> Iterator[Surroundings]:
    """This machine, or a place on it that a command leads to."""
    sleep = shutil.which("sleep")
    assert sleep
    command = [*around, sys.executable, "-c", INSIDE, sleep]
    process = subprocess.Popen(command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Surroundings(process)
    finally:
        assert process.stdin
        process.stdin.close()
        process.wait(30)
        assert process.stdout
        process.stdout.close()
