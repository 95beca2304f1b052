"""Colocated or disaggregated: the same components arranged otherwise, to try it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from placetui.placement.plan import NODE, Plan
from placetui.placement.problems import Path
from placetui.placement.shares import DEFAULT_TRAIN

Layout: TypeAlias = Literal["colocated", "disaggregated"]

ADVICE: dict[Layout, str] = {
    "colocated": (
        "Colocate when GPUs are few or the set-up should stay simple, and rollout is light or its latency does not "
        "matter. Training and inference then contend for each GPU, which must be acceptable."
    ),
    "disaggregated": (
        "Disaggregate when inference is heavy or its latency and throughput must be steady, and there are GPUs enough. "
        "It is also the choice when pools must be isolated or training is asynchronous."
    ),
}
"""When each is the better choice, in two sentences."""


def arrange(plan: Plan, layout: Layout, train: Sequence[str] = DEFAULT_TRAIN) -> list[tuple[Path, Any]]:
    """Overrides of the file that arrange its components so; empty when there is nothing to arrange."""
    if plan.mode == "slime":
        return _arrange_slime(plan, layout)
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
        elif layout == "colocated":
            rules[name] = f"0-{total - 1}"
        else:
            rules[name] = f"0-{half - 1}" if name in training else f"{half}-{total - 1}"
    if layout == "colocated" and plan.mode not in ("component", "hybrid"):
        for name in ("inference", "actor_inference", "critic_inference"):  # they have no place there
            rules.pop(name, None)
    return [(("cluster", "component_placement"), rules)]


def _on_robots(plan: Plan, name: str) -> bool:
    return any(label in plan.group_kinds for label in plan.components[name].rule.groups)


def _arrange_slime(plan: Plan, layout: Layout) -> list[tuple[Path, Any]]:
    actor, rollout = plan.components.get("actor"), plan.components.get("rollout")
    if actor is None or rollout is None or not rollout.placements:
        return []
    engines = sum(len(placement.local_hardware_ranks) for placement in rollout.placements)
    colocate = layout == "colocated"
    return [(("slime", "colocate"), colocate), (("slime", "rollout_num_gpus"), engines)]
