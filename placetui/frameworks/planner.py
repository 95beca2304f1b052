"""From a configuration and a topology to a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from placetui.frameworks import registry
from placetui.frameworks.base import Framework, PlanOptions
from placetui.placement.cache import PlanCache
from placetui.placement.config.reader import Reader, Unresolved
from placetui.placement.config.settings import SECTION, read_settings, warn_of_unknown_components
from placetui.placement.plan import Plan, TopologySource
from placetui.placement.problems import Path, PlacementError, Problem, Problems
from placetui.placement.shares import with_shares
from placetui.placement.topology import Node
from placetui.placement.wording import dotted, listing, quoted

MOST_PROBLEMS = 1_000

_DEPENDS_ON_TOPOLOGY = ("resource_out_of_range", "process_across_nodes")


class Planner:
    """Makes plans, one after the other, and keeps the parts that did not change.

    Each session of the dashboard has its own; threads may share it.
    """

    def __init__(self) -> None:
        self._cache = PlanCache()

    def plan(
        self,
        config: Mapping[str, Any],
        *,
        nodes: Sequence[Node] | None = None,
        topology_source: TopologySource = "flag",
        mode: str | None = None,
        isolate_accelerator: bool = True,
        source: str = "",
        files: Mapping[Path, Mapping[str, Any]] | None = None,
    ) -> Plan:
        """As far as it can be resolved; `problems` of the plan say the rest. Never raises for what a user wrote.

        Without `nodes` the file's own topology applies, else nodes of 8 GPUs are assumed. `files` are those that the
        configuration names, by the path of the value.
        """
        self._cache.start_plan()
        problems = Problems()
        reader = Reader(config, problems)
        modes = registry.modes()
        settings = read_settings(reader, problems, modes)
        if nodes is None and settings.nodes is not None:
            nodes, topology_source = settings.nodes, "file"
        if mode is not None and mode not in (*modes, *registry.names()):
            hint = f"choose one of {listing(quoted(modes))}"
            problems.at(()).error("unknown_mode", f"there is no mode `{mode}`", hint=hint)
            mode = None
        framework = _framework(reader, problems)
        options = PlanOptions(
            nodes=None if nodes is None else tuple(nodes),
            topology_source=topology_source,
            mode=mode if mode in framework.modes else settings.mode,
            isolate_accelerator=isolate_accelerator,
            source=source,
            settings=settings,
            cache=self._cache,
            files=files or {},
        )
        plan = framework.plan(reader, options, problems)
        components = with_shares(plan.components, plan.topology, settings.shares, settings.train, problems)
        if components and not problems.blocking:  # else a name may be of a component that could not be placed
            warn_of_unknown_components(settings, list(components), problems)
        if plan.topology_source == "assumed":
            if reader.has(SECTION, "topology"):  # it is wrong, and said so: what the assumed nodes lack merely follows
                problems = Problems(problem for problem in problems if problem.rule not in _DEPENDS_ON_TOPOLOGY)
            problems = Problems(_mention_assumption(problem, framework) for problem in problems)
        return replace(
            plan,
            components=components,
            launch=settings.launch,
            memory=settings.memory,
            problems=_without_repeats(problems),
        )


def make_plan(config: Mapping[str, Any], **options: Any) -> Plan:
    """One plan, without keeping anything; see `Planner.plan`."""
    return Planner().plan(config, **options)


def resolve(
    config: Mapping[str, Any],
    nodes: Sequence[Node] | None = None,
    *,
    mode: str | None = None,
    isolate_accelerator: bool = True,
) -> Plan:
    """The plan of a parsed configuration on these nodes, in rank order; see `Planner.plan`.

    Raises:
        PlacementError: with all problems, when a component cannot be placed.
    """
    plan = make_plan(config, nodes=nodes, mode=mode, isolate_accelerator=isolate_accelerator)
    if any(problem.blocking for problem in plan.problems):
        raise PlacementError(plan.problems)
    return plan


def _framework(reader: Reader, problems: Problems) -> Framework:
    """The one whose file this is; a file of two, or of none, is a problem."""
    named = reader.get(SECTION, "framework", default=None)
    if named is not None and named not in registry.names() and not isinstance(named, Unresolved):
        hint = f"write one of {listing(quoted(registry.names()))}, or remove the line"
        problems.at((SECTION, "framework")).error("unknown_framework", f"there is no framework `{named}`", hint=hint)
    found = registry.matching(reader)
    if len(found) > 1:
        keys = quoted(dotted(one.rules_at or one.sections[:1]) for one in found)
        hint = f"keep one of the {'two' if len(found) == 2 else len(found)}"
        at = problems.at(found[-1].sections[:1])
        at.error("two_layouts", f"the file has both {listing(keys)}", hint=hint, at_key=True)
    chosen = registry.choose(reader)
    keys = reader.keys()
    if chosen.sections[0] not in keys and not chosen.matches(reader):
        problems.append(_no_layout(keys))
    return chosen


def _no_layout(keys: Sequence[str]) -> Problem:
    known = [one for one in registry.frameworks() if one.outline]
    hint = f"add {', or '.join(one.outline for one in known)}"
    for one in known:
        if one.rules_at and one.rules_at[-1] in keys:
            hint = f"indent `{one.rules_at[-1]}:` below `{one.rules_at[0]}:`"
    sections = " and no ".join(quoted(one.sections[0] for one in known))
    return Problem("no_layout", f"the file places nothing: it has no {sections} section", hint=hint)


def _mention_assumption(problem: Problem, framework: Framework) -> Problem:
    rules = framework.rules_at
    if problem.rule not in _DEPENDS_ON_TOPOLOGY or rules is None or problem.path[: len(rules)] != rules:
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
