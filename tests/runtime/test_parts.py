"""Small parts without Ray: addresses, versions, records, jobs, ports, engines, what a worker is told."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui import (
    Cluster,
    Node,
    Placement,
    PlacementError,
    PlacementStrategy,
    Worker,
    create_placement_groups,
    runtime,
)
from placetui.placement.plan import RankOfEngine
from placetui.runtime.errors import NoCluster, NothingFound, NotPossible, NotReady, explain
from placetui.runtime.gcs.address import check_address, choose, resolve_address
from placetui.runtime.gcs.client import unready
from placetui.runtime.gcs.driver import check_versions, is_here
from placetui.runtime.gcs.model import RayActor, RayBundle, RayGroup, RayNode, Tables
from placetui.runtime.jobs.records import LAUNCHING, READY, Record, check_name
from placetui.runtime.jobs.state import job_of
from placetui.runtime.launch.embedded import machine_environment
from placetui.runtime.launch.ranks import EnginePart, engine_arguments, sizes_by_node
from placetui.runtime.remote import rank_actor


def test_only_gcs_and_remote_use_what_ray_keeps_private() -> None:
    marks = ("ray._private", "ray.core.generated", "_actor_id.hex", "_py_driver", "_raylet", "_internal_kv")
    package = Path(runtime.__file__).parent
    users = {
        path.parent.name
        for path in package.rglob("*.py")
        if any(mark in path.read_text(encoding="utf-8") for mark in marks)
    }
    assert users == {"gcs", "remote"}


def test_an_address_comes_from_the_option_then_the_variable() -> None:
    assert resolve_address("10.0.0.1:6379", {"RAY_ADDRESS": "10.0.0.2:6379"}) == "10.0.0.1:6379"
    assert resolve_address("auto", {"RAY_ADDRESS": "10.0.0.2:6379"}) == "10.0.0.2:6379"
    with pytest.raises(NothingFound):
        resolve_address("auto", {"RAY_ADDRESS": "local"})
    with pytest.raises(NoCluster, match=r"RAY_ADDRESS is `ray://x:1`"):
        resolve_address("auto", {"RAY_ADDRESS": "ray://x:1"})


def test_the_only_cluster_is_meant_and_several_are_listed() -> None:
    assert choose(["10.0.0.1:6379"]) == "10.0.0.1:6379"
    with pytest.raises(NoCluster, match="no Ray cluster was found on this machine") as caught:
        choose([])
    assert "`placetui up FILE --address local`" in caught.value.hint  # the only command that takes it
    with pytest.raises(NoCluster, match=r"2 Ray clusters on this machine: a:1 and b:2"):
        choose(["a:1", "b:2"])


@pytest.mark.parametrize("text", ["x", "x:", ":1", "x:0", "x:70000", "x:y", "http://x:1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(NoCluster, match=f"the address is `{text}`, which is not HOST:PORT"):
        check_address(text)


def test_this_machine_knows_its_own_addresses() -> None:
    assert is_here("127.0.0.1")
    assert not is_here("192.0.2.200")
    assert not is_here("nonsense")


def test_versions_that_differ_are_named_with_what_to_install() -> None:
    cluster = {"ray_version": "2.59.0", "python_version": "3.11.7", "os": "linux"}
    check_versions(cluster, "h:1", "2.59.0", "3.11.7")
    check_versions({}, "h:1", "2.59.0", "3.11.7")
    with pytest.raises(NotReady) as ray_differs:
        check_versions(cluster, "h:1", "2.60.0", "3.11.7")
    assert str(ray_differs.value) == (
        "the cluster at h:1 runs Ray 2.59.0 on Python 3.11.7, but Ray 2.60.0 and Python 3.11.7 are installed here: "
        "they must be the same"
    )
    assert ray_differs.value.hint == "install the version that the cluster runs: pip install 'ray==2.59.0'"
    with pytest.raises(NotReady) as python_differs:
        check_versions(cluster, "h:1", "2.59.0", "3.12.1")
    assert "Python 3.11.7" in python_differs.value.hint


def test_ray_that_cannot_be_imported_is_a_sentence() -> None:
    assert unready(ModuleNotFoundError("", name="ray.core")).message == "ray is not installed here"
    assert unready(ModuleNotFoundError("", name="grpc")).hint == "pip install grpcio"
    assert "libstdc++" in unready(ImportError("libstdc++.so.6: no such file")).message


@pytest.mark.parametrize("name", ["", "a/b", "-x", "a b", "x" * 101, "ö"])
def test_names_that_no_job_can_have(name: str) -> None:
    with pytest.raises(NotPossible):
        check_name(name)


def test_a_record_is_read_as_it_was_written() -> None:
    record = Record("job", "/f.yaml", 12.5, groups={"actor": 2}, nodes=({"rank": 0, "node_id": "n"},), state=READY)
    read = Record.decode(record.encode())
    assert (read.job, read.uid, read.groups, read.state) == ("job", record.uid, {"actor": 2}, READY)
    assert list(read.nodes) == list(record.nodes)
    with pytest.raises(ValueError, match="not a job record"):
        Record.decode(b"[]")


@pytest.mark.parametrize("more", ['"groups": {"actor": {"world_size": 8}}', '"nodes": ["n"]'])
def test_a_record_of_another_version_is_not_taken_for_one_of_ours(more: str) -> None:
    with pytest.raises(ValueError, match="another version"):
        Record.decode(b'{"job": "job", ' + more.encode() + b"}")


class Colour(str, Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Pair(NamedTuple):
    loss: float
    colour: Colour


def test_answers_are_plain_whatever_class_they_are_of() -> None:
    found = rank_actor.plain({"one": Pair(0.5, Colour.RED), "level": Level.LOW})
    assert found == {"one": [0.5, "red"], "level": 1}
    assert [type(value) for value in (found["one"], found["one"][1], found["level"])] == [list, str, int]


def tables(*states: str) -> Tables:
    actors = [
        RayActor(f"{rank}", f"job/actor:{rank}", namespace="placetui", state=state, node="n", pid=9, reason="killed")
        for rank, state in enumerate(states)
    ]
    strangers = [RayActor("x", "job/actor:0", namespace="elsewhere"), RayActor("y", "plain", namespace="placetui")]
    living = (RayNode("n", "10.0.0.1"),)
    return Tables(living, (*actors, *strangers), (RayGroup("g", "job", "placetui", bundles=(RayBundle("n", {}),)),))


@pytest.mark.parametrize(
    ("recorded", "states", "state", "alive"),
    [
        (READY, ("ALIVE", "ALIVE"), "running", 2),
        (READY, ("ALIVE", "DEAD"), "degraded", 1),
        (READY, ("ALIVE",), "degraded", 1),
        (READY, ("ALIVE", "RESTARTING"), "degraded", 1),
        (LAUNCHING, ("ALIVE", "PENDING_CREATION"), "incomplete", 1),
        (LAUNCHING, (), "incomplete", 0),
    ],
)
def test_how_a_job_is(recorded: str, states: tuple[str, ...], state: str, alive: int) -> None:
    nodes = ({"rank": 3, "node_id": "n"},)
    record = Record("job", "f", 1.0, state=recorded, groups={"actor": 2}, nodes=nodes)
    job = job_of(record, tables(*states))
    assert job.to_dict() == {
        "name": "job",
        "framework": "placetui",
        "ray_job": None,
        "submission": None,
        "file": "f",
        "state": state,
        "created": 1.0,
        "owner": None,
        "silent_nodes": [],
        "groups": {"actor": {"world_size": 2, "alive": alive}},
    }
    if states:
        assert (job.ranks[0].state, job.ranks[0].node, job.ranks[0].pid) == ("alive", 3, 9)
    if "DEAD" in states:
        assert (job.ranks[1].state, job.ranks[1].reason) == ("dead", "killed")


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.sets(st.integers(0, 30), max_size=12))
def test_port_blocks_are_free_and_do_not_overlap(sizes: list[int], taken: set[int]) -> None:
    original = rank_actor.port_is_free
    try:
        rank_actor.port_is_free = lambda port: port - 50_000 not in taken
        found = rank_actor.find_port_blocks(sizes, first=50_000, last=51_000)
    finally:
        rank_actor.port_is_free = original
    used = [port for start, size in zip(found, sizes, strict=True) for port in range(start, start + size)]
    assert len(set(used)) == sum(sizes)
    assert used == sorted(used)
    assert not {port - 50_000 for port in used} & taken


def test_two_jobs_on_a_machine_get_different_ports_that_ray_does_not_use_itself() -> None:
    """Also while nothing listens on them yet."""
    ours, theirs = rank_actor.PortLocks(), rank_actor.PortLocks()
    sizes = (1, 1, 31)
    given = [
        port
        for locks in (ours, theirs, ours)
        for start, size in zip(rank_actor.find_port_blocks(sizes, locks), sizes, strict=True)
        for port in range(start, start + size)
    ]
    ours.close()
    theirs.close()
    assert len(set(given)) == len(given) == 3 * sum(sizes)
    assert not set(given) & set(range(10002, 20000))


def test_ports_that_somebody_listens_on_are_passed_over() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("", 0)))
        port = listener.getsockname()[1]
        assert not rank_actor.port_is_free(port)
        assert rank_actor.find_port_blocks([1], first=port, last=port + 50)[0] > port
        with pytest.raises(RuntimeError, match=f"no 2 consecutive free ports from {port} to {port} on "):
            rank_actor.find_port_blocks([2], first=port, last=port + 1)


def test_the_parts_of_an_engine_share_the_address_of_the_first() -> None:
    parts = [
        EnginePart(rank, rank // 2, str(2 * (rank % 2)), RankOfEngine(rank // 2, rank % 2, 2)) for rank in range(4)
    ]
    sizes = sizes_by_node(parts, dp_size=2)
    assert sizes == {0: [1, 1, 32, 1, 1], 1: [1, 1, 32, 1, 1]}
    ports = {node: [100, 101, 102, 134, 135] for node in sizes}
    told = engine_arguments(parts, ["10.0.0.1", "fd00::2"], ports, dp_size=2)
    assert [told[rank]["dist_init_addr"] for rank in range(4)] == ["10.0.0.1:102"] * 2 + ["[fd00::2]:102"] * 2
    assert [(told[rank]["host"], told[rank]["port"], told[rank]["nccl_port"]) for rank in range(2)] == [
        ("10.0.0.1", 100, 101),
        ("10.0.0.1", 134, 135),
    ]
    assert [told[rank]["base_gpu_id"] for rank in range(4)] == [0, 2, 0, 2]
    assert told[1]["data_parallel_ports"] == list(range(103, 134))


class Named:
    def __init__(self, rank: int, host: str) -> None: ...


class Open:
    def __init__(self, **kwargs: Any) -> None: ...


class Plain:
    pass


@pytest.mark.parametrize(
    ("made", "names"), [(Named, {"rank", "host"}), (Open, {"host", "port"}), (Plain, set()), (int, set())]
)
def test_a_worker_is_told_what_it_names(made: type, names: set[str]) -> None:
    assert set(rank_actor.wanted(made, {"rank": 0, "world_size": 1}, {"host": "h", "port": 1})) == names


def test_an_embedded_cluster_has_what_the_machine_is_and_nothing_of_its_user() -> None:
    machine = {"PATH": "/bin", "LC_ALL": "C.UTF-8", "CUDA_HOME": "/cuda", "RAY_AUTH_MODE": "token", "PYTHONPATH": "/a"}
    secrets = {"AWS_SECRET_ACCESS_KEY": "x", "HTTPS_PROXY": "http://me:x@proxy", "SSH_AUTH_SOCK": "/x", "MINE": "x"}
    assert machine_environment({**machine, **secrets}) == machine


class Arguments:
    """As a program may have them: defaults in the class, no dictionary of its own."""

    __slots__ = ("actor_num_nodes",)
    rollout_num_gpus = "many"

    def __init__(self) -> None:
        self.actor_num_nodes = "two"


def test_slime_s_arguments_are_those_of_any_object() -> None:
    args = Arguments()
    with pytest.raises(PlacementError) as caught:
        create_placement_groups(args)
    assert [problem.path[-1] for problem in caught.value.problems] == ["actor_num_nodes", "rollout_num_gpus"]


class Seen(PlacementStrategy):
    def __init__(self) -> None:
        self.isolated: list[bool] = []

    def get_placement(self, cluster: Any = None, isolate_accelerator: bool = True, **_: Any) -> list[Placement]:
        self.isolated.append(isolate_accelerator)
        raise PlacementError([])


def test_isolation_of_a_group_and_its_older_spelling() -> None:
    seen, cluster = Seen(), Cluster(nodes=[Node(1)])
    plan_request: list[dict[str, Any]] = [{}, {"isolate_accelerator": False}, {"isolate_gpu": False}]
    for wish in plan_request:
        with pytest.raises(PlacementError):
            Worker.create_group().launch(cluster, seen, **wish)
    assert seen.isolated == [True, False, False]


def test_the_built_in_worker_tells_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("RANK", "3")
    told = rank_actor.BuiltIn(["4"], {"RANK", "WORLD_SIZE"}).report()
    assert (told["environment"], told["gpu_ids"], sorted(told)) == (
        {"RANK": "3"},
        ["4"],
        ["environment", "gpu_ids", "host", "pid"],
    )


def test_a_death_is_told_without_ids() -> None:
    told = (
        "Worker exit type: INTENDED_SYSTEM_EXIT Worker exit detail: Destroying worker since its placement group was "
        "removed. Placement group id: 75a5ec8d, bundle index: 4, lease id: 24"
    )
    assert explain(told) == "the process died: Destroying worker since its placement group was removed"
