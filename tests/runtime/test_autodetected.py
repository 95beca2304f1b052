"""A real Ray node that finds its GPUs by itself, on the stand-in for NVML: which of them is which of Ray's."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from placetui.observe.model import Observation
from tests.runtime.heads import free_port, head, holders, own_address
from tests.runtime.watching import all_read, watching
from tests.telemetry.standin import StandIn

pytestmark = [pytest.mark.ray, pytest.mark.slow]

GIB = 2**30
CONFIG = "".join(f"[gpu {index}]\nused = {index + 1}G\n" for index in range(8))


@pytest.fixture
def driver(standin_library: Callable[[int], Path], tmp_path: Path) -> StandIn:
    one = StandIn(standin_library, tmp_path)
    one.configure(CONFIG)
    return one


def gigabytes(seen: Observation) -> list[float | None]:
    return [one.memory_used and one.memory_used / GIB for one in seen.nodes[0].devices]


@pytest.mark.soak
def test_gpus_are_those_of_the_list_and_a_head_that_dies_is_found_again(driver: StandIn, tmp_path: Path) -> None:
    port = free_port()
    with watching(tmp_path, f"{own_address()}:{port}") as watcher:
        watcher.until_told(lambda status: status.link == "lost" and "nothing listens" in status.message)
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


def names_on(seen: Observation) -> list[list[str | None]]:
    """By GPU, those who hold memory; pid 0 is what was in use before."""
    return [[process.actor for process in device.processes if process.pid] for device in seen.nodes[0].devices]


def test_instances_of_a_divided_gpu_are_gpus_of_ray_and_their_processes_its_actors(
    driver: StandIn, tmp_path: Path
) -> None:
    held = tmp_path / "held"
    held.mkdir()
    # Seven places, three of them taken; a whole board before and after it.
    divided = "mig = 1\nmig_device = 1 0 20G 1G\nmig_device = 2 0 20G 2G\nmig_device = 5 0 40G 4G\n"
    driver.configure(f"count = 3\nprocdir = {held}\n[gpu 0]\nused = 9G\n[gpu 1]\n{divided}[gpu 2]\nused = 8G\n")
    with driver.reader() as reader:
        _, *instances, _ = [device["uuid"] for device in reader.read()["devices"]]
    assert all(uuid.startswith("MIG-") for uuid in instances)
    # The last one first, and the one in between not at all.
    words = [instances[2], instances[0]]
    port = free_port()
    address = f"{own_address()}:{port}"
    with head(driver, port, ",".join(words), "--num-gpus=2"), watching(tmp_path, address) as watcher:
        seen = watcher.until(lambda seen: seen.nodes and all_read(seen), 120)
        assert [(one.index, one.uuid) for one in seen.nodes[0].devices] == [(0, words[0]), (1, words[1])]
        assert gigabytes(seen) == [4, 1]
        assert [(one.memory_total or 0) / GIB for one in seen.nodes[0].devices] == [40, 20]
        with holders(address, 2, tmp_path) as actors:
            assert sorted(word for word, _ in actors) == sorted(words)
            place = {words.index(word): (number, pid) for number, (word, pid) in enumerate(actors)}
            # By instance: 5 is Ray's first GPU, 1 its second.
            (held / f"1.{place[0][1]}").write_text("30G 5 0")
            (held / f"1.{place[1][1]}").write_text("10G 1 0")
            expected = [[f"holder-{place[0][0]}"], [f"holder-{place[1][0]}"]]
            seen = watcher.until(lambda seen: names_on(seen) == expected, 60)
            assert gigabytes(seen) == [34, 11]
            for index, device in enumerate(seen.nodes[0].devices):
                (process,), (claim,) = [one for one in device.processes if one.pid], device.claims
                assert (process.kind, process.pid) == ("actor", place[index][1])
                assert (claim.actor, claim.reserved, claim.claimed) == (expected[index][0], 1.0, False)
                assert device.held_by(claim) == [30 * GIB, 10 * GIB][index]


def test_a_divided_gpu_that_ray_counts_as_one_is_one(driver: StandIn, tmp_path: Path) -> None:
    divided = "mig = 1\nmig_device = 1 0 20G 1G\nmig_device = 2 0 20G 2G\n"
    driver.configure(f"count = 2\n[gpu 0]\n{divided}[gpu 1]\nused = 8G\n")
    port = free_port()
    with head(driver, port, None), watching(tmp_path, f"{own_address()}:{port}") as watcher:
        seen = watcher.until(lambda seen: seen.nodes and all_read(seen), 120)
        assert gigabytes(seen) == [3, 8]
        assert "divided by MIG into 2 instances" in (seen.nodes[0].devices[0].error or "")


USED = "[gpu 0]\nused = 1G\n[gpu 1]\nused = 2G\n[gpu 2]\nused = 3G\n"
MIXED = f"count = 4\nprocdir = {{held}}\n[gpu 0-1]\nname = NVIDIA A2\n{USED}"


def test_boards_of_several_kinds_are_told_by_uuid_and_doubted_by_number(driver: StandIn, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.mkdir()
    driver.configure(MIXED.format(held=held))
    with driver.reader() as reader:
        uuids = [device["uuid"] for device in reader.read()["devices"]]
    port = free_port()
    address = f"{own_address()}:{port}"
    doubt = "it may be another GPU"
    # A number between two UUIDs, in an order that is nobody's.
    words = [uuids[2], "1", uuids[0]]
    with head(driver, port, ",".join(words)), watching(tmp_path, address) as watcher:
        seen = watcher.until(lambda seen: seen.nodes and all_read(seen), 120)
        assert gigabytes(seen) == [3, 2, 1]
        assert [doubt in (one.error or "") for one in seen.nodes[0].devices] == [False, True, False]
        with holders(address, 3, tmp_path) as actors:
            place = {words.index(word): (number, pid) for number, (word, pid) in enumerate(actors)}
            for slot, board in enumerate((2, 1, 0)):
                (held / f"{board}.{place[slot][1]}").write_text("5G")
            expected = [[f"holder-{place[slot][0]}"] for slot in range(3)]
            seen = watcher.until(lambda seen: names_on(seen) == expected, 60)
            assert gigabytes(seen) == [8, 7, 6]
            assert [[claim.actor for claim in one.claims] for one in seen.nodes[0].devices] == expected
