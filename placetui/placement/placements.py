"""`Placement`: where one process of a component runs and what it sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Literal


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
    # Slots outside the dataclass: neither the node's name nor what is undecided is one of the eleven fields.
    __slots__ = ("_node_id", "_undecided")


@dataclass(frozen=True, slots=True, init=False)
class Placement(_Named):
    """Where one process of a component runs, and what it sees there. Lists that it hands out are copies."""

    rank: int
    """Rank in the component, 0 to world size - 1."""

    cluster_node_rank: int
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

    def __init__(
        self,
        rank: int,
        cluster_node_rank: int,
        placement_node_rank: int,
        local_accelerator_rank: int,
        accelerator_type: str,
        local_rank: int,
        local_world_size: int,
        visible_accelerators: Sequence[str],
        isolate_accelerator: bool,
        local_hardware_ranks: Sequence[int],
        node_group_label: str,
    ) -> None:
        _set_rank(self, rank)
        _set_cluster_node_rank(self, cluster_node_rank)
        _set_placement_node_rank(self, placement_node_rank)
        _set_local_accelerator_rank(self, local_accelerator_rank)
        _set_accelerator_type(self, accelerator_type)
        _set_local_rank(self, local_rank)
        _set_local_world_size(self, local_world_size)
        _set_visible(self, tuple(visible_accelerators))
        _set_isolate_accelerator(self, isolate_accelerator)
        _set_devices(self, tuple(local_hardware_ranks))
        _set_node_group_label(self, node_group_label)

    @property
    def visible(self) -> tuple[str, ...]:
        """`visible_accelerators`, without a copy."""
        return tuple(self.visible_accelerators)  # replaced below by the slot itself

    @property
    def devices(self) -> tuple[int, ...]:
        """`local_hardware_ranks`, without a copy."""
        return tuple(self.local_hardware_ranks)  # replaced below by the slot itself

    @property
    def node_id(self) -> str:
        """Name of the node (older spelling)."""
        return getattr(self, "_node_id", f"node{self.cluster_node_rank}")

    @property
    def fixed(self) -> bool:
        """Whether the framework decides the devices before launch; if not, these are the ones expected of Ray."""
        return not hasattr(self, "_undecided")

    @property
    def node_fixed(self) -> bool:
        """Whether the node is decided before launch; if not, the one here is one that Ray may choose."""
        return getattr(self, "_undecided", None) != "node"

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
        values = tuple(getattr(self, name) for name in FIELDS)
        return _restore, (values, getattr(self, "_node_id", None), getattr(self, "_undecided", None))

    def to_dict(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in FIELDS}
        if not self.fixed:
            found["fixed"] = False
        if not self.node_fixed:
            found["node_fixed"] = False
        return found


FIELDS = tuple(field.name for field in fields(Placement))


def _restore(values: tuple[Any, ...], node_id: str | None, undecided: Literal["device", "node"] | None) -> Placement:
    placement = Placement(*values)
    if node_id is not None:
        set_node_id(placement, node_id)
    if undecided is not None:
        set_undecided(placement, undecided)
    return placement


# The two lists are kept as tuples in their slots; the fields hand out copies.
# Setting a slot directly is quicker than `object.__setattr__`, and there are 100,000 placements.
_slots = Placement.__dict__
_visible, _devices = _slots["visible_accelerators"], _slots["local_hardware_ranks"]
_set_rank = _slots["rank"].__set__
_set_cluster_node_rank = _slots["cluster_node_rank"].__set__
_set_placement_node_rank = _slots["placement_node_rank"].__set__
_set_local_accelerator_rank = _slots["local_accelerator_rank"].__set__
_set_accelerator_type = _slots["accelerator_type"].__set__
_set_local_rank = _slots["local_rank"].__set__
_set_local_world_size = _slots["local_world_size"].__set__
_set_visible = _visible.__set__
_set_isolate_accelerator = _slots["isolate_accelerator"].__set__
_set_devices = _devices.__set__
_set_node_group_label = _slots["node_group_label"].__set__
set_node_id = _Named.__dict__["_node_id"].__set__
"""Give a placement its node's name."""

set_undecided = _Named.__dict__["_undecided"].__set__
"""Say that the framework does not decide the `device` before launch, or neither the device nor the `node`."""


def unfixed(placements: Iterable[Placement]) -> Iterator[Placement]:
    """Those that are not `fixed`, of thousands that mostly are."""
    return (one for one in placements if hasattr(one, "_undecided"))


def _copy_of(slot: Any) -> property:
    return property(lambda self: list(slot.__get__(self)))


Placement.visible_accelerators = _copy_of(_visible)  # type: ignore[assignment,misc]
Placement.local_hardware_ranks = _copy_of(_devices)  # type: ignore[assignment,misc]
Placement.visible, Placement.devices = _visible, _devices  # type: ignore[method-assign]


class Placements(tuple[Placement, ...]):
    """The placements of a component by rank, with room for what is derived from them once."""

    load: tuple[Any, Any] | None = None
    """A topology, and how the devices there are loaded: see `shares`."""
