"""A whole job on three raylets: order, engines over several nodes, their ports, captured children, CPU-only ranks."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

Write = Callable[..., Path]

WORKERS = """
import json, os, ray

@ray.remote(num_gpus=0.1, num_cpus=0)
def child():
    return ray.get_runtime_context().get_node_id()

class Engine:
    def __init__(self, where, dist_init_addr, **rest):
        # All GPUs are reserved: only in the group there is one for a child.
        seen = ray.get(child.remote(), timeout=60)
        note(where, engine={"dist_init_addr": dist_init_addr, **rest}, child=seen)

class Trainer:
    def __init__(self, where):
        note(where)

def note(where, **found):
    found["env"] = dict(os.environ)
    found["captured"] = ray.get_runtime_context().should_capture_child_tasks_in_placement_group
    found["node"] = ray.get_runtime_context().get_node_id()
    with open(f"{where}/{os.environ['GROUP_NAME']}-{os.environ['RANK']}.json", "w") as file:
        json.dump(found, file)
"""

SLIME = """
slime: {{actor_num_nodes: 1, actor_num_gpus_per_node: 2, rollout_num_gpus: 4, rollout_num_gpus_per_engine: {gpus},
         num_gpus_per_node: 2}}
placetui:
  launch:
    actor: {{worker: 'three_workers:Trainer', kwargs: {{where: '{where}'}}}}
    rollout: {{worker: 'three_workers:Engine', kwargs: {{where: '{where}'}}}}
"""


@pytest.fixture(autouse=True)
def clean(three_nodes: TestCluster) -> Iterator[None]:
    yield
    three_nodes.clean_up()


def slime_file(tmp_path: Path, gpus_per_engine: int) -> Path:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "three_workers.py").write_text(WORKERS)
    file = tmp_path / "slime.yaml"
    file.write_text(SLIME.format(gpus=gpus_per_engine, where=tmp_path))
    return file


def notes(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*-*.json")}


def test_a_slime_job_with_an_engine_over_two_nodes(three_nodes: TestCluster, tmp_path: Path) -> None:
    done = three_nodes.up(slime_file(tmp_path, 4), PYTHONPATH=str(tmp_path / "modules"))
    assert done.code == 0, done.err
    ranks = {(one["component"], one["rank"]): one for one in done.last["ranks"]}
    assert {key: (one["node_rank"], one["gpu_ids"], one["share"]) for key, one in ranks.items()} == {
        ("actor", 0): (0, ["0"], 0.8),
        ("actor", 1): (0, ["1"], 0.8),
        ("rollout", 0): (1, ["0", "1"], 0.2),
        ("rollout", 1): (2, ["0", "1"], 0.2),
    }
    found = notes(tmp_path)
    # The nodes were started in the order of their ranks 2, 0, 1.
    by_rank = [three_nodes.nodes[1], three_nodes.nodes[2], three_nodes.nodes[0]]
    assert {name: by_rank.index(one["node"]) for name, one in found.items()} == {
        "actor-0": 0,
        "actor-1": 0,
        "rollout-0": 1,
        "rollout-1": 2,
    }
    first, second = found["rollout-0"]["engine"], found["rollout-1"]["engine"]
    assert first == {**ranks["rollout", 0]["engine"]}
    assert (
        first["dist_init_addr"] == second["dist_init_addr"] == f"{first['host']}:{first['data_parallel_ports'][0] - 1}"
    )
    assert [(one["node_rank"], one["nnodes"], one["base_gpu_id"]) for one in (first, second)] == [(0, 2, 0), (1, 2, 0)]
    assert [found[name]["captured"] for name in ("actor-0", "rollout-0", "rollout-1")] == [False, True, True]
    assert "CUDA_VISIBLE_DEVICES" not in found["rollout-0"]["env"]
    assert [found[name]["env"]["LOCAL_RANK"] for name in ("actor-0", "actor-1")] == ["0", "1"]
    again = {(one["component"], one["rank"]): one["node"] for one in done.last["ranks"]}
    three_nodes.down("slime")
    second_time = three_nodes.up(tmp_path / "slime.yaml", PYTHONPATH=str(tmp_path / "modules"))
    assert {(one["component"], one["rank"]): one["node"] for one in second_time.last["ranks"]} == again
    assert [one["gpu_ids"] for one in second_time.last["ranks"]] == [one["gpu_ids"] for one in done.last["ranks"]]


def test_engines_get_ports_that_are_free(three_nodes: TestCluster, tmp_path: Path) -> None:
    taken = [15000, 15003, 15020]
    with ExitStack() as stack:
        for port in taken:
            listener = stack.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("", port))
            listener.listen()
        done = three_nodes.up(slime_file(tmp_path, 1), PYTHONPATH=str(tmp_path / "modules"))
    assert done.code == 0, done.err
    by_node: dict[int, list[int]] = {}
    for one in done.last["ranks"]:
        if one["component"] == "rollout":
            engine = one["engine"]
            first = int(engine["dist_init_addr"].rpartition(":")[2])
            ports = [engine["port"], engine["nccl_port"], first, *engine["data_parallel_ports"]]
            assert engine["data_parallel_ports"] == list(range(first + 1, first + 31))
            by_node.setdefault(one["node_rank"], []).extend(ports)
    assert [len(ports) for ports in by_node.values()] == [66, 66]
    for ports in by_node.values():
        assert len(set(ports)) == len(ports)
        assert not set(ports) & set(taken)


def test_rlinf_ranks_by_label_and_a_group_without_gpus(three_nodes: TestCluster, write: Write) -> None:
    file = write("actor,rollout: 0-5; env: {node_group: node, placement: 0-2}", nodes=3)
    done = three_nodes.up(file)
    assert done.code == 0, done.err
    match = next(event for event in done.events if event["step"] == "match")
    assert match["by"] == "RLINF_NODE_RANK"
    assert [one["node_id"] for one in match["nodes"]] == [three_nodes.nodes[place] for place in (1, 2, 0)]
    assert [
        (one["component"], one["rank"], one["node_rank"], one["gpu_ids"], one["share"]) for one in done.last["ranks"]
    ] == [
        *[("actor", rank, rank // 2, [str(rank % 2)], 0.8) for rank in range(6)],
        *[("rollout", rank, rank // 2, [str(rank % 2)], 0.2) for rank in range(6)],
        *[("env", rank, rank, [], None) for rank in range(3)],
    ]
    with three_nodes.head() as head:
        nodes = {actor.name: actor.node for actor in head.living_actors() if actor.state == "ALIVE"}
    assert [three_nodes.nodes.index(nodes[f"job/env:{rank}"]) for rank in range(3)] == [1, 2, 0]
    (job,) = three_nodes.jobs()
    assert job["groups"]["env"] == {"world_size": 3, "alive": 3}


def test_more_nodes_than_there_are(three_nodes: TestCluster, write: Write) -> None:
    done = three_nodes.up(write("actor: 0-7", nodes=4))
    assert (done.code, done.last["during"]) == (3, "check")
    assert "the plan does not fit" in done.err
    assert "4" in done.last["message"]
