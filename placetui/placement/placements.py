"""`Placement`: where one process of a component runs and what it sees."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any


class AcceleratorType(str, Enum):
    """Kinds of accelerator a node can have; a node has one kind at most."""

    NV_GPU = "NV_GPU"
    AMD_GPU = "AMD_GPU"
    INTEL_GPU = "INTEL_GPU"
    NPU = "NPU"
    MUSA_GPU = "MUSA_GPU"
    KUNLUN_XPU = "KUNLUN_XPU"
    NO_ACCEL = "NO_ACCEL"


class PlacementMode(Enum):
    """How the components of a job share the accelerators."""

    COLLOCATED = "collocated"
    DISAGGREGATED = "disaggregated"
    HYBRID = "hybrid"
    AUTO = "auto"


class _Named:
    # A slot outside the dataclass: the node's name is not one of the eleven fields.
    __slots__ = ("_node_id",)


@dataclass(frozen=True, slots=True)
class Placement(_Named):
    """Where one process of a component runs, and what it sees there."""

    rank: int
    """Rank in the component, 0 to world size - 1."""

    cluster_node_rank: int
    """Rank of the node in the cluster."""

    placement_node_rank: int
    """Rank of the node among those that this component uses."""

    local_accelerator_rank: int
    """First accelerator that the process sees, -1 if none."""

    accelerator_type: str
    """An `AcceleratorType` value, of the node."""

    local_rank: int
    """Position among this component's processes on the node."""

    local_world_size: int
    """Number of this component's processes on the node."""

    visible_accelerators: list[str]
    """What the process sees: contents of CUDA_VISIBLE_DEVICES and its kin."""

    isolate_accelerator: bool
    """Whether a process sees only the accelerators it owns."""

    local_hardware_ranks: list[int]
    """What the process owns: device indices within the node; empty on a node."""

    node_group_label: str
    """Node group of its first device."""

    @property
    def node_id(self) -> str:
        """Name of the node (older spelling)."""
        return getattr(self, "_node_id", f"node{self.cluster_node_rank}")

    @property
    def node_rank(self) -> int:
        """Older spelling of `cluster_node_rank`; the variable NODE_RANK is `placement_node_rank`."""
        return self.cluster_node_rank

    @property
    def local_gpu_id(self) -> int:
        """Older spelling of `local_accelerator_rank`."""
        return self.local_accelerator_rank

    @property
    def cuda_visible_devices(self) -> list[str]:
        """Older spelling of `visible_accelerators`."""
        return self.visible_accelerators

    @property
    def isolate_gpu(self) -> bool:
        """Older spelling of `isolate_accelerator`."""
        return self.isolate_accelerator

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (tuple(getattr(self, name) for name in FIELDS), getattr(self, "_node_id", None))

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}


FIELDS = tuple(field.name for field in fields(Placement))


def _restore(values: tuple[Any, ...], node_id: str | None) -> Placement:
    placement = Placement(*values)
    if node_id is not None:
        set_node_id(placement, node_id)
    return placement


set_node_id = _Named.__dict__["_node_id"].__set__
"""Give a placement its node's name; quicker than `object.__setattr__`."""
