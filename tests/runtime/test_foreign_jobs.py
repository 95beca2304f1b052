"""A job that somebody started without placetui, on real Ray: seen, read, left alone, and ended as a whole."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from placetui.cli.cluster import Failed
from placetui.runtime.gcs.rows import Environments, read_actor, read_job
from tests.runtime.conftest import TestCluster, node, running_cluster

Write = Callable[..., Path]

SECRET = "hunter2-0123456789abcdef"

RLINF = """
import os, sys, time
import ray

secret = sys.argv[sys.argv.index("--wandb-key") + 1]
ray.init(namespace="RLinf", log_to_driver=False, runtime_env={"env_vars": {"AWS_SECRET_ACCESS_KEY": secret}})

class Worker:
    def __init__(self):
        print("hello from", os.environ["WORKER_NAME"], flush=True)

    def ready(self):
        return os.getpid()

def make(group, rank, size, gpu, sees=None, kind="FSDPActor"):
    kind, sees = type(kind, (Worker,), {}), str(gpu) if sees is None else sees
    env = {
        "GROUP_NAME": group, "WORKER_NAME": f"{group}:{rank}", "RANK": str(rank), "WORLD_SIZE": str(size),
        "CLUSTER_NAMESPACE": "RLinf", "CLUSTER_NODE_RANK": "0", "NODE_RANK": "0", "LOCAL_HARDWARE_RANKS": str(gpu),
        "VISIBLE_DEVICES": sees, "CUDA_VISIBLE_DEVICES": sees, "ACCELERATOR_TYPE": "NV_GPU",
        "NODE_GROUP_LABEL": "cluster", "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1",
        "HF_TOKEN": secret, "MY_PLAIN_NAME": secret,
    }
    made = ray.remote(num_cpus=0, max_restarts=0)(kind)
    return made.options(name=f"{group}:{rank}", runtime_env={"env_vars": env}).remote()

class WorkerManager:
    def ready(self):
        return 0

ranks = [make("ActorGroup", rank, 2, rank) for rank in range(2)] + [make("RolloutGroup", 0, 1, 2)]
# A channel sees all GPUs and owns none.
ranks.append(make("Env", 0, 1, "", "0,1,2,3", "ChannelWorker"))
env = {"env_vars": {"CLUSTER_NAMESPACE": "RLinf"}}
manager = ray.remote(num_cpus=0)(WorkerManager).options(name="WorkerManager", runtime_env=env).remote()
ray.get([one.ready.remote() for one in [*ranks, manager]])
print("ready", flush=True)
time.sleep(600)
"""


def test_of_a_row_only_declared_variables_are_read() -> None:
    gcs_pb2: Any = import_module("ray.core.generated.gcs_pb2")
    variables = {"RANK": "3", "GROUP_NAME": "ActorGroup", "WANDB_API_KEY": SECRET, "MY_PLAIN_NAME": SECRET}
    row = gcs_pb2.ActorTableData(actor_id=b"1" * 16, serialized_runtime_env=json.dumps({"env_vars": variables}))
    row.death_cause.runtime_env_failed_context.error_message = f"cannot clone https://u:{SECRET}@example.org"
    environments = Environments()
    found = read_actor(row, environments)
    assert (found.environment["RANK"], found.environment["GROUP_NAME"]) == ("3", "ActorGroup")
    assert SECRET not in repr(found) + repr(vars(environments))
    job = gcs_pb2.JobTableData(entrypoint=f'python train.py --hf-token "{SECRET} {SECRET}" WANDB_API_KEY={SECRET}')
    job.config.runtime_env_info.serialized_runtime_env = json.dumps({"env_vars": variables})
    assert read_job(job).entrypoint == "python train.py --hf-token *** WANDB_API_KEY=***"
    assert SECRET not in repr(read_job(job))


@dataclass
class Scene:
    """A cluster with a job of RLinf's kind."""

    cluster: TestCluster
    driver: subprocess.Popen[str]

    def job(self) -> dict[str, Any]:
        (job,) = self.cluster.jobs()
        return job

    def child_logs(self) -> str:
        return "".join(path.read_text() for path in self.cluster.directory.rglob("child-*.log"))


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with running_cluster([node(4)]) as cluster:
        script = cluster.directory / "train_embodied_agent.py"
        script.write_text(RLINF)
        driver = subprocess.Popen(
            [sys.executable, str(script), "--wandb-key", SECRET],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=cluster.environment(RAY_ADDRESS=cluster.address),
        )
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "ready\n"
            yield Scene(cluster, driver)
        finally:
            driver.kill()
            driver.communicate()


@pytest.mark.ray
@pytest.mark.slow
class TestForeignJob:
    """In this order: the last tests end it."""

    def test_ps_lists_it(self, scene: Scene) -> None:
        job = scene.job()
        assert (
            job.items()
            >= {
                "framework": "rlinf",
                "state": "running",
                "submission": None,
                "silent_nodes": [],
                "groups": {"ActorGroup": {"world_size": 2, "alive": 2}, "RolloutGroup": {"world_size": 1, "alive": 1}},
            }.items()
        )
        assert job["name"] == job["ray_job"]
        assert job["created"] == pytest.approx(time.time(), abs=300)
        assert job["owner"].endswith(os.uname().nodename)
        assert "train_embodied_agent.py --wandb-key ***" in job["entrypoint"]

    def test_a_secret_is_nowhere(self, scene: Scene, tmp_path: Path) -> None:
        recording = tmp_path / "recording"
        with scene.cluster.child() as child:
            told = [child.ask("ps", 60, address=scene.cluster.address)]
            told.append(child.ask("job", 60, address=scene.cluster.address, job=scene.job()["name"]))
            assert [one["state"] for one in told[1]["ranks"]] == ["alive"] * 3
            done = scene.cluster.run("top", "--once", "--json", "--record", recording)
            screen = scene.cluster.run("shot", "--replay", recording, "-o", tmp_path / "x.svg", address=False)
            assert screen.code == 0, screen.err
            everything = [
                json.dumps(told),
                scene.child_logs(),
                done.out + done.err,
                scene.cluster.run("ps").out,
                scene.cluster.run("top", "--once").out,
                (tmp_path / "x.svg").read_text(),
            ]
        everything.append(recording.read_bytes().decode("utf-8", "replace"))
        assert [text for text in everything if SECRET in text] == []

    def test_its_ranks_can_be_read_and_not_be_touched(self, scene: Scene) -> None:
        name = scene.job()["name"]
        assert scene.cluster.run("logs", name, "ActorGroup:1").out == "hello from ActorGroup:1\n"
        merged = scene.cluster.run("logs", name, "ActorGroup").out.splitlines()
        assert merged == [f"ActorGroup:{rank} | hello from ActorGroup:{rank}" for rank in (0, 1)]
        done = scene.cluster.run("logs", name)
        assert (done.code, "writes where it was started" in done.err) == (3, True)
        done = scene.cluster.run("stack", name, "RolloutGroup:0")
        assert done.code == 0 or "py-spy" in done.err
        with scene.cluster.child() as child:
            for kind in ("kill", "restart", "call"):
                with pytest.raises(Failed, match="placetui did not launch"):
                    child.ask(
                        kind,
                        60,
                        address=scene.cluster.address,
                        job=name,
                        component="ActorGroup",
                        rank=0,
                        method="ready",
                    )

    def test_its_gpus_are_not_free(self, scene: Scene, write: Write) -> None:
        done = scene.cluster.up(write("actor: 2-3"), "--dry-run")
        assert (done.code, [one["gpu_id"] for one in done.last["used"]]) == (3, ["2"])
        assert "RolloutGroup:0" in done.last["used"][0]["used_by"][0]
        assert scene.cluster.up(write("actor: 3"), "--dry-run").code == 0

    def test_a_node_that_does_not_answer_is_named(self, scene: Scene) -> None:
        (raylet,) = scene.cluster.processes[0]["raylet"]
        os.kill(raylet, signal.SIGSTOP)
        try:
            began = time.monotonic()
            done = scene.cluster.run("ps", "--json")
            assert time.monotonic() - began < 30
            (job,) = json.loads(done.out)["jobs"]
            assert len(job["silent_nodes"]) == 1
        finally:
            os.kill(raylet, signal.SIGCONT)
        assert scene.job()["silent_nodes"] == []

    def test_down_ends_its_driver(self, scene: Scene) -> None:
        name = scene.job()["name"]
        assert scene.cluster.run("down", name).code == 2  # nobody can be asked
        assert scene.driver.poll() is None
        done = scene.cluster.down(name)
        assert done.code == 0, done.err
        assert "its driver and 5 actors ended" in done.err
        assert abs(scene.driver.wait(10)) == signal.SIGTERM
        assert scene.job().items() >= {"name": name, "state": "ended"}.items()
        assert scene.cluster.down(name).code == 3


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.skipif(find_spec("aiohttp_cors") is None, reason="ray[default], which has Ray Jobs, is not installed")
def test_a_submitted_job_is_named_by_its_submission_and_ends_with_it(write: Write) -> None:
    # Other clusters of this machine have the ports that Ray prefers.
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = {"dashboard_port": one.getsockname()[1], "dashboard_agent_listen_port": other.getsockname()[1]}
    with running_cluster([node(4, include_dashboard=True, **ports)]) as cluster:
        (cluster.directory / "code").mkdir()
        (cluster.directory / "code" / "train_embodied_agent.py").write_text(RLINF)
        options = [
            "--address",
            cluster.address,
            "--name",
            "sub-1",
            "--json",
            "--working-dir",
            str(cluster.directory / "code"),
        ]
        driver = [sys.executable, "train_embodied_agent.py", "--wandb-key", SECRET]
        too_large = cluster.run("submit", write("actor: 0-7"), *options, "--", *driver, address=False)
        assert too_large.code == 1, too_large.err
        assert [step["step"] for step in too_large.events] == ["preflight"]
        done = cluster.run("submit", write("actor: 0-1; rollout: 2"), *options, "--", *driver, address=False)
        assert done.code == 0, done.err
        assert done.steps == ["preflight", "submit", "ranks", "ready"]
        assert SECRET not in done.out + done.err
        assert {one["alive"] for one in done.last["groups"].values()} == {1, 2}
        jobs = cluster.jobs()
        (job,) = jobs
        assert (job["name"], job["submission"], job["framework"]) == ("sub-1", "sub-1", "rlinf")
        log = cluster.run("logs", "sub-1")
        assert "ready" in log.out.splitlines(), log.err
        assert SECRET not in json.dumps(job) + cluster.run("ps").out
        done_down = cluster.down("sub-1")
        assert done_down.code == 0, done_down.err
        assert "its submission and 5 actors ended" in done_down.err
        (job,) = cluster.jobs()
        assert job["state"] == "ended"
