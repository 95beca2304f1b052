"""GPUs that hang, crawl, get lost and come back: each of them alone, and nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from placetui.telemetry import sampler
from tests.telemetry.standin import StandIn

GIB = 2**30
SLACK = 1.0
"""Seconds that a busy machine may add to any wait."""

TICKS_TO_STALE = 3
"""At 1 Hz: within three seconds."""


def test_a_gpu_that_hangs_is_stale_within_three_seconds_and_holds_up_nobody(standin: StandIn) -> None:
    standin.configure("[gpu 2]\nused = 3G\n")
    with standin.reader() as reader:
        assert reader.read()["devices"][2]["memory_used"] == 3 * GIB
        standin.configure("[gpu 2]\nused = 3G\nhang = nvmlDeviceGetMemoryInfo*\n[gpu 0-1,3-7]\nused = 5G\n")
        seen = []
        for _ in range(TICKS_TO_STALE):
            seen.append(reader.tick())
            assert reader.seconds < sampler.PATIENCE + SLACK
            assert not any(device["stale"] for device in seen[-1]["devices"] if device["index"] != 2)
        assert all(device["memory_used"] == 5 * GIB for device in seen[-1]["devices"] if device["index"] != 2)
        hanging = seen[-1]["devices"][2]
        assert hanging["stale"]
        assert hanging["age"] >= 1.8
        assert hanging["error"].startswith("reading its memory has not returned for ")
        assert hanging["memory_used"] == 3 * GIB
        assert not seen[-1]["stale"]
        later = reader.tick()["devices"][2]
        assert later["age"] >= hanging["age"] + 1

        standin.configure("[gpu 2]\nused = 4G\n")
        back = _until(reader.tick, lambda node: not node["devices"][2]["stale"])["devices"][2]
        assert (back["age"], back["error"]) == (0.0, None)
        assert _until(reader.tick, lambda node: node["devices"][2]["memory_used"] == 4 * GIB)


def test_several_that_hang_do_not_queue_up(standin: StandIn) -> None:
    with standin.reader() as reader:
        reader.read()
        standin.configure("[gpu 0-4]\nhang = nvmlDeviceGetUtilizationRates\n[gpu 5-7]\nutil = 77\n")
        reader.tick()
        assert reader.seconds < sampler.PATIENCE + SLACK
        node = reader.tick()
        assert [device["utilization"] for device in node["devices"][5:]] == [77, 77, 77]
        assert [device["stale"] for device in node["devices"]] == [True] * 5 + [False] * 3


def test_a_node_whose_driver_hangs_is_stale_as_a_whole(standin: StandIn) -> None:
    with standin.reader() as reader:
        reader.read()
        standin.configure("hang = nvmlDevice*\n")
        for _ in range(TICKS_TO_STALE - 1):
            reader.tick()
            assert reader.seconds < sampler.PATIENCE + SLACK
        node = reader.tick()
        assert node["stale"]
        assert node["age"] >= 1.8
        assert node["error"] == "no GPU answers"
        standin.configure()
        assert _until(reader.tick, lambda node: not node["stale"])["error"] is None


def test_a_driver_that_hangs_from_the_start(standin: StandIn) -> None:
    standin.configure("hang = nvmlInit*\n")
    with standin.reader() as reader:
        assert reader.look() is None
        node = reader.tick() if reader.look(later=1.0) is None else {}
        assert node["stale"]
        assert node["devices"] == []
        assert node["error"].startswith("NVML has not answered for ")
        standin.configure()
        node = _until(reader.tick, lambda node: len(node["devices"]) == 8)
        assert not node["stale"]


def test_a_gpu_that_cannot_even_be_opened_holds_up_nobody(standin: StandIn) -> None:
    standin.configure("[gpu 1]\nhang = nvmlDeviceGetHandleByIndex*\n")
    with standin.reader() as reader:
        reader.look()
        reader.look(later=1.0)
        devices = reader.tick()["devices"]
        assert devices[1]["stale"]
        assert devices[1]["memory_used"] is None
        assert devices[1]["error"].startswith("opening the GPU has not returned for ")
        assert all(device["memory_total"] for device in devices if device["index"] != 1)


def test_a_slow_gpu_is_read_as_often_as_it_can_be(standin: StandIn) -> None:
    standin.configure("[gpu 3]\ndelay = nvmlDeviceGetMemoryInfo* 400\n")
    with standin.reader() as reader:
        reader.read()
        standin.configure("[gpu 3]\ndelay = nvmlDeviceGetMemoryInfo* 400\nused = 2G\n[gpu 4]\nused = 2G\n")
        node = reader.tick()
        assert reader.seconds < sampler.PATIENCE + SLACK
        assert node["devices"][4]["memory_used"] == 2 * GIB
        assert not node["devices"][3]["stale"]
        assert _until(reader.look, lambda node: node["devices"][3]["memory_used"] == 2 * GIB)


@pytest.mark.parametrize("fault", ["GPU_IS_LOST", "RESET_REQUIRED", "UNKNOWN"])
def test_a_lost_gpu_has_no_values_and_comes_back(standin: StandIn, fault: str) -> None:
    standin.configure("[gpu 5]\nused = 1G\n")
    with standin.reader() as reader:
        before = reader.read()["devices"][5]
        standin.configure(f"[gpu 5]\nfault = * {fault}\n")
        node = reader.tick()
        lost = node["devices"][5]
        assert lost["stale"]
        assert lost["error"]
        assert lost["memory_used"] is None
        assert (lost["uuid"], lost["name"]) == (before["uuid"], before["name"])
        assert sum(device["stale"] for device in node["devices"]) == 1
        assert reader.tick()["devices"][5]["age"] > lost["age"]
        standin.configure("[gpu 5]\nused = 1G\n")
        assert reader.tick()["devices"][5] == before


def test_nvml_is_opened_again_for_a_lost_gpu_but_seldom(standin: StandIn) -> None:
    with standin.reader() as reader:
        reader.read()
        standin.configure("[gpu 5]\nfault = * GPU_IS_LOST\n")
        for _ in range(60):
            reader.tick()
        opened = standin.calls()["nvmlInitWithFlags"]
        # After 2, 5, 15 and 60 s.
        assert 3 <= opened <= 5
        for _ in range(60):
            reader.tick()
        assert standin.calls()["nvmlInitWithFlags"] <= opened + 1


def test_a_gpu_that_vanishes_leaves_the_others_in_their_places(standin: StandIn) -> None:
    with standin.reader() as reader:
        before = reader.read()["devices"]
        standin.configure("[gpu 3]\nabsent = 1\n")
        node = _until(reader.tick, lambda node: node["devices"][3]["error"] == "the GPU is no longer there")
        assert [device["uuid"] for device in node["devices"]] == [device["uuid"] for device in before]
        assert [device["index"] for device in node["devices"] if device["stale"]] == [3]
        standin.configure()
        node = _until(reader.tick, lambda node: not node["devices"][3]["stale"])
        assert [device["uuid"] for device in node["devices"]] == [device["uuid"] for device in before]


def test_a_driver_that_is_unloaded_and_loaded_again(standin: StandIn) -> None:
    with standin.reader() as reader:
        before = reader.read()["devices"]
        standin.configure("init = DRIVER_NOT_LOADED\nfault = nvmlDevice* UNINITIALIZED\n")
        node = _until(reader.tick, lambda node: node["error"] == "the NVIDIA driver is not loaded")
        assert node["stale"]
        assert all(device["stale"] for device in node["devices"])
        standin.configure()
        node = _until(reader.tick, lambda node: not node["stale"])
        assert node["devices"] == before
        assert node["error"] is None


def test_a_driver_that_is_there_only_later(standin: StandIn) -> None:
    standin.configure("init = DRIVER_NOT_LOADED")
    with standin.reader() as reader:
        assert reader.read()["devices"] == []
        standin.configure()
        node = _until(reader.tick, lambda node: node["devices"])
        assert node["error"] is None


def test_instances_that_are_made_while_it_runs(standin: StandIn) -> None:
    standin.configure("count = 1\n[gpu 0]\nmig = 1\nmig_device = 1 0 40G 0\n")
    with standin.reader() as reader:
        assert len(reader.read()["devices"]) == 1
        standin.configure("count = 1\n[gpu 0]\nmig = 1\n")
        node = _until(reader.tick, lambda node: "no instance" in str(node["devices"][0]["error"]))
        assert node["devices"][0]["uuid"].startswith("GPU-")


def test_a_broken_library_is_an_error_and_nothing_worse(standin: StandIn) -> None:
    with standin.reader() as reader:
        reader.read()
        standin.configure("this is no configuration")
        devices = reader.tick()["devices"]
        assert {device["error"] for device in devices} == {"NVML reports an unknown error"}


def _until(
    look: Callable[[], dict[str, Any] | None], condition: Callable[[dict[str, Any]], object], seconds: float = 10.0
) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while (node := look()) is None or not condition(node):
        assert time.monotonic() < deadline, f"not in {seconds} s; the last look saw {node}"
        time.sleep(0.01)
    return node
