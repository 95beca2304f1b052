"""A head that does not answer for a while interrupts no watch: the picture stays, and goes on by itself."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from placetui.observe.model import Observation
from tests.runtime.conftest import TestCluster, node, running_cluster
from tests.runtime.watching import Watcher, watching

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@contextmanager
def silent_head(cluster: TestCluster) -> Iterator[None]:
    heads = cluster.processes[0]["gcs_server"]
    for pid in heads:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in heads:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def cluster() -> Iterator[TestCluster]:
    with running_cluster([node(2)]) as one:
        yield one


def sampled(seen: Observation) -> bool:
    # There is no driver of NVIDIA's here: the memory of the node itself says that its sampler answered.
    return bool(seen.nodes) and seen.nodes[0].memory_total is not None


def is_fresh(seen: Observation) -> bool:
    return sampled(seen) and not seen.nodes[0].stale


def statuses_since(watcher: Watcher, count: int) -> list[str]:
    return [status.link for status in watcher.statuses[count:]]


@pytest.mark.soak
def test_a_silent_head_is_waited_for(cluster: TestCluster, tmp_path: Path) -> None:
    with watching(tmp_path, cluster.address) as watcher:
        watcher.until(sampled)
        child, told = watcher.bridge.pid, len(watcher.statuses)
        with silent_head(cluster):
            time.sleep(60.0)
            # Observations go on, from what is known and from the sampler, which needs no head.
            assert time.time() - watcher.until(sampled).time < 5.0
            assert "lost" in statuses_since(watcher, told)
        watcher.until(lambda _: watcher.statuses[-1].link == "connected", 60.0)
        watcher.until(is_fresh)
        assert statuses_since(watcher, told)[-1] == "connected"
        assert watcher.bridge.pid == child
