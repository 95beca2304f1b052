"""Finding a cluster, and making sure that it is one we can talk to: quickly, and with a sentence if not."""

from __future__ import annotations

import os
import platform
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from placetui.observe.addresses import NoAddress, split_address
from placetui.observe.operations import AUTO, LOCAL
from placetui.placement.environment import NAMESPACE
from placetui.placement.problems import listing
from placetui.runtime import private
from placetui.runtime.errors import ClusterError, ClusterLost, NoCluster, NothingFound, NotReady, Silent
from placetui.runtime.model import RayNode

CONNECT_TIMEOUT = 3.0
"""Seconds in which a head must take a connection."""

_LOCK = threading.Lock()
_JOINED: dict[str, int] = {}
"""The cluster that this process is a driver of, and for how many at once: Ray takes one driver a process."""


def resolve_address(text: str, environment: Mapping[str, str] | None = None) -> str:
    """The `HOST:PORT` that is meant.

    Raises:
        NoCluster: there is none (`NothingFound`), or several, or what is written is no address.
    """
    environment = os.environ if environment is None else environment
    if text != AUTO:
        return check_address(text)
    named = environment.get("RAY_ADDRESS", "")
    if named == LOCAL:
        # As Ray has it: no cluster that happens to be there.
        return choose([])
    if named and named != AUTO:
        return check_address(named, "RAY_ADDRESS is ")
    return choose(private.find_clusters())


def choose(found: Sequence[str]) -> str:
    """The one cluster of this machine."""
    if not found:
        raise NothingFound(
            "no Ray cluster was found on this machine",
            hint="name one with --address HOST:PORT, or start one with `placetui up FILE --address local`",
        )
    if len(found) > 1:
        raise NoCluster(
            f"there are {len(found)} Ray clusters on this machine: {listing(found)}",
            hint="choose one with --address HOST:PORT, or with RAY_ADDRESS",
        )
    return found[0]


def check_address(text: str, prefix: str = "the address is ") -> str:
    """The address, if it is written as one."""
    try:
        split_address(text)
    except NoAddress as problem:
        raise NoCluster(f"{prefix}`{text}`, which is {problem}", hint=problem.hint) from None
    return text


def open_head(address: str) -> private.Head:
    """Talk to a head, having seen that there is one.

    Raises:
        NotReady: Ray cannot be used here.
        NoCluster: nobody answers, or somebody else.
    """
    host, port = split_address(address)
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT).close()
    except socket.gaierror:
        raise NoCluster(f"there is no host `{host}`", hint="check --address") from None
    except (TimeoutError, ConnectionRefusedError, OSError) as problem:
        said = "nobody listens" if isinstance(problem, ConnectionRefusedError) else "nobody answers"
        raise NoCluster(f"{said} at {address}", hint="check --address, and whether the head runs") from None
    head = private.Head(address)
    try:
        _check_answer(head)
    except BaseException:
        head.close()
        raise
    return head


def _check_answer(head: private.Head) -> None:
    try:
        nodes = head.nodes()
    except Silent as problem:
        raise NoCluster(
            f"what listens at {head.address} takes connections but does not answer",
            hint="if it is the head of a cluster, its gcs_server hangs or is overloaded",
        ) from problem
    except ClusterLost as problem:
        if "asks for a token" in problem.message:
            raise
        raise NoCluster(
            f"what answers at {head.address} is not the head of a Ray cluster",
            hint="the head's own port is meant, by default 6379: not the dashboard's, not the client server's",
        ) from problem
    if not nodes:
        raise NoCluster(f"the cluster at {head.address} has no node that is alive")


def check_versions(cluster: Mapping[str, str], address: str, ray: str, python: str) -> None:
    """Ray demands the same versions at both ends.

    Raises:
        NotReady: they differ.
    """
    theirs, their_python = cluster.get("ray_version", ray), cluster.get("python_version", python)
    if (theirs, their_python) == (ray, python):
        return
    hint = f"run placetui where `ray=={theirs}` is installed for Python {their_python}"
    if their_python == python:
        hint = f"pip install 'ray=={theirs}'"
    raise NotReady(
        f"the cluster at {address} runs Ray {theirs} on Python {their_python}, but here are Ray {ray} and "
        f"Python {python}: they must be the same",
        hint=hint,
    )


@contextmanager
def driver(head: private.Head, nodes: Sequence[RayNode]) -> Iterator[Any]:
    """Ray, connected as a driver; shared by all who want that at the same time.

    Raises:
        ClusterError: it cannot be.
    """
    ray = ready_to_join(head, nodes)
    _share(head.address)
    try:
        yield ray
    finally:
        with _LOCK:
            _JOINED[head.address] -= 1
            if not _JOINED[head.address]:
                del _JOINED[head.address]
                ray.shutdown()


def ready_to_join(head: private.Head, nodes: Sequence[RayNode]) -> Any:
    """Ray, not yet connected, having seen that it can be: it would wait long where it cannot.

    Raises:
        ClusterError: it cannot be.
    """
    try:
        import ray
    except ImportError as problem:
        raise private.unready(problem) from problem
    check_versions(head.versions(), head.address, ray.__version__, platform.python_version())
    if not any(is_here(node.ip) for node in nodes):
        raise ClusterError(
            f"this machine is not a node of the cluster at {head.address}",
            hint="run placetui on one of its nodes; ps and down work from anywhere",
        )
    return ray


def join(address: str, connect: Callable[[], None]) -> None:
    """Connect Ray.

    Raises:
        ClusterError: it cannot be.
    """
    try:
        connect()
    except Exception as problem:
        first = str(problem).strip().splitlines()
        raise ClusterError(f"cannot join the cluster at {address}: {first[0] if first else problem}") from problem


def _share(address: str) -> None:
    with _LOCK:
        if others := set(_JOINED) - {address}:
            raise ClusterError(
                f"something is still under way on the cluster at {others.pop()}", hint="wait for it, or stop it"
            )
        if not _JOINED:
            join(address, lambda: private.join(address, NAMESPACE))
        _JOINED[address] = _JOINED.get(address, 0) + 1


def is_here(address: str) -> bool:
    """Whether an address is one of this machine's."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
