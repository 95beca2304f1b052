"""A cluster as Ray's scheduler sees it: its nodes, what is free, who holds the rest, and what could be added."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.preflight import ClusterNode
from placetui.frameworks.scheduling import NodeResources, units
from placetui.frameworks.shortage import Holding
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayNode, Tables
from placetui.runtime.gcs.rows import read_node_types
from placetui.runtime.jobs import records
from placetui.runtime.scheduling.free import node_resources
from placetui.runtime.scheduling.holders import Owners, holdings
from placetui.runtime.watch.facts import with_user

_AUTOSCALER = b"__autoscaler"
_AUTOSCALER_CONFIG = b"__autoscaler_cluster_config"


@dataclass(frozen=True, slots=True)
class ClusterPicture:
    """Read at one moment."""

    tables: Tables
    nodes: tuple[ClusterNode, ...]
    holdings: tuple[Holding, ...]
    owners: Owners
    titles: Mapping[str, str]
    """What people call nodes, by id."""

    @classmethod
    def read(cls, head: Head, tables: Tables | None = None, jobs: Sequence[RayJobSeen] | None = None) -> ClusterPicture:
        """Of a cluster whose tables and jobs are known, or are read first."""
        tables = tables or head.tables()
        jobs = head.jobs() if jobs is None else jobs
        owners = Owners(tuple(map(with_user, jobs)), records.find_all(head), time.time())
        titles = node_titles(tables.nodes)
        by_id = {node.id: node for node in tables.nodes}
        nodes = tuple(ClusterNode(titles[one.name], by_id[one.name].ip, one) for one in node_resources(tables))
        return cls(tables, nodes, tuple(holdings(tables, owners)), owners, titles)

    @property
    def resources(self) -> list[NodeResources]:
        return [node.resources for node in self.nodes]

    def title(self, node: str) -> str:
        """What people call a node."""
        return self.titles.get(node, node[:12])


def node_titles(nodes: Sequence[RayNode]) -> dict[str, str]:
    """By id: the host, with its address where hosts have one name, and numbered where these are equal, too."""
    hosts = Counter(node.host or node.ip for node in nodes)
    seen: Counter[str] = Counter()
    found: dict[str, str] = {}
    for node in nodes:
        host = node.host or node.ip
        text = f"{host} ({node.ip})" if hosts[host] > 1 else host
        seen[text] += 1
        found[node.id] = text if seen[text] == 1 else f"{text} #{seen[text]}"
    return found


@dataclass(frozen=True, slots=True)
class NodeType:
    """A kind of node that an autoscaler can add."""

    name: str
    resources: dict[str, int]
    most: int
    """How many more of them."""

    def nodes(self) -> list[NodeResources]:
        return [NodeResources(f"{self.name} #{number}", self.resources, self.resources) for number in range(self.most)]


def addable(head: Head, nodes: Sequence[RayNode]) -> list[NodeType]:
    """What the cluster's autoscaler may add, as it told the head; nothing where there is none."""
    written = head.get(_AUTOSCALER, _AUTOSCALER_CONFIG)
    found: list[NodeType] = []
    for kind in read_node_types(written) if written else ():
        there = sum(node.labels.get("ray.io/node-group") == kind.name for node in nodes)
        most = min(64, max(0, kind.max_count - there))
        if most:
            found.append(NodeType(kind.name, {name: units(amount) for name, amount in kind.resources.items()}, most))
    return found
