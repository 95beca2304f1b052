"""The optional `placetui:` section of a file, and topologies in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placetui.placement.interpolation import Reader, Unresolved, has_unresolved
from placetui.placement.placements import AcceleratorType
from placetui.placement.problems import Path, Problems, listing, quoted
from placetui.placement.ranks import shorten
from placetui.placement.shares import DEFAULT_TRAIN
from placetui.placement.topology import DEFAULT_GPUS, Node

SECTION = "placetui"
MODES = ("component", "hybrid", "model_parallel", "model_parallel_eval", "multi_agent", "multi_agent_eval")
MOST_NODES = 65_536
MOST_GPUS = 1_024
MOST_DEVICES = 1_000_000

_KEYS = ("topology", "mode", "shares", "train", "memory", "launch")
_NODE_KEYS = ("name", "ip", "gpus", "accelerator", "memory_gib")
_LAUNCH_KEYS = ("worker", "kwargs", "env", "num_cpus", "max_restarts", "isolate_accelerator")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the `placetui:` section says."""

    nodes: tuple[Node, ...] | None = None
    mode: str | None = None
    shares: Mapping[str, int] = field(default_factory=dict)
    """By component, in 1/10000."""

    train: tuple[str, ...] = DEFAULT_TRAIN
    memory: Mapping[str, float] = field(default_factory=dict)
    """Fraction of a device's memory above which a rank is drift, by component."""

    launch: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def isolates(self, component: str, default: bool) -> bool:
        """Whether the ranks of a component see only the accelerators they own."""
        value = self.launch.get(component, {}).get("isolate_accelerator")
        return value if isinstance(value, bool) else default


def read_settings(reader: Reader, problems: Problems) -> Settings:
    """Read the section; what is wrong in it is reported and left out."""
    section = reader.get(SECTION, default=None)
    if section is None or isinstance(section, Unresolved):
        return Settings()
    if not _is_mapping(section, (SECTION,), problems):
        return Settings()
    _check_keys(section, _KEYS, (SECTION,), problems)
    nodes = None
    if section.get("topology") is not None:
        nodes = read_topology(section["topology"], problems, (SECTION, "topology"))
    return Settings(
        nodes=None if nodes is None else tuple(nodes),
        mode=_mode(section.get("mode"), problems),
        shares=_fractions(section, "shares", problems),
        train=_names(section.get("train"), problems),
        memory={name: units / 10_000 for name, units in _fractions(section, "memory", problems).items()},
        launch=_launch(section.get("launch"), problems),
    )


def read_topology(value: Any, problems: Problems, path: Path = ()) -> list[Node] | None:
    """Nodes of a topology mapping: `{nodes: 2, gpus_per_node: 8}`, or `nodes` as a list."""
    if has_unresolved(value) or not _is_mapping(value, path, problems):
        return None
    _check_keys(value, ("nodes", "gpus_per_node", "accelerator", "memory_gib"), path, problems)
    before = len(problems)
    common = _accelerator(value.get("accelerator"), (*path, "accelerator"), problems)
    memory = _memory(value.get("memory_gib"), (*path, "memory_gib"), problems)
    gpus = value.get("gpus_per_node", DEFAULT_GPUS)
    listed = value.get("nodes", 1)
    if not _whole(gpus, 0, MOST_GPUS):
        _invalid(f"`gpus_per_node` must be a whole number, not `{gpus!r}`", (*path, "gpus_per_node"), problems)
        gpus = DEFAULT_GPUS
    if isinstance(listed, list):
        nodes = [_node(one, (*path, "nodes", i), gpus, common, memory, problems) for i, one in enumerate(listed)]
        if not nodes:
            _invalid("the list `nodes` is empty", (*path, "nodes"), problems)
    elif _whole(listed, 1, MOST_NODES):
        nodes = [Node(gpus, common, memory_gib=memory)] * listed
    else:
        _invalid(f"`nodes` must be a number above 0 or a list, not `{listed!r}`", (*path, "nodes"), problems)
        return None
    total = sum(node.gpus for node in nodes)
    if total > MOST_DEVICES:
        _invalid(f"{total} GPUs are more than {MOST_DEVICES}", (*path, "nodes"), problems)
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


def _node(value: Any, path: Path, gpus: int, accelerator: str, memory: float | None, problems: Problems) -> Node:
    if not _is_mapping(value, path, problems):
        return Node(gpus)
    _check_keys(value, _NODE_KEYS, path, problems)
    own = value.get("gpus", gpus)
    if not _whole(own, 0, MOST_GPUS):
        _invalid(f"`gpus` must be a whole number, not `{own!r}`", (*path, "gpus"), problems)
        own = gpus
    if value.get("accelerator") is not None:
        accelerator = _accelerator(value["accelerator"], (*path, "accelerator"), problems)
    if value.get("memory_gib") is not None:
        memory = _memory(value["memory_gib"], (*path, "memory_gib"), problems)
    return Node(own, accelerator, str(value.get("name") or ""), str(value.get("ip") or ""), memory)


def _accelerator(value: Any, path: Path, problems: Problems) -> str:
    if value is None:
        return AcceleratorType.NV_GPU.value
    if value not in tuple(AcceleratorType):
        names = listing(quoted(kind.value for kind in AcceleratorType))
        _invalid(f"`{value}` is not an accelerator", path, problems, f"write one of {names}")
        return AcceleratorType.NV_GPU.value
    return AcceleratorType(value).value


def _memory(value: Any, path: Path, problems: Problems) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        _invalid(f"`memory_gib` must be a number above 0, not `{value!r}`", path, problems)
        return None
    return float(value)


def _mode(value: Any, problems: Problems) -> str | None:
    if value is None or isinstance(value, Unresolved):
        return None
    if value not in MODES:
        problems.error(
            "unknown_mode",
            f"there is no mode `{value}`",
            hint=f"write one of {listing(quoted(MODES))}",
            path=(SECTION, "mode"),
        )
        return None
    return str(value)


def _fractions(section: Mapping[str, Any], key: str, problems: Problems) -> dict[str, int]:
    """Numbers above 0 by component, in 1/10000."""
    value = section.get(key)
    path = (SECTION, key)
    if value is None or isinstance(value, Unresolved) or not _is_mapping(value, path, problems):
        return {}
    what = "the share" if key == "shares" else "the memory limit"
    found: dict[str, int] = {}
    for name, number in value.items():
        if isinstance(number, Unresolved):
            continue
        good = isinstance(number, int | float) and not isinstance(number, bool) and 0 < number < 1e9
        if not good or round(number * 10_000) < 1:
            problems.error(
                "share_invalid" if key == "shares" else "memory_invalid",
                f"{what} of `{name}` must be a number above 0, not `{number!r}`",
                hint="write a fraction of one device, for example `0.8`",
                path=(*path, name),
                component=name,
            )
        else:
            found[name] = round(number * 10_000)
    return found


def _names(value: Any, problems: Problems) -> tuple[str, ...]:
    if value is None or isinstance(value, Unresolved):
        return DEFAULT_TRAIN
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(","))
    if isinstance(value, Sequence):
        return tuple(str(name) for name in value)
    problems.error(
        "train_invalid",
        f"`train` must list components, not `{value!r}`",
        hint="write `[actor, critic]`",
        path=(SECTION, "train"),
    )
    return DEFAULT_TRAIN


def _launch(value: Any, problems: Problems) -> dict[str, Mapping[str, Any]]:
    path = (SECTION, "launch")
    if value is None or isinstance(value, Unresolved) or not _is_mapping(value, path, problems):
        return {}
    found: dict[str, Mapping[str, Any]] = {}
    for name, entry in value.items():
        if _is_mapping(entry, (*path, name), problems):
            _check_keys(entry, _LAUNCH_KEYS, (*path, name), problems)
            found[name] = {key: one for key, one in entry.items() if _launch_value(name, key, one, problems)}
    return found


_LAUNCH_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "worker": (lambda value: isinstance(value, str) and value.count(":") == 1, '"my_package.workers:Trainer"'),
    "kwargs": (lambda value: isinstance(value, Mapping), "{learning_rate: 0.1}"),
    "env": (lambda value: isinstance(value, Mapping), "{NCCL_DEBUG: INFO}"),
    "num_cpus": (lambda value: _number(value) and value >= 0, "0.8"),
    "max_restarts": (lambda value: _whole(value, -1, 1_000_000), "0"),
    "isolate_accelerator": (lambda value: isinstance(value, bool), "true"),
}
"""What each launch setting must be, and an example."""


def _launch_value(component: str, key: str, value: Any, problems: Problems) -> bool:
    """Whether a setting can be used; null means the default."""
    if key not in _LAUNCH_VALUES or value is None or has_unresolved(value):
        return False
    right, example = _LAUNCH_VALUES[key]
    if right(value):
        return True
    problems.error(
        "launch_invalid",
        f"`{key}` of `{component}` cannot be `{shorten(repr(value))}`",
        hint=f"write for example `{key}: {example}`",
        path=(SECTION, "launch", component, key),
        component=component,
    )
    return False


def warn_of_strangers(settings: Settings, components: Sequence[str], problems: Problems) -> None:
    """Names in the section that are no component of the file."""
    named: dict[str, Path] = {}
    for key in ("launch", "memory", "shares"):
        named.update({name: (SECTION, key, name) for name in getattr(settings, key)})
    if settings.train != DEFAULT_TRAIN:
        named.update(dict.fromkeys(settings.train, (SECTION, "train")))
    for name, path in named.items():
        if name not in components:
            problems.warning(
                "unknown_component",
                f"there is no component `{name}`",
                hint=f"the components are {listing(quoted(components))}" if components else "",
                path=path,
                at_key=path[-1] == name,
            )


def _is_mapping(value: Any, path: Path, problems: Problems) -> bool:
    if isinstance(value, Mapping):
        return True
    if not isinstance(value, Unresolved):
        name = path[-1] if path else "topology"
        problems.error(
            "not_a_mapping",
            f"`{name}` must be a mapping, not `{value!r}`",
            hint="write `key: value` lines below it",
            path=path,
        )
    return False


def _check_keys(value: Mapping[str, Any], known: Sequence[str], path: Path, problems: Problems) -> None:
    for key in value:
        if key not in known:
            problems.warning(
                "unknown_setting",
                f"placetui does not know `{key}` here",
                hint=f"it knows {listing(quoted(known))}",
                path=(*path, key),
                at_key=True,
            )


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _invalid(message: str, path: Path, problems: Problems, hint: str = "") -> None:
    problems.error(
        "topology_invalid", message, hint=hint or "write for example `{nodes: 2, gpus_per_node: 8}`", path=path
    )
