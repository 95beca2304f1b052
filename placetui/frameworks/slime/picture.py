"""The arguments that give a running job its layout, where nobody knows those that it was started with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from placetui.frameworks.picture import Devices
from placetui.frameworks.slime.arguments import SECTION
from placetui.frameworks.slime.layout import nodes_and_gpus
from placetui.placement.config.settings import SECTION as SETTINGS


def sections_for(
    ranks: Mapping[str, Sequence[Devices]], gpus: Sequence[int], settings: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The sections of a file with these ranks; None where no arguments say it.

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
