"""slime's arguments: which ones placement reads, and how a `slime:` section is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from placetui.placement.plan import SHARE_UNITS
from placetui.placement.problems import Path, Problems, count, listing

SECTION = "slime"

MOST_GPUS = 65_536
"""Larger layouts are refused: nobody has them, and a slip of the keyboard must not fill the memory."""

MOST_UNKNOWN = 20
"""Unknown arguments reported one by one; the rest only as a number."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of slime that decides who sits where."""

    name: str
    kind: Literal["int", "flag", "share", "text", "any"]
    default: int | bool | None
    help: str
    least: int = 0
    """Smallest number allowed."""


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
    Argument("release_train", "flag", False, "training leaves its GPUs during rollout"),
    Argument("train_async", "flag", False, "train_async.py rather than train.py"),
    Argument("sglang_config", "any", None, "server groups of different engines"),
    Argument("num_gpus_per_actor", "share", None, "share of a GPU that a training process holds"),
    Argument("num_gpus_per_engine", "share", None, "share of a GPU that an engine holds"),
)

KNOWN_ARGUMENTS: Mapping[str, Argument] = {argument.name: argument for argument in _ARGUMENTS}
"""Arguments that placement reads, by name with underscores."""

OTHER_ARGUMENTS = frozenset(
    """
    apply_chat_template balance_data buffer_filter_path ckpt_step clip_grad context_parallel_size
    data_pad_size_multiplier data_source_path debug_first_weight_sync decoder_last_pipeline_num_layers
    disable_rollout_trim_samples distributed_backend distributed_timeout_minutes dump_details
    dynamic_sampling_filter_path enable_mtp_training entropy_coef eps_clip eps_clip_high
    expert_model_parallel_size expert_tensor_parallel_size fetch_trajectory_retry_times finetune
    flush_cache_interval gamma global_batch_size group_rm hf_checkpoint http_proxy input_key kl_coef kl_loss_coef
    kl_loss_type label_key lambd load log_probs_chunk_size loss_mask_type loss_type lr lr_decay_style
    max_tokens_per_gpu memory_recorder memory_snapshot_dir metadata_key micro_batch_size
    min_batch_collection_ratio model_name multimodal_keys n_samples_per_eval_prompt n_samples_per_prompt
    normalize_advantages num_critic_only_steps num_epoch num_rollout num_steps_per_rollout offload offload_rollout
    offload_train optimizer over_sampling_batch_size partial_rollout pipeline_model_parallel_size
    prefill_num_servers prompt_data qkv_format recompute_granularity recompute_method recompute_num_layers
    ref_ckpt_step ref_load reward_key rm_type rm_url rollout_all_samples_process_path rollout_batch_size
    rollout_buffer_url rollout_data_dir rollout_data_postprocess_path rollout_data_transport
    rollout_function_path rollout_global_dataset rollout_health_check_first_wait rollout_health_check_interval
    rollout_health_check_timeout rollout_io_concurrency rollout_max_context_len rollout_max_prompt_len
    rollout_max_response_len rollout_sample_filter_path rollout_seed rollout_session_id rollout_shuffle
    rollout_skip_special_tokens rollout_stop rollout_stop_token_ids rollout_task_type rollout_temperature
    rollout_top_k rollout_top_p save save_debug_rollout_data save_debug_train_data save_interval seed
    sequence_parallel slime_router_ip slime_router_port start_rollout_id tensor_model_parallel_size tool_key
    train_backend train_env_vars update_weight_buffer_size update_weight_disk_dir update_weight_mode
    update_weight_transport use_distributed_post use_dynamic_batch_size use_fault_tolerance use_kl_loss
    use_rollout_logprobs use_rollout_routing_replay use_routing_replay use_slime_router use_tensorboard use_tis
    use_wandb virtual_pipeline_model_parallel_size weight_decay
    """.split()
)
"""Real arguments that do not change a placement: accepted in silence."""

OTHER_PREFIXES = ("sglang_", "megatron_", "custom_", "eval_", "wandb_", "tb_", "moe_", "opd_", "ci_", "adam_")
"""Families of real arguments that do not change a placement."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a `slime:` section says, with slime's defaults for the rest."""

    values: Mapping[str, Any]
    """By name, for every one of `KNOWN_ARGUMENTS`."""

    written: Mapping[str, str]
    """Arguments that the file gives, with the key as written there."""

    faulty: frozenset[str]
    """Arguments whose value was a problem; they have their default."""

    def sound(self, *names: str) -> bool:
        """Whether none of them was a problem."""
        return self.faulty.isdisjoint(names)

    def path(self, *names: str) -> Path:
        """Where the first of them that the file gives stands; the section if it gives none."""
        return path_of(self.written, *names)


def path_of(written: Mapping[str, str], *names: str) -> Path:
    """Path of the first of `names` that is written, else of the section."""
    for name in names:
        if name in written:
            return (SECTION, written[name])
    return (SECTION,)


def argument_name(key: str) -> str:
    """`--actor-num-nodes`, `actor-num-nodes` and `actor_num_nodes` are one argument."""
    return key.removeprefix("--").replace("-", "_")


def read_arguments(section: Mapping[Any, Any], problems: Problems) -> Arguments:
    """Read every argument of placement; report what is wrong with each."""
    values: dict[str, Any] = {argument.name: argument.default for argument in _ARGUMENTS}
    written: dict[str, str] = {}
    faulty: set[str] = set()
    unknown: list[Any] = []
    for key, value in section.items():
        name = argument_name(key) if isinstance(key, str) else ""
        argument = KNOWN_ARGUMENTS.get(name)
        if argument is None:
            if name not in OTHER_ARGUMENTS and not name.startswith(OTHER_PREFIXES):
                unknown.append(key)
            continue
        if name in written:
            faulty.add(name)
            problems.error(
                "slime_argument_twice",
                f"`{written[name]}` and `{key}` are the same argument",
                hint="keep one of the two lines",
                path=(SECTION, key),
                at_key=True,
            )
            continue
        written[name] = key
        before = len(problems)
        read = _read_value(argument, key, value, problems)
        if len(problems) > before:
            faulty.add(name)
        else:
            values[name] = read
    _report_unknown(unknown, problems)
    return Arguments(values, written, frozenset(faulty))


def _read_value(argument: Argument, key: str, value: Any, problems: Problems) -> Any:
    if value is None and argument.default is None:
        return None
    if argument.kind == "int":
        return _read_int(argument, key, value, problems)
    if argument.kind == "flag":
        return _read_flag(key, value, problems)
    if argument.kind == "share":
        return _read_share(key, value, problems)
    if argument.kind == "text" and not isinstance(value, str):
        hint = f"write `{key}: ppo`, or another name" if argument.name == "advantage_estimator" else "write a path"
        problems.error("slime_not_text", f"`{key}` is {shown(value)}, not a text", hint=hint, path=(SECTION, key))
    return value


def _read_int(argument: Argument, key: str, value: Any, problems: Problems) -> int | None:
    path = (SECTION, key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        otherwise = f", or remove the line for {argument.default}" if argument.default is not None else ""
        problems.error(
            "slime_not_a_number",
            f"`{key}` is {shown(value)}, not a whole number",
            hint=f"write a number such as `{key}: {argument.default or 8}`{otherwise}",
            path=path,
        )
    elif value < argument.least:
        too_small(key, value, argument.least, problems)
    elif value > MOST_GPUS:
        problems.error(
            "slime_number_too_large",
            f"`{key}` is {shown(value)}; placetui lays out at most {MOST_GPUS} GPUs",
            hint="check the number of digits",
            path=path,
        )
    else:
        return value
    return None


def too_small(key: str, value: int, least: int, problems: Problems, component: str | None = None) -> None:
    """Report a number that is below the smallest possible one."""
    problems.error(
        "slime_number_too_small",
        f"`{key}` is {shown(value)}, but must be at least {least}",
        hint=f"write `{key}: {max(1, least)}` or more",
        path=(SECTION, key),
        component=component,
    )


def _read_flag(key: str, value: Any, problems: Problems) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    problems.error(
        "slime_not_a_flag",
        f"`{key}` is {shown(value)}, neither true nor false",
        hint=f"write `{key}: true`, or remove the line",
        path=(SECTION, key),
    )
    return False


MOST_SHARE = 1_000
"""A device that is promised more than 1 is `oversubscribed`; this only keeps numbers sane."""


def _read_share(key: str, value: Any, problems: Problems) -> int | None:
    """A share in units of 1/10000."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= MOST_SHARE:
        units = round(value * SHARE_UNITS)
        if units:
            return units
    problems.error(
        "share_invalid",
        f"`{key}` is {shown(value)}; a share is a number above 0, in steps of 0.0001",
        hint=f"write `{key}: {0.8 if key.endswith('actor') else 0.2}`, or remove the line",
        path=(SECTION, key),
    )
    return None


def _report_unknown(keys: list[Any], problems: Problems) -> None:
    if not keys:
        return
    from difflib import get_close_matches

    names = [*KNOWN_ARGUMENTS, *sorted(OTHER_ARGUMENTS)]
    for key in keys[:MOST_UNKNOWN]:
        # Comparing is quadratic in the length of a text that may be anything.
        name = argument_name(key) if isinstance(key, str) and len(key) < 80 else ""
        near = get_close_matches(name, names, n=1, cutoff=0.75) if name else []
        problems.warning(
            "slime_unknown_argument",
            f"{shown(key)} is no argument of slime that placetui knows; it is ignored",
            hint=f"did you mean `{near[0]}`?" if near else f"placement reads {listing(KNOWN_ARGUMENTS, most=6)}",
            path=(SECTION, key) if isinstance(key, str) else (SECTION,),
            at_key=True,
        )
    if len(keys) > MOST_UNKNOWN:
        problems.warning(
            "slime_unknown_argument",
            f"{count(len(keys) - MOST_UNKNOWN, 'more unknown argument')} under `{SECTION}`, all ignored",
            hint="put settings of other programs outside this section",
            path=(SECTION,),
        )


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
