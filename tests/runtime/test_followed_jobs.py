"""Jobs of RLinf and slime that nobody launched through placetui, on real Ray: followed, compared, and their end told.

The programs start actors with the names, classes, environments, groups and bundles of the recordings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from placetui.document import Document, PlanRequest, plan_document
from placetui.document.running import with_names
from placetui.frameworks.registry import framework_of
from placetui.observe.drift import drift
from placetui.observe.following import PlanOutline
from placetui.observe.model import Observation
from placetui.observe.operations import this_owner
from placetui.placement.plan import Plan
from placetui.tui.session import nodes_of
from tests.runtime.conftest import TestCluster, node, running_cluster
from tests.runtime.watching import Watcher, watching

pytestmark = [pytest.mark.ray, pytest.mark.slow]

COMMON = """
import json, os, sys, time
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy as InGroup

class Worker:
    def ready(self):
        return os.getpid()

def named(name):
    return type(name, (Worker,), {})

made = {}

def obey():
    print("ready", flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "kill":
            ray.kill(made[rest[0]])
        elif word == "start":
            start(*rest)
        elif word == "end":
            break
        print("done", flush=True)
"""

RLINF = (
    COMMON
    + """
namespace = sys.argv[1].partition("=")[2]
ray.init(namespace=namespace, log_to_driver=False)
nodes = {node["NodeID"]: node for node in ray.nodes()}
by_ip = sorted(nodes, key=lambda id: nodes[id]["Labels"].get("name", ""))

def start(group, rank, size, place, gpu, kind="FSDPActor"):
    env = {
        "GROUP_NAME": group, "WORKER_NAME": f"{group}:{rank}", "RANK": str(rank), "WORLD_SIZE": str(size),
        "CLUSTER_NAMESPACE": namespace, "CLUSTER_NODE_RANK": str(place), "LOCAL_HARDWARE_RANKS": str(gpu),
        "VISIBLE_DEVICES": str(gpu), "CUDA_VISIBLE_DEVICES": str(gpu), "ACCELERATOR_TYPE": "NV_GPU",
        "NODE_GROUP_LABEL": "cluster", "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1",
    }
    where = Affinity(by_ip[int(place)], soft=False)
    actor = ray.remote(num_cpus=0, max_restarts=0)(named(kind)).options(
        name=f"{group}:{rank}", runtime_env={"env_vars": env}, scheduling_strategy=where
    ).remote()
    ray.get(actor.ready.remote())
    made[f"{group}:{rank}"] = actor

env = {"env_vars": {"CLUSTER_NAMESPACE": namespace}}
manager = ray.remote(num_cpus=0)(named("WorkerManager")).options(name="WorkerManager", runtime_env=env).remote()
ray.get(manager.ready.remote())
for words in sys.argv[2].partition("=")[2].split(";"):
    start(*words.split(","))
obey()
"""
)

SLIME = (
    COMMON
    + """
ray.init(log_to_driver=False)
group = ray.util.placement_group([{"GPU": 1, "CPU": 1}] * 4, strategy="PACK")
ray.get(group.ready())

@ray.remote(num_gpus=1, num_cpus=1)
class InfoActor:
    def get_ip_and_gpu_id(self):
        return ray.get_gpu_ids()[0]

def at(bundle):
    return InGroup(group, placement_group_bundle_index=bundle)

probes = [InfoActor.options(scheduling_strategy=at(bundle)).remote() for bundle in range(4)]
ids = ray.get([probe.get_ip_and_gpu_id.remote() for probe in probes])
for probe in probes:
    ray.kill(probe)
slots = sorted(range(4), key=lambda bundle: int(ids[bundle]))
env = {"env_vars": {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1", "SGLANG_JIT_KERNEL_EXTRA_PATH": "x"}}

def start(name, slot, share):
    made[f"{name}:{slot}"] = ray.remote(num_gpus=float(share), num_cpus=float(share))(named(name)).options(
        scheduling_strategy=at(slots[int(slot)]), runtime_env=env
    ).remote()
    ray.get(made[f"{name}:{slot}"].ready.remote())

manager = ray.remote(num_cpus=1)(named("RolloutManager")).remote()
lock = ray.remote(num_cpus=1)(named("Lock")).remote()
for slot in (0, 1):
    start("MegatronTrainRayActor", slot, 0.4)
for slot in (2, 3):
    start("SGLangEngine", slot, 0.2)
ray.get([manager.ready.remote(), lock.ready.remote()])
obey()
"""
)

RLINF_FILE = """
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-3
    rollout: 2-3
    env: 0-1
actor: {group_name: Learner}
rollout: {group_name: ActorGroup}
env: {group_name: EnvGroup}
"""
"""The actor's group has a name of its own, and rollout the usual name of the actor's."""

SLIME_FILE = """
slime:
  actor_num_gpus_per_node: 2
  rollout_num_gpus: 2
  num_gpus_per_node: 4
"""


class Program:
    """A driver that does as it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.expect("ready")

    def expect(self, word: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == word

    def tell(self, *words: str) -> None:
        assert self._process.stdin is not None
        print(*words, file=self._process.stdin, flush=True)
        if words != ("end",):
            self.expect("done")


@contextmanager
def program(cluster: TestCluster, text: str, name: str, *words: str) -> Iterator[Program]:
    script = cluster.directory / name
    script.write_text(text)
    process = subprocess.Popen(
        [sys.executable, str(script), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=cluster.environment(RAY_ADDRESS=cluster.address),
    )
    try:
        yield Program(process)
    finally:
        with suppress(OSError):
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def cluster() -> Iterator[TestCluster]:
    reordered = node(4, labels={"name": "c"}, env_vars={"CUDA_VISIBLE_DEVICES": "7,5,3,1"})
    with running_cluster([node(2, labels={"name": "a"}), node(2, labels={"name": "b"}), reordered]) as found:
        yield found


def named_plan(text: str, seen: Observation | None = None) -> Plan:
    document = Document(text, "job.yaml")
    plan = plan_document(document, PlanRequest(nodes=nodes_of(seen) if seen is not None else None))
    return with_names(framework_of(plan), document, plan)


@contextmanager
def follow(cluster: TestCluster, plan: Plan, directory: Path) -> Iterator[Watcher]:
    outline = PlanOutline.of(plan).to_dict()
    with watching(
        directory, cluster.address, mode=plan.mode, nodes=len(plan.nodes), plan=outline, interval=0.3
    ) as watcher:
        yield watcher


def places(seen: Observation, job: str = "") -> dict[tuple[str, int], list[tuple[int, int]]]:
    """By component and rank, the node and the physical id of each GPU."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for one in seen.nodes:
        for device in one.devices:
            for claim in device.claims:
                if claim.kind == "rank" and claim.job == (job or seen.job):
                    assert claim.component is not None
                    found.setdefault((claim.component, claim.rank or 0), []).append((one.rank, device.gpu_id))
    return found


RLINF_RANKS = {
    ("actor", 0): [(0, 0)],
    ("actor", 1): [(0, 1)],
    ("actor", 2): [(1, 0)],
    ("actor", 3): [(1, 1)],
    ("rollout", 0): [(1, 0)],
    ("rollout", 1): [(1, 1)],
}


def test_two_jobs_are_followed_each_by_its_file(cluster: TestCluster, tmp_path: Path) -> None:
    rlinf, slime = named_plan(RLINF_FILE), named_plan(SLIME_FILE)
    start = ";".join(
        [f"Learner,{rank},4,{rank // 2},{rank % 2}" for rank in range(4)]
        + [f"ActorGroup,{rank},2,1,{rank},Engine" for rank in range(2)]
    )
    size = ["--actor-num-gpus-per-node", "2", "--rollout-num-gpus", "2", "--num-gpus-per-node", "4"]
    file = tmp_path / "job.yaml"
    file.write_text(RLINF_FILE)
    with (
        follow(cluster, rlinf, tmp_path / "rlinf") as first,
        follow(cluster, slime, tmp_path / "slime") as second,
    ):
        alone = first.until(lambda seen: seen.nodes)
        assert (alone.job, drift(named_plan(RLINF_FILE, alone), alone)) == ("", ())
        with (
            program(cluster, RLINF, "my_train.py", "namespace=RLinf", f"ranks={start}") as rlinf_job,
            program(cluster, SLIME, "train.py", *size),
        ):
            seen = first.until(lambda seen: seen.job and sum(map(len, seen.ranks.values())) == 6)
            plan = named_plan(RLINF_FILE, seen)
            assert places(seen) == RLINF_RANKS
            assert (drift(plan, seen), seen.not_launched) == ((), ("env",))
            other = second.until(lambda seen: seen.job and len(places(seen)) == 4)
            (c,) = [one for one in other.nodes if len(one.devices) == 4]
            assert {who: [gpu for _, gpu in where] for who, where in places(other).items()} == {
                ("actor", 0): [1],
                ("actor", 1): [3],
                ("rollout", 0): [5],
                ("rollout", 1): [7],
            }
            assert {one.device_from for device in c.devices for one in device.claims} == {"ray"}
            assert sorted(job.framework for job in seen.jobs) == ["rlinf", "slime"]
            assert {job.owner for job in seen.jobs} == {this_owner()}
            assert seen.job != other.job

            done = cluster.run("top", file, "--once", "--json")
            assert done.code == 0, done.err + done.out
            told = json.loads(done.out)
            rows = [one for node in told["nodes"] for device in node["devices"] for one in device["processes"]]
            ours = [one for one in rows if one["kind"] == "rank" and one["framework"] == "rlinf"]
            assert {(one["component"], one["rank"]) for one in ours} == set(RLINF_RANKS)
            assert {(one["state"], one["device_from"], one["restarts"]) for one in ours} == {
                ("alive", "environment", 0)
            }
            assert all(one["pid"] and one["since"] and one["job"] == seen.job for one in ours)

            rlinf_job.tell("kill", "Learner:3")
            seen = first.until(lambda seen: any(one.state == "dead" for one in seen.all_ranks))
            assert [(one.kind, one.component, one.rank) for one in drift(plan, seen)] == [("dead_rank", "actor", 3)]
            assert places(seen) == RLINF_RANKS
            rlinf_job.tell("start", "Learner", "3", "4", "0", "1")
            seen = first.until(lambda seen: places(seen).get(("actor", 3)) == [(0, 1)])
            assert {(one.kind, one.component, one.rank) for one in drift(plan, seen)} == {("wrong_device", "actor", 3)}

            rlinf_job.tell("end")
            seen = first.until(lambda seen: not seen.job)
            assert "has ended" in seen.note
            assert drift(plan, seen) == ()
            assert [job.framework for job in seen.jobs if job.runs] == ["slime"]
