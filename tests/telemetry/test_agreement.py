"""nvitop and gpustat, which many trust, read the same from the same library."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.telemetry.standin import StandIn

MIB = 2**20

NVITOP = """
import json
from nvitop import Device
print(json.dumps([
    [d.uuid(), d.name(), d.memory_used(), d.memory_total(), d.gpu_utilization(), d.temperature(), d.power_usage(),
     sorted([pid, p.gpu_memory()] for pid, p in d.processes().items())]
    for d in Device.all()
]))
"""

NODE = """
seed = 3
[gpu 0-7]
util = 55
[gpu 1]
used = 700M
temp = 71
power = 655
proc = {pid} 4G
[gpu 2]
reserved = 900M
proc = {pid} 1G G
[gpu 7]
util = 100
used = 70G
"""


@pytest.fixture
def node(standin: StandIn) -> dict[str, Any]:
    # Both leave out processes that are not there; this one is.
    standin.configure(NODE.format(pid=_running()))
    with standin.reader() as reader:
        return reader.read()


def _running() -> int:
    import os

    return os.getpid()


def run(standin: StandIn, *command: str) -> Any:
    done = subprocess.run(command, env=standin.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("driver", [470, 580])
def test_nvitop_agrees(standin: StandIn, driver: int) -> None:
    if importlib.util.find_spec("nvitop") is None:
        pytest.skip("nvitop is not installed")
    standin.driver = driver
    standin.configure(NODE.format(pid=_running()))
    with standin.reader() as reader:
        ours = reader.read()
    theirs = run(standin, sys.executable, "-c", NVITOP)
    assert theirs == [
        [
            device["uuid"],
            device["name"],
            device["memory_used"],
            device["memory_total"],
            device["utilization"],
            device["temperature"],
            device["power"] * 1000,
            [[process["pid"], process["memory"]] for process in device["processes"]],
        ]
        for device in ours["devices"]
    ]


def test_gpustat_agrees(standin: StandIn, node: dict[str, Any]) -> None:
    if importlib.util.find_spec("gpustat") is None:
        pytest.skip("gpustat is not installed")
    theirs = run(standin, sys.executable, "-m", "gpustat", "--json")["gpus"]
    assert [
        (
            one["uuid"],
            one["name"],
            one["memory.used"],
            one["memory.total"],
            one["utilization.gpu"],
            one["temperature.gpu"],
            one["power.draw"],
            sorted((process["pid"], process["gpu_memory_usage"]) for process in one["processes"]),
        )
        for one in theirs
    ] == [
        (
            device["uuid"],
            device["name"],
            device["memory_used"] // MIB,
            device["memory_total"] // MIB,
            device["utilization"],
            device["temperature"],
            device["power"],
            [(process["pid"], process["memory"] // MIB) for process in device["processes"]],
        )
        for device in node["devices"]
    ]
