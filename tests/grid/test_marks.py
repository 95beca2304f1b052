"""Letters, hues and patterns of components: found by the role in a name, never by the order in a file."""

from __future__ import annotations

from itertools import permutations
from string import ascii_uppercase
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.grid import HUES, component_marks
from placetui.grid.marks import ROLES, role_letters, role_of


def letters(*names: str) -> str:
    return " ".join(mark.letter for mark in component_marks(names).values())


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("actor", "actor"),
        ("trainer", "actor"),
        ("Policy", "actor"),
        ("actor_rollout_ref", "actor"),
        ("rollout_actor", "actor"),
        ("rollout2", "rollout"),
        ("RolloutGroup", "rollout"),
        ("reward_model", "reward"),
        ("ref_policy", "ref"),
        ("envs", "env"),
        ("franka robot", "env"),
        ("teacher", "inference"),
        ("tool", "agent"),
        ("value", "critic"),
        ("planner", None),
        ("factor", None),
        ("模型", None),
        ("", None),
    ],
)
def test_a_role_is_found_by_name(name: str, role: str | None) -> None:
    assert role_of(name) == role


def test_every_role_has_a_letter_and_a_hue_of_its_own() -> None:
    marks = component_marks(ROLES)
    assert [mark.hue for mark in marks.values()] == list(range(HUES))
    assert letters("actor", "rollout", "reward", "critic", "ref", "env", "inference", "agent") == "A R W C F E I G"
    assert not any(mark.second for mark in marks.values())


def test_letters_of_roles_can_be_set_and_a_role_that_loses_its_letter_has_the_same_in_every_file() -> None:
    chosen = {"actor": "R", "reward": "Q"}
    marks = component_marks(["trainer", "rollout", "judge", "critic", "queue"], chosen)
    assert [mark.letter for mark in marks.values()] == ["R", "O", "Q", "C", "U"]
    assert component_marks(["rollout"], chosen)["rollout"].letter == "O"
    assert marks["trainer"].hue == 0


@given(st.dictionaries(st.sampled_from(ROLES), st.sampled_from(ascii_uppercase)))
def test_whatever_is_set_each_role_has_a_letter_of_its_own(chosen: dict[str, str]) -> None:
    chosen = {role: letter for letter, role in {letter: role for role, letter in chosen.items()}.items()}
    found = role_letters(chosen)
    assert len(set(found.values())) == len(ROLES)
    assert found.items() >= chosen.items()


def test_a_second_of_one_role_keeps_the_hue_takes_another_letter_and_is_underlined() -> None:
    marks = component_marks(["actor_rollout_ref", "critic", "actor"])
    fused, actor = marks["actor_rollout_ref"], marks["actor"]
    assert (actor.letter, actor.second, fused.letter, fused.second) == ("A", False, "T", True)
    assert fused.hue == actor.hue
    assert component_marks(["actor_rollout_ref"])["actor_rollout_ref"].letter == "A"


def test_an_unknown_name_takes_its_own_first_free_letter_and_a_hue_that_nobody_has() -> None:
    assert letters("planner", "parser", "actor") == "L P A", "the shorter name chooses first"
    marks = component_marks([*ROLES[:6], "planner", "parser"])
    assert len({mark.hue for mark in marks.values()}) == HUES
    assert component_marks(["x", "planner"])["planner"].letter == component_marks(["planner"])["planner"].letter


NAMES = ["actor", "actor_rollout_ref", "trainer", "reward", "planner"]


@pytest.mark.parametrize("order", list(permutations(NAMES))[::7])
def test_the_order_of_a_file_changes_nothing(order: tuple[str, ...]) -> None:
    expected = component_marks(NAMES)
    assert component_marks(order) == expected
    assert list(component_marks(order)) == list(order)


def test_known_roles_stay_as_they_are_whatever_comes_and_goes() -> None:
    alone = {name: component_marks([name])[name] for name in ROLES}
    for others in ([], ["planner", "x"], list(ROLES), ["actor_2", "rollout_2", "zz"]):
        marks = component_marks([*others, *ROLES])
        assert {name: marks[name] for name in ROLES} == alone


@given(st.lists(st.text(max_size=8), max_size=120, unique=True))
def test_letters_are_unique_and_ascii(names: list[str]) -> None:
    found = component_marks(names)
    assert list(found) == names
    assert len({mark.letter for mark in found.values()}) == len(names)
    assert all(mark.letter.isascii() and len(mark.letter) <= 2 for mark in found.values())


def test_letters_run_out_one_by_one() -> None:
    assert letters("aa", "aaa", "模型", "_9") == "A B D C"
    assert letters(*(f"a{n}" for n in range(38))).split()[24:] == [*"YZ0123456789", "AA", "AB"]


def test_a_letter_that_is_a_digit_is_kept_apart_from_the_rank() -> None:
    found = list(component_marks(f"x{n}" for n in range(30)).values())
    assert found[0].label(3) == "X3"
    assert found[26].label(3) == "0:3"


def test_a_name_that_nobody_knows_has_the_hue_of_agents_while_that_is_free() -> None:
    assert component_marks(["planner"])["planner"].hue == ROLES.index("agent")
    assert component_marks(["planner", "agent"])["planner"].hue != ROLES.index("agent")


@pytest.mark.parametrize("prefix", ["component", "actor", "模"])
def test_thousands_of_names_cost_as_much_each_as_a_few(prefix: str) -> None:
    def seconds(number: int) -> float:
        names = [f"{prefix}{n}" for n in range(number)]
        start = process_time()
        assert len({mark.letter for mark in component_marks(names).values()}) == number
        return process_time() - start

    few, many = (min(seconds(number) for _ in range(3)) for number in (1000, 8000))
    assert many < 8 * few * 4, "quadratic would be eight times as much for each"
