"""A program's own connection to a cluster: the one it has, the one that is found, or an embedded one."""

from __future__ import annotations

import atexit
import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from placetui.bridge.work import Work
from placetui.frameworks.cluster_facts import NODE_RANK
from placetui.frameworks.registry import framework_for
from placetui.observe.operations import AUTO, split_address
from placetui.placement.topology import Node
from placetui.runtime.api.devices import Reservations
from placetui.runtime.errors import NothingFound, NotPossible
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import is_here, join, ready_to_join
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.launch.embedded import MOST_NODES, LocalCluster, NodeSize
from placetui.runtime.launch.matching import Match, match_by, usable
from placetui.runtime.launch.probe import node_ranks
from placetui.runtime.policy import Deadline

SPARE_CPUS = 8
"""Of an embedded node, for what a program starts besides its groups."""

_log = logging.getLogger("placetui")


class DriverSession:
    """This process as a driver of a cluster, and what it holds there."""

    def __init__(self, ray: Any, head: Head) -> None:
        self.ray = ray
        self.head = head
        self.driver = _driver_id(ray)
        self.reservations = Reservations(ray, head)
        self.names: set[str] = set()
        """Of the groups that run."""

        self.local: LocalCluster | None = None

    @property
    def alive(self) -> bool:
        """Whether Ray is still connected to the same cluster; the program may have reconnected it."""
        return bool(self.ray.is_initialized()) and _driver_id(self.ray) == self.driver

    @property
    def namespace(self) -> str:
        return str(self.ray.get_runtime_context().namespace)

    def close(self) -> None:
        """Leave the cluster; what is embedded ends."""
        with suppress(Exception):
            if self.alive:
                self.ray.shutdown()
        self.head.close()
        if self.local:
            self.local.stop()


_current: DriverSession | None = None


def connected() -> str | None:
    """Address of the cluster that this process is connected to already, by whomever."""
    ray = sys.modules.get("ray")
    # While it is being imported it is there in part.
    if ray is None or not getattr(ray, "is_initialized", bool)():
        return None
    return str(ray.get_runtime_context().gcs_address)


def find(address: str = AUTO) -> str | None:
    """The cluster that is meant; None: there is none, or RAY_ADDRESS forbids to look for one."""
    here = connected() if address == AUTO else None
    try:
        return here or resolve_address(address)
    except NothingFound:
        return None


def connect(address: str) -> DriverSession:
    """Be a driver of that cluster: one that this process is already, or a new one."""
    global _current
    if _current and _current.alive and same_head(_current.head.address, address):
        return _current
    here = connected()
    if here and not same_head(here, address):
        raise NotPossible(
            f"this program is connected to the cluster at {here}, not to the one at {address}",
            hint="a program has one cluster at a time: call ray.shutdown() before it takes another",
        )
    head = open_head(address)
    try:
        if here:
            ray = import_ray()
        else:
            ray = ready_to_join(head, head.nodes())
            join(address, lambda: _init(address))
    except BaseException:
        head.close()
        raise
    if _current:
        _current.head.close()
    _current = DriverSession(ray, head)
    return _current


def same_head(one: str, other: str) -> bool:
    """Whether two addresses mean the same: Ray names a head by its number, a person may by its name."""
    if one == other:
        return True
    (host, port), (other_host, other_port) = split_address(one), split_address(other)
    if port != other_port:
        return False
    try:
        numbers = {socket.gethostbyname(name) for name in (host, other_host)}
    except OSError:
        return False
    return len(numbers) == 1 or all(map(is_here, numbers))


def embed(nodes: Sequence[Node]) -> tuple[DriverSession, Match]:
    """Start a cluster of logical GPUs on this machine, which ends with this process."""
    if len(nodes) > MOST_NODES:
        raise NotPossible(
            f"no Ray cluster was found, and {len(nodes)} nodes are too many for an embedded one: it has {MOST_NODES} "
            "at most",
            hint="run this on a node of a cluster, or set RAY_ADDRESS=HOST:PORT",
        )
    local = LocalCluster([NodeSize(node.gpus, node.gpus + SPARE_CPUS) for node in nodes], nobody())
    try:
        session = connect(local.start())
    except BaseException:
        local.stop()
        raise
    session.local = local
    # Ray's own clean-up was registered before this and so comes after it.
    atexit.register(session.close)
    return session, local.match(session.head.nodes())


def match_nodes(address: str) -> Match:
    """The nodes of a cluster in the order of their ranks; it is joined only where they have to be asked for them."""
    with closing(open_head(address)) as head:
        nodes = usable(head.nodes())
    labels: dict[str, str | None] = {node.id: node.labels.get(NODE_RANK) for node in nodes}
    if len(nodes) == 1 or None not in labels.values():
        return match_by(framework_for({}), nodes, "", labels)
    session = connect(address)
    ranks = node_ranks(session.ray, nodes, within(session.head.policy.node_ranks))
    match = match_by(framework_for({}), nodes, session.ray.get_runtime_context().get_node_id(), ranks)
    for warning in match.warnings:
        _log.warning(warning)
    return match


def within(seconds: float, hint: str = "") -> Deadline:
    """So much of it, for a wait that ends with Ctrl-C."""
    return Deadline(nobody(), seconds, hint=hint)


def nobody() -> Work:
    """Work that nobody hears of."""
    return Work(0, lambda kind, **body: None)


def _init(address: str) -> None:
    # What ranks print is shown, as Ray does by itself; Ray's own news is not.
    import_ray().init(address=address, logging_level=logging.WARNING)


def _driver_id(ray: Any) -> str:
    return str(ray.get_runtime_context().get_job_id())
