"""What an observation takes from the head's tables."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from placetui.observe.model import BundleState
from placetui.runtime.gcs.model import RayActor, RayBundle, RayGroup, RayNode, RayWorker, Tables
from placetui.runtime.gcs.rows import Environments, read_actor, read_worker
from placetui.runtime.jobs.records import LAUNCHING, READY, Record
from placetui.runtime.watch.samplers import GpuOrder
from placetui.runtime.watch.view import Seen, ShownNode, actor_facts, bare_node, group_states, places, rank_states


def node(id: str, ip: str = "10.0.0.1", gpus: int = 2, **labels: str) -> RayNode:
    return RayNode(id, ip, f"host-{id}", {"GPU": gpus} if gpus else {}, labels)


def record(*ids: str, **more: object) -> Record:
    matched = tuple(
        {"rank": rank, "node_id": one, "ip": "10.0.0.9", "host": one, "gpus": 2} for rank, one in enumerate(ids)
    )
    return Record("ppo", "ppo.yaml", 1.0, state=READY, nodes=matched, **more)  # type: ignore[arg-type]


def shown(found: tuple[ShownNode, ...]) -> dict[int, str]:
    return {place.rank: place.node.id for place in found}


def test_without_a_job_nodes_are_counted_as_a_launch_would() -> None:
    nodes = (node("a", "10.0.0.10"), node("b", "10.0.0.9"), node("c", "10.0.0.11", gpus=0))
    seen = Seen(Tables(nodes))
    assert shown(places(seen, "hybrid", 0, "b", {})) == {0: "b", 1: "a"}
    assert shown(places(seen, "slime", 0, "b", {})) == {0: "b", 1: "a"}
    said: dict[str, str | None] = {"a": "2", "b": "1", "c": "0"}
    assert shown(places(seen, "hybrid", 0, "b", said)) == {1: "b", 2: "a"}


def test_a_planned_node_is_shown_without_gpus_too() -> None:
    seen = Seen(Tables((node("a"), node("b", "10.0.0.2", gpus=0))))
    assert shown(places(seen, "hybrid", 1, "a", {})) == {0: "a"}
    assert shown(places(seen, "hybrid", 2, "a", {})) == {0: "a", 1: "b"}


def test_ranks_of_nodes_that_cannot_be_right_are_not_believed() -> None:
    seen = Seen(Tables((node("a", RLINF_NODE_RANK="7"), node("b", "10.0.0.2"))))
    assert shown(places(seen, "hybrid", 0, "b", {})) == {0: "b", 1: "a"}


def test_a_job_keeps_the_nodes_it_was_matched_with_and_others_come_after() -> None:
    seen = Seen(Tables((node("a"), node("b"), node("new"))), record("b", "lost", "a"))
    found = places(seen, "hybrid", 0, "a", {})
    assert shown(found) == {0: "b", 1: "lost", 2: "a", 3: "new"}
    assert [place.here for place in found] == [True, False, True, True]
    lost = bare_node(found[1], "")
    assert (lost.stale, lost.error, len(lost.devices)) == (True, "this node is lost", 2)


def test_actors_of_jobs_and_of_others() -> None:
    actors = (
        RayActor(
            "1",
            "ppo/actor:3",
            namespace="placetui",
            class_name="Shell",
            node="a",
            pid=11,
            group="g",
            slots={1: 0.8},
            started=5.0,
        ),
        RayActor(
            "2",
            "w",
            namespace="verl",
            class_name="Engine",
            node="a",
            pid=12,
            job="02000000",
            environment={"CUDA_VISIBLE_DEVICES": "1"},
        ),
        RayActor("3", "ppo/actor:4", namespace="placetui", class_name="Shell", state="DEAD", node="a"),
        RayActor("4", "elsewhere", node="z"),
        RayActor("5", "odd/name", namespace="placetui", class_name="Odd", node="a", group="g"),
    )
    groups = (RayGroup("g", "ppo", "placetui"), RayGroup("h", "ppo", "another"))
    ours, other, odd = actor_facts(actors, groups, {"a": 4}, {"a": GpuOrder(2)})
    assert (ours.node, ours.claim.job, ours.claim.component, ours.claim.rank) == (4, "ppo", "actor", 3)
    assert (ours.claim.group, ours.claim.class_name) == ("ppo", None)
    assert (ours.reserved, ours.created) == ({1: 0.8}, 5.0)
    assert (other.claim.job, other.claim.component, other.claim.actor) == ("02000000", None, "w")
    assert (other.claimed, other.claim.group, other.claim.class_name) == ((1,), None, "Engine")
    assert (odd.claim.component, odd.claim.group) == (None, "ppo")


def test_an_actor_in_its_constructor_has_a_process_and_one_that_waits_has_none() -> None:
    actors = (
        RayActor("1", "building", namespace="verl", class_name="Engine", state="PENDING_CREATION", node="a", pid=11),
        RayActor("2", "waiting", namespace="verl", class_name="Engine", state="PENDING_CREATION", node="a"),
        RayActor("3", "again", namespace="verl", class_name="Engine", state="RESTARTING", node="a", pid=12),
    )
    assert [one.claim.actor for one in actor_facts(actors, (), {"a": 0}, {})] == ["building"]


def test_a_worker_that_runs_a_task_tells_its_group_and_its_part() -> None:
    common_pb2: Any = import_module("ray.core.generated.common_pb2")
    row = common_pb2.CoreWorkerStats(
        pid=7,
        worker_id=b"\x01\x02",
        job_id=b"\x03",
        actor_id=b"\xff" * 16,
        num_running_tasks=1,
        ip_address="::1",
        port=9,
    )
    names = {"GPU_group_ab12": 2, "GPU_group_5_ab12": 2, "bundle_group_5_ab12": 0}
    for name, slot in names.items():
        row.used_resources[name].resource_slots.add(slot=slot, allocation=0.25)
    assert read_worker(row) == RayWorker("0102", 7, "03", "ab12", {2: 0.25}, {2: 5}, address="[::1]:9")
    # In any bundle of the group; and without one.
    del row.used_resources["GPU_group_5_ab12"]
    del row.used_resources["bundle_group_5_ab12"]
    assert read_worker(row) == RayWorker("0102", 7, "03", "ab12", address="[::1]:9")
    row.used_resources.clear()
    row.used_resources["GPU"].resource_slots.add(slot=1, allocation=1.0)
    assert read_worker(row) == RayWorker("0102", 7, "03", "", {1: 1.0}, address="[::1]:9")
    row.num_running_tasks = 0
    assert read_worker(row) == RayWorker("0102", 7, "03", "", {1: 1.0}, address="[::1]:9", unused=True)
    row.actor_id = b"\x09" * 16
    assert read_worker(row) is None


def test_an_actor_tells_the_placement_group_and_the_bundle_it_is_in() -> None:
    actors = (
        RayActor("1", "w", namespace="verl", node="a", pid=12, group="h", slots={0: 0.5}, bundles={0: 3}),
        RayActor("2", "x", namespace="verl", node="a", pid=13, group="i" * 56),
        RayActor("3", "y", namespace="verl", node="a", pid=14),
    )
    groups = (RayGroup("h", "ppo", "verl"), RayGroup("i" * 56, "", "verl"))
    named, unnamed, outside = actor_facts(actors, groups, {"a": 0}, {})
    assert (named.claim.placement_group, named.bundles, named.claim.group) == ("ppo", {0: 3}, None)
    assert (unnamed.claim.placement_group, unnamed.bundles) == ("i" * 12, {})
    assert outside.claim.placement_group is None


def test_which_bundle_has_a_gpu_stands_in_the_name_of_the_resource() -> None:
    gcs_pb2: Any = import_module("ray.core.generated.gcs_pb2")

    row = gcs_pb2.ActorTableData()
    for name, slot in (("GPU_group_5_ab12", 2), ("GPU_group_ab12", 2), ("CPU_group_5_ab12", 0)):
        resource = row.resource_mapping.add(name=name)
        resource.resource_ids.add(index=slot, quantity=0.25)
    found = read_actor(row, Environments())
    assert (found.slots, found.bundles) == ({2: 0.25}, {2: 5})


def test_words_of_a_list_are_places_in_the_list_that_ray_was_started_with() -> None:
    assert GpuOrder(4).meant("2, 0,2,9,GPU-x") == (2, 0)
    limited = GpuOrder(2, {"5": 0, "GPU-five": 0, "2": 1, "GPU-two": 1})
    assert limited.meant("2,5") == (1, 0)
    assert limited.meant("GPU-five,0") == (0,)


def test_groups_with_their_bundles_on_ranks_of_nodes() -> None:
    groups = (
        RayGroup("g", "ppo", "placetui", bundles=(RayBundle("a", {"GPU": 1, "CPU": 2}), RayBundle("", {"CPU": 1}))),
        RayGroup("h", "", "verl", state="PENDING", scheduling="NO_RESOURCES"),
        RayGroup("i", "old", "verl", state="REMOVED"),
    )
    ours, waiting = group_states(groups, {"a": 3})
    assert (ours.name, ours.state, ours.reason) == ("ppo", "created", "")
    assert ours.bundles == (BundleState(3, 1, 2), BundleState(None, 0, 1))
    assert (waiting.namespace, waiting.state, waiting.reason) == ("verl", "pending", "no_resources")


def test_ranks_are_those_of_the_record() -> None:
    actors = (RayActor("1", "ppo/actor:0", namespace="placetui", node="a", pid=11),)
    seen = Seen(Tables((node("a"),), actors), record("a", groups={"actor": 2}))
    alive, dead = rank_states(seen)["actor"]
    assert (alive.state, alive.node, alive.pid) == ("alive", 0, 11)
    assert (dead.state, dead.reason) == ("dead", "it is no longer there")
    assert rank_states(Seen(Tables(()))) == {}


def test_a_rank_that_nobody_launches_says_why_it_is_pending() -> None:
    launching = replace(record("a", groups={"actor": 2}), state=LAUNCHING, created=100.0)
    group = RayGroup("g", "ppo", "placetui")

    def reasons(seen: Seen) -> set[tuple[str, str | None]]:
        return {(one.state, one.reason) for one in rank_states(seen)["actor"]}

    ended = "its launch ended before it started: down, then up"
    nothing = Tables((node("a"),))
    assert reasons(Seen(nothing, launching, 130.0)) == {("pending", None)}
    assert reasons(Seen(nothing, launching, 200.0)) == {("pending", ended)}
    there = replace(nothing, groups=(group, RayGroup("h", "ppo", "placetui", state="REMOVED", abandoned=True)))
    assert reasons(Seen(there, launching, 9999.0)) == {("pending", None)}
    left = replace(nothing, groups=(replace(group, abandoned=True), RayGroup("i", "ppo", "verl")))
    assert reasons(Seen(left, launching, 101.0)) == {("pending", ended)}
    # It was complete: one rank is being made anew, the other one is dead.
    again = RayActor("1", "ppo/actor:0", namespace="placetui", class_name="Shell", state="PENDING_CREATION")
    ready = Seen(Tables((node("a"),), (again,)), record("a", groups={"actor": 2}))
    assert reasons(ready) == {("pending", "its process has not started yet"), ("dead", "it is no longer there")}
