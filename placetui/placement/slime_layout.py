"""`SlimeLayout`: how many slots a slime job takes, and where each part of it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from placetui.placement.plan import SHARE_UNITS
from placetui.placement.problems import Path, Problems, count, listing
from placetui.placement.slime_args import (
    MOST_GPUS,
    SECTION,
    Arguments,
    path_of,
    read_arguments,
    shown,
    too_small,
)

SlimeMode: TypeAlias = Literal[
    "train_only", "rollout_only", "external", "external_rollout_only", "colocate", "separate"
]

TRAINING_UNITS = SHARE_UNITS * 8 // 10
ROLLOUT_UNITS = SHARE_UNITS * 2 // 10
GPUS_OF_A_DEBUG_NODE = 8
"""slime's own number: rollout-only jobs count their GPUs as nodes of 8, whatever the nodes have."""


@dataclass(frozen=True, slots=True)
class SlimeLayout:
    """The sizes of a slime job. A slot is a GPU, counted over the nodes in order."""

    mode: SlimeMode
    actor_num_nodes: int
    actor_num_gpus_per_node: int
    rollout_num_gpus: int
    """GPUs of this cluster that engines use: 0 without rollout or with external engines."""

    rollout_num_gpus_per_engine: int
    num_gpus_per_node: int
    critic: bool
    """Whether a critic shares the actor's slots."""

    slots: int
    """GPUs that the job reserves."""

    rollout_offset: int
    """First slot of rollout."""

    training_units: int | None = None
    """`num_gpus_per_actor` in 1/10000, if given."""

    engine_units: int | None = None
    """`num_gpus_per_engine` in 1/10000, if given."""

    written: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Arguments that the file gives, with the key as written there."""

    @property
    def trains(self) -> bool:
        return self.mode not in ("rollout_only", "external_rollout_only")

    @property
    def rolls_out(self) -> bool:
        return self.mode != "train_only"

    @property
    def actor_gpus(self) -> int:
        return self.actor_num_nodes * self.actor_num_gpus_per_node

    @property
    def gpus_per_part(self) -> int:
        """GPUs of an engine on one node."""
        return min(self.rollout_num_gpus_per_engine, self.num_gpus_per_node)

    @property
    def parts_per_engine(self) -> int:
        """Nodes that one engine spans."""
        return max(1, self.rollout_num_gpus_per_engine // self.num_gpus_per_node)

    @property
    def engine_parts(self) -> int:
        """Rollout ranks: one for each part of an engine on a node."""
        return self.rollout_num_gpus // self.gpus_per_part

    def path(self, *names: str) -> Path:
        """Where the first of these arguments that the file gives stands."""
        return path_of(self.written, *names)


def read_slime(section: Any, problems: Problems) -> SlimeLayout | None:
    """Sizes and offsets as slime computes them from its arguments; None when they contradict each other."""
    if not isinstance(section, Mapping):
        problems.error(
            "slime_not_a_mapping",
            f"`{SECTION}` is {shown(section)}, not a mapping of slime's arguments",
            hint=f"write the arguments below it, such as `{SECTION}: {{actor_num_nodes: 1, colocate: true}}`",
            path=(SECTION,),
        )
        return None
    found = Problems()
    layout = _layout(read_arguments(section, found), found)
    problems.extend(found)
    return None if found.blocking else layout


def assumed_nodes(layout: SlimeLayout) -> int:
    """Nodes of `num_gpus_per_node` GPUs that hold all slots; at least one."""
    return max(1, -(-layout.slots // layout.num_gpus_per_node))


def slime_shares(layout: SlimeLayout) -> dict[str, int]:
    """Share of a GPU of each component, in 1/10000."""
    shares = {}
    if layout.trains:
        training = layout.training_units or TRAINING_UNITS // (2 if layout.critic else 1)
        shares["actor"] = training
        if layout.critic:
            shares["critic"] = training
    if layout.rolls_out:
        shares["rollout"] = layout.engine_units or ROLLOUT_UNITS
    return shares


def _layout(args: Arguments, problems: Problems) -> SlimeLayout:
    values = args.values
    mode = _mode(args, problems)
    nodes, per_node = values["actor_num_nodes"], values["actor_num_gpus_per_node"]
    rollout = _rollout_gpus(mode, args, problems)
    if mode == "rollout_only" and values["rollout_num_gpus"] is not None:
        per_node = min(GPUS_OF_A_DEBUG_NODE, rollout)
        nodes = rollout // per_node if per_node else 0
    actor = nodes * per_node
    slots, offset = {
        "train_only": (actor, 0),
        "external_rollout_only": (actor, 0),
        "external": (actor, actor),
        "rollout_only": (rollout, 0),
        "colocate": (max(actor, rollout), 0),
        "separate": (actor + rollout, actor),
    }[mode]
    layout = SlimeLayout(
        mode=mode,
        actor_num_nodes=nodes,
        actor_num_gpus_per_node=per_node,
        rollout_num_gpus=rollout,
        rollout_num_gpus_per_engine=values["rollout_num_gpus_per_engine"],
        num_gpus_per_node=values["num_gpus_per_node"],
        critic=mode not in ("rollout_only", "external_rollout_only")
        and (values["use_critic"] or values["advantage_estimator"] == "ppo"),
        slots=slots,
        rollout_offset=offset,
        training_units=values["num_gpus_per_actor"],
        engine_units=values["num_gpus_per_engine"],
        written=args.written,
    )
    _check_training(layout, args, problems)
    _check_rollout(layout, args, problems)
    _check_size(layout, problems)
    return layout


def _mode(args: Arguments, problems: Problems) -> SlimeMode:
    """In slime's order: the first that applies."""
    values = args.values
    recorded = values["load_debug_rollout_data"] is not None
    train_only = values["debug_train_only"] or recorded
    rollout_only = values["debug_rollout_only"]
    external = values["rollout_external"] or values["rollout_external_engine_addrs"] not in (None, False)
    if train_only and rollout_only:
        other = "debug_train_only" if values["debug_train_only"] else "load_debug_rollout_data"
        implied = "" if values["debug_train_only"] else ", which implies debug_train_only"
        problems.error(
            "slime_debug_both",
            f"`{args.written['debug_rollout_only']}` and `{args.written[other]}`{implied}: nothing is left to run",
            hint="keep one of the two",
            path=args.path("debug_rollout_only"),
        )
    if train_only:
        return "train_only"
    if external:
        return "external_rollout_only" if rollout_only else "external"
    if rollout_only:
        return "rollout_only"
    return "colocate" if values["colocate"] else "separate"


def _rollout_gpus(mode: SlimeMode, args: Arguments, problems: Problems) -> int:
    """GPUs of the cluster that engines take."""
    if mode in ("train_only", "external", "external_rollout_only"):
        return 0
    given: int | None = args.values["rollout_num_gpus"]
    if given is not None:
        return given
    actor: int = args.values["actor_num_nodes"] * args.values["actor_num_gpus_per_node"]
    if args.values["colocate"]:
        return actor
    if args.sound("rollout_num_gpus", "colocate"):
        problems.error(
            "slime_missing_rollout_num_gpus",
            "`rollout_num_gpus` is missing: without `colocate`, slime does not know how many GPUs rollout takes",
            hint=(
                "write `rollout_num_gpus: 8`"
                if mode == "rollout_only"
                else f"write `rollout_num_gpus: {actor or 8}`, or `colocate: true` to share the {actor} training GPUs"
            ),
            path=args.path("rollout_num_gpus"),
            component="rollout",
        )
    return 0


def _check_training(layout: SlimeLayout, args: Arguments, problems: Problems) -> None:
    values = args.values
    if layout.trains or layout.mode == "external_rollout_only":
        for name in ("actor_num_nodes", "actor_num_gpus_per_node"):
            if values[name] < 1:
                too_small(args.written[name], values[name], 1, problems, "actor")
    for name in ("nodes", "gpus_per_node") if layout.critic else ():
        wanted, given = values[f"actor_num_{name}"], values[f"critic_num_{name}"]
        if given not in (None, wanted) and args.sound(f"actor_num_{name}"):
            key = args.written[f"critic_num_{name}"]
            problems.error(
                "slime_critic_size",
                f"`{key}` is `{given}` but the actor has {wanted}: the critic sits on the actor's slots",
                hint=f"write `{key}: {wanted}`, or remove the line",
                path=(SECTION, key),
                component="critic",
            )
    if layout.critic and values["release_train"]:
        problems.error(
            "slime_release_critic",
            f"`{args.written['release_train']}` does not work with a critic",
            hint="remove it, or train without a critic (no `advantage_estimator: ppo`, no `use_critic`)",
            path=args.path("release_train"),
            component="critic",
        )
    if layout.mode == "colocate" and values["train_async"]:
        problems.error(
            "slime_async_colocate",
            f"`{args.written['train_async']}` and `{args.written['colocate']}`: "
            "asynchronous training needs GPUs of its own for rollout",
            hint="remove `colocate` and give `rollout_num_gpus`, or train synchronously",
            path=args.path("train_async"),
        )


def _check_rollout(layout: SlimeLayout, args: Arguments, problems: Problems) -> None:
    rollout, engine, node = layout.rollout_num_gpus, layout.rollout_num_gpus_per_engine, layout.num_gpus_per_node
    if not args.sound("rollout_num_gpus", "actor_num_nodes", "actor_num_gpus_per_node"):
        return
    if layout.mode == "colocate" and rollout > layout.actor_gpus > 0:
        problems.warning(
            "slime_rollout_larger",
            f"rollout takes {count(rollout, 'GPU')} and training {layout.actor_gpus}: "
            f"the last {rollout - layout.actor_gpus} are for rollout only",
            hint="fine with slime of 2026; older ones reserved only the training GPUs",
            path=args.path("rollout_num_gpus"),
            component="rollout",
        )
    if not rollout or not args.sound("rollout_num_gpus_per_engine", "num_gpus_per_node"):
        return
    if args.values["sglang_config"] is not None:
        problems.warning(
            "slime_server_groups",
            "server groups of `sglang_config` are not read: all engines are shown with "
            f"{count(engine, 'GPU')}, and none is left out",
            hint="the slots of rollout as a whole are right; the engines in it may differ",
            path=args.path("sglang_config"),
            component="rollout",
        )
    message = hint = ""
    if engine > node and engine % node:
        message = f"an engine of {engine} GPUs does not fill whole nodes of {node} (`num_gpus_per_node`)"
        hint = f"write `rollout_num_gpus_per_engine: {engine // node * node}` or {engine // node * node + node}"
    elif rollout % engine:
        from_actor = "" if args.values["rollout_num_gpus"] is not None else " (the actor's)"
        message = f"{count(rollout, 'rollout GPU')}{from_actor} do not divide into engines of {engine}"
        whole = rollout // engine * engine
        sizes = [size for size in (whole, whole + engine) if size]
        fitting = [size for size in range(1, min(rollout, node) + 1) if rollout % size == 0]
        hint = (
            f"write {' or '.join(f'`rollout_num_gpus: {size}`' for size in sizes)}, "
            f"or `rollout_num_gpus_per_engine` as one of {listing(fitting)}"
        )
    if message:
        problems.error(
            "slime_engine_not_divisible",
            message,
            hint=hint,
            path=args.path("rollout_num_gpus_per_engine", "rollout_num_gpus"),
            component="rollout",
        )


def _check_size(layout: SlimeLayout, problems: Problems) -> None:
    if layout.slots > MOST_GPUS:
        problems.error(
            "slime_number_too_large",
            f"the job takes {layout.slots} GPUs; placetui lays out at most {MOST_GPUS}",
            hint="check the number of digits",
            path=layout.path("actor_num_nodes", "actor_num_gpus_per_node", "rollout_num_gpus"),
        )
