"""A cluster that grows: Ray's own autoscaler, with Ray's stand-in for a cloud, whose machines are raylets here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.runtime.conftest import TestCluster
from tests.runtime.heads import free_port, own_address

pytestmark = [pytest.mark.ray, pytest.mark.slow]

HEAD = "f" * 51 + "00000"
"""The id of the head's node that the stand-in expects."""


def configuration(address: str) -> dict[str, object]:
    """Machines of two GPUs, two at most, none as long as nobody asks."""
    commands = ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray", "worker_start_ray")
    machine = {"CPU": 4, "GPU": 2, "object_store_memory": 100_000_000}
    return {
        "cluster_name": "growing",
        "max_workers": 2,
        "provider": {
            "type": "fake_multinode",
            "gcs_address": address,
            "head_node_id": HEAD,
            "launch_multiple": True,
        },
        "available_node_types": {
            "ray.head.default": {"resources": {"CPU": 4}, "node_config": {}, "max_workers": 0},
            "machine": {"resources": machine, "node_config": {}, "min_workers": 0, "max_workers": 2},
        },
        "head_node_type": "ray.head.default",
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": 5.0,
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "cluster_synced_files": [],
        "file_mounts_sync_continuously": False,
        "rsync_exclude": [],
        "rsync_filter": [],
        **{f"{name}_commands": [] for name in commands},
    }


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, path.read_text().split()):
                found += [child, *descendants(child)]
    return found


@pytest.fixture
def growing() -> Iterator[TestCluster]:
    """A head without GPUs, and an autoscaler that may start machines."""
    directory = Path(tempfile.mkdtemp(prefix="pt-grow-"))
    port = free_port()
    address = f"{own_address()}:{port}"
    (directory / "scaling.json").write_text(json.dumps(configuration(address)))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {
        "HOME": str(directory),
        "RAY_FAKE_CLUSTER": "1",
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD,
        "RAY_CLOUD_INSTANCE_ID": HEAD,
        "RAY_enable_worker_prestart": "0",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
    }
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--temp-dir={directory}"]
    command += [f"--port={port}", "--num-cpus=4", "--num-gpus=0", "--object-store-memory=100000000"]
    command += ["--include-dashboard=false", f"--dashboard-port={free_port()}"]
    command += ["--min-worker-port=0", "--max-worker-port=0", f"--autoscaling-config={directory}/scaling.json"]
    with (directory / "head.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    cluster = TestCluster(address, [], [], directory)
    try:
        deadline = time.monotonic() + 90
        while cluster.run("ps").code:
            assert process.poll() is None, (directory / "head.log").read_text()
            assert time.monotonic() < deadline
        yield cluster
    finally:
        # The machines are children of the autoscaler, and would look for their head for a minute.
        for pid in [*descendants(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def test_a_node_of_the_plan_is_asked_for_and_comes(growing: TestCluster, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("slime: {actor_num_nodes: 1, actor_num_gpus_per_node: 2, num_gpus_per_node: 2, colocate: true}\n")
    done = growing.up(file, "--wait-for-nodes", "100", "--job", "grown")
    assert done.code == 0, done.err + "".join(
        path.read_text()[-3000:] for path in growing.directory.glob("session_latest/logs/monitor.*")
    )
    waiting = [event["waiting_for"] for event in done.events if "waiting_for" in event]
    assert waiting[0] == "the plan needs 1 node, 1 are there"
    assert {one["node_rank"] for one in done.last["ranks"]} == {0}
    assert growing.down("grown").code == 0
