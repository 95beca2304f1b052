"""A node on which nothing runs is not sampled, so that an open dashboard does not keep it from being scaled down."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from placetui.observe.model import Observation
from placetui.runtime.gcs.client import _channel_opener
from placetui.runtime.gcs.model import SAMPLER_NAMESPACE, RayActor, RayNode, Tables
from placetui.runtime.watch.samplers import LINGER, UsedNodes
from tests.runtime.conftest import TestCluster, node, running_cluster
from tests.runtime.watching import OCCUPY, watching

NODES = tuple(RayNode(name, "10.0.0.1", resources={"CPU": 4, "GPU": 2}, head=name == "head") for name in ("head", "a"))
FREE: dict[str, dict[str, float]] = {name: {"CPU": 4, "GPU": 2} for name in ("head", "a")}

END = """
import json, sys, ray
ray.init(namespace="occupants")
for node in sys.argv[1:]:
    ray.kill(ray.get_actor(node))
print(json.dumps({"ended": True}))
"""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def used(*actors: RayActor, available: dict[str, dict[str, float]] = FREE) -> set[str]:
    return set(UsedNodes().update(Tables(NODES, actors, available=available)))


def test_the_head_counts_as_used_and_a_node_without_anything_does_not() -> None:
    assert used() == {"head"}
    assert used(RayActor("s", namespace=SAMPLER_NAMESPACE, node="a")) == {"head"}
    assert used(RayActor("d", state="DEAD", node="a")) == {"head"}


def test_actors_tasks_and_reservations_count() -> None:
    assert used(RayActor("x", node="a")) == {"head", "a"}
    assert used(RayActor("x", node="a", state="PENDING_CREATION")) == {"head", "a"}
    assert used(available={**FREE, "a": {"CPU": 3.5, "GPU": 2}}) == {"head", "a"}
    # Of a resource that is used up Ray says nothing.
    assert used(available={**FREE, "a": {"CPU": 4}}) == {"head", "a"}


def test_a_node_is_idle_a_moment_after_the_last_thing_ended() -> None:
    clock = Clock()
    nodes = UsedNodes(clock)
    busy, idle = Tables(NODES, (RayActor("x", node="a"),), available=FREE), Tables(NODES, available=FREE)
    assert "a" in nodes.update(busy)
    clock.now += LINGER - 0.1
    assert "a" in nodes.update(idle)
    clock.now += 0.2
    assert "a" not in nodes.update(idle)
    assert "a" in nodes.update(busy)


def idle_seconds(cluster: TestCluster, node: str) -> float:
    """For how long a raylet is idle, as the autoscaler reads it; 0 if it is not."""
    from ray.core.generated import autoscaler_pb2, autoscaler_pb2_grpc

    messages: Any = autoscaler_pb2
    stubs: Any = autoscaler_pb2_grpc
    request = messages.GetClusterResourceStateRequest(last_seen_cluster_resource_state_version=0)
    with closing(_channel_opener()(cluster.address)) as channel:
        reply = stubs.AutoscalerStateServiceStub(channel).GetClusterResourceState(request, timeout=10)
    (state,) = [one for one in reply.cluster_resource_state.node_states if one.node_id.hex() == node]
    return float(state.idle_duration_ms) / 1000 if state.status == messages.NodeStatus.Value("IDLE") else 0.0


def drain(cluster: TestCluster, node: str) -> None:
    """As a cloud that is about to take a node away."""
    from ray.core.generated import autoscaler_pb2, autoscaler_pb2_grpc

    messages: Any = autoscaler_pb2
    stubs: Any = autoscaler_pb2_grpc
    request = messages.DrainNodeRequest(
        node_id=bytes.fromhex(node),
        reason=messages.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION"),
        reason_message="the spot price rose",
        deadline_timestamp_ms=int((time.time() + 120) * 1000),
    )
    with closing(_channel_opener()(cluster.address)) as channel:
        assert stubs.AutoscalerStateServiceStub(channel).DrainNode(request, timeout=10).is_accepted


def state_of(seen: Observation, rank: int = 1) -> str:
    found = seen.node(rank)
    return found.state if found else ""


@pytest.mark.ray
@pytest.mark.slow
def test_an_idle_node_stays_idle_under_an_open_dashboard(tmp_path: Path) -> None:
    labels = [{"RLINF_NODE_RANK": str(rank)} for rank in range(2)]
    with running_cluster([node(2, labels=one) for one in labels]) as cluster:
        worker = cluster.nodes[1]
        with watching(tmp_path, cluster.address) as watcher:
            seen = watcher.until(lambda seen: len(seen.nodes) == 2 and state_of(seen) == "idle")
            before, began = idle_seconds(cluster, worker), time.monotonic()
            time.sleep(15.0)
            after, watched = idle_seconds(cluster, worker), time.monotonic() - began
            sys.stdout.write(f"idle for {before:.1f} s, and for {after:.1f} s after {watched:.1f} s of watching\n")
            assert after - before > watched - 3.0
            seen = watcher.until(lambda seen: state_of(seen) == "idle")
            assert not seen.nodes[1].stale
            assert {one.error for one in seen.nodes[1].devices} == {"idle, not sampled"}
            # In use it is sampled, and no longer than that.
            cluster.python(OCCUPY, worker)
            watcher.until(lambda seen: state_of(seen) == "up" and seen.nodes[1].memory_total)
            wait_until(lambda: idle_seconds(cluster, worker) == 0.0)
            cluster.python(END, worker)
            seen = watcher.until(lambda seen: state_of(seen) == "idle")
            assert not seen.nodes[1].stale
            wait_until(lambda: idle_seconds(cluster, worker) > 0.0)


def wait_until(true: Callable[[], bool]) -> None:
    """Raylets report at intervals."""
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.soak
def test_a_node_that_is_taken_away_is_draining_while_something_runs_on_it(tmp_path: Path) -> None:
    labels = [{"RLINF_NODE_RANK": str(rank)} for rank in range(2)]
    with running_cluster([node(2, labels=one) for one in labels]) as cluster:
        cluster.python(OCCUPY, cluster.nodes[1])
        with watching(tmp_path, cluster.address) as watcher:
            watcher.until(lambda seen: state_of(seen) == "up" and seen.nodes[1].memory_total)
            drain(cluster, cluster.nodes[1])
            seen = watcher.until(lambda seen: state_of(seen) == "draining")
            assert not seen.nodes[1].stale
            assert seen.nodes[1].memory_total
