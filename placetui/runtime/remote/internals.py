"""Private interfaces of Ray that are used inside a task or an actor."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def gpu_slot() -> int | None:
    """In a task with one GPU: its place in Ray's own books."""
    from ray._private import worker

    this: Any = worker.global_worker
    try:
        books = this.core_worker.resource_ids()
    except AttributeError:
        return None
    slots = {slot for name, parts in books.items() if name.startswith(("GPU", "NPU")) for slot, _ in parts}
    return slots.pop() if len(slots) == 1 else None


def visible_gpus() -> list[str] | None:
    """In a task: the list of GPUs that the node's Ray was started with; None if it was not limited."""
    from ray._private import worker

    found = getattr(worker.global_worker, "original_visible_accelerator_ids", None) or {}
    listed = found.get("GPU") or found.get("NPU")
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
