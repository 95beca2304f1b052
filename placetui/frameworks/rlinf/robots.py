"""The robots that RLinf knows, and the fields their configurations may have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from placetui.placement.problems import Problem
from placetui.placement.wording import listing, quoted

_COMMON = ("camera_serials", "camera_type", "gripper_type", "gripper_connection")
_SIDES = tuple(
    f"{side}_{name}" for side in ("left", "right") for name in ("robot_ip", *_COMMON, "controller_node_rank")
)

FIELDS: Mapping[str, frozenset[str]] = {
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


def check_robot(kind: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of one robot's configuration, with paths relative to it."""
    for name in config:
        if name != "node_rank" and name not in FIELDS[kind] and not (kind == "DOSW1" and name.endswith("_port")):
            yield Problem(
                "unknown_field",
                f"a {kind} has no field `{name}`",
                hint=f"its fields are {listing(quoted(sorted(('node_rank', *FIELDS[kind]))), 20)}",
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
        if config.get(name) is not None and name in FIELDS[kind] and not _is_address(config[name]):
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
