"""Which fraction of a device each process holds."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from placetui.frameworks.planner import make_plan
from placetui.placement.plan import SHARE_UNITS, Plan
from placetui.placement.topology import Node


def plan_of(components: dict[str, Any], nodes: list[Node] | None = None, groups: Any = None, **section: Any) -> Plan:
    nodes = nodes or [Node(8)]
    cluster: dict[str, Any] = {"num_nodes": len(nodes), "component_placement": components}
    if groups:
        cluster["node_groups"] = groups
    return make_plan({"cluster": cluster, "placetui": section}, nodes=nodes)


def shares(plan: Plan) -> dict[str, float | None]:
    assert [problem.format() for problem in plan.problems] == []
    return {name: component.share for name, component in plan.components.items()}


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        ({"actor": "0-7"}, {"actor": 1.0}),
        ({"rollout": "0-7"}, {"rollout": 1.0}),
        ({"actor,rollout": "0-7"}, {"actor": 0.8, "rollout": 0.2}),
        ({"actor": "0-3", "rollout": "4-7"}, {"actor": 1.0, "rollout": 1.0}),
        ({"actor": "0-3", "rollout": "3-7"}, {"actor": 0.8, "rollout": 0.2}),
        ({"actor,critic": "0-7"}, {"actor": 0.5, "critic": 0.5}),
        ({"actor,critic,rollout": "0-7"}, {"actor": 0.4, "critic": 0.4, "rollout": 0.2}),
        ({"actor,rollout,env,reward": "0-7"}, {"actor": 0.8, "rollout": 0.0666, "env": 0.0666, "reward": 0.0666}),
        ({"rollout,env,reward": "0"}, {"rollout": 0.3333, "env": 0.3333, "reward": 0.3333}),
        # The most of each kind counts, even when they meet on different devices.
        ({"actor": "0-1", "rollout": "1-2", "env": "2-3"}, {"actor": 0.8, "rollout": 0.1, "env": 0.5}),
    ],
)
def test_default_shares(components: dict[str, str], expected: dict[str, float]) -> None:
    assert shares(plan_of(components)) == expected


def test_what_counts_as_training_can_be_named() -> None:
    plan = plan_of({"policy,rollout": "0-7"}, train=["policy"])
    assert shares(plan) == {"policy": 0.8, "rollout": 0.2}
    assert shares(plan_of({"actor,rollout": "0-7"}, train=[])) == {"actor": 0.5, "rollout": 0.5}


def test_processes_on_one_device_divide_their_component_s_share() -> None:
    plan = plan_of({"actor": "0-7", "env": "0-3:0-11"})
    env = plan.components["env"]
    assert env.share == 0.2
    assert {env.rank_share(rank) for rank in range(12)} == {0.0666}
    assert plan.components["actor"].rank_share(0) == 0.8
    assert plan.devices_of(0)[0].total_share == pytest.approx(0.8 + 3 * 0.0666)


def test_a_rank_over_several_devices_counts_on_each() -> None:
    plan = plan_of({"actor": "0-7", "rollout": "0-7:0-3"})
    assert plan.components["rollout"].rank_share(0) == 0.2
    assert [device.total_share for device in plan.devices_of(0)] == [1.0] * 8
    first, second, *_ = plan.devices_of(0)
    assert first.occupants == second.occupants[:0] + first.occupants
    assert [one.rank for one in first.occupants if one.component == "rollout"] == [0]
    assert [one.rank for one in second.occupants if one.component == "rollout"] == [0]


def test_explicit_shares_win() -> None:
    plan = plan_of({"actor,rollout": "0-7"}, shares={"rollout": 0.1})
    assert shares(plan) == {"actor": 0.8, "rollout": 0.1}


def test_nodes_and_robots_have_no_share() -> None:
    groups = [{"label": "arms", "node_ranks": 0, "hardware": {"type": "Turtle2", "configs": [{"node_rank": 0}]}}]
    plan = plan_of(
        {
            "actor": "0-7",
            "agent": {"node_group": "node", "placement": "0:0-3"},
            "env": {"node_group": "arms", "placement": 0},
        },
        groups=groups,
    )
    assert shares(plan) == {"actor": 1.0, "agent": None, "env": None}
    assert plan.components["agent"].rank_share(0) is None
    by_kind = {device.kind: device for device in plan.devices}
    assert by_kind["node"].total_share is None
    assert by_kind["Turtle2"].total_share is None
    assert [one.share for one in by_kind["Turtle2"].occupants] == [None]
    assert by_kind["gpu"].total_share == 1.0


def test_a_device_promised_more_than_once() -> None:
    plan = plan_of({"actor,rollout": "0-7"}, shares={"actor": 0.9, "rollout": 0.4})
    (problem,) = plan.problems
    assert problem.rule == "oversubscribed"
    assert not problem.blocking
    assert "add up to 1.3" in problem.message
    assert "node0/gpu0 and 7 other devices" in problem.message
    assert "0.9" in problem.message
    assert "0.4" in problem.message
    assert problem.path == ("placetui", "shares", "rollout")
    assert plan.devices_of(0)[0].total_share == 1.3


def test_oversubscription_is_said_once_for_each_set_of_components() -> None:
    plan = plan_of({"actor": "0-7", "rollout": "0-3", "env": "4-7"}, shares={"actor": 0.8, "rollout": 0.3, "env": 0.4})
    assert [problem.rule for problem in plan.problems] == ["oversubscribed", "oversubscribed"]
    assert "gpu4" in plan.problems[1].message


def test_one_component_alone_can_ask_for_too_much() -> None:
    (problem,) = plan_of({"actor": "0"}, shares={"actor": 1.0001}).problems
    assert "add up to 1.0001" in problem.message
    assert plan_of({"actor": "0"}, shares={"actor": 1}).problems == []


def test_sums_are_exact() -> None:
    parts = {f"c{number}": 0.1 for number in range(10)}
    assert plan_of({",".join(parts): "0-7"}, shares=parts).problems == []


def test_a_share_too_small_for_ray() -> None:
    assert plan_of({"env": "0:0-9999"}).problems == []
    (problem,) = plan_of({"env": "0:0-10000"}).problems
    assert problem.rule == "share_too_small"
    assert not problem.blocking
    assert problem.component == "env"
    assert "10,001" in problem.message


def test_oversubscribed_nodes_are_named_past_nodes_without_gpus() -> None:
    nodes = [Node(2, name="one"), Node(0, name="two"), Node(2, name="three")]
    (problem,) = plan_of({"actor": "2-3"}, nodes, shares={"actor": 2}).problems
    assert "three/gpu0 and 1 other device" in problem.message


# Properties


@st.composite
def rules(draw: st.DrawFn, total: int) -> str:
    """A rule that is right, over `total` devices."""
    resource = process = 0
    segments: list[str] = []
    while resource < total and (not segments or draw(st.booleans())):
        first = draw(st.integers(resource, total - 1))
        size = draw(st.integers(1, total - first))
        divisors = [number for number in range(1, size + 1) if size % number == 0]
        processes = draw(st.sampled_from([*divisors, 2 * size, 3 * size, 4 * size]))
        segments.append(f"{first}-{first + size - 1}:{process}-{process + processes - 1}")
        resource, process = first + size, process + processes
    return ",".join(segments)


NAMES = ("actor", "critic", "rollout", "env", "reward", "inference")


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[Node], dict[str, str], list[str]]:
    gpus = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
    components = {name: draw(rules(sum(gpus))) for name in names}
    return [Node(number) for number in gpus], components, draw(st.lists(st.sampled_from(NAMES), unique=True))


def check_books(plan: Plan) -> None:
    """What devices say they hold is what ranks say they take, in whole ten-thousandths, and never above 1."""
    promised: dict[tuple[int, int], int] = defaultdict(int)
    for component in plan.components.values():
        assert len(component.rank_units) in (0, component.world_size)
        for placement, units in zip(component.placements, component.rank_units, strict=False):
            assert type(units) is int
            assert component.units is not None
            assert 1 <= units <= component.units
            for index in placement.local_hardware_ranks:
                promised[placement.cluster_node_rank, index] += units
    for device in plan.devices:
        if device.kind == "gpu":
            units = promised.pop((device.node, device.index), 0)
            assert units <= SHARE_UNITS
            assert device.total_share == units / SHARE_UNITS
            assert sum(round((one.share or 0) * SHARE_UNITS) for one in device.occupants) == units
    assert not promised


@given(layouts())
@settings(max_examples=200)
def test_default_shares_never_exceed_a_device(case: tuple[list[Node], dict[str, str], list[str]]) -> None:
    nodes, components, train = case
    plan = plan_of(components, nodes, train=train)
    assert {problem.rule for problem in plan.problems} <= {"process_across_nodes", "unknown_component"}
    assume(plan.components)
    check_books(plan)


@given(
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.integers(1, 8),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([4, 8]),
)
def test_slime_shares_never_exceed_a_device(
    colocate: bool, critic: bool, nodes: int, per_node: int, engines: int, engine: int, node_size: int
) -> None:
    section: dict[str, Any] = {
        "actor_num_nodes": nodes,
        "actor_num_gpus_per_node": per_node,
        "rollout_num_gpus": engines * engine,
        "rollout_num_gpus_per_engine": engine,
        "num_gpus_per_node": node_size,
        "colocate": colocate,
        "use_critic": critic,
    }
    plan = make_plan({"slime": section})
    assert "oversubscribed" not in {problem.rule for problem in plan.problems}
    check_books(plan)
    if {"actor", "rollout"} <= plan.components.keys():
        assert plan.components["rollout"].share == 0.2
        assert plan.components["actor"].share == (0.4 if "critic" in plan.components else 0.8)
