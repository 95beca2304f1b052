"""Plans made by hand: what the drawing is tested with does not depend on how rules are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import pytest

from placetui.grid import Overlay
from placetui.observe.alerts import Alert
from placetui.observe.model import DeviceSample, NodeSample, Observation, RankState, State
from placetui.placement.placements import Placement
from placetui.placement.plan import Component, Plan, Rule, Service
from placetui.placement.topology import Node, NodeGroup, Topology

Ranks = Sequence[tuple[int, Sequence[int]]]
"""Node and devices of each rank; no devices: on the node as such."""


class MakePlan(Protocol):
    def __call__(
        self,
        gpus: Sequence[int],
        components: Mapping[str, tuple[str, int | None, Ranks]],
        *,
        robots: Mapping[int, Mapping[str, int]] = ...,
        kinds: Mapping[str, str] = ...,
        names: Sequence[str] | None = ...,
        groups: Mapping[int, tuple[str, ...]] = ...,
        services: Iterable[Service] = ...,
        ips: bool = ...,
    ) -> Plan: ...


def build_plan(
    gpus: Sequence[int],
    components: Mapping[str, tuple[str, int | None, Ranks]],
    *,
    robots: Mapping[int, Mapping[str, int]] = {},
    kinds: Mapping[str, str] = {},
    names: Sequence[str] | None = None,
    groups: Mapping[int, tuple[str, ...]] = {},
    services: Iterable[Service] = (),
    ips: bool = True,
) -> Plan:
    """A plan from GPUs per node and, per component, its rule, share in 1/10000 and the place of each rank.

    `kinds` names the components that sit on robots, with their hardware type.
    """
    nodes = [
        Node(
            number,
            "NV_GPU" if number else "NO_ACCEL",
            names[rank] if names else f"node{rank}",
            f"10.0.{rank // 250}.{rank % 250 + 1}" if ips else "",
        )
        for rank, number in enumerate(gpus)
    ]
    labels = {label: None for found in groups.values() for label in found}
    members = {label: tuple(rank for rank, found in groups.items() if label in found) for label in labels}
    node_groups = [NodeGroup(label, ranks, "Accelerator", index=0) for label, ranks in members.items()]
    node_groups += [NodeGroup(kind, (), kind, index=0) for kind in kinds.values()]
    on_nodes = {(rank, kind): number for rank, found in robots.items() for kind, number in found.items()}
    topology = Topology(nodes, node_groups, on_nodes)
    placed: dict[str, Component] = {}
    for name, (rule, units, ranks) in components.items():
        label = kinds.get(name, "cluster")
        placements = [
            Placement(
                rank=rank,
                cluster_node_rank=node,
                placement_node_rank=node,
                local_accelerator_rank=devices[0] if devices else -1,
                accelerator_type="NV_GPU",
                local_rank=0,
                local_world_size=1,
                visible_accelerators=[str(device) for device in devices],
                isolate_accelerator=True,
                local_hardware_ranks=list(devices),
                node_group_label=label,
            )
            for rank, (node, devices) in enumerate(ranks)
        ]
        placed[name] = Component(
            name=name,
            rule=Rule(rule, ("cluster", "component_placement", name)),
            strategy="flexible" if all(devices for _, devices in ranks) else "node",
            placements=placements,
            units=units,
            rank_units=[units] * len(placements),
        )
    return Plan(
        source="conf.yaml",
        framework="rlinf",
        mode="hybrid",
        placement_mode="hybrid",
        topology_source="flag",
        topology=topology,
        components=placed,
        services=tuple(services),
    )


def colocated(nodes: int) -> Plan:
    """Trainers on every GPU, engines over two each beside them, simulators on the nodes."""
    return build_plan(
        [8] * nodes,
        {
            "actor": (f"0-{8 * nodes - 1}", 8000, [(n, [g]) for n in range(nodes) for g in range(8)]),
            "rollout": (
                f"0-{8 * nodes - 1}:0-{4 * nodes - 1}",
                2000,
                [(n, [g, g + 1]) for n in range(nodes) for g in range(0, 8, 2)],
            ),
            "env": (f"0-{nodes - 1}:0-{2 * nodes - 1}", None, [(n, []) for n in range(nodes) for _ in range(2)]),
        },
        groups=dict.fromkeys(range(nodes), ("a800",)),
    )


def disaggregated() -> Plan:
    """Trainers and engines apart, a reward model beside nobody, two GPUs free."""
    return build_plan(
        [8, 8],
        {
            "actor": ("0-7", 10000, [(0, [g]) for g in range(8)]),
            "rollout": ("8-11:0-1", 10000, [(1, [0, 1]), (1, [2, 3])]),
            "reward": ("12-13", 10000, [(1, [4]), (1, [5])]),
        },
    )


def strided() -> Plan:
    """Engines over every second GPU: {0,2}, {1,3}, and one over two pairs."""
    return build_plan(
        [8],
        {
            "actor": ("0-7", 8000, [(0, [g]) for g in range(8)]),
            "rollout": ("0-7", 2000, [(0, [0, 2]), (0, [1, 3]), (0, [4, 5, 7])]),
        },
        groups={0: ("a800",)},
    )


def uneven() -> Plan:
    """Nodes of 0, 4, 8 and 16 GPUs, robots, services, a crowd, and a device promised too often."""
    return build_plan(
        [0, 4, 8, 16],
        {
            "actor": ("0-3", 8000, [(1, [g]) for g in range(4)]),
            "critic": ("0-1", 4000, [(1, [g]) for g in range(2)]),
            "agent": ("4:0-199", 50, [(2, [0]) for _ in range(200)]),
            "rollout": ("all", 10000, [(3, list(range(g, g + 4))) for g in (0, 4, 8)]),
            "env": ("0-1", None, [(0, [0]), (0, [1])]),
            "reward": ("0:0-9", None, [(0, []) for _ in range(10)]),
        },
        robots={0: {"franka": 3}},
        kinds={"env": "franka"},
        groups={0: ("robots", "arms"), 1: ("a800",), 2: ("h100",)},
        services=[Service("router", 0, 1.0)],
    )


def overlay_of(
    plan: Plan,
    device: Callable[[int, int], DeviceSample | None],
    state: Callable[[str, int], State | None] = lambda component, rank: None,
    *,
    stale: Iterable[int] = (),
    marked: Iterable[tuple[int, int]] = (),
) -> Overlay:
    """An observation over a plan, from functions of node and index, and of component and rank.

    A state of None ends the ranks of a component that are known.
    """
    nodes = tuple(
        NodeSample(
            node.rank,
            node.name,
            stale=node.rank in stale,
            devices=tuple(one for index in range(node.gpus) if (one := device(node.rank, index)) is not None),
        )
        for node in plan.nodes
    )
    ranks: dict[str, tuple[RankState, ...]] = {}
    for name, component in plan.components.items():
        known = [state(name, rank) for rank in range(component.world_size)]
        end = known.index(None) if None in known else len(known)
        ranks[name] = tuple(
            RankState(name, rank, one, node=component.placements[rank].cluster_node_rank)
            for rank, one in enumerate(known[:end])
            if one is not None
        )
    observation = Observation(1.0, "simulated", nodes, ranks)
    alerts = [Alert("memory_above", "much", node, index) for node, index in marked]
    return Overlay(plan, observation, alerts=alerts, compared=False)


SAMPLES = {
    "colocated": lambda: colocated(2),
    "disaggregated": disaggregated,
    "strided": strided,
    "uneven": uneven,
}


@pytest.fixture(scope="session")
def make_plan() -> MakePlan:
    return build_plan


@pytest.fixture(scope="session")
def lay_over() -> Callable[..., Overlay]:
    return overlay_of


@pytest.fixture(scope="session")
def two_nodes() -> Plan:
    return colocated(2)


@pytest.fixture(scope="session")
def large_plan() -> Plan:
    return colocated(256)


@pytest.fixture(scope="session", params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> tuple[str, Plan]:
    return request.param, SAMPLES[request.param]()
