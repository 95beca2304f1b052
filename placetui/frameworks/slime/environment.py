"""The environment that slime gives to its processes."""

from __future__ import annotations

from placetui.placement.environment import not_set_by_ray

TRAINING = ("actor", "critic")
"""Components that train; the others are engines."""

_NOT_SET_BY_RAY = (
    "CUDA_VISIBLE_DEVICES",
    "MUSA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES",
    "HABANA_VISIBLE_MODULES",
    "NEURON_RT_VISIBLE_CORES",
    "TPU_VISIBLE_CHIPS",
    "ONEAPI_DEVICE_SELECTOR",
)
"""Whatever the vendor: every process sees all devices of its node and chooses by id."""


def environment(component: str) -> dict[str, str]:
    """Variables of a component's ranks, besides those of every rank."""
    found = not_set_by_ray(_NOT_SET_BY_RAY) | {"RAY_USE_UVLOOP": "0"}
    if component in TRAINING:
        found |= {"NCCL_CUMEM_ENABLE": "0", "NVTE_FP8_BLOCK_SCALING_FP32_SCALES": "1"}
    return found
