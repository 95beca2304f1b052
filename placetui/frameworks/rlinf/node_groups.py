"""Reads `node_groups`: nodes under a label, their robots and their software environments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from placetui.frameworks.rlinf.cluster_section import MOST_MEMBERSHIPS, MOST_NODES, ClusterReading
from placetui.placement.config.reader import has_unresolved
from placetui.placement.problems import Problem, ProblemReporter
from placetui.placement.ranks import RankError, parse_node_ranks, shorten
from placetui.placement.topology import ACCELERATOR, CLUSTER, NODE_LABEL, EnvConfig, NodeGroup
from placetui.placement.wording import listing, quoted

_GROUP_FIELDS = ("label", "node_ranks", "env_configs", "hardware", "hardware_type", "ignore_hardware")
_ENV_FIELDS = ("node_ranks", "env_vars", "python_interpreter_path")

_COMMON = ("camera_serials", "camera_type", "gripper_type", "gripper_connection")
_SIDES = tuple(
    f"{side}_{name}" for side in ("left", "right") for name in ("robot_ip", *_COMMON, "controller_node_rank")
)

_ROBOT_FIELDS: Mapping[str, frozenset[str]] = {
    "Franka": frozenset(("robot_ip", *_COMMON, "controller_node_rank", "disable_validate")),
    "DualFranka": frozenset((*_SIDES, "base_camera_serials", "base_camera_type", "camera_type")),
    "DOSW1": frozenset(("robot_url", "camera_serials", "left_arm_port", "right_arm_port", "base_port", "camera_port")),
    "GimArm": frozenset(("can_interface", "arm_variant", *_COMMON, "controller_node_rank", "disable_validate")),
    "Turtle2": frozenset(),
}
"""Fields of each hardware type beyond `node_rank`."""

_ADDRESSES = ("robot_ip", "left_robot_ip", "right_robot_ip")
_PLACEHOLDER = re.compile(r"<?[A-Za-z][\w -]*>?")
"""As in RLinf's examples: `ROBOT_IP`. Where everything goes does not depend on it."""

_ARMS = ("gim_arm", "gim_arm_xl")


class GroupReader:
    """Reads one entry of `node_groups`."""

    def __init__(self, reading: ClusterReading, entry: Any, at: ProblemReporter, index: int) -> None:
        self.reading = reading
        self.at = at
        self.index = index
        self.written = entry
        self.valid = isinstance(entry, Mapping)
        self.entry: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
        self.label = str(self.entry["label"]) if "label" in self.entry else None
        self.ranks: tuple[int, ...] = ()
        self.members: frozenset[int] = frozenset()
        self.env_configs: list[EnvConfig] = []
        self.robot_type: str | None = None
        self.robot_nodes: list[tuple[int, ProblemReporter]] = []

    def read(self, number: int | None) -> None:
        """Read everything that concerns this group alone; `number` of nodes, None if that is wrong."""
        problems = self.at.problems
        before = len(problems)
        if has_unresolved(self.written):
            self.break_()
            return
        if not self.valid:
            hint = "write `- label: a800` and below it `node_ranks: 0-3`"
            self.at.error("not_a_mapping", f"a node group must be a mapping, not {_shown(self.written)}", hint=hint)
            return
        _check_fields(self.entry, _GROUP_FIELDS, ("label", "node_ranks"), "a node group", self.at)
        if self.label in (CLUSTER, NODE_LABEL):
            hint = "choose another one: `cluster` means all accelerators, `node` all nodes"
            self.at.below("label").error("reserved_label", f"the label `{self.label}` is reserved", hint=hint)
        self._read_hardware()
        if "node_ranks" in self.entry:
            known = range(MOST_NODES if number is None else min(number, MOST_NODES))
            ranks = _node_ranks(self.entry["node_ranks"], known, self.at.below("node_ranks"))
            self.reading.memberships += len(ranks)
            self.ranks = tuple(rank for rank in ranks if rank < len(self.reading.nodes))
            self.members = frozenset(self.ranks)
        self._read_env_configs()
        if any(problem.severity == "error" for problem in problems[before:]):
            self.break_()

    def break_(self) -> None:
        """It has a problem: what is placed on it is not judged."""
        self.valid = False
        if self.label is not None:
            self.reading.broken.add(self.label)

    def _read_hardware(self) -> None:
        hardware, at = self.entry.get("hardware"), self.at.below("hardware")
        ignored = self.at.below("ignore_hardware") if self.entry.get("ignore_hardware") else None
        if hardware is None:
            if ignored and self.entry.get("hardware_type"):
                message = "`ignore_hardware` has no effect with `hardware_type`: the devices are still counted"
                ignored.warning("ignore_hardware_no_effect", message, hint="keep one of the two")
            return
        if self.entry.get("hardware_type") is not None:
            message = "`hardware` and `hardware_type` cannot be used together"
            hint = "remove `hardware_type`: `hardware` has the type"
            self.at.below("hardware_type").error("hardware_and_hardware_type", message, hint=hint)
        if ignored:
            message = "`ignore_hardware` cannot be used with `hardware`"
            ignored.error("hardware_with_ignore", message, hint="remove one of the two")
        if not isinstance(hardware, Mapping):
            hint = "write `type:` and `configs:` below it"
            at.error("not_a_mapping", "`hardware` must be a mapping", hint=hint)
            return
        _check_fields(hardware, ("type", "configs"), ("type", "configs"), "`hardware`", at)
        kind = str(hardware.get("type"))
        if kind in _ROBOT_FIELDS:
            self._read_robots(kind, hardware.get("configs"), at.below("configs"))
        elif "type" in hardware:
            message = f"`{shorten(kind)}` is not a hardware type that RLinf knows"
            hint = f"write one of {listing(quoted(_ROBOT_FIELDS))}, exactly"
            at.below("type").error("unsupported_hardware", message, hint=hint)

    def _read_robots(self, kind: str, configs: Any, at: ProblemReporter) -> None:
        if configs is None:
            return
        if not _is_list(configs):
            hint = "start each robot with `- node_rank: …`"
            at.error("hardware_field_invalid", "`configs` must be a list", hint=hint)
            return
        self.robot_type = kind
        seen: set[tuple[tuple[str, str], ...]] = set()
        for index, config in enumerate(configs):
            here = at.below(index)
            if not isinstance(config, Mapping):
                hint = "write `- node_rank: 0` and its other fields below"
                here.error("not_a_mapping", f"a {kind} must be a mapping, not {_shown(config)}", hint=hint)
                continue
            here.adopt(_check_robot(kind, config))
            known = tuple(sorted((str(name), repr(value)) for name, value in config.items()))
            if known in seen:
                hint = "remove one, or tell them apart by their address"
                here.error("duplicate_hardware_config", f"the same {kind} is listed twice", hint=hint)
            seen.add(known)
            if type(config.get("node_rank")) is int:
                self.robot_nodes.append((config["node_rank"], here.below("node_rank")))

    def _read_env_configs(self) -> None:
        configs, at = self.entry.get("env_configs"), self.at.below("env_configs")
        if configs is None:
            return
        if not _is_list(configs):
            hint = "start each with `- node_ranks: …`"
            at.error("env_configs_not_list", "`env_configs` must be a list", hint=hint)
            return
        nodes_seen: set[int] = set()
        names_seen: set[str] = set()
        for index, config in enumerate(configs):
            if self.reading.memberships > MOST_MEMBERSHIPS:
                break  # reported with the next group
            here = at.below(index)
            found = self._read_env_config(config, here)
            if found is None:
                continue
            twice = nodes_seen.intersection(found.node_ranks)
            if twice:
                message = f"node {min(twice)} has two `env_configs` in group `{self.label}`"
                hint = "give each node of a group one entry"
                here.below("node_ranks").error("env_rank_overlap", message, hint=hint)
            nodes_seen.update(found.node_ranks)
            for place, (name, _) in enumerate(found.env_vars):
                if name in names_seen:
                    message = f"the variable `{name}` is set twice in group `{self.label}`"
                    hint = "set a variable once per group, even for different nodes; or use two groups"
                    here.below("env_vars", place).error("env_var_duplicate", message, hint=hint)
                names_seen.add(name)
            self.env_configs.append(found)

    def _read_env_config(self, config: Any, at: ProblemReporter) -> EnvConfig | None:
        if not isinstance(config, Mapping):
            message = "an entry of `env_configs` must be a mapping"
            at.error("not_a_mapping", message, hint="write `- node_ranks: 0`")
            return None
        _check_fields(config, _ENV_FIELDS, ("node_ranks",), "an entry of `env_configs`", at)
        ranks: list[int] = []
        if "node_ranks" in config and self.ranks:
            here = at.below("node_ranks")
            ranks = _node_ranks(config["node_ranks"], self.ranks, here)
            self.reading.memberships += len(ranks)
            outside = [rank for rank in ranks if rank not in self.members]
            if outside:
                message = f"node {outside[0]} is not in group `{self.label}`"
                here.error("env_rank_not_subset", message, hint=f"nodes of the group: {listing(self.ranks)}")
        interpreter = config.get("python_interpreter_path")
        variables = _env_vars(config.get("env_vars"), at.below("env_vars"))
        return EnvConfig(tuple(ranks), variables, None if interpreter is None else str(interpreter))

    def finish(self) -> None:
        """Give the group its place among the others; one without nodes is dropped, as RLinf does."""
        reading, label = self.reading, self.label
        if label is None:
            return
        if not self.ranks:
            if not reading.sized:
                reading.broken.add(label)  # its nodes may be the missing ones
            elif self.valid:
                hint = "write its `node_ranks`, for example `0-3`, or remove the group"
                message = f"node group `{label}` names no nodes; RLinf drops it"
                self.at.below("node_ranks").warning("group_without_nodes", message, hint=hint)
            return
        if label in (CLUSTER, NODE_LABEL) or (not self.valid and label in reading.groups):
            return
        if label in reading.groups:
            hint = "give each group its own label"
            message = f"two node groups have the label `{label}`"
            self.at.below("label").error("duplicate_label", message, hint=hint)
            return
        kind = self.robot_type or (str(self.entry["hardware_type"]) if self.entry.get("hardware_type") else None)
        if kind is None and not self.entry.get("ignore_hardware") and any(reading.nodes[r].gpus for r in self.ranks):
            kind = ACCELERATOR
        if self.robot_type is not None:
            self._warn_of_borrowed_robots(self.robot_type)
        reading.groups[label] = NodeGroup(label, self.ranks, kind, tuple(self.env_configs), self.index)

    def _warn_of_borrowed_robots(self, kind: str) -> None:
        own = {node for node, _ in self.robot_nodes}
        borrowed = [node for node in self.ranks if node not in own and self.reading.robots.get((node, kind), 0)]
        if borrowed:
            self.at.below("node_ranks").warning(
                "robots_of_other_group",
                f"group `{self.label}` also counts the {kind} that another group declares on node {listing(borrowed)}",
                hint="robots are counted by node and type, not by group: take those nodes out of one of the groups",
            )


def check_robots(groups: Sequence[GroupReader], reading: ClusterReading) -> None:
    """Count the robots of all groups; each must stand on a node of its group, and those of a node in one group."""
    owner: dict[tuple[int, str], GroupReader] = {}
    for group in groups:
        kind = str(group.robot_type)
        for node, at in group.robot_nodes:
            if group.members and node not in group.members:
                message = f"the {kind} is on node {node}, which is not in group `{group.label}`"
                at.error("hardware_rank_not_in_group", message, hint=f"nodes of the group: {listing(group.ranks)}")
                group.break_()
            elif owner.setdefault((node, kind), group) is not group:
                both = f"`{owner[node, kind].label}` and `{group.label}`"
                message = f"groups {both} both declare {kind} robots on node {node}"
                at.error("hardware_same_node_two_groups", message, hint="declare all robots of a node in one group")
                group.break_()
            else:
                reading.robots[node, kind] = reading.robots.get((node, kind), 0) + 1


def _check_robot(kind: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of one robot's configuration, with paths relative to it."""
    for name in config:
        if name != "node_rank" and name not in _ROBOT_FIELDS[kind] and not (kind == "DOSW1" and name.endswith("_port")):
            yield Problem(
                "unknown_field",
                f"a {kind} has no field `{name}`",
                hint=f"its fields are {listing(quoted(sorted(('node_rank', *_ROBOT_FIELDS[kind]))), 20)}",
                path=(name,),
                at_key=True,
            )
    if "node_rank" not in config:
        yield Problem("missing_field", f"the {kind} does not say on which node it is", hint="add `node_rank: 0`")
    elif type(config["node_rank"]) is not int:
        yield Problem(
            "hardware_node_rank_type",
            f"`node_rank` must be a whole number, not `{config['node_rank']!r}`",
            hint="write it without quotes",
            path=("node_rank",),
        )
    for name in _ADDRESSES:
        if config.get(name) is not None and name in _ROBOT_FIELDS[kind] and not _is_address(config[name]):
            placeholder = _PLACEHOLDER.fullmatch(str(config[name])) is not None
            yield Problem(
                "invalid_ip",
                f"`{config[name]}` {'stands for' if placeholder else 'is not'} an IP address",
                "warning" if placeholder else "error",
                "write the address before you launch, for example `172.16.0.2`",
                path=(name,),
            )
    if kind == "GimArm" and config.get("arm_variant") not in (None, *_ARMS):
        yield Problem(
            "hardware_field_invalid",
            f"`{config['arm_variant']}` is not a variant of the arm",
            hint=f"write `{_ARMS[0]}` or `{_ARMS[1]}`",
            path=("arm_variant",),
        )


def _is_address(value: object) -> bool:
    from ipaddress import ip_address  # only files with robots need it

    try:
        ip_address(str(value))
    except ValueError:
        return False
    return True


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(value: Any) -> str:
    return f"`{shorten(repr(value))}`"


def _node_ranks(value: Any, available: Sequence[int], at: ProblemReporter) -> list[int]:
    """Node ranks as text or as a YAML list; none where they are wrong."""
    if _is_list(value):
        value = ",".join(str(one) for one in value)
    try:
        return parse_node_ranks(str(value), available)
    except RankError as error:
        at.adopt([error.problem])
        return []


def _env_vars(value: Any, at: ProblemReporter) -> tuple[tuple[str, str], ...]:
    hint = "write each variable as `- NAME: value`"
    if value is None:
        return ()
    if not _is_list(value):
        at.error("env_vars_not_list", "`env_vars` must be a list", hint=hint)
        return ()
    found: list[tuple[str, str]] = []
    for index, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            message = f"`{shorten(str(entry))}` is not a variable with a value"
            at.below(index).error("env_var_not_dict", message, hint=hint)
        elif len(entry) != 1:
            message = f"an entry of `env_vars` holds {len(entry)} variables"
            at.below(index).error("env_var_not_single", message, hint=hint)
        else:
            found.extend((str(name), str(text)) for name, text in entry.items())
    return tuple(found)


def _check_fields(
    mapping: Mapping[str, Any], allowed: Sequence[str], required: Sequence[str], what: str, at: ProblemReporter
) -> None:
    for key in mapping:
        if key not in allowed:
            hint = f"its fields are {listing(quoted(allowed))}"
            at.below(key).error("unknown_field", f"{what} has no field `{key}`", hint=hint, at_key=True)
    for key in required:
        if key not in mapping:
            at.error("missing_field", f"{what} needs `{key}`", hint=f"add `{key}:`")
