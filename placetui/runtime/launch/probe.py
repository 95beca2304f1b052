"""Which GPU each bundle has: one task after the other on each node, so that one worker process does for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from placetui.frameworks.cluster_facts import NODE_RANK
from placetui.runtime import remote
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.driver import node_task, ship_by_value, tied_to
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.jobs.rank_spec import share_of
from placetui.runtime.launch.demand import Demand
from placetui.runtime.launch.ordering import Probed
from placetui.runtime.policy import Deadline, result_of
from placetui.runtime.remote import rank_actor
from placetui.runtime.remote.internals import visible_gpus

PROBE_SHARE = 0.001
"""Of a GPU: little enough to fit beside anything but a full device."""


def probe(ray: Any, group: Any, nodes: Sequence[Any], deadline: Deadline, device: str = "GPU") -> list[Probed]:
    """Ask every bundle of a placement group; `nodes` has for each something that is equal on one node."""
    ship_by_value(remote)
    # max_calls=0: Ray would end a process after each task with a GPU.
    ask = ray.remote(**share_of(device, PROBE_SHARE), num_cpus=0, max_calls=0, max_retries=1)(rank_actor.probe)
    strategies = import_ray("ray.util.scheduling_strategies")
    chains: dict[Any, list[int]] = {}
    for bundle, node in enumerate(nodes):
        chains.setdefault(node, []).append(bundle)

    def submit(node: Any) -> Any:
        bundle = chains[node][0]
        strategy = strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
        return ask.options(scheduling_strategy=strategy).remote()

    found: list[Probed] = []
    waiting = {submit(node): node for node in chains}
    while waiting:
        node, reference = next(
            deadline.gather(ray, waiting, lambda left: f"the probe has no answer from {len(left)} nodes")
        )
        del waiting[reference]
        bundle = chains[node].pop(0)
        found.append(Probed(bundle, **result_of(ray, reference, f"bundle {bundle} cannot be probed")))
        if chains[node]:
            waiting[submit(node)] = node
    return found


def node_ranks(ray: Any, nodes: Sequence[RayNode], deadline: Deadline) -> dict[str, str | None]:
    """What each node says is its rank: by its label, else in its environment, where one small task looks."""
    found: dict[str, str | None] = {node.id: node.labels.get(NODE_RANK) for node in nodes}
    unknown = [node for node in nodes if found[node.id] is None]
    if len(nodes) > 1:
        found.update(ask_nodes(ray, rank_actor.read_variable, lambda _: (NODE_RANK,), unknown, deadline, NODE_RANK))
    return found


def visible_lists(ray: Any, demand: Demand, nodes: Sequence[RayNode], deadline: Deadline) -> dict[int, tuple[str, ...]]:
    """By planned rank, the GPUs of nodes with processes but no bundle to probe; only where Ray was limited to some."""
    probed = {bundle.node for bundle in demand.bundles}
    ranks = sorted({needs.node for needs in demand.ranks} - probed)
    asked = [nodes[rank] for rank in ranks if nodes[rank].gpus]
    found = ask_nodes(ray, visible_gpus, lambda _: (), asked, deadline, "the GPUs")
    return {rank: tuple(ids) for rank in ranks if (ids := found.get(nodes[rank].id))}


def ask_nodes(
    ray: Any,
    task: Any,
    arguments: Callable[[RayNode], tuple[Any, ...]],
    nodes: Sequence[RayNode],
    deadline: Deadline,
    what: str,
    *,
    tolerate: bool = False,
) -> dict[str, Any]:
    """By node id, what a small task says there; with `tolerate`, without the nodes on which it fails."""
    if not nodes:
        return {}
    shipped = node_task(ray, task, retries=1)
    asked = {shipped.options(**tied_to(node.id)).remote(*arguments(node)): node for node in nodes}
    found = {}
    for node, reference in deadline.gather(ray, asked, lambda left: f"{what} of {', '.join(n.ip for n in left)}"):
        try:
            found[node.id] = result_of(ray, reference, f"{what} of {node.ip} cannot be learned")
        except ClusterError:
            if not tolerate:
                raise
    return found
