"""A job with verl's names, groups and bundles on real Ray: followed where Ray put it, until a server dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.conftest import TestCluster, node, running_cluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

FILE = """\
trainer: {nnodes: 1, n_gpus_per_node: 2}
algorithm: {adv_estimator: grpo}
actor_rollout_ref: {rollout: {name: vllm}}
distillation: {enabled: true, nnodes: 1, n_gpus_per_node: 2}
"""

JOB = """
import os, time
import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ray.init(log_to_driver=False)

class Base:
    def __init__(self, name):
        print("hello from", name, flush=True)

    def init_model(self):
        return os.getpid()

def create_colocated_worker_cls():
    class WorkerDict(Base):
        def actor_rollout_init_model(self):
            return os.getpid()
    return WorkerDict

def named(name):
    return type(name, (Base,), {})

def workers(group, kind, prefix):
    made = []
    for rank in range(2):
        env = {"RANK": str(rank), "WORLD_SIZE": "2", "RAY_LOCAL_WORLD_SIZE": "2", "WG_PREFIX": prefix}
        name = f"{prefix}{kind.__name__}_0:{rank}"
        where = PlacementGroupSchedulingStrategy(group, rank)
        made.append(ray.remote(kind).options(
            name=name, num_cpus=1, num_gpus=1 / 3, scheduling_strategy=where, runtime_env={"env_vars": env}
        ).remote(name))
    return made

def server(name):
    return ray.remote(named("vLLMHttpServer")).options(name=name, num_cpus=0).remote(name)

def group(pool):
    made = placement_group([{"GPU": 1, "CPU": 3}] * 2, "STRICT_PACK", name=f"{pool}verl_group_2:0")
    ray.get(made.ready())
    return made

runner = ray.remote(named("TaskRunnerV1")).options(num_cpus=0).remote("the runner")
# verl asks for them the other way round: so the GPUs are others than those expected.
teacher, training = group("teacher_pool"), group("global_pool")
fused = workers(training, create_colocated_worker_cls(), "aB3xYz")
held = workers(teacher, named("CheckpointEngineWorker"), "rollout_teacher_colocate_0_default")
servers = [server("vllm_server_0_0"), server("vllm_server_teacher_0_0_default")]
ray.get([one.init_model.remote() for one in (runner, *fused, *held, *servers)])
ray.get([one.actor_rollout_init_model.remote() for one in fused])
print(ray.get(servers[1].init_model.remote()), flush=True)
time.sleep(600)
"""


def seen(cluster: TestCluster, file: Path) -> tuple[dict[str, list[int]], list[tuple[str, str | None]]]:
    """GPUs by rank, and kind and component of the drift."""
    done = cluster.run("top", file, "--once", "--json")
    found: dict[str, Any] = json.loads(done.out)
    devices: dict[str, list[int]] = {}
    for one in found["nodes"]:
        for device in one["devices"]:
            for claim in device["claims"]:
                if claim["rank"] is not None:
                    devices.setdefault(f"{claim['component']}:{claim['rank']}", []).append(device["index"])
    return devices, [(drift["kind"], drift["component"]) for drift in found["drift"]]


def test_a_verl_job_is_followed_where_ray_put_it(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(FILE)
    with running_cluster([node(4)]) as cluster:
        script = cluster.directory / "main.py"
        script.write_text(JOB)
        driver = subprocess.Popen(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=cluster.environment(RAY_ADDRESS=cluster.address),
        )
        try:
            assert driver.stdout is not None
            pid = int(driver.stdout.readline())
            (job,) = cluster.jobs()
            assert (job["framework"], job["state"]) == ("verl", "running")
            assert {name: one["alive"] for name, one in job["groups"].items()} == {
                "actor_rollout": 2,
                "rollout": 1,
                "teacher:default": 1,
            }
            log = cluster.run("logs", job["name"], "teacher:default:0")
            assert log.out == "hello from vllm_server_teacher_0_0_default\n", log.err
            devices, drift = seen(cluster, file)
            assert drift == []
            assert devices == {
                "actor_rollout:0": [2],
                "actor_rollout:1": [3],
                "rollout:0": [2, 3],
                "teacher:default:0": [0, 1],
            }
            os.kill(pid, signal.SIGKILL)
            until = time.monotonic() + 20
            while ("dead_rank", "teacher:default") not in (drift := seen(cluster, file)[1]):
                assert time.monotonic() < until, drift
            assert drift == [("dead_rank", "teacher:default")]
        finally:
            driver.kill()
            driver.communicate()
