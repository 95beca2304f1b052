"""Arguments of Miles that slime does not have."""

from __future__ import annotations

from placetui.frameworks.slime.arguments import (
    KNOWN_ARGUMENTS,
    OTHER_ARGUMENTS,
    PREFIXES,
    Argument,
    ArgumentTable,
    argument_names,
)

_ARGUMENTS = (
    Argument("eval_num_gpus", "int", 0, "GPUs of engines that only evaluate"),
    Argument("eval_num_gpus_per_engine", "int", 1, "GPUs of one engine that only evaluates", least=1),
    Argument("eval_interval", "int", None, "steps between evaluations", most=10**12),
    Argument("save_interval", "int", None, "steps between checkpoints", most=10**12),
    Argument("eval_hf_dir", "path", None, "checkpoints that are evaluated"),
    Argument("save_hf", "path", None, "where checkpoints to evaluate are saved"),
    Argument("use_rollout_logprobs", "flag", False, "lets a critic train asynchronously"),
    Argument("use_tis", "flag", False, "lets a critic train asynchronously"),
    Argument("indep_dp", "flag", False, "training in cells that fail alone"),
    Argument("use_fault_tolerance", "flag", False, "starts again what failed"),
    Argument("ft_components", "any", None, "what fault tolerance is for: train, rollout"),
    Argument(
        "experimental_ft_trainer",
        "flag",
        False,
        "MILES_EXPERIMENTAL_FT_TRAINER=1 in the driver's environment: cells are made",
        implied_by=lambda _, environment: environment.get("MILES_EXPERIMENTAL_FT_TRAINER") == "1",
    ),
    Argument("pin_rollout_manager_to_head", "flag", False, "the rollout manager runs on Ray's head node"),
)

_ONLY_SLIME = frozenset(
    """
    ci_train_rollout_logprob_abs_diff_threshold custom_advantage_function_path freeze_params_name_list
    load_forge_rollout_data megatron_config_path megatron_deepgemm_forward_layers megatron_deepgemm_forward_modules
    megatron_deepgemm_moe_forward_layers megatron_deepgemm_moe_forward_modules only_train_params_name_list
    qwen_gdn_backend release_train rollout_data_transport rollout_sample_hook_path update_weight_disk_keep_files
    update_weight_mode update_weight_transport use_critic use_stateless_adam
    """.split()
)

_KNOWN = {**KNOWN_ARGUMENTS, **{argument.name: argument for argument in _ARGUMENTS}}

MILES_ARGUMENTS = ArgumentTable(
    "Miles",
    _KNOWN,
    (OTHER_ARGUMENTS | argument_names("miles")) - _KNOWN.keys(),
    programs=("train.py", "train_async.py", "train_multi_lora_async.py"),
    prefixes=(*PREFIXES, "eval_sglang_"),
    refuses_unknown=True,
    absent=_ONLY_SLIME,
)
