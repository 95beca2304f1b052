"""The list of problems: words are broken at their joints, and what is cut or left out says so."""

from __future__ import annotations

from collections.abc import Callable

from placetui.grid import Pen, plain
from placetui.grid.panels import problem_entries
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem

Build = Callable[..., Plan]

MESSAGE = "critic_num_gpus_per_node is 4 but the actor has 8"
PROBLEMS = [Problem(f"rule{number}", MESSAGE, hint="write 8, or remove the line") for number in range(3)]
FIRST = [
    "✗ rule0",
    "  critic_num_gpus_per_",
    "  node is 4 but the actor",
    "  has 8",
    "  write 8, or remove the",
    "  line",
    "",
]


def shown(make_plan: Build, room: int, chosen: Problem | None = None) -> list[str]:
    entries = problem_entries(Pen(make_plan([4], {})), PROBLEMS, [], 25, chosen=chosen, room=room)
    return [plain(line).rstrip() for entry in entries for line in entry.lines]


def test_whole_entries_are_shown_and_how_many_more_there_are(make_plan: Build) -> None:
    assert shown(make_plan, 8) == [*FIRST, "  and 2 more"]
    assert shown(make_plan, 11)[7:] == ["  and 2 more"], "no bare title"
    assert len(shown(make_plan, 20)) == 21, "all of them; a blank line ends the last one"
    assert "more" not in "".join(shown(make_plan, 20))


def test_a_sentence_that_is_cut_ends_in_an_ellipsis(make_plan: Build) -> None:
    assert shown(make_plan, 5) == [*FIRST[:2], "  node is 4 but the…", "", "  and 2 more"]


def test_the_chosen_problem_is_among_those_shown(make_plan: Build) -> None:
    assert shown(make_plan, 15, PROBLEMS[1])[7] == "▸ rule1"
    lines = shown(make_plan, 15, PROBLEMS[2])
    assert (lines[0], lines[7], lines[-1]) == ("✗ rule1", "▸ rule2", "  and 1 more")
