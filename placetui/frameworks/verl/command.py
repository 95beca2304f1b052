"""From a verl command line or launch script to a file with the keys that decide the placement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from placetui.frameworks.launch_command import LaunchCommand, find_launch, where
from placetui.frameworks.new_job import ImportedFile, ScriptContext
from placetui.frameworks.shell import Unknown
from placetui.frameworks.verl.config import ENTRIES, MAIN_ENTRY
from placetui.frameworks.verl.framework import FRAMEWORK
from placetui.placement.wording import clean
from placetui.placement.yaml_text import written

_SIZES = r"(?:name|tensor_model_parallel_size|data_parallel_size|pipeline_model_parallel_size|expert_parallel_size)"
_POOL = r"(?:nnodes|n_gpus_per_node)"
_READ = re.compile(
    rf"trainer\.(?:{_POOL}|device|use_v1|v1\.trainer_mode|use_legacy_worker_impl)"
    r"|algorithm\.(?:adv_estimator|use_kl_in_reward)|critic\.enable"
    r"|actor_rollout_ref\.(?:hybrid_engine|actor\.(?:use_kl_loss|strategy|use_dynamic_bsz|ppo_micro_batch_size_per_gpu)"
    r"|actor\.megatron\.(?:tensor_model_parallel_size|pipeline_model_parallel_size|context_parallel_size)"
    r"|model\.(?:lora\.rank|lora_rank|lora_adapter_path))"
    rf"|actor_rollout_ref\.rollout\.(?:{_SIZES}|{_POOL}|mode|n|checkpoint_engine\.backend|agent\.num_workers"
    r"|disaggregation\.(?:enabled|prefill_replicas|decode_replicas|decode_tensor_model_parallel_size))"
    rf"|rollout\.{_POOL}|async_training\.(?:use_trainer_do_validate|use_dynamic_resource_scheduling)"
    rf"|reward\.num_workers|(?:reward\.)?reward_model\.(?:enable|enable_resource_pool|use_reward_loop|{_POOL})"
    rf"|(?:reward\.)?reward_model\.rollout\.{_SIZES}"
    rf"|distillation\.(?:enabled|{_POOL}|teacher_models\.[^.]+\.(?:key|num_replicas|model_path|inference\.{_SIZES}))"
    r"|transfer_queue\.backend\.SimpleStorage\.num_data_storage_units|data\.train_batch_size"
)
"""Keys that decide the placement, or that verl checks with it."""

_OWN_FILES = frozenset(
    f"{kind}{strategy}trainer"
    for kind in ("ppo_", "fully_async_ppo_", "one_step_off_ppo_")
    for strategy in ("", "megatron_")
) | {"sft_trainer_engine"}
"""Configurations of verl itself, which lie in a folder `config`; between them no default differs that is read here."""

_OVERRIDE = re.compile(r"(?P<sign>\+{0,2}|~)(?P<key>[\w.@/-]+)(?:=(?P<value>.*))?", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d+")
_COMMENT_COLUMN = 48
_COMPOSED = "the script with the words --cfg job --resolve prints the composed configuration, which placetui reads"


@dataclass(frozen=True, slots=True)
class _Given:
    """A key of the command line that is read."""

    value: Any
    origin: str


def import_command(words: Sequence[str], context: ScriptContext | None = None) -> ImportedFile:
    """A file that says the same as a command line or a launch script; raises `ShellSyntaxError`."""
    launch = find_launch(words, FRAMEWORK.programs, lambda word: _key(word) is not None, context)
    given: dict[str, _Given] = {}
    others: list[str] = []
    notes, questions = list(launch.notes), list(launch.questions)
    for word in _overrides(launch, notes, questions):
        found = _OVERRIDE.fullmatch(word)
        key = _key(word)
        if found is None or key is None:
            others.append(word)
        elif found["sign"] == "~":
            given.pop(key, None)
        else:
            given[key] = _read_value(launch, word, key, found["value"] or "", questions)
    if launch.program == "verl.trainer.sft_trainer":
        notes.append("verl.trainer.sft_trainer runs without Ray: there is nothing to place")
    elif launch.program not in ENTRIES:
        notes.append(f"no module of verl is started: {MAIN_ENTRY} is assumed")
    entry = launch.program if launch.program in ENTRIES else MAIN_ENTRY
    serves = ENTRIES[entry] != "fine_tuning"
    if serves and "actor_rollout_ref.rollout.name" not in given:
        notes.append("no engine is named (actor_rollout_ref.rollout.name): vllm is assumed")
    if questions:
        shown = f"bash {launch.name} --cfg job --resolve" if launch.name else ""
        questions.append(f"{shown} prints the composed configuration, which placetui reads" if shown else _COMPOSED)
    text = _to_yaml(launch, entry, given, others, questions)
    return ImportedFile(text, (*questions, *notes), tuple(questions))


def _key(word: str) -> str | None:
    found = _OVERRIDE.fullmatch(word)
    if found is None or (found["value"] is None and found["sign"] != "~"):
        return None
    return found["key"] if _READ.fullmatch(found["key"]) else None


def _overrides(launch: LaunchCommand, notes: list[str], questions: list[str]) -> Iterator[str]:
    """Words behind the module that are overrides; what stands among them is noted."""
    words = iter(launch.arguments)
    for word in words:
        option, equals, value = word.partition("=")
        if option in ("--config-name", "-cn", "--config-path", "-cp", "--config-dir", "-cd"):
            value = (value if equals else next(words, "")).strip("'\"")
            own = value.removesuffix(".yaml") in _OWN_FILES or value.removeprefix("./") == "config"
            if not own:
                questions.append(f"{option} {value} names a configuration that is not read here")
        elif isinstance(word, Unknown) and "=" not in word and not word.startswith("~"):  # `~key` is no home directory
            _mention_unknown(word, launch, notes, questions)
        elif not word.startswith("-"):
            yield word


def _mention_unknown(word: Unknown, launch: LaunchCommand, notes: list[str], questions: list[str]) -> None:
    if word in ("$@", "$*", "${@}"):
        return  # the script's own arguments: none are given
    reason = launch.reason(word)
    choices = reason.choices if reason is not None else ()
    at = f" ({where(reason)})" if reason is not None else f" (line {word.place.line})" if word.place.line else ""
    if any(_key(part) for choice in choices for part in choice.split()):
        questions.append(f"what {word} holds{at} decides the placement: {' or '.join(choices)}")
    else:
        notes.append(f"what {word} holds is not known here{at}: add its keys if they decide a placement")


def _read_value(launch: LaunchCommand, word: str, key: str, value: str, questions: list[str]) -> _Given:
    origin = launch.origin(word)
    if isinstance(word, Unknown):
        known = Unknown(value, word.variables, word.reason, word.place, word.origins)
        questions += launch.unknown(key, [known])
        return _Given("???", origin)
    return _Given(_typed(value), origin)


def _typed(value: str) -> Any:
    """A value as Hydra reads it."""
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if _NUMBER.fullmatch(text) and len(text) < 20:
        return int(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("", "null"):
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _to_yaml(
    launch: LaunchCommand, entry: str, given: dict[str, _Given], others: list[str], questions: Sequence[str]
) -> str:
    source = f"{clean(launch.name or 'a script')} for verl" if launch.is_script else "a verl command line"
    lines = [f"# From {source}, by `placetui import`.", ""]
    if questions:
        lines[1:1] = ["# Not known without running it:", *(f"#   {clean(one)}" for one in questions)]
    tree: dict[str, Any] = {"trainer": {}}
    if ENTRIES[entry] != "fine_tuning":
        tree["actor_rollout_ref"] = {}
    for key, one in given.items():
        section = tree
        *path, name = key.split(".")
        for part in path:
            section = section.setdefault(part, {})
        section[name] = one
    lines += _lines(tree, 0)
    if entry != MAIN_ENTRY:
        lines += ["", "placetui:", f"  verl_entry: {entry}"]
    if others:
        lines += ["", "# Of no effect on the placement:", *(f"#   {clean(one)}" for one in others)]
    return "\n".join(lines) + "\n"


def _lines(tree: dict[str, Any], depth: int) -> Iterator[str]:
    for name, value in tree.items():
        entry = f"{'  ' * depth}{written(name, key=True, typed=True)}:"
        if isinstance(value, _Given):
            text = "???" if value.value == "???" else written(value.value, typed=True)
            line = f"{entry} {text}"
            yield f"{line:<{_COMMENT_COLUMN}}  # {value.origin}" if value.origin else line
        elif value:
            yield entry
            yield from _lines(value, depth + 1)
        else:
            yield f"{entry} {{}}"
