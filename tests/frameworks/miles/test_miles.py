"""Miles: which files are its own, and what it does otherwise than slime; recorded layouts are with those of slime."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.document import Document
from placetui.frameworks.editing import propose
from placetui.frameworks.planner import make_plan
from placetui.frameworks.registry import framework, framework_of
from placetui.placement.edits import Edit, Resize, SetValue
from placetui.placement.plan import Plan

MILES = {"framework": "miles"}


def planned(section: dict[str, Any], settings: dict[str, Any] | None = None) -> Plan:
    return make_plan({"slime": section, "placetui": MILES if settings is None else settings})


def test_a_file_is_read_by_miles_only_if_it_says_so() -> None:
    section = {"colocate": True, "rollout_num_gpus": 4}
    miles, slime = planned(section), planned(section, {"slime_version": "head"})
    assert (miles.framework, miles.mode, slime.framework) == ("miles", "miles", "slime")
    assert framework_of(miles).title == "Miles"
    assert (miles.components["rollout"].world_size, slime.components["rollout"].world_size) == (8, 4)
    assert miles.components["actor"].share == 0.4


def test_a_framework_that_nobody_knows_is_an_error() -> None:
    plan = planned({"colocate": True}, {"framework": "smile"})
    assert [problem.rule for problem in plan.problems] == ["unknown_framework"]
    assert plan.framework == "slime"


def test_engines_that_evaluate_come_after_those_of_rollout() -> None:
    evaluation = {"eval_num_gpus": 4, "eval_num_gpus_per_engine": 2, "eval_interval": 5, "save_hf": "/x"}
    rollout = planned({"rollout_num_gpus": 8, "rollout_num_gpus_per_engine": 8, **evaluation}).components["rollout"]
    places = [(one.cluster_node_rank, one.local_hardware_ranks) for one in rollout.placements]
    assert places == [(1, list(range(8))), (2, [0, 1]), (2, [2, 3])]
    assert [one.group for one in rollout.engines] == ["default/regular", "eval/regular", "eval/regular"]


def test_a_command_line_gives_a_file_of_miles() -> None:
    read = framework("miles").from_command
    assert read is not None
    words = "python train.py --rollout-num-gpus 8 --eval-num-gpus 4 --eval-interval 5 --save-hf /x --lora-rank 8"
    found = read([words], None)
    assert found.notes == ()
    config = Document(found.text).config
    assert config["placetui"] == MILES
    assert config["slime"]["eval_num_gpus"] == 4
    assert "#   --lora-rank 8" in found.text


def test_edits_follow_the_derivations_of_miles() -> None:
    config = {"slime": {"rollout_num_gpus": 8, "critic_num_nodes": 3}, "placetui": MILES}
    found = propose(make_plan(config), Resize("rollout", 8), config)
    assert isinstance(found, Edit)
    assert found.changes == (SetValue(("slime", "rollout_num_gpus"), 16),)


@pytest.mark.parametrize(
    "keys", [{"lora_rank": 8}, {"sglang_mem_fraction_static": 0.7}, {"some_megatron_switch": True}]
)
def test_only_slips_of_arguments_that_matter_are_errors(keys: dict[str, Any]) -> None:
    assert not [one for one in planned({"colocate": True, **keys}).problems if one.severity == "error"]
