"""Edits of slime files that have no place to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from placetui.frameworks.editing import propose
from placetui.frameworks.planner import make_plan
from placetui.placement.edits import Add, Assign, Edit, Operation, Refusal, Remove, Resize, SetValue, Spread, Unassign
from placetui.placement.topology import Node

GROUPS = {
    "sglang": [
        {
            "name": "actor",
            "server_groups": [
                {"worker_type": "prefill", "num_gpus": 4, "num_gpus_per_engine": 2},
                {"worker_type": "decode", "num_gpus": 4, "num_gpus_per_engine": 4},
            ],
        }
    ]
}


@dataclass(frozen=True)
class Place:
    """A device that a person points at."""

    node: int
    kind: str
    index: int


def proposed(section: dict[str, Any], operation: Operation) -> Edit | Refusal:
    """What an operation does to a section on one node of 8 GPUs."""
    version = section.pop("version", "2025-08")
    config = {"slime": section, "placetui": {"slime_version": version}}
    return propose(make_plan(config, nodes=[Node(8)]), operation, config)


@pytest.mark.parametrize(
    ("section", "operation", "why"),
    [
        (
            {"actor_num_nodes": 2, "colocate": True, "rollout_num_gpus": 8},
            Add("critic", ()),
            "the critic uses the actor's GPUs, and the actor has none",
        ),
        (
            {"colocate": True, "advantage_estimator": "ppo"},
            Remove("critic"),
            "`advantage_estimator: ppo` needs the critic",
        ),
        ({"debug_rollout_only": True, "rollout_num_gpus": 8}, Add("critic", ()), "slime's components are"),
        (
            {"version": "head", "colocate": True, "sglang_config": "engines.yaml"},
            Resize("rollout", -1),
            "the server groups are in `engines.yaml`, which cannot be edited here",
        ),
        (
            {"version": "head", "colocate": True, "sglang_config": GROUPS},
            Unassign("rollout", (Place(0, "gpu", 3), Place(0, "gpu", 4))),
            "several server groups",
        ),
        (
            {"version": "head", "colocate": True, "sglang_config": GROUPS},
            Resize("rollout", -2, Place(0, "gpu", 7)),
            "2 GPUs for group actor/decode cannot be divided into engines of 4",
        ),
    ],
)
def test_refusals_say_why(section: dict[str, Any], operation: Operation, why: str) -> None:
    found = proposed(section, operation)
    assert isinstance(found, Refusal)
    assert why in found.reason


@pytest.mark.parametrize(
    ("version", "change"),
    [
        ("2025-08", SetValue(("slime", "use_critic"), True)),
        ("head", SetValue(("slime", "advantage_estimator"), "ppo")),
    ],
)
def test_a_critic_goes_where_the_actor_is(version: str, change: SetValue) -> None:
    found = proposed({"version": version, "colocate": True}, Add("critic", ()))
    assert isinstance(found, Edit)
    assert found.changes == (change,)
    wanted = found.wanted["critic"]
    assert wanted is not None
    assert wanted.devices == {(0, gpu) for gpu in range(8)}


def at(model: int, group: int, name: str, value: int) -> SetValue:
    return SetValue(("slime", "sglang_config", "sglang", model, "server_groups", group, name), value)


def gpus(*indices: int) -> tuple[Place, ...]:
    return tuple(Place(0, "gpu", index) for index in indices)


@pytest.mark.parametrize(
    ("arguments", "operation", "changes"),
    [
        ({}, Resize("rollout", -2, Place(0, "gpu", 1)), [at(0, 0, "num_gpus", 2), ("rollout_num_gpus", 6)]),
        ({}, Unassign("rollout", gpus(2, 3)), [at(0, 0, "num_gpus", 2), ("rollout_num_gpus", 6)]),
        (
            {"rollout_num_gpus": 8, "actor_num_gpus_per_node": 4},
            Spread("rollout", devices_per_process=4, at=Place(0, "gpu", 0)),
            [at(0, 0, "num_gpus_per_engine", 4)],
        ),
        ({}, Spread("rollout", devices_per_process=2, at=Place(0, "gpu", 6)), [at(0, 1, "num_gpus_per_engine", 2)]),
    ],
)
def test_server_groups_are_resized_where_the_section_has_them(
    arguments: dict[str, Any], operation: Operation, changes: list[Any]
) -> None:
    found = proposed({"version": "head", "colocate": True, "sglang_config": GROUPS, **arguments}, operation)
    expected = [one if isinstance(one, SetValue) else SetValue(("slime", one[0]), one[1]) for one in changes]
    assert isinstance(found, Edit), found
    assert list(found.changes) == expected


@pytest.mark.parametrize(
    ("operation", "changes"),
    [
        (Resize("rollout", 2, Place(0, "gpu", 0)), {"prefill_num_servers": 2, "rollout_num_gpus": 8}),
        (Resize("rollout", 2, Place(0, "gpu", 5)), {"rollout_num_gpus": 8}),
        (Assign("rollout", gpus(6, 7)), {"rollout_num_gpus": 8}),
    ],
)
def test_prefill_servers_and_the_rest_are_resized(operation: Operation, changes: dict[str, int]) -> None:
    section = {"colocate": True, "prefill_num_servers": 1, "rollout_num_gpus": 6, "rollout_num_gpus_per_engine": 2}
    found = proposed({"version": "head", **section}, operation)
    assert isinstance(found, Edit), found
    assert {str(one.path[1]): one.value for one in found.changes if isinstance(one, SetValue)} == changes
