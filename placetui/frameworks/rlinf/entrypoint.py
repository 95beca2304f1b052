"""The configuration of a running RLinf job: Hydra's words on the command line of its driver."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.entrypoint import JobConfiguration, split_command

_DEFAULT_FOLDERS = {"evaluations": "libero", "reasoning": "", "agent": ""}
"""By a folder in the script's path, where the script looks for files; `config` beside it for all others."""

_DEFAULT_NAMES = {
    "train_embodied_agent.py": "maniskill_ppo_openvlaoft",
    "train_vla_sft.py": "maniskill_ppo_openvlaoft",
    "train_async.py": "maniskill_sac_mlp_async",
    "train_offline_rl.py": "d4rl_iql_mujoco",
    "eval_embodied_agent.py": "libero_spatial_starvla_eval",
}
"""What a script reads where the command line names nothing."""

_OPTIONS = {
    "--config-path": "path",
    "-cp": "path",
    "--config-name": "name",
    "-cn": "name",
    "--config-dir": "dir",
    "-cd": "dir",
}


def configuration(job: RayJobSeen, environment: Mapping[str, str]) -> JobConfiguration | None:
    """Folders, name and overrides; None if the command line runs no script."""
    words = split_command(job.entrypoint)
    place = next((index for index, word in enumerate(words) if word.endswith(".py")), None)
    if place is None:
        return None
    directory = job.sys_path[1] if len(job.sys_path) > 1 else environment.get("PWD", "")
    script = _joined(directory, words[place])
    if job.sys_path and not posixpath.isabs(script):
        script = posixpath.join(job.sys_path[0], posixpath.basename(script))
    given: dict[str, str] = {}
    overrides: list[str] = []
    rest = iter(words[place + 1 :])
    for word in rest:
        option, equals, value = word.partition("=")
        if option in _OPTIONS:
            given[_OPTIONS[option]] = value if equals else next(rest, "")
        elif word.startswith("~") or (equals and not word.startswith("-")):
            overrides.append(word)
    folder = given.get("path", _default_folder(script))
    folders = [] if folder is None else [_joined(posixpath.dirname(script), folder)]
    if "dir" in given:
        folders.append(_joined(directory, given["dir"]))
    name = given.get("name") or _DEFAULT_NAMES.get(posixpath.basename(script), "")
    return JobConfiguration("", tuple(folders), name, tuple(overrides), script)


def _default_folder(script: str) -> str | None:
    parts = script.split("/")
    if "offline_rl" in parts:
        return None
    return next((folder for name, folder in _DEFAULT_FOLDERS.items() if name in parts), "config")


def _joined(folder: str, path: str) -> str:
    found = posixpath.normpath(posixpath.join(folder, path)) if path else folder
    return f"{found}/" if path.endswith("/") else found
