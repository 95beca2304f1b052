"""Windows, changes and figures of the drawing."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest

from placetui.grid import DENSITIES, Density, DeviceLive, Drawing, RankState, plain, to_text
from placetui.placement.plan import Device, Plan

Build = Callable[..., Plan]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Nodes whose devices were asked for."""
    nodes: set[int] = set()
    devices_of = Plan.devices_of

    def recording(plan: Plan, node: int) -> tuple[Device, ...]:
        nodes.add(node)
        return devices_of(plan, node)

    monkeypatch.setattr(Plan, "devices_of", recording)
    return nodes


@pytest.mark.parametrize("density", DENSITIES)
def test_a_window_asks_for_its_own_nodes_only(large_plan: Plan, asked: set[int], density: Density) -> None:
    drawing = Drawing(large_plan, density, width=200)
    start = drawing.height // 2
    lines = list(drawing.lines(start, start + 6))
    assert len(lines) == 6
    first, last = drawing.node_at(drawing.gutter, start), drawing.node_at(drawing.width - 1, start + 5)
    assert first is not None
    assert last is not None
    if density == "heat":
        assert asked == set(), "what a node looks like in this density is known from the census"
    else:
        assert asked == set(range(first, last + 1))


def test_a_change_keeps_the_rest(two_nodes: Plan) -> None:
    drawing = Drawing(two_nodes, "full", width=90, ascii=True)
    compact = drawing.change(density="compact")
    assert (compact.density, compact.requested_width, compact.ascii) == ("compact", 90, True)
    assert to_text(compact.change(density="full")) == to_text(drawing)
    assert drawing.change(width=None).width != drawing.width
    assert drawing.change(nodes=[1]).height < drawing.height


def test_zooming_counts_the_processes_once(two_nodes: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = Drawing(two_nodes)
    monkeypatch.setattr("placetui.grid.drawing.census", None)
    assert drawing.change(density="heat").change(density="full").height == drawing.height


@pytest.mark.parametrize("density", DENSITIES)
def test_a_layout_that_is_used_again_shows_what_is_live_now(two_nodes: Plan, density: Density) -> None:
    class Filled:
        def __init__(self, used: int) -> None:
            self.used = used

        def device(self, node: int, index: int) -> DeviceLive:
            return DeviceLive(self.used, 100)

        def rank(self, component: str, rank: int) -> RankState:
            return "alive"

    other: Density = "compact" if density != "compact" else "full"
    before, now = Filled(5), Filled(95)
    forgotten = weakref.ref(before)
    drawing = Drawing(two_nodes, density, width=90, overlay=before)
    drawing = drawing.change(density=other).change(overlay=now).change(density=density)
    assert to_text(drawing) == to_text(Drawing(two_nodes, density, width=90, overlay=now))
    del before
    assert forgotten() is None, "a layout holds on to live data"


def test_lines_outside_the_drawing_are_an_error(two_nodes: Plan) -> None:
    drawing = Drawing(two_nodes)
    for y in (-1, drawing.height):
        with pytest.raises(IndexError):
            drawing.line(y)
    assert list(drawing.lines(drawing.height - 1, drawing.height + 9)) == [drawing.line(drawing.height - 1)]


def test_what_is_not_there_is_not_located(two_nodes: Plan) -> None:
    drawing = Drawing(two_nodes, nodes=[1])
    assert drawing.locate(0, 0) is None
    assert drawing.locate(1, 8) is None
    assert drawing.locate(1, -1) is None
    assert drawing.locate(1, 0, "franka") is None
    assert drawing.locate(7, 0) is None
    assert drawing.top_of(0) is None


@pytest.mark.parametrize("density", DENSITIES)
def test_a_plan_of_nothing_is_drawn(make_plan: Build, density: Density) -> None:
    for plan in (make_plan([], {}), make_plan([0], {}), make_plan([8], {})):
        drawing = Drawing(plan, density, width=80)
        assert drawing.height == sum(1 for _ in drawing.lines())
        assert to_text(drawing).startswith("node")


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_eight_devices_fit(two_nodes: Plan, width: int) -> None:
    drawing = Drawing(two_nodes, width=width)
    assert drawing.width <= width
    text = to_text(drawing)
    assert all(f"A{rank} " in text for rank in range(16))
    assert text.count(".80") == 17


def test_figures_give_way_before_ranks_do(make_plan: Build) -> None:
    ranks = [(0, [g]) for g in range(8)]
    plan = make_plan([8] * 13000, {"actor": ("all", 8000, [(n, d) for n in range(13000) for _, d in ranks])})
    line = plain(Drawing(plan, width=60, nodes=[12999]).line(0))
    assert line.startswith("nod…999 A103992  A103993  ")
    assert ".80" not in line


def test_empty_and_absent_devices_differ(make_plan: Build) -> None:
    plan = make_plan([8, 4], {"actor": ("0", 10000, [(0, [0])])})
    for density in ("full", "compact"):
        drawing = Drawing(plan, density)
        first = [plain(drawing.line(drawing.top_of(node) or 0)) for node in (0, 1)]
        x = drawing.gutter + 5 * drawing.pitch
        assert (first[0][x], first[1][x]) == ("·", "╱")  # noqa: RUF001
    heat = Drawing(plan, "heat")
    assert plain(heat.line(0)).split()[1:] == ["a···", "··"]


def test_a_crowd_is_summarised(make_plan: Build) -> None:
    plan = make_plan([1], {"agent": ("0:0-199", 50, [(0, [0])] * 200)})
    assert "A0–199 ×200" in to_text(Drawing(plan))
    assert "A 0–199 ×200" in to_text(Drawing(plan, width=200))
    assert "A×200" in to_text(Drawing(plan, "compact"))


def test_a_device_promised_too_often_says_so(make_plan: Build) -> None:
    plan = make_plan([2], {"actor": ("0", 8000, [(0, [0])]), "rollout": ("0", 4000, [(0, [0])])})
    full = Drawing(plan)
    assert "1.20!" in plain(full.line(2))
    assert "A0R0!" in plain(Drawing(plan, "compact").line(0))
    assert "!" in plain(Drawing(plan, "heat").line(0))


def test_a_full_device_is_not_called_oversubscribed(make_plan: Build) -> None:
    thirds = {name: ("0", 3333, [(0, [0])]) for name in ("a", "b", "c")}
    plan = make_plan([1], {**thirds, "d": ("0", 1, [(0, [0])])})
    assert plan.devices_of(0)[0].total_share == 1.0
    assert "!" not in "".join(plain(line) for line in Drawing(plan).lines())


class Dead:
    """Everything is dead, memory is unknown."""

    def device(self, node: int, index: int) -> DeviceLive | None:
        return DeviceLive(state="dead")

    def rank(self, component: str, rank: int) -> RankState | None:
        return "dead"


def test_death_is_seen_without_colour_in_every_density(two_nodes: Plan) -> None:
    for density, mark in (("full", "A0✗"), ("compact", "✗A0"), ("heat", "!!!!")):
        drawing = Drawing(two_nodes, density, overlay=Dead())  # type: ignore[arg-type]
        assert mark in plain(drawing.line(0))


def test_names_of_hosts_keep_both_ends(make_plan: Build) -> None:
    plan = make_plan([8], {}, names=["gpu-cluster-frankfurt-rack12-node07.example.org"])
    line = plain(Drawing(plan, width=80).line(0))
    assert line.startswith("gpu….org ")
