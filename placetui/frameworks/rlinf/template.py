"""The sections of a new RLinf file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.frameworks.new_job import JobSize, Layout
from placetui.placement.edits import Refusal
from placetui.placement.rules import CannotExpress, shortest_rule


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
