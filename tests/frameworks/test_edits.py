"""Operations on a plan: which changes they propose, and why some are refused. No file is involved here."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.frameworks.editing import propose
from placetui.frameworks.planner import make_plan
from placetui.placement.edits import (
    Add,
    AddRule,
    Arrange,
    Assign,
    Change,
    Edit,
    Join,
    Move,
    Operation,
    PutOnGroup,
    Refusal,
    Remove,
    Rename,
    Resize,
    SetMode,
    SetRule,
    SetShare,
    SetValue,
    Spread,
    Swap,
    Unassign,
    Wanted,
    WriteRule,
)
from placetui.placement.plan import Device
from placetui.placement.topology import Node


def gpu(node: int, *indices: int) -> tuple[Device, ...]:
    return tuple(Device(node, index, "gpu") for index in indices)


def config(**components: Any) -> dict[str, Any]:
    groups = [
        {"label": "first", "node_ranks": "0"},
        {"label": "rest", "node_ranks": "1-2"},
        {
            "label": "arms",
            "node_ranks": "2",
            "hardware": {"type": "Franka", "configs": [{"node_rank": 2, "robot_ip": f"10.0.0.{i}"} for i in (1, 2)]},
        },
    ]
    return {"cluster": {"num_nodes": 3, "node_groups": groups, "component_placement": components}}


NODES = [Node(4, name="a"), Node(4, name="b"), Node(2, name="c")]


def try_it(file: dict[str, Any], operation: Operation, nodes: list[Node] | None = NODES) -> Edit | Refusal:
    return propose(make_plan(file, nodes=nodes), operation, file)


def proposed(file: dict[str, Any], operation: Operation, nodes: list[Node] | None = NODES) -> Edit:
    found = try_it(file, operation, nodes)
    assert isinstance(found, Edit), found
    return found


def reason(file: dict[str, Any], operation: Operation) -> str:
    found = try_it(file, operation)
    assert isinstance(found, Refusal), found
    return found.reason


REST = {"node_group": "rest", "placement": "0-1"}


@pytest.mark.parametrize(
    ("file", "operation", "label", "changes"),
    [
        (config(a="0-3"), Move("a", 1, "node"), "move a to 4-7", [SetRule("a", "4-7")]),
        (config(a="0"), Move("a", 9), "move a to 9", [SetRule("a", "9")]),
        (config(a="0-3"), Move("a", 1, devices=gpu(0, 3)), "move a to 0-2,4", [SetRule("a", "0-2,4")]),
        (config(a="0-1"), Move("a", -1, devices=gpu(0, 1)), "move a to 0:0-1", [SetRule("a", "0:0-1")]),
        (config(a="0-3"), Assign("a", gpu(2, 0, 1)), "extend a to 0-3,8-9", [SetRule("a", "0-3,8-9")]),
        (config(a=REST), Assign("a", gpu(2, 1)), "extend a to 0-1,5", [SetRule("a", "0-1,5")]),
        (config(a=REST), Resize("a", 4), "grow a to all", [SetRule("a", "all")]),
        (config(a="4-9"), Resize("a", 3), "grow a to 1-9", [SetRule("a", "1-9")]),
        (config(a=REST), PutOnGroup("a", ("first",)), "put a on first", [SetRule("a", "all", ("first",))]),
        (config(a=REST), PutOnGroup("a", ("arms",)), "put a on arms", [SetRule("a", "all", ("arms",))]),
        (config(a="0"), Add("x", (Device(2, 1, "Franka"),)), "add x on 1", [AddRule("x", "1", ("arms",))]),
        (config(a="0"), Add("x", (Device(1, 0, "node"),)), "add x on 1", [AddRule("x", "1", ("node",))]),
        (config(a="0-1"), Arrange("a", (gpu(0, 0, 1), gpu(1, 0, 1))), "", [SetRule("a", "0-1:0,4-5:1")]),
        (
            config(a="0-1", b=REST),
            Swap("a", "b"),
            "",
            [SetRule("a", "0-1", ("rest",)), SetRule("b", "0-1", ("cluster",))],
        ),
        (config(a="0", b="1"), Join("a", "b"), "join a with b", [Join("a", "b")]),
        (config(a="0"), Rename("a", " b "), "rename a to b", [Rename("a", "b")]),
        (config(a="9,9"), Remove("a"), "remove a", [Remove("a")]),
        (config(a="9,9"), WriteRule("a", " 0-3 "), "a: 0-3", [SetRule("a", "0-3")]),
        (config(a="0"), SetShare("a", 0.33333), "", [SetValue(("placetui", "shares", "a"), 0.3333)]),
        (config(a="0"), SetShare("a", None), "", [SetValue(("placetui", "shares", "a"), None)]),
        (config(a="0"), SetMode("component"), "", [SetValue(("placetui", "mode"), "component")]),
    ],
)
def test_changes(file: dict[str, Any], operation: Operation, label: str, changes: list[Change]) -> None:
    edit = proposed(file, operation)
    assert list(edit.changes) == changes
    assert edit.label == label or not label


@pytest.mark.parametrize(
    ("file", "operation", "why"),
    [
        (config(a="0-3"), Move("a", 2, "node"), "c has no device 2"),
        (config(a="6-7:0"), Move("a", 1), "rank 0 would be on b and c"),
        (config(a="0-1"), Move("a", 1, devices=gpu(0, 0)), ""),
        (config(a=REST), Assign("a", gpu(0, 0)), "GPU 0 of a is not a device of group `rest`"),
        (config(a="0"), Add("x", (*gpu(0, 0), Device(0, 0, "node"))), "several kinds"),
        (config(a="0"), Add("x", ()), "no device is selected"),
        (config(a={"node_group": "rest,first", "placement": "0"}), Assign("a", gpu(0, 0)), "go back from b to a"),
        (config(a={"node_group": "node", "placement": "0-1"}), Spread("a", 1, 2), "needs one node"),
        (config(a="0"), Spread("a", 2, 2), "either"),
        (config(a="${b}", b="0"), Unassign("a", gpu(0, 0)), "computed"),
        (config(a={"node_group": "${g}", "placement": "0"}), Resize("a", 1), "computed"),
        (config(a="0-99"), Resize("a", 1), "could not be placed: device 99"),
        (config(**{"a,b": "0"}), Join("a", "b"), "already share"),
        (config(a={"node_group": "node", "placement": "0"}), SetShare("a", 0.5), "have no shares"),
    ],
)
def test_refusals(file: dict[str, Any], operation: Operation, why: str) -> None:
    if why:
        assert why in reason(file, operation)
    else:
        assert isinstance(try_it(file, operation), Edit)


def test_an_edit_says_where_its_processes_will_be() -> None:
    edit = proposed(config(a="0-3:0-1"), Move("a", 1, "node"))
    assert edit.wanted == {"a": Wanted(((1, (0, 1)), (1, (2, 3))))}


def test_all_is_kept_but_not_introduced_on_an_assumed_topology() -> None:
    file = {"cluster": {"num_nodes": 1, "component_placement": {"a": "0-6", "b": "all"}}}
    assert proposed(file, Resize("a", 1), None).changes == (SetRule("a", "0-7"),)
    assert proposed(file, Spread("b", 2), None).changes == (SetRule("b", "all:0-15"),)


def test_a_model_parallel_mode_edits_devices_only() -> None:
    sizes = {"actor": {"model": {}}, "rollout": {"tensor_parallel_size": 2}, "placetui": {"mode": "model_parallel"}}
    file = {**config(actor="0-3", rollout="4-7:0-1", reward="0-3", tool="0"), **sizes}
    edit = proposed(file, Move("rollout", 1))
    assert edit.changes == (SetRule("rollout", "5-8"),)
    wanted = edit.wanted["rollout"]
    assert wanted is not None
    assert not wanted.by_rank
    assert "would have gaps (0,2-3)" in reason(file, Unassign("actor", gpu(0, 1)))
    assert "numbered from 0 to 9" in reason(file, Move("rollout", 3))
    assert proposed(file, Assign("tool", gpu(0, 2))).changes == (SetRule("tool", "0,2"),)


def test_the_actor_of_auto_mode_does_not_follow_its_rule() -> None:
    sizes = {"actor": {"model": {}}, "rollout": {}, "placetui": {"mode": "model_parallel"}}
    file = {**config(actor="0-3", rollout="4-9", reward="0-3"), **sizes}
    file["cluster"]["auto_scheduler"] = True
    assert "do not follow from its rule alone" in reason(file, Resize("actor", -1))


SLIME = {"actor_num_nodes": 1, "actor_num_gpus_per_node": 4, "rollout_num_gpus": 4, "num_gpus_per_node": 4}


@pytest.mark.parametrize(
    ("arguments", "operation", "changes"),
    [
        ({}, Resize("actor", 2), {"actor_num_nodes": 2, "actor_num_gpus_per_node": 3}),
        ({}, Resize("actor", -1), {"actor_num_gpus_per_node": 3}),
        ({}, Assign("rollout", gpu(2, 0)), {"rollout_num_gpus": 5}),
        ({}, Move("rollout", -1, "node"), {"colocate": True}),
        (
            {"use_critic": True, "critic_num_nodes": 1},
            Resize("actor", 4),
            {"actor_num_nodes": 2, "critic_num_nodes": 2},
        ),
        ({"use_critic": True}, Remove("critic"), {"use_critic": False}),
        ({}, Spread("rollout", 1, 2), {"rollout_num_gpus_per_engine": 2}),
        ({}, Remove("rollout"), {"debug_train_only": True}),
    ],
)
def test_slime_arguments(arguments: dict[str, Any], operation: Operation, changes: dict[str, Any]) -> None:
    edit = proposed({"slime": {**SLIME, **arguments}}, operation)
    assert edit.changes == tuple(SetValue(("slime", name), value) for name, value in changes.items())


@pytest.mark.parametrize(
    ("arguments", "operation", "why"),
    [
        ({}, Move("actor", 1), "always begins at the first GPU"),
        ({}, Move("rollout", 1), "right after training (GPU 4)"),
        ({}, Unassign("rollout", gpu(1, 1)), "without gaps"),
        ({"rollout_num_gpus_per_engine": 2}, Resize("rollout", 1), "engines of 2"),
        ({}, Resize("rollout", 3), "numbered from 0 to 9"),
        ({}, Spread("actor", 2), "one training process on each GPU"),
        ({"use_critic": True}, Resize("critic", 1), "uses the actor's GPUs"),
        ({"debug_train_only": True}, Resize("actor", 1), "cannot be moved in a file of this kind"),
        ({}, Rename("actor", "trainer"), "names and orders its components"),
        ({}, SetMode("hybrid"), "no other mode"),
        ({"rollout_num_gpus": "${x}"}, Resize("rollout", -1), ""),
    ],
)
def test_slime_refusals(arguments: dict[str, Any], operation: Operation, why: str) -> None:
    assert why in reason({"slime": {**SLIME, **arguments}}, operation)
