"""What of a plan RLinf's scripts start, and under which names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan

_GROUP_NAMES = {
    "actor_inference": ("inference", "group_name"),
    "reward_server": ("router_server_args", "group_name"),
}
"""Where the group name of a component is, if it is not in its own section."""

_OWN_NAME = frozenset({"rollout_judge"})
"""Components that are called after themselves where the file gives no name."""


def with_names(plan: Plan, reader: Reader) -> Plan:
    """The plan with group names and with what each script leaves out."""
    components = {name: replace(one, group_name=group_name(reader, name)) for name, one in plan.components.items()}
    return replace(plan, components=components, not_launched=not_launched(reader, plan.placement_mode, plan.components))


def group_name(reader: Reader, component: str) -> str:
    """The name under which the ranks of a component run; empty if the file does not say it."""
    path = _GROUP_NAMES.get(component, (component, "group_name"))
    found = reader.get(*path, default=None) if reader.has_key(*path) else None
    if isinstance(found, str):
        return found
    return component if component in _OWN_NAME else ""


def not_launched(reader: Reader, placement_mode: str | None, components: Collection[str]) -> dict[str, frozenset[str]]:
    """By the end of a script's path, the components that it does not start.

    A script that is not listed may start what it likes.
    """
    if not components:
        return {}
    reward = set()
    if _true(reader, "reward", "use_reward_model"):
        reward |= set() if _true(reader, "reward", "standalone_realworld") else {"reward"}
        own_server = _value(reader, "reward", "api", "api_base") or _value(reader, "reward", "api_base")
        if str(_value(reader, "reward", "worker_type")).lower() == "api" and not own_server:
            reward.add("reward_server")
    embodied = {"actor", "rollout", "env", *reward}
    interval = _value(reader, "runner", "val_check_interval")
    evaluates = (isinstance(interval, int | float) and interval > 0) or _true(reader, "runner", "only_eval")
    apart = placement_mode != "collocated"
    training = {"rollout", "actor"}
    if apart and _value(reader, "algorithm", "recompute_logprobs") is not False:
        training |= {"inference", "actor_inference"}
    reasoning = {*training, "reward"}
    if _true(reader, "critic", "use_critic_model"):
        reasoning |= {"critic"} | ({"critic_inference"} if apart else set())
    judge = {"rollout_judge"} if _true(reader, "agentloop", "use_local_judge") else set()
    only_actor, only_env = {"actor"}, {"env"}
    launched: Mapping[str, set[str]] = {
        "train_embodied_agent.py": embodied,
        "train_async.py": embodied - {"reward_server"},
        "train_offline_rl.py": {"actor", "env", "rollout"} if evaluates else only_actor,
        "eval_embodied_agent.py": {"rollout", "env"},
        "collect_real_data.py": only_env,
        "realworld_collect_process_dataset.py": only_env,
        "eval_realworld_teleop.py": only_env,
        "train_vla_sft.py": only_actor,
        "train_vlm_sft.py": only_actor,
        "train_reward_model.py": only_actor,
        "train_value.py": only_actor,
        "train_steam.py": only_actor,
        "train_cfg.py": only_actor,
        "main_grpo.py": reasoning,
        "main_rstar2.py": {*training, "reward", "agentloop"},
        "main_coding_rl_llm_judge.py": {*training, "reward"},
        "main_coding_online_rl.py": training,
        "calc_x/main.py": training,
        "searchr1/train.py": {*training, "agentloop"},
        "searchr1/eval.py": {"rollout", "agentloop"},
        "wideseek_r1/train.py": {*training, "agentloop", *judge},
        "wideseek_r1/eval.py": {"rollout", "agentloop", *judge},
    }
    return {script: frozenset(components) - started for script, started in launched.items()}


def _value(reader: Reader, *path: str) -> object:
    return reader.get(*path, default=None) if reader.has_key(*path) else None


def _true(reader: Reader, *path: str) -> bool:
    return _value(reader, *path) is True
