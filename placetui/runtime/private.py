"""Every use of something in Ray that is not its public interface. What may change between versions is here.

The tables of the head are read over Python's own gRPC: a client of Ray's own would end this process when the head
is gone, and a driver would be registered with the cluster. Each call has a deadline.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import Any

from placetui.runtime.errors import ClusterLost, NotReady, Silent
from placetui.runtime.model import RayActor, RayGroup, RayNode, RayWorker, Tables
from placetui.runtime.private_check import require
from placetui.runtime.private_rows import read_actor, read_group, read_node, read_worker

CALL_TIMEOUT = 5.0
"""Seconds for one question to the head."""


RAYLET_TIMEOUT = 1.0
"""Seconds for a question to raylets: one whose worker was stopped does not answer at all."""


class Head:
    """The head of a cluster (its GCS), spoken to without a driver."""

    def __init__(self, address: str, timeout: float = CALL_TIMEOUT) -> None:
        try:
            import grpc
            from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc

            require()
            open_channel = _channel_opener()
        except ImportError as problem:
            raise unready(problem) from problem
        self.address = address
        self.calls = 0
        """Questions asked so far."""

        self._timeout = timeout
        self._grpc = grpc
        self._messages: Any = gcs_service_pb2
        self._stubs: Any = gcs_service_pb2_grpc
        # A cluster with many actors answers in more than gRPC's 4 MB.
        self._channel = open_channel(address, options=[("grpc.max_receive_message_length", 2**30)])

    def close(self) -> None:
        self._channel.close()

    # Tables

    def versions(self) -> Mapping[str, str]:
        """`ray_version` and `python_version` of the cluster; empty if it does not say."""
        value = self.get(b"cluster", b"CLUSTER_METADATA")
        try:
            found = json.loads(value) if value else {}
        except ValueError:
            return {}
        return {str(name): str(text) for name, text in found.items()}

    def nodes(self) -> tuple[RayNode, ...]:
        """The nodes that are alive, in Ray's order."""
        reply = self._call("NodeInfoGcsService", "GetAllNodeInfo")
        return tuple(read_node(row) for row in reply.node_info_list if row.state == row.ALIVE)

    def actors(self) -> tuple[RayActor, ...]:
        """All actors that the head still remembers."""
        return tuple(map(read_actor, self._call("ActorInfoGcsService", "GetAllActorInfo").actor_table_data))

    def living_actors(self) -> tuple[RayActor, ...]:
        """Those that are not dead: a head may remember a hundred thousand that are."""
        states = self._messages.GetAllActorInfoRequest.Filters.DESCRIPTOR.fields_by_name["state"].enum_type
        found: dict[str, RayActor] = {}
        for state in states.values:
            if state.name != "DEAD":
                reply = self._call("ActorInfoGcsService", "GetAllActorInfo", filters={"state": state.number})
                # One that changes its state meanwhile comes twice.
                found.update((actor.id, actor) for actor in map(read_actor, reply.actor_table_data))
        return tuple(found.values())

    def actor(self, id: str) -> RayActor | None:
        """One actor, also a dead one; None if the head does not remember it."""
        reply = self._call("ActorInfoGcsService", "GetAllActorInfo", filters={"actor_id": bytes.fromhex(id)})
        return next(map(read_actor, reply.actor_table_data), None)

    def groups(self) -> tuple[RayGroup, ...]:
        """All placement groups that the head still remembers."""
        reply = self._call("PlacementGroupInfoGcsService", "GetAllPlacementGroup")
        return tuple(map(read_group, reply.placement_group_table_data))

    def available(self) -> dict[str, dict[str, float]]:
        """By node id, what nobody has reserved."""
        reply = self._call("NodeResourceInfoGcsService", "GetAllAvailableResources")
        return {row.node_id.hex(): dict(row.resources_available) for row in reply.resources_list}

    def tables(self) -> Tables:
        return Tables(self.nodes(), self.actors(), self.groups(), self.available())

    # The key-value store

    def put(self, namespace: bytes, key: bytes, value: bytes, *, overwrite: bool) -> bool:
        """Store a value; False if there was one, which stays unless `overwrite`."""
        reply = self._call(
            "InternalKVGcsService", "InternalKVPut", namespace=namespace, key=key, value=value, overwrite=overwrite
        )
        return bool(reply.added)

    def get(self, namespace: bytes, key: bytes) -> bytes | None:
        reply = self._call("InternalKVGcsService", "InternalKVGet", namespace=namespace, key=key, tolerate_missing=True)
        return bytes(reply.value) if reply and reply.value else None

    def keys(self, namespace: bytes) -> list[bytes]:
        reply = self._call("InternalKVGcsService", "InternalKVKeys", namespace=namespace, prefix=b"")
        return list(reply.results)

    def delete(self, namespace: bytes, key: bytes) -> None:
        self._call("InternalKVGcsService", "InternalKVDel", namespace=namespace, key=key, del_by_prefix=False)

    def delete_all(self, namespace: bytes, prefix: bytes) -> None:
        """Remove every key that begins like this."""
        self._call("InternalKVGcsService", "InternalKVDel", namespace=namespace, key=prefix, del_by_prefix=True)

    # Ending things

    def kill_actor(self, actor: str, *, no_restart: bool = True) -> None:
        """End an actor, for good unless told otherwise; one that is gone already is fine."""
        self._call(
            "ActorInfoGcsService",
            "KillActorViaGcs",
            actor_id=bytes.fromhex(actor),
            force_kill=True,
            no_restart=no_restart,
            tolerate_missing=True,
        )

    def remove_group(self, group: str) -> None:
        """Remove a placement group; one that is gone already is fine."""
        self._call(
            "PlacementGroupInfoGcsService",
            "RemovePlacementGroup",
            placement_group_id=bytes.fromhex(group),
            tolerate_missing=True,
        )

    def _call(self, service: str, method: str, *, tolerate_missing: bool = False, **fields: Any) -> Any:
        request = getattr(self._messages, f"{method}Request")(**fields)
        stub = getattr(self._stubs, f"{service}Stub")(self._channel)
        self.calls += 1
        try:
            reply = getattr(stub, method)(request, timeout=self._timeout)
        except self._grpc.RpcError as problem:
            if tolerate_missing and problem.code() == self._grpc.StatusCode.NOT_FOUND:
                return None
            raise _lost(self.address, problem) from problem
        # Ray's own status, apart from gRPC's.
        status = reply.status
        if status.code and not tolerate_missing:
            raise ClusterLost(f"the cluster at {self.address} refuses: {status.message or status.code}")
        return reply


def unready(problem: BaseException) -> NotReady:
    """Ray, or what it needs, cannot be imported."""
    name = getattr(problem, "name", None) or ""
    if isinstance(problem, ModuleNotFoundError) and name.partition(".")[0] in ("ray", "grpc"):
        missing = name.partition(".")[0]
        package = {"grpc": "grpcio"}.get(missing, missing)
        hint = "pip install 'ray==THE CLUSTER’S VERSION'" if package == "ray" else f"pip install {package}"
        return NotReady(f"{package} is not installed here", hint=hint)
    return NotReady(f"Ray cannot be used here: {problem}", hint="install Ray anew, in the cluster's version")


def find_clusters() -> list[str]:
    """Addresses of the clusters that have a process on this machine."""
    try:
        from ray._private import services
    except ImportError as problem:
        raise unready(problem) from problem
    find: Any = services.find_gcs_addresses
    if hasattr(find, "cache_clear"):
        find.cache_clear()
    return sorted(find())


def workers_of(nodes: Iterable[RayNode]) -> dict[str, tuple[RayWorker, ...]]:
    """By node id, its processes that run tasks. All nodes are asked at once; those that do not answer are left out."""
    import grpc

    messages: Any = import_module("ray.core.generated.node_manager_pb2")
    stubs: Any = import_module("ray.core.generated.node_manager_pb2_grpc")
    open_channel, request = _channel_opener(), messages.GetNodeStatsRequest(include_memory_info=False)
    found: dict[str, tuple[RayWorker, ...]] = {}
    with ExitStack() as stack:
        waiting = {}
        for node in nodes:
            channel = open_channel(f"[{node.ip}]:{node.port}" if ":" in node.ip else f"{node.ip}:{node.port}")
            stack.callback(channel.close)
            ask = stubs.NodeManagerServiceStub(channel).GetNodeStats
            waiting[node.id] = ask.future(request, timeout=RAYLET_TIMEOUT)
        for name, answer in waiting.items():
            with suppress(grpc.RpcError):
                workers = map(read_worker, answer.result().core_workers_stats)
                found[name] = tuple(worker for worker in workers if worker is not None)
    return found


def actor_id(handle: Any) -> str:
    """The id of an actor, as in the head's tables."""
    return str(handle._actor_id.hex())


def gpu_slot() -> int | None:
    """In a task with one GPU: its place in Ray's own books."""
    from ray._private import worker

    this: Any = worker.global_worker
    try:
        books = this.core_worker.resource_ids()
    except AttributeError:
        return None
    slots = {slot for name, parts in books.items() if name.startswith("GPU") for slot, _ in parts}
    return slots.pop() if len(slots) == 1 else None


def visible_gpus() -> list[str] | None:
    """In a task: the list of GPUs that the node's Ray was started with; None if it was not limited."""
    from ray._private import worker

    found = getattr(worker.global_worker, "original_visible_accelerator_ids", None) or {}
    listed = found.get("GPU")
    return [str(one) for one in listed] if listed else None


def own_nvml_binding() -> Any:
    """Ray's own copy of nvidia-ml-py: the module within its package, which leaves out some of the names."""
    return import_module("ray._private.thirdparty.pynvml.pynvml")


def stored(namespace: str, key: str) -> bytes | None:
    """In a task or actor: a value of the head's key-value store."""
    from ray.experimental.internal_kv import _internal_kv_get

    found: bytes | None = _internal_kv_get(key.encode(), namespace=namespace.encode())
    return found


def logs_directory() -> str:
    """In a task: where this node's processes write their output."""
    from ray._private import worker

    node: Any = worker._global_node
    return str(node.get_logs_dir_path())


def is_mark(line: str) -> bool:
    """Whether a line of a process's output is Ray's note to itself on whose output follows."""
    return line.startswith((":job_id:", ":actor_name:", ":task_name:"))


def group_of(number: str) -> Any:
    """A placement group by its id, of whichever namespace."""
    from ray import PlacementGroupID
    from ray.util.placement_group import PlacementGroup

    return PlacementGroup(PlacementGroupID(bytes.fromhex(number)))


def ship_by_value(*modules: Any) -> None:
    """Send what modules define along with what uses it: nodes need not have them."""
    from ray import cloudpickle

    register: Any = getattr(cloudpickle, "register_pickle_by_value", None)
    if register is None:
        from ray.cloudpickle import cloudpickle as inner

        register = inner.register_pickle_by_value
    for module in modules:
        register(module)


class _Nothing(list[str]):
    """A list that takes nothing."""

    def append(self, value: str) -> None:
        """Ignore it."""

    def extend(self, values: Any) -> None:
        """Ignore them."""


def join(address: str, namespace: str) -> None:
    """Connect as a driver."""
    import ray
    from ray.job_config import JobConfig

    config = JobConfig()
    # Workers find modules as their own node does: Ray would give them our current directory too.
    config._py_driver_sys_path = _Nothing()
    ray.init(address=address, namespace=namespace, log_to_driver=False, logging_level=logging.ERROR, job_config=config)


def _channel_opener() -> Any:
    try:
        module = import_module("ray._private.grpc_utils")
    except ModuleNotFoundError:
        # Where it lived before.
        module = import_module("ray._private.utils")
    return module.init_grpc_channel


def _lost(address: str, problem: Any) -> ClusterLost:
    code = problem.code().name if hasattr(problem, "code") and problem.code() else type(problem).__name__
    if code == "UNAUTHENTICATED":
        return ClusterLost(
            f"the cluster at {address} asks for a token",
            hint="set RAY_AUTH_MODE=token and give Ray the cluster's token, as on its nodes",
        )
    if code == "DEADLINE_EXCEEDED":
        return Silent(f"the head of the cluster at {address} did not answer in time")
    if code == "UNAVAILABLE":
        return ClusterLost(f"the head of the cluster at {address} does not answer")
    return ClusterLost(f"the head of the cluster at {address} fails: {code} {problem.details() or ''}".rstrip())
