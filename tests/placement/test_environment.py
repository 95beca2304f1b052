"""The environment of a rank, against what RLinf's own launcher gave each worker."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from placetui.frameworks.planner import make_plan, resolve
from placetui.placement.environment import interpreter, rank_environment, visible_devices_variable
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

GOLDEN = Path(__file__).parents[1] / "golden"

OURS = ("CLUSTER_NAMESPACE", "WORKER_NAME", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
"""Variables that differ from RLinf's on purpose, or that RLinf sets later."""


def read(name: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        cases: list[dict[str, Any]] = json.load(file)
    return cases


LAUNCHES = read("launch_env")
PLACEMENTS = {case["id"]: case for case in read("placements")}


def golden_plan(case: dict[str, Any]) -> Plan:
    nodes = [
        Node(node["gpus"], node.get("accel", "NV_GPU"), ip=f"10.0.0.{rank + 1}")
        for rank, node in enumerate(case["nodes"])
    ]
    isolate = case.get("isolate_accelerator")
    return make_plan(
        case["config"], nodes=nodes, mode=case["kind"], isolate_accelerator=True if isolate is None else isolate
    )


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: str(launch["id"]))
def test_environment_is_that_of_rlinf(launch: dict[str, Any]) -> None:
    case = PLACEMENTS[launch["id"]]
    plan = golden_plan(case)
    refused = case["expected"].get("error", {}).get("code")
    assert refused is None or refused in {problem.rule for problem in plan.problems}
    for component, workers in launch["workers"].items():
        if refused and component not in plan.components:
            continue  # what RLinf starts in spite of it, placetui does not place
        for rank, worker in enumerate(workers):
            ours = rank_environment(plan, component, rank, model="Mock")
            expected = {name: value for name, value in worker["env"].items() if name not in OURS}
            assert {name: value for name, value in ours.items() if name not in OURS} == expected
            path = worker["py_executable"]
            assert interpreter(plan, component, rank) == (None if path == "<node python>" else path)


def test_all_recorded_launches_are_here() -> None:
    assert len(LAUNCHES) == 36


def simple(rule: str = "0-3", nodes: list[Node] | None = None, **more: Any) -> Plan:
    nodes = nodes or [Node(4, name="alpha"), Node(4, name="beta")]
    return resolve({"cluster": {"num_nodes": len(nodes), "component_placement": {"actor": rule}}, **more}, nodes)


def test_an_isolated_rank_is_alone() -> None:
    environment = rank_environment(simple(), "actor", 3)
    assert (environment["LOCAL_RANK"], environment["LOCAL_WORLD_SIZE"]) == ("0", "1")
    assert environment["CUDA_VISIBLE_DEVICES"] == "3"


def test_a_rank_that_is_not_isolated_chooses_its_own_first_device() -> None:
    plan = simple("4-7:0-1", placetui={"launch": {"actor": {"isolate_accelerator": False}}})
    environment = rank_environment(plan, "actor", 1)
    assert (environment["LOCAL_RANK"], environment["LOCAL_WORLD_SIZE"]) == ("2", "2")
    assert environment["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"


def test_what_a_plan_cannot_know_is_left_out() -> None:
    environment = rank_environment(simple(), "actor", 0)
    assert {"MASTER_PORT", "ACCELERATOR_MODEL"}.isdisjoint(environment)
    assert environment["MASTER_ADDR"] == "alpha", "a node without an address is called by its name"


def test_what_only_a_launch_knows() -> None:
    environment = rank_environment(
        simple("4-7"), "actor", 2, job="night", addresses=["10.1.0.1", "10.1.0.2"], master_port=29500
    )
    assert environment["WORKER_NAME"] == "night/actor:2"
    assert environment["MASTER_ADDR"] == "10.1.0.2"
    assert environment["MASTER_PORT"] == "29500"
    assert environment["CLUSTER_NAMESPACE"] == "placetui"


def test_the_files_own_variables_do_not_override_those_of_the_launch() -> None:
    plan = simple(placetui={"launch": {"actor": {"env": {"MY_FLAG": 1, "RANK": 7}}}})
    environment = rank_environment(plan, "actor", 0)
    assert environment["MY_FLAG"] == "1"
    assert environment["RANK"] == "0"


@pytest.mark.parametrize(
    ("accelerator", "variable", "value"),
    [
        ("NV_GPU", "CUDA_VISIBLE_DEVICES", "1"),
        ("AMD_GPU", "HIP_VISIBLE_DEVICES", "1"),
        ("NPU", "ASCEND_RT_VISIBLE_DEVICES", "1"),
        ("INTEL_GPU", "ONEAPI_DEVICE_SELECTOR", "level_zero:1"),
        ("MUSA_GPU", "MUSA_VISIBLE_DEVICES", "1"),
        ("KUNLUN_XPU", "CUDA_VISIBLE_DEVICES", "1"),
    ],
)
def test_each_vendor_has_its_variable(accelerator: str, variable: str, value: str) -> None:
    environment = rank_environment(simple("0-1", [Node(2, accelerator)]), "actor", 1)
    assert environment[variable] == value
    assert environment[f"RAY_EXPERIMENTAL_NOSET_{variable}"] == "1"
    assert visible_devices_variable(accelerator) == variable
    assert ("NCCL_CUMEM_ENABLE" in environment) == (accelerator == "NV_GPU")


def test_processes_of_a_slime_file_see_all_devices_and_choose_by_id() -> None:
    slime = {"actor_num_gpus_per_node": 8, "colocate": True, "rollout_num_gpus_per_engine": 2}
    plan = resolve({"slime": slime})
    actor, engine = rank_environment(plan, "actor", 5), rank_environment(plan, "rollout", 2)
    assert actor["LOCAL_RANK"] == "5"
    assert engine["LOCAL_RANK"] == "4", "an engine's first device"
    for environment in (actor, engine):
        assert "CUDA_VISIBLE_DEVICES" not in environment
        assert sum(name.startswith("RAY_EXPERIMENTAL_NOSET_") for name in environment) == 8
        assert environment["VISIBLE_DEVICES"] == "0,1,2,3,4,5,6,7"
    assert "NVTE_FP8_BLOCK_SCALING_FP32_SCALES" in actor
    assert "NVTE_FP8_BLOCK_SCALING_FP32_SCALES" not in engine
