"""A problem in its place of the file, and YAML in colours."""

from __future__ import annotations

from pathlib import Path

import pytest

from placetui.document import Document, plan_document
from placetui.grid import Line, Pen, cell_width, plain
from placetui.grid.excerpt import excerpt_lines, problem_lines, problem_title
from placetui.grid.yaml_text import keys_in, names_at, yaml_line
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem

TEXT = (Path(__file__).parents[2] / "sample_configs" / "broken-out-of-range.yaml").read_text()
LINES = TEXT.splitlines()


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_document(Document(TEXT))


def shown(lines: list[Line]) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def test_what_is_wrong_stands_below_the_characters_that_are_meant(plan: Plan) -> None:
    assert shown(excerpt_lines(Pen(plan), LINES, 12, plan.problems[:1], 76, 8)) == [
        "  10      actor:",
        "  11        node_group: a800",
        "▸ 12        placement: 0-8",
        "                       ^^^ device 8 of 0-8 does not exist",
        "                       hint  group a800 has 8 devices (node0): write ranks",
        "                             from 0 to 7",
        "  13      agent:",
        "  14        node_group: node",
    ]


@pytest.mark.parametrize("width", [20, 38, 76, 200])
@pytest.mark.parametrize("height", [1, 4, 9, 40])
def test_an_excerpt_keeps_to_its_room(plan: Plan, width: int, height: int) -> None:
    for problem in plan.problems:
        lines = problem_lines(Pen(plan), LINES, problem, plan.problems, width, height)
        assert len(lines) <= height
        assert all(cell_width(plain(line)) <= width for line in lines)


def test_the_carets_of_a_long_line_are_in_view(plan: Plan) -> None:
    text = f"placetui: {{shares: {{{'x' * 200}: 1, actor: 9}}}}"
    problem = Problem("bad_share", "too much", line=1, column=text.index("9") + 1)
    line, below = shown(excerpt_lines(Pen(plan), [text], 1, [problem], 40, 4))[:2]
    assert line[below.index("^")] == "9"


def test_the_others_follow_in_their_order(plan: Plan) -> None:
    lines = shown(problem_lines(Pen(plan), LINES, plan.problems[2], plan.problems, 76, 16))
    assert [line.split()[:4] for line in lines[-3:]] == [
        ["4", "17:13", "W", "process_start"],
        ["1", "12:18", "A", "resource_out_of_range"],
        ["2", "15:18", "G", "not_divisible"],
    ]
    title = plain(problem_title(Pen(plan), plan.problems[2], plan.problems, 76))
    assert title == "Problem 3 of 4  process_across_nodes  line 16:14"


def test_a_problem_without_a_place_is_said_without_the_file(plan: Plan) -> None:
    problem = Problem("empty_file", "the file is `empty`", hint="write `a: b`")
    assert shown(problem_lines(Pen(plan), [], problem, [problem], 40, 9)) == ["✗ the file is empty", "hint  write a: b"]


@pytest.mark.parametrize(
    "text",
    ["a: 'it''s # no comment' # one", "  - {x: 1, y: [2, 3]}", "rollout,reward: all", "\tæ: ${b:c} !t &d *e |", "'"],
)
def test_a_line_in_colours_has_the_same_characters(text: str) -> None:
    assert plain(yaml_line(text, {})) == text


def test_components_have_their_hue_where_they_are_keys(plan: Plan) -> None:
    line = yaml_line("  actor,reward: actor  # actor", Pen(plan).marks)
    assert [run.text for run in line if run.style.component] == ["actor", "reward"]
    assert keys_in("shares: {actor: 0.8, 'env': 1}  # rollout: 1") == ["shares", "actor", "env"]


def test_a_line_belongs_to_the_component_it_stands_below() -> None:
    names = ("actor", "agent")
    found = {number: names_at(LINES, number - 1, names) for number in (9, 10, 12, 13, 15, 16, 20)}
    assert found == {9: [], 10: ["actor"], 12: ["actor"], 13: ["agent"], 15: ["agent"], 16: [], 20: []}


def test_components_that_cannot_be_placed_are_named(plan: Plan) -> None:
    assert plan.unplaced == ("actor", "agent", "rollout", "reward")
    assert [mark.letter for mark in Pen(plan).marks.values()] == list("EIAGRW")
