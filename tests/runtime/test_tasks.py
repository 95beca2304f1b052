"""Tasks of Ray that hold memory of GPUs, on a real node: named, with their job and what they have reserved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.conftest import TestCluster, node, running_cluster
from tests.runtime.watching import watching
from tests.telemetry.standin import StandIn

pytestmark = [pytest.mark.ray, pytest.mark.slow]

GIB = 2**30
JOB = "cluster: {num_nodes: 1, component_placement: {actor: 0}}\n"

PROGRAM = """
import json, os, subprocess, sys, time
import ray
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

# As the job's: its group is found by name there only.
ray.init(address=sys.argv[1], namespace="placetui", log_to_driver=False)
held = sys.argv[2]
group = ray.util.get_placement_group("ppo")

def hold(gpu, pid, amount):
    with open(f"{held}/{gpu}.{pid}.new", "w") as file:
        file.write(amount)
    os.rename(f"{held}/{gpu}.{pid}.new", f"{held}/{gpu}.{pid}")

def stay():
    while os.path.isdir(held):
        time.sleep(0.2)

@ray.remote(num_gpus=0.5, num_cpus=0)
def train_step():
    # The memory is in a process of its own.
    wait = "import os, sys, time\\nwhile os.path.isdir(sys.argv[1]): time.sleep(0.2)"
    child = subprocess.Popen([sys.executable, "-c", wait, held])
    hold(ray.get_gpu_ids()[0], os.getpid(), "1G")
    hold(ray.get_gpu_ids()[0], child.pid, "4G")
    stay()

@ray.remote(num_gpus=0, num_cpus=0)
def intruder():
    hold(0, os.getpid(), "2G")
    stay()

@ray.remote(num_gpus=0, num_cpus=0, max_calls=0)
def quick():
    hold(3, os.getpid(), "3G")
    return os.getpid()

@ray.remote(num_gpus=1, num_cpus=0)
class Loader:
    def __init__(self):
        hold(ray.get_gpu_ids()[0], os.getpid(), "6G")
        stay()

inside = PlacementGroupSchedulingStrategy(group, 0)
running = [train_step.options(name="warm up").remote(), intruder.options(scheduling_strategy=inside).remote()]
while len(os.listdir(held)) < 3:
    time.sleep(0.1)
loader = Loader.options(name="loader").remote()
while len(os.listdir(held)) < 4:
    time.sleep(0.1)
# The last one: others would take its process.
idle = ray.get(quick.remote())
print("READY" + json.dumps({"idle": idle, "job": ray.get_runtime_context().get_job_id()}), flush=True)
time.sleep(600)
"""


@dataclass
class Scene:
    """A node of four GPUs with a job of ours and a program of tasks."""

    cluster: TestCluster
    file: Path
    idle: int
    job: str

    def top(self, *arguments: str | Path) -> dict[str, Any]:
        done = self.cluster.run("top", "--once", "--json", *arguments)
        assert done.code in (0, 1), done.err
        seen: dict[str, Any] = json.loads(done.out)
        return seen

    def devices(self) -> list[dict[str, Any]]:
        devices: list[dict[str, Any]] = self.top()["nodes"][0]["devices"]
        return devices


@pytest.fixture(scope="module")
def scene(standin_library: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("tasks")
    held = directory / "held"
    held.mkdir()
    (directory / "ppo.yaml").write_text(JOB)
    driver = StandIn(standin_library, directory)
    driver.configure(f"count = 4\nprocdir = {held}\n")
    with running_cluster([node(4, env_vars=driver.variables)]) as cluster:
        done = cluster.up(directory / "ppo.yaml")
        assert done.code == 0, done.err
        with open(directory / "program.log", "wb") as log:
            program = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, cluster.address, str(held)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=cluster.environment(),
            )
        try:
            assert program.stdout is not None
            line = next((line for line in program.stdout if line.startswith("READY")), None)
            assert line is not None, (directory / "program.log").read_text()
            said = json.loads(line.removeprefix("READY"))
            yield Scene(cluster, directory / "ppo.yaml", said["idle"], said["job"])
        finally:
            # What waits for it to go, goes.
            for file in held.iterdir():
                file.unlink()
            held.rmdir()
            program.kill()
            program.communicate()


def test_a_task_is_named_with_its_job_and_its_part_and_so_are_its_children(scene: Scene) -> None:
    devices = scene.devices()
    (device,) = [one for one in devices if any(claim["actor"] == "Ray task warm up" for claim in one["claims"])]
    own, child = sorted(device["processes"], key=lambda one: one["memory"])
    expected = {"kind": "foreign", "actor": "Ray task warm up", "job": scene.job, "component": None}
    assert own.items() >= {**expected, "memory": GIB}.items()
    assert child.items() >= {**expected, "memory": 4 * GIB}.items()
    (claim,) = device["claims"]
    assert claim.items() >= {"reserved": 0.5, "held": 5 * GIB, "placement_group": None}.items()


def test_a_worker_that_kept_memory_after_its_task_is_told(scene: Scene) -> None:
    found = [one for device in scene.devices() for one in device["processes"] if one["pid"] == scene.idle]
    (kept,) = found
    assert (kept["kind"], kept["actor"], kept["job"]) == ("foreign", "Ray worker without a task", scene.job)


def test_an_actor_that_is_still_in_its_constructor_is_itself(scene: Scene) -> None:
    found = [one for device in scene.devices() for one in device["processes"] if one["memory"] == 6 * GIB]
    (loader,) = found
    assert (loader["kind"], loader["actor"]) == ("actor", "loader")


def test_a_task_in_the_group_of_our_job_is_a_stranger_there(scene: Scene) -> None:
    seen = scene.top(scene.file)
    (drift,) = seen["drift"]
    assert (drift["kind"], drift["node"], drift["device"]) == ("stranger_in_group", 0, 0)
    assert drift["message"].startswith(f"Ray task intruder of job {scene.job} (pid ")
    (claim,) = [one for one in seen["nodes"][0]["devices"][0]["claims"] if one["component"] is None]
    assert (claim["actor"], claim["placement_group"], claim["reserved"]) == ("Ray task intruder", "ppo", None)
    text = scene.cluster.run("top", "--once", scene.file)
    assert text.code == 1
    assert "Ray task intruder" in text.out


def test_a_raylet_that_does_not_answer_delays_nobody_and_is_not_waited_for(scene: Scene) -> None:
    with watching(scene.cluster.directory, scene.cluster.address) as watcher:

        def tasks() -> set[str | None]:
            seen = watcher.updates[-1] if watcher.updates else None
            return {one.actor for device in (seen.nodes[0].devices if seen else ()) for one in device.processes}

        watcher.until(lambda _: {"Ray task warm up", "Ray task intruder"} <= tasks())
        # A raylet asks all of its workers before it answers.
        os.kill(scene.idle, signal.SIGSTOP)
        try:
            first = len(watcher.updates)
            # Several questions are asked in this time.
            watcher.until(lambda _: len(watcher.updates) >= first + 10, 60)
            times = [one.time for one in watcher.updates[first:]]
            assert max(after - before for before, after in pairwise(times)) < 5
            assert not watcher.updates[-1].nodes[0].stale
            # What it said before is kept; for one who has not heard it they are processes that are foreign.
            assert {"Ray task warm up", "Ray task intruder"} <= tasks()
            kinds = {one["actor"]: one["kind"] for device in scene.devices() for one in device["processes"]}
            assert kinds == {"loader": "actor", None: "foreign"}
        finally:
            os.kill(scene.idle, signal.SIGCONT)
