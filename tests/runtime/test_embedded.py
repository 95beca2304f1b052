"""Without a cluster: assumed nodes cost nothing, and an embedded Ray is there from the first launch to the end."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import time
import traceback
from typing import TYPE_CHECKING

import pytest

import placetui
from placetui.runtime.api.session import same_head

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

PROGRAM = """
import json, os, sys
import placetui
from placetui import Cluster, Node, PackedPlacementStrategy, Worker

class Where(Worker):
    def __init__(self):
        super().__init__()

    def see(self):
        return [self._rank, os.environ["CLUSTER_NODE_RANK"], os.environ["CUDA_VISIBLE_DEVICES"], os.getpid()]

cluster = Cluster(nodes=[Node(gpus=1), Node(gpus=2)])
found = {"before": "ray" in sys.modules}
group = Where.create_group().launch(cluster, PackedPlacementStrategy(0, 2))
found["seen"] = group.see().wait()
try:
    Where.create_group().launch(Cluster(nodes=[Node(gpus=1)] * 3), PackedPlacementStrategy(0, 2), name="other")
except placetui.ClusterError as problem:
    found["fewer"] = str(problem)
print(json.dumps(found))
"""


@pytest.mark.ray
@pytest.mark.slow
def test_an_embedded_ray_lives_from_the_first_launch_to_the_end(nowhere: TestCluster) -> None:
    found = nowhere.python(PROGRAM, RAY_ADDRESS="local")
    assert not found["before"]
    assert [one[:3] for one in found["seen"]] == [[0, "0", "0"], [1, "1", "0"], [2, "1", "1"]]
    assert found["fewer"].startswith("3 nodes are planned, the cluster at ")
    deadline = time.monotonic() + 60
    while left := [pid for *_, pid in found["seen"] if os.path.exists(f"/proc/{pid}")]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes of exceptions came with Python 3.11")
def test_a_program_that_catches_nothing_still_shows_the_hint() -> None:
    problem = placetui.ClusterError("no room", hint="stop what holds it")
    assert traceback.format_exception_only(problem)[1:] == ["hint: stop what holds it\n"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1:6379", "10.0.0.1:6379", True),
        ("localhost:6379", "127.0.0.1:6379", True),
        ("127.0.0.2:6379", "127.0.0.1:6379", True),  # both are this machine
        ("127.0.0.1:6379", "127.0.0.1:6380", False),
        ("192.0.2.250:6379", "127.0.0.1:6379", False),
        ("no.such.host.invalid:6379", "127.0.0.1:6379", False),
    ],
)
def test_addresses_of_one_head(one: str, other: str, same: bool) -> None:
    assert same_head(one, other) is same


def test_a_job_without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "local")
    with pytest.raises(placetui.ClusterError, match="no Ray cluster was found on this machine"):
        placetui.attach("conf")


def test_assumed_nodes_need_no_ray() -> None:
    code = (
        "import sys, placetui\n"
        "cluster = placetui.Cluster(2)\n"
        "print(cluster.num_accelerators, cluster.address, 'ray' in sys.modules)\n"
        "print(isinstance(cluster, placetui.placement.topology.Topology))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "RAY_ADDRESS": "local"},
    )
    assert done.stdout == "16 None False\nTrue\n"


class Idle(placetui.Worker):
    """Does nothing."""


def test_a_group_that_was_not_launched_says_so_and_can_be_copied() -> None:
    group = Idle.create_group()
    with pytest.raises(placetui.ClusterError, match="the group `Idle` does not run"):
        group.begin("anything")
    with pytest.raises(AttributeError, match="neither the group nor its `Idle` has a method `nonsense`"):
        group.nonsense  # noqa: B018
    assert copy.copy(group).handles == []
