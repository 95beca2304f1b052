"""A real Ray head with the GPUs of a stand-in for NVML, and a program on all of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.telemetry.standin import StandIn

PROGRAM = """
import json, os, sys, time
import ray
ray.init(address=sys.argv[1], namespace="verl", log_to_driver=False)

@ray.remote(num_gpus=1, num_cpus=0)
class Holder:
    def where(self):
        return os.environ["CUDA_VISIBLE_DEVICES"], os.getpid()

holders = [Holder.options(name=f"holder-{number}").remote() for number in range(int(sys.argv[2]))]
print("HOLDERS" + json.dumps(ray.get([one.where.remote() for one in holders])), flush=True)
time.sleep(600)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


@contextmanager
def head(
    driver: StandIn, port: int, visible: str | None, *more_options: str, around: Sequence[str] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """`ray start --head`, as a person would; `around` is a command that runs it, as in a container."""
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
                [*around, *command, *options, *more_options],
                env={**environment, "HOME": directory},
                stdout=log,
                stderr=log,
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


@contextmanager
def holders(address: str, number: int, directory: Path) -> Iterator[list[tuple[str, int]]]:
    """A program with one actor on each GPU that Ray has: what it was told to use, and its pid."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", PROGRAM, address, str(number)]
    with open(directory / "program.log", "wb") as log:
        program = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**kept, "HOME": str(directory)}
        )
    try:
        assert program.stdout is not None
        # Ray prints between the lines whatever it likes.
        line = next((line for line in program.stdout if line.startswith("HOLDERS")), None)
        assert line is not None, (directory / "program.log").read_text()
        yield [(word, pid) for word, pid in json.loads(line.removeprefix("HOLDERS"))]
    finally:
        program.kill()
        program.communicate()
