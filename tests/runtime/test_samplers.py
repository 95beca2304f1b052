"""Samplers on real Ray: four nodes, each with GPUs of its own, and what goes wrong on one of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from placetui.observe.model import NodeSample, Observation
from placetui.runtime.remote.sampler import ORPHANED
from placetui.runtime.watch.samplers import LEASE
from placetui.runtime.watch.table_reader import TableReader
from tests.bridge.conftest import wait_until_gone
from tests.runtime.conftest import TestCluster, node, running_cluster
from tests.runtime.watching import OCCUPY, Watcher, all_read, is_read, watching
from tests.telemetry.standin import StandIn

pytestmark = [pytest.mark.ray, pytest.mark.slow]

GIB = 2**30
GPUS = 2
USED = [GIB * (rank + 1) for rank in range(4)]

# Read at import: the environment of a test is emptied.
SOAK = float(os.environ.get("PLACETUI_SOAK_SECONDS", "240"))
"""Seconds of the long look; by hand 3600, for an hour."""

WARM = 45.0
"""Seconds after which nothing may grow any more: until then Ray and Python load what they need."""


@dataclass
class Nodes:
    """A cluster, and the driver of each of its nodes; node i is rank i."""

    cluster: TestCluster
    drivers: list[StandIn]

    def calm(self) -> None:
        for rank, driver in enumerate(self.drivers):
            driver.configure(f"count = {GPUS}\nseed = {rank}\n[gpu 1]\nused = {rank + 1}G\n")

    def disturb(self, rank: int, text: str) -> None:
        self.drivers[rank].configure(f"count = {GPUS}\nseed = {rank}\n{text}\n")

    def sampler_pids(self) -> list[int]:
        with self.cluster.head() as head:
            return [one.pid for one in head.living_actors() if one.class_name == "PlacetuiSampler" and one.pid]


@pytest.fixture(scope="module")
def nodes(standin_library: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    drivers = [StandIn(standin_library, tmp_path_factory.mktemp("gpus")) for _ in range(4)]
    raylets = [
        node(GPUS, labels={"RLINF_NODE_RANK": str(rank)}, env_vars=driver.variables)
        for rank, driver in enumerate(drivers)
    ]
    for driver in drivers:
        driver.configure(f"count = {GPUS}\n")
    with running_cluster(raylets) as cluster:
        cluster.python(OCCUPY, *cluster.nodes)
        yield Nodes(cluster, drivers)
        for driver in drivers:
            driver.configure(f"count = {GPUS}\n")


@pytest.fixture(scope="module")
def looking(nodes: Nodes) -> Iterator[Watcher]:
    with watching(nodes.cluster.directory, nodes.cluster.address) as one:
        yield one


@pytest.fixture
def watcher(nodes: Nodes, looking: Watcher) -> Watcher:
    """Looks at four nodes that are all well."""
    nodes.calm()
    looking.until(lambda seen: all_read(seen) and [one.devices[1].memory_used for one in seen.nodes] == USED)
    return looking


def alone(rank: int, condition: Callable[[NodeSample], Any]) -> Callable[[Observation], bool]:
    """Whether something is true of one node, while all others are read as ever."""

    def holds(seen: Observation) -> bool:
        return bool(condition(seen.nodes[rank])) and all(is_read(one) for one in seen.nodes if one.rank != rank)

    return holds


def test_every_node_is_read_by_its_own_sampler_which_takes_nothing(nodes: Nodes, watcher: Watcher) -> None:
    seen = watcher.until(all_read)
    assert seen.source == "ray"
    assert [one.rank for one in seen.nodes] == [0, 1, 2, 3]
    assert [[device.memory_used for device in one.devices] for one in seen.nodes] == [[0, used] for used in USED]
    assert len({device.uuid for one in seen.nodes for device in one.devices}) == 4 * GPUS
    assert all(one.memory_total and one.ip for one in seen.nodes)
    assert len(nodes.sampler_pids()) == 4
    with nodes.cluster.head() as head:
        tables = head.tables()
    assert all(tables.free(one.id, "GPU") == one.units("GPU") for one in tables.nodes)
    assert all(tables.free(one.id, "CPU") == one.units("CPU") for one in tables.nodes)


def test_a_gpu_that_hangs_is_stale_and_delays_nobody(nodes: Nodes, watcher: Watcher) -> None:
    nodes.disturb(1, "[gpu 0]\nhang = nvmlDeviceGetMemoryInfo_v2")
    began = time.monotonic()
    seen = watcher.until(alone(1, lambda one: one.devices[0].stale))
    # 2 s on an idle machine.
    assert time.monotonic() - began < 10
    hanging, other = seen.nodes[1].devices
    assert hanging.age >= 1.5
    assert "has not returned" in (hanging.error or "")
    assert not other.stale
    assert not seen.nodes[1].stale
    # The values of the others are new ones.
    nodes.disturb(2, "[gpu 0]\nused = 9G")
    watcher.until(lambda seen: seen.nodes[2].devices[0].memory_used == 9 * GIB)
    nodes.calm()
    watcher.until(all_read)


def test_a_node_whose_driver_hangs_is_stale_with_its_age(nodes: Nodes, watcher: Watcher) -> None:
    nodes.disturb(3, "hang = nvmlDeviceGetMemoryInfo_v2")
    seen = watcher.until(alone(3, lambda one: one.stale and one.age > 2.5))
    assert seen.nodes[3].error == "no GPU answers"
    nodes.calm()
    watcher.until(all_read)


def test_a_lost_gpu_says_so_and_comes_back(nodes: Nodes, watcher: Watcher) -> None:
    nodes.disturb(0, "[gpu 1]\nfault = nvmlDeviceGetMemoryInfo_v2 GPU_IS_LOST")
    lost = watcher.until(alone(0, lambda one: one.devices[1].stale)).nodes[0].devices[1]
    assert (lost.memory_used, lost.error) == (None, "the GPU is lost")
    nodes.calm()
    watcher.until(all_read)


def test_a_slow_driver_is_not_a_stale_one(nodes: Nodes, watcher: Watcher) -> None:
    nodes.disturb(2, "delay = nvmlDeviceGetMemoryInfo_v2 150\n[gpu 0]\nused = 3G")
    seen = watcher.until(alone(2, lambda one: one.devices[0].memory_used == 3 * GIB))
    assert is_read(seen.nodes[2])


def test_a_sampler_that_crashes_is_made_again_until_it_lives(nodes: Nodes, watcher: Watcher) -> None:
    nodes.disturb(1, "crash = nvmlDeviceGetMemoryInfo_v2")
    seen = watcher.until(alone(1, lambda one: one.stale))
    assert seen.nodes[1].error == "its sampler died"
    assert [one.memory_used for one in seen.nodes[1].devices] == [0, 2 * GIB]
    nodes.calm()
    watcher.until(all_read)


def test_a_sampler_that_is_stopped_is_stale_until_it_goes_on(nodes: Nodes, watcher: Watcher) -> None:
    pid = nodes.sampler_pids()[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        seen = watcher.until(lambda seen: sum(one.stale for one in seen.nodes) == 1)
        (stopped,) = [one for one in seen.nodes if one.stale]
        assert "has not answered" in (stopped.error or "")
    finally:
        os.kill(pid, signal.SIGCONT)
    watcher.until(all_read)


def test_nobody_is_sampled_while_nobody_looks(nodes: Nodes, watcher: Watcher) -> None:
    watcher.until(all_read)
    watcher.source.set_paused(True)
    # At that rate the count would never rest if anybody looked.
    watcher.source.set_interval(0.2)
    calls = wait_for_rest(lambda: readings(nodes))
    watcher.source.set_interval(1.0)
    watcher.source.set_paused(False)
    watcher.until(all_read)
    assert readings(nodes) > calls


def readings(nodes: Nodes) -> int:
    """How often samplers have read a GPU; the agent of a raylet reads GPUs too, but asks for memory as of old."""
    return sum(driver.calls()["nvmlDeviceGetMemoryInfo_v2"] for driver in nodes.drivers)


def wait_for_rest(count: Callable[[], int]) -> int:
    """The count once it stays the same for much longer than an interval."""
    deadline = time.monotonic() + 30
    while True:
        before = count()
        time.sleep(3.0)
        if count() == before:
            return before
        assert time.monotonic() < deadline


@pytest.mark.soak
def test_memory_stays_flat_while_somebody_looks(nodes: Nodes, watcher: Watcher) -> None:
    assert watcher.bridge.pid is not None
    pids = [watcher.bridge.pid, *nodes.sampler_pids()]
    watcher.source.set_interval(0.2)
    look_for(WARM, nodes, watcher)
    before = [resident(pid) for pid in pids]
    looks = look_for(SOAK, nodes, watcher)
    watcher.source.set_interval(1.0)
    assert [watcher.bridge.pid, *nodes.sampler_pids()] == pids
    assert looks > SOAK / 2
    grown = [round((resident(pid) - size) / 2**20, 1) for pid, size in zip(pids, before, strict=True)]
    sys.stdout.write(f"{looks} looks in {SOAK:.0f} s: the viewer and the samplers grew by {grown} MiB\n")
    assert max(grown) < 16


def look_for(seconds: float, nodes: Nodes, watcher: Watcher) -> int:
    """Look at GPUs whose memory is always another; how often that was."""
    end, looks = time.monotonic() + seconds, 0
    for turn in count():
        if time.monotonic() > end:
            break
        rank, used = turn % 4, 1 + turn % 60
        nodes.disturb(rank, f"[gpu 0]\nused = {used}G")
        watcher.until(partial(holds, rank, used * GIB))
        looks += len(watcher.updates)
        watcher.updates.clear()
    return looks


def holds(rank: int, used: int, seen: Observation) -> bool:
    return seen.nodes[rank].devices[0].memory_used == used


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_without_samplers_there_are_ray_s_books_and_no_actor(nodes: Nodes, watcher: Watcher) -> None:
    before = nodes.sampler_pids()
    with watching(nodes.cluster.directory, nodes.cluster.address, sample=False) as frugal:
        seen = frugal.until(lambda seen: seen.nodes)
        assert [len(one.devices) for one in seen.nodes] == [GPUS] * 4
        assert {device.error for one in seen.nodes for device in one.devices} == {"samplers are switched off"}
        assert sorted(nodes.sampler_pids()) == sorted(before)


def test_the_head_is_asked_few_questions_at_a_time(nodes: Nodes) -> None:
    reader = TableReader(nodes.cluster.address, "nobody")
    reader.read()
    assert reader.head is not None
    before = reader.head.calls
    reader.read()
    assert 0 < reader.head.calls - before <= 9
    reader.close()


def test_viewers_share_samplers_and_the_last_one_ends_them_also_when_it_is_killed(
    nodes: Nodes, watcher: Watcher
) -> None:
    pids = sorted(nodes.sampler_pids())
    assert len(pids) == 4
    # Its bridge waits before it starts another one.
    with watching(nodes.cluster.directory, nodes.cluster.address, delays=(300.0,)) as other:
        other.until(all_read)
        assert sorted(nodes.sampler_pids()) == pids
        watcher.source.close()
        other.until(all_read)
        time.sleep(2.0)
        assert sorted(nodes.sampler_pids()) == pids
        assert other.bridge.pid is not None
        os.kill(other.bridge.pid, signal.SIGKILL)
        killed = time.monotonic()
        for pid in pids:
            wait_until_gone(pid, LEASE + 20.0)
        sys.stdout.write(f"samplers ended {time.monotonic() - killed:.1f} s after the last viewer was killed\n")
        assert time.monotonic() - killed > 3.0


def test_a_node_that_dies_is_stale_long_before_ray_says_so(nodes: Nodes) -> None:
    nodes.calm()
    with watching(nodes.cluster.directory, nodes.cluster.address) as watcher:
        watcher.until(all_read)
        with nodes.cluster.head() as head:
            samplers = [one.pid for one in head.living_actors() if one.node == nodes.cluster.nodes[3] and one.pid]
        for pid in (nodes.cluster.processes[3]["raylet"][0], *samplers):
            os.kill(pid, signal.SIGKILL)
        dead = alone(3, lambda one: one.stale)
        seen = watcher.until(lambda seen: len(seen.nodes) == 4 and dead(seen))
        assert [one.memory_used for one in seen.nodes[3].devices] == [0, USED[3]]


def test_a_node_whose_raylet_alone_dies_is_not_shown_as_if_it_were_well(nodes: Nodes) -> None:
    nodes.calm()

    def well(seen: Observation, *ranks: int) -> bool:
        found = {one.rank: one for one in seen.nodes}
        return all(rank in found and is_read(found[rank]) for rank in ranks)

    with watching(nodes.cluster.directory, nodes.cluster.address) as watcher:
        watcher.until(lambda seen: well(seen, 0, 1, 2))
        with nodes.cluster.head() as head:
            (sampler,) = [
                one.pid
                for one in head.living_actors()
                if one.node == nodes.cluster.nodes[2] and one.class_name == "PlacetuiSampler"
            ]
        os.kill(nodes.cluster.processes[2]["raylet"][0], signal.SIGKILL)
        killed = time.time()

        def dead(seen: Observation) -> bool:
            node = seen.node(2)
            return node is not None and node.stale

        # Ray drops it after 10 s and more: then it would not be there at all.
        seen = watcher.until(dead)
        lost = seen.nodes[2]
        assert lost.error in (ORPHANED, "its sampler died")
        assert [one.memory_used for one in lost.devices] == [0, USED[2]]
        sys.stdout.write(f"stale {seen.time - killed:.1f} s after its raylet was killed\n")
        watcher.until(lambda seen: well(seen, 0, 1))
        wait_until_gone(sampler, 20.0)
