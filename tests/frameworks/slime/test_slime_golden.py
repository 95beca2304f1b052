"""Layouts as the newest slime and Miles have made them: recorded by running their own code."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from placetui.document import Document
from placetui.frameworks.miles.arguments import MILES_ARGUMENTS
from placetui.frameworks.miles.layout import MilesDerivation
from placetui.frameworks.planner import make_plan
from placetui.frameworks.slime.arguments import SLIME_ARGUMENTS, argument_name
from placetui.frameworks.slime.command import read_command, to_yaml
from placetui.frameworks.slime.defects import incomplete_engine, not_consecutive, shifted_node_ranks, wrong_hosts
from placetui.frameworks.slime.layout import Derivation, SlimeLayout, read_layout
from placetui.frameworks.slime.order import sort_key
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems
from placetui.placement.topology import Node

GOLDEN = Path(__file__).parents[2] / "golden" / "slime_head.json.gz"


def cases() -> list[Any]:
    recorded = json.loads(gzip.decompress(GOLDEN.read_bytes()))["cases"]
    return [pytest.param(one, id=one["id"]) for one in recorded if one["version"] == "head"]


class Case:
    """A recorded case, its slots in the order of the nodes, and what we make of it."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.expected: dict[str, Any] = case["expected"]
        miles = case["framework"] == "miles"
        variables = [f"{name}={value}" for name, value in case.get("env", {}).items()]
        words = ["env", *variables, "python3", case["entry"], *case["argv"]]
        command = read_command(words, MILES_ARGUMENTS if miles else SLIME_ARGUMENTS)
        section = Document(to_yaml(command)).config["slime"]
        # What is of no effect was left out of the file; what is no argument at all must be noticed.
        section |= {one.name: True for one in command.others if one.values and not SLIME_ARGUMENTS.has(one.name)}
        self.by_text = miles
        for key, value in section.items():
            if str(value).startswith("@") and str(value)[1:] in case:
                section[key] = Document(case[str(value)[1:]]).config
        self.section = section
        ips = [node.get("ip", f"10.0.0.{index + 1}") for index, node in enumerate(case["nodes"])]
        self.ids = [node.get("gpu_ids", list(range(node.get("gpus", 0)))) for node in case["nodes"]]
        self.order = sorted(range(len(ips)), key=lambda index: sort_key((0, ips[index], 0)))
        named = ["gpu_ids" in node for node in case["nodes"]]
        nodes = [
            Node(len(self.ids[index]), ip=ips[index], gpu_ids=tuple(self.ids[index]) if named[index] else ())
            for index in self.order
        ]
        self.problems = Problems()
        self.layout = read_layout(section, self.problems, "head", MilesDerivation if miles else Derivation)
        settings = {"slime_version": "head", "framework": case["framework"]}
        self.plan: Plan = make_plan({"slime": section, "placetui": settings}, nodes=nodes)

    @property
    def rules(self) -> set[str]:
        return {problem.rule for problem in self.plan.problems}

    @property
    def sizes(self) -> SlimeLayout:
        assert self.layout is not None, self.problems
        return self.layout

    def slot(self, node: int, gpu: int) -> int:
        """The recorded slot of a GPU of the plan."""
        rank = self.order[node]
        recorded = [(place, int(gpu_id)) for place, gpu_id in self.expected["slots"]]
        ids = self.ids[rank]  # texts where a raylet has CUDA_VISIBLE_DEVICES; Miles compares them as such
        ordered = sorted(ids) if self.by_text else sorted(map(int, ids))
        return recorded.index((rank, int(ordered[gpu])))

    def first_slots(self, component: str) -> list[int]:
        placements = self.plan.components[component].placements
        return [self.slot(one.cluster_node_rank, one.local_hardware_ranks[0]) for one in placements]


def test_no_argument_of_their_own_parsers_is_unknown() -> None:
    recorded = json.loads(gzip.decompress(GOLDEN.read_bytes()))["arguments"]
    for table in (SLIME_ARGUMENTS, MILES_ARGUMENTS):
        listed = recorded[table.framework.lower()]
        assert [option for option, *_ in listed if not table.has(argument_name(option))] == []
    assert [name for name in recorded["megatron_seen_in_scripts"] if not SLIME_ARGUMENTS.has(name)] == []
    assert not SLIME_ARGUMENTS.has("rollout_num_gpu")
    assert not MILES_ARGUMENTS.has("release_train")


ERRORS = {
    "gpu_id_not_a_number": "slime_gpu_id_not_a_number",
    "no_cells": "miles_cells",
    "rollout_gpus_missing": "slime_missing_rollout_num_gpus",
    "rollout_only_without_rollout_gpus": "slime_missing_rollout_num_gpus",
    "waits_for_gpus": "slime_not_enough_gpus",
    "not_a_number": "slime_not_a_number",
    "release_train_needs_full_disk": "slime_release_train",
    "release_train_with_critic": "slime_release_critic",
    "async_with_colocate": "slime_async_colocate",
    "no_training_ranks": "slime_no_training_ranks",
    "both_debug_modes": "slime_debug_both",
    "slot_out_of_range": "slime_critic_size",
    "no_decode_gpus": "slime_server_group_invalid",
    "group_without_gpus": "slime_server_group_invalid",
    "config_total": "slime_server_groups_total",
    "worker_type": "slime_server_group_invalid",
    "group_field_missing": "slime_server_group_invalid",
    "group_field_unknown": "slime_server_group_invalid",
    "config_no_sglang_key": "slime_server_group_invalid",
    "engine_size_zero": "slime_server_group_invalid",
    "model_paths_differ": "slime_server_group_invalid",
    "config_with_prefill": "slime_engines_twice",
    "config_with_external": "slime_engines_twice",
    "external_address": "slime_external_address",
    "eval_not_divisible": "miles_eval_engines",
    "eval_with_colocate": "miles_eval_engines",
    "eval_needs_interval": "miles_eval_engines",
    "eval_model_missing": "miles_eval_engines",
    "async_critic_needs_correction": "miles_async_critic",
    "unknown_option": "slime_argument_refused",
}


@pytest.mark.parametrize("recorded", cases())
def test_as_recorded(recorded: dict[str, Any]) -> None:
    case = Case(recorded)
    expected = case.expected
    if "error" in expected:
        rule = "miles_external" if recorded["kind"] == "external" else ERRORS[expected["error"]["code"]]
        assert rule in {one.rule for one in case.plan.problems if one.severity == "error"}
        return
    assert (case.sizes.slots, case.sizes.rollout_offset) == (expected["num_slots"], expected["rollout_offset"])
    for name in ("actor", "critic"):
        training = expected[name]
        assert (name in case.plan.components) == (training is not None)
        if training is not None:
            by_cell = [slot for _, _, slot in training.get("cells", ())]
            cells = {cell for cell, _, _ in training.get("cells", ())}
            assert name == "critic" or case.sizes.cells == max(1, len(cells))
            assert case.first_slots(name) == (by_cell or training["slots_by_rank"])
            assert case.plan.components[name].share == training["share"]
    check_groups(case)
    check_defects(case)
    if "process_across_nodes" not in case.rules:
        check_engines(case)


def check_groups(case: Case) -> None:
    expected, sizes = case.expected["rollout"], case.sizes
    assert (expected is not None) == sizes.rolls_out
    if expected is None or "external" in expected["models"][0]:
        assert not sizes.groups
        return
    # Of models with one name, only the last one was recorded.
    models = {model.name: model for model in sizes.models}
    assert [(one["name"], one["update_weights"]) for one in expected["models"]] == [
        (one.name, one.update_weights) for one in models.values()
    ]
    groups = defaultdict(list)
    for group in sizes.groups:
        groups[group.model].append(group)
    for model in expected["models"]:
        ours = groups[model["name"]][-len(model["groups"]) :] if model["groups"] else []
        for group, one in zip(model["groups"], ours, strict=True):
            assert (one.worker_type, one.num_gpus_per_engine) == (group["worker_type"], group["num_gpus_per_engine"])
            assert (one.parts_per_engine, one.first_rank) == (group["nodes_per_engine"], group["rank_offset"])
            assert (one.first_slot - sizes.rollout_offset, one.offload) == (group["gpu_offset"], group["needs_offload"])
            assert list(one.starts) == [engine["slot"] for engine in group["engines"]]


def check_engines(case: Case) -> None:
    """Nodes, devices and shares of the plan."""
    booked = [0.0] * case.expected["num_slots"]
    for name, component in case.plan.components.items():
        for slot in case.first_slots(name):
            booked[slot] += component.share or 0
    assert booked == pytest.approx(case.expected["booked_per_slot"])


def check_defects(case: Case) -> None:
    recorded = case.expected.get("defects", {})
    groups = [group for group in case.sizes.groups if group.runs]
    if "over_node_border" in recorded:
        assert "process_across_nodes" in case.rules
        return
    slots = case.expected["slots"]
    found = {
        "slime_wrong_host": [rank for one in groups for rank in wrong_hosts(one, lambda slot: int(slots[slot][0]))],
        "slime_node_rank_shifted": [rank for one in groups for rank in shifted_node_ranks(one)],
        "slime_incomplete_engine": [rank for one in groups for rank in incomplete_engine(one)],
    }
    found["slime_devices_not_consecutive"] = [
        rank for one in groups for rank in not_consecutive(one, lambda slot: int(slots[slot][1]))
    ]
    for rule, ranks in found.items():
        assert ranks == recorded.get(rule.removeprefix("slime_"), [])
        assert (rule in case.rules) == bool(ranks)
    assert ("slime_engine_not_whole_nodes" in case.rules) == ("engine_not_whole_nodes" in recorded)
