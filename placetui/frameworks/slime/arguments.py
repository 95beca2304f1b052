"""slime's arguments: which ones placement reads, and how a `slime:` section is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from placetui.placement.config.reader import has_unresolved
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.problems import Path, ProblemReporter, Problems
from placetui.placement.wording import count, listing

SECTION = "slime"

MOST_GPUS = 65_536
"""Larger layouts are refused: nobody has them, and a slip of the keyboard must not fill the memory."""

MOST_SHARE = 1_000
"""A device that is promised more than 1 is `oversubscribed`; this only keeps numbers sane."""

MOST_UNKNOWN = 20
"""Unknown arguments reported one by one; the rest only as a number."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of slime that decides who sits where."""

    name: str
    kind: Literal["int", "flag", "share", "text", "path", "any"]
    default: int | bool | str | None
    help: str
    least: int = 0
    most: int = MOST_GPUS
    """Smallest and largest number allowed."""

    implied_by: Callable[[str, Mapping[str, str]], bool] | None = None
    """Whether a program and its environment say so without an argument."""


_ARGUMENTS = (
    Argument("actor_num_nodes", "int", 1, "nodes for training"),
    Argument("actor_num_gpus_per_node", "int", 8, "GPUs for training on each node"),
    Argument("critic_num_nodes", "int", None, "nodes for the critic: the actor's"),
    Argument("critic_num_gpus_per_node", "int", None, "GPUs of the critic on each node: the actor's"),
    Argument("rollout_num_gpus", "int", None, "GPUs for rollout; with colocate those of the actor"),
    Argument("rollout_num_gpus_per_engine", "int", 1, "GPUs of one rollout engine", least=1),
    Argument("num_gpus_per_node", "int", 8, "GPUs that a node has, for rollout arithmetic", least=1),
    Argument("colocate", "flag", False, "rollout shares the GPUs of training"),
    Argument("debug_train_only", "flag", False, "training without rollout"),
    Argument("debug_rollout_only", "flag", False, "rollout without training"),
    Argument("load_debug_rollout_data", "text", None, "recorded rollouts: training without rollout"),
    Argument("rollout_external", "flag", False, "engines run elsewhere"),
    Argument("rollout_external_engine_addrs", "any", None, "addresses of engines that run elsewhere"),
    Argument("advantage_estimator", "text", None, "`ppo` makes a critic"),
    Argument("use_critic", "flag", False, "makes a critic"),
    Argument("num_rollout", "int", None, "steps of training; 0 makes no critic", most=10**12),
    Argument("release_train", "flag", False, "training leaves its GPUs during rollout"),
    Argument("update_weight_mode", "text", "full", "which weights training sends to rollout"),
    Argument("update_weight_transport", "text", "nccl", "how training sends its weights to rollout"),
    Argument("update_weight_disk_dir", "path", None, "where weights are exchanged on disk"),
    Argument("update_weight_local_checkpoint_dir", "path", None, "where a rollout node keeps its checkpoint"),
    Argument("keep_old_actor", "flag", False, "keeps the actor of the step before"),
    Argument("save", "path", None, "where training saves"),
    Argument(
        "train_async",
        "flag",
        False,
        "train_async.py rather than train.py",
        implied_by=lambda program, _: program.endswith("_async.py"),
    ),
    Argument("offload", "flag", False, "training and rollout leave the GPU memory to each other"),
    Argument("offload_train", "flag", None, "training leaves the GPU memory to rollout"),
    Argument("offload_rollout", "flag", None, "rollout leaves the GPU memory to training"),
    Argument("sglang_config", "path", None, "server groups of different engines"),
    Argument("prefill_num_servers", "int", None, "engines that only prefill"),
    Argument("custom_config_path", "path", None, "a file of arguments that are set last"),
    Argument("megatron_config_path", "path", None, "Megatron's arguments by role; changes no sizes"),
    Argument("hf_checkpoint", "path", None, "the model that is trained"),
    Argument("train_backend", "text", "megatron", "what trains"),
    Argument("tensor_model_parallel_size", "int", 1, "ranks that share a layer", least=1),
    Argument("pipeline_model_parallel_size", "int", 1, "ranks that share the layers", least=1),
    Argument("context_parallel_size", "int", 1, "ranks that share a sequence", least=1),
    Argument("sglang_pp_size", "int", 1, "pipeline stages of an engine", least=1),
    Argument("sglang_pipeline_parallel_size", "int", 1, "pipeline stages of an engine", least=1),
    Argument("sglang_dp_size", "int", 1, "data-parallel copies in an engine", least=1),
    Argument("sglang_data_parallel_size", "int", 1, "data-parallel copies in an engine", least=1),
    Argument("sglang_enable_dp_attention", "flag", False, "attention in data-parallel copies"),
    Argument("num_epoch", "int", None, "passes over the data", most=10**12),
    Argument("sglang_router_ip", "text", None, "a router that runs already"),
    Argument("sglang_router_port", "int", None, "its port"),
    Argument("use_distributed_post", "flag", False, "posts requests from every node"),
    Argument("num_gpus_per_actor", "share", None, "share of a GPU that a training process reserves"),
    Argument("num_gpus_per_engine", "share", None, "share of a GPU that an engine reserves"),
)

KNOWN_ARGUMENTS: Mapping[str, Argument] = {argument.name: argument for argument in _ARGUMENTS}
"""Arguments that placement reads, by name with underscores."""

PREFIXES = ("sglang_", "router_")
"""Families of arguments: those of SGLang's server and of its router."""


def argument_names(*lists: str) -> frozenset[str]:
    """The names in these lists: `slime`, `earlier`, `megatron`, `miles`."""
    folder = files("placetui.frameworks.slime") / "argument_names"
    lines = [line for name in lists for line in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()]
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


OTHER_ARGUMENTS = argument_names("slime", "earlier", "megatron") - KNOWN_ARGUMENTS.keys()
"""Real arguments that do not change a placement: accepted silently."""


@dataclass(frozen=True, slots=True)
class ArgumentTable:
    """The arguments of a framework."""

    framework: str
    known: Mapping[str, Argument]
    """Those that placement reads, by name with underscores."""

    others: frozenset[str]
    programs: tuple[str, ...]
    """Scripts that start it."""

    prefixes: tuple[str, ...] = PREFIXES
    refuses_unknown: bool = False
    """Whether it refuses to start with an unknown argument; otherwise it ignores it silently."""

    absent: frozenset[str] = frozenset()
    """Arguments that only slime has."""

    files: tuple[str, ...] = ("sglang_config", "custom_config_path")
    """Arguments that name files which decide a placement."""

    def has(self, name: str) -> bool:
        """Whether the framework has an argument of this name, of use here or not."""
        if name in self.absent:
            return False
        positive = name.removeprefix("no_")
        return any(one in self.known or one in self.others for one in (name, positive)) or name.startswith(
            self.prefixes
        )

    def reads(self, option: str) -> Argument | None:
        """What placement makes of an option, also of one that turns something off."""
        name = argument_name(option)
        return None if name in self.absent else self.known.get(name) or self.known.get(name.removeprefix("no_"))


SLIME_ARGUMENTS = ArgumentTable("slime", KNOWN_ARGUMENTS, OTHER_ARGUMENTS, ("train.py", "train_async.py"))


def listed(value: Any) -> list[str]:
    """The values of an argument that takes several: a list, or one text."""
    return value.split() if isinstance(value, str) else [str(one) for one in value] if isinstance(value, list) else []


def argument_name(key: str) -> str:
    """`--actor-num-nodes`, `actor-num-nodes` and `actor_num_nodes` are one argument."""
    return key.removeprefix("--").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a `slime:` section says, with slime's defaults for the rest."""

    values: Mapping[str, Any]
    """By name, for every one that placement reads."""

    written: Mapping[str, str]
    """Arguments that the file gives, with the key as written there."""

    faulty: frozenset[str]
    """Arguments whose value is a problem; they have their default."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def sound(self, *names: str) -> bool:
        """Whether none of them was a problem."""
        return self.faulty.isdisjoint(names)

    def key(self, name: str) -> str:
        """An argument as the file spells it."""
        return self.written.get(name, name)

    def path(self, *names: str) -> Path:
        """Where the first of them that the file gives stands; the section if it gives none."""
        return next(((SECTION, self.written[name]) for name in names if name in self.written), (SECTION,))


def read_arguments(section: Mapping[Any, Any], problems: Problems, table: ArgumentTable = SLIME_ARGUMENTS) -> Arguments:
    """Read every argument of placement; report what is wrong with each."""
    values: dict[str, Any] = {name: argument.default for name, argument in table.known.items()}
    written: dict[str, str] = {}
    faulty: set[str] = set()
    unknown: list[Any] = []
    for key, value in section.items():
        name = argument_name(key) if isinstance(key, str) else ""
        argument = None if name in table.absent else table.known.get(name)
        at = problems.at((SECTION, key))
        if argument is None:
            if not table.has(name):
                unknown.append(key)
        elif name in written:
            faulty.add(name)
            message = f"`{written[name]}` and `{key}` are the same argument"
            at.error("slime_argument_twice", message, hint="keep one of the two lines", at_key=True)
        else:
            written[name] = key
            before = len(problems)
            # An interpolation without a value has been reported where it was read.
            read = None if has_unresolved(value) else read_value(argument, key, value, at)
            if len(problems) > before or has_unresolved(value):
                faulty.add(name)
            else:
                values[name] = read
    _report_unknown(unknown, table, problems)
    return Arguments(values, written, frozenset(faulty))


def read_value(argument: Argument, key: str, value: Any, at: ProblemReporter) -> Any:
    """The value of an argument as its kind has it; reports what is none."""
    if value is None and (argument.default is None or argument.kind == "text"):
        return argument.default
    if argument.kind == "int":
        return _whole_number(argument, key, value, at)
    if argument.kind == "flag":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        hint = f"write `{key}: true`, or remove the line"
        at.error("slime_not_a_flag", f"`{key}` is {shown(value)}, neither true nor false", hint=hint)
    elif argument.kind == "share":
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= MOST_SHARE
        units = round(value * SHARE_UNITS) if number else 0
        if units:
            return units
        hint = f"write `{key}: {0.8 if argument.name == 'num_gpus_per_actor' else 0.2}`, or remove the line"
        at.error(
            "share_invalid", f"`{key}` is {shown(value)}; a share is a number above 0, in steps of 0.0001", hint=hint
        )
    elif argument.kind == "text" and not isinstance(value, str):
        hint = f"write `{key}: ppo`, or another name" if argument.name == "advantage_estimator" else "write a path"
        at.error("slime_not_text", f"`{key}` is {shown(value)}, not a text", hint=hint)
    return value


def _whole_number(argument: Argument, key: str, value: Any, at: ProblemReporter) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        otherwise = f", or remove the line for {argument.default}" if argument.default is not None else ""
        hint = f"write a number such as `{key}: {argument.default or 8}`{otherwise}"
        at.error("slime_not_a_number", f"`{key}` is {shown(value)}, not a whole number", hint=hint)
    elif value < argument.least:
        too_small(key, value, argument.least, at)
    elif value > argument.most:
        message = f"`{key}` is {shown(value)}; placetui lays out at most {MOST_GPUS} GPUs"
        at.error("slime_number_too_large", message, hint="check the number of digits")
    else:
        return value
    return None


def too_small(key: str, value: int, least: int, at: ProblemReporter) -> None:
    """Report a number that is below the smallest possible one."""
    message = f"`{key}` is {shown(value)}, but must be at least {least}"
    at.error("slime_number_too_small", message, hint=f"write `{key}: {max(1, least)}` or more")


def _report_unknown(keys: list[Any], table: ArgumentTable, problems: Problems) -> None:
    if not keys:
        return
    from difflib import get_close_matches

    known = [name for name in (*table.known, *sorted(table.others)) if name not in table.absent]
    for key in keys[:MOST_UNKNOWN]:
        # Comparing is quadratic in the length of a text that may be anything.
        name = argument_name(key) if isinstance(key, str) and len(key) < 80 else ""
        near = get_close_matches(name, known, n=1, cutoff=0.75) if name else []
        at = problems.at((SECTION, key) if isinstance(key, str) else (SECTION,))
        hint = f"did you mean `{near[0]}`?" if near else f"placement reads {listing(table.known, most=6)}"
        if name in table.absent or (table.refuses_unknown and near and near[0] in table.known):
            message = f"{shown(key)} is not an argument of {table.framework}, which does not start with it"
            at.error("slime_argument_refused", message, hint=hint, at_key=True)
        else:
            message = f"{shown(key)} is not an argument of {table.framework} that placetui knows; it is ignored"
            at.warning("slime_unknown_argument", message, hint=hint, at_key=True)
    if len(keys) > MOST_UNKNOWN:
        message = f"{count(len(keys) - MOST_UNKNOWN, 'more unknown argument')} under `{SECTION}`, all ignored"
        hint = "put settings of other programs outside this section"
        problems.at((SECTION,)).warning("slime_unknown_argument", message, hint=hint)


def shown(value: Any) -> str:
    """A value as a sentence can carry it: short, and safe for values of any size or depth."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a number of more than 20 digits"
    if isinstance(value, (int, float)):
        return f"`{value}`"
    if isinstance(value, str):
        return f"`{value if len(value) <= 60 else value[:57] + '...'}`"
    return "a mapping" if isinstance(value, Mapping) else f"a {type(value).__name__}"
