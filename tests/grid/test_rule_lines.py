"""A rule in its place in the file."""

from __future__ import annotations

import pytest

from placetui.frameworks.planner import make_plan
from placetui.grid import Line, Pen, plain
from placetui.grid.panels.rule import RuleText, aside_line, head_line, lines_above, lines_below
from placetui.placement.problems import Problem

FILE = """\
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-3  # trains
    rollout: 4-7
  other: 1
more: 2
and: 3
placetui:
  shares: {actor: 0.5, rollout: 0.5}
"""

PEN = Pen(make_plan({"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-3", "rollout": "4-7"}}}))
PROBLEM = Problem("rank_format", "`0-x` is not a rank or a range", hint="write a number", span=(4, 7))


def rule(component: str = "actor", written: str = "0-3") -> RuleText:
    start, shares = FILE.index(written), FILE.index("{")
    return RuleText.of(component, FILE, (start, start + len(written)), (shares, shares + 26))


def shown(lines: list[Line]) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def test_the_lines_around_a_rule_have_their_numbers() -> None:
    text = rule()
    assert shown(lines_above(PEN, text, 70, 2)) == ["   2    num_nodes: 1", "   3    component_placement:"]
    assert plain(head_line(PEN, text, 70)) == "▸  4      actor: "
    below = shown(lines_below(PEN, text, (), "0-3", 18, 70, 4))
    assert below == [
        "   5      rollout: 4-7",
        "   6    other: 1",
        "   7  more: 2",
        "  10    shares: {actor: 0.5, rollout: 0.5}",
    ], "the shares are seen though they are further down"


def test_what_is_wrong_stands_below_what_is_meant() -> None:
    text = " 0-2,0-x"
    below = shown(lines_below(PEN, rule(), (PROBLEM,), text, 18, 100, 4))
    column = 18 + text.index("0-x")
    assert below[0] == " " * column + "^^^ rank_format"
    assert below[1] == " " * column + "0-x is not a rank or a range"
    assert below[2] == " " * column + "hint  write a number"
    assert below[3].endswith("rollout: 4-7")


@pytest.mark.parametrize("room", [1, 2, 3])
def test_in_little_room_the_sentence_comes_first(room: int) -> None:
    found = shown(lines_below(PEN, RuleText("actor", (), 0, "actor: "), (PROBLEM,), "0-x", 7, 40, room))
    assert len(found) <= room
    assert any("is not a rank" in line for line in found)


def test_what_it_was_counts_more_than_what_it_gives() -> None:
    component = PEN.plan.components["actor"]
    wide = plain(aside_line(PEN, rule(), "0-3", component, 60))
    assert wide.startswith("  # trains")
    assert wide.endswith("was 0-3   4 GPUs, 4 ranks, 1 node")
    assert plain(aside_line(PEN, rule(), "0-3", component, 12)).strip().endswith("was 0-3")


def test_a_rule_that_is_no_single_value_is_edited_without_its_file() -> None:
    text = RuleText.of("actor", FILE, (FILE.index("num_nodes"), FILE.index("rollout")), None)
    assert plain(head_line(PEN, text, 70)) == "actor: "
    assert lines_above(PEN, text, 70, 3) == []
    assert lines_below(PEN, text, (), "0-3", 7, 70, 3) == []
