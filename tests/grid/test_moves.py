"""Who moves between two plans: in the drawing, beside it, and how the new one fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from placetui.grid import Drawing, Line, Pen, Place, plain
from placetui.grid.look.style import ERROR
from placetui.grid.moves import Moves, Side
from placetui.grid.panels.fits import Fits, fit_lines
from placetui.grid.panels.moves import move_lines
from placetui.grid.pen import Compared
from placetui.placement.diff import Difference, diff_plans
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem

Build = Callable[..., Plan]


def on(*devices: int) -> list[tuple[int, tuple[int, ...]]]:
    """One process on each of these GPUs, of nodes with four."""
    return [(device // 4, (device % 4,)) for device in devices]


def plan_with(make_plan: Build, actor: Sequence[object], rollout: Sequence[object]) -> Plan:
    return make_plan([4, 4], {"actor": ("", 6000, actor), "rollout": ("", 5000, rollout)})


def shown(lines: Sequence[Line]) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def drawn(plan: Plan, difference: Difference, side: Side) -> str:
    drawing = Drawing(plan, "tile", width=60, compared=Compared(Moves(difference, side, ascii=False)))
    return re.sub(" +", " ", "\n".join(shown([*drawing.lines(), drawing.key(200)])))


def test_a_preview_shows_who_came_who_left_and_the_numbers_of_rules(make_plan: Build) -> None:
    before, after = plan_with(make_plan, on(0), on(4, 5, 6)), plan_with(make_plan, on(0), on(2, 4))
    text = drawn(after, diff_plans(before, after), "both")
    first, second = text.split("node1")
    assert "R0 ←4" in first
    assert "R1 ←5" in second
    assert "R0 →2" in second
    assert "R1 →4" in second
    assert "R2 −" in second, "removed"
    assert " 4 " in second
    assert " 7 " in second, "GPUs are counted over all nodes, as rules name them"
    assert all(words in text for words in ("← comes from", "→ goes to", "− removed"))


def test_ranks_that_left_stand_below_those_who_stay(make_plan: Build) -> None:
    before, after = plan_with(make_plan, on(0, 1), on(0, 1)), plan_with(make_plan, on(2, 3), on(0, 1))
    drawing = Drawing(
        after, "small", width=60, compared=Compared(Moves(diff_plans(before, after), "both", ascii=False))
    )
    lines = shown(list(drawing.lines()))
    where = next(number for number, line in enumerate(lines) if "R0" in line)
    assert "A0" in lines[where], "A0 came to a GPU of its own"
    assert "→2" in lines[where + 1]
    region = drawing.locate(0, 0)
    assert region is not None
    assert drawing.at(region.x, region.y + region.height - 1) == Place(0, "gpu", 0)


def test_a_process_over_several_gpus_leaves_all_of_them(make_plan: Build) -> None:
    before = make_plan([4, 4], {"rollout": ("", 10000, [(0, (0, 1, 2, 3))])})
    after = make_plan([4, 4], {"rollout": ("", 10000, [(1, (0, 1, 2, 3))])})
    first, second = drawn(after, diff_plans(before, after), "both").split("node1")
    assert first.count("R0") == 4, "each GPU says who left"
    assert "→4" in first
    assert "one process on 4 GPUs" in second
    assert "←0" in second


def test_before_and_after_are_drawn_without_places_that_were_left(make_plan: Build) -> None:
    before, after = plan_with(make_plan, on(0), on(4)), plan_with(make_plan, on(0), on(1, 2))
    difference = diff_plans(before, after)
    assert "→1" in drawn(before, difference, "before")
    text = drawn(after, difference, "after")
    assert "←4" in text
    assert "R1 +" in text
    assert "→" not in text


def test_letters_tint_who_came(make_plan: Build) -> None:
    before, after = plan_with(make_plan, on(0), on(4)), plan_with(make_plan, on(0), on(0))
    drawing = Drawing(
        after, "letters", width=60, compared=Compared(Moves(diff_plans(before, after), "both", ascii=False))
    )
    tinted = [run.text for run in drawing.line(0) if run.style.ground == "moved"]
    assert "".join(tinted).startswith("R")


def test_moves_are_listed_as_far_as_there_is_room(make_plan: Build) -> None:
    before, after = plan_with(make_plan, on(0), on(4, 5, 6)), plan_with(make_plan, on(0), on(0, 1, 2, 3))
    pen, difference = Pen(after), diff_plans(before, after)
    assert shown(move_lines(pen, difference, 25, 10)) == [
        "          before   after",
        "R0        1/gpu0 → 0/gpu0",
        "R1        1/gpu1 → 0/gpu1",
        "R2        1/gpu2 → 0/gpu2",
        "R3             + → 0/gpu3",
    ]
    assert shown(move_lines(pen, difference, 25, 4))[-1] == "and 2 more"
    assert shown(move_lines(pen, diff_plans(after, after), 25, 4)) == ["no rank moves"]


def test_what_is_promised_too_often_where_there_is_room_and_what_holds(make_plan: Build) -> None:
    plan = plan_with(make_plan, on(0, 1, 2), on(2, 4))
    fits = Fits.of(plan, Drawing(plan).census)
    assert (fits.total, fits.over.number, fits.roomy.number, fits.free.number) == (8, 1, 3, 4)
    lines = shown(list(fit_lines(Pen(plan), fits, 30)))
    assert lines[:2] == ["✗ 1 GPU over 1.0", "  node0 2: 1.10"]
    assert lines[3].endswith(" 2.8/8")
    assert lines[4:6] == ["· 3 GPUs have room", "  most node1 0: .50"]
    assert lines[6:8] == ["· 4 GPUs free", "  first node0 3"]
    assert "✓ 5 ranks placed" in lines
    assert "✓ no GPU over 1.0" not in lines


def test_more_than_there_is_can_be_promised(make_plan: Build) -> None:
    plan = make_plan([2, 2], {"actor": ("", 8000, on(0, 1, 4, 5)), "rollout": ("", 4000, on(0, 1, 4, 5))})
    lines = list(fit_lines(Pen(plan), Fits.of(plan, Drawing(plan).census), 30))
    assert shown(lines)[:2] == ["✗ 4 GPUs over 1.0", "  first node0 0-1: 1.20"]
    assert shown(lines)[3].endswith(" 4.8/4")
    assert {run.style for run in lines[3] if run.text.strip() in ("4.8", "━")} == {ERROR}


def test_a_rule_that_gives_no_plan_holds_nothing(make_plan: Build) -> None:
    plan = plan_with(make_plan, on(0), on(4))
    problem = Problem("rank_format", "`0-` is not a rank or a range")
    lines = shown(list(fit_lines(Pen(plan), Fits.of(plan, Drawing(plan).census), 40, wrong=problem, planned=False)))
    assert lines[:2] == ["✗ rank_format", "  0- is not a rank or a range"]
    assert not [line for line in lines if "✓" in line]
