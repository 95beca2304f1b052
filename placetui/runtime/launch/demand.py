"""What a plan asks of a cluster: a bundle for each occupied device, a needs for each rank. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from placetui.placement.plan import GPU, SHARE_UNITS, Plan
from placetui.runtime.gcs.model import to_units

ENGINES = "rollout"
"""The component of a slime file whose ranks are engines."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What a file says about the processes of a component."""

    worker: str | type | None
    """`module:Class`; from Python the class itself; None for the built-in one."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    cpu_units: int | None
    """None: as much as the rank's share."""

    max_restarts: int
    max_concurrency: int | None
    """From Python only: calls that a rank answers at a time."""

    runtime_env: Mapping[str, Any]
    secret: frozenset[str]
    """Variables that a person gave: they may be secret, and are not stored."""

    @classmethod
    def read(cls, plan: Plan, component: str) -> LaunchOptions:
        """Read `placetui.launch.<component>`, whose values are known to be right."""
        written = plan.launch.get(component, {})
        cpus = written.get("num_cpus")
        return cls(
            worker=written.get("worker"),
            args=tuple(written.get("args") or ()),
            kwargs=written.get("kwargs") or {},
            cpu_units=None if cpus is None else to_units(cpus),
            max_restarts=written.get("max_restarts", 0),
            max_concurrency=written.get("max_concurrency"),
            runtime_env=written.get("runtime_env") or {},
            secret=frozenset({**(written.get("env") or {}), **_variables(written)}),
        )


def _variables(written: Mapping[str, Any]) -> Mapping[str, Any]:
    found = (written.get("runtime_env") or {}).get("env_vars")
    return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Bundle:
    """One occupied device."""

    node: int
    """Rank of the planned node."""

    position: int
    """Planned position among the node's GPUs."""

    cpu_units: int
    """At least one whole CPU."""

    def resources(self, device: str) -> dict[str, float]:
        """What Ray is asked for on a node whose devices have that name."""
        return {device: 1, "CPU": self.cpu_units / SHARE_UNITS}


@dataclass(frozen=True, slots=True)
class RankNeeds:
    """Where a rank is to run, and what it takes."""

    component: str
    rank: int
    node: int
    bundles: tuple[int, ...]
    """Numbers of the bundles of its devices; it stands in the first. None on nodes and robots."""

    gpu_units: int
    cpu_units: int

    @property
    def key(self) -> tuple[str, int]:
        return self.component, self.rank

    def __str__(self) -> str:
        return f"{self.component}:{self.rank}"


@dataclass(frozen=True, slots=True)
class Demand:
    """All that a plan asks for."""

    bundles: tuple[Bundle, ...]
    """By node, then by position: bundle k is logical device k."""

    ranks: tuple[RankNeeds, ...]
    """By component in file order, then by rank."""

    outside: tuple[tuple[int, int], ...] = ()
    """What the framework itself will start later outside the group: node and CPUs in 1/10000."""


def demand_of(plan: Plan) -> Demand:
    """What a plan asks for."""
    options = {name: LaunchOptions.read(plan, name) for name in plan.components}
    devices = sorted(
        {
            (placement.cluster_node_rank, index)
            for component in plan.components.values()
            for placement in component.placements
            if plan.kind_of(placement) == GPU
            for index in placement.devices
        }
    )
    number_of = {device: number for number, device in enumerate(devices)}
    cpu_units = [0] * len(devices)
    ranks: list[RankNeeds] = []
    for name, component in plan.components.items():
        for placement in component.placements:
            node = placement.cluster_node_rank
            gpu_units = (component.rank_units[placement.rank] or 0) if component.rank_units else 0
            own = options[name].cpu_units
            cpus = gpu_units if own is None else own
            bundles: tuple[int, ...] = ()
            if plan.kind_of(placement) == GPU:
                bundles = tuple(number_of[node, index] for index in placement.devices)
                cpu_units[bundles[0]] += cpus
            ranks.append(RankNeeds(name, placement.rank, node, bundles, gpu_units if bundles else 0, cpus))
    return Demand(
        tuple(
            Bundle(node, position, max(SHARE_UNITS, units))
            for (node, position), units in zip(devices, cpu_units, strict=True)
        ),
        tuple(ranks),
        tuple((one.node, to_units(one.cpus)) for one in plan.services),
    )
