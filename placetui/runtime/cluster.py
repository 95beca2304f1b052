"""`Cluster` as programs use it: the nodes of the Ray cluster that is there, else assumed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from placetui.placement import topology
from placetui.placement.problems import count
from placetui.placement.topology import Node
from placetui.runtime.errors import NotReady, Refused
from placetui.runtime.matching import Match
from placetui.runtime.model import RayNode
from placetui.runtime.session import Session, connect, embed, find, match_nodes


class Cluster(topology.Cluster):
    """Nodes in rank order and the groups over them.

    Without `nodes`, they are those of the cluster that this program is connected to, else of RAY_ADDRESS, else of the
    one Ray cluster on this machine. With RAY_ADDRESS=local, or where there is none, nodes of 8 GPUs are assumed; only
    when something is launched on them, an embedded Ray with as many logical GPUs starts, and it ends with the program.

    Args:
        num_nodes: nodes in use; the rest is left out.
        cluster_cfg: the `cluster` section of a configuration.
        nodes: what there is; with it, nothing is contacted before something is launched.

    Raises:
        PlacementError: when `cluster_cfg` cannot be right.
        ClusterError: when the cluster that is meant cannot be reached, or there are several.
    """

    address: str | None = None
    """Of the Ray cluster that its nodes are from."""

    match: Match | None = None
    """Ray's nodes by rank, once they are known."""

    def __init__(
        self,
        num_nodes: int | None = None,
        *,
        cluster_cfg: Mapping[str, Any] | None = None,
        nodes: Sequence[Node] | None = None,
    ) -> None:
        if nodes is None and (address := _find()):
            self.address, self.match = address, match_nodes(address)
            nodes = [Node(node.gpus, name=node.host, ip=node.ip) for node in self.match.nodes]
        super().__init__(num_nodes, cluster_cfg=cluster_cfg, nodes=nodes)

    @cached_property
    def node_ids(self) -> list[str]:
        """Ray's ids of the nodes, else their names."""
        return [node.id for node in self.match.nodes[: self.num_nodes]] if self.match else super().node_ids


def _find() -> str | None:
    try:
        return find()
    except NotReady:
        # Without Ray there is nothing to find; plans need none.
        return None


def join(cluster: topology.Cluster) -> tuple[Session, Sequence[RayNode]]:
    """Be a driver of the Ray cluster behind a cluster of a program: with Ray's nodes by its ranks.

    Raises:
        ClusterError: it cannot be, or has too few nodes.
    """
    match = cluster.match if isinstance(cluster, Cluster) else None
    address = cluster.address if isinstance(cluster, Cluster) else None
    if match is None or address is None:
        address = find()
        if address is None:
            session, match = embed(cluster.nodes)
            address = session.head.address
        else:
            match = match_nodes(address)
        if isinstance(cluster, Cluster):
            cluster.address, cluster.match = address, match
    session = connect(address)
    if len(match.nodes) < cluster.num_nodes:
        raise Refused(
            f"{count(cluster.num_nodes, 'node')} are planned, the cluster at {address} has {len(match.nodes)}",
            hint="start Ray on more nodes, or plan for fewer",
        )
    return session, match.nodes[: cluster.num_nodes]
