"""`SlimeLayout`: how many slots a slime job takes, and where each part of it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from placetui.frameworks.slime.arguments import (
    KNOWN_ARGUMENTS,
    MOST_GPUS,
    SECTION,
    SLIME_ARGUMENTS,
    Arguments,
    ArgumentTable,
    listed,
    read_arguments,
    read_value,
    shown,
    too_small,
)
from placetui.frameworks.slime.groups import (
    DEFAULT_MODEL,
    WORKER_TYPES,
    ConfigReader,
    GroupSize,
    Model,
    ServerGroup,
    lay_out,
    prefill_and_decode,
)
from placetui.placement.config.reader import has_unresolved
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.problems import Path, Problems
from placetui.placement.wording import count, listing

SlimeMode: TypeAlias = Literal[
    "train_only", "rollout_only", "external", "external_rollout_only", "colocate", "separate"
]

Version: TypeAlias = Literal["head", "2025-08"]
"""Which slime: the newest, or the one with the shares of the source documents."""

VERSIONS: tuple[Version, ...] = ("2025-08", "head")
"""The first is the default."""

TRAINING_UNITS: Mapping[Version, int] = {"2025-08": SHARE_UNITS * 8 // 10, "head": SHARE_UNITS * 4 // 10}
ROLLOUT_UNITS = SHARE_UNITS * 2 // 10
GPUS_OF_A_DEBUG_NODE = 8
"""slime's own number: rollout-only jobs count their GPUs as nodes of 8, whatever the nodes have."""

_HTTP_ADDRESS = re.compile(r"(?:http://)?(?:\[[0-9a-fA-F:.%]+\]|[^:/\s\[\]]+):\d{1,5}(?:/.*)?")

_NOT_AT_HEAD = ("critic_num_nodes", "critic_num_gpus_per_node", "use_critic", "rollout_external")
"""Arguments that slime had once, and now ignores silently."""


@dataclass(frozen=True, slots=True)
class SlimeLayout:
    """The sizes of a slime job. A slot is a GPU, counted over the nodes in order."""

    version: Version
    mode: SlimeMode
    actor_num_nodes: int
    actor_num_gpus_per_node: int
    critic_gpus: int
    """Ranks of the critic, which shares the actor's slots; 0 without one."""

    slots: int
    """GPUs that the job reserves."""

    rollout_offset: int
    """First slot of rollout."""

    rollout_num_gpus: int
    """GPUs of this cluster that engines use: 0 without rollout or with external engines."""

    rollout_num_gpus_per_engine: int
    num_gpus_per_node: int
    """GPUs that slime assumes that a node has."""

    models: tuple[Model, ...]
    groups: tuple[ServerGroup, ...]
    """Engines of all models, in the order of their slots and ranks; none without GPUs for them."""

    shares: Mapping[str, int]
    """Share of a GPU of each component, in 1/10000."""

    arguments: Arguments
    cells: int = 1
    """Groups of training ranks that fail alone, each with ranks of its own from 0."""

    orders_ids_as_text: bool = False
    """Whether GPU ids that Ray gives as text are compared as text: 10 before 2."""

    @property
    def trains(self) -> bool:
        """Whether training processes are started: today even where there is nothing to train."""
        return self.version == "head" or self.mode not in ("rollout_only", "external_rollout_only")

    @property
    def rolls_out(self) -> bool:
        return self.mode != "train_only"

    @property
    def critic(self) -> bool:
        return self.critic_gpus > 0

    @property
    def actor_gpus(self) -> int:
        return self.actor_num_nodes * self.actor_num_gpus_per_node

    @property
    def assumed_nodes(self) -> int:
        """Nodes of `num_gpus_per_node` GPUs that hold all slots; at least one."""
        return max(1, -(-self.slots // self.num_gpus_per_node))

    def group_name(self, group: ServerGroup) -> str:
        """`decode`, or `actor/decode` where the model has its own name; empty where all engines are alike."""
        if len(self.groups) == 1 and group.model == DEFAULT_MODEL:
            return ""
        only_default = {model.name for model in self.models} == {DEFAULT_MODEL}
        return group.worker_type if only_default else f"{group.model}/{group.worker_type}"

    def path(self, *names: str) -> Path:
        """Where the first of these arguments that the file gives stands."""
        return self.arguments.path(*names)


def read_layout(
    section: Any,
    problems: Problems,
    version: Version = VERSIONS[0],
    derivation: type[Derivation] | None = None,
) -> SlimeLayout | None:
    """Sizes and offsets as slime computes them from its arguments; None when they contradict each other.

    Files that the section names are expected as what they hold: a mapping instead of a path. A fork of slime has a
    derivation of its own.
    """
    derivation = derivation or Derivation
    if not isinstance(section, Mapping):
        message = f"`{SECTION}` is {shown(section)}, not a mapping of slime's arguments"
        hint = f"write the arguments below it, such as `{SECTION}: {{actor_num_nodes: 1, colocate: true}}`"
        problems.at((SECTION,)).error("slime_not_a_mapping", message, hint=hint)
        return None
    found = Problems()
    args = read_arguments(section, found, derivation.table)
    layout = derivation(args, version, found).layout()
    problems.extend(found)
    return None if args.faulty or found.blocking else layout


def nodes_and_gpus(gpus: int, most: int) -> tuple[int, int]:
    """Nodes, and GPUs on each of them, that make up `gpus`: as few nodes as divide it, with at most `most` each."""
    least = -(-gpus // most)
    nodes = next(number for number in range(least, gpus + 1) if gpus % number == 0)
    return nodes, gpus // nodes


class Derivation:
    """What slime makes of its arguments before it places anything."""

    table: ClassVar[ArgumentTable] = SLIME_ARGUMENTS
    worker_types: ClassVar[Sequence[str]] = WORKER_TYPES
    orders_ids_as_text: ClassVar[bool] = False
    no_critic_without_training: ClassVar[bool] = True
    """Whether a job that only evaluates has no critic."""

    def __init__(self, args: Arguments, version: Version, problems: Problems) -> None:
        self._args = args
        self._version = version
        self._problems = problems
        self._head = version == "head"
        self._now: dict[str, Any] = dict(args.values)
        """The arguments, as slime changes them."""

    def layout(self) -> SlimeLayout:
        args, now = self._args, self._now
        self.derive()
        self._apply_custom_config()
        mode = self._mode()
        rollout = self._rollout_gpus(mode)
        actor = now["actor_num_nodes"] * now["actor_num_gpus_per_node"]
        slots, offset = self.slots(mode, actor, rollout)
        models = self.models(mode, rollout)
        critic = now["critic_num_nodes"] * now["critic_num_gpus_per_node"] if self._has_critic(mode) else 0
        layout = SlimeLayout(
            version=self._version,
            mode=mode,
            actor_num_nodes=now["actor_num_nodes"],
            actor_num_gpus_per_node=now["actor_num_gpus_per_node"],
            critic_gpus=critic,
            slots=slots,
            rollout_offset=offset,
            rollout_num_gpus=rollout,
            rollout_num_gpus_per_engine=now["rollout_num_gpus_per_engine"],
            num_gpus_per_node=now["num_gpus_per_node"],
            models=models,
            groups=lay_out(
                models,
                offset,
                now["num_gpus_per_node"],
                offload_below=actor if now["offload_rollout"] and mode != "rollout_only" else 0,
            ),
            shares=self._shares(mode, critic),
            arguments=args,
            cells=self.cells(actor),
            orders_ids_as_text=self.orders_ids_as_text,
        )
        self.check_training(layout)
        self.check_rollout(layout)
        if slots > MOST_GPUS:
            message = f"the job takes {slots} GPUs; placetui lays out at most {MOST_GPUS}"
            at = self._problems.at(args.path("actor_num_nodes", "actor_num_gpus_per_node", "rollout_num_gpus"))
            at.error("slime_number_too_large", message, hint="check the number of digits")
        return layout

    def slots(self, mode: SlimeMode, actor: int, rollout: int) -> tuple[int, int]:
        """GPUs that the job reserves, and the first one of rollout."""
        return {
            "train_only": (actor, 0),
            "external_rollout_only": (actor, 0),
            "external": (actor, actor),
            "rollout_only": (rollout, 0),
            "colocate": (max(actor, rollout), 0),
            "separate": (actor + rollout, actor),
        }[mode]

    def derive(self) -> None:
        """What slime sets itself, from what is given."""
        args, now = self._args, self._now
        self.drop_old_arguments()
        now["debug_train_only"] |= args["load_debug_rollout_data"] is not None
        now["rollout_external"] |= args["rollout_external_engine_addrs"] not in (None, False)
        now["use_critic"] |= args["advantage_estimator"] == "ppo"
        now["critic_num_nodes"] = args["actor_num_nodes"]
        now["critic_num_gpus_per_node"] = args["actor_num_gpus_per_node"]
        if args["colocate"] and args["rollout_num_gpus"] is None:
            now["rollout_num_gpus"] = args["actor_num_nodes"] * args["actor_num_gpus_per_node"]
        if args["offload"] or (args["colocate"] and args["release_train"]) or now["offload_rollout"] is None:
            now["offload_rollout"] = args["offload"] or args["colocate"]
        self._check_debug_modes()
        if args["debug_rollout_only"]:
            now |= {"colocate": False, "offload_rollout": False}
            if args["rollout_num_gpus"] is not None and not now["rollout_external"]:
                now["actor_num_gpus_per_node"] = min(GPUS_OF_A_DEBUG_NODE, args["rollout_num_gpus"])
                now["actor_num_nodes"] = args["rollout_num_gpus"] // max(1, now["actor_num_gpus_per_node"])

    def drop_old_arguments(self) -> None:
        """Arguments that slime had once count for nothing today."""
        for name in _NOT_AT_HEAD if self._head else ():
            self._warn_of_dropped(name)
            self._now[name] = KNOWN_ARGUMENTS[name].default

    def _warn_of_dropped(self, name: str) -> None:
        if name in self._args.written:
            critic = "`advantage_estimator: ppo` makes a critic, of the actor's size"
            self._problems.at(self._args.path(name)).warning(
                "slime_unknown_argument",
                f"`{self._args.written[name]}` is no longer an argument of slime; it is ignored",
                hint="give `rollout_external_engine_addrs`" if name == "rollout_external" else critic,
                at_key=True,
            )

    def _apply_custom_config(self) -> None:
        """`custom_config_path`: its keys are set last, so that nothing follows from them."""
        path = self._args.path("custom_config_path")
        config = self._args["custom_config_path"]
        if not self._head or config is None:
            return
        if not isinstance(config, Mapping):
            self._problems.at(path).warning(
                "slime_file_not_read",
                f"{shown(config)} is not read: arguments that it sets are not known here",
                hint="write arguments of placement into this file as well",
            )
            return
        for key, value in config.items():
            argument = KNOWN_ARGUMENTS.get(key) if isinstance(key, str) else None
            if argument is not None and not has_unresolved(value):
                before = len(self._problems)
                read = read_value(argument, key, value, self._problems.at(path))
                if len(self._problems) == before:
                    self._now[key] = read

    def _mode(self) -> SlimeMode:
        """In slime's order: the first that applies."""
        now = self._now
        if now["debug_train_only"]:
            return "train_only"
        if now["rollout_external"]:
            return "external_rollout_only" if now["debug_rollout_only"] else "external"
        if now["debug_rollout_only"]:
            return "rollout_only"
        return "colocate" if now["colocate"] else "separate"

    def _check_debug_modes(self) -> None:
        args, now = self._args, self._now
        if now["debug_train_only"] and now["debug_rollout_only"]:
            other = "debug_train_only" if args["debug_train_only"] else "load_debug_rollout_data"
            implied = "" if args["debug_train_only"] else ", which implies debug_train_only"
            self._problems.at(args.path("debug_rollout_only")).error(
                "slime_debug_both",
                f"`{args.key('debug_rollout_only')}` and `{args.key(other)}`{implied}: nothing is left to run",
                hint="keep one of the two",
            )

    def _rollout_gpus(self, mode: SlimeMode) -> int:
        """GPUs of the cluster that engines take."""
        args = self._args
        if mode in ("train_only", "external", "external_rollout_only"):
            return 0
        given: int | None = self._now["rollout_num_gpus"]
        # Rollout-only derives the training ranks from it, before `custom_config_path` is read.
        derived = self._head and args["debug_rollout_only"] and not args["colocate"]
        if given is not None and not (derived and args["rollout_num_gpus"] is None):
            return given
        actor = args["actor_num_nodes"] * args["actor_num_gpus_per_node"]
        if args.sound("rollout_num_gpus", "colocate"):
            hint = f"write `rollout_num_gpus: {actor or 8}`, or `colocate: true` to share the {actor} training GPUs"
            self._problems.at(args.path("rollout_num_gpus"), component="rollout").error(
                "slime_missing_rollout_num_gpus",
                "`rollout_num_gpus` is missing: without `colocate`, slime does not know how many GPUs rollout takes",
                hint="write `rollout_num_gpus: 8`" if mode == "rollout_only" else hint,
            )
        return 0

    def _has_critic(self, mode: SlimeMode) -> bool:
        if self._head and self._now["num_rollout"] == 0 and self.no_critic_without_training:
            return False
        return bool(self._now["use_critic"]) and (self._head or mode not in ("rollout_only", "external_rollout_only"))

    def _shares(self, mode: SlimeMode, critic: int) -> dict[str, int]:
        training = self._args["num_gpus_per_actor"]
        if training is None:
            training = TRAINING_UNITS[self._version] // (2 if critic and not self._head else 1)
        shares = {"actor": training} if self._head or mode not in ("rollout_only", "external_rollout_only") else {}
        if critic:
            shares["critic"] = training
        if mode != "train_only":
            shares["rollout"] = self._args["num_gpus_per_engine"] or ROLLOUT_UNITS
        return shares

    # Server groups

    def models(self, mode: SlimeMode, rollout: int) -> tuple[Model, ...]:
        """The models that rollout serves, each with its groups; the first source that applies."""
        args, now = self._args, self._now
        if mode == "train_only":
            return ()
        config, servers = (now["sglang_config"], now["prefill_num_servers"]) if self._head else (None, None)
        at = self._problems.at(args.path("sglang_config", "prefill_num_servers"), component="rollout")
        given = [name for name in ("sglang_config", "prefill_num_servers") if self._head and now[name] is not None]
        if mode in ("external", "external_rollout_only"):
            if given:
                message = f"`{args.key(given[0])}` cannot be used with external engines: their number is fixed"
                at.error("slime_engines_twice", message, hint="keep one of the two")
            return ()
        if len(given) == 2:
            message = f"`{args.key(given[0])}` and `{args.key(given[1])}` both say which engines there are"
            at.error("slime_engines_twice", message, hint="keep one of the two")
            return ()
        engine = now["rollout_num_gpus_per_engine"]
        if config is not None and isinstance(config, Mapping):
            reader = ConfigReader(self.engine_size, now["hf_checkpoint"], at, self.worker_types)
            return reader.models(config, rollout) or ()
        if not rollout:
            return (Model(DEFAULT_MODEL, ()),)
        if servers is not None:
            return prefill_and_decode(servers, rollout, engine, at) or ()
        return (Model(DEFAULT_MODEL, (GroupSize("regular", rollout, engine),)),)

    def cells(self, actor: int) -> int:
        """Groups of training ranks that fail alone."""
        return 1

    @property
    def model_ranks(self) -> int:
        """Training ranks that one copy of the model takes."""
        args = self._args
        tensor, pipeline = args["tensor_model_parallel_size"], args["pipeline_model_parallel_size"]
        return int(tensor * pipeline * args["context_parallel_size"])

    def engine_size(self, model: str) -> int:
        """GPUs of an engine of a model, where the configuration does not say."""
        return int(self._now["rollout_num_gpus_per_engine"])

    # Checks

    def check_training(self, layout: SlimeLayout) -> None:
        args, problems = self._args, self._problems
        if layout.mode != "rollout_only":
            for name in ("actor_num_nodes", "actor_num_gpus_per_node"):
                if self._now[name] < 1:
                    at = problems.at(args.path(name, "custom_config_path"), component="actor")
                    too_small(args.key(name), self._now[name], 1, at)
        for name in ("nodes", "gpus_per_node") if layout.critic and not self._head else ():
            wanted, given = args[f"actor_num_{name}"], args[f"critic_num_{name}"]
            if given not in (None, wanted) and args.sound(f"actor_num_{name}"):
                key = args.key(f"critic_num_{name}")
                problems.at((SECTION, key), component="critic").error(
                    "slime_critic_size",
                    f"`{key}` is `{given}` but the actor has {wanted}: the critic uses the actor's slots",
                    hint=f"write `{key}: {wanted}`, or remove the line",
                )
        if self._head:
            self._check_ranks_of_rollout_only(layout)
        if "rollout_only" not in layout.mode and args["train_backend"] == "megatron":
            self._check_model_ranks(layout)
        if self._now["release_train"]:
            self._check_release(layout)
        if self._head:
            self._check_weight_updates()
        if self._now["colocate"] and args["train_async"]:
            problems.at(args.path("train_async")).error(
                "slime_async_colocate",
                f"`{args.key('train_async')}` and `{args.key('colocate')}`: "
                "asynchronous training needs GPUs of its own for rollout",
                hint="remove `colocate` and give `rollout_num_gpus`, or train synchronously",
            )

    def _check_ranks_of_rollout_only(self, layout: SlimeLayout) -> None:
        """Rollout-only jobs start training processes that do nothing, but must have a place."""
        if layout.mode == "rollout_only" and not layout.actor_gpus and self._args.sound("rollout_num_gpus"):
            self._problems.at(layout.path("rollout_num_gpus"), component="actor").error(
                "slime_no_training_ranks",
                "neither rollout nor the training processes that slime starts with it have GPUs",
                hint="write `rollout_num_gpus: 8`, or another number above 0",
            )
        elif layout.actor_gpus > layout.slots:
            self._problems.at(layout.path("custom_config_path", "rollout_num_gpus"), component="actor").error(
                "slime_training_size",
                f"training has {count(layout.actor_gpus, 'rank')}, but the job only {count(layout.slots, 'slot')}: "
                "`custom_config_path` changes one size and not the other",
                hint=f"make training {count(layout.slots, 'GPU')} or fewer there, too",
            )
        elif layout.critic_gpus > layout.slots:
            self._problems.at(layout.path("advantage_estimator"), component="critic").error(
                "slime_critic_size",
                f"the critic has {count(layout.critic_gpus, 'rank')}, of the actor's size as given, "
                f"but the job only {count(layout.slots, 'slot')}",
                hint=f"make training {count(layout.slots, 'GPU')}, or use another `advantage_estimator`",
            )

    def _check_model_ranks(self, layout: SlimeLayout) -> None:
        copy, actor = self.model_ranks, layout.actor_gpus
        if actor and actor % copy:
            names = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
            self._problems.at(self._args.path(*names), component="actor").warning(
                "slime_model_parallel",
                f"one copy of the model takes {count(copy, 'rank')} (tensor x pipeline x context), "
                f"which does not divide the {actor} of training: Megatron does not start",
                hint=f"give training a multiple of {count(copy, 'GPU')}, or lower one of the three sizes",
            )

    def _check_release(self, layout: SlimeLayout) -> None:
        args = self._args
        at = self._problems.at(args.path("release_train"), component="critic" if layout.critic else None)
        if layout.critic or (self._head and self._now["use_critic"]):
            at.error(
                "slime_release_critic",
                f"`{args.key('release_train')}` does not work with a critic",
                hint="remove it, or train without a critic (no `advantage_estimator: ppo`, no `use_critic`)",
            )
        needs = {"update_weight_mode": "full", "update_weight_transport": "disk"}
        wrong = [f"`{name}: {value}`" for name, value in needs.items() if self._now[name] != value]
        wrong += [] if self._now["save"] is not None else ["`save`"]
        wrong += ["no `keep_old_actor`"] if self._now["keep_old_actor"] else []
        if self._head and wrong:
            message = f"`{args.key('release_train')}` needs {listing(wrong)}"
            at.error("slime_release_train", message, hint="training is loaded again from disk after each rollout")

    def _check_weight_updates(self) -> None:
        now, args = self._now, self._args
        names = ("update_weight_mode", "update_weight_transport", "custom_config_path")
        delta, disk = now["update_weight_mode"] == "delta", now["update_weight_transport"] == "disk"
        wrong = [
            sentence
            for applies, sentence in (
                (disk and not now["update_weight_disk_dir"], "weights on disk need `update_weight_disk_dir`"),
                (delta and not disk, "`update_weight_mode: delta` needs `update_weight_transport: disk`"),
                (delta and now["colocate"], "`update_weight_mode: delta` cannot be used with `colocate`"),
                (
                    delta and not now["update_weight_local_checkpoint_dir"],
                    "`update_weight_mode: delta` needs `update_weight_local_checkpoint_dir`",
                ),
            )
            if applies
        ]
        for sentence in wrong:
            hint = "add it, or send full weights with `update_weight_transport: nccl`"
            self._problems.at(args.path(*names)).error("slime_weight_updates", sentence, hint=hint)

    def check_engines(self, layout: SlimeLayout) -> None:
        """What SGLang's own sizes must be."""
        now, engine = self._now, layout.rollout_num_gpus_per_engine
        pipeline = max(now["sglang_pp_size"], now["sglang_pipeline_parallel_size"])
        at = self._problems.at(self._args.path("sglang_pp_size", "sglang_pipeline_parallel_size"), component="rollout")
        if engine % pipeline:
            message = f"an engine of {count(engine, 'GPU')} does not divide into {pipeline} pipeline stages"
            at.error("slime_sglang_sizes", message, hint=f"write a multiple of {pipeline} GPUs per engine")
        parallel = max(now["sglang_dp_size"], now["sglang_data_parallel_size"])
        if parallel > 1 and not now["sglang_enable_dp_attention"]:
            at = self._problems.at(self._args.path("sglang_dp_size", "sglang_data_parallel_size"), component="rollout")
            message = f"{parallel} data-parallel copies in an engine need `sglang_enable_dp_attention`"
            at.error("slime_sglang_sizes", message, hint="add `sglang_enable_dp_attention: true`")

    def check_rollout(self, layout: SlimeLayout) -> None:
        args, problems = self._args, self._problems
        rollout, engine = layout.rollout_num_gpus, layout.rollout_num_gpus_per_engine
        node = layout.num_gpus_per_node
        if self._head and layout.mode.startswith("external"):
            self._check_addresses()
        if self._head and layout.rolls_out and args.sound("rollout_num_gpus_per_engine"):
            self.check_engines(layout)
        if not args.sound("rollout_num_gpus", "actor_num_nodes", "actor_num_gpus_per_node"):
            return
        if layout.mode == "colocate" and rollout > layout.actor_gpus > 0:
            problems.at(args.path("rollout_num_gpus"), component="rollout").warning(
                "slime_rollout_larger",
                f"rollout takes {count(rollout, 'GPU')} and training {layout.actor_gpus}: "
                f"the last {rollout - layout.actor_gpus} are for rollout only",
                hint="fine with slime of 2026; older ones reserved only the training GPUs",
            )
        if not rollout or not args.sound("rollout_num_gpus_per_engine", "num_gpus_per_node"):
            return
        config = self._now["sglang_config"]
        if config is not None and not (self._head and isinstance(config, Mapping)):
            problems.at(args.path("sglang_config"), component="rollout").warning(
                "slime_server_groups",
                "server groups of `sglang_config` are not read: all engines are shown with "
                f"{count(engine, 'GPU')}, and none is left out",
                hint="the slots of rollout as a whole are right; the engines in it may differ",
            )
        if not self._head:
            self._check_division(layout, rollout, engine, node)

    def _check_addresses(self) -> None:
        at = self._problems.at(self._args.path("rollout_external_engine_addrs"), component="rollout")
        addresses = listed(self._args["rollout_external_engine_addrs"])
        for address in addresses:
            if not _HTTP_ADDRESS.fullmatch(address.rstrip("/")):
                hint = "write `HOST:PORT` for each engine, with brackets around IPv6"
                at.error("slime_external_address", f"{shown(address)} is not the address of an engine", hint=hint)
        if not addresses and "rollout_external_engine_addrs" in self._args.written:
            at.error("slime_external_address", "there is no address of an engine", hint="write `HOST:PORT`")

    def _check_division(self, layout: SlimeLayout, rollout: int, engine: int, node: int) -> None:
        args = self._args
        at = self._problems.at(args.path("rollout_num_gpus_per_engine", "rollout_num_gpus"), component="rollout")
        if engine > node and engine % node:
            fitting = engine // node * node
            message = f"an engine of {engine} GPUs does not fill whole nodes of {node} (`num_gpus_per_node`)"
            hint = f"write `rollout_num_gpus_per_engine: {fitting}` or {fitting + node}"
            at.error("slime_engine_not_divisible", message, hint=hint)
        elif rollout % engine:
            whose = "" if args["rollout_num_gpus"] is not None else " (the actor's)"
            whole = rollout // engine * engine
            totals = " or ".join(f"`rollout_num_gpus: {size}`" for size in (whole, whole + engine) if size)
            sizes = listing([size for size in range(1, min(rollout, node) + 1) if rollout % size == 0])
            message = f"{count(rollout, 'rollout GPU')}{whose} do not divide into engines of {engine}"
            hint = f"write {totals}, or `rollout_num_gpus_per_engine` as one of {sizes}"
            at.error("slime_engine_not_divisible", message, hint=hint)
