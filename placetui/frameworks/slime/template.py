"""The section of a new slime file, and what arranges an existing one otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.frameworks.base import Override
from placetui.frameworks.new_job import JobSize, Layout
from placetui.frameworks.slime.arguments import SECTION, argument_name
from placetui.frameworks.slime.layout import nodes_and_gpus
from placetui.placement.edits import Refusal
from placetui.placement.plan import Plan


def template(layout: Layout, size: JobSize) -> Mapping[str, Any] | Refusal:
    """Training on as few nodes as hold it."""
    if misfit := size.misfit(layout, spans_nodes=True):
        return misfit
    training, rollout = size.split(layout)
    nodes, per_node = nodes_and_gpus(training, size.gpus_per_node)
    arguments: dict[str, int | bool] = {
        "actor_num_nodes": nodes,
        "actor_num_gpus_per_node": per_node,
        **({"colocate": True} if layout == "collocated" else {"rollout_num_gpus": rollout}),
        "rollout_num_gpus_per_engine": size.per_engine,
        "num_gpus_per_node": size.gpus_per_node,
    }
    return {SECTION: arguments}


def arrange(plan: Plan, layout: Layout, config: Mapping[str, Any]) -> list[Override]:
    """Rollout with as many GPUs as it has, on those of training or on others."""
    actor, rollout = plan.components.get("actor"), plan.components.get("rollout")
    if actor is None or rollout is None or not rollout.placements:
        return []
    section = config.get(SECTION)
    written = {argument_name(str(key)): str(key) for key in section} if isinstance(section, Mapping) else {}
    engines = sum(len(placement.devices) for placement in rollout.placements)
    wanted = {"colocate": layout == "collocated", "rollout_num_gpus": engines}
    return [((SECTION, written.get(name, name)), value) for name, value in wanted.items()]
