"""slime-style layouts: slots over the real nodes, and who sits in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from placetui.placement.placements import Placement, set_node_id
from placetui.placement.plan import Component, Rule, Service
from placetui.placement.problems import Path, Problems, count, listing
from placetui.placement.slime_layout import SlimeLayout, assumed_nodes, read_slime, slime_shares
from placetui.placement.topology import CLUSTER, Node

__all__ = ["SlimeLayout", "assumed_nodes", "place_slime", "read_slime", "slime_shares"]

ROLLOUT_MANAGER = "rollout manager"
"""Stands for the manager, its data buffer, lock and router."""

ROLLOUT_MANAGER_CPUS = 2.0
"""One for the manager, one for its lock; both outside the job's placement group."""


def place_slime(
    layout: SlimeLayout, nodes: Sequence[Node], problems: Problems
) -> tuple[dict[str, Component], tuple[Service, ...]]:
    """Put actor, critic and rollout on the nodes.

    What does not fit is a problem and left out; the rest is placed.

    Args:
        layout: Sizes and offsets.
        nodes: The nodes in rank order. Slot k is the k-th GPU over them.
        problems: Receives what is found.

    Returns:
        The components by name, and the processes that slime adds by itself.
    """
    slots = _Slots(nodes, layout.slots)
    components: dict[str, Component] = {}
    if layout.slots > slots.available:
        _report_too_few(layout, nodes, slots.available, problems)
    if layout.trains and layout.actor_gpus <= slots.available:
        components["actor"] = _actor(layout, slots)
        if layout.critic:
            components["critic"] = _critic(layout, slots)
        _check_shape(layout, slots, problems)
    if layout.rolls_out and _rollout_fits(layout, slots, problems):
        components["rollout"] = _rollout(layout, slots)
        _check_gpus_per_node(layout, slots, problems)
    services = (Service(ROLLOUT_MANAGER, 0, ROLLOUT_MANAGER_CPUS),) if layout.rolls_out and nodes else ()
    return components, services


class _Slots:
    """The first slots of a cluster: on which node each is, and as which GPU."""

    def __init__(self, nodes: Sequence[Node], wanted: int) -> None:
        self.nodes = nodes
        self.available = sum(node.gpus for node in nodes)
        self.node: list[int] = []
        self.gpu: list[int] = []
        for rank, node in enumerate(nodes):
            taken = min(node.gpus, wanted - len(self.node))
            if taken <= 0 < node.gpus:
                break
            self.node += [rank] * taken
            self.gpu += range(taken)

    def name(self, node: int) -> str:
        return self.nodes[node].name or f"node{node}"

    def place(self, first: int, size: int, number: int) -> list[Placement]:
        """`number` processes of `size` slots each, from slot `first` on; none crosses nodes."""
        placements: list[Placement] = []
        starts = range(first, first + size * number, size)
        for node_index, (node, on_node) in enumerate(groupby(starts, key=self.node.__getitem__)):
            here = list(on_node)
            name = self.name(node)
            accelerator = self.nodes[node].accelerator_type
            visible = [str(gpu) for gpu in range(self.nodes[node].gpus)]
            for local_rank, start in enumerate(here):
                owned = self.gpu[start : start + size]
                placement = Placement(
                    len(placements),
                    node,
                    node_index,
                    owned[0],
                    accelerator,
                    local_rank,
                    len(here),
                    visible,
                    False,
                    owned,
                    CLUSTER,
                )
                set_node_id(placement, name)
                placements.append(placement)
        return placements

    def by_node(self, first: int, size: int) -> Iterator[tuple[int, list[int]]]:
        """Nodes of some consecutive slots, each with the GPUs."""
        for node, found in groupby(range(first, first + size), key=self.node.__getitem__):
            yield node, [self.gpu[slot] for slot in found]


def _actor(layout: SlimeLayout, slots: _Slots) -> Component:
    ranks = layout.actor_gpus
    reasons = [f"{_shape(layout)} = {count(ranks, 'training rank')}, one on each GPU from slot 0"]
    if layout.mode == "train_only":
        reasons.append("training only: no rollout engines")
    return _component("actor", _shape(layout), _actor_path(layout), slots.place(0, 1, ranks), reasons)


def _critic(layout: SlimeLayout, slots: _Slots) -> Component:
    path = layout.path("critic_num_nodes", "critic_num_gpus_per_node", "advantage_estimator", "use_critic")
    reasons = ["the critic has the actor's size and sits on the actor's slots"]
    return _component("critic", _shape(layout), path, slots.place(0, 1, layout.actor_gpus), reasons)


def _rollout(layout: SlimeLayout, slots: _Slots) -> Component:
    if layout.mode in ("external", "external_rollout_only"):
        path = layout.path("rollout_external_engine_addrs", "rollout_external")
        return _component("rollout", "external engines", path, [], ["external engines take no GPU of this cluster"])
    gpus, engine, parts = layout.rollout_num_gpus, layout.rollout_num_gpus_per_engine, layout.parts_per_engine
    path = layout.path("rollout_num_gpus", "rollout_num_gpus_per_engine", "colocate")
    placements = slots.place(layout.rollout_offset, layout.gpus_per_part, layout.engine_parts)
    return _component(
        "rollout", f"{count(gpus, 'GPU')}, {engine} per engine", path, placements, _rollout_reasons(layout), parts
    )


def _rollout_reasons(layout: SlimeLayout) -> Iterator[str]:
    gpus, engine, parts = layout.rollout_num_gpus, layout.rollout_num_gpus_per_engine, layout.parts_per_engine
    if layout.mode == "colocate":
        yield "colocate: rollout starts at slot 0 and shares the actor's GPUs"
    elif layout.mode == "separate":
        yield f"separate: rollout starts at slot {layout.rollout_offset}, after the training GPUs"
    else:
        yield "rollout only: rollout starts at slot 0, without training; colocate and offloading are off"
    if "rollout_num_gpus" not in layout.written:
        yield f"rollout_num_gpus is not given: the actor's {gpus}"
    if not gpus:
        yield "no GPUs for rollout: only a router, no engines"
        return
    yield f"{count(gpus, 'GPU')} / {engine} per engine = {count(gpus // engine, 'engine')}"
    if parts > 1:
        yield (
            f"an engine of {engine} GPUs spans {parts} nodes of {layout.num_gpus_per_node}: "
            f"rank r is part r mod {parts} of engine r // {parts}"
        )


def _component(
    name: str,
    text: str,
    path: Path,
    placements: Sequence[Placement],
    reasons: Sequence[str] | Iterator[str],
    parts: int = 1,
) -> Component:
    rule = Rule(text=text, path=path, keys=(name,))
    return Component(name, rule, "packed", placements, reasons=tuple(reasons), parts_per_engine=parts)


def _shape(layout: SlimeLayout) -> str:
    return f"{count(layout.actor_num_nodes, 'node')} x {count(layout.actor_num_gpus_per_node, 'GPU')}"


def _actor_path(layout: SlimeLayout) -> Path:
    return layout.path("actor_num_nodes", "actor_num_gpus_per_node")


def _report_too_few(layout: SlimeLayout, nodes: Sequence[Node], available: int, problems: Problems) -> None:
    training, rollout = layout.actor_gpus, layout.rollout_num_gpus
    parts = {
        "colocate": f"the larger of {training} for training and {rollout} for rollout, which share them",
        "separate": f"{training} for training and {rollout} for rollout",
        "rollout_only": "for rollout",
    }.get(layout.mode, "for training")
    actor_is_short = training > available and layout.mode != "rollout_only"
    if actor_is_short:
        hint = f"make training {count(available, 'GPU')} or fewer"
    else:
        engine = layout.rollout_num_gpus_per_engine
        room = (available - layout.rollout_offset) // engine * engine
        hint = f"write `rollout_num_gpus: {room}`" if room > 0 else "make room for rollout"
        if layout.mode == "separate":
            hint += ", or `colocate: true` to share the GPUs of training"
    problems.error(
        "slime_not_enough_gpus",
        f"the job takes {count(layout.slots, 'GPU')} ({parts}), but {count(len(nodes), 'node')} "
        f"{'has' if len(nodes) == 1 else 'have'} {available}",
        hint=f"{hint}; or use a larger cluster",
        path=_actor_path(layout) if actor_is_short else layout.path("rollout_num_gpus"),
        component="actor" if actor_is_short else "rollout",
    )


def _check_shape(layout: SlimeLayout, slots: _Slots, problems: Problems) -> None:
    """Warn: slime reads nodes x GPUs as a product only; the author may have meant the nodes."""
    real = [(node, len(gpus)) for node, gpus in slots.by_node(0, layout.actor_gpus)]
    if [gpus for _, gpus in real] == [layout.actor_num_gpus_per_node] * layout.actor_num_nodes:
        return
    sizes = {gpus for _, gpus in real}
    problems.warning(
        "slime_packs_nodes",
        f"training asks for {_shape(layout)}, but slots fill the nodes in order: "
        f"its ranks sit on {listing((f'{slots.name(node)} ({gpus})' for node, gpus in real), most=4)}",
        hint=(
            f"if that is meant, write `actor_num_nodes: {len(real)}` and `actor_num_gpus_per_node: {sizes.pop()}`"
            if len(sizes) == 1
            else "let training take whole nodes"
        ),
        path=_actor_path(layout),
        component="actor",
    )


def _rollout_fits(layout: SlimeLayout, slots: _Slots, problems: Problems) -> bool:
    """Whether there are slots for all engines, and no part of one needs GPUs of two nodes."""
    first, size = layout.rollout_offset, layout.gpus_per_part
    if layout.rollout_num_gpus and first + layout.rollout_num_gpus > slots.available:
        return False
    starts = range(first, first + size * layout.engine_parts, size)
    crossing = [start for start in starts if slots.node[start] != slots.node[start + size - 1]]
    if not crossing:
        return True
    pieces = list(slots.by_node(crossing[0], size))
    where = listing(f"{_gpu_range(gpus)} of {slots.name(node)}" for node, gpus in pieces)
    engine, part = divmod((crossing[0] - first) // size, layout.parts_per_engine)
    who = f"engine {engine}" + (f" part {part}" if layout.parts_per_engine > 1 else "")
    more = f" (and {len(crossing) - 1} more like it)" if len(crossing) > 1 else ""
    smallest = min(slots.nodes[node].gpus for node, _ in pieces)
    if size > smallest:
        hint = f"write `num_gpus_per_node: {smallest}`, or at most {smallest} as `rollout_num_gpus_per_engine`"
    elif first % size:
        hint = f"rollout starts at slot {first}: let training take a multiple of {size} GPUs, or make engines smaller"
    else:
        hint = f"write a `rollout_num_gpus_per_engine` that divides the {smallest} GPUs of a node"
    problems.error(
        "process_across_nodes",
        f"{who} would take {where}{more}; what runs as one process must stay on one node",
        hint=hint,
        path=layout.path("rollout_num_gpus_per_engine", "rollout_num_gpus", "colocate"),
        component="rollout",
    )
    return False


def _gpu_range(gpus: Sequence[int]) -> str:
    return f"GPU {gpus[0]}" if len(gpus) == 1 else f"GPUs {gpus[0]}-{gpus[-1]}"


def _check_gpus_per_node(layout: SlimeLayout, slots: _Slots, problems: Problems) -> None:
    """Warn: slime finds the hosts of engines by `num_gpus_per_node`, right or wrong."""
    assumed = layout.num_gpus_per_node
    used = [(node, len(gpus)) for node, gpus in slots.by_node(layout.rollout_offset, layout.rollout_num_gpus)]
    other = [node for node, _ in used if slots.nodes[node].gpus != assumed]
    # Engines that slime counts as one node's, and that are, get the right address whatever the node has.
    if not other or (len(used) == 1 and used[0][1] <= assumed):
        return
    sizes = sorted({slots.nodes[node].gpus for node, _ in used})
    given = "" if "num_gpus_per_node" in layout.written else " (the default)"
    problems.warning(
        "slime_gpus_per_node",
        f"`num_gpus_per_node` is {assumed}{given}, but {listing((slots.name(node) for node in other), most=4)} "
        f"{'has' if len(other) == 1 else 'have'} {listing(sorted({slots.nodes[node].gpus for node in other}))} GPUs: "
        "slime spreads engines and their addresses by this number",
        hint=f"write `num_gpus_per_node: {sizes[0]}`" if len(sizes) == 1 else "use nodes of one size for rollout",
        path=layout.path("num_gpus_per_node"),
        component="rollout",
    )
