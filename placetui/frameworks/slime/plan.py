"""Who sits where in a slime job: slots over the real nodes, and the processes in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from placetui.frameworks.base import PlanOptions
from placetui.frameworks.slime.arguments import SECTION, shown
from placetui.frameworks.slime.defects import check_gpu_ids, warn_of_defects, warn_of_numa
from placetui.frameworks.slime.layout import VERSIONS, Derivation, SlimeLayout, Version, read_layout
from placetui.frameworks.slime.slots import Slots
from placetui.placement.config.reader import Reader, Unresolved
from placetui.placement.config.settings import SECTION as SETTINGS
from placetui.placement.environment import not_set_by_ray
from placetui.placement.placements import Placement
from placetui.placement.plan import Component, Plan, RankOfEngine, Rule, Service
from placetui.placement.problems import Path, Problems
from placetui.placement.topology import Node, Topology
from placetui.placement.wording import count, listing, quoted

ROLLOUT_MANAGER = "rollout manager"
"""Stands for the manager, its data buffer, lock and router."""

ROLLOUT_MANAGER_CPUS = 2.0
"""One for the manager, one for its lock; both outside the job's placement group."""

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


def plan_slime(
    reader: Reader,
    options: PlanOptions,
    problems: Problems,
    framework: str,
    derivation: type[Derivation],
) -> Plan:
    """Every component on its slots; without a layout, only the nodes."""
    section = reader.get(SECTION, default=None)
    version = read_version(reader, problems)
    if isinstance(section, Mapping):
        section = {**section, **{str(path[-1]): content for path, content in options.files.items()}}
    layout = None if isinstance(section, Unresolved) else read_layout(section, problems, version, derivation)
    nodes, topology_source = options.nodes, options.topology_source
    if nodes is None:
        topology_source = "assumed"
        nodes = (Node(8),) if layout is None else (Node(layout.num_gpus_per_node),) * layout.assumed_nodes
    plan = Plan(
        source=options.source,
        framework=framework,
        mode=framework,
        placement_mode=None,
        topology_source=topology_source,
        topology=Topology(nodes),
        chooses_by_id=True,
    )
    if layout is None:
        return plan
    has_manager = nodes and (layout.rolls_out or layout.version == "head")
    manager = (Service(ROLLOUT_MANAGER, 0, ROLLOUT_MANAGER_CPUS),) if has_manager else ()
    return replace(plan, components=place(layout, nodes, problems), services=manager, reserved=layout.slots)


def read_version(reader: Reader, problems: Problems) -> Version:
    """Which slime the file is for."""
    path = (SETTINGS, "slime_version")
    given = reader.get(*path, default=VERSIONS[0])
    if given in VERSIONS or isinstance(given, Unresolved):
        return next((version for version in VERSIONS if version == given), VERSIONS[0])
    hint = f"write one of {listing(quoted(VERSIONS))}"
    problems.at(path).error("slime_version_unknown", f"{shown(given)} is not a known slime version", hint=hint)
    return VERSIONS[0]


def place(layout: SlimeLayout, nodes: Sequence[Node], problems: Problems) -> dict[str, Component]:
    """Actor, critic and rollout on the nodes in rank order; what does not fit is a problem and left out."""
    slots = Slots(nodes, layout.slots, by_text=layout.orders_ids_as_text)
    check_gpu_ids(slots, layout, problems)
    components: dict[str, Component] = {}
    if layout.slots > slots.available:
        _report_too_few(layout, slots, problems)
    if layout.trains and layout.actor_gpus <= slots.available:
        components["actor"] = _actor(layout, slots)
        if layout.critic:
            components["critic"] = _critic(layout, slots)
        _check_shape(layout, slots, problems)
        if layout.version == "head":
            warn_of_numa(layout, slots, problems)
    if layout.rolls_out and _rollout_fits(layout, slots, problems):
        components["rollout"] = _rollout(layout, slots)
        if layout.version == "head":
            warn_of_defects(layout, slots, problems)
        else:
            _check_gpus_per_node(layout, slots, problems)
    return components


def _actor(layout: SlimeLayout, slots: Slots) -> Component:
    ranks = layout.actor_gpus
    reasons = [f"{_shape(layout)} = {count(ranks, 'training rank')}, one on each GPU from slot 0"]
    if layout.cells > 1:
        each = count(ranks // layout.cells, "rank")
        reasons.append(f"{layout.cells} cells of {each}, on consecutive slots: inside, ranks count from 0 in each cell")
    if layout.mode == "train_only":
        reasons.append("training only: no rollout engines")
    if layout.mode in ("rollout_only", "external_rollout_only"):
        reasons.append("rollout only: the ranks load nothing, but slime starts them")
    if layout.version == "head":
        reasons.append("training reserves 0.4 of a GPU, with or without a critic, as in current slime")
    else:
        reasons.append("shares as in slime until 2025-09; `placetui.slime_version: head` gives those of today")
    return _component(
        "actor", _shape(layout), _actor_path(layout), _training(layout.actor_gpus, slots), reasons, layout
    )


def _critic(layout: SlimeLayout, slots: Slots) -> Component:
    path = layout.path("critic_num_nodes", "critic_num_gpus_per_node", "advantage_estimator", "use_critic")
    reasons = ["the critic has the actor's size and uses the actor's slots"]
    return _component("critic", _shape(layout), path, _training(layout.critic_gpus, slots), reasons, layout)


def _training(ranks: int, slots: Slots) -> list[Placement]:
    return slots.place(range(slot, slot + 1) for slot in range(ranks))


def _rollout(layout: SlimeLayout, slots: Slots) -> Component:
    if layout.mode in ("external", "external_rollout_only"):
        path = layout.path("rollout_external_engine_addrs", "rollout_external")
        reasons = ["external engines take no GPU of this cluster"]
        return _component("rollout", "external engines", path, [], reasons, layout)
    gpus, engine = layout.rollout_num_gpus, layout.rollout_num_gpus_per_engine
    path = layout.path("sglang_config", "rollout_num_gpus", "rollout_num_gpus_per_engine", "colocate")
    placements = slots.place(
        range(start, start + group.gpus_per_part) for group in layout.groups for start in group.starts
    )
    text = f"{count(gpus, 'GPU')}, {engine} per engine"
    if len(layout.groups) > 1:
        text = f"{count(gpus, 'GPU')} in {count(len(layout.groups), 'server group')}"
    rollout = _component("rollout", text, path, placements, _rollout_reasons(layout), layout)
    return replace(rollout, engines=tuple(_engines(layout)))


def _engines(layout: SlimeLayout) -> Iterator[RankOfEngine]:
    """Of each rank; groups are named unless all engines are alike."""
    first = rank = 0
    for group in layout.groups:
        parts, name = group.parts_per_engine, layout.group_name(group)
        for index in range(len(group.starts)):
            number = group.first_rank + index
            place = first + index // parts, index % parts, parts
            yield RankOfEngine(*place, name, number if number != rank else None)
            rank += 1
        first += -(-len(group.starts) // parts)


def _rollout_reasons(layout: SlimeLayout) -> Iterator[str]:
    gpus = layout.rollout_num_gpus
    if layout.mode == "colocate":
        yield "colocate: rollout starts at slot 0 and shares the actor's GPUs"
    elif layout.mode == "separate":
        yield f"separate: rollout starts at slot {layout.rollout_offset}, after the training GPUs"
    else:
        yield "rollout only: rollout starts at slot 0, without training; colocate and offloading are off"
    if "rollout_num_gpus" not in layout.arguments.written:
        yield f"rollout_num_gpus is not given: the actor's {gpus}"
    if not gpus:
        yield "no GPUs for rollout: only a router, no engines"
    if len(layout.models) > 1:
        yield f"{len(layout.models)} models, each behind a router of its own on the rollout manager's node"
    for group in layout.groups:
        gpus, engine, parts = group.num_gpus, group.num_gpus_per_engine, group.parts_per_engine
        name = layout.group_name(group)
        head = f"{name} from slot {group.first_slot}: " if name else ""
        if not group.runs:
            yield f"{head}{count(gpus, 'GPU')} left free"
            continue
        rest = ", offloaded while training runs" if name and group.offload else ""
        yield f"{head}{count(gpus, 'GPU')} / {engine} per engine = {count(gpus // engine, 'engine')}{rest}"
        if parts > 1:
            yield (
                f"an engine of {engine} GPUs spans {parts} nodes of {layout.num_gpus_per_node}: "
                f"rank r is part r mod {parts} of engine r // {parts}"
            )


def _component(
    name: str, text: str, path: Path, placements: Sequence[Placement], reasons: Iterable[str], layout: SlimeLayout
) -> Component:
    training = {"NCCL_CUMEM_ENABLE": "0", "NVTE_FP8_BLOCK_SCALING_FP32_SCALES": "1"} if name in TRAINING else {}
    return Component(
        name,
        Rule(text=text, path=path, keys=(name,)),
        "packed",
        placements,
        units=layout.shares.get(name),
        reasons=tuple(reasons),
        environment=not_set_by_ray(_NOT_SET_BY_RAY) | {"RAY_USE_UVLOOP": "0"} | training,
    )


def _shape(layout: SlimeLayout) -> str:
    return f"{count(layout.actor_num_nodes, 'node')} x {count(layout.actor_num_gpus_per_node, 'GPU')}"


def _actor_path(layout: SlimeLayout) -> Path:
    return layout.path("actor_num_nodes", "actor_num_gpus_per_node")


# What does not fit


def _report_too_few(layout: SlimeLayout, slots: Slots, problems: Problems) -> None:
    training, rollout, available = layout.actor_gpus, layout.rollout_num_gpus, slots.available
    parts = {
        "colocate": f"the larger of {training} for training and {rollout} for rollout, which share them",
        "separate": f"{training} for training and {rollout} for rollout",
        "rollout_only": "for rollout",
    }.get(layout.mode, "for training")
    if training > available and layout.mode != "rollout_only":
        at = problems.at(_actor_path(layout), component="actor")
        hint = f"make training {count(available, 'GPU')} or fewer"
    else:
        at = problems.at(layout.path("rollout_num_gpus"), component="rollout")
        engine = layout.rollout_num_gpus_per_engine
        room = (available - layout.rollout_offset) // engine * engine
        hint = f"write `rollout_num_gpus: {room}`" if room > 0 else "make room for rollout"
        if layout.mode == "separate":
            hint += ", or `colocate: true` to share the GPUs of training"
    nodes = len(slots.nodes)
    at.error(
        "slime_not_enough_gpus",
        f"the job takes {count(layout.slots, 'GPU')} ({parts}), but {count(nodes, 'node')} "
        f"{'has' if nodes == 1 else 'have'} {available}",
        hint=f"{hint}; or use a larger cluster",
    )


def _check_shape(layout: SlimeLayout, slots: Slots, problems: Problems) -> None:
    """Warn: slime reads nodes x GPUs as a product only; the author may have meant the nodes."""
    real = [(node, len(gpus)) for node, gpus in slots.by_node(range(layout.actor_gpus))]
    if [gpus for _, gpus in real] == [layout.actor_num_gpus_per_node] * layout.actor_num_nodes:
        return
    sizes = {gpus for _, gpus in real}
    found = listing((f"{slots.name(node)} ({gpus})" for node, gpus in real), most=4)
    meant = f"if that is meant, write `actor_num_nodes: {len(real)}` and `actor_num_gpus_per_node: {max(sizes)}`"
    problems.at(_actor_path(layout), component="actor").warning(
        "slime_packs_nodes",
        f"training asks for {_shape(layout)}, but slots fill the nodes in order: its ranks are on {found}",
        hint=meant if len(sizes) == 1 else "give training whole nodes",
    )


def _rollout_fits(layout: SlimeLayout, slots: Slots, problems: Problems) -> bool:
    """Whether there are slots for all engines, and no part of one needs GPUs of two nodes."""
    first = layout.rollout_offset
    if max((group.first_slot + group.num_gpus for group in layout.groups), default=0) > slots.available:
        return False
    crossing = [
        (group, number, start)
        for group in layout.groups
        for number, start in enumerate(group.starts)
        if slots.node[start] != slots.node[start + group.gpus_per_part - 1]
    ]
    if not crossing:
        return True
    group, number, start = crossing[0]
    size = group.gpus_per_part
    pieces = list(slots.by_node(range(start, start + size)))
    where = listing(f"{_gpu_range(gpus)} of {slots.name(node)}" for node, gpus in pieces)
    engine, part = divmod(number, group.parts_per_engine)
    who = f"engine {engine}" + (f" part {part}" if group.parts_per_engine > 1 else "")
    more = f" (and {len(crossing) - 1} more like it)" if len(crossing) > 1 else ""
    smallest = min(slots.nodes[node].gpus for node, _ in pieces)
    if len(layout.groups) > 1:
        hint = f"let group {layout.group_name(group)} start where its engines of {size} fit on nodes"
    elif size > smallest:
        hint = f"write `num_gpus_per_node: {smallest}`, or at most {smallest} as `rollout_num_gpus_per_engine`"
    elif first % size:
        hint = f"rollout starts at slot {first}: give training a multiple of {size} GPUs, or make engines smaller"
    else:
        hint = f"write a `rollout_num_gpus_per_engine` that divides the {smallest} GPUs of a node"
    path = layout.path("rollout_num_gpus_per_engine", "rollout_num_gpus", "colocate")
    problems.at(path, component="rollout").error(
        "process_across_nodes",
        f"{who} would take {where}{more}; what runs as one process must stay on one node",
        hint=hint,
    )
    return False


def _gpu_range(gpus: Sequence[int]) -> str:
    return f"GPU {gpus[0]}" if len(gpus) == 1 else f"GPUs {gpus[0]}-{gpus[-1]}"


def _check_gpus_per_node(layout: SlimeLayout, slots: Slots, problems: Problems) -> None:
    """Warn: slime finds the hosts of engines by `num_gpus_per_node`, right or wrong."""
    assumed, first = layout.num_gpus_per_node, layout.rollout_offset
    used = [(node, len(gpus)) for node, gpus in slots.by_node(range(first, first + layout.rollout_num_gpus))]
    other = [node for node, _ in used if slots.nodes[node].gpus != assumed]
    # Engines that slime counts as one node's, and that are, get the right address whatever the node has.
    if not other or (len(used) == 1 and used[0][1] <= assumed):
        return
    sizes = sorted({slots.nodes[node].gpus for node, _ in used})
    given = "" if "num_gpus_per_node" in layout.arguments.written else " (the default)"
    problems.at(layout.path("num_gpus_per_node"), component="rollout").warning(
        "slime_gpus_per_node",
        f"`num_gpus_per_node` is {assumed}{given}, but {listing((slots.name(node) for node in other), most=4)} "
        f"{'has' if len(other) == 1 else 'have'} {listing(sorted({slots.nodes[node].gpus for node in other}))} GPUs: "
        "slime spreads engines and their addresses by this number",
        hint=f"write `num_gpus_per_node: {sizes[0]}`" if len(sizes) == 1 else "use nodes of one size for rollout",
    )
