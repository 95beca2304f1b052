"""The sampler that goes to a node: it travels by value, to nodes that have neither placetui nor nvidia-ml-py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from placetui.runtime.watch.samplers import Reading
from tests.telemetry.standin import ROOT, StandIn

SHIP = """
import sys
sys.path.insert(0, sys.argv[1])
from ray import cloudpickle
from placetui.runtime.gcs.driver import ship_by_value
from placetui.runtime.remote.sampler import PlacetuiSampler
from placetui.runtime.watch.samplers import SHIPPED
from placetui.telemetry.node import NodeReader
ship_by_value(*SHIPPED)
with open(sys.argv[2], "wb") as file:
    cloudpickle.dump((PlacetuiSampler, NodeReader), file)
"""

LAND = """
import json, pickle, sys, time
from functools import partial
sys.modules["placetui"] = None
sys.modules["pynvml"] = None
with open(sys.argv[1], "rb") as file:
    sampler, reader = pickle.load(file)
sampler = sampler(partial(reader, int(sys.argv[2]), "RLINF_NODE_RANK"))
deadline = time.monotonic() + 30
while not (answer := sampler.read("one", 0, 60.0))[0] and time.monotonic() < deadline:
    time.sleep(0.05)
print(json.dumps([answer, sampler.read("one", answer[0], 60.0)]))
"""


def run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(standin: StandIn, crate: Path, gpus: int, **variables: str) -> tuple[Reading, Any]:
    environment = {**standin.environment, **variables}
    del environment["PYTHONPATH"]
    run([sys.executable, "-c", SHIP, str(ROOT), str(crate)], environment)
    (number, body), again = json.loads(run([sys.executable, "-c", LAND, str(crate), str(gpus)], environment))
    return Reading.of(number, body, gpus), again


def test_it_reads_where_nothing_but_ray_is_installed(standin: StandIn, tmp_path: Path) -> None:
    standin.configure("count = 4\n[gpu 3]\nused = 5000\nproc = 1 7000\n")
    reading, again = answers(standin, tmp_path / "crate", 4, RLINF_NODE_RANK="3")
    assert [one.memory_used for one in reading.node.devices] == [0, 0, 0, 12000]
    assert reading.rank == "3"
    # Unless something changed meanwhile, as the load of the machine does, nothing is said twice.
    assert again[1] is None or again[0] > reading.number


def test_without_a_driver_it_says_so(standin: StandIn, tmp_path: Path) -> None:
    reading, _ = answers(standin, tmp_path / "crate", 2, LD_LIBRARY_PATH="")
    assert reading.node.devices == ()
    assert "there is no NVIDIA driver here" in (reading.node.error or "")


@pytest.mark.parametrize("body", [{}, {"seen": 3}])
def test_what_is_no_answer_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError)):
        Reading.of(1, body, 8)
