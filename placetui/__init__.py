"""placetui: see, check and launch the placement of processes on the GPUs of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from placetui.document.planning import load as load
    from placetui.frameworks.planner import resolve as resolve
    from placetui.frameworks.rlinf.components import ComponentPlacement as ComponentPlacement
    from placetui.frameworks.rlinf.components import HybridComponentPlacement as HybridComponentPlacement
    from placetui.frameworks.rlinf.model_parallel import (
        ModelParallelComponentPlacement as ModelParallelComponentPlacement,
    )
    from placetui.frameworks.slime.order import sort_key as sort_key
    from placetui.placement.placements import AcceleratorType as AcceleratorType
    from placetui.placement.placements import Placement as Placement
    from placetui.placement.placements import PlacementMode as PlacementMode
    from placetui.placement.plan import Plan as Plan
    from placetui.placement.problems import PlacementError as PlacementError
    from placetui.placement.problems import Problem as Problem
    from placetui.placement.strategies import FlexiblePlacementStrategy as FlexiblePlacementStrategy
    from placetui.placement.strategies import NodePlacementStrategy as NodePlacementStrategy
    from placetui.placement.strategies import PackedPlacementStrategy as PackedPlacementStrategy
    from placetui.placement.strategies import PlacementStrategy as PlacementStrategy
    from placetui.placement.topology import Node as Node
    from placetui.runtime.api.attach import attach as attach
    from placetui.runtime.api.cluster import Cluster as Cluster
    from placetui.runtime.api.placement_groups import create_placement_groups as create_placement_groups
    from placetui.runtime.errors import ClusterError as ClusterError
    from placetui.runtime.jobs.group import GroupError as GroupError
    from placetui.runtime.remote.rank_actor import node_ip_and_free_port as node_ip_and_free_port
    from placetui.runtime.remote.worker import Worker as Worker

_HOMES = {
    "placetui.document.planning": ("load",),
    "placetui.frameworks.rlinf.components": ("ComponentPlacement", "HybridComponentPlacement"),
    "placetui.frameworks.rlinf.model_parallel": ("ModelParallelComponentPlacement",),
    "placetui.placement.placements": ("AcceleratorType", "Placement", "PlacementMode"),
    "placetui.placement.plan": ("Plan",),
    "placetui.placement.problems": ("PlacementError", "Problem"),
    "placetui.frameworks.planner": ("resolve",),
    "placetui.frameworks.slime.order": ("sort_key",),
    "placetui.placement.strategies": (
        "FlexiblePlacementStrategy",
        "NodePlacementStrategy",
        "PackedPlacementStrategy",
        "PlacementStrategy",
    ),
    "placetui.placement.topology": ("Node",),
    "placetui.runtime.api.attach": ("attach",),
    "placetui.runtime.api.cluster": ("Cluster",),
    "placetui.runtime.errors": ("ClusterError",),
    "placetui.runtime.jobs.group": ("GroupError",),
    "placetui.runtime.remote.rank_actor": ("node_ip_and_free_port",),
    "placetui.runtime.api.placement_groups": ("create_placement_groups",),
    "placetui.runtime.remote.worker": ("Worker",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]

# Under `not TYPE_CHECKING`, so that a type checker still catches names that do not exist.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used (PEP 562)."""
        if name not in _HOME_OF:
            raise AttributeError(f"module 'placetui' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
