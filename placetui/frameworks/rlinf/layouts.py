"""Collocated or disaggregated: a new RLinf file, and the components of one arranged otherwise, to try it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.frameworks.base import Override
from placetui.frameworks.new_job import JobSize, Layout
from placetui.frameworks.rlinf import RULES
from placetui.placement.edits import Refusal
from placetui.placement.plan import GPU, Plan
from placetui.placement.pools import is_training
from placetui.placement.rules import CannotExpress, shortest_rule
from placetui.placement.wording import number_range


def template(layout: Layout, size: JobSize) -> Mapping[str, Any] | Refusal:
    """`actor` and `rollout` on their own devices, or on the same ones."""
    if misfit := size.misfit(layout, spans_nodes=False):
        return misfit
    training, rollout = size.split(layout)
    total, each = size.nodes * size.gpus_per_node, size.per_engine
    first = total - rollout
    engines = [list(range(start, start + each)) for start in range(first, first + rollout, each)]
    try:
        actor = shortest_rule([[number] for number in range(training)], total, may_use_all=True)
        rules = {"actor": actor, "rollout": shortest_rule(engines, total, may_use_all=True)}
    except CannotExpress as error:
        return Refusal(error.reason)
    return {"cluster": {"num_nodes": size.nodes, "component_placement": rules}}


def arrange(plan: Plan, layout: Layout, training: int | None) -> list[Override]:
    """Overrides of the file that arrange its components so; empty when there is nothing to arrange."""
    total = sum(node.gpus for node in plan.nodes)
    moved = [
        name
        for name, component in plan.components.items()
        if component.placements and all(plan.kind_of(one) == GPU for one in component.placements)
    ]
    trains = {name for name in moved if is_training(plan.components[name])}
    if total < 2 or not 0 < len(trains) < len(moved):
        return []
    rules: dict[str, Any] = {}
    border = total // 2 if training is None else max(1, min(training, total - 1))
    for name, component in plan.components.items():
        if name not in moved:
            rules[name] = {"node_group": ",".join(component.rule.groups), "placement": component.rule.text}
        elif layout == "collocated":
            rules[name] = f"0-{total - 1}"
        else:
            rules[name] = number_range(0, border - 1) if name in trains else number_range(border, total - 1)
    if layout == "collocated" and plan.mode not in ("component", "hybrid"):
        for name in ("inference", "actor_inference", "critic_inference"):  # they have no place there
            rules.pop(name, None)
    return [(RULES, rules)]
