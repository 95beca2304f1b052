"""`cluster.component_placement`: from rules to strategies, for every component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from placetui.frameworks.rlinf import RULES
from placetui.frameworks.rlinf.cluster_section import MOST_MEMBERSHIPS, ClusterReading
from placetui.placement.cache import PlanCache
from placetui.placement.config.reader import MISSING, Reader, Unresolved
from placetui.placement.placements import PlacementMode, Placements
from placetui.placement.placing import fail, place_nodes, place_runs
from placetui.placement.plan import Rule
from placetui.placement.problems import Problem, ProblemReporter, Problems
from placetui.placement.ranks import RankError, parse_rule, shorten, spread
from placetui.placement.topology import CLUSTER, Topology, split_labels
from placetui.placement.wording import count, listing, quoted

if TYPE_CHECKING:  # a plan is made without their objects
    from placetui.placement.strategies import PackedPlacementStrategy, PlacementStrategy


@dataclass(frozen=True)
class RuleStrategy:
    """A rule, and the strategy that places its components."""

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

    def place(self, topology: Topology, isolate: bool, cache: PlanCache) -> Placements:
        """Placements by rank; raises `PlacementError`."""
        what = self.packed.key if self.packed else (self.kind, self.rule.groups, self.rule.text)
        return cache.get((topology, what, isolate), lambda: self._place(topology, isolate))

    def _place(self, topology: Topology, isolate: bool) -> Placements:
        if self.packed:
            return self.packed.place(topology, isolate)
        if self.kind == "flexible":
            return place_runs(topology, self.rule.groups, self.runs, isolate)
        return place_nodes(topology, self.rule.groups, [first for first, _ in self.runs], isolate)

    @cached_property
    def strategy(self) -> PlacementStrategy:
        from placetui.placement.strategies import FlexiblePlacementStrategy, NodePlacementStrategy

        if self.packed:
            return self.packed
        if self.kind == "flexible":
            lists = [list(range(first, first + size)) for first, size in self.runs]
            return FlexiblePlacementStrategy(lists, self.rule.groups)
        return NodePlacementStrategy([first for first, _ in self.runs], self.rule.groups)


def read_components(
    section: Any, cluster: Topology, reading: ClusterReading, problems: Problems
) -> dict[str, RuleStrategy | None]:
    """Every component in file order; None for those whose rule has a problem."""
    at = problems.at(RULES)
    if isinstance(section, Unresolved):
        return {}
    if not isinstance(section, Mapping):
        message = f"`component_placement` must map components to rules, not `{shorten(repr(section))}`"
        at.error("component_placement_not_mapping", message, hint="write for example `actor: 0-7` below it")
        return {}
    found: dict[str, RuleStrategy | None] = {}
    for key, value in section.items():
        here = at.below(key)
        names = [name.strip() for name in key.split(",")]
        fresh: list[str] = []
        for name in names:
            if name in found or name in fresh:
                hint = "keep one of the two rules; a base file and a child merge by the text of the whole key"
                message = f"the component `{name}` is placed twice"
                here._replace(component=name).error("duplicate_component", message, hint=hint, at_key=True)
            else:
                fresh.append(name)
        if "" in fresh and len(names) > 1:
            message = f"the comma in `{key}` makes a component without a name"
            here.warning("empty_component_name", message, hint="remove the comma", at_key=True)
        reader = _RuleReader(cluster, reading, tuple(fresh), here._replace(component=fresh[0] if fresh else None))
        found.update(dict.fromkeys(fresh, reader.read(value)))
    return found


class _RuleReader(NamedTuple):
    """Reads the rule of a key."""

    topology: Topology
    reading: ClusterReading
    names: tuple[str, ...]
    """The components of the key."""

    at: ProblemReporter

    def read(self, value: Any) -> RuleStrategy | None:
        """None when the rule has a problem, which is reported."""
        at, text = self.at, value
        labels: tuple[str, ...] = (CLUSTER,)
        if isinstance(value, Mapping):
            if "placement" not in value:
                message = f"{listing(quoted(self.names)) or 'the component'} has no `placement`"
                at.error("placement_missing", message, hint="add `placement: 0-7`")
                return None
            for key in value:
                if key not in ("placement", "node_group"):
                    hint = "only `node_group` and `placement` are; remove it"
                    message = f"`{key}` is not read here"
                    at.below(key).warning("unknown_placement_field", message, hint=hint, at_key=True)
            if "node_group" in value:
                labels = split_labels(value["node_group"])
            at, text = at.below("placement"), value["placement"]
        if not self._knows(labels) or isinstance(text, Unresolved):
            return None
        if isinstance(text, list):
            hint = f'write `"{",".join(map(str, text))}"`' if text else "write for example `0-7`"
            at.error("rank_format", f"a rule is a text, not the list `{shorten(str(text))}`", hint=hint)
            return None
        return self._parse(str(text), labels, at)

    def _knows(self, labels: Sequence[str]) -> bool:
        """Whether all of these are groups without problems; one that does not exist is reported."""
        broken = self.reading.broken
        unknown = [label for label in labels if label not in self.topology.groups and not isinstance(label, Unresolved)]
        for label in unknown:
            if label not in broken:
                self.at.below("node_group").adopt([self.topology.not_found(label)])
        return not unknown and not any(isinstance(label, Unresolved) or label in broken for label in labels)

    def _parse(self, text: str, labels: tuple[str, ...], at: ProblemReporter) -> RuleStrategy | None:
        groups = self.topology.find_groups(labels)
        if sum(len(group.node_ranks) for group in groups) > MOST_MEMBERSHIPS:
            message = f"the {len(groups)} node groups together name more than {MOST_MEMBERSHIPS} nodes"
            at.error("too_many_values", message, hint="name each group once")
            return None
        on_nodes = any(group.hardware_type is None for group in groups)
        total = self.topology.numbering(labels).total if self.reading.sized else None
        try:
            noun = "node" if on_nodes else "device"
            segments = parse_rule(text, total, lambda: self.topology.describe(labels), noun)
        except RankError as error:
            at.adopt([error.problem])
            return None
        if not self.reading.sized:
            return None
        wide = [one for one in segments if len(one.resources) > len(one.processes)] if on_nodes else []
        if wide:
            each = count(len(wide[0].resources) // len(wide[0].processes), "node")
            message = f"process {wide[0].processes[0]} would be on {each}; a process needs one node"
            hint = "give each node at least one process, for example `0-1:0-1`"
            at.error("multi_node_process", message, hint=hint)
            return None
        with_devices = [group.label for group in groups if group.hardware_type is not None]
        if on_nodes and with_devices:
            message = f"group {listing(quoted(with_devices))} has devices and another has none: this rule counts nodes"
            at.warning("mixed_groups_count_nodes", message, hint="place on groups of one kind")
        rule = Rule(text, at.path, labels, tuple(segments), self.names)
        return RuleStrategy(rule, "node" if on_nodes else "flexible")


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
    message = "`component_placement` is missing in the `cluster` section"
    return Problem("missing_field", message, hint=hint, path=(CLUSTER,), at_key=True)


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
