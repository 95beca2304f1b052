"""What goes wrong in slime itself: layouts that it accepts, and that then do not start or use other GPUs than meant."""

from __future__ import annotations

from collections.abc import Callable

from placetui.frameworks.slime.groups import ServerGroup
from placetui.frameworks.slime.layout import SlimeLayout
from placetui.frameworks.slime.slots import Slots
from placetui.placement.problems import Problems
from placetui.placement.wording import count, listing, ranges


def check_gpu_ids(slots: Slots, layout: SlimeLayout, problems: Problems) -> None:
    """What slime makes of the nodes themselves: ids that are no numbers, and addresses that two nodes share."""
    at = problems.at(layout.path("actor_num_nodes", "rollout_num_gpus", "colocate"))
    for rank, ids in enumerate(slots.ids):
        odd = [one for one in ids if not str(one).isdecimal()]
        if odd:
            at.error(
                "slime_gpu_id_not_a_number",
                f"the GPU ids of {slots.name(rank)} are not numbers ({listing(odd, most=3)}): slime cannot sort them",
                hint="start the raylet with numbers in CUDA_VISIBLE_DEVICES, not with UUIDs or MIG slices",
            )
        elif layout.orders_ids_as_text and list(ids) != sorted(ids, key=int):
            at.warning(
                "miles_text_order",
                f"the GPU ids of {slots.name(rank)} come as text, and Miles sorts them so: {listing(ids, most=6)}",
                hint="start the raylet without CUDA_VISIBLE_DEVICES on nodes of more than 10 GPUs",
            )
    addresses = [node.ip for node in slots.nodes if node.ip and node.gpus]
    if twice := sorted({one for one in addresses if addresses.count(one) > 1}):
        at.warning(
            "slime_same_address",
            f"several nodes have the address {listing(twice)}: slime mixes their GPUs, the first of each, then the "
            "second of each",
            hint="run one raylet on each address",
        )


def warn_of_numa(layout: SlimeLayout, slots: Slots, problems: Problems) -> None:
    """Warn: slime binds a training rank to the NUMA node of GPU rank mod `num_gpus_per_node`."""
    node = layout.num_gpus_per_node
    wrong = [rank for rank in range(layout.actor_gpus) if rank % node != slots.gpu[rank]]
    if wrong:
        problems.at(layout.path("num_gpus_per_node"), component="actor").warning(
            "slime_numa_affinity",
            f"training ranks {ranges(wrong)} are bound to the NUMA node of another GPU: slime assumes that a node has "
            f"{count(node, 'GPU')} (`num_gpus_per_node`)",
            hint="write the real `num_gpus_per_node`, and use nodes of one size",
        )


def warn_of_defects(layout: SlimeLayout, slots: Slots, problems: Problems) -> None:
    """Warn of engines that slime gives the wrong address, the wrong rank, other GPUs or too few."""
    node_of = slots.node.__getitem__
    at = problems.at(
        layout.path(
            "sglang_config", "prefill_num_servers", "rollout_num_gpus_per_engine", "rollout_num_gpus", "colocate"
        ),
        component="rollout",
    )
    node = layout.num_gpus_per_node
    for group in filter(lambda one: one.runs, layout.groups):
        engine, part, spare = group.num_gpus_per_engine, group.gpus_per_part, group.num_gpus % group.gpus_per_part
        name = layout.group_name(group)
        who = f" of group {name}" if name else ""
        if spare:
            used = f"leave {spare} of {count(group.num_gpus, 'GPU')} unused" if group.ranks else "need more than it has"
            at.warning(
                "slime_spare_gpus",
                f"engines of {count(engine, 'GPU')}{who} {used}; slime does not report it",
                hint=f"give the group a multiple of {part} GPUs",
            )
        if engine > node and engine % node:
            at.warning(
                "slime_engine_not_whole_nodes",
                f"an engine of {engine} GPUs{who} does not fill whole nodes of {node} (`num_gpus_per_node`): "
                "each part asks for all of them on its own node",
                hint=f"use engines of {engine // node * node} or {engine // node * node + node} GPUs",
            )
        if incomplete := incomplete_engine(group):
            at.warning(
                "slime_incomplete_engine",
                f"the last engine{who} has {len(incomplete)} of its {group.parts_per_engine} parts, and waits forever",
                hint=f"give the group a multiple of {engine} GPUs",
            )
        if shifted_node_ranks(group):
            at.warning(
                "slime_node_rank_shifted",
                f"engines{who} begin at rank {group.first_rank}, no multiple of their {group.parts_per_engine} parts: "
                "the part that the others wait for is not the first, and no engine starts",
                hint="put this group before the others, or a placeholder that fills up the ranks",
            )
        if wrong := wrong_hosts(group, node_of):
            at.warning(
                "slime_wrong_host",
                f"slime gives {count(len(wrong), 'engine')}{who} the address of another node (ranks {ranges(wrong)}): "
                "they cannot bind it, or hang",
                hint="let rollout and its groups begin at a node's first GPU, and write the real `num_gpus_per_node`",
            )
        if gaps := not_consecutive(group, slots.gpu_id):
            at.warning(
                "slime_devices_not_consecutive",
                f"the GPU ids of {count(len(gaps), 'engine')}{who} have gaps (ranks {ranges(gaps)}): SGLang counts on "
                "from the first one, and takes GPUs that it was not given",
                hint="let no other job hold GPUs in between, or use engines of one GPU",
            )
    names = [model.name for model in layout.models]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        at.warning(
            "slime_model_twice",
            f"several models are called {listing(twice)}: only the last of them gets weights and is watched",
            hint="give each model its own name",
        )


def wrong_hosts(group: ServerGroup, node_of: Callable[[int], int]) -> list[int]:
    """Ranks, as slime counts them, of engines on another node than the first of their block, whose address they get."""
    if group.num_gpus_per_engine > group.num_gpus_per_node:
        return []
    block = max(1, group.num_gpus_per_node // group.num_gpus_per_engine)
    starts = group.starts
    return [
        group.first_rank + index
        for index, start in enumerate(starts)
        if node_of(start) != node_of(starts[index - index % block])
    ]


def not_consecutive(group: ServerGroup, gpu_id: Callable[[int], int | str]) -> list[int]:
    """Ranks, as slime counts them, of engine parts whose GPU ids do not follow each other."""
    found: list[int] = []
    for rank, start in enumerate(group.starts, group.first_rank):
        ids = [gpu_id(slot) for slot in range(start, start + group.gpus_per_part)]
        numbers = [int(one) for one in ids if str(one).isdecimal()]
        if numbers and numbers != list(range(numbers[0], numbers[0] + len(ids))):
            found.append(rank)
    return found


def shifted_node_ranks(group: ServerGroup) -> list[int]:
    """Ranks, as slime counts them, whose place in the engine is not what slime makes of the global rank."""
    return list(_ranks(group)) if group.first_rank % group.parts_per_engine else []


def incomplete_engine(group: ServerGroup) -> list[int]:
    """Ranks, as slime counts them, of a last engine that lacks parts."""
    ranks = _ranks(group)
    return list(ranks[len(ranks) - len(ranks) % group.parts_per_engine :])


def _ranks(group: ServerGroup) -> range:
    return range(group.first_rank, group.first_rank + len(group.starts))
