"""A plan with room to spare: shares are areas, and a process over several GPUs is one card."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise

import pytest

from placetui.grid import Density, Drawing, Overlay, plain
from placetui.grid.moves import Moves
from placetui.grid.pen import Compared
from placetui.observe.model import DeviceSample
from placetui.placement.diff import diff_plans
from placetui.placement.plan import GPU, Plan
from tests.grid.conftest import MakePlan

LayOver = Callable[..., Overlay]

FIELDS: list[tuple[Density, int, int]] = [("card", 159, 26), ("tile", 87, 20)]
"""Density, columns and lines of one node with eight GPUs."""


def areas(drawing: Drawing, index: int) -> list[tuple[int | None, int]]:
    """Down a GPU of node 0: the hues of its ground, None where it has none, and how many lines each has."""
    region = drawing.locate(0, index, GPU)
    assert region is not None
    hues: list[int | None] = []
    for y in range(region.y + 1, region.y + region.height - (drawing.density == "card")):
        styles = [run.style for run in drawing.line(y) for _ in run.text]
        style = styles[region.x + 2]
        hues.append(style.hue if style.ground == "component" else None)
    return [(hue, len(list(same))) for hue, same in groupby(hues)]


def hue(drawing: Drawing, component: str) -> int:
    return drawing.marks[component].hue


@pytest.mark.parametrize(("density", "width", "height"), FIELDS)
def test_each_share_has_its_part_of_the_gpu(make_plan: MakePlan, density: Density, width: int, height: int) -> None:
    every = [(0, [index]) for index in range(8)]
    plan = make_plan([8], {"actor": ("0-7", 8000, every), "rollout": ("0-7", 2000, every)})
    drawing = Drawing(plan, width=width).fitted(height)
    assert (drawing.density, drawing.height) == (density, height)
    (first, actor), (second, rollout) = areas(drawing, 3)
    assert (first, second) == (hue(drawing, "actor"), hue(drawing, "rollout"))
    assert 2.2 <= actor / rollout <= 4.2
    # The words of a rank are on the first line of its area.
    region = drawing.locate(0, 3, GPU)
    assert region is not None
    assert "R3" in plain(drawing.line(region.y + 1 + actor))[region.x : region.x + region.width]


@pytest.mark.parametrize(("density", "width", "height"), FIELDS)
def test_what_is_not_promised_stays_blank(make_plan: MakePlan, density: Density, width: int, height: int) -> None:
    plan = make_plan([8], {"actor": ("0-3", 5000, [(0, [index]) for index in range(4)])})
    drawing = Drawing(plan, width=width).fitted(height)
    (shown, held), (blank, free) = areas(drawing, 0)
    assert (drawing.density, shown, blank) == (density, hue(drawing, "actor"), None)
    assert abs(held - free) <= 2
    assert [one for one, _ in areas(drawing, 7)] == [None]


def test_gpus_without_a_process_in_common_are_divided_each_by_itself(make_plan: MakePlan) -> None:
    crowd = [(0, [0])] * 4 + [(0, [1])] * 2
    plan = make_plan([8], {"env": ("0-1", 1000, crowd), "rollout": ("0-1", 6000, [(0, [0]), (0, [1])])})
    drawing = Drawing(plan, width=159).fitted(40)
    (env, four), (rollout, _) = areas(drawing, 0)
    (_, two), (_, most), (rest, _) = areas(drawing, 1)
    assert (env, rollout, rest) == (hue(drawing, "env"), hue(drawing, "rollout"), None)
    assert two <= four < most


def test_a_file_that_promises_too_much_is_red_all_over(make_plan: MakePlan) -> None:
    plan = make_plan([8], {name: ("0", 7000, [(0, [0])]) for name in ("actor", "rollout")})
    drawing = Drawing(plan, width=87).fitted(20)
    region = drawing.locate(0, 0, GPU)
    assert region is not None
    grounds = {
        run.style.ground
        for y in range(region.y, region.y + region.height)
        for run, at in zip(drawing.line(y), starts(drawing.line(y)), strict=True)
        if region.x <= at < region.x + region.width
    }
    assert grounds == {"error"}


def starts(line: tuple[object, ...]) -> list[int]:
    found, at = [], 0
    for run in line:
        found.append(at)
        at += len(run.text)  # type: ignore[attr-defined]
    return found


def test_without_colours_the_letter_goes_down_the_area(make_plan: MakePlan) -> None:
    every = [(0, [index]) for index in range(8)]
    plan = make_plan([8], {"actor": ("0-7", 8000, every), "rollout": ("0-7", 2000, every)})
    drawing = Drawing(plan, width=87, color=False).fitted(20)
    letters = "".join(plain(drawing.line(y))[1] for y in range(2, drawing.height))
    assert letters.strip("AR") == ""
    assert 2.2 <= letters.count("A") / letters.count("R") <= 4.2
    tight = Drawing(plan, width=87, color=False)
    assert plain(tight.line(tight.height - 1)).startswith("AAAAAAAARR"), "without room, shares stand at the foot"
    assert ("AR", "shares") in [(sign.text, meaning) for sign, meaning in tight.signs()]


def test_a_preview_is_as_high_as_the_plan_and_who_left_stands_below(make_plan: MakePlan) -> None:
    every = [(0, [index]) for index in range(8)]
    before = make_plan([8], {"actor": ("0-7", 8000, every), "rollout": ("4-7", 2000, every[4:])})
    after = make_plan([8], {"actor": ("0-3", 8000, every[:4]), "rollout": ("4-7", 9000, every[4:])})
    moves = Moves(diff_plans(before, after), "both", ascii=False)
    plan, preview = Drawing(before, width=87), Drawing(after, width=87, compared=Compared(moves))
    assert plan.fitted(20).height == preview.fitted(20).height == 20
    drawing = preview.fitted(20)
    assert [one for one, _ in areas(drawing, 4)] == [hue(drawing, "rollout"), None]
    region = drawing.locate(0, 4, GPU)
    assert region is not None
    left = next(line for y in range(20) if "A4" in (line := plain(drawing.line(y))))
    assert left[region.x : region.x + region.width].split() == ["A4", "−"]


def test_equal_shares_have_equal_areas(make_plan: MakePlan) -> None:
    crowd = [(0, [0])] * 4 + [(0, [1])] * 4
    plan = make_plan([8], {"env": ("", 1000, crowd), "rollout": ("0-1", 6000, [(0, [0, 1])])})
    drawing = Drawing(plan, width=87).fitted(18)
    lines = [plain(drawing.line(y)) for y in range(18)]
    starts = [next(y for y, line in enumerate(lines) if f" E{rank} " in line) for rank in range(4)]
    starts.append(next(y for y, line in enumerate(lines) if "R0" in line))
    assert {second - first for first, second in pairwise(starts)} == {2}
    assert lines[starts[-1] + 1].split()[:3:2] == ["0", "1"], "the GPUs of the process are joined by a line"


@pytest.mark.parametrize("live", [False, True])
def test_a_process_over_several_gpus_is_one_card(make_plan: MakePlan, lay_over: LayOver, live: bool) -> None:
    plan = make_plan([8], {"rollout": ("0-7", 10000, [(0, [0, 1, 2, 3]), (0, [4, 5, 6, 7])])})
    overlay: Overlay | None = lay_over(plan, lambda _node, index: DeviceSample(index)) if live else None
    drawing = Drawing(plan, width=159, overlay=overlay).fitted(20)
    assert drawing.density == "card"
    top, bottom = plain(drawing.line(1)), plain(drawing.line(drawing.height - 1))
    assert [top.count(corner) for corner in "╭╮"] == [2, 2]
    assert [f"GPU {number}" in top for number in range(8)] == [True] * 8
    assert [bottom.count(corner) for corner in "╰╯"] == [2, 2]
    assert {plain(drawing.line(y)).count("│") for y in range(2, drawing.height - 1)} == {4}
    if not live:
        assert "rank 1 of 2" in plain(drawing.line(4))


def test_a_card_of_several_is_cut_where_one_of_them_has_a_problem(make_plan: MakePlan, lay_over: LayOver) -> None:
    plan = make_plan([4], {"rollout": ("0-3", 10000, [(0, [0, 1, 2, 3])])})
    overlay = lay_over(plan, lambda _node, index: DeviceSample(index), marked=[(0, 2)])
    drawing = Drawing(plan, "card", width=79, overlay=overlay)
    assert plain(drawing.line(1)).count("╭") == 4


def test_the_load_of_a_live_tile_has_the_lines_that_are_left(two_nodes: Plan, lay_over: LayOver) -> None:
    live = lay_over(two_nodes, lambda _node, index: DeviceSample(index, utilization=50))
    drawing = Drawing(two_nodes, width=87, overlay=live).fitted(40)
    assert drawing.density == "tile"
    assert 36 <= drawing.height <= 40
    text = "\n".join(plain(line) for line in drawing.lines())
    assert text.count("load 50%") == 16 + 2  # of the GPUs and of the nodes
