"""The GCS of a cluster, spoken to without a driver.

Its tables are read over Python's own gRPC: a client of Ray's own would end this process when the head is gone, and a
driver would be registered with the cluster. Each call has a deadline.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from placetui.frameworks.cluster_facts import INTERNAL_NAMESPACES, RayJobSeen
from placetui.observe.operations import INSTALL_RAY
from placetui.placement.wording import listing
from placetui.runtime.errors import ClusterLost, NotAllowed, NotReady, Silent, Unreachable, explain
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.interfaces import CALLS, require
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode, RayWorker, Tables
from placetui.runtime.gcs.rows import (
    Environments,
    join_address,
    read_actor,
    read_group,
    read_job,
    read_node,
    read_variables,
    read_worker,
)
from placetui.runtime.policy import DEFAULT, Policy

LIVING = ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "ALIVE", "RESTARTING")
"""States of actors that are not dead: a head may remember a hundred thousand that are."""

PLACED = ("ALIVE", "RESTARTING")
"""States of actors that hold resources of a node."""

_SERVICES = {call.method: call.service for call in CALLS}

NOT_FOUND = 17
"""Ray's own status code."""

OPTIONS = (
    # A cluster with many actors answers in more than gRPC's 4 MB.
    ("grpc.max_receive_message_length", 2**30),
    # As Ray's own clients: a cluster is never reached through a web proxy.
    ("grpc.enable_http_proxy", 0),
)


class Head:
    """The head of a cluster (its GCS), spoken to without a driver."""

    def __init__(self, address: str, policy: Policy | None = None) -> None:
        try:
            import grpc

            messages = import_ray("ray.core.generated.gcs_service_pb2")
            stubs = import_ray("ray.core.generated.gcs_service_pb2_grpc")
            require()
            open_channel = _channel_opener()
        except ImportError as problem:
            raise unready(problem) from problem
        self.address = address
        self.policy = policy or DEFAULT
        self.outage = 0.0
        """Seconds for which a call is repeated while the head does not answer."""

        self.check: Callable[[], object] = bool
        """Called between such repetitions; what it raises ends them."""

        self.calls = 0
        self.interruptions = 0
        """Calls that were not answered so far."""

        self.rows = 0
        """Rows of actors, placement groups and nodes read so far."""

        self._environments = Environments()
        self._grpc = grpc
        self._messages = messages
        self._stubs = stubs
        try:
            self._channel = open_channel(address, options=OPTIONS)
        except Exception as problem:
            raise unusable_credentials(problem) from problem

    def close(self) -> None:
        self._channel.close()

    def outlast_outages(self, check: Callable[[], object] = bool) -> Head:
        """From now on, repeat calls while the head does not answer or is restarted."""
        self.outage, self.check = self.policy.outage, check
        return self

    def is_answering(self) -> bool:
        try:
            self._call_once("InternalKVGet", namespace=b"cluster", key=b"CLUSTER_METADATA")
        except Unreachable:
            return False
        except ClusterLost:
            pass
        return True

    # Tables

    def versions(self) -> Mapping[str, str]:
        """`ray_version` and `python_version` of the cluster; empty if it does not say."""
        value = self.get(b"cluster", b"CLUSTER_METADATA")
        try:
            found = json.loads(value) if value else {}
        except ValueError:
            return {}
        return {str(name): str(text) for name, text in found.items()}

    def session(self) -> str:
        """Ray's name for the life of the cluster: another one after it was restarted."""
        return (self.get(b"session", b"session_name") or b"").decode("utf-8", "replace")

    def nodes(self) -> tuple[RayNode, ...]:
        """The nodes that are alive, in Ray's order."""
        rows = self._call("GetAllNodeInfo").node_info_list
        self.rows += len(rows)
        return tuple(read_node(row) for row in rows if row.state == row.ALIVE)

    def actors(self, **filters: Any) -> tuple[RayActor, ...]:
        """Actors by `job` (of the driver that made them), `state` or `id`, dead ones too unless a state is given."""
        assert filters, "a head may remember a hundred thousand actors"
        fields: dict[str, Any] = {}
        for name, value in filters.items():
            if name == "state":
                states = self._messages.GetAllActorInfoRequest.Filters.DESCRIPTOR.fields_by_name["state"].enum_type
                fields[name] = states.values_by_name[value].number
            else:
                fields[f"{name}_id" if name == "job" else "actor_id"] = bytes.fromhex(value)
        rows = self._call("GetAllActorInfo", filters=fields).actor_table_data
        self.rows += len(rows)
        return tuple(read_actor(row, self._environments) for row in rows)

    def living_actors(self, states: Sequence[str] = LIVING) -> tuple[RayActor, ...]:
        """Those of all jobs that are in one of these states."""
        # One that changes its state meanwhile comes twice.
        return tuple({actor.id: actor for state in states for actor in self.actors(state=state)}.values())

    def actor(self, id: str) -> RayActor | None:
        """One actor, also a dead one; None if the head does not remember it."""
        return next(iter(self.actors(id=id)), None)

    def variables_of(self, id: str, names: Collection[str]) -> dict[str, str]:
        """These variables of the environment that one of our own ranks was started with."""
        rows = self._call("GetAllActorInfo", filters={"actor_id": bytes.fromhex(id)}).actor_table_data
        self.rows += len(rows)
        return {name: value for row in rows for name, value in read_variables(row, names).items()}

    def named_actor(self, name: str, namespace: str) -> RayActor | None:
        """The actor that has a name now; None if nobody has it."""
        reply = self._call("GetNamedActorInfo", tolerate_missing=True, name=name, ray_namespace=namespace)
        if reply is None or not reply.actor_table_data.actor_id:
            return None
        self.rows += 1
        return read_actor(reply.actor_table_data, self._environments)

    def actor_names(self, namespace: str) -> list[str]:
        """Names of a namespace that living actors have."""
        reply = self._call("ListNamedActors", ray_namespace=namespace)
        return [one.name for one in reply.named_actors_list]

    def jobs(self) -> tuple[RayJobSeen, ...]:
        """Drivers that the head still remembers, dead ones too, without Ray's own."""
        rows = self._call(
            "GetAllJobInfo", skip_submission_job_info_field=True, skip_is_running_tasks_field=True
        ).job_info_list
        self.rows += len(rows)
        return tuple(job for job in map(read_job, rows) if job.namespace not in INTERNAL_NAMESPACES)

    def groups(self) -> tuple[RayGroup, ...]:
        """All placement groups that the head still remembers."""
        rows = self._call("GetAllPlacementGroup").placement_group_table_data
        self.rows += len(rows)
        return tuple(map(read_group, rows))

    def group(self, id: str) -> RayGroup | None:
        """One placement group; None if the head does not remember it."""
        number = bytes.fromhex(id)
        return self._group(self._call("GetPlacementGroup", tolerate_missing=True, placement_group_id=number))

    def named_group(self, name: str, namespace: str) -> RayGroup | None:
        return self._group(
            self._call("GetNamedPlacementGroup", tolerate_missing=True, name=name, ray_namespace=namespace)
        )

    def wait_for_group(self, id: str) -> bool:
        """Whether a placement group stands, after a moment at most: the head answers as soon as it does."""
        try:
            self._call_once(
                "WaitPlacementGroupUntilReady", timeout=2 * self.policy.poll, placement_group_id=bytes.fromhex(id)
            )
        except Silent:
            return False
        except Unreachable:
            group = self.group(id)
            return group is not None and group.state == "CREATED"
        return True

    def _group(self, reply: Any) -> RayGroup | None:
        if reply is None or not reply.placement_group_table_data.placement_group_id:
            return None
        self.rows += 1
        return read_group(reply.placement_group_table_data)

    def available(self) -> dict[str, dict[str, float]]:
        """By node id, what nobody has reserved."""
        reply = self._call("GetAllAvailableResources")
        return {row.node_id.hex(): dict(row.resources_available) for row in reply.resources_list}

    def tables(self) -> Tables:
        """Everything that decides what is free: nodes, actors with resources, groups, and available resources."""
        return Tables(self.nodes(), self.living_actors(PLACED), self.groups(), self.available())

    # The key-value store

    def put(self, namespace: bytes, key: bytes, value: bytes, *, overwrite: bool) -> bool:
        """Store a value; False if there was one, which stays unless `overwrite`."""
        reply = self._call("InternalKVPut", namespace=namespace, key=key, value=value, overwrite=overwrite)
        return bool(reply.added)

    def get(self, namespace: bytes, key: bytes) -> bytes | None:
        """A value; None if there is none."""
        reply = self._call("InternalKVGet", tolerate_missing=True, namespace=namespace, key=key)
        return bytes(reply.value) if reply is not None else None

    def get_all(self, namespace: bytes) -> dict[bytes, bytes]:
        """All values of a namespace, in two calls."""
        keys = self.keys(namespace)
        if not keys:
            return {}
        reply = self._call("InternalKVMultiGet", namespace=namespace, keys=keys)
        return {bytes(one.key): bytes(one.value) for one in reply.results}

    def keys(self, namespace: bytes, prefix: bytes = b"") -> list[bytes]:
        reply = self._call("InternalKVKeys", namespace=namespace, prefix=prefix)
        return list(reply.results)

    def delete(self, namespace: bytes, key: bytes, *, prefix: bool = False) -> None:
        """Remove a key, or every key that begins like this."""
        self._call("InternalKVDel", namespace=namespace, key=key, del_by_prefix=prefix)

    # Ending things

    def kill_actor(self, actor: str, *, no_restart: bool = True) -> None:
        """End an actor, for good unless told otherwise; one that is gone already is fine."""
        self._call(
            "KillActorViaGcs",
            tolerate_missing=True,
            actor_id=bytes.fromhex(actor),
            force_kill=True,
            no_restart=no_restart,
        )

    def remove_group(self, group: str) -> None:
        """Remove a placement group; one that is gone already is fine."""
        self._call("RemovePlacementGroup", tolerate_missing=True, placement_group_id=bytes.fromhex(group))

    # Calls

    def _call(self, method: str, **fields: Any) -> Any:
        """Repeated, as Ray's own clients do it, as long as the head does not answer."""
        end, pause = time.monotonic() + self.outage, self.policy.poll
        while True:
            try:
                return self._call_once(method, **fields)
            except Unreachable:
                if time.monotonic() + pause > end:
                    raise
            self.check()
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _call_once(
        self, method: str, *, tolerate_missing: bool = False, timeout: float | None = None, **fields: Any
    ) -> Any:
        """The reply; None if what is requested is missing, and that is fine."""
        request = getattr(self._messages, f"{method}Request")(**fields)
        stub = getattr(self._stubs, f"{_SERVICES[method]}Stub")(self._channel)
        self.calls += 1
        try:
            reply = getattr(stub, method)(request, timeout=timeout or self.policy.call)
        except self._grpc.RpcError as problem:
            if tolerate_missing and problem.code() == self._grpc.StatusCode.NOT_FOUND:
                return None
            failure = failed_call(self.address, problem)
            self.interruptions += isinstance(failure, Unreachable)
            raise failure from problem
        # Ray's own status, apart from gRPC's.
        status = reply.status
        if not status.code:
            return reply
        if tolerate_missing and status.code == NOT_FOUND:
            return None
        raise ClusterLost(f"the cluster at {self.address} refuses {method}: {status.message or status.code}")


def unready(problem: BaseException) -> NotReady:
    """Ray, or what it needs, cannot be imported."""
    name = getattr(problem, "name", None) or ""
    if isinstance(problem, ModuleNotFoundError) and name.partition(".")[0] in ("ray", "grpc"):
        missing = name.partition(".")[0]
        package = {"grpc": "grpcio"}.get(missing, missing)
        hint = INSTALL_RAY if package == "ray" else f"pip install {package}"
        return NotReady(f"{package} is not installed here", hint=hint)
    return NotReady(f"Ray cannot be used here: {problem}", hint=INSTALL_RAY)


def find_clusters() -> list[str]:
    """Addresses of the clusters that have a process on this machine."""
    try:
        services = import_ray("ray._private.services")
    except ImportError as problem:
        raise unready(problem) from problem
    find = services.find_gcs_addresses
    if hasattr(find, "cache_clear"):
        find.cache_clear()
    return sorted(find())


def workers_of(nodes: Iterable[RayNode], policy: Policy | None = None) -> dict[str, tuple[RayWorker, ...]]:
    """By node id, its processes that run tasks. All nodes are asked at once; those that do not answer are left out."""
    answers = _ask_raylets(nodes, "GetNodeStats", (policy or DEFAULT).raylet, include_memory_info=False)
    return {
        node: tuple(worker for worker in map(read_worker, reply.core_workers_stats) if worker is not None)
        for node, reply in answers.items()
    }


def silent_nodes(nodes: Sequence[RayNode], policy: Policy | None = None) -> set[str]:
    """Ids of nodes whose raylet does not answer. All are asked at once."""
    return {node.id for node in nodes} - _ask_raylets(nodes, "GetSystemConfig", (policy or DEFAULT).silent).keys()


def _ask_raylets(nodes: Iterable[RayNode], method: str, timeout: float, **fields: Any) -> dict[str, Any]:
    addresses = {node.id: join_address(node.ip, node.port) for node in nodes}
    return _ask_all(addresses, "node_manager", "NodeManagerService", method, timeout, **fields)


def dismiss(workers: Iterable[RayWorker], policy: Policy | None = None) -> None:
    """Ask processes to end, as their raylet does when they were idle for long: those with anything to do stay."""
    addresses = {worker.id: worker.address for worker in workers}
    _ask_all(addresses, "core_worker", "CoreWorkerService", "Exit", (policy or DEFAULT).raylet, force_exit=False)


def _ask_all(
    addresses: Mapping[str, str], module: str, service: str, method: str, timeout: float, **fields: Any
) -> dict[str, Any]:
    """Ask all at once; the replies that came in time, under the names of their addresses."""
    import grpc

    messages = import_ray(f"ray.core.generated.{module}_pb2")
    stubs = import_ray(f"ray.core.generated.{module}_pb2_grpc")
    open_channel, request = _channel_opener(), getattr(messages, f"{method}Request")(**fields)
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        waiting = {}
        for name, address in addresses.items():
            channel = open_channel(address, options=OPTIONS)
            stack.callback(channel.close)
            stub = getattr(stubs, f"{service}Stub")(channel)
            waiting[name] = getattr(stub, method).future(request, timeout=timeout)
        for name, answer in waiting.items():
            with suppress(grpc.RpcError):
                found[name] = answer.result()
    return found


def _channel_opener() -> Any:
    try:
        module = import_ray("ray._private.grpc_utils")
    except ModuleNotFoundError:
        # Where it lived before.
        module = import_ray("ray._private.utils")
    return module.init_grpc_channel


def failed_call(address: str, problem: Any) -> ClusterLost:
    """What to say about a call that failed."""
    code = problem.code().name if hasattr(problem, "code") and problem.code() else type(problem).__name__
    details = (problem.details() or "") if hasattr(problem, "details") else ""
    if code == "UNAUTHENTICATED":
        return NotAllowed(f"the cluster at {address} requires a token", hint=token_hint(os.environ))
    if code == "DEADLINE_EXCEEDED":
        return Silent(f"the head of the cluster at {address} did not answer in time")
    if code == "UNAVAILABLE":
        return Unreachable(f"the head of the cluster at {address} does not answer", reason=details)
    return ClusterLost(f"the head of the cluster at {address} fails: {code} {details}".rstrip())


def token_hint(environment: Mapping[str, str]) -> str:
    """What is missing or wrong on our side, by the name of the variable."""
    if environment.get("RAY_AUTH_MODE", "").lower() != "token":
        return "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the cluster's token"
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        if environment.get(name):
            return f"{name} is set, but it is not the cluster's token: take it from the head node"
    return "~/.ray/auth_token is not the cluster's token: take it from the head node, or set RAY_AUTH_TOKEN"


def unusable_credentials(problem: BaseException) -> NotReady:
    """Ray cannot read its certificates or its token."""
    if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        names = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
        unread = [name for name in names if not os.path.isfile(os.environ.get(name, ""))]
        named = listing(unread or [name for name in names if name in str(problem)]) or "a certificate"
        return NotReady(
            f"RAY_USE_TLS is set, but the file of {named} cannot be read: {explain(problem)}",
            hint="set RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT as on the cluster's nodes",
        )
    return NotReady(f"Ray cannot use its token: {explain(problem)}", hint=token_hint(os.environ))
