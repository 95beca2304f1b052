"""Rows of the head's tables, as Ray's own messages have them, read into plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from subprocess import list2cmdline
from typing import Any

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.entrypoint import split_command
from placetui.frameworks.recognition import environment_read
from placetui.masking import mask_secrets, mask_words
from placetui.runtime.errors import explain
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.model import DEVICES, RayActor, RayBundle, RayGroup, RayNode, RayWorker

_GPU_IN_GROUP = re.compile(rf"(?:{'|'.join(DEVICES)})_group_(\d+)_[0-9a-f]+$")
_IN_GROUP = re.compile(r"\w+_group_(?:\d+_)?([0-9a-f]+)$")

_MOST_ENVIRONMENTS = 65_536
"""Actors of which the variables are remembered."""


def read_node(row: Any) -> RayNode:
    """A row of the nodes' table."""
    return RayNode(
        id=row.node_id.hex(),
        ip=row.node_manager_address,
        host=row.node_manager_hostname,
        resources=dict(row.resources_total),
        labels=dict(row.labels),
        head=row.is_head_node,
        port=row.node_manager_port,
        state=_word(row.state_snapshot, "state"),
    )


def _word(row: Any, field: str) -> str:
    """The name of a field's value, which is one of an enumeration; empty of a value that this Ray does not know."""
    values = row.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return str(values[getattr(row, field)].name) if getattr(row, field) in values else ""


def read_actor(row: Any, environments: Environments) -> RayActor:
    """A row of the actors' table."""
    slots, bundles = _gpus(
        (resource.name, part.index, part.quantity)
        for resource in row.resource_mapping
        for part in resource.resource_ids
    )
    node = row.node_id if row.HasField("node_id") else getattr(row.address, "node_id", b"")
    if not node:
        node = getattr(row.address, "raylet_id", b"")
    return RayActor(
        id=row.actor_id.hex(),
        name=row.name,
        namespace=row.ray_namespace,
        class_name=row.class_name,
        state=_word(row, "state"),
        reason=_death(row),
        node=_id(node),
        pid=row.pid,
        group=_id(row.placement_group_id) if row.HasField("placement_group_id") else "",
        slots=slots,
        bundles=bundles,
        required=dict(row.required_resources),
        restarts=row.num_restarts,
        job=row.job_id.hex(),
        environment=environments.of(row),
        max_restarts=row.max_restarts,
        worker=_id(row.address.worker_id),
        labels=dict(getattr(row, "label_selector", {})),
        since=row.timestamp / 1000,
        started=row.start_time / 1000,
        ended=row.end_time / 1000,
        cause=_cause(row),
        detached=row.is_detached,
    )


def read_worker(row: Any) -> RayWorker | None:
    """A process as its raylet tells of it; None if it is an actor, or a driver."""
    if _id(row.actor_id) or row.worker_type != row.DESCRIPTOR.fields_by_name["worker_type"].default_value:
        return None
    slots, bundles = _gpus(
        (name, part.slot, part.allocation) for name, used in row.used_resources.items() for part in used.resource_slots
    )
    groups = [found[1] for found in map(_IN_GROUP.match, row.used_resources) if found]
    return RayWorker(
        id=_id(row.worker_id),
        pid=row.pid,
        job=_id(row.job_id),
        group=groups[0] if groups else "",
        slots=slots,
        bundles=bundles,
        address=join_address(row.ip_address, row.port),
        unused=not row.num_executed_tasks and not row.num_running_tasks,
    )


def join_address(host: str, port: int) -> str:
    """As gRPC writes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _gpus(parts: Iterable[tuple[str, int, float]]) -> tuple[dict[int, float], dict[int, int]]:
    """Parts of GPUs and bundles by slot, of resources as Ray names them."""
    slots: dict[int, float] = {}
    bundles: dict[int, int] = {}
    for name, slot, quantity in parts:
        # In a group both `GPU_group_3_…` and `GPU_group_…` are listed: count one of them.
        in_group = _GPU_IN_GROUP.match(name)
        if name in DEVICES or in_group:
            slots[slot] = slots.get(slot, 0.0) + quantity
            if in_group:
                bundles[slot] = int(in_group[1])
    return slots, bundles


class Environments:
    """What the environments of actors say about where they belong.

    A row carries the whole environment of the user, credentials included. Of that only the variables that frameworks
    declare are taken, when a row is read for the first time; the rest is never kept.
    """

    def __init__(self) -> None:
        self._declared = environment_read()
        self._known: dict[bytes, Mapping[str, str]] = {}
        """By actor id: the environment of an actor never changes."""

    def of(self, row: Any) -> Mapping[str, str]:
        """The variables of a row that may be read."""
        found = self._known.get(row.actor_id)
        if found is None:
            if len(self._known) >= _MOST_ENVIRONMENTS:
                self._known.clear()
            found = self._known[row.actor_id] = read_variables(row, self._declared)
        return found


def read_variables(row: Any, names: Collection[str]) -> dict[str, str]:
    """These variables of an actor, and no others."""
    return {name: value for name, value in _variables(row).items() if name in names}


def _variables(row: Any) -> dict[str, str]:
    try:
        found = json.loads(row.serialized_runtime_env or "{}").get("env_vars") or {}
        return {str(name): str(value) for name, value in found.items()}
    except (ValueError, AttributeError):
        return {}


def read_group(row: Any) -> RayGroup:
    """A row of the placement groups' table."""
    return RayGroup(
        id=row.placement_group_id.hex(),
        name=row.name,
        namespace=row.ray_namespace,
        state=_word(row, "state"),
        scheduling=_word(row.stats, "scheduling_state"),
        bundles=tuple(
            RayBundle(_id(bundle.node_id), dict(bundle.unit_resources), dict(bundle.label_selector))
            for bundle in row.bundles
        ),
        abandoned=row.creator_job_dead,
        job=_id(row.creator_job_id),
        strategy=_word(row, "strategy"),
        requested=row.stats.creation_request_received_ns / 1e9,
        attempts=row.stats.scheduling_attempt,
    )


def read_job(row: Any) -> RayJobSeen:
    """A row of the jobs' table; secrets of its command line are masked, its runtime environment is not read."""
    return RayJobSeen(
        id=row.job_id.hex(),
        entrypoint=list2cmdline(mask_words(split_command(row.entrypoint))),
        submission=row.config.metadata.get("job_submission_id", ""),
        namespace=row.config.ray_namespace,
        started=row.start_time / 1000,
        ended=row.end_time / 1000,
        dead=row.is_dead,
        driver_ip=row.driver_ip_address,
        driver_pid=row.driver_pid,
        sys_path=tuple(row.config.py_driver_sys_path),
    )


def read_node_types(written: bytes) -> Sequence[Any]:
    """The kinds of nodes that an autoscaler may add, as it wrote them down; none if another version did."""
    messages = import_ray("ray.core.generated.autoscaler_pb2")
    try:
        return list(messages.ClusterConfig.FromString(written).node_group_configs)
    except Exception:
        return []


def _id(value: bytes) -> str:
    """Hexadecimal; Ray writes "none" as bytes that are all 255."""
    return "" if not value.strip(b"\xff") else value.hex()


def _cause(row: Any) -> str:
    kind: str = row.death_cause.WhichOneof("context") or ""
    return _word(row.death_cause.actor_died_error_context, "reason") if kind == "actor_died_error_context" else kind


def _death(row: Any) -> str:
    kind = row.death_cause.WhichOneof("context")
    if not kind:
        return ""
    context = getattr(row.death_cause, kind)
    text = getattr(context, "error_message", "") or getattr(context, "formatted_exception_string", "")
    if not text.strip():
        return str(kind)
    # Of an exception in the constructor, the last line of its traceback.
    last = str(text).strip().splitlines()[-1] if kind == "creation_task_failure_context" else explain(text)
    return mask_secrets(last)
