"""Ray in a container with process numbers of its own, and somebody who looks from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from placetui.observe.model import Observation, ProcessSample
from tests.runtime.heads import free_port, head, holders, own_address
from tests.runtime.watching import watching
from tests.telemetry.container import UNSHARE, need_containers, number_outside
from tests.telemetry.standin import StandIn

pytestmark = [pytest.mark.ray, pytest.mark.slow]

GIB = 2**30


def listed(seen: Observation) -> list[ProcessSample]:
    """The processes on the first GPU of the only node, and on the second."""
    return [one for device in (seen.nodes[0].devices if seen.nodes else ()) for one in device.processes]


def test_actors_in_a_container_are_known_by_its_own_numbers_only(
    standin_library: Callable[[int], Path], tmp_path: Path
) -> None:
    need_containers()
    driver = StandIn(standin_library, tmp_path)
    driver.configure("count = 2\n")
    port = free_port()
    address = f"{own_address()}:{port}"
    with head(driver, port, None, around=UNSHARE) as outer, watching(tmp_path, address) as watcher:
        watcher.until(lambda seen: seen.nodes, 120)
        with holders(address, 2, tmp_path) as actors:
            gpus = [(int(word), pid) for word, pid in actors]
            held = "".join(f"[gpu {gpu}]\nproc = {pid} {gpu + 1}G\n" for gpu, pid in gpus)
            driver.configure(f"count = 2\n{held}")
            seen = watcher.until(lambda seen: {one.kind for one in listed(seen)} == {"actor"}, 60)
            names = {pid: f"holder-{number}" for number, (_, pid) in enumerate(actors)}
            assert {one.pid: one.actor for one in listed(seen)} == names
            # An older driver tells the host's numbers. One of them is that of an actor inside, by chance.
            (_, first), (_, second) = gpus
            outside = number_outside(outer.pid, second)
            driver.configure(f"count = 2\n[gpu 0]\nproc = {first} 9G\n[gpu 1]\nproc = {outside} 9G\n")
            pids = {first, outside}
            seen = watcher.until(lambda seen: {one.pid for one in listed(seen) if one.memory == 9 * GIB} == pids, 60)
            for one in listed(seen):
                assert (one.kind, one.actor, one.command) == ("foreign", None, None)
                assert "is not visible here" in (one.note or "")
            # What is reserved is known all the same.
            claims = {claim.actor: claim.reserved for device in seen.nodes[0].devices for claim in device.claims}
            assert claims == {"holder-0": 1.0, "holder-1": 1.0}
