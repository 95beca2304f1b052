"""Sections of a slime file for a layout: of a new job, of one arranged otherwise, of one that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from placetui.frameworks.base import Override
from placetui.frameworks.new_job import JobSize, Layout
from placetui.frameworks.picture import Devices
from placetui.frameworks.slime.arguments import SECTION, argument_name
from placetui.frameworks.slime.layout import nodes_and_gpus
from placetui.placement.config.settings import SECTION as SETTINGS
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


def arrange(plan: Plan, layout: Layout, training: int | None, config: Mapping[str, Any]) -> list[Override]:
    """Rollout with as many GPUs as it has, on those of training or on others; or with those that training leaves."""
    actor, rollout = plan.components.get("actor"), plan.components.get("rollout")
    if actor is None or rollout is None or not rollout.placements:
        return []
    section = config.get(SECTION)
    written = {argument_name(str(key)): str(key) for key in section} if isinstance(section, Mapping) else {}
    engines = sum(len(placement.devices) for placement in rollout.placements)
    wanted: dict[str, int | bool] = {"colocate": layout == "collocated", "rollout_num_gpus": engines}
    if layout == "disaggregated" and training is not None:
        gpus = [node.gpus for node in plan.nodes]
        total = actor.world_size + engines if plan.topology_source == "assumed" else sum(gpus)
        nodes, per_node = nodes_and_gpus(training, max(gpus))
        wanted["rollout_num_gpus"] = total - training
        for role in ("actor", *(role for role in ("critic",) if f"{role}_num_nodes" in written)):
            wanted |= {f"{role}_num_nodes": nodes, f"{role}_num_gpus_per_node": per_node}
    return [((SECTION, written.get(name, name)), value) for name, value in wanted.items()]


def sections_for(
    ranks: Mapping[str, Sequence[Devices]], gpus: Sequence[int], settings: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The sections of a file for a running job, where nobody knows its own arguments; None where none say it.

    Args:
        ranks: Of each component, by rank, the GPUs, numbered through the cluster.
        gpus: GPUs of each node.
        settings: What the file says to be read as slime's or Miles'.
    """
    actors, engines = len(ranks.get("actor", ())), ranks.get("rollout", ())
    if not actors or not set(ranks) <= {"actor", "critic", "rollout"}:
        return None
    most = max(gpus)
    nodes, per_node = nodes_and_gpus(actors, most)
    arguments: dict[str, Any] = {"actor_num_nodes": nodes, "actor_num_gpus_per_node": per_node}
    arguments["num_gpus_per_node"] = most
    if ranks.get("critic"):
        arguments["advantage_estimator"] = "ppo"
    if engines:
        arguments |= _rollout(engines, actors)
    else:
        arguments["debug_train_only"] = True  # engines that others run are on none of these GPUs
    return {SECTION: arguments, SETTINGS: dict(settings)}


def _rollout(engines: Sequence[Devices], actors: int) -> dict[str, Any]:
    starts = [min(devices) for devices in engines]
    colocate = starts[0] < actors
    first = 0 if colocate else actors
    sizes = [len(one) for one in engines]
    if max(sizes) == 1:
        # They may be known by their first GPU only: then they reach to the next engine.
        sizes = [min((after - before for before, after in pairwise(starts)), default=1)] * len(engines)
    total = starts[-1] + sizes[-1] - first
    arguments: dict[str, Any] = {"colocate": True} if colocate else {}
    arguments["rollout_num_gpus"] = max(total, actors) if colocate else total
    groups = list(_groups(starts, sizes, first, first + arguments["rollout_num_gpus"]))
    arguments["rollout_num_gpus_per_engine"] = groups[0]["num_gpus_per_engine"]
    if len(groups) > 1:
        arguments["sglang_config"] = {"sglang": [{"name": "default", "server_groups": groups}]}
    return arguments


def _groups(starts: Sequence[int], sizes: Sequence[int], first: int, end: int) -> Iterator[dict[str, Any]]:
    """Engines of one size in a row, and placeholders for the slots between them."""
    pieces: list[tuple[str, int]] = []
    at = first
    for start, size in zip(starts, sizes, strict=True):
        pieces += [("placeholder", 1)] * (start - at) + [("regular", size)]
        at = start + size
    pieces += [("placeholder", 1)] * (end - at)
    for (kind, size), alike in groupby(pieces):
        yield {"worker_type": kind, "num_gpus": size * len(list(alike)), "num_gpus_per_engine": size}
