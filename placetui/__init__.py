"""placetui: see, check and launch which process sits on which GPU of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from placetui.document.planning import load as load
    from placetui.placement.components import ComponentPlacement as ComponentPlacement
    from placetui.placement.components import HybridComponentPlacement as HybridComponentPlacement
    from placetui.placement.model_parallel import ModelParallelComponentPlacement as ModelParallelComponentPlacement
    from placetui.placement.placements import AcceleratorType as AcceleratorType
    from placetui.placement.placements import Placement as Placement
    from placetui.placement.placements import PlacementMode as PlacementMode
    from placetui.placement.plan import Plan as Plan
    from placetui.placement.problems import PlacementError as PlacementError
    from placetui.placement.problems import Problem as Problem
    from placetui.placement.resolve import resolve as resolve
    from placetui.placement.sort_key import sort_key as sort_key
    from placetui.placement.strategies import FlexiblePlacementStrategy as FlexiblePlacementStrategy
    from placetui.placement.strategies import NodePlacementStrategy as NodePlacementStrategy
    from placetui.placement.strategies import PackedPlacementStrategy as PackedPlacementStrategy
    from placetui.placement.strategies import PlacementStrategy as PlacementStrategy

    # When it runs, it is the one of `runtime.cluster`; strategies take any, so their types name the pure one.
    from placetui.placement.topology import Cluster as Cluster
    from placetui.placement.topology import Node as Node
    from placetui.runtime.attach import attach as attach
    from placetui.runtime.errors import ClusterError as ClusterError
    from placetui.runtime.groups import GroupError as GroupError
    from placetui.runtime.shell import node_ip_and_free_port as node_ip_and_free_port
    from placetui.runtime.slime_groups import create_placement_groups as create_placement_groups
    from placetui.runtime.worker import Worker as Worker

_HOMES = {
    "placetui.document.planning": ("load",),
    "placetui.placement.components": ("ComponentPlacement", "HybridComponentPlacement"),
    "placetui.placement.model_parallel": ("ModelParallelComponentPlacement",),
    "placetui.placement.placements": ("AcceleratorType", "Placement", "PlacementMode"),
    "placetui.placement.plan": ("Plan",),
    "placetui.placement.problems": ("PlacementError", "Problem"),
    "placetui.placement.resolve": ("resolve",),
    "placetui.placement.sort_key": ("sort_key",),
    "placetui.placement.strategies": (
        "FlexiblePlacementStrategy",
        "NodePlacementStrategy",
        "PackedPlacementStrategy",
        "PlacementStrategy",
    ),
    "placetui.placement.topology": ("Node",),
    "placetui.runtime.attach": ("attach",),
    "placetui.runtime.cluster": ("Cluster",),
    "placetui.runtime.errors": ("ClusterError",),
    "placetui.runtime.groups": ("GroupError",),
    "placetui.runtime.shell": ("node_ip_and_free_port",),
    "placetui.runtime.slime_groups": ("create_placement_groups",),
    "placetui.runtime.worker": ("Worker",),
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
