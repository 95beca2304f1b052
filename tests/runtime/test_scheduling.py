"""What was computed of Ray's scheduling is what Ray does: hundreds of generated groups on nodes that differ."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

CASES = 240

PROGRAM = '''
"""Creates generated placement groups, and compares what Ray says of them with what was computed."""
import json, os, random, sys, time
import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from placetui.frameworks.demand import BundleDemand, GroupDemand
from placetui.frameworks.scheduling import schedule
from placetui.runtime.gcs.client import Head
from placetui.runtime.scheduling.picture import node_resources

ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False, logging_level="ERROR")
head = Head(os.environ["RAY_ADDRESS"])
chance = random.Random(19)

@ray.remote
class Holder:
    """Another job, which holds half a GPU."""
    def ready(self):
        return True

largest = sorted((node for node in head.nodes() if node.gpus), key=lambda node: -node.gpus)[:2]
pins = [NodeAffinitySchedulingStrategy(node.id, soft=False) for node in largest]
holders = [Holder.options(num_gpus=0.5, num_cpus=1, scheduling_strategy=pin).remote() for pin in pins]
ray.get([holder.ready.remote() for holder in holders])

def bundle():
    kind = chance.randrange(10)
    if kind < 4:
        need = {"GPU": chance.choice([1, 1, 1, 2, 3, 4]), "CPU": chance.choice([0, 1, 1, 2, 3])}
    elif kind < 6:
        need = {"GPU": chance.choice([0.2, 0.25, 0.4, 0.5, 0.6, 0.75, 0.8]), "CPU": chance.choice([0, 0.5, 1])}
    elif kind < 8:
        need = {"CPU": chance.choice([1, 2, 3, 4, 6])}
    else:
        need = {"CPU": 1, chance.choice(["nvme", "slot"]): chance.choice([0.5, 1, 2])}
    labels = chance.choice([{}] * 6 + [{"zone": "a"}, {"zone": "!a"}, {"zone": "in(a,b)"}, {"zone": "z"}])
    return {name: amount for name, amount in need.items() if amount}, labels

def group():
    strategy = chance.choice(["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"])
    most = {"PACK": 8, "SPREAD": 8, "STRICT_PACK": 4, "STRICT_SPREAD": 3}[strategy]
    kinds = [bundle() for _ in range(chance.choice([1, 1, 2, 3]))]
    bundles = [BundleDemand(need, chance.randint(1, most), labels) for need, labels in kinds]
    return GroupDemand("g", strategy, tuple(bundles))

def create(request):
    each = [one for one in request.bundles for _ in range(one.count)]
    made = placement_group(
        [dict(one.resources) for one in each],
        strategy=request.strategy,
        bundle_label_selector=[dict(one.labels) for one in each],
    )
    return made.id.hex()

def judged(id, expected):
    """The group once Ray has made up its mind. One that was computed to fit has time for a few attempts."""
    enough = 10 if expected == "fits" else 1
    while True:
        row = head.group(id)
        waits = row.scheduling == "NO_RESOURCES" and row.attempts >= enough
        if row.state == "CREATED" or row.scheduling == "INFEASIBLE" or waits:
            return row
        time.sleep(0.002 if row.attempts < 2 else 0.02)

def settle():
    """Wait until the head's books show just the groups that were created: raylets report with a delay."""
    expected = {node: {name: round(amount, 4) for name, amount in have.items()} for node, have in free.items()}
    for one in (bundle for row in created for bundle in row.bundles):
        for name, amount in one.resources.items():
            expected[one.node][name] = round(expected[one.node].get(name, 0) - amount, 4)
    end = time.monotonic() + 120
    while True:
        now = head.available()
        pairs = [(now[node].get(name, 0), have) for node, one in expected.items() for name, have in one.items()]
        if all(round(there, 4) == have for there, have in pairs):
            return
        if time.monotonic() > end:
            raise SystemExit(f"the books did not settle: {expected} {now}")
        time.sleep(0.005)

def compare(request):
    settle()
    computed, = schedule(node_resources(head.tables()), [request])
    id = create(request)
    row = judged(id, computed.verdict)
    real = "fits" if row.state == "CREATED" else "waits"
    wrong = []
    if computed.verdict not in (real, "may"):
        wrong.append("verdict")
    if computed.verdict != "may" and (row.scheduling == "INFEASIBLE") != computed.infeasible:
        wrong.append("infeasible")
    # A later attempt was made on other books than those that were read.
    placed = [one.node for one in row.bundles]
    if real == "fits" and computed.verdict == "fits" and row.attempts == 1:
        if not all(node in choices for node, choices in zip(placed, computed.choices)):
            wrong.append("place")
    if real == "fits":
        created.append(row)
    if wrong:
        problems.append({"wrong": wrong, "request": str(request), "computed": str(computed), "ray": str(row)})
    return id, computed.verdict, real

problems, verdicts, created = [], [], []
free = head.available()
while len(verdicts) < int(sys.argv[1]):
    made = [compare(group()) for _ in range(chance.randint(6, 12))]
    verdicts += [(verdict, real) for _, verdict, real in made]
    for id, verdict, real in made:
        row = head.group(id)
        if verdict == "waits" and row.state == "CREATED":
            problems.append({"wrong": "it did not wait", "ray": str(row)})
        head.remove_group(id)
    created.clear()
print(json.dumps({"verdicts": verdicts, "problems": problems}))
'''


@pytest.fixture(scope="module")
def uneven() -> Iterator[TestCluster]:
    """Six nodes that differ in GPUs, CPUs, labels and custom resources."""
    from tests.runtime.conftest import node, running_cluster

    nodes = [
        node(8, 8, labels={"zone": "a"}),
        node(4, 12, labels={"zone": "b"}, resources={"nvme": 2}),
        node(4, 6, labels={"zone": "a"}, resources={"nvme": 1, "slot": 3}),
        node(2, 16, resources={"slot": 4}),
        node(0, 4, labels={"zone": "c"}),
        node(2, 3),
    ]
    with running_cluster(nodes) as cluster:
        yield cluster


def test_ray_does_what_was_computed(uneven: TestCluster) -> None:
    found = uneven.python(PROGRAM, str(CASES))
    assert found["problems"] == []
    computed = [verdict for verdict, _ in found["verdicts"]]
    assert len(computed) >= 200
    assert computed.count("may") <= len(computed) / 10
    # Both kinds are common, or the comparison says little.
    assert min(computed.count("fits"), computed.count("waits")) > len(computed) / 4


WAITING = """
import json, os, sys, time
import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy as In

ray.init(address=os.environ["RAY_ADDRESS"], namespace="other", log_to_driver=False, logging_level="ERROR")

@ray.remote
class Part:
    def ready(self):
        return True

held = placement_group([{"GPU": 8, "CPU": 7}], name="held")
assert held.wait(30)
inside = {"num_gpus": 4, "num_cpus": 1, "scheduling_strategy": In(held, 0)}
parts = [Part.options(name=f"part-{number}", **inside).remote() for number in range(3)]
ray.get([one.ready.remote() for one in parts[:2]])
waiting = placement_group([{"GPU": 1, "CPU": 1}] * 13, strategy="PACK", name="waiting")
never = placement_group([{"GPU": 9}], name="never")
large = Part.options(name="large", num_cpus=17).remote()
print(json.dumps({"ready": True}), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def with_waiting(uneven: TestCluster) -> Iterator[TestCluster]:
    """The same cluster, with a program that holds the largest node and waits for more."""
    program = uneven.directory / "waiting.py"
    program.write_text(WAITING)
    process = subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=uneven.environment(RAY_ADDRESS=uneven.address),
    )
    assert process.stdout is not None
    assert any('"ready"' in line for line in process.stdout)
    yield uneven
    process.communicate()


def test_all_that_waits_is_listed_with_its_reason(with_waiting: TestCluster) -> None:
    def listed() -> dict[str, Any]:
        done = with_waiting.run("pending", "--json")
        assert done.code == 0, done.err
        return {one["name"]: one for one in json.loads(done.out)["waiting"]}

    deadline = time.monotonic() + 60
    while set(found := listed()) != {"waiting", "never", "part-2", "large"} and time.monotonic() < deadline:
        time.sleep(0.2)
    assert set(found) == {"waiting", "never", "part-2", "large"}
    waiting = found["waiting"]
    assert waiting["kind"] == "group"
    assert waiting["needs"] == [{"resources": {"GPU": 1, "CPU": 1}, "count": 13}]
    assert 0 < time.time() - waiting["since"] < 300
    assert "needs 13 bundles of 1 GPU + 1 CPU" in waiting["reason"]
    assert " reserved by job " in waiting["reason"]
    assert {"GPU": 1} in [one["missing"] for one in waiting["nodes"]]
    assert "placetui down" in waiting["hint"]
    assert "the nearest node" in found["never"]["reason"]
    reserved = "bundle 0 of placement group held 4 GPUs, of which 0 are free, reserved by part-"
    assert reserved in found["part-2"]["reason"]
    assert found["large"]["kind"] == "actor"
    assert "needs 1 actor of 17 CPUs; the nearest node" in found["large"]["reason"]


def test_a_file_is_judged_by_what_is_free(with_waiting: TestCluster, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("slime: {actor_num_nodes: 1, actor_num_gpus_per_node: 8, rollout_num_gpus: 6}\n")
    done = with_waiting.run("preflight", file, "--json")
    assert done.code == 1, done.err
    found = json.loads(done.out)
    assert found["fits"] is False
    assert found["groups"][0]["reason"].startswith("slime needs 14 bundles of 1 GPU + 1 CPU; ")
    held = [held for node in found["nodes"] for held in node["held_by"]]
    assert any(one["resources"].get("GPU") == 8 and one["who"].startswith("job ") for one in held)
    assert sum(node["total"].get("GPU", 0) for node in found["nodes"]) == 20
    file.write_text("slime: {actor_num_nodes: 1, actor_num_gpus_per_node: 4, colocate: true}\n")
    done = with_waiting.run("preflight", file)
    assert done.code == 0, done.out
    assert "fits" in done.out


def test_what_a_running_job_holds_is_not_left_behind(
    one_node: TestCluster, write: Callable[..., Path], tmp_path: Path
) -> None:
    done = one_node.up(write("actor: 0-1"), "--job", "one")
    assert done.code == 0, done.err
    file = tmp_path / "other.yaml"
    file.write_text("slime: {actor_num_nodes: 1, actor_num_gpus_per_node: 4, colocate: true}\n")
    done = one_node.run("preflight", file, "--json")
    found = json.loads(done.out)
    one_node.down("one")
    assert found["fits"] is False
    (node,) = found["nodes"]
    (held,) = (one for one in node["held_by"] if one["resources"].get("GPU"))
    assert held["who"].startswith("job one (")
    assert held["resources"]["GPU"] == 2
    (group,) = found["groups"]
    assert "2 GPUs reserved by job one (" in group["reason"]
    assert "placetui down one" in group["hint"]
    assert not [one for one in found["notes"] if "ended" in one["message"] or "ray." in one["hint"]]
