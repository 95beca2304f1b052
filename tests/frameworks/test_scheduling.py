"""Ray's scheduling of placement groups and actors, computed: what is certain, what is Ray's choice, what waits."""

from __future__ import annotations

import time
from itertools import groupby

import pytest

from placetui.frameworks.demand import ActorDemand, BundleDemand, GroupDemand, Strategy
from placetui.frameworks.scheduling import NodeResources, Scheduled, schedule, sorted_bundles, units


def node(name: str, gpus: float = 8, cpus: float = 64, **more: object) -> NodeResources:
    """A node of which nothing is used, unless `free` says otherwise."""
    total = {"GPU": units(gpus), "CPU": units(cpus)}
    free = {"GPU": units(more.get("free_gpus", gpus)), "CPU": units(more.get("free_cpus", cpus))}  # type: ignore[arg-type]
    labels = {"ray.io/node-id": name, **more.get("labels", {})}  # type: ignore[dict-item]
    return NodeResources(name, total, free, labels, more.get("instances", {}))  # type: ignore[arg-type]


def group(strategy: Strategy, *bundles: BundleDemand, name: str = "g") -> GroupDemand:
    return GroupDemand(name, strategy, bundles)


def gpus(count: int, cpus: float = 1, gpu: float = 1, **labels: str) -> BundleDemand:
    return BundleDemand({"GPU": gpu, "CPU": cpus}, count, labels)


def only(nodes: list[NodeResources], *requests: GroupDemand | ActorDemand) -> Scheduled:
    return schedule(nodes, requests)[-1]


TWO = [node("a"), node("b")]
UNEVEN = [node("a", 8, 64), node("b", 4, 64), node("c", 2, 8)]


@pytest.mark.parametrize(
    ("nodes", "request_", "verdict"),
    [
        (TWO, group("PACK", gpus(16)), "fits"),
        (TWO, group("PACK", gpus(17)), "waits"),
        (TWO, group("PACK", gpus(16, cpus=9)), "waits"),
        (TWO, group("STRICT_PACK", gpus(8)), "fits"),
        (TWO, group("STRICT_PACK", gpus(9)), "waits"),
        (TWO, group("STRICT_SPREAD", gpus(2)), "fits"),
        (TWO, group("STRICT_SPREAD", gpus(3)), "waits"),
        (TWO, group("SPREAD", gpus(16)), "fits"),
        (UNEVEN, group("SPREAD", gpus(14)), "fits"),
        (UNEVEN, group("STRICT_SPREAD", gpus(1, gpu=8), gpus(2, gpu=2)), "fits"),
        (UNEVEN, group("STRICT_SPREAD", gpus(2, gpu=4), gpus(1, gpu=3)), "waits"),
        ([node("a", 3, 8), node("b", 2, 8)], group("PACK", gpus(1, gpu=2), gpus(1, gpu=3)), "fits"),
        # Half a GPU here and half there are not one.
        (
            [node("a", 2, 8, free_gpus=1, instances={"GPU": (5000, 5000)})],
            group("PACK", gpus(1)),
            "waits",
        ),
        ([node("a", 2, 8, free_gpus=1, instances={"GPU": (5000, 5000)})], group("PACK", gpus(2, gpu=0.5)), "fits"),
        ([node("a", 3, 8)], group("PACK", gpus(4, gpu=0.6)), "waits"),
        ([node("a", 3, 8)], group("STRICT_PACK", gpus(3, gpu=0.6), gpus(3, gpu=0.4)), "fits"),
        (TWO, group("PACK", gpus(2, zone="x")), "waits"),
        ([*TWO, node("c", labels={"zone": "x"})], group("PACK", gpus(8, zone="x")), "fits"),
        ([*TWO, node("c", labels={"zone": "x"})], group("PACK", gpus(16, zone="!in(x,y)")), "fits"),
        ([*TWO, node("c", labels={"zone": "x"})], group("PACK", gpus(17, zone="!x")), "waits"),
        (TWO, ActorDemand("manager", {"CPU": 64}, 2), "fits"),
        (TWO, ActorDemand("manager", {"CPU": 64}, 3), "waits"),
        (TWO, ActorDemand("worker", {}, 64), "fits"),
    ],
)
def test_verdict(nodes: list[NodeResources], request_: GroupDemand | ActorDemand, verdict: str) -> None:
    assert only(nodes, request_).verdict == verdict


def test_a_group_goes_to_the_freest_node_for_certain() -> None:
    found = only([node("a", free_gpus=6), node("b")], group("STRICT_PACK", gpus(4)))
    assert found.nodes == ("b",) * 4
    assert set(found.choices) == {frozenset("b")}


def test_nodes_that_are_alike_are_rays_choice() -> None:
    first, second = schedule(TWO, [group("STRICT_PACK", gpus(8), name="1"), group("STRICT_PACK", gpus(8), name="2")])
    assert {first.nodes[0], second.nodes[0]} == {"a", "b"}
    assert set(first.choices) == set(second.choices) == {frozenset("ab")}


def test_a_group_that_waits_holds_nothing() -> None:
    waits, fits = schedule(TWO, [group("STRICT_PACK", gpus(9)), group("PACK", gpus(16))])
    assert (waits.verdict, waits.infeasible, fits.verdict) == ("waits", True, "fits")


def test_it_may_fit_where_the_choice_between_unlike_nodes_decides() -> None:
    nodes = [node("a", 4, 8), node("b", 2, 4)]
    # One actor of 2 CPUs, wherever Ray likes, before a group that needs all CPUs of the large node.
    actor = ActorDemand("driver", {"CPU": 2}, 1, before_groups=True)
    assert only(nodes, actor, group("STRICT_PACK", gpus(4, cpus=2))).verdict == "may"
    assert only(nodes, actor, group("STRICT_PACK", gpus(4, cpus=1))).verdict == "fits"


def test_bundles_tied_to_nodes_go_there() -> None:
    tied = [BundleDemand({"GPU": 1}, labels={"ray.io/node-id": name}) for name in "baab"]
    found = only(TWO, group("PACK", *tied))
    assert found.nodes == tuple("baab")
    assert all(len(one) == 1 for one in found.choices)


def test_actors_share_the_bundles_of_their_group() -> None:
    pack = group("PACK", gpus(8))
    train = ActorDemand("actor", {"GPU": 0.4, "CPU": 0.4}, 8, "g")
    rollout = ActorDemand("rollout", {"GPU": 0.2, "CPU": 0.2}, 8, "g")
    assert {one.verdict for one in schedule(TWO, [pack, train, train, rollout])} == {"fits"}
    assert [one.verdict for one in schedule(TWO, [pack, train, train, rollout, rollout])][-1] == "waits"


def test_equal_bundles_beyond_16_come_in_the_order_of_c_plus_plus() -> None:
    """Recorded on Ray: 32 equal bundles over 4 nodes of 8 GPUs."""
    order = sorted_bundles([{"GPU": units(1)}] * 32)
    chunk_of = {bundle: place // 8 for place, bundle in enumerate(order)}
    runs = [len(list(run)) for _, run in groupby(chunk_of[bundle] for bundle in range(32))]
    assert runs == [1, 8, 7, 1, 8, 7]
    assert sorted_bundles([{"CPU": 1}, {"CPU": 2}, {"GPU": 1}, {"x": 1}], ["x"]) == [2, 3, 1, 0]


@pytest.mark.parametrize("strategy", ["PACK", "SPREAD"])
def test_a_large_cluster_takes_a_part_of_a_second(strategy: Strategy) -> None:
    nodes = [node(str(number), cpus=64 + 32 * (number % 2)) for number in range(1024)]
    begun = time.process_time()
    assert only(nodes, group(strategy, gpus(8192, cpus=3))).verdict == "fits"
    assert time.process_time() - begun < 10
