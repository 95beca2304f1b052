"""`cluster.component_placement`: from rules to strategies, for every component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from placetui.placement.interpolation import MISSING, Reader, Unresolved
from placetui.placement.node_groups import MOST_MEMBERSHIPS, ClusterReading
from placetui.placement.placements import Placement, PlacementMode
from placetui.placement.plan import Rule
from placetui.placement.problems import Path, PlacementError, Problem, Problems, count, listing, quoted
from placetui.placement.ranks import RankError, parse_rule, shorten, spread
from placetui.placement.strategies import (
    FlexiblePlacementStrategy,
    NodePlacementStrategy,
    PackedPlacementStrategy,
    PlacementStrategy,
    cached,
    place_nodes,
    place_runs,
)
from placetui.placement.topology import CLUSTER, Cluster

COMPONENTS: Path = (CLUSTER, "component_placement")


@dataclass(frozen=True, slots=True)
class Placing:
    """One component on its way from a rule to placements."""

    rule: Rule
    kind: Literal["flexible", "node"]
    packed: PackedPlacementStrategy | None = None
    """Set by the model-parallel modes instead of the rule's own strategy."""

    reasons: tuple[str, ...] = ()

    @property
    def strategy_name(self) -> Literal["packed", "flexible", "node"]:
        return "packed" if self.packed else self.kind

    @property
    def processes(self) -> int:
        """How many the rule asks for."""
        return sum(len(segment.processes) for segment in self.rule.segments)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """(first device, number of devices) of each process."""
        return spread(self.rule.segments)

    @property
    def resources(self) -> list[int]:
        """The numbers that the rule names, in order."""
        return [number for segment in self.rule.segments for number in segment.resources]

    def place(self, cluster: Cluster, isolate: bool) -> Sequence[Placement]:
        """Placements by rank.

        Raises:
            PlacementError: when a process cannot be placed.
        """
        if self.packed:
            return self.packed._place(cluster, isolate)
        if self.kind == "flexible":
            key = ("rule", self.rule.groups, self.rule.text, isolate)
            return cached(cluster, key, lambda: place_runs(cluster, self.rule.groups, self.runs, isolate))
        positions = [first for first, _ in self.runs]
        key = ("nodes", self.rule.groups, self.rule.text, isolate)
        return cached(cluster, key, lambda: place_nodes(cluster, self.rule.groups, positions, isolate))

    def strategy(self) -> PlacementStrategy:
        if self.packed:
            return self.packed
        if self.kind == "flexible":
            lists = [list(range(first, first + size)) for first, size in self.runs]
            return FlexiblePlacementStrategy(lists, self.rule.groups)
        return NodePlacementStrategy([first for first, _ in self.runs], self.rule.groups)


def read_components(
    section: Any, cluster: Cluster, reading: ClusterReading, problems: Problems, path: Path = COMPONENTS
) -> dict[str, Placing | None]:
    """Every component in file order; None for those whose rule has a problem."""
    if isinstance(section, Unresolved):
        return {}
    if not isinstance(section, Mapping):
        problems.error(
            "component_placement_not_mapping",
            f"`component_placement` must map components to rules, not `{shorten(repr(section))}`",
            hint="write for example `actor: 0-7` below it",
            path=path,
        )
        return {}
    found: dict[str, Placing | None] = {}
    for key, value in section.items():
        where = (*path, key)
        names = [name.strip() for name in key.split(",")]
        fresh: list[str] = []
        for name in names:
            if name in found or name in fresh:
                problems.error(
                    "duplicate_component",
                    f"the component `{name}` is placed twice",
                    hint="keep one of the two rules; a base file and a child merge by the text of the whole key",
                    path=where,
                    at_key=True,
                    component=name,
                )
            else:
                fresh.append(name)
        if "" in fresh and len(names) > 1:
            problems.warning(
                "empty_component_name",
                f"the comma in `{key}` makes a component without a name",
                hint="remove the comma",
                path=where,
                at_key=True,
            )
        placing = _read_rule(value, where, tuple(fresh), cluster, reading, problems)
        found.update(dict.fromkeys(fresh, placing))
    return found


def _read_rule(
    value: Any, path: Path, names: tuple[str, ...], cluster: Cluster, reading: ClusterReading, problems: Problems
) -> Placing | None:
    labels: tuple[str, ...] = (CLUSTER,)
    component = names[0] if names else None
    if isinstance(value, Mapping):
        if "placement" not in value:
            problems.error(
                "placement_missing",
                f"{listing(quoted(names)) or 'the component'} has no `placement`",
                hint="add `placement: 0-7`",
                path=path,
                component=component,
            )
            return None
        for key in value:
            if key not in ("placement", "node_group"):
                problems.warning(
                    "unknown_placement_field",
                    f"`{key}` is not read here",
                    hint="only `node_group` and `placement` are; remove it",
                    path=(*path, key),
                    at_key=True,
                    component=component,
                )
        where = (*path, "node_group")
        if "node_group" in value:
            labels = split_labels(value["node_group"])
        rule_path, text = (*path, "placement"), value["placement"]
        unknown = [label for label in labels if label not in cluster.groups and not isinstance(label, Unresolved)]
        for label in unknown:
            if label not in reading.broken:
                problems.adopt([cluster.not_found(label)], where, component)
        if unknown or any(isinstance(label, Unresolved) for label in labels):
            return None
    else:
        rule_path, text = path, value
    if isinstance(text, Unresolved) or any(label in reading.broken for label in labels):
        return None
    if isinstance(text, list):
        problems.error(
            "rank_format",
            f"a rule is a text, not the list `{shorten(str(text))}`",
            hint=f'write `"{",".join(map(str, text))}"`' if text else "write for example `0-7`",
            path=rule_path,
            component=component,
        )
        return None
    return _parse(str(text), rule_path, labels, names, cluster, reading, problems)


def split_labels(value: Any) -> tuple[str, ...]:
    """Labels of `node_group`: a text, with commas for several, or a YAML list."""
    if isinstance(value, list):
        return tuple(str(one) for one in value)
    if isinstance(value, str) and "," in value:
        return tuple(label.strip() for label in value.split(","))
    return (value if isinstance(value, str) else str(value),)


def _parse(
    text: str,
    path: Path,
    labels: tuple[str, ...],
    names: tuple[str, ...],
    cluster: Cluster,
    reading: ClusterReading,
    problems: Problems,
) -> Placing | None:
    groups = cluster.find_groups(labels)
    if sum(len(group.node_ranks) for group in groups) > MOST_MEMBERSHIPS:
        problems.error(
            "too_many_values",
            f"the {len(groups)} node groups together name more than {MOST_MEMBERSHIPS} nodes",
            hint="name each group once",
            path=path,
            component=names[0] if names else None,
        )
        return None
    on_nodes = any(group.hardware_type is None for group in groups)
    total = cluster.numbering(labels).total if reading.sized else None
    component = names[0] if names else None
    try:
        noun = "node" if on_nodes else "device"
        segments = parse_rule(text, total, lambda: cluster.describe(labels), noun)
    except RankError as error:
        problems.adopt([error.problem], path, component)
        return None
    if not reading.sized:
        return None
    wide = [segment for segment in segments if len(segment.resources) > len(segment.processes)] if on_nodes else []
    if wide:
        each = len(wide[0].resources) // len(wide[0].processes)
        problems.error(
            "multi_node_process",
            f"process {wide[0].processes[0]} would sit on {count(each, 'node')}; a process sits on one node",
            hint="give each node at least one process, for example `0-1:0-1`",
            path=path,
            component=component,
        )
        return None
    if on_nodes and any(group.hardware_type is not None for group in groups):
        with_devices = [group.label for group in groups if group.hardware_type is not None]
        problems.warning(
            "mixed_groups_count_nodes",
            f"group {listing(quoted(with_devices))} has devices and another has none: this rule counts nodes",
            hint="place on groups of one kind",
            path=path,
            component=component,
        )
    return Placing(Rule(text, path, labels, tuple(segments), names), "node" if on_nodes else "flexible")


class ComponentPlacement:
    """Where the components of a configuration go, as the source documents have it.

    Args:
        config: a mapping with a `cluster` section.
        cluster: what to place on.

    Raises:
        PlacementError: with all problems, when a rule cannot be right.
    """

    _mode: PlacementMode | None = None

    def __init__(self, config: Mapping[str, Any], cluster: Cluster) -> None:
        self._cluster = cluster
        problems = Problems()
        reader = Reader(config, problems)
        section = reader.get(*COMPONENTS, default=MISSING)
        reading = ClusterReading(cluster.nodes)
        if section is MISSING:
            problems.append(missing_components(reader))
        self._placings = read_components({} if section is MISSING else section, cluster, reading, problems)
        problems.raise_if_blocking()
        self._finish(reader, problems)
        problems.raise_if_blocking()

    def _finish(self, reader: Reader, problems: Problems) -> None:
        """Room for the modes that replace strategies."""

    @property
    def components(self) -> list[str]:
        """Names in file order."""
        return list(self._placings)

    @property
    def placement_mode(self) -> PlacementMode | None:
        return self._mode

    def _get(self, name: str) -> Placing:
        placing = self._placings.get(name)
        if placing is None:
            raise PlacementError(
                [
                    Problem(
                        "unknown_component",
                        f"there is no component `{name}`",
                        hint=f"the components are {listing(quoted(self._placings))}",
                    )
                ]
            )
        return placing

    def get_strategy(self, name: str) -> PlacementStrategy:
        """How a component's processes are placed."""
        return self._get(name).strategy()

    def get_hardware_ranks(self, name: str) -> list[int]:
        """Device ranks of the rule, in order; node ranks for components on nodes."""
        return self._get(name).resources

    def get_world_size(self, name: str) -> int:
        """The processes that will run."""
        placing = self._get(name)
        if placing.packed is None:
            return placing.processes
        packed = placing.packed
        return (packed.end_hardware_rank - packed.start_hardware_rank + 1) // packed.num_hardware_per_process


class HybridComponentPlacement(ComponentPlacement):
    """The same, for jobs whose components share and split devices as they like."""

    _mode = PlacementMode.HYBRID


def missing_components(reader: Reader) -> Problem:
    """`cluster.component_placement` is not there; often the components stand one level too high."""
    keys = [key for key in reader.keys(CLUSTER) if key not in ("num_nodes", "node_groups", "profiling")]
    top = reader.keys()
    if "component_placement" in top and not reader.keys(CLUSTER):
        hint = "indent `component_placement:` below `cluster:`"
    elif keys:
        hint = f"put {listing(quoted(keys))} below `component_placement:`"
    else:
        hint = "add `component_placement:` and below it for example `actor: 0-7`"
    message = "the `cluster` section lacks `component_placement`"
    return Problem("missing_field", message, hint=hint, path=(CLUSTER,), at_key=True)


def with_packed(placing: Placing, packed: PackedPlacementStrategy, *reasons: str) -> Placing:
    """The same rule with a packed strategy of its own."""
    return replace(placing, packed=packed, reasons=reasons)
