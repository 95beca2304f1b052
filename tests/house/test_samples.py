"""The sample files are what they say: the fine ones without a warning, the broken ones with the rules they announce."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from placetui.document import Document, plan_document
from placetui.placement.plan import Plan

FOLDER = Path(__file__).parents[2] / "sample_configs"
BROKEN = sorted(FOLDER.glob("broken-*.yaml"))
FINE = sorted(set(FOLDER.glob("*.yaml")) - set(BROKEN))


def plan_of(path: Path) -> Plan:
    return plan_document(Document.from_file(path))


def devices_by_rank(plan: Plan, component: str) -> list[tuple[int, list[int]]]:
    """Node and GPUs of every rank."""
    placements = plan.components[component].placements
    return [(placement.cluster_node_rank, list(placement.local_hardware_ranks)) for placement in placements]


def shares(plan: Plan) -> dict[str, float | None]:
    return {name: component.share for name, component in plan.components.items()}


@pytest.mark.parametrize("path", [*FINE, *BROKEN], ids=lambda path: path.stem)
def test_a_sample_opens_with_what_it_shows(path: Path) -> None:
    comment = re.match(r"(?:# .+\n)+", path.read_text())
    assert comment
    assert len(comment[0]) > 60
    assert comment[0].startswith("# Broken: ") == (path in BROKEN)


@pytest.mark.parametrize("path", FINE, ids=lambda path: path.stem)
def test_a_fine_sample_has_no_problem_and_brings_its_topology(path: Path) -> None:
    plan = plan_of(path)
    assert [problem.format() for problem in plan.problems] == []
    assert plan.components
    assert plan.topology_source == "file"


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_sample_has_exactly_the_problems_it_announces(path: Path) -> None:
    announced = re.search(r"^# expect: (.+)$", path.read_text(), re.MULTILINE)
    assert announced, "a broken sample names its rules"
    problems = plan_of(path).problems
    assert sorted({problem.rule for problem in problems}) == announced[1].split(", ")
    assert all(problem.line and problem.column and problem.hint for problem in problems)


def test_collocated_components_share_every_gpu() -> None:
    plan = plan_of(FOLDER / "collocated.yaml")
    assert shares(plan) == {"actor": 0.8, "rollout": 0.1, "reward": 0.1}
    assert all(device.total_share == 1.0 for device in plan.devices)


def test_disaggregated_rollout_has_two_processes_of_four_gpus() -> None:
    plan = plan_of(FOLDER / "disaggregated.yaml")
    assert plan.placement_mode == "disaggregated"
    assert devices_by_rank(plan, "rollout") == [(0, [4, 5, 6, 7]), (1, [0, 1, 2, 3])]


def test_the_strided_rollout_takes_every_second_gpu() -> None:
    plan = plan_of(FOLDER / "model-parallel-stride.yaml")
    assert plan.placement_mode == "collocated"
    one_node = [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert devices_by_rank(plan, "rollout") == [(node, gpus) for node in (0, 1) for gpus in one_node]


def test_two_node_groups_are_numbered_one_after_the_other() -> None:
    plan = plan_of(FOLDER / "node-groups.yaml")
    nodes = [node for node, _ in devices_by_rank(plan, "rollout")]
    assert nodes == [0] * 4 + [1] * 4 + [2] * 4


def test_the_heterogeneous_sample_has_robots_and_agents_on_nodes() -> None:
    plan = plan_of(FOLDER / "heterogeneous.yaml")
    assert devices_by_rank(plan, "env") == [(4, [0]), (4, [1]), (5, [0])]
    assert plan.components["agent"].world_size == 400
    assert plan.components["agent"].strategy == "node"
    assert {name: share for name, share in shares(plan).items() if share is None} == dict.fromkeys(
        ["env", "agent", "logger"]
    )


def test_many_processes_on_a_gpu_and_many_gpus_of_a_process() -> None:
    plan = plan_of(FOLDER / "many-per-gpu.yaml")
    assert [len(device.occupants) for device in plan.devices] == [5] * 4 + [3] * 4
    env = plan.components["env"]
    assert (env.rank_share(0), env.rank_share(16)) == (0.1, 0.2)
    assert devices_by_rank(plan, "rollout")[1] == (0, [2, 3])


def test_slime_samples_are_laid_out_as_their_comments_say() -> None:
    colocated = plan_of(FOLDER / "slime-colocated.yaml")
    assert shares(colocated) == {"actor": 0.8, "rollout": 0.2}
    assert devices_by_rank(plan_of(FOLDER / "slime-disaggregated.yaml"), "rollout")[:3] == [
        (0, [4, 5]),
        (0, [6, 7]),
        (1, [0, 1]),
    ]
    engines = plan_of(FOLDER / "slime-multinode-engine.yaml").components["rollout"]
    assert (engines.world_size, engines.parts_per_engine) == (4, 2)
    assert shares(plan_of(FOLDER / "slime-ppo-critic.yaml")) == {"actor": 0.4, "critic": 0.4, "rollout": 0.2}


def test_the_large_sample_is_large() -> None:
    plan = plan_of(FOLDER / "large.yaml")
    assert len(plan.nodes) == 1024
    assert [component.world_size for component in plan.components.values()] == [8192] * 3
