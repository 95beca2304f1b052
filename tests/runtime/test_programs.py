"""Programs of users: every example of the documents, groups that share devices, and strategies of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

PAGE = Path(__file__).parents[2] / "docs" / "python.md"

EXAMPLES = '''
import io, json, os
import yaml
from placetui import (Cluster, ComponentPlacement, FlexiblePlacementStrategy, NodePlacementStrategy,
                      PackedPlacementStrategy, Worker)

class MyWorker(Worker):
    def __init__(self):
        super().__init__()

    def devices(self):
        return os.environ["CUDA_VISIBLE_DEVICES"].split(",")

    def rank(self):
        return self._rank

    def hello(self):
        said = io.StringIO()
        self._logger.handlers[0].setStream(said)
        self.log_info(f"hello from {self._rank} of {self._world_size}")
        self.log_warning("careful")
        self.log_error("wrong")
        return said.getvalue()

cluster = Cluster()
found = {"address": cluster.address, "gpus": cluster.num_accelerators}

def run(strategy, method):
    group = MyWorker.create_group().launch(cluster, placement_strategy=strategy)
    answers = getattr(group, method)().wait()
    assert len(group.handles) == len(answers) == group.world_size
    group.down()
    return answers

found["flexible"] = run(FlexiblePlacementStrategy([[0, 1], [2], [3]]), "devices")
found["packed"] = run(PackedPlacementStrategy(0, 3), "devices")
found["two each"] = run(PackedPlacementStrategy(0, 3, num_hardware_per_process=2), "devices")
found["stride"] = run(PackedPlacementStrategy(0, 3, stride=2, num_hardware_per_process=2), "devices")
found["nodes"] = run(NodePlacementStrategy([0] * 4), "rank")

config = yaml.safe_load("""
cluster:
  num_nodes: 1
  component_placement:
    test_worker:
      node_group: a800
      placement: 0-3
  node_groups:
    - label: a800
      node_ranks: 0
""")
cluster = Cluster(cluster_cfg=config["cluster"])
strategy = ComponentPlacement(config, cluster).get_strategy("test_worker")
group = MyWorker.create_group().launch(cluster, placement_strategy=strategy, name="test_worker")
found["file"] = group.devices().wait()
found["log"] = group.hello().wait()
print(json.dumps(found))
'''


@pytest.fixture(autouse=True)
def clean(one_node: TestCluster) -> Iterator[None]:
    yield
    one_node.clean_up()
    one_node.assert_clean(30)


def test_every_example_of_the_documents_runs(one_node: TestCluster) -> None:
    found = one_node.python(EXAMPLES)
    assert (found["address"], found["gpus"]) == (one_node.address, 4)
    assert found["flexible"] == [["0", "1"], ["2"], ["3"]]
    assert found["packed"] == [["0"], ["1"], ["2"], ["3"]]
    assert found["two each"] == [["0", "1"], ["2", "3"]]
    assert found["stride"] == [["0", "2"], ["1", "3"]]
    assert found["nodes"] == [0, 1, 2, 3]
    assert found["file"] == [["0"], ["1"], ["2"], ["3"]]
    first, *rest = found["log"][2].splitlines()
    assert first.startswith("[INFO ")
    assert first.endswith(" test_worker:2] hello from 2 of 4")
    assert [line.split()[0] for line in rest] == ["[WARNING", "[ERROR"]


MODULE = """
import os, placetui

class Base(placetui.Worker):
    def __init__(self, step, *, fail=None):
        super().__init__()
        self.step = step
        if self._rank == fail:
            raise RuntimeError("no such checkpoint")

class Trainer(Base):
    def see(self):
        names = "GROUP_NAME WORKER_NAME RANK WORLD_SIZE LOCAL_RANK CUDA_VISIBLE_DEVICES MASTER_ADDR MASTER_PORT".split()
        return {name: os.environ[name] for name in names}

    def add(self, number):
        return self.step + self._rank + number

    async def later(self, number):
        import asyncio
        await asyncio.sleep(0.01)
        return self.add(number)

    def odd(self):
        if self._rank % 2:
            raise KeyError("odd")
"""

COLOCATED = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
import placetui
from placetui import FlexiblePlacementStrategy, PackedPlacementStrategy, Placement, PlacementStrategy
import workers_of_mine

cluster = placetui.Cluster()
found = {}

def told(function):
    try:
        return function()
    except placetui.ClusterError as problem:
        return {"message": str(problem), "hint": problem.hint, **problem.details}

def free(expected):
    # Nodes tell it a moment later.
    import ray
    deadline = time.monotonic() + 20
    while (found := ray.available_resources().get("GPU", 0)) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return found

# Not GPU 0: those before the planned ones are left to others.
actor = workers_of_mine.Trainer.create_group(100).launch(cluster, FlexiblePlacementStrategy([[1, 2]]), name="actor")
found["free"] = free(2)
rollout = workers_of_mine.Trainer.create_group(step=200).launch(
    cluster, PackedPlacementStrategy(1, 3), name="rollout", max_concurrency=2
)
found["free of both"] = free(1)
found["actor"] = actor.see().wait()
found["rollout"] = rollout.see().wait()
found["add"] = [actor.add(1).wait(), rollout.later(1).wait(), rollout.call("add", 2)]
found["odd"] = told(lambda: rollout.odd().wait())
found["same name"] = told(lambda: workers_of_mine.Trainer.create_group(1).launch(cluster, name="rollout"))
found["twice"] = told(lambda: rollout.launch(cluster))
try:
    rollout.nonsense
except AttributeError as problem:
    found["nonsense"] = str(problem)
actor.down()
found["free of rollout"] = free(1)
found["still"] = rollout.add(0).wait()
found["ended"] = told(lambda: actor.add(1))

class Mine(PlacementStrategy):
    def get_placement(self, cluster, isolate_accelerator=True):
        # One process on the last GPU, which it shares, and one on the first.
        return [
            Placement(rank, 0, 0, gpu, "NV_GPU", rank, 2, [str(gpu)], True, [gpu], "cluster")
            for rank, gpu in enumerate((3, 0))
        ]

mine = workers_of_mine.Trainer.create_group(0).launch(cluster, Mine(), name="mine")
found["mine"] = [one["CUDA_VISIBLE_DEVICES"] for one in mine.see().wait()]
mine.down()
rollout.down()
found["failed"] = told(
    lambda: workers_of_mine.Trainer.create_group(0, fail=1).launch(cluster, PackedPlacementStrategy(0, 1))
)

found["free at the end"] = free(4)

class Empty(PlacementStrategy):
    def get_placement(self, cluster, isolate_accelerator=True):
        return []

found["empty"] = told(lambda: workers_of_mine.Trainer.create_group(0).launch(cluster, Empty()))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(one_node: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    # A module that nodes cannot import: it is sent.
    directory = tmp_path_factory.mktemp("modules")
    (directory / "workers_of_mine.py").write_text(MODULE)
    return one_node.python(COLOCATED, directory)


def test_groups_of_one_program_share_devices(found: dict[str, Any]) -> None:
    [actor], rollout = found["actor"], found["rollout"]
    assert (found["free"], found["free of both"], found["free of rollout"]) == (2, 1, 1)
    assert actor["CUDA_VISIBLE_DEVICES"] == "1,2"
    assert [one["CUDA_VISIBLE_DEVICES"] for one in rollout] == ["1", "2", "3"]
    assert (actor["GROUP_NAME"], actor["WORKER_NAME"], actor["WORLD_SIZE"]) == ("actor", "actor:0", "1")
    assert [one["RANK"] for one in rollout] == ["0", "1", "2"]
    assert {one["LOCAL_RANK"] for one in rollout} == {"0"}
    assert len({(one["MASTER_ADDR"], one["MASTER_PORT"]) for one in rollout}) == 1
    assert found["add"] == [[101], [201, 202, 203], [202, 203, 204]]
    assert found["odd"]["message"] == "`rollout.odd` failed on rank 1 (KeyError: 'odd')"
    assert found["same name"]["message"] == "there is a group `rollout` already"
    assert found["twice"]["message"] == "the group `rollout` runs already"
    assert found["nonsense"] == "neither the group nor its `Trainer` has a method `nonsense`"
    assert found["still"] == [200, 201, 202]
    assert found["ended"]["message"] == "the group `actor` does not run"


def test_a_strategy_of_ones_own(found: dict[str, Any]) -> None:
    assert found["mine"] == ["3", "0"]
    assert found["empty"]["message"] == "Empty places no process"


def test_a_worker_that_fails_is_named_and_nothing_of_its_group_stays(found: dict[str, Any]) -> None:
    assert found["failed"]["message"] == "Trainer:1 did not come up: RuntimeError: no such checkpoint"
    assert (found["failed"]["component"], found["failed"]["rank"]) == ("Trainer", 1)
    assert found["free at the end"] == 4


FILE_WORKER = """
import os, signal, placetui

class Saver(placetui.Worker):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def save(self, step=0):
        return f"{self.folder}/{self._rank}-of-{self._world_size}-{step}"

    def end(self):
        if self._rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
"""

ATTACHED = """
import json, os, time
import placetui

def told(function):
    try:
        return function()
    except placetui.ClusterError as problem:
        return {"message": str(problem), "hint": problem.hint}

job = placetui.attach("saved", address=os.environ.pop("RAY_ADDRESS"))
group = job.group("actor")
found = {"components": job.components, "name": job.name, "world_size": group.world_size}
found["save"] = group.call("save", step=7)
# Connected by now: no address is needed.
found["built-in"] = placetui.attach("saved").group("rollout").call("onload")
found["no component"] = told(lambda: job.group("critic"))
found["no job"] = told(lambda: placetui.attach("nonsense"))
found["end"] = told(lambda: group.call("end"))
deadline = time.monotonic() + 30
while (after := job.group("actor")).handles[1] is not None and time.monotonic() < deadline:
    time.sleep(0.1)
found["after"] = told(lambda: after.call("save"))
print(json.dumps(found))
"""


def test_a_job_is_found_again_and_called(one_node: TestCluster, write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "file_worker.py").write_text(FILE_WORKER)
    launch = "placetui: {launch: {actor: {worker: 'file_worker:Saver', kwargs: {folder: ckpt}}}}"
    up = one_node.up(
        write("actor: 0-1;rollout: 2", more=launch), "--job", "saved", PYTHONPATH=f"{tmp_path}:{PAGE.parents[1]}"
    )
    assert up.code == 0, up.err
    found = one_node.python(ATTACHED)
    assert (found["name"], found["components"], found["world_size"]) == ("saved", ["actor", "rollout"], 2)
    assert found["save"] == ["ckpt/0-of-2-7", "ckpt/1-of-2-7"]
    assert found["built-in"] == ["onload"]
    assert found["no component"]["message"] == "the job `saved` has no component `critic`"
    assert found["no component"]["hint"] == "it has `actor` and `rollout`"
    assert found["no job"]["message"] == "there is no job `nonsense`"
    assert found["end"]["message"].startswith("`actor.end` failed on rank 1 (the process died: ")
    assert found["after"]["message"].startswith("`actor.save` failed on rank 1 (")
    # The program has ended, the job goes on.
    assert [(job["name"], job["state"]) for job in one_node.jobs()] == [("saved", "degraded")]


RECORDER = """
import json
printed = []

def print(*values):
    printed.append(" ".join(map(str, values)))

"""


def test_the_documentation_prints_what_it_says(one_node: TestCluster, write: Callable[..., Path]) -> None:
    up = one_node.up(write("actor: 2-3"), "--job", "conf")
    assert up.code == 0, up.err
    code = "".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    expected = re.findall(r"print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert len(expected) == code.count("print(")
    end = "import builtins\nbuiltins.print(json.dumps({'printed': printed}))\n"
    assert one_node.python(RECORDER + code + end)["printed"] == expected
