"""`Cluster` as programs use it: the nodes of the Ray cluster that is there, else assumed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from placetui.frameworks.registry import framework_for
from placetui.placement.problems import Problems
from placetui.placement.topology import Node, Topology
from placetui.placement.wording import count
from placetui.runtime.api.session import DriverSession, connect, embed, find, match_nodes
from placetui.runtime.errors import NotPossible, NotReady
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.launch.matching import Match


class Cluster(Topology):
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
            nodes = [node.planned() for node in self.match.nodes]
        section = dict(cluster_cfg) if cluster_cfg is not None else {}
        section.setdefault("component_placement", {})
        if num_nodes is not None:
            section["num_nodes"] = num_nodes
        elif nodes is not None:
            section.setdefault("num_nodes", len(nodes))
        read = framework_for({"cluster": section}).topology
        assert read is not None
        problems = Problems()
        built = read(section, nodes, problems)
        problems.raise_if_blocking()
        super().__init__(built.nodes, [group for group in built.groups.values() if not group.reserved], built.robots)
        if self.match:
            self.given_names = tuple(node.id for node in self.match.nodes[: self.num_nodes])


def _find() -> str | None:
    try:
        return find()
    except NotReady:
        # Without Ray there is nothing to find; plans need none.
        return None


def join(cluster: Topology) -> tuple[DriverSession, Sequence[RayNode]]:
    """Be a driver of the Ray cluster behind a cluster of a program: with Ray's nodes by its ranks."""
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
        raise NotPossible(
            f"{count(cluster.num_nodes, 'node')} are planned, the cluster at {address} has {len(match.nodes)}",
            hint="start Ray on more nodes, or plan for fewer",
        )
    return session, match.nodes[: cluster.num_nodes]
