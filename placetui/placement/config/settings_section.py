"""Reads the `placetui:` section of a file, and topologies in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from placetui.placement.config.reader import Unresolved, has_unresolved
from placetui.placement.config.settings import SECTION, Settings
from placetui.placement.placements import AcceleratorType
from placetui.placement.problems import Path, ProblemReporter, Problems
from placetui.placement.ranks import shorten
from placetui.placement.shares import DEFAULT_TRAIN
from placetui.placement.topology import DEFAULT_GPUS, Node
from placetui.placement.wording import listing, quoted

MOST_NODES = 65_536
MOST_GPUS = 1_024
MOST_DEVICES = 1_000_000

_KEYS = (
    *("topology", "mode", "framework", "slime_version", "verl_version", "verl_entry"),
    *("shares", "train", "memory", "launch"),
)
_NODE_KEYS = ("name", "ip", "gpus", "cpus", "gpus_in_use", "cpus_in_use", "gpu_ids", "accelerator", "memory_gib")
_LAUNCH_KEYS = ("worker", "kwargs", "env", "runtime_env", "num_cpus", "max_restarts", "isolate_accelerator")


def read_section(section: Any, modes: Sequence[str], problems: Problems) -> Settings:
    """What the section says; what is wrong in it is reported and left out."""
    at = problems.at((SECTION,))
    if not _is_mapping(section, at):
        return Settings()
    _check_keys(section, _KEYS, at)
    nodes = None
    if section.get("topology") is not None:
        nodes = read_topology(section["topology"], problems, (SECTION, "topology"))
    return Settings(
        nodes=None if nodes is None else tuple(nodes),
        mode=_mode(section.get("mode"), modes, at.below("mode")),
        shares=_fractions(section, "shares", at),
        train=_names(section.get("train"), at.below("train")),
        memory={name: units / 10_000 for name, units in _fractions(section, "memory", at).items()},
        launch=_launch(section.get("launch"), at.below("launch")),
    )


def read_topology(value: Any, problems: Problems, path: Path = ()) -> list[Node] | None:
    """Nodes of a topology mapping: `{nodes: 2, gpus_per_node: 8}`, or `nodes` as a list."""
    at = problems.at(path)
    if has_unresolved(value) or not _is_mapping(value, at):
        return None
    _check_keys(value, ("nodes", "gpus_per_node", "cpus_per_node", "accelerator", "memory_gib"), at)
    before = len(problems)
    common = _accelerator(value.get("accelerator"), at.below("accelerator"))
    memory = _memory(value.get("memory_gib"), at.below("memory_gib"))
    gpus = value.get("gpus_per_node", DEFAULT_GPUS)
    cpus = _cpus(value.get("cpus_per_node"), at.below("cpus_per_node"))
    listed, nodes_at = value.get("nodes", 1), at.below("nodes")
    if not _whole(gpus, 0, MOST_GPUS):
        _invalid(at.below("gpus_per_node"), f"`gpus_per_node` must be a whole number, not `{gpus!r}`")
        gpus = DEFAULT_GPUS
    if isinstance(listed, list):
        default = Node(gpus, common, memory_gib=memory, cpus=cpus)
        nodes = [_node(one, nodes_at.below(index), default) for index, one in enumerate(listed)]
        if not nodes:
            _invalid(nodes_at, "the list `nodes` is empty")
    elif _whole(listed, 1, MOST_NODES):
        nodes = [Node(gpus, common, memory_gib=memory, cpus=cpus)] * listed
    else:
        _invalid(nodes_at, f"`nodes` must be a number above 0 or a list, not `{listed!r}`")
        return None
    total = sum(node.gpus for node in nodes)
    if total > MOST_DEVICES:
        _invalid(nodes_at, f"{total} GPUs are more than {MOST_DEVICES}")
    wrong = any(problem.severity == "error" for problem in problems[before:])
    return None if wrong else nodes


def parse_cluster(text: str) -> list[Node] | None:
    """`2x8` as two nodes of eight GPUs; None when it is not written so."""
    first, _, second = text.lower().replace("×", "x").partition("x")
    if not (first.strip().isdecimal() and second.strip().isdecimal()) or len(text) > 30:
        return None
    nodes, gpus = int(first), int(second)
    if not (_whole(nodes, 1, MOST_NODES) and _whole(gpus, 0, MOST_GPUS)) or nodes * gpus > MOST_DEVICES:
        return None
    return [Node(gpus)] * nodes


def _node(value: Any, at: ProblemReporter, default: Node) -> Node:
    if not _is_mapping(value, at):
        return default
    _check_keys(value, _NODE_KEYS, at)
    gpu_ids = _gpu_ids(value.get("gpu_ids"), at.below("gpu_ids"))
    gpus, accelerator, memory = value.get("gpus", len(gpu_ids) or default.gpus), default.accelerator, default.memory_gib
    if gpu_ids and gpus != len(gpu_ids):
        _invalid(at.below("gpu_ids"), f"`gpu_ids` has {len(gpu_ids)} entries, but the node {gpus!r} GPUs")
    if not _whole(gpus, 0, MOST_GPUS):
        _invalid(at.below("gpus"), f"`gpus` must be a whole number, not `{gpus!r}`")
        gpus = default.gpus
    if value.get("accelerator") is not None:
        accelerator = _accelerator(value["accelerator"], at.below("accelerator"))
    if value.get("memory_gib") is not None:
        memory = _memory(value["memory_gib"], at.below("memory_gib"))
    in_use = value.get("gpus_in_use") or 0
    if not _whole(in_use, 0, gpus):
        _invalid(at.below("gpus_in_use"), f"`gpus_in_use` must be a whole number up to {gpus}, not `{in_use!r}`")
        in_use = 0
    cpus = _cpus(value.get("cpus"), at.below("cpus"))
    return Node(
        gpus,
        accelerator,
        str(value.get("name") or ""),
        str(value.get("ip") or ""),
        memory,
        cpus=default.cpus if cpus is None else cpus,
        gpus_in_use=in_use,
        cpus_in_use=_cpus(value.get("cpus_in_use"), at.below("cpus_in_use")) or 0,
        gpu_ids=gpu_ids,
    )


def _gpu_ids(value: Any, at: ProblemReporter) -> tuple[int | str, ...]:
    if value is None:
        return ()
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) or _whole(one, 0, MOST_GPUS) for one in listed) or len({*listed}) < len(listed):
        _invalid(at, "`gpu_ids` must be a list of different ids, numbers or texts")
        return ()
    return tuple(listed)


def _cpus(value: Any, at: ProblemReporter) -> float | None:
    return _quantity(value, at, "a number of CPUs", _number(value) and value >= 0)


def _memory(value: Any, at: ProblemReporter) -> float | None:
    return _quantity(value, at, "a number above 0", _number(value) and value > 0)


def _quantity(value: Any, at: ProblemReporter, what: str, right: bool) -> float | None:
    if right and value < 1e9:
        return float(value)
    if value is not None:
        _invalid(at, f"`{at.path[-1]}` must be {what}, not `{value!r}`")
    return None


def _accelerator(value: Any, at: ProblemReporter) -> str:
    if value is None:
        return AcceleratorType.NV_GPU.value
    if value not in tuple(AcceleratorType):
        names = listing(quoted(kind.value for kind in AcceleratorType))
        _invalid(at, f"`{value}` is not an accelerator", f"write one of {names}")
        return AcceleratorType.NV_GPU.value
    return AcceleratorType(value).value


def _mode(value: Any, modes: Sequence[str], at: ProblemReporter) -> str | None:
    if value is None or isinstance(value, Unresolved):
        return None
    if value not in modes:
        at.error("unknown_mode", f"there is no mode `{value}`", hint=f"write one of {listing(quoted(modes))}")
        return None
    return str(value)


def _fractions(section: Mapping[str, Any], key: Literal["shares", "memory"], at: ProblemReporter) -> dict[str, int]:
    """Numbers above 0 by component, in 1/10000."""
    value, at = section.get(key), at.below(key)
    if value is None or not _is_mapping(value, at):
        return {}
    found: dict[str, int] = {}
    for name, number in value.items():
        if isinstance(number, Unresolved):
            continue
        if _number(number) and 0 < number < 1e9 and round(number * 10_000):
            found[name] = round(number * 10_000)
            continue
        what = "the share" if key == "shares" else "the memory limit"
        at.problems.at((*at.path, name), component=name).error(
            "share_invalid" if key == "shares" else "memory_invalid",
            f"{what} of `{name}` must be a number above 0, not `{number!r}`",
            hint="write a fraction of one device, for example `0.8`",
        )
    return found


def _names(value: Any, at: ProblemReporter) -> tuple[str, ...]:
    if value is None or isinstance(value, Unresolved):
        return DEFAULT_TRAIN
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(","))
    if isinstance(value, Sequence):
        return tuple(str(name) for name in value)
    at.error("train_invalid", f"`train` must list components, not `{value!r}`", hint="write `[actor, critic]`")
    return DEFAULT_TRAIN


def _launch(value: Any, at: ProblemReporter) -> dict[str, Mapping[str, Any]]:
    if value is None or not _is_mapping(value, at):
        return {}
    found: dict[str, Mapping[str, Any]] = {}
    for name, entry in value.items():
        here = at.problems.at((*at.path, name), component=name)
        if _is_mapping(entry, at.below(name)):
            _check_keys(entry, _LAUNCH_KEYS, at.below(name))
            found[name] = {key: one for key, one in entry.items() if _launch_value(key, one, here)}
    return found


_LAUNCH_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "worker": (lambda value: isinstance(value, str) and value.count(":") == 1, '"my_package.workers:Trainer"'),
    "kwargs": (lambda value: isinstance(value, Mapping), "{learning_rate: 0.1}"),
    "env": (lambda value: isinstance(value, Mapping), "{NCCL_DEBUG: INFO}"),
    "runtime_env": (lambda value: isinstance(value, Mapping), "{pip: [einops]}"),
    "num_cpus": (lambda value: _number(value) and value >= 0, "0.8"),
    "max_restarts": (lambda value: _whole(value, -1, 1_000_000), "0"),
    "isolate_accelerator": (lambda value: isinstance(value, bool), "true"),
}
"""What each launch setting must be, and an example."""


def _launch_value(key: str, value: Any, at: ProblemReporter) -> bool:
    """Whether a setting can be used; null means the default."""
    if key not in _LAUNCH_VALUES or value is None or has_unresolved(value):
        return False
    right, example = _LAUNCH_VALUES[key]
    if right(value):
        return True
    message = f"`{key}` of `{at.component}` cannot be `{shorten(repr(value))}`"
    at.below(key).error("launch_invalid", message, hint=f"write for example `{key}: {example}`")
    return False


def _is_mapping(value: Any, at: ProblemReporter) -> bool:
    if not isinstance(value, Mapping | Unresolved):
        message = f"`{at.path[-1] if at.path else 'topology'}` must be a mapping, not `{value!r}`"
        at.error("not_a_mapping", message, hint="write `key: value` lines below it")
    return isinstance(value, Mapping)


def _check_keys(value: Mapping[str, Any], known: Sequence[str], at: ProblemReporter) -> None:
    hint = f"the known keys are {listing(quoted(known))}"
    for key in value:
        if key not in known:
            message = f"`{key}` is not a known key here"
            at.below(key).warning("unknown_setting", message, hint=hint, at_key=True)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _invalid(at: ProblemReporter, message: str, hint: str = "write for example `{nodes: 2, gpus_per_node: 8}`") -> None:
    at.error("topology_invalid", message, hint=hint)
