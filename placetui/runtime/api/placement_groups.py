"""slime's `create_placement_groups`: one group for a job, its bundles in an order that is the same every time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from placetui.frameworks.registry import framework
from placetui.frameworks.slime.arguments import KNOWN_ARGUMENTS, argument_name
from placetui.frameworks.slime.layout import SlimeLayout, read_layout
from placetui.placement.problems import Problems
from placetui.placement.topology import Node
from placetui.placement.wording import count
from placetui.runtime.api.session import DriverSession, connect, embed, find, within
from placetui.runtime.errors import NotPossible
from placetui.runtime.launch.matching import match_by
from placetui.runtime.launch.reserve import reserve
from placetui.runtime.policy import DEFAULT, Deadline

Slots: TypeAlias = "tuple[Any, list[int], list[int | str]]"
"""A placement group, indices of its bundles by slot, and the GPU id of each slot."""


def create_placement_groups(args: Any, *, timeout: float = DEFAULT.launch) -> dict[str, Slots]:
    """Reserve the GPUs of a slime job, and learn which is which.

    Args:
        args: slime's arguments: an object that has them as attributes, or a mapping.
        timeout: seconds that it may take.

    Returns:
        For `actor` and `rollout`, and for `critic` if there is one: the placement group, the indices of its bundles
        by node address and GPU id, and the GPU ids in that order. The lists of `rollout` begin at its first slot.
        Without any GPU the group is None. It ends with the program.

    Raises:
        PlacementError: the arguments contradict each other.
        ClusterError: there is no room, or no cluster.
    """
    layout = _layout(args)
    slots: Slots = (None, [], [])
    if layout.slots:
        slots = _reserve(_session(layout), layout.slots, within(timeout, "wait longer: timeout=SECONDS"))
    group, indices, gpu_ids = slots
    first = layout.rollout_offset
    found = {"actor": slots, "rollout": (group, indices[first:], gpu_ids[first:])}
    return {"actor": slots, "critic": slots, "rollout": found["rollout"]} if layout.critic else found


def _layout(args: Any) -> SlimeLayout:
    given: Mapping[Any, Any] = (
        args
        if isinstance(args, Mapping)
        # Not `vars`: a class may have defaults.
        else {name: getattr(args, name) for name in KNOWN_ARGUMENTS if hasattr(args, name)}
    )
    # A program's arguments hold everything else, too.
    section = {key: value for key, value in given.items() if argument_name(str(key)) in KNOWN_ARGUMENTS}
    problems = Problems()
    layout = read_layout(section, problems)
    problems.raise_if_blocking()
    assert layout
    return layout


def _session(layout: SlimeLayout) -> DriverSession:
    address = find()
    if address:
        return connect(address)
    return embed([Node(layout.num_gpus_per_node)] * layout.assumed_nodes)[0]


def _reserve(session: DriverSession, size: int, deadline: Deadline) -> Slots:
    head = session.head
    # slime's order, also for several raylets of one address and for GPUs that have UUIDs.
    nodes = match_by(framework("slime"), head.nodes()).nodes
    there = sum(node.gpus for node in nodes)
    if there < size:
        raise NotPossible(
            f"the job takes {count(size, 'GPU')}, the cluster has {there}", hint="use fewer GPUs, or start more nodes"
        )
    group, devices = reserve(session.ray, head, [{nodes[0].device: 1, "CPU": 1}] * size, nodes, deadline)
    gpus = [int(one.gpu) if one.gpu.isdecimal() else one.gpu for one in devices]
    return group, [one.bundle for one in devices], gpus
