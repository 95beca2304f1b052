"""The process that reads the GPUs, as the one who looks sees it: over the pipe, when all goes well and when it dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from placetui.bridge.client import Bridge
from placetui.bridge.process import NVML_CHILD, child_command
from placetui.bridge.source import nvml_source
from placetui.cli.feed import Feed
from placetui.observe.model import Observation
from tests.telemetry.standin import StandIn

GIB = 2**30
INTERVAL = 0.2

Seen: TypeAlias = "Callable[[Observation], object]"


@pytest.fixture
def bridge(standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    for name, value in standin.variables.items():
        monkeypatch.setenv(name, value)
    with Bridge(tmp_path / "logs", child_command(NVML_CHILD), delays=(0.05,)) as bridge:
        yield bridge


@pytest.fixture
def feed(bridge: Bridge) -> Iterator[Feed]:
    with Feed(nvml_source(bridge, INTERVAL)) as feed:
        yield feed


def until(feed: Feed, condition: Seen, seconds: float = 15.0) -> Observation:
    deadline = time.monotonic() + seconds
    while (seen := feed.latest()) is None or not condition(seen):
        assert time.monotonic() < deadline, f"not in {seconds} s; {feed.status}, {seen}"
        feed.wait(0.1)
    return seen


def test_this_node_is_node_0(feed: Feed, standin: StandIn) -> None:
    standin.configure("count = 4\n[gpu 1]\nproc = 4000001 2G\n")
    seen = until(feed, lambda seen: seen.nodes)
    assert seen.source == "nvml"
    (node,) = seen.nodes
    assert (node.rank, len(node.devices), node.error) == (0, 4, None)
    assert seen.device(0, 1) == node.devices[1]
    assert [process.memory for process in node.devices[1].processes] == [2 * GIB]


def test_changes_are_seen(feed: Feed, standin: StandIn) -> None:
    until(feed, lambda seen: seen.nodes)
    standin.configure("[gpu 6]\nused = 9G\nutil = 12\n")
    device = until(feed, lambda seen: seen.nodes[0].devices[6].memory_used).nodes[0].devices[6]
    assert (device.memory_used, device.utilization) == (9 * GIB, 12)


def test_a_gpu_that_hangs_is_stale_delays_no_other_and_comes_back(feed: Feed, standin: StandIn) -> None:
    until(feed, lambda seen: seen.nodes)
    standin.configure("[gpu 0]\nhang = nvmlDeviceGetMemoryInfo_v2\n[gpu 1]\nused = 1G\n")
    began = time.monotonic()
    until(feed, lambda seen: seen.nodes[0].devices[1].memory_used)
    assert time.monotonic() - began < 10
    until(feed, lambda seen: seen.nodes[0].devices[0].stale)
    assert time.monotonic() - began < 15
    assert not until(feed, lambda seen: seen.nodes[0].devices[0].stale).nodes[0].stale
    standin.configure()
    until(feed, lambda seen: not seen.nodes[0].devices[0].stale)


def test_a_crash_inside_nvml_costs_a_moment(feed: Feed, bridge: Bridge, standin: StandIn) -> None:
    until(feed, lambda seen: seen.nodes)
    first = bridge.pid
    standin.configure("crash = nvmlDeviceGetUtilizationRates\n")
    node = until(feed, lambda seen: seen.nodes[0].stale).nodes[0]
    assert node.error is not None
    assert "killed by SIGSEGV" in node.error
    assert len(node.devices) == 8
    standin.configure("[gpu 0]\nused = 1G\n")
    until(feed, lambda seen: not seen.nodes[0].stale and seen.nodes[0].devices[0].memory_used)
    assert bridge.pid != first


def test_a_process_that_is_killed_is_replaced(feed: Feed, bridge: Bridge) -> None:
    until(feed, lambda seen: seen.nodes)
    first = bridge.pid
    assert first
    os.kill(first, signal.SIGKILL)
    until(feed, lambda seen: feed.status.restarts == 1 and not seen.nodes[0].stale)
    assert bridge.pid != first


def test_one_that_is_stopped_goes_stale_and_comes_back(feed: Feed, bridge: Bridge) -> None:
    until(feed, lambda seen: seen.nodes)
    pid = bridge.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        node = until(feed, lambda seen: seen.nodes[0].stale, seconds=4).nodes[0]
        assert node.error == "the process that reads the GPUs does not answer"
    finally:
        os.kill(pid, signal.SIGCONT)
    until(feed, lambda seen: not seen.nodes[0].stale)


def test_another_driver_needs_another_process(feed: Feed, bridge: Bridge, standin: StandIn) -> None:
    until(feed, lambda seen: seen.nodes)
    first = bridge.pid
    standin.configure("init = LIB_RM_VERSION_MISMATCH\nfault = nvmlDevice* UNINITIALIZED\n")
    until(feed, lambda seen: bridge.pid not in (None, first) and not seen.nodes[0].devices)
    standin.configure()
    until(feed, lambda seen: len(seen.nodes[0].devices) == 8)


def test_a_child_that_hangs_ends_with_the_bridge(feed: Feed, bridge: Bridge, standin: StandIn) -> None:
    until(feed, lambda seen: seen.nodes)
    standin.configure("hang = nvml*\n")
    feed.wait(2 * INTERVAL)
    pid = bridge.pid
    began = time.monotonic()
    bridge.close()
    assert time.monotonic() - began < 15
    assert pid
    assert not Path(f"/proc/{pid}").exists()


def test_options_it_does_not_know_are_refused(bridge: Bridge) -> None:
    bridge.start()
    answer = bridge.request("start", service="nvml", options={"colour": "red"}, seconds=1.0)
    assert "colour" in str(answer.exception(15))
