"""Nodes and the head that die under a job: what is said, what goes on, and what can be done then."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from placetui.cli.cluster import Failed
from tests.runtime.conftest import drivers

if TYPE_CHECKING:
    import subprocess

    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

Write = Callable[..., Path]

QUICKER = {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "4"}
"""Ray takes 15 s to see that a raylet is gone; here 4. A raylet that is merely slow has its 10 s all the same."""

SHORT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
"""How long a head is waited for that was there before."""

LOST = "node lost: down, then up"

SLEEPER = """
import time
class Worker:
    def __init__(self, seconds=0):
        time.sleep(seconds)
    def sleep(self):
        time.sleep(1000)
    def save(self):
        return "saved"
"""


@pytest.fixture
def two_nodes(start_cluster: Callable[..., TestCluster]) -> TestCluster:
    """Two nodes of one GPU; the second may be lost."""
    nodes = [{"gpus": 1, "labels": {"RLINF_NODE_RANK": str(rank)}} for rank in range(2)]
    return start_cluster(*nodes, **QUICKER)


@pytest.fixture
def sleeper(tmp_path: Path) -> str:
    (tmp_path / "sleeping.py").write_text(SLEEPER)
    return str(tmp_path)


def kill(cluster: TestCluster, node: int, kind: str) -> None:
    for pid in cluster.processes[node][kind]:
        os.kill(pid, signal.SIGKILL)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_degraded(cluster: TestCluster, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while cluster.jobs()[0]["state"] != "degraded":
        assert time.monotonic() < deadline, "the loss was not seen"


def kill_head_with_drivers(cluster: TestCluster, number: int) -> None:
    """Kill the head as soon as there were so many drivers."""
    deadline = time.monotonic() + 60
    with cluster.head() as head:
        while drivers(head) < number and time.monotonic() < deadline:
            time.sleep(0.05)
    kill(cluster, 0, "gcs_server")


def end_of(process: subprocess.Popen[str], seconds: float = 30.0) -> tuple[int, str]:
    """Exit code and stderr of a command that must end by itself."""
    begun = time.monotonic()
    _, err = process.communicate(timeout=2 * seconds)
    assert time.monotonic() - begun < seconds
    return process.returncode, err


@pytest.mark.soak
def test_a_node_that_is_lost_under_a_job(two_nodes: TestCluster, write: Write) -> None:
    """Also for ranks that Ray may start again as often as it likes: there is no place for them."""
    launch = "placetui:\n  launch: {rollout: {max_restarts: -1}}\n"
    assert two_nodes.up(write("actor,rollout: 0-1", nodes=2, more=launch)).code == 0
    kill(two_nodes, 1, "raylet")
    wait_until_degraded(two_nodes)
    target: dict[str, Any] = {"address": two_nodes.address, "job": "job", "component": "actor"}
    with two_nodes.child() as child:
        found = child.ask("job", 60, **target)
        assert [(one["state"], one["reason"], one["node"]) for one in found["ranks"]] == [
            ("alive", None, 0),
            ("dead", LOST, 1),
            ("alive", None, 0),
            ("dead", LOST, 1),
        ]
        # The head does not search for a place again and again: bundles belong to their nodes.
        (gcs,) = two_nodes.processes[0]["gcs_server"]
        used, begun = cpu_seconds(gcs), time.monotonic()
        for component in ("actor", "rollout"):
            target["component"] = component
            called = child.ask("call", 60, **target, method="save")
            assert (called["results"], called["failed"]) == ({"0": "save"}, {"1": f"it is dead: {LOST}"})
            for kind in ("logs", "restart"):
                with pytest.raises(Failed, match=rf"{component}:1.*lost"):
                    child.ask(kind, 60, **target, rank=1)
        time.sleep(max(0.0, 3.0 - (time.monotonic() - begun)))
        assert (cpu_seconds(gcs) - used) / (time.monotonic() - begun) < 0.3
    assert f"  rollout:1 dead: {LOST}" in two_nodes.run("ps").out
    assert two_nodes.down("job").code == 0
    two_nodes.assert_clean()
    again = two_nodes.up(write("actor: 0"))
    assert again.code == 0, again.err
    assert two_nodes.jobs()[0]["state"] == "running"


def test_a_node_that_is_lost_during_a_launch(two_nodes: TestCluster, write: Write, sleeper: str) -> None:
    launch = "placetui:\n  launch: {actor: {worker: 'sleeping:Worker', kwargs: {seconds: 1000}}}\n"
    file = write("actor: 0-1", nodes=2, more=launch)
    process = two_nodes.start("up", file, "--yes", "--json", PYTHONPATH=sleeper)
    two_nodes.read_until(process, "launch")
    kill(two_nodes, 1, "raylet")
    code, err = end_of(process, 60.0)
    assert code == 3
    assert "node lost: " in err
    assert "node 1 of the plan, with actor:1" in err
    two_nodes.assert_clean()
    assert two_nodes.jobs() == []
    assert two_nodes.up(write("actor: 0")).code == 0


def test_the_head_that_dies_under_a_job(two_nodes: TestCluster, write: Write, sleeper: str) -> None:
    """Whoever waits hears of it, and so does whoever comes later."""
    file = write("actor: 0", more="placetui:\n  launch: {actor: {worker: 'sleeping:Worker'}}\n")
    assert two_nodes.up(file, PYTHONPATH=sleeper).code == 0
    target: dict[str, Any] = {"address": two_nodes.address, "job": "job", "component": "actor"}
    waiting = [
        two_nodes.start("call", "job", "actor", "sleep", "--timeout", "600", **SHORT),  # type: ignore[arg-type]
        two_nodes.start("logs", "job", "actor:0", "-f", **SHORT),  # type: ignore[arg-type]
    ]
    with two_nodes.child(**SHORT) as child:
        # The launch, the two commands, and the one below.
        threading.Thread(target=kill_head_with_drivers, args=(two_nodes, 4)).start()
        with pytest.raises(Failed, match=f"cluster at {two_nodes.address}"):
            child.ask("call", 90, **target, method="sleep", patience=80)
        # A driver without its head is of no use: a new process does what is asked next.
        first, deadline = child.pid, time.monotonic() + 30
        while child.pid in (first, None):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(Failed, match=f"nothing listens at {two_nodes.address}"):
            child.ask("job", 60, **target)
    for process in waiting:
        code, err = end_of(process)
        assert (code, f"cluster at {two_nodes.address}" in err) == (3, True), err
    later = [
        two_nodes.start("ps"),
        two_nodes.start("call", "job", "actor", "save"),
        two_nodes.start("logs", "job", "actor:0"),
        two_nodes.start("down", "job", "--yes"),
    ]
    for process in later:
        code, err = end_of(process)
        assert (code, f"nothing listens at {two_nodes.address}" in err) == (3, True), err
