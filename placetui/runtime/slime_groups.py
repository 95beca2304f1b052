"""slime's `create_placement_groups`: one group for a job, its bundles in an order that is the same every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from placetui.placement.plan import SHARE_UNITS
from placetui.placement.problems import Problems, count, listing
from placetui.placement.slime_args import KNOWN_ARGUMENTS, argument_name
from placetui.placement.slime_layout import SlimeLayout, assumed_nodes, read_slime
from placetui.placement.topology import Node
from placetui.runtime.errors import Refused
from placetui.runtime.feasibility import holders_of, whole_gpus
from placetui.runtime.matching import match_slime
from placetui.runtime.model import RayGroup, Tables, amount
from placetui.runtime.ordering import Probed
from placetui.runtime.probe import probe
from placetui.runtime.reserve import remove
from placetui.runtime.session import Session, connect, embed, find, patience
from placetui.runtime.waiting import Patience

Slots: TypeAlias = "tuple[Any, list[int], list[int | str]]"
"""A placement group, indices of its bundles by slot, and the GPU id of each slot."""

READY_TIMEOUT = 300.0
"""Seconds until the group must stand."""


def create_placement_groups(args: Any, *, timeout: float = READY_TIMEOUT) -> dict[str, Slots]:
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
        slots = _reserve(_session(layout), layout.slots, patience(timeout, "give it longer: timeout=SECONDS"))
    group, indices, gpu_ids = slots
    first = layout.rollout_offset
    found = {"actor": slots, "rollout": (group, indices[first:], gpu_ids[first:])}
    return {"actor": slots, "critic": slots, "rollout": found["rollout"]} if layout.critic else found


def _layout(args: Any) -> SlimeLayout:
    given: Mapping[Any, Any] = args if isinstance(args, Mapping) else _attributes(args)
    # A program's arguments hold everything else, too.
    section = {key: value for key, value in given.items() if argument_name(str(key)) in KNOWN_ARGUMENTS}
    problems = Problems()
    layout = read_slime(section, problems)
    problems.raise_if_blocking()
    assert layout
    return layout


def _attributes(args: Any) -> dict[str, Any]:
    """Slime's arguments of an object, its class's own defaults among them."""
    return {name: getattr(args, name) for name in KNOWN_ARGUMENTS if hasattr(args, name)}


def _session(layout: SlimeLayout) -> Session:
    address = find()
    if address:
        return connect(address)
    return embed([Node(layout.num_gpus_per_node)] * assumed_nodes(layout))[0]


def _reserve(session: Session, size: int, left: Patience) -> Slots:
    from ray.util.placement_group import placement_group

    _check(size, session.head.tables())
    group = placement_group([{"GPU": 1, "CPU": 1}] * size, strategy="PACK")
    number = group.id.hex()
    try:
        made = left.until(lambda: _created(session, number), lambda: _lacking(size, session.head.tables()))
        probed = probe(session.ray, group, [bundle.node for bundle in made.bundles], left)
    except BaseException:
        remove(session.head, number)
        raise
    ordered = _in_order(probed, session)
    return group, [one.bundle for one in ordered], [int(one.gpu) if one.gpu.isdecimal() else one.gpu for one in ordered]


def _in_order(probed: Sequence[Probed], session: Session) -> list[Probed]:
    """By node, then by the GPU's place on it: slime's order, also for several raylets of one address and for UUIDs."""
    nodes = {node.id: rank for rank, node in enumerate(match_slime(session.head.nodes()).nodes)}
    return sorted(probed, key=lambda one: (nodes[one.node], one.position))


def _created(session: Session, number: str) -> RayGroup | None:
    return next((one for one in session.head.groups() if one.id == number and one.state == "CREATED"), None)


def _check(size: int, tables: Tables) -> None:
    there = sum(node.gpus for node in tables.nodes)
    if there < size:
        raise Refused(
            f"the job takes {count(size, 'GPU')}, the cluster has {there}", hint="use fewer GPUs, or start more nodes"
        )


def _lacking(size: int, tables: Tables) -> str:
    free = sum(whole_gpus(node, tables) for node in tables.nodes)
    cpus = sum(tables.free(node.id, "CPU") for node in tables.nodes)
    text = f"it takes {count(size, 'GPU')} and as many CPUs; {free} GPUs and {amount(cpus)} CPUs are free"
    resource = "GPU" if free < size else "CPU"
    holders = [one for node in tables.nodes for one in holders_of(node, resource, tables)]
    short = free < size or cpus < size * SHARE_UNITS
    return f"{text}; held by {listing(holders, 6)}" if short and holders else text
