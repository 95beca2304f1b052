"""Who is on which GPU of a real Ray node: our ranks, programs that know nothing of placetui, and others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from placetui.observe.recording.reader import Recording
from tests.runtime.conftest import Finished, TestCluster, node, running_cluster
from tests.telemetry.standin import StandIn

pytestmark = [pytest.mark.ray, pytest.mark.slow]

GIB = 2**30
SECRET = "hunter2"

JOB = """
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-1
    rollout: 0-1
placetui:
  launch:
    actor: {worker: "workers:Trainer"}
    rollout: {worker: "workers:Engine"}
"""

WORKERS = """
import os, subprocess, sys

def hold(gpu, pid, amount):
    path = os.path.join(os.environ["STANDIN_PROCDIR"], f"{gpu}.{pid}")
    with open(path + ".new", "w") as file:
        file.write(amount)
    os.rename(path + ".new", path)

class Trainer:
    "Offloaded: it holds nothing."

class Engine:
    def __init__(self):
        gpu = os.environ["CUDA_VISIBLE_DEVICES"]
        hold(gpu, os.getpid(), "1G")
        # As engines do: the memory is in a process of its own.
        wait = "import os, sys, time\\nwhile os.path.isdir(sys.argv[1]): time.sleep(0.5)"
        command = [sys.executable, "-c", wait, os.environ["STANDIN_PROCDIR"]]
        self.child = subprocess.Popen(command, start_new_session=True)
        hold(gpu, self.child.pid, "60G")
"""

FRACTIONS = """
import os, sys, time
import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
sys.path.insert(0, sys.argv[2])
from workers import hold

ray.init(address=sys.argv[1], namespace="verl", log_to_driver=False)
group = placement_group([{"GPU": 1, "CPU": 1}] * 2)
ray.get(group.ready())

@ray.remote(num_gpus=0.5, num_cpus=0)
class WorkerDict:
    def hold(self, amount):
        hold(ray.get_gpu_ids()[0], os.getpid(), amount)

actors = [
    WorkerDict.options(
        name=f"wg_{rank}",
        scheduling_strategy=PlacementGroupSchedulingStrategy(group, rank),
        runtime_env={"env_vars": {"RANK": str(rank), "WANDB_API_KEY": sys.argv[3], "PYTHONPATH": sys.argv[2]}},
    ).remote()
    for rank in range(2)
]
ray.get(actors[0].hold.remote("7G"))
ray.get(actors[1].hold.remote("0"))
print("ready", flush=True)
time.sleep(600)
"""

NO_BOOKS = """
import os, sys, time
import ray
ray.init(address=sys.argv[1], namespace="RLinf", log_to_driver=False)

@ray.remote(num_cpus=0)
class Worker:
    def hold(self, path):
        sys.path.insert(0, path)
        from workers import hold
        hold(os.environ["CUDA_VISIBLE_DEVICES"], os.getpid(), "9G")

worker = Worker.options(runtime_env={"env_vars": {
    "CUDA_VISIBLE_DEVICES": "5",
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1",
    "GROUP_NAME": "RolloutGroup",
    "RANK": "0",
    "TOKEN": sys.argv[3],
}}).remote()
ray.get(worker.hold.remote(sys.argv[2]))
print("ready", flush=True)
time.sleep(600)
"""


@dataclass
class Scene:
    """A node of eight GPUs with a lot going on."""

    cluster: TestCluster
    driver: StandIn
    directory: Path
    foreign: subprocess.Popen[bytes]

    @property
    def file(self) -> Path:
        return self.directory / "ppo.yaml"

    def top(self, *arguments: str | Path) -> Finished:
        return self.cluster.run("top", "--once", "--json", *arguments)

    def devices(self) -> list[dict[str, Any]]:
        done = self.top()
        assert done.code == 0, done.err
        seen = json.loads(done.out)
        assert seen["source"] == "ray"
        (one,) = seen["nodes"]
        devices: list[dict[str, Any]] = one["devices"]
        return devices

    def hold(self, gpu: int, pid: int, amount: str) -> None:
        (self.directory / "held" / f"{gpu}.{pid}").write_text(amount)


@pytest.fixture(scope="module")
def scene(standin_library: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("scene")
    (directory / "held").mkdir()
    (directory / "workers.py").write_text(WORKERS)
    (directory / "ppo.yaml").write_text(JOB)
    driver = StandIn(standin_library, directory)
    driver.configure(f"procdir = {directory / 'held'}\n[gpu 7]\nused = 5G\nproc = 4000001 2G\n")
    variables = {**driver.variables, "STANDIN_PROCDIR": str(directory / "held")}
    started: list[subprocess.Popen[Any]] = []
    with running_cluster([node(8, env_vars=variables)]) as cluster:
        try:
            done = cluster.up(directory / "ppo.yaml", PYTHONPATH=str(directory))
            assert done.code == 0, done.err
            for text in (FRACTIONS, NO_BOOKS):
                command = [sys.executable, "-c", text, cluster.address, str(directory), SECRET]
                program = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=cluster.environment()
                )
                started.append(program)
                assert program.stdout is not None
                assert program.stdout.readline() == "ready\n"
            foreign = subprocess.Popen(["sleep", "600"])
            started.append(foreign)
            scene = Scene(cluster, driver, directory, foreign)
            scene.hold(6, foreign.pid, "3G")
            yield scene
        finally:
            for process in started:
                process.kill()
                process.communicate()
            # What outlives its rank, as engines do, goes with it.
            shutil.rmtree(directory / "held")


def held(device: dict[str, Any]) -> dict[str, int]:
    return {one["kind"]: one["memory"] for one in device["processes"]}


def test_everybody_is_named(scene: Scene) -> None:
    devices = scene.devices()
    # A rank, and the process that its engine started.
    for rank in (0, 1):
        own, child = sorted(devices[rank]["processes"], key=lambda one: one["memory"])
        expected = {"component": "rollout", "rank": rank, "job": "ppo", "kind": "rank", "actor": f"ppo/rollout:{rank}"}
        assert own.items() >= {**expected, "memory": GIB}.items()
        assert child.items() >= {**expected, "memory": 60 * GIB}.items()
        claims = {one["component"]: one for one in devices[rank]["claims"]}
        assert {name: one["held"] for name, one in claims.items()} == {"actor": 0, "rollout": 61 * GIB}
        assert {name: one["reserved"] for name, one in claims.items()} == {"actor": 0.8, "rollout": 0.2}
    # Fractions of GPUs in a group of somebody else's; the second holds nothing yet.
    holding, waiting = devices[2], devices[3]
    (process,) = holding["processes"]
    assert process.items() >= {"kind": "actor", "actor": "wg_0", "memory": 7 * GIB, "component": None}.items()
    assert waiting["processes"] == [] or waiting["processes"][0]["memory"] == 0
    (claim,) = waiting["claims"]
    assert claim.items() >= {"actor": "wg_1", "class": "WorkerDict", "namespace": "verl", "reserved": 0.5}.items()
    assert (claim["claimed"], claim["held"]) == (False, 0)
    assert (bool(claim["placement_group"]), claim["bundle"]) == (True, 1)
    assert claim["job"] == process["job"] != "ppo"
    # No accounting at all: it claims, and holds.
    (claim,) = devices[5]["claims"]
    assert claim.items() >= {"class": "Worker", "namespace": "RLinf", "reserved": None, "claimed": True}.items()
    assert claim["held"] == 9 * GIB
    assert held(devices[4]) == {}
    # Outside Ray, and outside everything.
    (process,) = devices[6]["processes"]
    assert process.items() >= {"pid": scene.foreign.pid, "kind": "foreign", "memory": 3 * GIB, "actor": None}.items()
    gone, unseen = sorted(devices[7]["processes"], key=lambda one: one["memory"])
    assert gone.items() >= {"pid": 4000001, "kind": "gone", "memory": 2 * GIB}.items()
    assert unseen.items() >= {"pid": 0, "kind": "gone", "memory": 5 * GIB}.items()


def test_placement_groups_are_shown_whoever_made_them(scene: Scene) -> None:
    groups = {one["namespace"]: one for one in json.loads(scene.top().out)["groups"]}
    assert (groups["placetui"]["name"], len(groups["placetui"]["bundles"])) == ("ppo", 2)
    assert groups["verl"]["bundles"] == [{"node": 0, "gpus": 1.0, "cpus": 1.0}] * 2
    assert {one["state"] for one in groups.values()} == {"created"}


def test_nothing_secret_is_shown(scene: Scene) -> None:
    done = scene.top()
    assert done.code == 0, done.err
    assert SECRET not in done.out + done.err
    # Not in what travels either.
    with scene.cluster.head() as head:
        assert SECRET not in repr(head.living_actors())
        assert "RolloutGroup" in repr(head.living_actors())


def test_a_healthy_job_whose_trainer_is_offloaded_has_no_drift(scene: Scene) -> None:
    done = scene.top(scene.file)
    assert (done.code, json.loads(done.out)["drift"]) == (0, []), done.err
    seen = json.loads(done.out)
    assert seen["job"] == "ppo"
    assert {(one["component"], one["rank"], one["state"]) for one in seen["ranks"]} == {
        (name, rank, "alive") for name in ("actor", "rollout") for rank in (0, 1)
    }


def test_a_launch_on_gpus_that_others_use_is_refused(scene: Scene) -> None:
    """Ray's books say that GPUs 4 to 7 are free: NVML and environments know better."""

    def look(rule: str, *more: str) -> Finished:
        file = scene.directory / "wanted.yaml"
        file.write_text(f"cluster:\n  num_nodes: 1\n  component_placement:\n    actor: {rule}\n")
        return scene.cluster.up(file, "--dry-run", *more)

    assert look("4").code == 0
    done = look("4-7")
    assert (done.code, done.last["step"], done.last["during"]) == (3, "failed", "check")
    used = {one["gpu_id"]: one["used_by"] for one in done.last["used"]}
    assert used.keys() == {"5", "6", "7"}
    assert "Worker" in used["5"][0]
    assert f"pid {scene.foreign.pid}" in used["6"][0]
    assert "--on-used-gpus" in done.last["hint"]
    assert SECRET not in done.out + done.err
    assert look("4-7", "--on-used-gpus").code == 0


def test_somebody_else_on_a_planned_gpu_is_drift_and_exit_1(scene: Scene) -> None:
    scene.hold(0, scene.foreign.pid, "3G")
    try:
        done = scene.top(scene.file)
        (drift,) = json.loads(done.out)["drift"]
        assert (done.code, drift["kind"], drift["node"], drift["device"]) == (1, "foreign_process", 0, 0)
    finally:
        (scene.directory / "held" / f"0.{scene.foreign.pid}").unlink()


def test_as_text_it_says_who_and_it_can_be_recorded(scene: Scene) -> None:
    recording = scene.directory / "recording"
    done = scene.cluster.run("top", "--once", scene.file, "--record", recording)
    assert done.code == 0, done.err
    recorded = list(Recording(recording))
    assert recorded[-1].device(0, 0) is not None
    assert {claim.actor for claim in recorded[-1].nodes[0].devices[1].claims} == {"ppo/actor:1", "ppo/rollout:1"}
    assert "ppo/rollout:1" in done.out
    assert "ppo/actor:1  (reserved 0.8, uses no memory)" in done.out
    assert done.out.splitlines()[-1] == f"no drift from {scene.file}"


def test_a_rank_that_dies_is_drift_and_its_orphan_is_foreign(scene: Scene) -> None:
    with scene.cluster.head() as head:
        (engine,) = [one for one in head.living_actors() if one.name == "ppo/rollout:1"]
    os.kill(engine.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while True:
        done = scene.top(scene.file)
        kinds = {one["kind"]: one for one in json.loads(done.out)["drift"]}
        if {"dead_rank", "foreign_process"} <= set(kinds):
            break
        assert time.monotonic() < deadline, (done.out, done.err)
    assert done.code == 1
    assert (kinds["dead_rank"]["component"], kinds["dead_rank"]["rank"]) == ("rollout", 1)
    assert kinds["foreign_process"]["device"] == 1


def test_a_job_that_is_not_there_is_missed(scene: Scene) -> None:
    done = scene.top(scene.file, "--job", "another")
    assert done.code == 1
    assert "there is no job another" in done.err
    assert {"missing_rank"} < {one["kind"] for one in json.loads(done.out)["drift"]}
