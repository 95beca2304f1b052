"""A placement file from nothing: the layout and the sizes, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from placetui.placement.edit_types import Refusal
from placetui.placement.layouts import Layout
from placetui.placement.problems import count
from placetui.placement.rewrite import CannotExpress, shortest_rule

from .quoting import written

Style: TypeAlias = Literal["rlinf", "slime"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a new job is to be."""

    nodes: int = 1
    gpus_per_node: int = 8
    training: int | None = None
    """GPUs for training when disaggregated; None for half of them."""

    per_engine: int = 1
    """GPUs of one rollout process."""


def new_file(layout: Layout, sizes: Sizes, style: Style = "rlinf") -> str | Refusal:
    """The text of a new file with `actor` and `rollout`, or why there is none for these sizes."""
    total = sizes.nodes * sizes.gpus_per_node
    training = total // 2 if sizes.training is None else sizes.training
    if layout == "colocated":
        training = total
    rollout = total if layout == "colocated" else total - training
    if sizes.nodes < 1 or sizes.gpus_per_node < 1 or training < 1 or rollout < 1 or sizes.per_engine < 1:
        return Refusal(f"{count(max(total, 0), 'GPU')} cannot hold training and rollout so", "choose larger sizes")
    first = total - rollout
    reason = _misfit(sizes, first, rollout, spans_nodes=style == "slime")
    if reason:
        return Refusal(reason, "choose GPUs per rollout process that divide those of a node and of rollout")
    body = _slime(layout, sizes, training, rollout) if style == "slime" else _rlinf(sizes, training, first, rollout)
    if isinstance(body, Refusal):
        return body
    return f"{body}\nplacetui:\n  topology: {{nodes: {sizes.nodes}, gpus_per_node: {sizes.gpus_per_node}}}\n"


def _misfit(sizes: Sizes, first: int, rollout: int, *, spans_nodes: bool) -> str:
    """Why engines of this size do not fit, if they do not."""
    each, node = sizes.per_engine, sizes.gpus_per_node
    if rollout % each:
        return f"{count(rollout, 'rollout GPU')} cannot be divided into processes of {each}"
    if spans_nodes and each > node:
        return "" if each % node == 0 and first % node == 0 else f"an engine of {each} GPUs does not fill whole nodes"
    crossing = [start for start in range(first, first + rollout, each) if start // node != (start + each - 1) // node]
    return f"a rollout process on GPUs {crossing[0]} and up would cross from one node to the next" if crossing else ""


def _rlinf(sizes: Sizes, training: int, first: int, rollout: int) -> str | Refusal:
    total = sizes.nodes * sizes.gpus_per_node
    each = sizes.per_engine
    engines = [list(range(start, start + each)) for start in range(first, first + rollout, each)]
    try:
        actor = shortest_rule([[number] for number in range(training)], total, may_use_all=True)
        rules = {"actor": actor, "rollout": shortest_rule(engines, total, may_use_all=True)}
    except CannotExpress as error:
        return Refusal(error.reason)
    entries = "".join(f"    {name}: {written(rule)}\n" for name, rule in rules.items())
    return f"cluster:\n  num_nodes: {sizes.nodes}\n  component_placement:\n{entries}"


def _slime(layout: Layout, sizes: Sizes, training: int, rollout: int) -> str:
    least = -(-training // sizes.gpus_per_node)
    nodes = next(number for number in range(least, training + 1) if training % number == 0)
    arguments: dict[str, int | bool] = {
        "actor_num_nodes": nodes,
        "actor_num_gpus_per_node": training // nodes,
        **({"colocate": True} if layout == "colocated" else {"rollout_num_gpus": rollout}),
        "rollout_num_gpus_per_engine": sizes.per_engine,
        "num_gpus_per_node": sizes.gpus_per_node,
    }
    return "slime:\n" + "".join(f"  {name}: {written(value)}\n" for name, value in arguments.items())
