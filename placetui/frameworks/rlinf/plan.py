"""From an RLinf file to a plan."""

from __future__ import annotations

from collections.abc import Mapping

from placetui.frameworks.base import PlanOptions
from placetui.frameworks.rlinf import RULES
from placetui.frameworks.rlinf.cluster_section import READ, ClusterReading, read_cluster, warn_of_misspelled
from placetui.frameworks.rlinf.components import RuleStrategy, missing_components, read_components
from placetui.placement.config.reader import MISSING, Reader, Unresolved, has_unresolved
from placetui.placement.plan import Component, Plan
from placetui.placement.problems import PlacementError, Problems
from placetui.placement.topology import ACCELERATOR, CLUSTER, Topology

BY_RULE = ("component", "hybrid")
"""Modes in which rules alone make the processes."""

PACKED_ROLES = frozenset(("actor", "rollout", "inference", "actor_inference", "critic_inference", "reward", "critic"))
"""Components whose processes follow from model sizes in the other modes."""

MOST_RANKS = 500_000
"""Processes of all components together."""

_MODE_OF_TASK = {
    "reasoning": "model_parallel",
    "coding_online_rl": "model_parallel",
    "reasoning_eval": "model_parallel_eval",
}


def plan_rlinf(reader: Reader, options: PlanOptions, problems: Problems) -> Plan:
    """Every component on its devices; those with problems are left out."""
    mode = options.mode or _mode_of_task(reader)
    reading, cluster = _read_cluster(reader, options, problems)
    section = reader.get(*RULES, default=MISSING)
    strategies: dict[str, RuleStrategy | None] = {}
    if section is not MISSING:
        strategies = read_components(section, cluster, reading, problems)
    elif reader.keys(CLUSTER):
        problems.append(missing_components(reader))
    placement_mode = {"hybrid": "hybrid"}.get(mode)
    if mode not in BY_RULE and reading.sized:
        from placetui.frameworks.rlinf.model_parallel import apply_model_parallel  # few files need it

        found = apply_model_parallel(mode, strategies, reader, cluster, problems)
        placement_mode = found.value if found else None
    components = _place(strategies, cluster, options, mode not in BY_RULE, problems)
    _warn_of_unused_groups(cluster, strategies, problems)
    return Plan(
        source=options.source,
        framework="rlinf",
        mode=mode,
        placement_mode=placement_mode,
        topology_source="assumed" if options.nodes is None else options.topology_source,
        topology=cluster,
        components=components,
        unplaced=tuple(name for name in strategies if name and name not in components),
    )


def _mode_of_task(reader: Reader) -> str:
    task = reader.get("runner", "task_type", default=None)
    return _MODE_OF_TASK.get(task, "hybrid") if isinstance(task, str) else "hybrid"


def _read_cluster(reader: Reader, options: PlanOptions, problems: Problems) -> tuple[ClusterReading, Topology]:
    nodes = options.nodes
    keys = reader.keys(CLUSTER)
    section = {key: reader.get(CLUSTER, key) for key in READ if key in keys and key != "component_placement"}
    if not keys:
        section["num_nodes"] = len(nodes) if nodes else 1  # already reported: there is no section
        written = reader.get(CLUSTER, default=MISSING)
        if written is not MISSING and not isinstance(written, Unresolved):
            empty = written is None or written == {}
            problems.at((CLUSTER,)).error(
                "missing_field" if empty else "not_a_mapping",
                "the `cluster` section is empty" if empty else f"`cluster` must be a section, not `{written!r}`",
                hint="add `num_nodes` and `component_placement` below it",
            )
    warn_of_misspelled(keys, problems)

    def read() -> tuple[ClusterReading, Topology, Problems]:
        found = Problems()
        reading = read_cluster(section, nodes, found)
        return reading, reading.topology, found

    key = ("cluster", nodes, repr(section), has_unresolved(section))
    reading, topology, found = options.cache.get(key, read)
    problems.extend(found)
    return reading, topology


def _place(
    strategies: Mapping[str, RuleStrategy | None],
    cluster: Topology,
    options: PlanOptions,
    sized_elsewhere: bool,
    problems: Problems,
) -> dict[str, Component]:
    components: dict[str, Component] = {}
    ranks = sum(strategy.processes for strategy in strategies.values() if strategy)
    if ranks > MOST_RANKS:
        message = f"all components together have {ranks} processes, more than {MOST_RANKS}"
        problems.at(RULES).error("too_many_processes", message, hint="check the number of digits in their rules")
        return {}
    for name, strategy in strategies.items():
        if strategy is None:
            continue
        try:
            placements = strategy.place(
                cluster, options.settings.isolates(name, options.isolate_accelerator), options.cache
            )
        except PlacementError as error:
            problems.at(strategy.rule.path, component=name).adopt(error.problems)
            continue
        components[name] = Component(
            name,
            strategy.rule,
            strategy.strategy_name,
            placements,
            reasons=strategy.reasons,
            sized_elsewhere=sized_elsewhere and name in PACKED_ROLES,
        )
    return components


def _warn_of_unused_groups(
    cluster: Topology, strategies: Mapping[str, RuleStrategy | None], problems: Problems
) -> None:
    used = {label for strategy in strategies.values() if strategy for label in strategy.rule.groups}
    broken = any(strategy is None for strategy in strategies.values())
    for group in cluster.groups.values():
        if group.reserved or group.label in used or broken:
            continue
        at = problems.at((CLUSTER, "node_groups", group.index or 0))
        if group.env_configs:
            message = f"no component is placed through group `{group.label}`, so its `env_configs` reach no process"
            hint = f"write `{{node_group: {group.label}, placement: …}}` for the components that need them"
            at.below("env_configs").warning("env_configs_unused", message, hint=hint)
        elif group.hardware_type in (None, ACCELERATOR):
            message = f"no component is placed on node group `{group.label}`"
            at.below("label").warning("group_unused", message, hint="place one there, or remove the group")
