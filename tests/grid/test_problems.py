"""The list of problems: words are broken at their joints, and what is cut or left out says so."""

from __future__ import annotations

from collections.abc import Callable

from placetui.grid import Pen, plain
from placetui.grid.panels import problem_entries
from placetui.grid.panels.entries import windowed
from placetui.observe.drift import Drift
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


def shown(make_plan: Build, room: int, first: int = 0) -> list[str]:
    entries = problem_entries(Pen(make_plan([4], {})), PROBLEMS, [], 25, room=room)
    return [plain(line).rstrip() for line, _ in windowed(entries, first, room, "…", counted=True)]


def test_whole_entries_are_shown_and_how_many_more_there_are(make_plan: Build) -> None:
    assert shown(make_plan, 8) == [*FIRST, "  and 2 more"]
    assert shown(make_plan, 9)[7:] == ["✗ rule1", "✗ rule2"], "titles of the others rather than a count"
    assert len(shown(make_plan, 20)) == 20, "all of them, without a blank line at the end"
    assert "more" not in "".join(shown(make_plan, 20))
    assert shown(make_plan, 8, 2)[0] == "✗ rule2"


def test_entries_above_are_counted_too(make_plan: Build) -> None:
    assert shown(make_plan, 8, 1)[-1] == "  and 2 more", "one above, one below"
    last = shown(make_plan, 8, 2)
    assert (last[0], last[-1]) == ("✗ rule2", "  and 2 more"), "both above"


def test_a_sentence_that_is_cut_ends_in_an_ellipsis(make_plan: Build) -> None:
    assert shown(make_plan, 5) == [*FIRST[:2], "  node is 4 but the acto…", "", "  and 2 more"]


def test_a_low_room_has_the_title_and_the_place_of_the_most_urgent(make_plan: Build) -> None:
    foreign = Drift("foreign_process", "python (pid 7) is on node0/gpu1", node=0, device=1, pid=7)
    dead = Drift("dead_rank", "actor 3 is dead: killed by signal 9", "actor", 3, 0, 3)
    entries = problem_entries(Pen(make_plan([4], {})), (), [foreign, dead], 25, room=3)
    lines = [plain(line).rstrip() for line, _ in windowed(entries, 0, 3, "…", counted=True)]
    assert lines == ["✗ actor 3 is dead", "  node0/gpu3", "  and 1 more"]


def test_many_notices_are_counted(make_plan: Build) -> None:
    notices = [Drift("dead_rank", f"actor {rank} is dead", "actor", rank, 0, 0) for rank in range(8000)]
    entries = problem_entries(Pen(make_plan([4], {})), PROBLEMS, notices, 25, room=9)
    lines = windowed(entries, 0, 9, "…", counted=True)
    assert plain(lines[-1][0]) == "  and 8,001 more"
    assert lines[-1][1] is entries[2], "it leads to the first of them"
    assert len(entries) < 100
