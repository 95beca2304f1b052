"""Windows, changes and figures of the drawing."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable

import pytest

from placetui.frameworks.planner import make_plan
from placetui.grid import DENSITIES, Density, Drawing, Overlay, Place, cell_width, plain, to_text
from placetui.observe.model import DeviceSample, ProcessSample
from placetui.placement.plan import Device, Plan, Service

Build = Callable[..., Plan]
LayOver = Callable[..., Overlay]


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
    drawing = Drawing(large_plan, density, width=100)
    start = drawing.height // 2
    lines = list(drawing.lines(start, start + 6))
    assert len(lines) == 6
    first, last = drawing.nodes_at(start)[0], drawing.nodes_at(start + 5)[-1]
    if density == "heat":
        assert asked == set(), "what a node looks like in this density is known from the census"
    else:
        assert asked == set(range(first, last + 1))


@pytest.mark.parametrize("width", [30, 100])
@pytest.mark.parametrize("density", DENSITIES)
def test_a_place_that_ray_decides_is_marked_in_every_density(density: Density, width: int) -> None:
    config = {"trainer": {"nnodes": 2}, "actor_rollout_ref": {"rollout": {"name": "vllm"}}}
    drawing = Drawing(make_plan(config), density, width=width)
    lines = [plain(line) for line in drawing.lines(0, drawing.height)]
    cells = sum(line.count("≈") for line in lines)
    wanted = {"letters": 16, "heat": 1}.get(density, 24)
    assert cells == wanted, "each rank; each GPU in letters, each line of the heat wall"
    assert "place not fixed" in to_text(drawing)


def test_a_change_keeps_the_rest(two_nodes: Plan) -> None:
    drawing = Drawing(two_nodes, "tile", width=100, ascii=True)
    compact = drawing.change(density="letters")
    assert (compact.density, compact.requested_width, compact.ascii) == ("letters", 100, True)
    assert to_text(compact.change(density="tile")) == to_text(drawing)
    assert drawing.change(width=None).width != drawing.width
    assert drawing.change(nodes=[1]).height < drawing.height


def test_zooming_counts_the_processes_once(two_nodes: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = Drawing(two_nodes)
    assert drawing.height
    monkeypatch.setattr("placetui.grid.densities.rows._count", None)
    assert drawing.change(density="heat").change(density="tile").height == drawing.height


@pytest.mark.parametrize("density", DENSITIES)
def test_a_layout_that_is_used_again_shows_what_is_live_now(
    two_nodes: Plan, lay_over: LayOver, density: Density
) -> None:
    def filled(used: int) -> Overlay:
        return lay_over(two_nodes, lambda node, index: DeviceSample(index, memory_used=used, memory_total=100))

    other: Density = "letters" if density != "letters" else "tile"
    before, now = filled(5), filled(95)
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
        assert all(cell_width(plain(line)) == drawing.width for line in drawing.lines())


@pytest.mark.parametrize("width", [60, 67, 76, 87, 159, 259])
def test_no_gpu_is_cut_and_the_room_is_used(two_nodes: Plan, lay_over: LayOver, width: int) -> None:
    live = lay_over(two_nodes, lambda node, index: DeviceSample(index))
    for overlay in (None, live):
        drawing = Drawing(two_nodes, width=width, overlay=overlay).fitted(60)
        assert drawing.width <= width
        assert drawing.height <= 60
        assert all(drawing.locate(node, index) for node in (0, 1) for index in range(8))


def test_the_most_detailed_density_at_which_all_nodes_fit_is_taken(two_nodes: Plan, large_plan: Plan) -> None:
    found = [Drawing(two_nodes, width=width).fitted(lines).density for width, lines in ((159, 50), (87, 24), (76, 24))]
    assert found == ["card", "tile", "small"]
    assert Drawing(two_nodes, width=87).fitted(4).density == "letters"
    assert Drawing(large_plan, width=87).fitted(40).density == "heat"


def test_a_process_over_several_gpus_is_one_tile(make_plan: Build) -> None:
    plan = make_plan([8], {"rollout": ("0-7", 10000, [(0, [0, 1, 2, 3]), (0, [4, 5, 6, 7])])})
    drawing = Drawing(plan, "tile")
    numbers, process = drawing.line(1), drawing.line(2)
    assert plain(numbers).split()[:5] == ["0", "────────", "1", "────────", "2"]
    assert plain(process).split("R1")[0].split() == ["R0", "one", "process", "on", "4", "GPUs", "1.0"]
    assert all(run.style.ground == "component" for run in process[:4])


def test_the_cursor_is_seen_in_every_density(two_nodes: Plan) -> None:
    for density in DENSITIES:
        drawing = Drawing(two_nodes, density, width=160)
        marks = drawing.cursor(Place(1, "gpu", 3))
        region = drawing.locate(1, 3)
        assert region is not None
        assert {mark.y for mark in marks} == set(range(region.y, region.y + region.height))
        assert all(mark.text or mark.width for mark in marks)


@pytest.mark.parametrize("density", ["card", "tile", "small"])
def test_the_cursor_covers_no_word_of_a_process_over_several_gpus(make_plan: Build, density: Density) -> None:
    plan = make_plan([8], {"actor": ("0-3", 5000, [(0, [0, 1, 2, 3])]), "rollout": ("4", 5000, [(0, [4])])})
    drawing = Drawing(plan, density, width=120)
    for index in range(4):
        for mark in drawing.cursor(Place(0, "gpu", index)):
            under = plain(drawing.line(mark.y))[mark.x : mark.x + mark.width]
            assert not mark.text or not under.strip(" ▂")


def test_empty_and_absent_devices_differ(make_plan: Build) -> None:
    plan = make_plan([8, 4], {"actor": ("0", 10000, [(0, [0])])})
    for density in ("tile", "letters"):
        text = to_text(Drawing(plan, density), legend=False).splitlines()
        assert sum(line.count("·") for line in text) == 11
        assert sum(line.count("╱") for line in text) == 4  # noqa: RUF001
    heat = Drawing(plan, "heat", color=False)
    assert plain(heat.line(0)).split()[2:] == ["9···", "····"]


def test_a_crowd_is_summarised(make_plan: Build) -> None:
    plan = make_plan([1], {"agent": ("0:0-199", 50, [(0, [0])] * 200)})
    assert "G ×200" in to_text(Drawing(plan))
    assert "G 0-199 ×200" in to_text(Drawing(plan, width=200))
    assert "G×200" in to_text(Drawing(plan, "letters"))


def test_a_device_promised_too_often_has_area(make_plan: Build) -> None:
    plan = make_plan([2], {"actor": ("0", 8000, [(0, [0])]), "rollout": ("0", 4000, [(0, [0])])})
    for density in ("card", "tile", "small", "letters"):
        drawing = Drawing(plan, density)
        region = drawing.locate(0, 0)
        assert region is not None
        for y in range(region.y, region.y + region.height):
            grounds = [run.style.ground for run in drawing.line(y) for _ in run.text]
            assert set(grounds[region.x : region.x + region.width]) == {"error"}, density
        assert "✗" in plain(drawing.line(0)), "the node is marked"
    assert "✗ 1.20" in to_text(Drawing(plan))
    assert "✗A0R0" in plain(Drawing(plan, "letters").line(0))
    assert "✗" in plain(Drawing(plan, "heat").line(0))


def test_a_full_device_is_not_called_oversubscribed(make_plan: Build) -> None:
    thirds = {name: ("0", 3333, [(0, [0])]) for name in ("a", "b", "c")}
    plan = make_plan([1], {**thirds, "d": ("0", 1, [(0, [0])])})
    assert plan.devices_of(0)[0].total_share == 1.0
    assert "✗" not in "".join(plain(line) for line in Drawing(plan).lines())


def test_death_is_seen_without_colour_in_every_density(two_nodes: Plan, lay_over: LayOver) -> None:
    dead = lay_over(two_nodes, lambda node, index: DeviceSample(index), lambda component, rank: "dead")
    for density, mark in (("card", "A0✗"), ("tile", "A0✗"), ("small", "A0✗"), ("letters", "✗A0"), ("heat", "✗✗✗✗")):
        drawing = Drawing(two_nodes, density, overlay=dead, color=False)  # type: ignore[arg-type]
        assert mark in to_text(drawing, legend=False)


def test_names_of_hosts_keep_both_ends(make_plan: Build) -> None:
    plan = make_plan([8], {}, names=["gpu-cluster-frankfurt-rack12-node07.example.org"])
    line = plain(Drawing(plan, "letters", width=80).line(0))
    assert re.match(r"gpu\S*…\S*\.org ", line)


def test_an_engine_names_its_server_group() -> None:
    groups = [
        {"worker_type": "prefill", "num_gpus": 4, "num_gpus_per_engine": 2},
        {"worker_type": "decode", "num_gpus": 4, "num_gpus_per_engine": 4},
    ]
    section = {"rollout_num_gpus": 8, "sglang_config": {"sglang": [{"name": "actor", "server_groups": groups}]}}
    plan = make_plan({"slime": section, "placetui": {"slime_version": "head"}})
    text = to_text(Drawing(plan, "tile", width=150))
    assert text.count("actor/prefill") == 2
    assert text.count("actor/decode") == 1


@pytest.mark.parametrize("density", ["card", "tile"])
def test_a_gpu_is_numbered_as_the_driver_knows_it_in_every_density(
    two_nodes: Plan, lay_over: LayOver, density: Density
) -> None:
    live = lay_over(two_nodes, lambda node, index: DeviceSample(index, physical=7 - index))
    lines = to_text(Drawing(two_nodes, density, width=200, overlay=live)).splitlines()
    titles = next(line for line in lines if re.search(r"\b7\b.*\b6\b", line))
    assert re.findall(r"\b\d\b", titles) == list("76543210")


def test_one_notation_for_all_nodes(make_plan: Build) -> None:
    places = [(node, [index]) for node in range(2) for index in range(8)]
    plan = make_plan([8, 8], dict.fromkeys(("actor", "rollout"), ("all", 3000, places)))
    found = {}
    for width in (120, 56, 40):
        lines = [plain(line).split()[1:] for line in Drawing(plan, "letters", width=width).lines()]
        found[width] = [(line[0], line[-1]) for line in lines]
    assert found == {
        120: [("A0R0", "A7R7"), ("A8R8", "A15R15")],
        56: [("AR0", "AR7"), ("AR8", "AR15")],
        40: [("AR", "AR")] * 2,
    }


def test_the_letter_of_a_dead_rank_is_not_the_one_left_out(make_plan: Build, lay_over: LayOver) -> None:
    every = [(0, [index]) for index in range(8)]
    plan = make_plan([8], dict.fromkeys(("actor", "rollout", "reward"), ("0-7", 3000, every)))
    dead = lay_over(
        plan,
        lambda node, index: DeviceSample(index),
        lambda name, rank: "dead" if (name, rank) == ("reward", 2) else "alive",
    )
    line = plain(Drawing(plan, "letters", width=40, overlay=dead).line(0))
    assert line.split()[1:4] == ["ARW", "ARW", "✗W+"] or line.split()[2:5] == ["ARW", "ARW", "✗W+"]


def test_what_does_not_fit_beside_the_gpus_is_counted(make_plan: Build) -> None:
    services = [Service(name, 0, 2.0) for name in ("router", "a service with a long name", "another")]
    plan = make_plan([8], {"actor": ("0-7", 10000, [(0, [index]) for index in range(8)])}, services=services)
    line = plain(Drawing(plan, "letters", width=80).line(0))
    assert line.split("│")[1].strip() == "▫ router 2 CPUs +2"


@pytest.mark.parametrize("width", [60, 88, 120])
def test_figures_of_a_card_stand_apart_at_every_width(two_nodes: Plan, lay_over: LayOver, width: int) -> None:
    used = 76 << 30
    foreign = ProcessSample(318776, used // 10)
    live = lay_over(
        two_nodes,
        lambda node, index: DeviceSample(index, memory_used=used, memory_total=80 << 30, processes=(foreign,)),
        lambda name, rank: "alive",
    )
    drawing = Drawing(two_nodes, "card", width=width, overlay=live)
    text = to_text(drawing, legend=False)
    assert text.count("76.0 GiB  95%") == 16
    assert text.count("? 318776 7.6G") == 16
    drawn = ".80" in text
    assert drawn == ("share" in [meaning for _, meaning in drawing.signs()])


def test_the_legend_names_what_occurs_and_nothing_else(make_plan: Build) -> None:
    plan = make_plan([2, 1], {"actor": ("", 10000, [(0, [0]), (0, [1]), (1, [0])])}, services=[Service("x", 0, 1.0)])
    assert [meaning for _, meaning in Drawing(plan).signs()] == ["shares", "no GPU", "service"]
    assert [meaning for _, meaning in Drawing(plan, "card").signs()] == ["share", "no GPU", "service"]
    assert plain(Drawing(plan, color=False).legend()[-1]) == "A shares   ╱ no GPU   ▫ service"  # noqa: RUF001
    assert max(len(plain(line)) for line in Drawing(plan, width=24).legend()) <= 24
