"""Which GPU each bundle has: one task after the other on each node, so that one worker process does for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placetui.runtime import private, shell
from placetui.runtime.demand import Demand
from placetui.runtime.errors import ClusterError, first_line
from placetui.runtime.model import NODE_RANK, RayNode
from placetui.runtime.ordering import Probed
from placetui.runtime.waiting import Patience

PROBE_SHARE = 0.001
"""Of a GPU: little enough to fit beside anything but a full device."""

RANK_TIMEOUT = 60.0
"""Seconds in which every node must say its rank."""


def probe(ray: Any, group: Any, nodes: Sequence[Any], patience: Patience) -> list[Probed]:
    """Ask every bundle.

    Args:
        ray: Connected.
        group: A placement group that stands.
        nodes: For each bundle, something that is equal for bundles of one node.
        patience: How long.
    """
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    private.ship_by_value(shell, private)
    # max_calls=0: Ray would end a process after each task with a GPU.
    ask = ray.remote(num_gpus=PROBE_SHARE, num_cpus=0, max_calls=0, max_retries=1)(shell.probe)
    chains: dict[Any, list[int]] = {}
    for bundle, node in enumerate(nodes):
        chains.setdefault(node, []).append(bundle)

    def submit(node: Any) -> Any:
        bundle = chains[node][0]
        strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
        return ask.options(scheduling_strategy=strategy).remote()

    found: list[Probed] = []
    waiting = {submit(node): node for node in chains}
    while waiting:
        node, reference = next(patience.gather(ray, waiting, _waiting_for))
        del waiting[reference]
        bundle = chains[node].pop(0)
        found.append(_probed(bundle, _answer(ray, reference, f"bundle {bundle} cannot be probed")))
        if chains[node]:
            waiting[submit(node)] = node
    return found


def node_ranks(ray: Any, nodes: Sequence[RayNode], patience: Patience) -> dict[str, str | None]:
    """What each node says is its rank: by its label, else in its environment, where one small task looks."""
    found: dict[str, str | None] = {node.id: node.labels.get(NODE_RANK) for node in nodes}
    unknown = [node for node in nodes if found[node.id] is None]
    if len(nodes) > 1:
        found.update(_ask(ray, shell.read_variable, (NODE_RANK,), unknown, patience, NODE_RANK))
    return found


def visible_lists(ray: Any, demand: Demand, nodes: Sequence[RayNode], patience: Patience) -> dict[int, tuple[str, ...]]:
    """By planned rank, the GPUs of nodes with processes but no bundle to probe; only where Ray was limited to some."""
    probed = {bundle.node for bundle in demand.bundles}
    ranks = sorted({seat.node for seat in demand.seats} - probed)
    asked = [nodes[rank] for rank in ranks if nodes[rank].gpus]
    found = _ask(ray, private.visible_gpus, (), asked, patience, "the GPUs")
    return {rank: tuple(ids) for rank in ranks if (ids := found.get(nodes[rank].id))}


def _ask(
    ray: Any, task: Any, args: tuple[Any, ...], nodes: Sequence[RayNode], patience: Patience, what: str
) -> dict[str, Any]:
    """By node id, what a small task says there."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    if not nodes:
        return {}
    private.ship_by_value(shell, private)
    remote = ray.remote(num_cpus=0, max_retries=1)(task)
    asked = {
        remote.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote(*args): node
        for node in nodes
    }
    return {
        node.id: _answer(ray, reference, f"{what} of {node.ip} cannot be learned")
        for node, reference in patience.gather(ray, asked, lambda left: f"{what} of {', '.join(n.ip for n in left)}")
    }


def _answer(ray: Any, reference: Any, failure: str) -> Any:
    try:
        return ray.get(reference)
    except Exception as problem:
        raise ClusterError(f"{failure}: {first_line(problem)}") from problem


def _waiting_for(left: list[Any]) -> str:
    return f"the probe has no answer from {len(left)} nodes"


def _probed(bundle: int, answer: dict[str, Any]) -> Probed:
    visible = answer["visible"]
    return Probed(
        bundle, answer["node"], answer["gpu"], answer["position"], None if visible is None else tuple(visible)
    )
