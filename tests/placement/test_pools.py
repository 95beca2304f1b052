"""What speaks for a division of the GPUs follows from the plans, and is not said of plans where it is not so."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.frameworks.planner import resolve
from placetui.placement.plan import Plan
from placetui.placement.pools import Pools, advise, moved_border, pools_of


def plan_of(**rules: Any) -> Plan:
    return resolve({"cluster": {"num_nodes": 2, "component_placement": rules}})


TOGETHER = plan_of(actor="0-15", rollout="0-15", reward="0-15")
APART = plan_of(actor="0-7", reward="0-7", rollout="8-15")
WITHIN_A_NODE = plan_of(actor="0-3", reward="0-3", rollout="4-15")
HALF_USED = plan_of(actor="0-7", rollout="0-7")


def said(before: Plan | None, after: Plan, kind: str = "") -> str:
    return " ".join(f"{one.text} {one.detail}" for one in advise(before, after) if kind in ("", one.kind))


def counts(pools: Pools) -> tuple[int, int, int, int, int]:
    return pools.total, pools.training, pools.generation, pools.shared, pools.used


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (TOGETHER, (16, 16, 16, 16, 16)),
        (APART, (16, 8, 8, 0, 16)),
        (HALF_USED, (16, 8, 8, 8, 8)),
        (plan_of(actor="0-7"), (16, 8, 0, 0, 8)),
    ],
)
def test_gpus_are_counted_by_pool(plan: Plan, expected: tuple[int, ...]) -> None:
    assert counts(pools_of(plan)) == expected


def test_pools_are_together_or_apart_or_neither() -> None:
    assert (pools_of(TOGETHER).together, pools_of(TOGETHER).apart) == (True, False)
    assert (pools_of(APART).together, pools_of(APART).apart) == (False, True)
    partly = pools_of(plan_of(actor="0-7", rollout="4-15"))
    assert (partly.together, partly.apart) == (False, False)


def test_nodes_of_generation_alone_and_of_both() -> None:
    assert pools_of(APART).generation_nodes == ("node1",)
    assert pools_of(APART).mixed_nodes == ()
    assert pools_of(WITHIN_A_NODE).mixed_nodes == ("node0",)


def test_the_border_leaves_each_pool_a_gpu() -> None:
    pools = pools_of(APART)
    assert [moved_border(pools, training, by) for training, by in ((8, -1), (8, 1), (1, -1), (15, 1))] == [7, 9, 1, 15]


def test_pools_that_part() -> None:
    good, caution = said(TOGETHER, APART, "good"), said(TOGETHER, APART, "caution")
    assert "Generation has node1 for itself" in good
    assert "One resident fewer on each GPU that trains" in good
    assert "One pool waits for the other, unless training is asynchronous" in caution
    assert "Training has 8 GPUs instead of 16" in caution
    assert "Both pools are on" not in caution


def test_fewer_ranks_of_training_hold_more_of_its_optimizer_state() -> None:
    risk = next(one for one in advise(TOGETHER, APART) if one.detail)
    assert risk.text == "actor has 8 ranks instead of 16"
    assert "2 times" in risk.detail
    assert not any(one.detail for one in advise(APART, TOGETHER))


def test_pools_that_come_together() -> None:
    assert "take turns on each GPU" in said(APART, TOGETHER, "good")
    assert "Training has 16 GPUs instead of 8" in said(APART, TOGETHER, "good")
    assert "One resident more on each GPU that trains" in said(APART, TOGETHER, "caution")


def test_a_node_of_both_pools_and_idle_gpus_are_cautions() -> None:
    assert "Both pools are on node0" in said(TOGETHER, WITHIN_A_NODE, "caution")
    assert "8 GPUs have no process" in said(TOGETHER, HALF_USED, "caution")
    assert "no process" not in said(HALF_USED, HALF_USED)


def test_a_plan_by_itself_has_no_change() -> None:
    assert "instead of" not in said(None, APART)
    assert "Generation has node1 for itself" in said(None, APART)
    assert "take turns" in said(None, TOGETHER)
