"""Two plans compared in words: the table, what is wrong, the border of the pools, and the points for and against."""

from __future__ import annotations

import re
from typing import Any

import pytest

from placetui.frameworks.planner import make_plan
from placetui.grid import Drawing, Line, Pen, plain
from placetui.grid.look.style import FAINT
from placetui.grid.moves import Moves
from placetui.grid.panels.what_if import PlanComparison, advice_lines, split_lines, verdict_lines, verdict_title
from placetui.grid.pen import Compared
from placetui.observe.history import DeviceHistory, MemoryUse, highest_memory
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.diff import diff_plans
from placetui.placement.plan import Plan
from placetui.placement.wording import GIB


def plan_of(**rules: Any) -> Plan:
    return make_plan({"cluster": {"num_nodes": 2, "component_placement": rules}})


TOGETHER = plan_of(actor="0-15", rollout="0-15", reward="0-15")
APART = plan_of(actor="0-7", rollout="8-15", reward="0-7")
DIFFERENCE = diff_plans(TOGETHER, APART)
LEAVING = Moves(DIFFERENCE, "before", ascii=False)
MEMORY = {(node, gpu): MemoryUse((60 + gpu) * GIB, 80 * GIB) for node in (0, 1) for gpu in range(8)}


def shown(lines: list[Line]) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def verdict(before: Plan, after: Plan, width: int = 90, room: int = 40, **memory: Any) -> list[str]:
    comparison = PlanComparison.of(before, after, memory.get("memory", {}))
    rows = shown(verdict_lines((Pen(before), Pen(after)), comparison, after.problems, width, room))
    assert all(row[:1] in ("", " ") for row in rows), "away from the edge"
    return [row[1:] for row in rows]


def test_the_table_has_both_plans_and_what_that_means() -> None:
    rows = {" ".join(row.split()) for row in verdict(TOGETHER, APART, memory=MEMORY)}
    assert "ranks 48 24 16 stay 8 move 24 removed" in rows
    assert "GPUs for A 16 R 16 W 16 A 8 R 8 W 8 no GPU trains and generates" in rows
    assert "share A .80 R .10 W .10 A .80 R 1.0 W .20" in rows
    assert "fullest GPU 67.0/80G 84% not measured 13.0 GiB free" in rows
    assert any(row.endswith("on node1/gpu7") for row in rows)
    assert "rollout 0-7: node0/gpu0-7 → node1/gpu0-7" in rows


def test_what_cannot_be_seen_beside_the_table_stands_below_it() -> None:
    rows = verdict(TOGETHER, APART, width=60)
    assert all(len(row) <= 60 for row in rows)
    assert [rows[2].split(), rows[2].index("16 stay")] == [["16", "stay", "8", "move", "24", "removed"], 13]


@pytest.mark.parametrize("room", [1, 3, 5, 8, 12])
def test_little_room_is_never_exceeded_and_begins_with_the_counts(room: int) -> None:
    rows = verdict(TOGETHER, APART, room=room)
    assert len(rows) <= room
    assert "8 move" in " ".join(rows[:2])


def test_a_plan_that_changes_nothing_says_so_and_keeps_its_figures() -> None:
    comparison = PlanComparison.of(APART, APART, MEMORY)
    assert plain(verdict_title(Pen(APART), comparison, ())) == "Verdict  nothing changes"
    rows = verdict(APART, APART, memory=MEMORY)
    assert "Choose another layout, mode or size." in rows
    assert "not measured" not in " ".join(rows)
    assert not comparison.advice


def test_a_plan_that_does_not_fit_has_an_area_and_no_advice() -> None:
    wrong = plan_of(actor="0-31", rollout="0-15")
    comparison = PlanComparison.of(APART, wrong, {})
    assert "✗ does not fit" in plain(verdict_title(Pen(wrong), comparison, wrong.problems))
    lines = verdict_lines((Pen(APART), Pen(wrong)), comparison, wrong.problems, 80, 40)
    tinted = [plain(line) for line in lines if line and line[0].style.ground == "error"]
    assert [line[:3] for line in tinted[:1]] == [" ✗ "]
    assert {len(line) for line in tinted} == {80}, "from edge to edge"
    assert not comparison.advice


def test_a_risk_is_a_caution_with_an_area() -> None:
    comparison = PlanComparison.of(TOGETHER, APART, {})
    assert plain(verdict_title(Pen(APART), comparison, ())) == "Verdict  ✓ fits  ▲ 1 caution"
    lines = verdict_lines((Pen(TOGETHER), Pen(APART)), comparison, (), 80, 40)
    tinted = [plain(line) for line in lines if line and line[0].style.ground == "warning"]
    assert tinted[0].strip() == "▲ actor has 8 ranks instead of 16"


@pytest.mark.parametrize(("training", "blue"), [(8, 8), (1, 1), (15, 15)])
def test_each_gpu_is_a_square_of_its_pool(training: int, blue: int) -> None:
    pen = Pen(TOGETHER, ascii=True)
    words, squares, keys = shown(split_lines(pen, training, 16 - training, 48, keys=True, short=False))
    assert words == f"{training} training : {16 - training} generation"
    assert squares.split().count("AA") == blue
    assert squares.split().count("RR") == 16 - blue
    assert keys.startswith("[ ]")


def test_thousands_of_gpus_are_a_bar_with_both_pools() -> None:
    for training in (1, 4096, 8191):
        bar = shown(split_lines(Pen(TOGETHER, ascii=True), training, 8192 - training, 40, keys=False, short=False))[1]
        assert len(bar) == 40
        assert set(bar) == {"A", "R"}


def test_points_that_do_not_fit_are_left_out_whole() -> None:
    advice = PlanComparison.of(TOGETHER, APART, {}).advice
    pen = Pen(APART)
    every = shown(advice_lines(pen, advice, 40, 99))
    some = shown(advice_lines(pen, advice, 40, 4))
    assert some == every[: len(some)]
    assert every[len(some)][0] in "✓▲▸"
    assert len(some) <= 4


def test_ranks_that_go_are_struck_with_a_sign_and_others_are_not() -> None:
    drawing = Drawing(TOGETHER, "tile", width=100, compared=Compared(LEAVING))
    runs = [run for line in drawing.lines() for run in line]
    struck = [run.text for run in runs if run.style.strike]
    assert [text for text in struck if text[0] == "A"] == [f"A{rank}" for rank in range(8, 16)]
    text = "\n".join(map(plain, drawing.lines()))
    assert len(re.findall(r"A\d+ +−", text)) == 8
    assert " 15 " in text, "devices have the numbers that moves name"


def test_letters_tell_who_moves_and_who_goes() -> None:
    drawing = Drawing(TOGETHER, "letters", width=100, compared=Compared(LEAVING))
    runs = [run for line in drawing.lines() for run in line]
    assert [run.text for run in runs if run.style.ground == "moved"] == ["R"] * 8
    assert any(run.text.startswith("ARW") and run.style.role == FAINT.role for run in runs)
    assert re.findall(r"[A-Z]+\d+−", "".join(run.text for run in runs)) == [f"ARW{rank}−" for rank in range(8, 16)]


def test_shares_are_areas_where_there_is_room_but_not_those_of_ranks_that_go() -> None:
    drawing = Drawing(TOGETHER, "card", width=180, compared=Compared(LEAVING)).grown(60)
    grounds = [{run.style.hue for run in line if run.style.ground == "component"} for line in drawing.lines()]
    first, second = (grounds[drawing.top_of(node) or 0 :] for node in (0, 1))
    assert drawing.spare
    assert len(first[2]) == 1
    assert not any(second)


def test_letters_without_room_for_ranks_tell_who_goes() -> None:
    drawing = Drawing(TOGETHER, "letters", width=54, compared=Compared(LEAVING))
    assert [plain(line).count("ARW−") for line in drawing.lines()] == [0, 8]


@pytest.mark.parametrize("density", ["card", "tile", "small"])
def test_nodes_are_as_high_in_both_plans_and_only_one_has_figures(density: Any) -> None:
    rows, coming = [3, 3], Moves(DIFFERENCE, "after", ascii=False)
    before = Drawing(TOGETHER, density, width=180, compared=Compared(LEAVING, MEMORY, True, rows))
    after = Drawing(APART, density, width=180, compared=Compared(coming, {}, True, rows))
    assert before.height == after.height
    assert [before.top_of(node) for node in (0, 1)] == [after.top_of(node) for node in (0, 1)]
    figures = ["67.0" in "\n".join(map(plain, drawing.lines())) for drawing in (before, after)]
    assert figures == [True, False]


def test_the_peak_of_the_past_counts_as_far_as_it_is_known() -> None:
    simulation = Simulation(layout_of(APART), SimulationOptions(rank_dies_every=None, node_stale_every=None))
    history, observation = DeviceHistory(), simulation.step(1_000_000.0)
    for second in range(30):
        observation = simulation.step(1_000_000.0 + second)
        history.record(observation, [node.rank for node in observation.nodes])
    now, past = highest_memory(observation), highest_memory(observation, [history])
    assert now.keys() == past.keys() == {(node, gpu) for node in (0, 1) for gpu in range(8)}
    assert all(now[place].used <= past[place].used <= past[place].total for place in now)
    assert any(now[place].used < past[place].used for place in now)
