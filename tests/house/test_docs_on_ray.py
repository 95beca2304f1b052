"""The commands of the documentation that need a cluster or a terminal, as a reader runs them.

In the documents' order, at a terminal, on a real cluster of one node with four GPUs. Questions are answered, and what
runs until somebody ends it is ended once it is there.

The other commands are run by `test_docs_commands.py`, the programs of python.md by `tests/runtime/test_programs.py`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.documents import blocks, command_of, lines, words
from tests.house.test_docs_commands import ELSEWHERE, can_run
from tests.runtime.conftest import TestCluster, node, running_cluster
from tests.telemetry.standin import StandIn

pytestmark = [pytest.mark.ray, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
GPUS = 4
PATIENCE = 180.0
"""Seconds that a command may take on a busy machine."""

SOMEBODY = "10.0.0.1:6379"
"""The address that the documents speak of."""

# The samples, small enough for this cluster. What actors run says something that `logs` can show.
PLAN = f"""\
cluster: {{num_nodes: 1, component_placement: {{actor: 0-{GPUS - 1}, rollout: 0-1}}}}
placetui:
  topology: {{nodes: 1, gpus_per_node: {GPUS}}}
"""
WORKERS = '  launch: {actor: {worker: "speaker:Speaker"}}\n'
SPEAKER = """
class Speaker:
    def __init__(self, rank):
        print(f"rank {rank} is here", flush=True)

    def save(self):
        return "saved"
"""


@dataclass(frozen=True)
class Cue:
    """What a reader waits for, and then does; a signal, or keys."""

    words: bytes
    answer: signal.Signals | bytes
    code: int = 0


def cue_of(line: str) -> Cue | None:
    """None for a command that ends by itself."""
    found, command = words(line), command_of(line)
    if command == "up" and "local" in found:
        return Cue(b"Ctrl-C stops", signal.SIGINT)
    if command in ("up", "down") and not {"--yes", "--dry-run"} & {*found}:
        return Cue(b"[y/N]", b"y\n")
    if command == "logs" and "-f" in found:
        return Cue(b"is here", signal.SIGINT, 130)
    if command == "top" and "--events" in found:
        return Cue(b"watching", signal.SIGINT, 130)
    if command == "top" and "--once" not in found:
        return Cue(b'"devices"', signal.SIGINT, 130) if "--json" in found else Cue(b"GPU", b"q")
    return None if command else Cue(b"keys", b"q")


class Reader:
    """Somebody at a terminal, in a folder with the files that the documents speak of."""

    def __init__(self, cluster: TestCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        program = folder / "bin" / "placetui"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m placetui "$@"\n')
        program.chmod(0o755)
        self.environment = cluster.environment(
            PATH=os.pathsep.join([str(program.parent), os.environ["PATH"]]),
            PYTHONPATH=os.pathsep.join([str(ROOT), str(folder)]),
            RAY_ADDRESS=cluster.address,
            TERM="xterm-256color",
            LC_ALL="C.UTF-8",
        )

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def run(self, line: str) -> str:
        """Run a line to its end; what it said."""
        cue = cue_of(line) if words(line)[0] == "placetui" else None
        code, waiting = (cue.code, True) if cue else (0, False)
        line = line.replace(".venv/bin/", "").replace(SOMEBODY, self.cluster.address)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
        process = subprocess.Popen(
            ["bash", "-c", f"exec {line}"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self.folder,
            env=self.environment,
            start_new_session=True,
        )
        os.close(slave)
        said, deadline = b"", time.monotonic() + PATIENCE
        try:
            while True:
                try:
                    readable = select.select([master], [], [], 0.1)[0]
                    data = os.read(master, 65536) if readable else None
                except OSError:  # nobody has the terminal open any more
                    break
                said += data or b""
                if cue and waiting and cue.words in said:
                    waiting = False
                    if isinstance(cue.answer, bytes):
                        os.write(master, cue.answer)
                    else:
                        process.send_signal(cue.answer)
                if data == b"" or (data is None and process.poll() is not None):
                    break
                assert time.monotonic() < deadline, f"{line}: does not end\n{said.decode()}"
            assert process.wait(PATIENCE) == code, f"{line}\n{said.decode()}"
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            os.close(master)
        assert not waiting, f"{line}: it never came to that\n{said.decode()}"
        assert b"Traceback" not in said, said.decode()
        return said.decode()

    def read(self, document: str) -> dict[str, str]:
        """Run what can be run nowhere else, and what makes files for it; by line, what it said."""
        said = {}
        for line in (line for _, block in blocks("sh", [ROOT / document]) for line in lines(block)):
            if words(line)[0] in ELSEWHERE or (words(line)[0] == "placetui" and can_run(line)):
                continue
            # A block may list several ways to start the same job.
            if command_of(line) == "up" and "--dry-run" not in words(line):
                self.cluster.clean_up()
            said[line.partition("#")[0].strip()] = self.run(line)
        return said


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """A shell that starts the tests in the background has them, and all they start, ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def driver(standin_library: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    made = StandIn(standin_library, tmp_path_factory.mktemp("gpus"))
    made.configure(f"count = {GPUS}\n")
    return made


@pytest.fixture(scope="module")
def cluster(driver: StandIn) -> Iterator[TestCluster]:
    with running_cluster([node(GPUS, env_vars=driver.variables)]) as started:
        yield started


@pytest.fixture
def reader(cluster: TestCluster, tmp_path: Path) -> Iterator[Reader]:
    yield Reader(cluster, tmp_path)
    cluster.clean_up()


def test_readme(reader: Reader) -> None:
    reader.write("sample_configs/collocated.yaml", PLAN)
    said = reader.read("README.md")
    assert (
        f"job collocated: {GPUS + 2} ranks alive" in said["placetui up sample_configs/collocated.yaml --address local"]
    )
    assert "placetui --demo" in said


def test_tutorial(reader: Reader) -> None:
    reader.write("sample_configs/collocated.yaml", PLAN)
    said = reader.read("docs/tutorial.md")
    assert "(expected)" in said["placetui up conf.yaml --dry-run"]
    assert "running" in said["placetui ps"]
    assert f"conf stopped: {GPUS + 2} actors ended" in said["placetui down conf"]
    assert not reader.cluster.jobs()


def test_launching(reader: Reader) -> None:
    reader.write("conf.yaml", PLAN + WORKERS)
    reader.write("speaker.py", SPEAKER)
    said = reader.read("docs/launching.md")
    assert "speaker:Speaker" in said["placetui up conf.yaml"]
    assert '"step": "ready"' in said["placetui up conf.yaml --yes --json"]
    assert said["placetui call conf actor save"].count("saved") == GPUS
    assert "rank 3 is here" in said["placetui logs conf actor:3 -f"]
    assert not reader.cluster.jobs()


def test_watching(reader: Reader, driver: StandIn) -> None:
    reader.write("FILE", PLAN)
    reader.run("placetui up FILE --yes")
    driver.configure(f"count = {GPUS}\n[gpu 1]\nused = 3G\n")
    said = reader.read("docs/watching.md")
    assert "3.0/" in said["placetui top --once"]
    assert "no drift from FILE" in said["placetui top FILE --once"]
    assert (reader.folder / "F").stat().st_size
