"""`up`, `ps` and `down` on a real cluster of one node."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placetui.observe.operations import this_owner
from tests.runtime.conftest import drivers

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = pytest.mark.ray

Write = Callable[..., Path]

REPORTER = """
import os, json
print("noise of the module")
class Reporter:
    def __init__(self, where, rank, **rest):
        import ray
        print("noise of the worker", flush=True)
        os.write(1, b"more noise\\n")
        found = {"env": dict(os.environ), "gpu_ids": [str(one) for one in ray.get_gpu_ids()], "rest": rest}
        with open(f"{where}/{os.environ['GROUP_NAME']}-{rank}.json", "w") as file:
            json.dump(found, file)
"""


@pytest.fixture(autouse=True)
def clean(one_node: TestCluster) -> Iterator[None]:
    yield
    one_node.clean_up()


def test_training_and_rollout_share_every_gpu(one_node: TestCluster, write: Write) -> None:
    file = write("actor,rollout: 0-3")
    done = one_node.up(file, "--job", "colocated")
    assert done.code == 0, done.err
    assert done.steps == ["connect", "match", "check", "reserve", "probe", "launch", "ready"]
    assert done.events[0]["address"] == one_node.address
    ranks = done.last["ranks"]
    assert [(one["component"], one["rank"], one["gpu_ids"], one["share"]) for one in ranks] == [
        (component, rank, [str(rank)], share)
        for component, share in (("actor", 0.8), ("rollout", 0.2))
        for rank in range(4)
    ]
    # Ray's own books say so.
    with one_node.head() as head:
        actors = {actor.name: actor for actor in head.living_actors() if actor.state == "ALIVE"}
    assert {name: dict(actor.slots) for name, actor in actors.items()} == {
        f"colocated/{component}:{rank}": {rank: share}
        for component, share in (("actor", 0.8), ("rollout", 0.2))
        for rank in range(4)
    }
    for one in ranks:
        actor = actors[f"colocated/{one['component']}:{one['rank']}"]
        assert (one["pid"], one["actor_id"]) == (actor.pid, actor.id)

    (job,) = one_node.jobs()
    assert job["created"] == pytest.approx(time.time(), abs=120)
    assert job == {
        "name": "colocated",
        "framework": "placetui",
        "ray_job": job["ray_job"],
        "submission": None,
        "file": str(file),
        "state": "running",
        "created": job["created"],
        "owner": this_owner(),
        "silent_nodes": [],
        "groups": {"actor": {"world_size": 4, "alive": 4}, "rollout": {"world_size": 4, "alive": 4}},
    }
    ended = one_node.down("colocated")
    assert (ended.code, ended.out) == (0, "")
    one_node.assert_clean()


def test_the_environment_of_each_rank(one_node: TestCluster, write: Write, tmp_path: Path) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "reporting.py").write_text(REPORTER)
    launch = "".join(
        f"    {name}: {{worker: 'reporting:Reporter', kwargs: {{where: '{tmp_path}'}}, env: {{MINE: {name}}}}}\n"
        for name in ("actor", "env")
    )
    file = write("actor: 0-3:0-1; env: {node_group: node, placement: 0}", more=f"placetui:\n  launch:\n{launch}")
    done = one_node.up(file, "--job", "environment", PYTHONPATH=str(modules), SECRET_OF_MINE="x")
    assert done.code == 0, done.err
    found = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    assert set(found) == {"actor-0", "actor-1", "env-0"}
    one = found["actor-1"]["env"]
    assert {name: one.get(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MINE")} == {
        "RANK": "1",
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MINE": "actor",
    }
    assert (one["CUDA_VISIBLE_DEVICES"], one["VISIBLE_DEVICES"]) == ("2,3", "2,3")
    assert (one["WORKER_NAME"], one["CLUSTER_NAMESPACE"]) == ("environment/actor:1", "placetui")
    assert "SECRET_OF_MINE" not in one
    # Ray's own books know the first device only.
    assert found["actor-1"]["gpu_ids"] == ["2"]
    masters = {
        (found[name]["env"]["MASTER_ADDR"], found[name]["env"]["MASTER_PORT"]) for name in ("actor-0", "actor-1")
    }
    assert len(masters) == 1
    assert found["env-0"]["gpu_ids"] == []
    assert done.last["ranks"][1]["gpu_ids"] == ["2", "3"]


def test_a_plan_that_leaves_out_gpus_gets_the_planned_ones(one_node: TestCluster, write: Write) -> None:
    done = one_node.up(write("actor: 1,3"), "--job", "gaps")
    assert done.code == 0, done.err
    assert [one["gpu_ids"] for one in done.last["ranks"]] == [["1"], ["3"]]


@pytest.mark.slow
@pytest.mark.soak
def test_planned_gpus_that_others_hold(one_node: TestCluster, write: Write) -> None:
    assert one_node.up(write("actor: 0-1", name="other.yaml")).code == 0
    file = write("rollout: 1-2")
    dry = one_node.up(file, "--dry-run")
    assert (dry.code, dry.steps) == (0, ["connect", "match", "check"])
    assert [(one["planned"], one["gpu_ids"]) for one in dry.last["expected"]] == [([1], ["2"]), ([2], ["3"])]

    refused = one_node.up(file)
    assert refused.code == 3
    assert "rollout:0 on node 0: planned GPU 1, got GPU 2" in refused.last["message"]
    assert refused.last["step"] == "failed"
    assert "--accept-moved" in refused.err
    assert [job["name"] for job in one_node.jobs()] == ["other"]

    accepted = one_node.up(file, "--accept-moved")
    assert accepted.code == 0, accepted.err
    assert [one["gpu_ids"] for one in accepted.last["ranks"]] == [["2"], ["3"]]
    assert one_node.down("job").code == 0
    assert [job["name"] for job in one_node.jobs()] == ["other"]


def test_what_cannot_fit_is_refused_with_the_numbers(one_node: TestCluster, write: Write) -> None:
    too_many = one_node.up(write("actor: 0-7", more="placetui:\n  topology: {nodes: 1, gpus_per_node: 8}\n"))
    assert (too_many.code, too_many.last["during"]) == (3, "check")
    assert "needs 8 GPU, it has 4" in too_many.err
    cpus = one_node.up(write("actor: 0-3", more="placetui:\n  launch: {actor: {num_cpus: 9}}\n"))
    assert cpus.code == 3
    assert "needs 36 CPU, it has 16" in cpus.err
    shares = one_node.up(write("actor,rollout: 0-3", more="placetui:\n  shares: {actor: 0.9, rollout: 0.2}\n"))
    assert shares.code == 1
    assert "add up to 1.1" in shares.err
    one_node.assert_clean()


@pytest.mark.slow
def test_a_busy_cluster_names_who_holds_it(one_node: TestCluster, write: Write) -> None:
    assert one_node.up(write("actor: 0-2", name="first.yaml")).code == 0
    busy = one_node.up(write("rollout: 0-3", name="second.yaml"))
    assert busy.code == 3
    assert "needs 4 GPU, 1 of its 4 are free" in busy.err
    assert "placement group first of first/actor:" in busy.err
    assert [job["name"] for job in one_node.jobs()] == ["first"]


def worker_file(write: Write, tmp_path: Path, body: str, name: str = "job.yaml") -> tuple[Path, str]:
    """A file with a worker class of this text, and the PYTHONPATH for it."""
    module = tmp_path / "modules" / f"worker_{abs(hash(body))}.py"
    module.parent.mkdir(exist_ok=True)
    module.write_text(body)
    launch = f"placetui:\n  launch: {{actor: {{worker: '{module.stem}:Worker'}}}}\n"
    return write("actor: 0-1", name=name, more=launch), str(module.parent)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        pytest.param("class Other: pass", "AttributeError", marks=pytest.mark.slow),
        (
            "class Worker:\n  def __init__(self, rank):\n    if rank: raise KeyError('my key')",
            "actor:1 did not come up",
        ),
        pytest.param("import os\nclass Worker:\n  def __init__(self): os._exit(3)", "actor:", marks=pytest.mark.slow),
    ],
    ids=["import", "no such class", "constructor", "exits"],
)
def test_a_worker_that_fails(one_node: TestCluster, write: Write, tmp_path: Path, body: str, says: str) -> None:
    file, path = worker_file(write, tmp_path, body)
    done = one_node.up(file, PYTHONPATH=path)
    assert (done.code, done.last["step"], done.last["during"]) == (3, "failed", "launch")
    assert done.last["component"] == "actor"
    assert says in done.err
    if "KeyError" in body:
        assert done.last["rank"] == 1
        assert "my key" in "\n".join(done.last["traceback"])
        assert "raise KeyError('my key')" in done.err
    one_node.assert_clean()


@pytest.mark.slow
def test_a_worker_that_hangs_meets_the_deadline(one_node: TestCluster, write: Write, tmp_path: Path) -> None:
    body = "import time\nclass Worker:\n  def __init__(self, rank): time.sleep(1000 * rank)"
    file, path = worker_file(write, tmp_path, body)
    up = ("up", file, "--yes", "--json", "--timeout")
    done = one_node.run(*up, seconds := "8", PYTHONPATH=path)
    if "constructor" not in done.err:
        # On a busy machine it may take longer than that to come to the constructors at all.
        done = one_node.run(*up, seconds := "60", PYTHONPATH=path)
    assert done.code == 3
    assert f"not ready after {seconds} s: the worker's constructor has not returned on actor:1" in done.err
    one_node.assert_clean()


@pytest.mark.slow
def test_a_name_that_is_taken(one_node: TestCluster, write: Write) -> None:
    file = write("actor: 0")
    assert one_node.up(file).code == 0
    # Whether there is room for it, or could ever be, is not the question.
    tall = "placetui:\n  topology: {nodes: 1, gpus_per_node: 8}\n"
    for wish, more in (
        ({"placement": "actor: 1"}, ()),
        ({"placement": "actor: 0-3"}, ()),
        ({"placement": "actor: 0-7", "more": tall}, ("--dry-run",)),
        ({"placement": "actor: 8", "nodes": 2}, ("--dry-run",)),
    ):
        again = one_node.up(write(**wish), *more)
        assert (again.code, again.steps, again.last["during"]) == (3, ["connect", "failed"], "connect")
        assert "there is a job job already, started " in again.err
        assert "--job NAME" in again.err
    assert one_node.jobs()[0]["state"] == "running"


@pytest.mark.slow
def test_of_two_at_once_exactly_one_wins(one_node: TestCluster, write: Write) -> None:
    started = [one_node.start("up", write("actor: 0", name="same.yaml"), "--yes", "--json") for _ in range(2)]
    for process in started:
        process.communicate(timeout=120)
    assert sorted(process.returncode for process in started) == [0, 3]
    (job,) = one_node.jobs()
    assert (job["state"], job["groups"]) == ("running", {"actor": {"world_size": 1, "alive": 1}})


def test_a_job_that_is_not_there(one_node: TestCluster) -> None:
    done = one_node.down("nobody")
    assert done.code == 3
    assert "there is no job nobody" in done.err


def test_the_doctor_compares_versions_with_the_cluster(one_node: TestCluster) -> None:
    done = one_node.run("doctor", "--json")
    assert done.code == 0, done.out
    lines = [one for one in json.loads(done.out)["findings"] if one["topic"] == "ray"]
    assert [one["state"] for one in lines] == ["fine", "fine"]
    assert lines[1]["text"].startswith(f"the cluster at {one_node.address} has 1 node, ")
    found = one_node.run("doctor", address=False, RAY_ADDRESS=one_node.address)
    assert one_node.address in found.out


def test_nobody_to_ask_is_wrong_usage(one_node: TestCluster, write: Write) -> None:
    assert one_node.run("down", "job").code == 2
    assert one_node.run("up", write("actor: 0")).code == 2


def test_from_any_namespace_and_without_a_trace(one_node: TestCluster, write: Write) -> None:
    with one_node.head() as head:
        before = [(actor.id, actor.state) for actor in head.living_actors()]
        registered = drivers(head)
    assert one_node.jobs() == []
    by_variable = one_node.run("ps", "--json", address=False, RAY_ADDRESS=one_node.address)
    assert (by_variable.code, by_variable.out) == (0, '{"jobs": []}\n')
    with one_node.head() as head:
        assert [(actor.id, actor.state) for actor in head.living_actors()] == before
        assert drivers(head) == registered


@pytest.mark.slow
@pytest.mark.soak
def test_two_jobs_that_want_the_same_gpus_at_once(one_node: TestCluster, write: Write) -> None:
    """Both may see them free; the one that comes second waits, says for what, and leaves nothing."""
    files = [write("actor: 0-3", name=f"{name}.yaml") for name in ("first", "second")]
    started = [one_node.start("up", file, "--yes", "--json", "--timeout", "40") for file in files]
    outputs = [process.communicate(timeout=120) for process in started]
    assert sorted(process.returncode for process in started) == [0, 3], outputs
    loser = next(err for process, (_, err) in zip(started, outputs, strict=True) if process.returncode)
    assert "0 of 4 GPUs free: 4 GPUs reserved by placement group" in loser
    assert [job["state"] for job in one_node.jobs()] == ["running"]


@pytest.mark.slow
def test_a_job_that_is_taken_down_while_it_starts(one_node: TestCluster, write: Write, tmp_path: Path) -> None:
    body = "import time\nclass Worker:\n  def __init__(self): time.sleep(1000)"
    file, path = worker_file(write, tmp_path, body)
    process = one_node.start("up", file, "--yes", "--json", PYTHONPATH=path)
    one_node.read_until(process, "launch")
    assert one_node.jobs()[0]["state"] == "incomplete"
    assert one_node.down("job").code == 0
    process.communicate(timeout=60)
    assert process.returncode == 3
    one_node.assert_clean()
