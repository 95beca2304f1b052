"""From a configuration and a topology to a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from placetui.placement.cluster_config import READ, read_cluster, warn_of_misspelled
from placetui.placement.components import COMPONENTS, Placing, missing_components, read_components
from placetui.placement.interpolation import MISSING, Reader, Unresolved, has_unresolved
from placetui.placement.node_groups import ClusterReading
from placetui.placement.plan import Component, Plan, TopologySource, plan_nodes
from placetui.placement.problems import PlacementError, Problem, Problems, listing, quoted
from placetui.placement.settings import MODES, SECTION, Settings, read_settings, warn_of_strangers
from placetui.placement.shares import with_shares
from placetui.placement.topology import ACCELERATOR, CLUSTER, Cluster, Node

SLIME = "slime"

MOST_PROBLEMS = 1_000
MOST_RANKS = 500_000
"""Processes of all components together."""

_MODE_OF_TASK = {
    "reasoning": "model_parallel",
    "coding_online_rl": "model_parallel",
    "reasoning_eval": "model_parallel_eval",
}


_DEPENDS_ON_TOPOLOGY = ("resource_out_of_range", "process_across_nodes")


def resolve(
    config: Mapping[str, Any],
    nodes: Sequence[Node] | None = None,
    *,
    mode: str | None = None,
    isolate_accelerator: bool = True,
) -> Plan:
    """The plan of a parsed configuration on these nodes, in rank order.

    Without `nodes` the file's own topology applies, else nodes of 8 GPUs are assumed.

    Raises:
        PlacementError: with all problems, when a component cannot be placed.
    """
    plan = make_plan(config, nodes=nodes, mode=mode, isolate_accelerator=isolate_accelerator)
    if any(problem.blocking for problem in plan.problems):
        raise PlacementError(plan.problems)
    return plan


def make_plan(
    config: Mapping[str, Any],
    *,
    nodes: Sequence[Node] | None = None,
    topology_source: TopologySource = "flag",
    mode: str | None = None,
    isolate_accelerator: bool = True,
    source: str = "",
) -> Plan:
    """As far as it can be resolved; `problems` of the plan say the rest. Never raises for what a user wrote."""
    problems = Problems()
    reader = Reader(config, problems)
    settings = read_settings(reader, problems)
    if nodes is None and settings.nodes is not None:
        nodes, topology_source = settings.nodes, "file"
    keys = reader.keys()
    if mode is not None and mode not in (*MODES, SLIME):
        problems.error("unknown_mode", f"there is no mode `{mode}`", hint=f"choose one of {listing(quoted(MODES))}")
        mode = None
    if SLIME in keys and CLUSTER in keys and "component_placement" in reader.keys(CLUSTER):
        problems.error(
            "two_layouts",
            "the file has both `cluster.component_placement` and `slime`",
            hint="keep one of the two",
            path=(SLIME,),
            at_key=True,
        )
    if SLIME in keys and "component_placement" not in reader.keys(CLUSTER):
        plan = _slime_plan(reader, settings, nodes, topology_source, source, problems)
    else:
        if CLUSTER not in keys:
            problems.append(_no_layout(keys))
        plan = _rlinf_plan(reader, settings, nodes, topology_source, mode, isolate_accelerator, source, problems)
    if plan.components and not problems.blocking:  # else a name may be of a component that could not be placed
        warn_of_strangers(settings, list(plan.components), problems)
    if plan.topology_source == "assumed":
        if reader.has(SECTION, "topology"):  # it is wrong, and said so: what the assumed nodes lack merely follows
            problems = Problems(problem for problem in problems if problem.rule not in _DEPENDS_ON_TOPOLOGY)
        problems = Problems(map(_mention_assumption, problems))
    return replace(plan, problems=_without_repeats(problems))


def _no_layout(keys: Sequence[str]) -> Problem:
    hint = "add `cluster:` with `num_nodes` and `component_placement`, or `slime:` with slime's arguments"
    if "component_placement" in keys:
        hint = "indent `component_placement:` below `cluster:`"
    return Problem("no_layout", "the file places nothing: it has no `cluster` and no `slime` section", hint=hint)


def _mention_assumption(problem: Problem) -> Problem:
    if problem.rule not in _DEPENDS_ON_TOPOLOGY or problem.path[:2] != COMPONENTS:
        return problem
    more = "the topology is assumed: `--cluster NxG` or `placetui.topology` name the real one"
    return replace(problem, hint=f"{problem.hint}; {more}" if problem.hint else more)


def _without_repeats(problems: Problems) -> list[Problem]:
    """Components that share a rule share its problems: say them once. Nobody reads thousands."""
    seen: dict[tuple[Any, ...], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.rule, problem.path, problem.span, problem.message), problem)
    found = list(seen.values())
    if len(found) > MOST_PROBLEMS:
        found.sort(key=lambda problem: not problem.blocking)
    return found[:MOST_PROBLEMS]


# RLinf files


def _rlinf_plan(
    reader: Reader,
    settings: Settings,
    nodes: Sequence[Node] | None,
    topology_source: TopologySource,
    mode: str | None,
    isolate: bool,
    source: str,
    problems: Problems,
) -> Plan:
    mode = mode if mode in MODES else settings.mode or _mode_of_task(reader)
    reading, cluster = _read_cluster(reader, nodes, problems)
    section = reader.get(*COMPONENTS, default=MISSING)
    placings: dict[str, Placing | None] = {}
    if section is not MISSING:
        placings = read_components(section, cluster, reading, problems)
    elif reader.keys(CLUSTER):
        problems.append(missing_components(reader))
    placement_mode = {"hybrid": "hybrid"}.get(mode)
    if mode not in ("component", "hybrid") and reading.sized:
        from placetui.placement.model_parallel import apply_model_parallel  # few files need it

        found = apply_model_parallel(mode, placings, reader, cluster, problems)
        placement_mode = found.value if found else None
    robots = {
        label: group.hardware_type
        for label, group in cluster.groups.items()
        if group.hardware_type is not None and group.hardware_type != ACCELERATOR
    }
    components = _place(placings, cluster, settings, isolate, problems)
    _warn_of_unused_groups(cluster, placings, problems)
    plan = Plan(
        source=source,
        mode=mode,
        placement_mode=placement_mode,
        topology_source="assumed" if nodes is None else topology_source,
        nodes=plan_nodes(cluster),
        components=components,
        group_kinds=robots,
        groups=cluster.groups,
        launch=settings.launch,
        memory=settings.memory,
    )
    return _shared(plan, settings.shares, settings.train, problems, cluster.placed)


def _mode_of_task(reader: Reader) -> str:
    task = reader.get("runner", "task_type", default=None)
    return _MODE_OF_TASK.get(task, "hybrid") if isinstance(task, str) else "hybrid"


_clusters: dict[Any, tuple[ClusterReading, Cluster, list[Problem]]] = {}


def _read_cluster(reader: Reader, nodes: Sequence[Node] | None, problems: Problems) -> tuple[ClusterReading, Cluster]:
    """The cluster of the file; the last few are kept, and with them the placements made on them."""
    keys = reader.keys(CLUSTER)
    section = {key: reader.get(CLUSTER, key) for key in READ if key in keys and key != "component_placement"}
    if not keys:
        section["num_nodes"] = len(nodes) if nodes else 1  # already reported: there is no section
        written = reader.get(CLUSTER, default=MISSING)
        if written is not MISSING and not isinstance(written, Unresolved):
            empty = written is None or written == {}
            problems.error(
                "missing_field" if empty else "not_a_mapping",
                "the `cluster` section is empty" if empty else f"`cluster` must be a section, not `{written!r}`",
                hint="add `num_nodes` and `component_placement` below it",
                path=(CLUSTER,),
            )
    warn_of_misspelled(keys, problems)
    key = (None if nodes is None else tuple(nodes), repr(section), has_unresolved(section))
    if key not in _clusters:
        found = Problems()
        reading = read_cluster(section, nodes, found)
        groups = [group for group in reading.groups.values() if not group.reserved]
        if len(_clusters) >= 4:
            _clusters.pop(next(iter(_clusters)))
        _clusters[key] = reading, Cluster.build(reading.nodes, groups, reading.robots), found
    reading, cluster, found_before = _clusters[key]
    problems.extend(found_before)
    return reading, cluster


def _place(
    placings: Mapping[str, Placing | None], cluster: Cluster, settings: Settings, isolate: bool, problems: Problems
) -> dict[str, Component]:
    components: dict[str, Component] = {}
    ranks = sum(placing.processes for placing in placings.values() if placing)
    if ranks > MOST_RANKS:
        problems.error(
            "too_many_processes",
            f"all components together have {ranks} processes, more than {MOST_RANKS}",
            hint="check the number of digits in their rules",
            path=COMPONENTS,
        )
        return {}
    for name, placing in placings.items():
        if placing is None:
            continue
        try:
            placements = placing.place(cluster, settings.isolates(name, isolate))
        except PlacementError as error:
            problems.adopt(error.problems, placing.rule.path, name)
            continue
        components[name] = Component(name, placing.rule, placing.strategy_name, placements, reasons=placing.reasons)
    return components


def _warn_of_unused_groups(cluster: Cluster, placings: Mapping[str, Placing | None], problems: Problems) -> None:
    used = {label for placing in placings.values() if placing for label in placing.rule.groups}
    broken = any(placing is None for placing in placings.values())
    for group in cluster.groups.values():
        if group.reserved or group.label in used or broken:
            continue
        path = (CLUSTER, "node_groups", group.index or 0)
        if group.env_configs:
            problems.warning(
                "env_configs_unused",
                f"no component is placed through group `{group.label}`, so its `env_configs` reach no process",
                hint=f"write `{{node_group: {group.label}, placement: …}}` for the components that need them",
                path=(*path, "env_configs"),
            )
        elif group.hardware_type in (None, ACCELERATOR):
            problems.warning(
                "group_unused",
                f"no component is placed on node group `{group.label}`",
                hint="place one there, or remove the group",
                path=(*path, "label"),
            )


def _shared(
    plan: Plan, explicit: Mapping[str, int], train: Sequence[str], problems: Problems, cache: dict[Any, Any]
) -> Plan:
    components = with_shares(plan.components, plan.nodes, plan.group_kinds, explicit, train, problems, cache)
    return replace(plan, components=components)


# slime files


def _slime_plan(
    reader: Reader,
    settings: Settings,
    nodes: Sequence[Node] | None,
    topology_source: TopologySource,
    source: str,
    problems: Problems,
) -> Plan:
    from placetui.placement.slime import assumed_nodes, place_slime, read_slime, slime_shares  # few files need it

    section = reader.get(SLIME, default=None)
    layout = None if isinstance(section, Unresolved) else read_slime(section, problems)
    if nodes is None:
        topology_source = "assumed"
        nodes = [Node(8)] if layout is None else [Node(layout.num_gpus_per_node)] * max(1, assumed_nodes(layout))
    plan = Plan(source, SLIME, None, topology_source, plan_nodes(Cluster.build(nodes)), {})
    if layout is None:
        return plan
    components, services = place_slime(layout, nodes, problems)
    shares = {**slime_shares(layout), **settings.shares}
    placed = replace(plan, components=components, services=services, launch=settings.launch, memory=settings.memory)
    return _shared(placed, shares, settings.train, problems, {})
