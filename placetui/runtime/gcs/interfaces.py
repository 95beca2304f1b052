"""The private interfaces of Ray that `gcs` and `remote` use, by name, and whether the Ray that is installed has it.

Ray may change these from one version to the next. One that lacks something is refused with a sentence before anything
is asked of a cluster; one that is merely newer than all we know is used, with a notice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from placetui.placement.wording import listing
from placetui.runtime.errors import NotReady
from placetui.runtime.gcs.importing import import_ray

OLDEST = "2.49"
"""As in pyproject.toml: before it, a placement group cannot be tied to nodes by their labels."""

NEWEST_KNOWN = "2.60.0"
"""The newest Ray that all tests have passed with; docs/compatibility.md has the table."""

_SHOWN = 3


class Call(NamedTuple):
    """A question to the head."""

    service: str
    method: str
    asks: str = ""
    replies: str = ""


CALLS = (
    Call("NodeInfoGcsService", "GetAllNodeInfo", replies="node_info_list"),
    Call("ActorInfoGcsService", "GetAllActorInfo", "filters", "actor_table_data"),
    Call("ActorInfoGcsService", "KillActorViaGcs", "actor_id force_kill no_restart"),
    Call("ActorInfoGcsService", "GetNamedActorInfo", "name ray_namespace", "actor_table_data"),
    Call("ActorInfoGcsService", "ListNamedActors", "ray_namespace", "named_actors_list"),
    Call(
        "JobInfoGcsService",
        "GetAllJobInfo",
        "skip_submission_job_info_field skip_is_running_tasks_field",
        "job_info_list",
    ),
    Call("PlacementGroupInfoGcsService", "GetAllPlacementGroup", replies="placement_group_table_data"),
    Call("PlacementGroupInfoGcsService", "GetPlacementGroup", "placement_group_id", "placement_group_table_data"),
    Call("PlacementGroupInfoGcsService", "GetNamedPlacementGroup", "name ray_namespace", "placement_group_table_data"),
    Call("PlacementGroupInfoGcsService", "WaitPlacementGroupUntilReady", "placement_group_id"),
    Call("PlacementGroupInfoGcsService", "RemovePlacementGroup", "placement_group_id"),
    Call("NodeResourceInfoGcsService", "GetAllAvailableResources", replies="resources_list"),
    Call("InternalKVGcsService", "InternalKVGet", "namespace key", "value"),
    Call("InternalKVGcsService", "InternalKVMultiGet", "namespace keys", "results"),
    Call("InternalKVGcsService", "InternalKVPut", "namespace key value overwrite", "added"),
    Call("InternalKVGcsService", "InternalKVKeys", "namespace prefix", "results"),
    Call("InternalKVGcsService", "InternalKVDel", "namespace key del_by_prefix"),
)

ROWS = {
    "ray.core.generated.gcs_pb2:GcsNodeInfo": (
        "node_id node_manager_address node_manager_port node_manager_hostname resources_total labels state "
        "is_head_node state_snapshot"
    ),
    "ray.core.generated.gcs_pb2:ActorTableData": (
        "actor_id name ray_namespace class_name state death_cause node_id address pid placement_group_id "
        "resource_mapping required_resources num_restarts max_restarts job_id timestamp start_time end_time "
        "is_detached serialized_runtime_env"
    ),
    "ray.core.generated.gcs_pb2:PlacementGroupTableData": (
        "placement_group_id name ray_namespace state stats bundles strategy creator_job_id creator_job_dead"
    ),
    "ray.core.generated.gcs_pb2:JobTableData": (
        "job_id is_dead driver_ip_address driver_pid config start_time end_time entrypoint"
    ),
    "ray.core.generated.common_pb2:JobConfig": "ray_namespace metadata py_driver_sys_path",
    "ray.core.generated.gcs_pb2:PlacementGroupStats": (
        "scheduling_state scheduling_attempt creation_request_received_ns"
    ),
    "ray.core.generated.gcs_pb2:AvailableResources": "node_id resources_available",
    "ray.core.generated.common_pb2:Bundle": "node_id unit_resources label_selector",
}
"""Messages, and the fields of each that are read."""

OPTIONAL_ROWS = {
    "ray.core.generated.common_pb2:CoreWorkerStats": (
        "actor_id ip_address job_id num_executed_tasks num_running_tasks pid port used_resources worker_id worker_type"
    ),
    "ray.core.generated.node_manager_pb2:GetNodeStatsReply": "core_workers_stats",
    "ray.core.generated.core_worker_pb2:ExitRequest": "force_exit",
}
"""The same of what raylets say about tasks, and what idle processes are asked. A Ray without it is used all the same:
there, tasks have no names, and a launch may not survive an outage of the head."""

WITHOUT_DRIVER = {"ray._private.services": "find_gcs_addresses"}
WITH_DRIVER = {
    "ray.job_config": "JobConfig",
    "ray.cloudpickle": "cloudpickle",
    "ray.actor": "ActorHandle",
    "ray._private.runtime_env.working_dir": "upload_working_dir_if_needed",
    "ray._private.runtime_env.py_modules": "upload_py_modules_if_needed",
}
IN_TASK = {"ray._private.worker": "global_worker _global_node", "ray.experimental.internal_kv": "_internal_kv_get"}
"""Modules, and what is taken from each: by `client`, by `driver`, and by `remote.internals`."""

_MESSAGES, _STUBS = "ray.core.generated.gcs_service_pb2", "ray.core.generated.gcs_service_pb2_grpc"

Find = Callable[[str], Any]


def missing(find: Find = import_ray) -> list[str]:
    """What of all this there is not; `find` gives the module of a name, or raises ImportError."""
    return [*_missing_names(find), *_missing_calls(find), *_missing_rows(find)]


def missing_optional(find: Find = import_ray) -> list[str]:
    """What there is not of that which can be done without."""
    return list(_missing_rows(find, OPTIONAL_ROWS))


@lru_cache(1)
def require() -> None:
    """Refuse a Ray with which something here does not work."""
    lacking = missing()
    if lacking:
        raise unfit(str(getattr(import_ray(), "__version__", "?")), lacking)


def unfit(version: str, lacking: Sequence[str]) -> NotReady:
    """How to say that a Ray lacks something."""
    names = [f"`{name}`" for name in lacking[:_SHOWN]]
    more = [f"{len(lacking) - _SHOWN} more"] if len(lacking) > _SHOWN else []
    hint = f"reinstall Ray; placetui was tested with Ray {OLDEST} to {NEWEST_KNOWN}"
    if _numbers(version) > _numbers(NEWEST_KNOWN):
        hint = f"get a newer placetui: this one was tested with Ray up to {NEWEST_KNOWN}; plans and checks need no Ray"
    elif _numbers(version) < _numbers(OLDEST):
        hint = f"placetui needs Ray {OLDEST} or newer, here and on the cluster"
    return NotReady(f"Ray {version} lacks interfaces that placetui needs: {listing([*names, *more])}", hint=hint)


def notice(version: str) -> str:
    """What to say about a Ray that is newer than all we know; empty if it is not."""
    if _numbers(version) <= _numbers(NEWEST_KNOWN):
        return ""
    return f"Ray {version} is newer than {NEWEST_KNOWN}, the newest that placetui was tested with"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _missing_names(find: Find) -> Iterator[str]:
    for module, names in {**WITHOUT_DRIVER, **WITH_DRIVER, **IN_TASK}.items():
        found = _find(find, module)
        yield from (f"{module}.{name}" for name in names.split() if not hasattr(found, name))
    # It has moved once already.
    if not any(hasattr(_find(find, f"ray._private.{place}"), "init_grpc_channel") for place in ("grpc_utils", "utils")):
        yield "init_grpc_channel"


def _missing_calls(find: Find) -> Iterator[str]:
    messages, stubs = _find(find, _MESSAGES), _find(find, _STUBS)
    for call in CALLS:
        known = hasattr(stubs, f"{call.service}Stub")
        if not (known and hasattr(getattr(stubs, f"{call.service}Servicer", None), call.method)):
            yield f"{call.service}.{call.method}"
            continue
        yield from _missing_fields(messages, f"{call.method}Request", call.asks)
        yield from _missing_fields(messages, f"{call.method}Reply", f"status {call.replies}")


def _missing_rows(find: Find, rows: Mapping[str, str] = ROWS) -> Iterator[str]:
    for name, fields in rows.items():
        module, _, message = name.partition(":")
        yield from _missing_fields(_find(find, module), message, fields)


def _missing_fields(module: Any, message: str, fields: str) -> Iterator[str]:
    kind = getattr(module, message, None)
    if kind is None:
        yield message
    else:
        yield from (f"{message}.{field}" for field in fields.split() if field not in kind.DESCRIPTOR.fields_by_name)


def _find(find: Find, module: str) -> Any:
    try:
        return find(module)
    except ImportError:
        return None
