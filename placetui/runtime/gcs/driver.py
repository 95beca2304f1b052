"""Being a driver of a cluster, and the private interfaces of Ray that only a driver uses."""

from __future__ import annotations

import inspect
import logging
import os
import platform
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from placetui.observe.operations import INSTALL_RAY
from placetui.placement.environment import NAMESPACE
from placetui.runtime import remote
from placetui.runtime.errors import ClusterError, NotReady, explain
from placetui.runtime.gcs.client import Head, unready
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.model import RayNode

MATCH_LEVEL = "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL"

_LOCK = threading.Lock()
_JOINED: dict[str, int] = {}
"""The cluster that this process is a driver of, and for how many at once: Ray takes one driver a process."""


@contextmanager
def driver(head: Head, nodes: Sequence[RayNode]) -> Iterator[Any]:
    """Ray, connected as a driver; shared by all who want that at the same time."""
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


def ready_to_join(head: Head, nodes: Sequence[RayNode]) -> Any:
    """Ray, not yet connected, having seen that it can be: it would wait long where it cannot."""
    try:
        ray = import_ray()
    except ImportError as problem:
        raise unready(problem) from problem
    check_versions(head.versions(), head.address, ray.__version__, platform.python_version())
    if not any(is_here(node.ip) for node in nodes):
        raise ClusterError(
            f"this machine is not a node of the cluster at {head.address}",
            hint="run placetui on one of its nodes; ps and down work from anywhere",
        )
    return ray


def join(address: str, connect: Callable[[], None]) -> None:
    """Connect Ray; a ClusterError if that fails."""
    try:
        connect()
    except Exception as problem:
        first = str(problem).strip().splitlines()
        raise ClusterError(f"cannot join the cluster at {address}: {first[0] if first else problem}") from problem


def _share(address: str) -> None:
    with _LOCK:
        if others := set(_JOINED) - {address}:
            raise ClusterError(
                f"something is still in progress on the cluster at {others.pop()}", hint="wait for it, or stop it"
            )
        if not _JOINED:
            join(address, lambda: _init(address, NAMESPACE))
        _JOINED[address] = _JOINED.get(address, 0) + 1


@lru_cache(4096)
def is_here(address: str) -> bool:
    """Whether an address is one of this machine's."""
    if address.startswith("127.") or address == "::1":
        return True
    # Not by binding to it: where net.ipv4.ip_nonlocal_bind is set, any address can be bound to.
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
            return str(probe.getsockname()[0]) == address
        except OSError:
            return False


def check_versions(
    cluster: Mapping[str, str], address: str, ray: str, python: str, environment: Mapping[str, str] | None = None
) -> None:
    """Ray demands the same versions at both ends; of Python only the minor one, where the match level is set to it."""
    theirs, their_python = cluster.get("ray_version", ray), cluster.get("python_version", python)
    level = (os.environ if environment is None else environment).get(MATCH_LEVEL, "")
    parts = 2 if level == "minor" else 3
    same_python = their_python.split(".")[:parts] == python.split(".")[:parts]
    if theirs == ray and same_python:
        return
    hint = f"run placetui where `ray=={theirs}` is installed for Python {their_python}"
    if same_python:
        hint = INSTALL_RAY.replace("VERSION", theirs)
    elif theirs == ray and their_python.split(".")[:2] == python.split(".")[:2]:
        hint = f"{hint}, or set {MATCH_LEVEL}=minor here and on the cluster"
    raise NotReady(
        f"the cluster at {address} runs Ray {theirs} on Python {their_python}, but Ray {ray} and "
        f"Python {python} are installed here: they must be the same",
        hint=hint,
    )


def actor_id(handle: Any) -> str:
    """The id of an actor, as in the head's tables."""
    return str(handle._actor_id.hex())


def group_of(number: str) -> Any:
    """A placement group by its id, of whichever namespace."""
    made = import_ray("ray.util.placement_group").PlacementGroup
    return made(import_ray().PlacementGroupID(bytes.fromhex(number)))


def ship_by_value(*modules: Any) -> None:
    """Send what modules define along with what uses it: nodes need not have them."""
    register = getattr(import_ray("ray.cloudpickle"), "register_pickle_by_value", None)
    if register is None:
        register = import_ray("ray.cloudpickle.cloudpickle").register_pickle_by_value
    for module in modules:
        register(module)


def node_task(ray: Any, function: Callable[..., Any], *, retries: int = 0) -> Any:
    """A function of `remote` as a task that takes nothing; called with `tied_to`, it runs on a certain node."""
    ship_by_value(remote)
    return ray.remote(num_cpus=0, max_retries=retries)(function)


def tied_to(node: str) -> dict[str, Any]:
    """Options of what runs on the node with that id, and nowhere else."""
    strategies = import_ray("ray.util.scheduling_strategies")
    return {"scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node, soft=False)}


class _Nothing(list[str]):
    """A list that takes nothing."""

    def append(self, value: str) -> None:
        """Ignore it."""

    def extend(self, values: Any) -> None:
        """Ignore them."""


def _init(address: str, namespace: str) -> None:
    ray, config = import_ray(), import_ray("ray.job_config").JobConfig()
    # Workers find modules as their own node does: Ray would give them our current directory too.
    config._py_driver_sys_path = _Nothing()
    ray.init(address=address, namespace=namespace, log_to_driver=False, logging_level=logging.ERROR, job_config=config)


def upload_code(runtime_env: Mapping[str, Any]) -> dict[str, Any]:
    """A runtime environment whose local directories are in the cluster: Ray itself takes them of whole drivers only."""
    found: Any = dict(runtime_env)
    uploads = [
        import_ray("ray._private.runtime_env.working_dir").upload_working_dir_if_needed,
        import_ray("ray._private.runtime_env.py_modules").upload_py_modules_if_needed,
    ]
    with tempfile.TemporaryDirectory(prefix="placetui-") as scratch:
        offered = {"include_gitignore": True, "scratch_dir": scratch}
        try:
            for upload in uploads:
                # Older ones do not know of .gitignore.
                known = inspect.signature(upload).parameters
                found = upload(found, **{name: value for name, value in offered.items() if name in known})
            return dict(found)
        except Exception as problem:
            raise ClusterError(
                f"code cannot be sent to the cluster: {explain(problem)}",
                hint="check working_dir and py_modules of runtime_env, or --working-dir",
            ) from problem
