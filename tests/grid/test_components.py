"""The panel of components: names, rules and counts in the room there is."""

from __future__ import annotations

from collections.abc import Callable

from placetui.grid import cell_width, plain
from placetui.grid.look.style import ERROR
from placetui.grid.panels.components import component_entries, component_rows
from placetui.grid.pen import Pen
from placetui.observe.totals import Totals
from placetui.placement.plan import SHARE_UNITS, Plan

Build = Callable[..., Plan]


def pen_of(make_plan: Build, *components: tuple[str, str, float | None, int]) -> Pen:
    """Components with a name, a rule, a share and a number of ranks."""
    spaces = {
        name: (rule, share and round(share * SHARE_UNITS), [(rank // 8, (rank % 8,)) for rank in range(size)])
        for name, rule, share, size in components
    }
    return Pen(make_plan([8] * 1024, spaces), False, cell_width)


def rows(pen: Pen, width: int, totals: Totals | None = None) -> list[str]:
    return [plain(line).rstrip() for entry in component_rows(pen, width, totals) for line in entry.lines]


def test_a_rule_without_room_has_a_line_of_its_own(make_plan: Build) -> None:
    pen = pen_of(make_plan, ("actor", "0-8191", None, 8192))
    (entry,) = component_entries(pen, 25, totals=Totals(alive={"actor": 8192}))
    lines = [plain(line) for line in entry.lines]
    assert "…" not in "".join(lines)
    assert lines[1].strip() == "0-8191"


def test_a_share_is_whole_beside_a_large_count(make_plan: Build) -> None:
    pen = pen_of(make_plan, ("actor", "all", 0.8, 8192), ("rollout", "all", 0.1, 8192))
    entries = component_entries(pen, 25, totals=Totals(alive={"actor": 8191, "rollout": 8192}))
    assert [plain(entry.lines[0]) for entry in entries] == ["A actor   .80 8,191/8,192", "R rollout .10 8,192/8,192"]


def test_a_long_name_is_whole_and_its_share_stands_before_the_rule(make_plan: Build) -> None:
    pen = pen_of(make_plan, ("actor_rollout_ref", "2 nodes x 8", 0.33, 16), ("rollout", "all", None, 4))
    first, second = component_entries(pen, 25)
    assert [plain(line).rstrip() for line in first.lines[:2]] == ["A actor_rollout_ref    16", "  .33  2 nodes x 8"]
    assert plain(second.lines[0]) == "R rollout      all      4"


def test_a_row_gives_its_rule_the_room_and_says_ranks_where_there_is_some_left(make_plan: Build) -> None:
    short = pen_of(make_plan, ("actor", "all", 0.8, 16), ("env", "0-3", 0.1, 1))
    assert rows(short, 76) == [" A  actor all  .80  16 ranks           E  env   0-3  .10   1 rank"]
    long = [("actor", "0-4095,4096-8191", 0.8, 8192), ("env", "all", 0.1, 8192)]
    alone = [" A  actor 0-4095,4096-8191  .80  8,192 ranks", " E  env   all               .10  8,192 ranks"]
    assert rows(pen_of(make_plan, *long), 76) == alone
    more = [("critic", "all", None, 8), ("ref", "all", None, 8)]
    assert rows(pen_of(make_plan, *long, *more), 76)[0] == (
        " A  actor  0-4095,4096-8…  .80  8,192  E  env    all             .10  8,192"
    )


def test_a_row_counts_the_ranks_that_are_alive(make_plan: Build) -> None:
    pen = pen_of(make_plan, ("actor", "all", 0.8, 16), ("env", "0-3", 0.1, 4))
    totals = Totals(alive={"actor": 15, "env": 4}, dead={"actor": 1})
    assert rows(pen, 76, totals) == [" A  actor all  .80  15/16 ranks        E  env   0-3  .10    4/4 ranks"]
    (entry,) = component_rows(pen, 76, totals)
    assert next(run.style for run in entry.lines[0] if run.text == "15") == ERROR
    assert entry.number == 2, "a line stands for both"
