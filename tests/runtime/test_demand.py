"""Bundles, ranks and whether they fit: arithmetic without Ray."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.planner import resolve
from placetui.placement.plan import SHARE_UNITS, Plan
from placetui.placement.topology import Node
from placetui.runtime.gcs.model import RayActor, RayBundle, RayGroup, RayNode, Tables
from placetui.runtime.launch.demand import demand_of
from placetui.runtime.launch.feasibility import check, expected_slots, free_slots, holders_of, needed_on, whole_gpus
from placetui.runtime.launch.reserve import in_the_way


def plan_of(placement: dict[str, Any], nodes: int = 1, gpus: int = 4, **section: Any) -> Plan:
    config = {"cluster": {"num_nodes": nodes, "component_placement": placement}, "placetui": section}
    return resolve(config, [Node(gpus)] * nodes)


def ray_node(gpus: int = 4, cpus: int = 16, name: str = "a") -> RayNode:
    return RayNode(name, f"10.0.0.{name}", resources={"GPU": gpus, "CPU": cpus})


def idle(*nodes: RayNode, **more: Any) -> Tables:
    return Tables(tuple(nodes), available={node.id: node.resources for node in nodes}, **more)


def test_a_bundle_for_each_occupied_device_and_a_seat_for_each_rank() -> None:
    demand = demand_of(plan_of({"actor": "1-2", "rollout": "0-1:0", "env": {"node_group": "node", "placement": "0"}}))
    assert [(bundle.node, bundle.position, bundle.resources("GPU")) for bundle in demand.bundles] == [
        (0, position, {"GPU": 1, "CPU": 1}) for position in (0, 1, 2)
    ]
    assert [(needs.component, needs.rank, needs.bundles) for needs in demand.ranks] == [
        ("actor", 0, (1,)),
        ("actor", 1, (2,)),
        ("rollout", 0, (0, 1)),
        ("env", 0, ()),
    ]
    assert demand.ranks[-1].gpu_units == demand.ranks[-1].cpu_units == 0


def test_a_bundle_has_cpus_for_all_its_ranks() -> None:
    launch = {"actor": {"num_cpus": 2.5}, "rollout": {"num_cpus": 0}}
    demand = demand_of(plan_of({"actor,rollout": "0-1"}, launch=launch))
    assert [bundle.resources("GPU")["CPU"] for bundle in demand.bundles] == [2.5, 2.5]
    assert needed_on(demand, 0) == {"GPU": 2 * SHARE_UNITS, "CPU": 5 * SHARE_UNITS}


def test_slime_counts_the_cpus_of_its_manager() -> None:
    plan = resolve({"slime": {"actor_num_gpus_per_node": 2, "colocate": True}}, [Node(2)])
    assert needed_on(demand_of(plan), 0)["CPU"] == 4 * SHARE_UNITS


@given(st.lists(st.integers(0, 3), min_size=1, unique=True), st.integers(0, 3))
def test_bundles_hold_what_their_ranks_ask(devices: list[int], cpus: int) -> None:
    """In Ray's own integers: no rank can wait forever inside its bundle."""
    rule = ",".join(map(str, sorted(devices)))
    demand = demand_of(plan_of({"actor,rollout,reward": rule}, launch={"reward": {"num_cpus": cpus}}))
    for number, bundle in enumerate(demand.bundles):
        inside = [needs for needs in demand.ranks if needs.bundles[0] == number]
        assert sum(needs.cpu_units for needs in inside) <= bundle.cpu_units
        assert sum(needs.gpu_units for needs in inside) <= SHARE_UNITS


def test_it_fits_on_an_idle_node() -> None:
    demand, node = demand_of(plan_of({"actor": "0-3"})), ray_node()
    assert [(one.resource, one.fits) for one in check(demand, [node], idle(node))] == [("GPU", True), ("CPU", True)]


def test_more_than_there_is_and_more_than_is_free_are_told_apart() -> None:
    demand, small, busy = demand_of(plan_of({"actor": "0-3"})), ray_node(gpus=2, cpus=3), ray_node()
    too_much = check(demand, [small], idle(small))
    assert [one.sentence() for one in too_much] == [
        "node 0 (10.0.0.a) needs 4 GPU, it has 2",
        "node 0 (10.0.0.a) needs 4 CPU, it has 3",
    ]
    group = RayGroup("g", "theirs", "x", bundles=(RayBundle("a", {"GPU": 1, "CPU": 1}), RayBundle("b", {"GPU": 1})))
    actor = RayActor("1", "own", node="a", pid=7, slots={3: 1.0}, required={"GPU": 1.0})
    tables = Tables((busy,), (actor,), (group,), {"a": {"GPU": 1, "CPU": 15}})
    (gpu, cpu) = check(demand, [busy], tables)
    assert cpu.fits
    assert gpu.possible
    assert gpu.sentence() == (
        "node 0 (10.0.0.a) needs 4 GPU, 1 of its 4 are free; reserved by placement group theirs (1 GPU), "
        "actor own (1 GPU, pid 7) and tasks or others (1 GPU)"
    )


def test_halves_of_two_gpus_are_not_a_whole_one() -> None:
    node = ray_node(gpus=2)
    actors = tuple(RayActor(str(slot), node="a", slots={slot: 0.5}, required={"GPU": 0.5}) for slot in range(2))
    tables = Tables((node,), actors, (), {"a": {"GPU": 1.0, "CPU": 16}})
    assert whole_gpus(node, tables) == 0
    assert len(list(holders_of(node, "GPU", tables))) == 2


def test_dead_actors_and_removed_groups_hold_nothing() -> None:
    node = ray_node()
    actors = (RayActor("1", state="DEAD", node="a", slots={0: 1.0}, required={"GPU": 1}),)
    groups = (RayGroup("g", state="REMOVED", bundles=(RayBundle("a", {"GPU": 4}),)),)
    tables = idle(node, actors=actors, groups=groups)
    assert free_slots(node, tables) == [0, 1, 2, 3]
    assert list(holders_of(node, "GPU", tables)) == []


def expected(plan: Plan, used: dict[int, float], free: float) -> list[int | None]:
    node = ray_node()
    actors = tuple(RayActor(str(slot), node="a", slots={slot: share}) for slot, share in used.items())
    return expected_slots(demand_of(plan), [node], Tables((node,), actors, (), {"a": {"GPU": free, "CPU": 16}}))


def test_what_is_expected_is_the_planned_gpu_or_the_next_free_one() -> None:
    plan = plan_of({"actor": "1-2"})
    assert expected(plan, {}, 4) == [1, 2]
    assert expected(plan, {0: 1.0}, 3) == [1, 2]
    assert expected(plan, {1: 0.01}, 3.99) == [0, 2]
    # A group holds a GPU, and nothing says which.
    assert expected(plan, {}, 3) == [None, None]


@given(st.sets(st.integers(0, 7)), st.sets(st.integers(0, 7), min_size=1))
def test_what_is_held_for_a_moment_steers_ray_to_the_planned_gpus(taken: set[int], planned: set[int]) -> None:
    free = [slot for slot in range(8) if slot not in taken]
    held = in_the_way(sorted(planned), free)
    if not planned <= set(free):
        assert held == []
        return
    # Fillers are created one by one and get the lowest free GPU each.
    assert [slot for slot, _ in held] == free[: len(held)]
    left = [slot for slot in free if (slot, True) not in held]
    assert left[: len(planned)] == sorted(planned)
