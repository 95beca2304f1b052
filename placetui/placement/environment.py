"""The environment of a rank: what a process of a plan finds in its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from placetui.placement.placements import AcceleratorType, Placement
from placetui.placement.plan import GPU, Plan
from placetui.placement.topology import EnvConfig

NAMESPACE = "placetui"
"""Ray namespace of everything that is started from a plan."""

NOSET = "RAY_EXPERIMENTAL_NOSET_"
"""Before the name of a variable: Ray must not set it."""

_VISIBLE_DEVICES = {
    AcceleratorType.NV_GPU: ("CUDA_VISIBLE_DEVICES",),
    AcceleratorType.AMD_GPU: ("HIP_VISIBLE_DEVICES",),
    AcceleratorType.NPU: ("ASCEND_RT_VISIBLE_DEVICES",),
    AcceleratorType.INTEL_GPU: ("ONEAPI_DEVICE_SELECTOR",),
    AcceleratorType.MUSA_GPU: ("MUSA_VISIBLE_DEVICES",),
    AcceleratorType.KUNLUN_XPU: ("CUDA_VISIBLE_DEVICES",),
    AcceleratorType.NO_ACCEL: (),
}
"""Where a vendor's libraries look for the devices that a process may use."""

_NOT_SET_BY_RAY = {
    **_VISIBLE_DEVICES,
    AcceleratorType.AMD_GPU: ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
}


def rank_environment(
    plan: Plan,
    component: str,
    rank: int,
    *,
    job: str | None = None,
    addresses: Sequence[str] | None = None,
    model: str | None = None,
    master_port: int | None = None,
) -> dict[str, str]:
    """Variables that placetui gives to one rank, on top of what its node has.

    What is not given is left out: `model` of the node's accelerators, the port that rank 0 chose. Without `addresses`
    of the nodes by rank, MASTER_ADDR is what the plan knows: a node's address, else its name.
    """
    placements = plan.components[component].placements
    placement = placements[rank]
    head = placements[0].cluster_node_rank
    environment = dict(_configured(plan, component, placement))
    environment |= {
        "GROUP_NAME": component,
        "WORKER_NAME": worker_name(component, rank, job),
        "MASTER_ADDR": addresses[head] if addresses is not None else plan.nodes[head].ip or plan.nodes[head].name,
    }
    if master_port is not None:
        environment["MASTER_PORT"] = str(master_port)
    environment |= {
        "WORLD_SIZE": str(len(placements)),
        "RANK": str(rank),
        "NODE_RANK": str(placement.placement_node_rank),
        "CLUSTER_NODE_RANK": str(placement.cluster_node_rank),
        "LOCAL_ACCELERATOR_RANK": str(placement.local_accelerator_rank),
        "NODE_LOCAL_RANK": str(placement.local_rank),
        "NODE_LOCAL_WORLD_SIZE": str(placement.local_world_size),
        **_local_rank(plan, placement),
        "RAY_ACTOR": "1",
        "CLUSTER_NAMESPACE": NAMESPACE,
        "CATCH_SYSTEM_FAILURE": "0",
        "VISIBLE_DEVICES": ",".join(placement.visible),
        "ACCELERATOR_TYPE": placement.accelerator_type,
    }
    if placement.accelerator_type == AcceleratorType.NO_ACCEL.value:
        environment["ACCELERATOR_MODEL"] = ""
    elif model is not None:
        environment["ACCELERATOR_MODEL"] = f"{placement.accelerator_type}:{model}"
    environment |= {
        "ISOLATE_ACCELERATOR": str(int(placement.isolate_accelerator)),
        "LOCAL_HARDWARE_RANKS": ",".join(map(str, placement.devices)),
        "NODE_GROUP_LABEL": placement.node_group_label,
    }
    vendor = {} if plan.chooses_by_id else _vendor(placement)
    return {**environment, **vendor, **plan.components[component].environment}


def interpreter(plan: Plan, component: str, rank: int) -> str | None:
    """The Python that the rank's node group asks for on its node; None for the one that runs Ray there."""
    config = _env_config(plan, plan.components[component].placements[rank])
    return config.python_interpreter_path if config else None


def worker_name(component: str, rank: int, job: str | None = None) -> str:
    """`JOB/actor:0`: the name of a rank's actor."""
    return f"{job}/{component}:{rank}" if job else f"{component}:{rank}"


def visible_devices_variable(accelerator_type: str) -> str | None:
    """The variable that names the visible devices for a vendor's libraries; None without accelerators."""
    return next(iter(_VISIBLE_DEVICES[AcceleratorType(accelerator_type)]), None)


def _configured(plan: Plan, component: str, placement: Placement) -> dict[str, str]:
    """What the file sets: for the node group, then for the component."""
    config = _env_config(plan, placement)
    own = plan.launch.get(component, {}).get("env")
    found = dict(config.env_vars) if config else {}
    if isinstance(own, Mapping):
        found |= {str(name): str(value) for name, value in own.items()}
    return found


def _env_config(plan: Plan, placement: Placement) -> EnvConfig | None:
    group = plan.topology.groups.get(placement.node_group_label)
    configs = group.env_configs if group else ()
    return next((one for one in configs if placement.cluster_node_rank in one.node_ranks), None)


def _local_rank(plan: Plan, placement: Placement) -> dict[str, str]:
    """What launchers of PyTorch set: the device to choose among the visible ones."""
    if placement.isolate_accelerator:
        rank, size = 0, 1
    else:
        owned = placement.devices if plan.kind_of(placement) == GPU else ()
        rank, size = owned[0] if owned else 0, placement.local_world_size
    return {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)}


def _vendor(placement: Placement) -> dict[str, str]:
    kind = AcceleratorType(placement.accelerator_type)
    visible = ",".join(placement.visible)
    if kind is AcceleratorType.INTEL_GPU:
        visible = f"level_zero:{visible}"
    found = dict.fromkeys(_VISIBLE_DEVICES[kind], visible) | not_set_by_ray(_NOT_SET_BY_RAY[kind])
    if kind is AcceleratorType.NV_GPU:
        if placement.visible:
            first = placement.visible[0]
            found |= {"MUJOCO_EGL_DEVICE_ID": first, "EGL_DEVICE_ID": first}
        found |= {"NCCL_CUMEM_ENABLE": "0", "TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}
    return found


def not_set_by_ray(variables: Sequence[str]) -> dict[str, str]:
    """Ray must leave these variables alone."""
    return {f"{NOSET}{variable}": "1" for variable in variables}
