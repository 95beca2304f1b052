from __future__ import annotations

from typing import Any

import pytest

from placetui.frameworks.slime.arguments import KNOWN_ARGUMENTS, MOST_GPUS, OTHER_ARGUMENTS
from placetui.frameworks.slime.layout import SlimeLayout, read_layout
from placetui.placement.problems import Problem, Problems


def read(section: Any) -> SlimeLayout:
    problems = Problems()
    layout = read_layout(section, problems)
    assert layout is not None
    assert not problems
    return layout


def problems_of(section: Any) -> Problems:
    problems = Problems()
    assert (read_layout(section, problems) is None) == problems.blocking
    return problems


def only_problem(section: Any, rule: str) -> Problem:
    problems = problems_of(section)
    assert [problem.rule for problem in problems] == [rule], problems
    return problems[0]


def test_both_debug_modes_are_an_error() -> None:
    only_problem({"debug_train_only": True, "debug_rollout_only": True}, "slime_debug_both")
    implied = only_problem({"load_debug_rollout_data": "x", "debug-rollout-only": True}, "slime_debug_both")
    assert "implies debug_train_only" in implied.message
    assert implied.path == ("slime", "debug-rollout-only")


@pytest.mark.parametrize("section", [{}, {"rollout_num_gpus": None}, {"debug_rollout_only": True}])
def test_separate_rollout_needs_a_number(section: dict[str, Any]) -> None:
    assert "rollout_num_gpus: 8" in only_problem(section, "slime_missing_rollout_num_gpus").hint


@pytest.mark.parametrize(
    ("rollout", "engine", "node", "words"),
    [
        (
            10,
            4,
            8,
            ("10 rollout GPUs", "engines of 4", "`rollout_num_gpus: 8` or `rollout_num_gpus: 12`", "1, 2 and 5"),
        ),
        (8, 16, 8, ("8 rollout GPUs", "engines of 16", "rollout_num_gpus: 16")),
        (24, 12, 8, ("engine of 12", "nodes of 8", "rollout_num_gpus_per_engine: 8` or 16")),
    ],
)
def test_engines_must_divide_evenly(rollout: int, engine: int, node: int, words: tuple[str, ...]) -> None:
    section = {"rollout_num_gpus": rollout, "rollout_num_gpus_per_engine": engine, "num_gpus_per_node": node}
    problem = only_problem(section, "slime_engine_not_divisible")
    assert problem.path == ("slime", "rollout_num_gpus_per_engine")
    for word in words:
        assert word in f"{problem.message} {problem.hint}"


def test_the_critic_may_repeat_the_actors_size_but_not_differ() -> None:
    same = {"colocate": True, "use_critic": True, "critic_num_nodes": 1, "critic_num_gpus_per_node": 8}
    read(same)
    problem = only_problem({**same, "critic_num_gpus_per_node": 4}, "slime_critic_size")
    assert problem.path == ("slime", "critic_num_gpus_per_node")
    assert "`4`" in problem.message
    assert "`critic_num_gpus_per_node: 8`" in problem.hint


def test_asynchronous_training_needs_its_own_gpus() -> None:
    only_problem({"colocate": True, "train_async": True}, "slime_async_colocate")
    read({"rollout_num_gpus": 8, "train_async": True})


def test_released_training_has_no_critic() -> None:
    only_problem({"colocate": True, "release_train": True, "use_critic": True}, "slime_release_critic")


def test_server_groups_are_said_not_to_be_read() -> None:
    assert only_problem({"colocate": True, "sglang_config": "groups.yaml"}, "slime_server_groups").severity == "warning"


@pytest.mark.parametrize(
    ("section", "shares"),
    [
        ({"colocate": True}, {"actor": 8000, "rollout": 2000}),
        ({"rollout_num_gpus": 8}, {"actor": 8000, "rollout": 2000}),
        ({"debug_train_only": True, "use_critic": True}, {"actor": 4000, "critic": 4000}),
        (
            {"colocate": True, "num_gpus_per_actor": 0.61237, "num_gpus_per_engine": 1},
            {"actor": 6124, "rollout": 10000},
        ),
        (
            {"colocate": True, "use_critic": True, "num_gpus_per_actor": 0.3},
            {"actor": 3000, "critic": 3000, "rollout": 2000},
        ),
    ],
)
def test_shares(section: dict[str, Any], shares: dict[str, int]) -> None:
    assert read(section).shares == shares


@pytest.mark.parametrize("value", [0, -0.5, 0.00001, float("nan"), float("inf"), True, "0.5", None, [], 10**400])
@pytest.mark.parametrize("key", ["num_gpus_per_actor", "num-gpus-per-engine"])
def test_a_share_is_a_fraction(key: str, value: Any) -> None:
    problems = problems_of({"colocate": True, key: value})
    assert [problem.rule for problem in problems] == ([] if value is None else ["share_invalid"])


def test_unknown_arguments_are_guessed() -> None:
    problem = only_problem({"colocate": True, "actor_num_gpu_per_node": 4}, "slime_unknown_argument")
    assert problem.hint == "did you mean `actor_num_gpus_per_node`?"
    assert (problem.severity, problem.path, problem.at_key) == ("warning", ("slime", "actor_num_gpu_per_node"), True)


def test_other_arguments_of_slime_are_accepted() -> None:
    others = dict.fromkeys(OTHER_ARGUMENTS, "x") | {"sglang-mem-fraction-static": 0.7, "--offload-train": True}
    read({"--colocate": True, **others})
    assert OTHER_ARGUMENTS.isdisjoint(KNOWN_ARGUMENTS)


def test_many_unknown_arguments_are_counted() -> None:
    problems = problems_of({"colocate": True, **{f"zz{i}": i for i in range(50_000)}})
    assert len(problems) == 21
    assert "49,980 more unknown arguments" in problems[-1].message


def test_both_spellings_of_one_argument() -> None:
    problem = only_problem({"colocate": True, "actor_num_nodes": 1, "actor-num-nodes": 2}, "slime_argument_twice")
    assert problem.path == ("slime", "actor-num-nodes")


@pytest.mark.parametrize("value", ["16", 16])
def test_numbers_may_be_quoted(value: Any) -> None:
    assert read({"rollout_num_gpus": value}).rollout_num_gpus == 16


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("actor_num_nodes", 0, "slime_number_too_small"),
        ("actor_num_nodes", -1, "slime_number_too_small"),
        ("rollout_num_gpus", -1, "slime_number_too_small"),
        ("rollout_num_gpus_per_engine", 0, "slime_number_too_small"),
        ("num_gpus_per_node", 0, "slime_number_too_small"),
        ("actor_num_nodes", 10**12, "slime_number_too_large"),
        ("actor_num_nodes", MOST_GPUS, "slime_number_too_large"),
        pytest.param("num_gpus_per_node", 1 << 20_000, "slime_number_too_large", id="too large to print"),
        ("actor_num_nodes", 1.5, "slime_not_a_number"),
        ("actor_num_nodes", True, "slime_not_a_number"),
        ("actor_num_nodes", None, "slime_not_a_number"),
        pytest.param("actor_num_nodes", "9" * 5_000, "slime_not_a_number", id="too long to read"),
        ("actor_num_nodes", "two", "slime_not_a_number"),
        ("colocate", None, "slime_not_a_flag"),
        ("colocate", "maybe", "slime_not_a_flag"),
        ("debug_train_only", 1, "slime_not_a_flag"),
        ("advantage_estimator", 7, "slime_not_text"),
    ],
)
def test_wrong_values_are_one_problem_at_their_place(key: str, value: Any, rule: str) -> None:
    problem = only_problem({"colocate": True, key: value}, rule)
    assert problem.path in (("slime", key), ("slime", "colocate"))
    assert problem.hint


def test_several_wrong_values_are_reported_together() -> None:
    section = {"actor_num_nodes": "x", "colocate": "y", "num_gpus_per_actor": -7, "rollout_num_gpus": 8}
    assert [problem.rule for problem in problems_of(section)] == [
        "slime_not_a_number",
        "slime_not_a_flag",
        "share_invalid",
    ]


@pytest.mark.parametrize("section", [None, [], "colocate", 3])
def test_a_section_must_be_a_mapping(section: Any) -> None:
    only_problem(section, "slime_not_a_mapping")


def test_a_program_may_leave_texts_empty() -> None:
    read({"colocate": True, "update_weight_mode": None, "advantage_estimator": None, "save": None})
