"""Rows of the head's tables, as Ray's own messages have them, read into plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from placetui.observe.facts import known_variables
from placetui.runtime.model import RayActor, RayBundle, RayGroup, RayNode, RayWorker, to_units

_GPU_IN_GROUP = re.compile(r"GPU_group_(\d+)_[0-9a-f]+$")
_IN_GROUP = re.compile(r"\w+_group_(?:\d+_)?([0-9a-f]+)$")


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
    )


def read_actor(row: Any) -> RayActor:
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
        kind=row.class_name,
        state=row.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number[row.state].name,
        reason=_death(row),
        node=_id(node),
        pid=row.pid,
        group=_id(row.placement_group_id) if row.HasField("placement_group_id") else "",
        slots=slots,
        bundles=bundles,
        required=dict(row.required_resources),
        restarts=row.num_restarts,
        job=row.job_id.hex(),
        variables=_variables(row.serialized_runtime_env),
        max_restarts=row.max_restarts,
        worker=_id(row.address.worker_id),
        started=row.start_time / 1000,
    )


def read_worker(row: Any) -> RayWorker | None:
    """A process as its raylet tells of it; None if it is an actor, or a driver."""
    if _id(row.actor_id) or row.worker_type != row.DESCRIPTOR.fields_by_name["worker_type"].default_value:
        return None
    slots, bundles = _gpus(
        (name, part.slot, part.allocation) for name, used in row.used_resources.items() for part in used.resource_slots
    )
    groups = [found[1] for found in map(_IN_GROUP.match, row.used_resources) if found]
    return RayWorker(_id(row.worker_id), row.pid, _id(row.job_id), groups[0] if groups else "", slots, bundles)


def _gpus(parts: Iterable[tuple[str, int, float]]) -> tuple[dict[int, int], dict[int, int]]:
    """Parts of GPUs and bundles by slot, of resources as Ray names them."""
    slots: dict[int, int] = {}
    bundles: dict[int, int] = {}
    for name, slot, quantity in parts:
        # In a group both `GPU_group_3_…` and `GPU_group_…` are listed: count one of them.
        in_group = _GPU_IN_GROUP.match(name)
        if name == "GPU" or in_group:
            slots[slot] = slots.get(slot, 0) + to_units(quantity)
            if in_group:
                bundles[slot] = int(in_group[1])
    return slots, bundles


@lru_cache(4096)
def _variables(runtime_env: str) -> Mapping[str, str]:
    """The variables that may be shown, of an environment as Ray stores it."""
    try:
        found = json.loads(runtime_env or "{}").get("env_vars") or {}
        return known_variables({str(name): str(value) for name, value in found.items()})
    except (ValueError, AttributeError):
        return {}


def read_group(row: Any) -> RayGroup:
    """A row of the placement groups' table."""
    states = row.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number
    scheduling = row.stats.DESCRIPTOR.fields_by_name["scheduling_state"].enum_type.values_by_number
    return RayGroup(
        id=row.placement_group_id.hex(),
        name=row.name,
        namespace=row.ray_namespace,
        state=states[row.state].name,
        scheduling=scheduling[row.stats.scheduling_state].name,
        bundles=tuple(RayBundle(_id(bundle.node_id), dict(bundle.unit_resources)) for bundle in row.bundles),
        abandoned=row.creator_job_dead,
    )


def _id(value: bytes) -> str:
    """Hexadecimal; Ray writes "none" as bytes that are all 255."""
    return "" if not value.strip(b"\xff") else value.hex()


def _death(row: Any) -> str:
    """The first sentence of why an actor died."""
    cause = row.death_cause
    kind = cause.WhichOneof("context")
    if not kind:
        return ""
    context = getattr(cause, kind)
    text = getattr(context, "error_message", "") or getattr(context, "formatted_exception_string", "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return str(kind)
    return lines[-1] if kind == "creation_task_failure_context" else _short(lines[0])


def _short(text: str) -> str:
    """Ray's paragraph about a dead process without the guesses at its end."""
    text = text.partition(" Some common causes")[0]
    before, _, detail = text.rpartition("Worker exit detail: ")
    return f"its process died: {detail}" if before else text
