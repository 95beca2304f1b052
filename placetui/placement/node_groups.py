"""Reads `node_groups`: nodes under a label, their robots and their software environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placetui.placement.interpolation import has_unresolved
from placetui.placement.problems import Path, Problem, Problems, listing, quoted
from placetui.placement.ranks import RankError, parse_node_ranks, shorten
from placetui.placement.robots import FIELDS, check_robot
from placetui.placement.topology import ACCELERATOR, CLUSTER, NODE_LABEL, EnvConfig, Node, NodeGroup

_GROUP_FIELDS = ("label", "node_ranks", "env_configs", "hardware", "hardware_type", "ignore_hardware")
_ENV_FIELDS = ("node_ranks", "env_vars", "python_interpreter_path")

MOST_NODES = 65_536
"""Beyond any cluster; keeps a typing mistake from filling the memory."""

MOST_MEMBERSHIPS = 1_000_000
"""Nodes in groups, counted as often as they are named."""


@dataclass(slots=True)
class ClusterReading:
    """What could be read of the section; problems are reported on the side."""

    nodes: tuple[Node, ...]
    groups: dict[str, NodeGroup] = field(default_factory=dict)
    robots: dict[tuple[int, str], int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Labels of groups with problems: what is placed on them is not judged."""

    memberships: int = 0
    """Nodes in groups and their environments, counted as often as they are named."""

    sized: bool = True
    """False when the number of nodes is wrong: device ranks cannot be judged."""


class Group:
    """One entry of `node_groups` while it is being read."""

    def __init__(self, reading: ClusterReading, entry: Any, path: Path, index: int) -> None:
        self.reading = reading
        self.entry: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
        self.valid = isinstance(entry, Mapping)
        self.written = entry
        self.path = path
        self.index = index
        self.label = str(self.entry["label"]) if "label" in self.entry else None
        self.ranks: tuple[int, ...] = ()
        self.members: frozenset[int] = frozenset()
        self.env_configs: list[EnvConfig] = []
        self.robot_type: str | None = None
        self.robot_nodes: list[tuple[int, Path]] = []

    def read(self, number: int | None, problems: Problems) -> None:
        before = len(problems)
        if has_unresolved(self.written):
            self.break_()
            return
        if not self.valid:
            problems.error(
                "not_a_mapping",
                f"a node group must be a mapping, not `{shorten(repr(self.written))}`",
                hint="write `- label: a800` and below it `node_ranks: 0-3`",
                path=self.path,
            )
            return
        _check_fields(self.entry, _GROUP_FIELDS, ("label", "node_ranks"), "a node group", self.path, problems)
        if self.label in (CLUSTER, NODE_LABEL):
            problems.error(
                "reserved_label",
                f"the label `{self.label}` is reserved",
                hint="choose another one: `cluster` means all accelerators, `node` all nodes",
                path=(*self.path, "label"),
            )
        self._read_hardware(problems)
        if "node_ranks" in self.entry:
            known = range(MOST_NODES if number is None else min(number, MOST_NODES))
            ranks = _node_ranks(self.entry["node_ranks"], known, (*self.path, "node_ranks"), problems)
            self.reading.memberships += len(ranks or ())
            here = len(self.reading.nodes)
            self.ranks = tuple(rank for rank in ranks or () if rank < here)
            self.members = frozenset(self.ranks)
        self._read_env_configs(problems)
        if any(problem.severity == "error" for problem in problems[before:]):
            self.break_()

    def break_(self) -> None:
        """It has a problem: what is placed on it is not judged."""
        self.valid = False
        if self.label is not None:
            self.reading.broken.add(self.label)

    def _read_hardware(self, problems: Problems) -> None:
        if "hardware" not in self.entry or self.entry["hardware"] is None:
            if self.entry.get("hardware_type") and self.entry.get("ignore_hardware"):
                problems.warning(
                    "ignore_hardware_no_effect",
                    "`ignore_hardware` does nothing beside `hardware_type`: the devices are still counted",
                    hint="keep one of the two",
                    path=(*self.path, "ignore_hardware"),
                )
            return
        path = (*self.path, "hardware")
        hardware = self.entry["hardware"]
        if self.entry.get("hardware_type") is not None:
            problems.error(
                "hardware_and_hardware_type",
                "`hardware` and `hardware_type` cannot stand together",
                hint="remove `hardware_type`: the type stands in `hardware`",
                path=(*self.path, "hardware_type"),
            )
        if self.entry.get("ignore_hardware"):
            problems.error(
                "hardware_with_ignore",
                "`ignore_hardware` cannot stand beside `hardware`",
                hint="remove one of the two",
                path=(*self.path, "ignore_hardware"),
            )
        if not isinstance(hardware, Mapping):
            problems.error(
                "not_a_mapping", "`hardware` must be a mapping", hint="write `type:` and `configs:` below it", path=path
            )
            return
        _check_fields(hardware, ("type", "configs"), ("type", "configs"), "`hardware`", path, problems)
        kind = hardware.get("type")
        if "type" in hardware and str(kind) not in FIELDS:
            problems.error(
                "unsupported_hardware",
                f"`{shorten(str(kind))}` is not a hardware type that RLinf knows",
                hint=f"write one of {listing(quoted(FIELDS))}, to the letter",
                path=(*path, "type"),
            )
        self._read_robots(str(kind), hardware.get("configs"), (*path, "configs"), problems)

    def _read_robots(self, kind: str, configs: Any, path: Path, problems: Problems) -> None:
        if configs is None or kind not in FIELDS:
            return
        if isinstance(configs, str | Mapping) or not isinstance(configs, Sequence):
            problems.error(
                "hardware_field_invalid",
                "`configs` must be a list",
                hint="start each robot with `- node_rank: …`",
                path=path,
            )
            return
        self.robot_type = kind
        seen: set[tuple[tuple[str, str], ...]] = set()
        for index, config in enumerate(configs):
            where = (*path, index)
            if not isinstance(config, Mapping):
                problems.error(
                    "not_a_mapping",
                    f"a {kind} must be a mapping, not `{shorten(repr(config))}`",
                    hint="write `- node_rank: 0` and its other fields below",
                    path=where,
                )
                continue
            problems.adopt(check_robot(kind, config), where)
            known = tuple(sorted((str(name), repr(value)) for name, value in config.items()))
            if known in seen:
                problems.error(
                    "duplicate_hardware_config",
                    f"the same {kind} is listed twice",
                    hint="remove one, or tell them apart by their address",
                    path=where,
                )
            seen.add(known)
            if type(config.get("node_rank")) is int:
                self.robot_nodes.append((config["node_rank"], (*where, "node_rank")))

    def _read_env_configs(self, problems: Problems) -> None:
        configs = self.entry.get("env_configs")
        if configs is None:
            return
        path = (*self.path, "env_configs")
        if isinstance(configs, str | Mapping) or not isinstance(configs, Sequence):
            problems.error(
                "env_configs_not_list",
                "`env_configs` must be a list",
                hint="start each with `- node_ranks: …`",
                path=path,
            )
            return
        nodes_seen: set[int] = set()
        names_seen: set[str] = set()
        for index, config in enumerate(configs):
            if self.reading.memberships > MOST_MEMBERSHIPS:
                break  # reported with the next group
            found = self._read_env_config(config, (*path, index), problems)
            if found is None:
                continue
            twice = nodes_seen.intersection(found.node_ranks)
            if twice:
                problems.error(
                    "env_rank_overlap",
                    f"node {min(twice)} has two `env_configs` in group `{self.label}`",
                    hint="give each node of a group one entry",
                    path=(*path, index, "node_ranks"),
                )
            nodes_seen.update(found.node_ranks)
            for place, (name, _) in enumerate(found.env_vars):
                if name in names_seen:
                    problems.error(
                        "env_var_duplicate",
                        f"the variable `{name}` is set twice in group `{self.label}`",
                        hint="a variable may stand once in a group, even for different nodes: use two groups",
                        path=(*path, index, "env_vars", place),
                    )
                names_seen.add(name)
            self.env_configs.append(found)

    def _read_env_config(self, config: Any, path: Path, problems: Problems) -> EnvConfig | None:
        if not isinstance(config, Mapping):
            problems.error(
                "not_a_mapping",
                "an entry of `env_configs` must be a mapping",
                hint="write `- node_ranks: 0`",
                path=path,
            )
            return None
        _check_fields(config, _ENV_FIELDS, ("node_ranks",), "an entry of `env_configs`", path, problems)
        ranks: list[int] | None = None
        if "node_ranks" in config and self.ranks:
            where = (*path, "node_ranks")
            ranks = _node_ranks(config["node_ranks"], self.ranks, where, problems)
            self.reading.memberships += len(ranks or ())
            outside = [rank for rank in ranks or () if rank not in self.members]
            if outside:
                problems.error(
                    "env_rank_not_subset",
                    f"node {outside[0]} is not in group `{self.label}`",
                    hint=f"its nodes are {listing(self.ranks)}",
                    path=where,
                )
        interpreter = config.get("python_interpreter_path")
        return EnvConfig(
            tuple(ranks or ()),
            _env_vars(config.get("env_vars"), (*path, "env_vars"), problems),
            None if interpreter is None else str(interpreter),
        )

    def finish(self, problems: Problems) -> None:
        """Give the group its place among the others; one without nodes is dropped, as RLinf does."""
        if not self.reading.sized and self.label is not None and not self.ranks:
            self.reading.broken.add(self.label)  # its nodes may be the ones that lack
        if self.valid and self.label is not None and not self.ranks and self.reading.sized:
            problems.warning(
                "group_without_nodes",
                f"node group `{self.label}` names no nodes; RLinf drops it",
                hint="write its `node_ranks`, for example `0-3`, or remove the group",
                path=(*self.path, "node_ranks"),
            )
        if self.label is None or not self.ranks or (not self.valid and self.label in self.reading.groups):
            return
        if self.label in (CLUSTER, NODE_LABEL):
            return
        if self.label in self.reading.groups:
            problems.error(
                "duplicate_label",
                f"the label `{self.label}` stands on two node groups",
                hint="give each group a label of its own",
                path=(*self.path, "label"),
            )
            return
        reading = self.reading
        kind = self.robot_type or (str(self.entry["hardware_type"]) if self.entry.get("hardware_type") else None)
        if kind is None and not self.entry.get("ignore_hardware") and any(reading.nodes[r].gpus for r in self.ranks):
            kind = ACCELERATOR
        if self.robot_type is not None:
            self._warn_of_borrowed_robots(problems)
        reading.groups[self.label] = NodeGroup(self.label, self.ranks, kind, tuple(self.env_configs), self.index)

    def _warn_of_borrowed_robots(self, problems: Problems) -> None:
        own = {node for node, _ in self.robot_nodes}
        borrowed = [
            node for node in self.ranks if node not in own and self.reading.robots.get((node, str(self.robot_type)), 0)
        ]
        if borrowed:
            problems.warning(
                "robots_of_other_group",
                f"group `{self.label}` also counts the {self.robot_type} that another group declares on node "
                f"{listing(borrowed)}",
                hint="robots are counted by node and type, not by group: take those nodes out of one of the groups",
                path=(*self.path, "node_ranks"),
            )


def check_robots(groups: Sequence[Group], reading: ClusterReading, problems: Problems) -> None:
    """Count the robots of all groups; each must stand on a node of its group, and those of a node in one group."""
    owner: dict[tuple[int, str], Group] = {}
    for group in groups:
        kind = str(group.robot_type)
        for node, path in group.robot_nodes:
            if group.members and node not in group.members:
                problems.error(
                    "hardware_rank_not_in_group",
                    f"the {kind} stands on node {node}, which is not in group `{group.label}`",
                    hint=f"its nodes are {listing(group.ranks)}",
                    path=path,
                )
                group.break_()
            elif owner.setdefault((node, kind), group) is not group:
                problems.error(
                    "hardware_same_node_two_groups",
                    f"groups `{owner[node, kind].label}` and `{group.label}` both declare {kind} robots on node {node}",
                    hint="declare all robots of a node in one group",
                    path=path,
                )
                group.break_()
            else:
                reading.robots[node, kind] = reading.robots.get((node, kind), 0) + 1


def _node_ranks(value: Any, available: Sequence[int], path: Path, problems: Problems) -> list[int] | None:
    """Node ranks as text or as a YAML list."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = ",".join(str(one) for one in value)
    try:
        return parse_node_ranks(str(value), available)
    except RankError as error:
        problems.adopt([error.problem], path)
        return None


def _env_vars(value: Any, path: Path, problems: Problems) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        problems.error(
            "env_vars_not_list", "`env_vars` must be a list", hint="write each variable as `- NAME: value`", path=path
        )
        return ()
    found: list[tuple[str, str]] = []
    for index, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            rule, message = "env_var_not_dict", f"`{shorten(str(entry))}` is not a variable with a value"
        elif len(entry) != 1:
            rule, message = "env_var_not_single", f"an entry of `env_vars` holds {len(entry)} variables"
        else:
            found.extend((str(name), str(text)) for name, text in entry.items())
            continue
        problems.error(rule, message, hint="write each variable as `- NAME: value`", path=(*path, index))
    return tuple(found)


def _check_fields(
    mapping: Mapping[str, Any],
    allowed: Sequence[str],
    required: Sequence[str],
    what: str,
    path: Path,
    problems: Problems,
) -> None:
    for key in mapping:
        if key not in allowed:
            problems.append(
                Problem(
                    "unknown_field",
                    f"{what} has no field `{key}`",
                    hint=f"its fields are {listing(quoted(allowed))}",
                    path=(*path, key),
                    at_key=True,
                )
            )
    for key in required:
        if key not in mapping:
            problems.error("missing_field", f"{what} needs `{key}`", hint=f"add `{key}:`", path=path)
