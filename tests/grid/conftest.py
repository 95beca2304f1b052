"""Plans made by hand: what the drawing is tested with does not depend on how rules are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import pytest

from placetui.placement.placements import Placement
from placetui.placement.plan import Component, Plan, PlanNode, Rule, Service

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
    nodes = tuple(
        PlanNode(
            rank=rank,
            name=names[rank] if names else f"node{rank}",
            ip=f"10.0.{rank // 250}.{rank % 250 + 1}" if ips else "",
            gpus=number,
            accelerator="NV_GPU" if number else "NO_ACCEL",
            groups=groups.get(rank, ()),
            hardware=robots.get(rank, {}),
        )
        for rank, number in enumerate(gpus)
    )
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
        mode="hybrid",
        placement_mode="hybrid",
        topology_source="flag",
        nodes=nodes,
        components=placed,
        services=tuple(services),
        group_kinds={kind: kind for kind in kinds.values()},
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
def two_nodes() -> Plan:
    return colocated(2)


@pytest.fixture(scope="session")
def large_plan() -> Plan:
    return colocated(256)


@pytest.fixture(scope="session", params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> tuple[str, Plan]:
    return request.param, SAMPLES[request.param]()
