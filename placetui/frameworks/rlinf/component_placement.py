"""`ComponentPlacement` and `HybridComponentPlacement`: RLinf's way to ask where components go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.frameworks.rlinf import RULES
from placetui.frameworks.rlinf.cluster_section import ClusterReading
from placetui.frameworks.rlinf.components import RuleStrategy, missing_components, read_components
from placetui.placement.config.reader import MISSING, Reader
from placetui.placement.placements import PlacementMode
from placetui.placement.placing import fail
from placetui.placement.problems import Problems
from placetui.placement.strategies import PlacementStrategy
from placetui.placement.topology import Topology
from placetui.placement.wording import listing, quoted


class ComponentPlacement:
    """Where the components of a configuration go, as the source documents have it.

    Args:
        config: a mapping with a `cluster` section.
        cluster: what to place on.

    Raises:
        PlacementError: with all problems, when a rule cannot be right.
    """

    _mode: PlacementMode | None = None

    def __init__(self, config: Mapping[str, Any], cluster: Topology) -> None:
        self._cluster = cluster
        problems = Problems()
        reader = Reader(config, problems)
        section = reader.get(*RULES, default=MISSING)
        reading = ClusterReading(cluster.nodes)
        if section is MISSING:
            problems.append(missing_components(reader))
        self._strategies = read_components({} if section is MISSING else section, cluster, reading, problems)
        problems.raise_if_blocking()
        self._finish(reader, problems)
        problems.raise_if_blocking()

    def _finish(self, reader: Reader, problems: Problems) -> None:
        """Room for the modes that replace strategies."""

    @property
    def components(self) -> list[str]:
        """Names in file order."""
        return list(self._strategies)

    @property
    def placement_mode(self) -> PlacementMode | None:
        return self._mode

    def _get(self, name: str) -> RuleStrategy:
        strategy = self._strategies.get(name)
        if strategy is None:
            hint = f"the components are {listing(quoted(self._strategies))}"
            fail("unknown_component", f"there is no component `{name}`", hint)
        return strategy

    def get_strategy(self, name: str) -> PlacementStrategy:
        """How a component's processes are placed."""
        return self._get(name).strategy

    def get_hardware_ranks(self, name: str) -> list[int]:
        """Device ranks of the rule, in order; node ranks for components on nodes."""
        return self._get(name).resources

    def get_world_size(self, name: str) -> int:
        """The processes that will run."""
        strategy = self._get(name)
        if strategy.packed is None:
            return strategy.processes
        packed = strategy.packed
        return (packed.end_hardware_rank - packed.start_hardware_rank + 1) // packed.num_hardware_per_process


class HybridComponentPlacement(ComponentPlacement):
    """The same, for jobs whose components share and split devices as they like."""

    _mode = PlacementMode.HYBRID
