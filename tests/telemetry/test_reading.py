"""What is read from a node: pynvml itself, against a library that does what a driver does, good and bad."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from placetui.telemetry.nvml import Nvml, NvmlFailure
from tests.telemetry.standin import Reader, StandIn

GIB = 2**30
MIB = 2**20

BUSY = """
[gpu 0]
used = 1G
util = 93
temp = 61
power = 612
proc = 4000001 40G
proc = 4000002 8G G
"""


def test_everything_of_a_busy_gpu_is_read(standin: StandIn) -> None:
    standin.configure(f"seed = 5\n{BUSY}")
    with standin.reader() as reader:
        node = reader.read()
    assert len(node["devices"]) == 8
    assert node["error"] is None
    assert not node["stale"]
    device = node["devices"][0]
    processes = device.pop("processes")
    assert device == {
        "index": 0,
        "uuid": "GPU-a0000000-0000-4000-8000-000000000005",
        "name": "NVIDIA H100 80GB HBM3",
        "memory_used": 49 * GIB,
        "memory_total": 81559 * MIB,
        "utilization": 93,
        "temperature": 61,
        "power": 612,
        "age": 0.0,
        "stale": False,
        "error": None,
        "claims": [],
        "physical": None,
    }
    assert [(one["pid"], one["memory"], one["kind"]) for one in processes] == [
        (4000001, 40 * GIB, "foreign"),
        (4000002, 8 * GIB, "foreign"),
    ]


def test_an_idle_gpu_has_no_memory_in_use_and_no_processes(standin: StandIn) -> None:
    with standin.reader() as reader:
        device = reader.device()
    assert (device["memory_used"], device["utilization"], device["processes"]) == (0, 0, [])


def test_who_a_process_is(standin: StandIn) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", "--label", "a b"], stdin=subprocess.PIPE) as process:
        standin.configure(f"[gpu 0]\nproc = {process.pid} 1G\nproc = 4000001 1G\n")
        with standin.reader() as reader:
            here, elsewhere = reader.device()["processes"]
        process.kill()
    assert here["command"].endswith("-c input() --label a b")
    assert here["user"] == _own_name()
    assert (elsewhere["user"], elsewhere["command"]) == (None, None)


def _own_name() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def test_one_that_computes_and_draws_is_one_process(standin: StandIn) -> None:
    standin.configure("[gpu 0]\nproc = 4000001 3G C\nproc = 4000001 3G G\n")
    with standin.reader() as reader:
        device = reader.device()
    assert [(one["pid"], one["memory"]) for one in device["processes"]] == [(4000001, 3 * GIB)]


def test_memory_of_a_process_that_the_driver_keeps_to_itself_is_none(standin: StandIn) -> None:
    standin.configure("[gpu 0]\nused = 4G\nproc = 4000001 na\n")
    with standin.reader() as reader:
        device = reader.device()
    assert device["processes"][0]["memory"] is None
    assert device["memory_used"] == 4 * GIB
    assert device["error"] == "memory per process: not reported by the driver"


def test_more_processes_than_there_is_room_for_at_once(standin: StandIn) -> None:
    standin.configure("[gpu 0]\n" + "".join(f"proc = {4000000 + number} 1M\n" for number in range(60)))
    with standin.reader() as reader:
        assert len(reader.device()["processes"]) == 60


@pytest.mark.parametrize("driver", [440, 470, 510, 580])
def test_drivers_of_all_ages(standin: StandIn, driver: int) -> None:
    standin.driver = driver
    standin.configure(BUSY)
    with standin.reader() as reader:
        device = reader.device()
    # What the driver keeps for itself cannot be told apart in the old interface.
    reserved = 551 * MIB if driver < 510 else 0
    assert device["memory_used"] == 49 * GIB + reserved
    assert (device["utilization"], device["temperature"], device["power"]) == (93, 61, 612)
    assert [one["memory"] for one in device["processes"]] == [40 * GIB, 8 * GIB]
    assert device["error"] is None
    calls = standin.calls()
    assert ("nvmlDeviceGetMemoryInfo_v2" in calls) == (driver >= 510)
    assert ("nvmlDeviceGetComputeRunningProcesses_v3" in calls) == (driver >= 510)
    assert ("nvmlDeviceGetComputeRunningProcesses" in calls) == (driver < 450)
    assert ("nvmlDeviceGetTemperatureV" in calls) == (driver >= 570)


@pytest.mark.parametrize(
    ("function", "key", "what"),
    [
        ("nvmlDeviceGetMemoryInfo*", "memory_used", "memory"),
        ("nvmlDeviceGetUtilizationRates", "utilization", "load"),
        ("nvmlDeviceGetTemperature*", "temperature", "temperature"),
        ("nvmlDeviceGetPowerUsage", "power", "power"),
    ],
)
@pytest.mark.parametrize(
    ("fault", "reason"), [("NOT_SUPPORTED", "not supported here"), ("NO_PERMISSION", "no permission to read it")]
)
def test_a_value_that_cannot_be_read_is_none_and_spares_the_others(
    standin: StandIn, function: str, key: str, what: str, fault: str, reason: str
) -> None:
    standin.configure(f"{BUSY}fault = {function} {fault}\n")
    with standin.reader() as reader:
        node = reader.read()
    device = node["devices"][0]
    assert device[key] is None
    assert device["error"] == f"{what}: {reason}"
    others = {"memory_used", "utilization", "temperature", "power"} - {key}
    assert all(device[other] is not None for other in others)
    assert len(device["processes"]) == 2
    assert node["devices"][1]["error"] is None


def test_values_that_fail_for_one_reason_share_a_sentence(standin: StandIn) -> None:
    standin.configure("[gpu 0]\nfault = nvmlDeviceGet[PT]* NOT_SUPPORTED\nfault = *Running* NO_PERMISSION\n")
    with standin.reader() as reader:
        error = reader.device()["error"]
    assert error == ("graphics processes, processes: no permission to read it; power, temperature: not supported here")


def test_a_board_without_graphics_misses_nothing(standin: StandIn) -> None:
    standin.configure("[gpu 0]\nfault = nvmlDeviceGetGraphics* NOT_SUPPORTED\n")
    with standin.reader() as reader:
        assert reader.device()["error"] is None


def test_a_divided_gpu_is_its_instances(standin: StandIn) -> None:
    standin.configure(
        "count = 3\n[gpu 1]\nmig = 1\nmig_device = 1 0 40G 1G\nmig_device = 2 0 20G 0\n"
        "proc = 4000001 6G C 1 0\nproc = 4000002 2G C 2 0\n"
        # Whoever may not see the whole of it can still see the instances.
        "fault = nvmlDeviceGetPersistenceMode NO_PERMISSION\n"
    )
    with standin.reader() as reader:
        devices = reader.read()["devices"]
    assert [device["index"] for device in devices] == [0, 1, 2, 3]
    assert [device["uuid"][:12] for device in devices] == [
        "GPU-a0000000",
        "MIG-b1010101",
        "MIG-b1010102",
        "GPU-a2020202",
    ]
    first, second = devices[1:3]
    assert (first["memory_used"], first["memory_total"]) == (7 * GIB, 40 * GIB)
    assert [one["pid"] for one in first["processes"]] == [4000001]
    assert [one["pid"] for one in second["processes"]] == [4000002]
    assert first["utilization"] is None
    assert first["error"] == "load, temperature and power: not known of an instance"


def test_a_gpu_that_is_to_be_divided_and_has_no_instance(standin: StandIn) -> None:
    standin.configure("count = 1\n[gpu 0]\nmig = 1\n")
    with standin.reader() as reader:
        assert reader.device()["error"] == "divided by MIG, and there is no instance"


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ("init = DRIVER_NOT_LOADED", "the NVIDIA driver is not loaded"),
        ("init = LIB_RM_VERSION_MISMATCH", "the NVIDIA driver was updated and not loaded again"),
        ("init = UNKNOWN", "NVML reports an unknown error"),
        ("count = 0", "the NVIDIA driver knows of no GPU"),
        ("fault = nvmlDeviceGetCount* NO_PERMISSION", "no permission to read it"),
    ],
)
def test_a_node_without_gpus_says_why(standin: StandIn, config: str, error: str) -> None:
    standin.configure(config)
    with standin.reader() as reader:
        node = reader.read()
    assert node["devices"] == []
    assert node["error"].startswith(error)
    assert node["memory_total"] > 0


def test_a_node_without_a_driver_says_so(standin: StandIn) -> None:
    environment = standin.environment
    del environment["LD_LIBRARY_PATH"]
    with Reader(environment) as reader:
        node = reader.read()
    assert node["error"] == "there is no NVIDIA driver here (no libnvidia-ml.so.1)"


def test_a_node_without_the_binding_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NvmlFailure, match="nvidia-ml-py is not installed"):
        Nvml().open()


def test_cpu_and_memory_of_the_node(standin: StandIn) -> None:
    with standin.reader() as reader:
        assert reader.read()["cpu_percent"] is None
        node: dict[str, Any] = {}
        while node.get("cpu_percent") is None:
            node = reader.read()
    assert 0 <= node["cpu_percent"] <= 100
    assert 0 < node["memory_used"] < node["memory_total"]
