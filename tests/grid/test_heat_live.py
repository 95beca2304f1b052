"""Memory at a glance: the heat density over what is live."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from placetui.frameworks.planner import resolve
from placetui.grid import METRICS, Drawing, HeatMetric, Overlay, Place, plain
from placetui.grid.heat_panels import HeatPanels
from placetui.grid.look.style import SHADED, level_of, paint
from placetui.observe.model import DeviceSample
from placetui.observe.totals import TotalsWatch
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

LayOver = Callable[..., Overlay]


def rows(lay_over: LayOver, *levels: float | None, ascii: bool = False) -> list[str]:
    """The first line where every GPU of a node is at one level of memory, in percent."""

    def device(node: int, index: int) -> DeviceSample | None:
        level = levels[node]
        return None if level is None else DeviceSample(index, memory_used=round(level), memory_total=100)

    plan = resolve({"cluster": {"num_nodes": 4, "component_placement": {"actor": "0-15"}}}, [Node(8)] * 4)
    drawing = Drawing(plan, "heat", width=80, overlay=lay_over(plan, device), ascii=ascii, color=False)
    return plain(drawing.line(0)).split()[2:]


def test_the_fuller_the_higher(lay_over: LayOver) -> None:
    assert rows(lay_over, 40, 50, 0, 0) == ["4444", "5555", "0000", "0000"]
    assert rows(lay_over, 100, 60, 0, 0, ascii=True)[:2] == ["9999", "6666"]


def test_memory_on_a_gpu_that_nobody_is_planned_on_is_seen(lay_over: LayOver) -> None:
    assert rows(lay_over, 100, 100, 1, 60) == ["9999", "9999", "0000", "6666"]


def test_a_gpu_far_below_its_peers_bears_a_sign(lay_over: LayOver) -> None:
    def device(node: int, index: int) -> DeviceSample:
        return DeviceSample(index, memory_used=10 if (node, index) == (1, 5) else 90, memory_total=100)

    plan = resolve({"cluster": {"num_nodes": 4, "component_placement": {"actor": "0-31"}}}, [Node(8)] * 4)
    line = Drawing(plan, "heat", overlay=lay_over(plan, device)).line(0)
    assert plain(line).split()[2:] == ["▀▀▀▀", "▀▼▀▀", "▀▀▀▀", "▀▀▀▀"]


def test_peers_that_wait_together_are_no_outliers(lay_over: LayOver) -> None:
    def device(node: int, index: int) -> DeviceSample:
        return DeviceSample(index, utilization=10 if node == 1 else 90)

    plan = resolve({"cluster": {"num_nodes": 4, "component_placement": {"actor": "0-31"}}}, [Node(8)] * 4)
    line = Drawing(plan, "heat", overlay=lay_over(plan, device), metric="load").line(0)
    assert plain(line).split()[2:] == ["▀▀▀▀"] * 4


def test_where_there_is_room_a_gpu_has_a_whole_cell(lay_over: LayOver) -> None:
    plan = resolve({"cluster": {"num_nodes": 64, "component_placement": {"actor": "0-511"}}}, [Node(8)] * 64)
    drawing = Drawing(plan, width=60, overlay=lay_over(plan, lambda node, index: DeviceSample(index, utilization=50)))
    roomy, tight = drawing.fitted(20), drawing.fitted(10)
    assert (roomy.density, tight.density) == ("heat", "heat")
    assert [one.locate(0, 5) for one in (roomy, tight)] == [(10, 0, 1, 1), (6, 0, 1, 1)]
    assert roomy.at(10, 0) == Place(0, "gpu", 5)


def test_the_key_names_the_signs_that_occur(lay_over: LayOver) -> None:
    def device(node: int, index: int) -> DeviceSample:
        return DeviceSample(index, memory_used=10 if (node, index) == (3, 5) else 90, memory_total=100)

    plan = resolve({"cluster": {"num_nodes": 4, "component_placement": {"actor": "0-31"}}}, [Node(8)] * 4)
    quiet = Drawing(plan, "heat", overlay=lay_over(plan, lambda node, index: DeviceSample(index)))
    assert quiet.signs() == []
    loud = lay_over(plan, device, lambda name, rank: "dead" if rank == 1 else "alive", stale=[2], marked=[(0, 0)])
    drawing = Drawing(plan, "heat", overlay=loud)
    list(drawing.lines())
    assert [meaning for _, meaning in drawing.signs()] == ["dead", "above threshold", "far below", "stale"]
    assert plain(drawing.key(26)) == "✗ dead   ▲ above threshold"
    tiles = Drawing(plan, "tile", overlay=loud)
    assert [meaning for _, meaning in tiles.signs()][:4] == ["memory GiB", "load", "share", "dead"]


def test_beside_the_states_stand_how_many_ranks_are_in_which_and_who_is_not_alive(lay_over: LayOver) -> None:
    plan = resolve({"cluster": {"num_nodes": 4, "component_placement": {"actor": "0-31"}}}, [Node(8)] * 4)
    overlay = lay_over(plan, lambda node, index: DeviceSample(index), lambda _, rank: "dead" if rank == 9 else "alive")
    panels = HeatPanels(Drawing(plan, "heat", overlay=overlay, metric="state"))
    lines = [plain(line).split()[1:] for line in panels.spread(25, 4)]
    assert ["dead", "1"] in lines
    assert ["alive", "31"] in lines
    assert [(plain(line).split(), place) for line, place in panels.highest(25, 3)] == [
        (["✗", "1/1", "dead"], Place(1, "gpu", 1))
    ]


def test_the_cluster_in_figures(lay_over: LayOver) -> None:
    def device(node: int, index: int) -> DeviceSample:
        return DeviceSample(index, memory_used=40 << 30, memory_total=80 << 30, utilization=50, temperature=60 + node)

    plan = resolve({"cluster": {"num_nodes": 4, "component_placement": {"actor": "0-15"}}}, [Node(8)] * 4)
    overlay = lay_over(plan, device, lambda _, rank: "dead" if rank == 9 else "alive")
    panels = HeatPanels(Drawing(plan, "heat", overlay=overlay, ascii=True))
    lines = [plain(line) for line in panels.cluster(25, TotalsWatch().update(overlay.observation))]
    assert [len(line) for line in lines] == [25] * 5
    assert [line.split()[-1] for line in lines[:2]] == ["1.2/2.5T", "50%"]
    assert lines[2].split() == ["temp", "62C", "median,", "63C", "max"]
    assert lines[3].split() == ["ranks", "15/16", "alive"]
    assert lines[4].split() == ["free", "16", "GPUs,", "2", "nodes"]


@pytest.mark.parametrize("metric", METRICS)
def test_half_a_cell_is_one_gpu_whatever_it_is_coloured_by(lay_over: LayOver, metric: HeatMetric) -> None:
    def device(node: int, index: int) -> DeviceSample:
        value = 90 if index < 4 else 60
        return DeviceSample(index, memory_used=value, memory_total=100, utilization=value, temperature=value)

    plan = resolve({"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-7"}}}, [Node(8)])
    drawing = Drawing(plan, "heat", overlay=lay_over(plan, device), metric=metric)
    styles = [run.style for run in drawing.line(0) if "▀" in run.text]
    assert plain(drawing.line(0)).split()[2:] == ["▀▀▀▀"]
    assert len(styles) == 1
    assert metric == "state" or (styles[0].level or 0) > (styles[0].under or 0)


def test_beside_the_wall_stand_its_scale_a_map_the_spread_and_the_highest(lay_over: LayOver) -> None:
    def device(node: int, index: int) -> DeviceSample:
        return DeviceSample(index, memory_used=(node + index) << 30, memory_total=80 << 30)

    plan = resolve({"cluster": {"num_nodes": 64, "component_placement": {"actor": "0-255"}}}, [Node(8)] * 64)
    drawing = Drawing(plan, "heat", width=40, overlay=lay_over(plan, device))
    panels = HeatPanels(drawing)
    assert plain(panels.title()).split() == ["Heat", "wall", "M", "memory", "load", "temperature", "state"]
    assert [run.text for run in panels.title() if run.style.ground == "white"] == [" memory "]
    assert plain(panels.scale(46)).startswith("0 ████")
    assert "80 GiB" in plain(panels.scale(46))
    found = [plain(line) for line in panels.minimap(20, 4, 0, 1)]
    assert [len(line) for line in found] == [20] * 4
    assert [line[0] for line in found] == ["▌", " ", " ", " "], "the part in view stands between bars"
    assert found[0].split()[-2:] == ["A", "32"]
    assert not any("▌" in plain(line) for line in panels.minimap(20, 4, 0, 99)), "all is in view"
    *bars, axis = (plain(line) for line in panels.spread(16, 3))
    assert all(len(line) == 16 for line in (*bars, axis))
    assert axis.split() == ["0", "40", "80G"]
    assert bars[-1].rstrip() == bars[-1][:15], "nobody has more than 70 of 80 GiB"
    highest = panels.highest(26, 3)
    assert [(place.node, place.index) for _, place in highest] == [(63, 7), (63, 6), (62, 7)]
    assert plain(highest[0][0]).split()[0] == "63/7"
    assert HeatPanels(drawing.change(overlay=None)).highest(26, 3) == []


def wall(plan: Plan, component: str | None = None, **options: object) -> Drawing:
    return Drawing(plan, "heat", width=60, component=component, **options)  # type: ignore[arg-type]


def shares(make_plan: Callable[..., Plan]) -> Plan:
    """All of node 0 is promised, half of node 1 to one component, and nothing of node 2 but too much of GPU 3."""
    first, second = [(0, [index]) for index in range(8)], [(1, [index]) for index in range(8)]
    return make_plan(
        [8, 8, 8],
        {"actor": ("", 5000, first + second), "rollout": ("", 5000, first), "env": ("", 10000, [(2, [3]), (2, [3])])},
    )


def test_without_live_data_the_wall_shows_what_is_promised(make_plan: Callable[..., Plan]) -> None:
    plan = shares(make_plan)
    plain_wall = wall(plan, color=False)
    assert plain(plain_wall.line(0)).split() == ["0", "AR", "9999", "5555", "···✗"]
    assert plain(wall(plan, "rollout", color=False).line(0)).split()[2:] == ["5555", "····", "···✗"]
    levels = [run.style.level for run in wall(plan).line(0) if "▀" in run.text]
    assert levels == [level_of(50), level_of(25), paint("track")], "a GPU that is promised whole is not hot"
    assert [meaning for _, meaning in wall(plan).signs()] == [".00", ".50", "1.0 promised", "oversubscribed", "free"]


def test_a_live_wall_shades_gpus_without_the_highlighted_component(
    make_plan: Callable[..., Plan], lay_over: LayOver
) -> None:
    plan = shares(make_plan)
    live = lay_over(plan, lambda node, index: DeviceSample(index, memory_used=50, memory_total=100))
    levels = [run.style.level or 0 for run in wall(plan, "rollout", overlay=live).line(0) if "▀" in run.text]
    assert levels == [level_of(50), SHADED + level_of(50), SHADED + level_of(50)]


def test_nodes_are_counted_above_the_wall_as_long_as_they_follow_each_other(make_plan: Callable[..., Plan]) -> None:
    plan = shares(make_plan)
    assert [plain(line).split() for line in wall(plan, nodes=[1, 2]).header()] == [["+0", "+1"]]
    assert wall(plan, nodes=[2, 0, 1]).header() == ()


def test_the_cursor_on_the_wall_names_the_gpu_and_leaves_signs_in_view(make_plan: Callable[..., Plan]) -> None:
    drawing = wall(shares(make_plan))
    assert [mark.text for mark in drawing.cursor(Place(0, "gpu", 5))] == ["▐", "▌", "5"]
    assert [mark.text for mark in drawing.cursor(Place(2, "gpu", 3))] == ["▐", "▌", ""]


def test_nodes_move_apart_where_there_is_room(make_plan: Callable[..., Plan]) -> None:
    drawing = Drawing(make_plan([8] * 128, {}), "heat", width=200)
    first, second = (drawing.grown(height).locate(1, 0) for height in (8, 9))
    assert first is not None
    assert second is not None
    assert second.x > first.x
    assert all(drawing.grown(height).height + 1 <= height for height in (8, 9))


def test_the_scale_of_memory_is_in_percent_where_gpus_differ(lay_over: LayOver) -> None:
    def device(node: int, index: int) -> DeviceSample:
        return DeviceSample(index, memory_used=20 << 30, memory_total=(40 + 40 * node) << 30)

    plan = resolve({"cluster": {"num_nodes": 2, "component_placement": {"actor": "0-15"}}}, [Node(8)] * 2)
    panels = HeatPanels(Drawing(plan, "heat", overlay=lay_over(plan, device)))
    assert panels.ends == ("0", "50", "100%")
    assert plain(panels.highest(26, 1)[0][0]).split()[-1] == "50%"
