"""Collocated or disaggregated: the components of an RLinf file arranged otherwise, to try it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placetui.frameworks.base import Override
from placetui.frameworks.new_job import Layout
from placetui.frameworks.rlinf import RULES
from placetui.placement.plan import NODE, Plan
from placetui.placement.shares import DEFAULT_TRAIN


def arrange(plan: Plan, layout: Layout, train: Sequence[str] = DEFAULT_TRAIN) -> list[Override]:
    """Overrides of the file that arrange its components so; empty when there is nothing to arrange."""
    total = sum(node.gpus for node in plan.nodes)
    moved = [
        name
        for name, component in plan.components.items()
        if component.placements and plan.kind_of(component.placements[0]) != NODE and not _on_robots(plan, name)
    ]
    training = [name for name in moved if name in train or name == "reward"]
    others = [name for name in moved if name not in training]
    if total < 2 or not training or not others:
        return []
    rules: dict[str, Any] = {}
    half = total // 2
    for name, component in plan.components.items():
        if name not in moved:
            rules[name] = {"node_group": ",".join(component.rule.groups), "placement": component.rule.text}
        elif layout == "collocated":
            rules[name] = f"0-{total - 1}"
        else:
            rules[name] = f"0-{half - 1}" if name in training else f"{half}-{total - 1}"
    if layout == "collocated" and plan.mode not in ("component", "hybrid"):
        for name in ("inference", "actor_inference", "critic_inference"):  # they have no place there
            rules.pop(name, None)
    return [(RULES, rules)]


def _on_robots(plan: Plan, name: str) -> bool:
    return any(label in plan.topology.robot_kinds for label in plan.components[name].rule.groups)
