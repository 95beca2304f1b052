"""Sizes of a verl file as the grid changes them, and the sections of a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.frameworks.new_job import JobSize, Layout
from placetui.frameworks.verl.config import NodesAsked, ReplicaSize, VerlJob
from placetui.placement.config.reader import Reader
from placetui.placement.edits import Edit, EditRefused, Operation, Refusal, Resize, SetValue, Spread
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Problems
from placetui.placement.wording import count

_ONLY_SIZES = "Ray chooses the GPUs of a verl job: grow or shrink a pool, or change the size of a replica"


def edit(plan: Plan, operation: Operation, config: Mapping[str, Any]) -> Edit:
    """What an operation changes in the file; raises `EditRefused` where verl has no key for it."""
    if not isinstance(operation, Resize | Spread):
        raise EditRefused("a verl file does not say which GPU a process is on", _ONLY_SIZES)
    job = VerlJob(Reader(config, Problems()), Problems())
    name = operation.component
    if name not in plan.components:
        raise EditRefused(f"the plan has no component `{name}`")
    if isinstance(operation, Spread):
        return _replica_size(job, name, operation)
    asked = _pool(job, name)
    if asked is None:
        raise EditRefused(f"`{name}` has the GPUs of training", "resize the training component instead")
    whole_nodes = asked.nodes > 1
    now = asked.nodes if whole_nodes else asked.gpus
    wanted = now + operation.by
    noun = "node" if whole_nodes else "GPU"
    if wanted < 1:
        raise EditRefused(f"`{name}` has {count(now, noun)} already")
    path = (*asked.path, "nnodes" if whole_nodes else "n_gpus_per_node")
    return Edit(f"{name}: {count(wanted, noun)}", (SetValue(path, wanted),), free=True)


def _pool(job: VerlJob, component: str) -> NodesAsked | None:
    """The pool whose size a component has; None for replicas on the GPUs of training."""
    if component == "rollout":
        return job.standalone
    if component == "reward_model":
        return job.reward.asked if job.reward.own_pool else None
    return job.distillation if component.startswith("teacher:") else job.training


def _replica_size(job: VerlJob, component: str, operation: Spread) -> Edit:
    size = _replica(job, component)
    if size is None or operation.processes_per_device != 1:
        raise EditRefused(f"verl has one process of `{component}` on each GPU")
    wanted = operation.devices_per_process
    path: Path = (*size.path, "tensor_model_parallel_size")
    if wanted % (size.data * size.pipeline):
        raise EditRefused(f"{wanted} GPUs are no multiple of the data parallel size, {size.data}")
    tensor = wanted // (size.data * size.pipeline)
    return Edit(f"{component}: {count(wanted, 'GPU')} per replica", (SetValue(path, tensor),), free=True)


def _replica(job: VerlJob, component: str) -> ReplicaSize | None:
    if component == "rollout":
        return job.rollout
    if component == "reward_model":
        return job.reward.replica
    return next((one.replica for one in job.teachers if component == f"teacher:{one.key}"), None)


def template(layout: Layout, size: JobSize) -> Mapping[str, Any] | Refusal:
    """Fused processes on every node; or training and standalone rollout on their own nodes, or on halves of one."""
    if misfit := size.misfit(layout, spans_nodes=True):
        return misfit
    training, rollout = size.split(layout)
    each = size.gpus_per_node
    sections: dict[str, Any] = {"trainer": _nodes(training, each), "algorithm": {"adv_estimator": "grpo"}}
    serving: dict[str, Any] = {"name": "vllm", "tensor_model_parallel_size": size.per_engine}
    if layout == "disaggregated":
        if size.nodes > 1 and (training % each or rollout % each):
            hint = f"give training a multiple of {each} GPUs"
            return Refusal("verl asks for whole nodes of training and of rollout", hint)
        sections["trainer"] |= {"v1": {"trainer_mode": "separate_async"}}
        serving |= {**_nodes(rollout, each), "checkpoint_engine": {"backend": "nccl"}}
        sections["actor_rollout_ref"] = {"hybrid_engine": False, "rollout": serving}
    else:
        sections["actor_rollout_ref"] = {"rollout": serving}
    return sections


def _nodes(gpus: int, each: int) -> dict[str, Any]:
    nodes = max(1, gpus // each)
    return {"nnodes": nodes, "n_gpus_per_node": gpus // nodes}
