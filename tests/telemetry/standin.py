"""The stand-in for NVIDIA's library: builds it, steers it, and counts the calls it gets.

It is never loaded into the process of the tests, where others would find it too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).with_name("standin.c")
ROOT = SOURCE.parents[2]
LIBRARY = "libnvidia-ml.so.1"
NEWEST = 580

READER = """
import dataclasses, json, sys, time
from placetui.telemetry.sampler import NodeSampler
passed = 0.0
sampler = NodeSampler(clock=lambda: time.monotonic() + passed)
for line in sys.stdin:
    patience, later = map(float, line.split())
    passed += later
    began = time.monotonic()
    node = sampler.read(patience)
    print(json.dumps([time.monotonic() - began, node and dataclasses.asdict(node)]), flush=True)
"""


def build(directory: Path, driver: int = NEWEST) -> Path:
    """Compile it as a driver of that age would have it; the directory to look in for the library."""
    target = directory / f"driver{driver}"
    target.mkdir(parents=True, exist_ok=True)
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden", f"-DDRIVER={driver}"]
    command = ["gcc", *flags, f"-Wl,-soname,{LIBRARY}", "-o", str(target / LIBRARY), str(SOURCE), "-lpthread"]
    subprocess.run(command, check=True, timeout=60)
    return target


@dataclass
class StandIn:
    """One node's driver and GPUs."""

    build: Callable[[int], Path]
    directory: Path
    driver: int = NEWEST

    def configure(self, text: str = "") -> None:
        """What the file says from now on; readers never see half of it."""
        new = self.directory / "new.conf"
        new.write_text(text, encoding="utf-8")
        new.replace(self.directory / "node.conf")

    @property
    def variables(self) -> dict[str, str]:
        """What a process that is to find it needs in its environment."""
        return {
            "LD_LIBRARY_PATH": str(self.build(self.driver)),
            "NVML_STANDIN": str(self.directory / "node.conf"),
            "NVML_STANDIN_TRACE": str(self.directory / "trace"),
        }

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.variables, "PYTHONPATH": str(ROOT)}

    def calls(self) -> Counter[str]:
        """Calls so far, by function."""
        trace = self.directory / "trace"
        return Counter(line.split()[2] for line in trace.read_text().splitlines()) if trace.exists() else Counter()

    def reader(self) -> Reader:
        """A process that reads this node."""
        return Reader(self.environment)


class Reader:
    """A `NodeSampler` in a process of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", READER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.seconds = 0.0
        """Time of the last `look`, as the one who waits for it sees it."""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=10)

    def look(self, patience: float = 0.25, later: float = 0.0) -> dict[str, Any] | None:
        """What the sampler knows; for it, so many seconds have passed besides the real ones."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{patience} {later}\n")
        self._process.stdin.flush()
        self.seconds, node = json.loads(self._process.stdout.readline())
        assert node is None or isinstance(node, dict)
        return node

    def read(self, patience: float = 5.0, later: float = 0.0) -> dict[str, Any]:
        """The same, where something must be known."""
        node = self.look(patience, later)
        assert node is not None
        return node

    def tick(self) -> dict[str, Any]:
        """What is known a second later, with the patience of every day."""
        return self.read(0.25, later=1.0)

    def device(self, index: int = 0) -> dict[str, Any]:
        device = self.read()["devices"][index]
        assert isinstance(device, dict)
        return device


@pytest.fixture(scope="session")
def standin_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Builds the library once for each age of driver."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc to build the stand-in for NVML with")
    directory = tmp_path_factory.mktemp("nvml")
    built: dict[int, Path] = {}

    def get(driver: int) -> Path:
        if driver not in built:
            built[driver] = build(directory, driver)
        return built[driver]

    return get


@pytest.fixture
def standin(standin_library: Callable[[int], Path], tmp_path: Path) -> Iterator[StandIn]:
    """A node with eight idle H100, until it is told otherwise."""
    directory = tmp_path / "node"
    directory.mkdir()
    node = StandIn(standin_library, directory)
    node.configure()
    yield node
    # Whoever hangs in it may go.
    node.configure()
