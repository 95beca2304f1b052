"""A real Ray node that finds its GPUs by itself, on the stand-in for NVML: which of them is which of Ray's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from placetui.observe.model import Observation
from tests.runtime.watching import all_read, watching
from tests.telemetry.standin import StandIn

pytestmark = [pytest.mark.ray, pytest.mark.slow]

GIB = 2**30
CONFIG = "".join(f"[gpu {index}]\nused = {index + 1}G\n" for index in range(8))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


@contextmanager
def head(driver: StandIn, port: int, visible: str | None) -> Iterator[subprocess.Popen[bytes]]:
    """`ray start --head`, as a person would."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    more = {"CUDA_VISIBLE_DEVICES": visible} if visible is not None else {}
    environment = {**kept, **driver.variables, "RAY_enable_worker_prestart": "0", **more}
    options = [f"--port={port}", f"--dashboard-port={free_port()}", "--include-dashboard=false", "--num-cpus=4"]
    options += ["--min-worker-port=0", "--max-worker-port=0", "--object-store-memory=100000000"]
    # Short: the paths of Ray's sockets may have 107 characters.
    with TemporaryDirectory(prefix="pt-auto-", ignore_cleanup_errors=True) as directory:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--temp-dir={directory}"]
        with open(Path(directory) / "head.log", "wb") as log:
            process = subprocess.Popen(
                [*command, *options], env={**environment, "HOME": directory}, stdout=log, stderr=log
            )
        try:
            yield process
        finally:
            # All that it started goes with it, at once.
            process.kill()
            process.wait()
            wait_until_closed(port)


def wait_until_closed(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((own_address(), port)):
                return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("10.255.255.255", 1))
        return str(probe.getsockname()[0])


@pytest.fixture
def driver(standin_library: Callable[[int], Path], tmp_path: Path) -> StandIn:
    one = StandIn(standin_library, tmp_path)
    one.configure(CONFIG)
    return one


def gigabytes(seen: Observation) -> list[float | None]:
    return [one.memory_used and one.memory_used / GIB for one in seen.nodes[0].devices]


def test_gpus_are_those_of_the_list_and_a_head_that_dies_is_found_again(driver: StandIn, tmp_path: Path) -> None:
    port = free_port()
    with watching(tmp_path, f"{own_address()}:{port}") as watcher:
        watcher.until_told(lambda status: status.link == "lost" and "nobody listens" in status.message)
        with head(driver, port, None):
            seen = watcher.until(all_read, 120)
            assert gigabytes(seen) == [1, 2, 3, 4, 5, 6, 7, 8]
            uuids = [one.uuid or "" for one in seen.nodes[0].devices]
            first = watcher.bridge.pid
        told = len(watcher.statuses)
        deadline = time.monotonic() + 60
        while not any(one.link == "lost" for one in watcher.statuses[told - 1 :]):
            assert time.monotonic() < deadline, watcher.statuses
            watcher.wait(0.2)
        # Another cluster at the same address: indices in another order.
        with head(driver, port, "5,2,7"):
            seen = watcher.until(lambda seen: len(seen.nodes) == 1 and gigabytes(seen) == [6, 3, 8], 120)
            assert all_read(seen)
            assert watcher.bridge.pid != first
            assert [one.uuid for one in seen.nodes[0].devices] == [uuids[5], uuids[2], uuids[7]]
        with head(driver, port, f"{uuids[3]},{uuids[0]}"):
            seen = watcher.until(lambda seen: len(seen.nodes) == 1 and gigabytes(seen) == [4, 1], 120)
            assert all_read(seen)
