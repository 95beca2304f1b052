"""Finding: what people type, what they get, and what they are told when there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.grid import Place
from placetui.grid.find import ORDERS, Order, find, matching_nodes, order_nodes
from placetui.observe.model import DeviceSample, NodeSample, Observation, RankState, State
from placetui.placement.plan import GPU, NODE, Plan

Build = Callable[..., Plan]
GIB = 1 << 30


def found(plan: Plan, query: str, observation: Observation | None = None) -> list[str]:
    """Hits as `1/gpu3`."""
    hits = find(plan, query, observation=observation)
    assert bool(hits.places) != bool(hits.message), "either hits or a message"
    return [f"{place.node}/{place.kind}{place.index}" for place in hits.places]


@pytest.fixture(scope="module")
def farm(make_plan: Build) -> Plan:
    """Three hosts with names of their own, trainers, engines over two GPUs, a robot, and simulators on a node."""
    return make_plan(
        [4, 4, 0],
        {
            "actor": ("0-3", 8000, [(0, [gpu]) for gpu in range(4)]),
            "rollout": ("0-5:0-2", 2000, [(0, [0, 1]), (0, [2, 3]), (1, [0, 1])]),
            "reward": ("6", 9000, [(1, [1])]),
            "env": ("0", None, [(2, [0])]),
            "sim": ("2:0-1", None, [(2, []), (2, [])]),
        },
        names=["train-a.lab", "Train-B.lab", "robot-1"],
        groups={0: ("a800",), 1: ("a800", "big memory"), 2: ("robots",)},
        robots={2: {"franka": 2}},
        kinds={"env": "franka"},
    )


@pytest.mark.parametrize(
    ("query", "expected", "about"),
    [
        ("rollout 1", "0/gpu2 0/gpu3", "rollout rank 1"),
        ("rollout:1", "0/gpu2 0/gpu3", "rollout rank 1"),
        ("  ROLLOUT :  1 ", "0/gpu2 0/gpu3", "rollout rank 1"),
        ("rollout rank 1", "0/gpu2 0/gpu3", "rollout rank 1"),
        ("actor:0-1", "0/gpu0 0/gpu1", "actor ranks 0-1"),
        ("actor 0 - 1", "0/gpu0 0/gpu1", "actor ranks 0-1"),
        ("actor 0,2-99", "0/gpu0 0/gpu2 0/gpu3", "actor ranks 0,2-99"),
        ("roll 2", "1/gpu0 1/gpu1", "rollout rank 2"),
        ("component:actor", "0/gpu0 0/gpu1 0/gpu2 0/gpu3", "actor"),
        ("env", "2/franka0", "env"),
        ("sim", "2/node0", "sim"),
        ("w0", "1/gpu1", "reward rank 0"),
        ("R1", "0/gpu2 0/gpu3", "rollout rank 1"),
        ("train-a.lab/gpu3", "0/gpu3", "GPU 3 of train-a.lab"),
        ("0/3", "0/gpu3", "GPU 3 of train-a.lab"),
        ("node1 / gpu 2-3", "1/gpu2 1/gpu3", "GPU 2-3 of Train-B.lab"),
        ("node1 gpu3", "1/gpu3", "Train-B.lab, GPU 3"),
        ("#1 gpu 3", "1/gpu3", "Train-B.lab, GPU 3"),
        ("robot-1/franka1", "2/franka1", "franka 1 of robot-1"),
        ("franka 1", "2/franka1", "franka 1"),
        ("gpu3", "0/gpu3 1/gpu3", "GPU 3"),
        ("train-b.LAB", "1/gpu0 1/gpu1 1/gpu2 1/gpu3", "Train-B.lab"),
        ("10.0.0.2", "1/gpu0 1/gpu1 1/gpu2 1/gpu3", "Train-B.lab"),
        ("#2", "2/franka0 2/franka1 2/node0", "robot-1"),
        ("robot", "2/franka0 2/franka1 2/node0", "robot-1"),
        ("group:robots", "2/franka0 2/franka1 2/node0", "group robots"),
        ("big memory", "1/gpu0 1/gpu1 1/gpu2 1/gpu3", "group big memory"),
        ("free", "1/gpu2 1/gpu3", "free"),
        ("shared", "0/gpu0 0/gpu1 0/gpu2 0/gpu3 1/gpu1", "shared"),
        ("oversubscribed", "1/gpu1", "oversubscribed"),
        ("rollout shared", "0/gpu0 0/gpu1 0/gpu2 0/gpu3 1/gpu1", "rollout, shared"),
        ("shared a800 rollout 2", "1/gpu1", "shared, group a800, rollout rank 2"),
    ],
)
def test_a_query_means_what_it_says(farm: Plan, query: str, expected: str, about: str) -> None:
    assert found(farm, query) == expected.split()
    assert find(farm, query).about == about


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "type a rank such as actor 0, a device such as 0/3, a host name, or free"),
        ("rollout 9", "rollout has ranks 0 to 2"),
        ("reward 1", "reward has rank 0 only"),
        ("0/9", "train-a.lab has GPUs 0 to 3"),
        ("robot-1/gpu0", "robot-1 has no GPUs"),
        ("7/0", "there is no node 7; the plan has nodes 0 to 2"),
        ("#7", "there is no node 7; the plan has nodes 0 to 2"),
        ("roloout", "nothing is called `roloout`; did you mean `rollout`?"),
        ("qqq", "nothing is called `qqq`; try `actor 0`, `train-a.lab/gpu0` or `free`"),
        ("group:h100", "no node group is called `h100`; there is a800, big memory and robots"),
        ("actor free", "nothing is all of this at once: actor, free; leave a word out"),
        ("dead", "`dead` needs a running cluster to look at; without one there is free, shared and oversubscribed"),
    ],
)
def test_where_nothing_is_found_it_says_why_and_what_to_try(farm: Plan, query: str, message: str) -> None:
    hits = find(farm, query)
    assert (list(hits.places), hits.message) == ([], message)


def test_a_letter_counts_only_where_no_component_begins_with_it(farm: Plan) -> None:
    assert found(farm, "w") == found(farm, "reward"), "reward is W"
    assert found(farm, "e") == found(farm, "env")
    assert find(farm, "r").about == "rollout and reward"


def test_names_of_the_file_come_before_words_of_ours(make_plan: Build) -> None:
    plan = make_plan(
        [2, 2], {"free": ("0", 10000, [(0, [1])]), "my actor": ("1-2", 10000, [(1, [0]), (1, [1])])}, names=["5", "a b"]
    )
    assert found(plan, "free") == ["0/gpu1"]
    assert found(plan, "My  Actor 1") == ["1/gpu1"]
    assert found(plan, "5") == ["0/gpu0", "0/gpu1"]
    assert found(plan, "A B") == ["1/gpu0", "1/gpu1"]


def observe(plan: Plan, states: dict[tuple[str, int], State], stale: int | None = None) -> Observation:
    """GPU g of node n holds 10 n + g GiB of 40."""
    nodes = tuple(
        NodeSample(
            node.rank,
            node.name,
            stale=node.rank == stale,
            devices=tuple(
                DeviceSample(
                    index, memory_used=(10 * node.rank + index) * GIB, memory_total=40 * GIB, utilization=index
                )
                for index in range(node.gpus)
            ),
        )
        for node in plan.nodes
    )
    ranks = {
        name: tuple(RankState(name, rank, states.get((name, rank), "alive")) for rank in range(component.world_size))
        for name, component in plan.components.items()
    }
    return Observation(0.0, "simulated", nodes, ranks)


def test_live_conditions(farm: Plan) -> None:
    seen = observe(farm, {("rollout", 1): "dead", ("actor", 0): "pending"}, stale=1)
    assert found(farm, "dead", seen) == ["0/gpu2", "0/gpu3"]
    assert found(farm, "pending", seen) == ["0/gpu0"]
    assert found(farm, "stale free", seen) == ["1/gpu2", "1/gpu3"]
    assert found(farm, "mem>11", seen) == ["1/gpu2", "1/gpu3"]
    assert found(farm, "mem >= 11 GB", seen) == ["1/gpu1", "1/gpu2", "1/gpu3"]
    assert found(farm, "mem > 30%", seen) == ["1/gpu3"]
    assert found(farm, "rollout mem<1", seen) == ["0/gpu0"]
    assert found(farm, "util>2", seen) == ["0/gpu3", "1/gpu3"]
    assert find(farm, "mem>99", observation=seen).message == "no GPU has memory more than 99 GiB"
    assert find(farm, "restarting", observation=seen).message == "no rank is restarting"


def test_stepping_through_nodes_stops_once_at_each(two_nodes: Plan) -> None:
    hits = find(two_nodes, "a800")
    assert len(hits.places) == 18
    assert tuple(hits.stops()) == (Place(0, GPU, 0), Place(1, GPU, 0))
    assert matching_nodes(hits, two_nodes) == [0, 1]
    assert Place(1, GPU, 7) in hits.places
    assert Place(1, GPU, 8) not in hits.places
    assert Place(0, NODE, 0) in hits.places
    assert len(find(two_nodes, "rollout").stops()) == 16


def test_nodes_in_order(make_plan: Build) -> None:
    plan = make_plan(
        [2, 2, 2, 2],
        {"actor": ("", 10000, [(0, [0]), (0, [1]), (1, [0]), (3, [0])])},
        names=["node10", "node9", "Alpha", "node2"],
    )
    seen = observe(plan, {("actor", 3): "pending", ("actor", 2): "dead"}, stale=2)
    expected: dict[Order, list[int]] = {
        "rank": [0, 1, 2, 3],
        "name": [2, 3, 1, 0],
        "memory": [3, 2, 1, 0],
        "state": [1, 3, 2, 0],
        "free": [2, 1, 3, 0],
    }
    assert {by: order_nodes(plan, by, seen) for by in ORDERS} == expected
    assert order_nodes(plan, "memory") == order_nodes(plan, "state") == [0, 1, 2, 3]


WORDS = st.sampled_from(
    "actor rollout 17 0-3 : / > # , node 5 gpu free shared dead stale mem>60 mem% group: group node0/gpu 1/ - r".split()
)
QUERIES = st.one_of(st.text(), st.lists(WORDS, max_size=5).map(" ".join), st.lists(WORDS, max_size=5).map("".join))


@given(query=QUERIES, live=st.booleans())
def test_any_text_is_a_query(farm: Plan, query: str, live: bool) -> None:
    hits = find(farm, query, observation=observe(farm, {}) if live else None)
    assert bool(hits.places) != bool(hits.message)
    assert (hits.about + hits.message).isprintable() or "\u3000" in query or "\xa0" in query
    devices = {(device.node, device.kind, device.index) for device in farm.devices}
    assert {(place.node, place.kind, place.index) for place in hits.places} <= devices
    assert list(hits.places) == [hits.places[number] for number in range(len(hits.places))]


@st.composite
def recipes(draw: st.DrawFn) -> tuple[list[int], dict[str, tuple[str, int | None, list[tuple[int, list[int]]]]]]:
    gpus = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    names = draw(st.lists(st.sampled_from(["actor", "rollout", "x1", "a", "free", "node0", "gpu"]), unique=True))
    components: dict[str, tuple[str, int | None, list[tuple[int, list[int]]]]] = {}
    for name in names:
        ranks = []
        for _ in range(draw(st.integers(1, 6))):
            node = draw(st.integers(0, len(gpus) - 1))
            ranks.append((node, draw(st.lists(st.integers(0, gpus[node] - 1), max_size=3, unique=True))))
        components[name] = ("0", draw(st.integers(1, 10_000)), ranks)
    return gpus, components


@given(recipe=recipes(), separator=st.sampled_from([" ", ":", " : ", "  rank "]))
def test_every_rank_is_found(make_plan: Build, recipe: tuple[list[int], dict[str, object]], separator: str) -> None:
    plan = make_plan(*recipe)
    for name, component in plan.components.items():
        for placement in component.placements:
            node = placement.cluster_node_rank
            owned = [f"{node}/gpu{index}" for index in sorted(placement.local_hardware_ranks)]
            assert found(plan, f"{name}{separator}{placement.rank}") == (owned or [f"{node}/node0"])


@given(recipe=recipes())
def test_conditions_agree_with_the_devices(make_plan: Build, recipe: tuple[list[int], dict[str, object]]) -> None:
    plan = make_plan(recipe[0], {f"c{name}": placed for name, placed in recipe[1].items()})
    gpus = [device for device in plan.devices if device.kind == GPU]

    def expected(*indices: bool) -> list[str]:
        return [f"{device.node}/gpu{device.index}" for device, chosen in zip(gpus, indices, strict=True) if chosen]

    assert found(plan, "free") == expected(*(not device.occupants for device in gpus))
    over = expected(*((device.total_share or 0) > 1.00005 for device in gpus))
    assert found(plan, "oversubscribed") == over
    shared = [
        f"{one.node}/{one.kind}{one.index}" for one in plan.devices if len({o.component for o in one.occupants}) > 1
    ]
    assert found(plan, "shared") == shared
    named = {hit for name in plan.components for hit in found(plan, name) if "gpu" in hit}
    assert sorted({*found(plan, "free"), *named}) == sorted(expected(*(True for _ in gpus)))


def test_a_large_cluster_is_searched_without_building_its_devices(large_plan: Plan) -> None:
    fresh = Plan(**{name: getattr(large_plan, name) for name in large_plan.__dataclass_fields__})
    for query in (
        "rollout 1000",
        "actor",
        "node200/gpu3",
        "free",
        "shared",
        "oversubscribed",
        "a800",
        "rollout shared",
    ):
        find(fresh, query)
    for by in ORDERS:
        order_nodes(fresh, by)
    assert not {"_devices", "_residents"} & fresh.__dict__.keys()


def test_a_query_over_2048_gpus_is_quick(large_plan: Plan) -> None:
    # A sixteenth of 4,096 nodes, but a quarter of its 60 ms; the best of five: the machine may be slow or busy.
    for query in ("rollout 1000", "actor", "free", "shared", "oversubscribed", "rollout shared"):
        best = min(_seconds(large_plan, query) for _ in range(5))
        assert best < 0.060 / 4, query


def _seconds(plan: Plan, query: str) -> float:
    start = process_time()
    find(plan, query)
    return process_time() - start
