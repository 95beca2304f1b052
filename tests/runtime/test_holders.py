"""Who holds what, down to single GPUs, and what an autoscaler may add: from rows of the tables, without Ray."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.scheduling import units
from placetui.runtime.gcs.model import SAMPLER_NAMESPACE, RayActor, RayBundle, RayGroup, RayNode, Tables
from placetui.runtime.jobs.records import Record
from placetui.runtime.scheduling.pending import waits
from placetui.runtime.scheduling.picture import ClusterPicture, Owners, addable, holdings, node_resources, node_titles
from placetui.runtime.scheduling.preflight import left_actors, left_groups

NODE = RayNode("a" * 8, "10.0.0.1", "one", {"GPU": 4, "CPU": 16})
NOW = 1_000_000.0
OWNERS = Owners(
    (
        RayJobSeen("01000000", submission="train-7", user="root@head", started=NOW - 3 * 3600),
        RayJobSeen("02000000", dead=True, driver_ip="10.0.0.9"),
    ),
    (Record("mine", "job.yaml", NOW - 120, owner="ada@box"),),
    NOW,
)


def tables(*rows: RayActor | RayGroup, **free: float) -> Tables:
    actors = tuple(row for row in rows if isinstance(row, RayActor))
    groups = tuple(row for row in rows if isinstance(row, RayGroup))
    return Tables((NODE,), actors, groups, {NODE.id: free})


def bundle(**resources: float) -> RayBundle:
    return RayBundle(NODE.id, resources)


def test_holders_are_jobs_with_owner_and_age() -> None:
    seen = tables(
        RayGroup("g1", "pool", bundles=(bundle(GPU=1, CPU=1), bundle(GPU=1, CPU=1)), job="01000000"),
        RayGroup("g2", "mine", "placetui", bundles=(bundle(GPU=1, CPU=2),), job="03000000"),
        RayGroup("g3", "old", bundles=(bundle(CPU=3),), job="02000000", abandoned=True),
        RayActor("x", "manager", node=NODE.id, required={"CPU": 1}, job="01000000"),
        GPU=1,
        CPU=6,
    )
    found = {one.who: (dict(one.resources), one.end) for one in holdings(seen, OWNERS)}
    assert found == {
        "job train-7 (root@head, 3 h)": ({"GPU": units(2), "CPU": units(3)}, "placetui down train-7"),
        "job mine (ada@box, 2 min)": ({"GPU": units(1), "CPU": units(2)}, "placetui down mine"),
        "placement group old left behind by job 02000000, which has ended": ({"CPU": units(3)}, ""),
        "tasks, or processes that are starting": ({"CPU": units(2)}, ""),
    }


def test_detached_actors_that_outlive_their_job_are_noted() -> None:
    seen = tables(
        RayActor("x", "poster", namespace="a", class_name="f.<locals>._HttpPosterActor", job="02000000"),
        RayActor("y", class_name="Gone", state="DEAD", job="02000000"),
        RayActor("z", class_name="Rank", job="01000000"),
    )
    (note,) = left_actors(ClusterPicture(seen, (), (), OWNERS, {}))
    assert note.message == "job 02000000 has ended, but 1 detached actor of it still runs: _HttpPosterActor"
    assert "ray.get_actor('poster', 'a')" in note.hint


def test_what_placetui_launched_is_its_job_s_though_the_launching_driver_has_ended() -> None:
    owners = Owners(
        (*OWNERS.jobs, RayJobSeen("1a000000", dead=True), RayJobSeen("1b000000", dead=True)),
        (Record("mine", "job.yaml", NOW - 120, owner="ada@box", ray_job="1a000000"),),
        NOW,
    )
    seen = tables(
        RayGroup("g1", "mine", "placetui", bundles=(bundle(GPU=1),), job="1a000000", abandoned=True),
        # What its ranks have created themselves.
        RayGroup("g2", "", "placetui", bundles=(bundle(GPU=1),), job="1a000000", abandoned=True),
        RayActor("x", "helper", namespace="other", node=NODE.id, required={"CPU": 1}, job="1a000000"),
        # Its namespace, but nobody has a record of it.
        RayGroup("g3", "gone", "placetui", bundles=(bundle(CPU=3),), job="1b000000", abandoned=True),
        GPU=2,
        CPU=12,
    )
    assert {(one.who, one.end) for one in holdings(seen, owners)} == {
        ("job mine (ada@box, 2 min)", "placetui down mine"),
        ("placement group gone left behind by job 1b000000, which has ended", ""),
    }
    assert owners.name("1a000000", "", "placetui") == "mine"
    picture = ClusterPicture(seen, (), (), owners, {})
    (note,) = left_groups(picture)
    assert note.message == "placement group gone holds 1 bundle, and the program that created it has ended"
    assert note.hint == "remove it with ray.util.remove_placement_group"
    assert not list(left_actors(picture))


def test_a_driver_that_launched_several_jobs_does_not_tell_whose_something_is() -> None:
    both = (Record("one", None, NOW, ray_job="1a000000"), Record("two", None, NOW, ray_job="1a000000"))
    owners = Owners((RayJobSeen("1a000000"),), both, NOW)
    assert owners.name("1a000000", "two/actor:0", "placetui") == "two"
    assert owners.name("1a000000", "", "placetui") == "1a000000"


def test_samplers_are_never_named() -> None:
    sampler = RayActor("x", namespace=SAMPLER_NAMESPACE, node=NODE.id, required={"CPU": 1}, job="02000000")
    seen = tables(sampler, GPU=4, CPU=16)
    assert not list(left_actors(ClusterPicture(seen, (), (), OWNERS, {})))
    assert not holdings(seen, OWNERS)


def test_parts_of_gpus_are_where_actors_are_or_where_a_raylet_puts_them() -> None:
    actor = RayActor("x", node=NODE.id, slots={2: 0.5}, required={"GPU": 0.5})
    group = RayGroup("g", bundles=(bundle(GPU=0.3), bundle(GPU=1)), requested=1.0)
    (found,) = node_resources(tables(actor, group, GPU=2.2, CPU=16))
    assert found.instances["GPU"] == (0, units(1), units(0.2), units(1))


def test_an_actor_waits_until_it_has_a_process() -> None:
    assert waits(RayActor("x", state="PENDING_CREATION", node=NODE.id))
    assert not waits(RayActor("x", state="PENDING_CREATION", node=NODE.id, worker="w"))
    assert not waits(RayActor("x", state="ALIVE", node=NODE.id, worker="w"))


def test_nodes_of_one_host_are_told_apart() -> None:
    nodes = [RayNode(name, "10.0.0.1", "vm") for name in "ab"] + [RayNode("c", "10.0.0.2", "other")]
    assert node_titles(nodes) == {"a": "vm (10.0.0.1)", "b": "vm (10.0.0.1) #2", "c": "other"}


def test_what_an_autoscaler_may_add() -> None:
    messages: Any = import_module("ray.core.generated.autoscaler_pb2")
    config = messages.ClusterConfig()
    config.node_group_configs.add(name="gpu", max_count=3).resources["GPU"] = 8

    class Told:
        def get(self, namespace: bytes, key: bytes) -> bytes | None:
            return bytes(config.SerializeToString())

    there = RayNode("a", "10.0.0.1", labels={"ray.io/node-group": "gpu"})
    head: Any = Told()
    (kind,) = addable(head, [there])
    assert (kind.name, kind.most, kind.resources) == ("gpu", 2, {"GPU": units(8)})
