"""What must hold for any plan: everything is drawn, at its place, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.grid import (
    DENSITIES,
    Density,
    Drawing,
    Overlay,
    Place,
    cell_width,
    plain,
    to_ansi,
    to_svg,
    to_text,
)
from placetui.grid.densities.rows import CROWD
from placetui.observe.model import DeviceSample, State
from placetui.placement.plan import GPU, NODE, Device, Plan, Service

NAMES = st.text(min_size=1, max_size=12)
WIDTHS = st.one_of(st.none(), st.integers(1, 240))
SPARE = st.sampled_from([0, 0, 1, 5, 20])
"""Lines of a node beyond what it needs."""

LayOver = Callable[..., Overlay]
Build = Callable[..., Plan]
Recipe: TypeAlias = tuple[tuple[object, ...], dict[str, object]]


@pytest.fixture(scope="module")
def build(make_plan: Build) -> Build:
    return make_plan


@st.composite
def recipes(draw: st.DrawFn, wild_names: bool = False) -> Recipe:
    """Arguments of `make_plan`: uneven nodes, robots, processes over any devices, crowds."""
    gpus = draw(st.lists(st.sampled_from([0, 1, 4, 8, 16]), min_size=1, max_size=5))
    robots = {node: {"arm": draw(st.integers(1, 3))} for node in range(len(gpus)) if draw(st.booleans())}
    names = NAMES if wild_names else st.sampled_from(["actor", "rollout", "reward", "critic", "env", "agent", "x1"])
    components: dict[str, tuple[str, int | None, list[tuple[int, list[int]]]]] = {}
    kinds: dict[str, str] = {}
    for name in draw(st.lists(names, max_size=6, unique=True)):
        kind = draw(st.sampled_from([GPU, GPU, GPU, NODE, "arm"]))
        sizes = {node: count for node, count in enumerate(gpus) if count}
        if kind == "arm":
            sizes = {node: hardware["arm"] for node, hardware in robots.items()}
        elif kind == NODE:
            sizes = dict.fromkeys(range(len(gpus)), 0)
        ranks: list[tuple[int, list[int]]] = []
        for _ in range(draw(st.integers(0, 8)) if sizes else 0):
            node = draw(st.sampled_from(sorted(sizes)))
            count = sizes[node]
            some = st.lists(st.integers(0, count - 1), min_size=1, max_size=4, unique=True) if count else st.just([])
            process = (node, sorted(draw(some)))
            ranks += [process] * draw(st.sampled_from([1, 1, 1, 1, 2, CROWD + 3]))
        if kind == "arm":
            kinds[name] = "arm"
        components[name] = ("0-1", draw(st.integers(1, 10_000)) if kind == GPU else None, ranks)
    options: dict[str, object] = {"robots": robots, "kinds": kinds, "ips": draw(st.booleans())}
    if draw(st.booleans()):
        options["services"] = [Service(draw(NAMES), 0, 1.0)]
    if wild_names:
        options["names"] = draw(st.lists(NAMES, min_size=len(gpus), max_size=len(gpus)))
        options["groups"] = {0: tuple(draw(st.lists(NAMES, max_size=2)))}
    return (gpus, components), options


def expected(plan: Plan, drawing: Drawing, device: Device) -> Counter[str]:
    """Labels of the ranks on a device; crowds as a mark and a number."""
    bank = [other for other in plan.devices_of(device.node) if other.kind == device.kind]
    crowded = {
        name
        for other in bank
        for name, count in Counter(one.component for one in other.occupants).items()
        if count > CROWD
    }
    found: Counter[str] = Counter()
    here = Counter(one.component for one in device.occupants)
    for one in device.occupants:
        identity = drawing.marks[one.component]
        if one.component in crowded and here[one.component] > 1:
            found[f"{identity.letter}×{here[one.component]}"] = 1
        else:
            found[identity.label(one.rank)] += 1
    return found


LABEL = re.compile(r"([A-Z]|\d:)(\d+)(?![\d…,-])")
CROWD_LABEL = re.compile(r"([A-Z0-9])[ :]?[\d…,-]* ?×(\d+)")


def read(drawing: Drawing, device: Device) -> Counter[str]:
    """What a person reads at a device: labels, and lines that lead back to a label further left."""
    region = drawing.locate(device.node, device.index, device.kind)
    assert region is not None
    # Above are the numbers, below a spare line and the shares.
    rows = range(region.y + 1, region.y + region.height - 2) if device.kind == GPU else range(region.y, region.y + 1)
    found: Counter[str] = Counter()
    for y in rows:
        line = drawing.line(y)
        text = plain(line)
        x = region.x
        grounds = [run.style.ground for run in line for _ in run.text]
        while device.kind == GPU and x > drawing.gutter and grounds[x - 1] is not None:
            x -= drawing.pitch
        cell = text[x : x + region.width].strip()
        if crowds := CROWD_LABEL.findall(cell):
            found.update(f"{letter}×{number}" for letter, number in crowds)
            cell = CROWD_LABEL.sub("", cell)
        labels = [match[0] for match in LABEL.finditer(cell)]
        found.update(labels[:1] if device.kind == GPU else labels)
        below = cell.startswith("rank ")  # `rank 0 of 2`, below a process over several GPUs
        assert labels or crowds or below or cell[:1] in ("", "·") or device.kind != GPU, cell
    return found


@given(recipe=recipes(), width=WIDTHS)
def test_every_occupant_is_drawn_at_its_device_and_nothing_else(
    build: Build, recipe: Recipe, width: int | None
) -> None:
    plan = build(*recipe[0], **recipe[1])
    drawing = Drawing(plan, width=width)
    for device in plan.devices:
        if device.kind != NODE:
            assert read(drawing, device) == expected(plan, drawing, device)


@given(recipe=recipes(), width=WIDTHS)
def test_processes_on_nodes_are_counted_in_their_lane(build: Build, recipe: Recipe, width: int | None) -> None:
    plan = build(*recipe[0], **recipe[1])
    drawing = Drawing(plan, width=width)
    for device in plan.devices:
        if device.kind == NODE:
            region = drawing.locate(device.node, 0, NODE)
            assert region is not None
            lane = " ".join(plain(drawing.line(y))[region.x :] for y in range(region.y, region.y + region.height))
            for component, count in Counter(one.component for one in device.occupants).items():
                mark = drawing.marks[component].letter
                times = f"×{count}" if count > 1 else ""
                assert re.search(rf"\b{mark}\b ?[\d…,-]* ?{times}", lane), (lane, component, count)


@given(recipe=recipes(), width=WIDTHS, density=st.sampled_from(DENSITIES), spare=SPARE)
def test_at_is_the_inverse_of_locate(
    build: Build, recipe: Recipe, width: int | None, density: Density, spare: int
) -> None:
    plan = build(*recipe[0], **recipe[1])
    drawing = Drawing(plan, density, width=width).change(spare=spare)
    for device in plan.devices:
        region = drawing.locate(device.node, device.index, device.kind)
        if region is None:
            assert density in ("letters", "heat"), "only there may be too little room for what is not a GPU"
            continue
        assert region.width > 0
        assert region.height > 0
        assert region.x + region.width <= drawing.width
        assert region.y + region.height <= drawing.height
        place = Place(device.node, device.kind, device.index)
        for x in (region.x, region.x + region.width - 1):
            for y in (region.y, region.y + region.height - 1):
                found = drawing.at(x, y)
                assert found is not None
                assert found == place or (density == "heat" and found.node == device.node)
                if device.kind == GPU or found == place:
                    assert drawing.locate(found.node, found.index, found.kind) == region


@given(recipe=recipes(), width=WIDTHS, density=st.sampled_from(DENSITIES))
def test_what_is_found_at_a_point_is_located_there(
    build: Build, recipe: Recipe, width: int | None, density: Density
) -> None:
    plan = build(*recipe[0], **recipe[1])
    drawing = Drawing(plan, density, width=width)
    for y in range(-1, drawing.height + 1):
        for x in range(-1, drawing.width + 1, 3):
            place = drawing.at(x, y)
            if place is not None:
                region = drawing.locate(place.node, place.index, place.kind)
                assert region is not None
                assert region.contains(x, y)
                assert place.node in drawing.nodes_at(y)


@given(
    recipe=recipes(wild_names=True), width=WIDTHS, density=st.sampled_from(DENSITIES), ascii=st.booleans(), spare=SPARE
)
def test_any_names_keep_columns_straight_and_the_terminal_safe(
    build: Build, recipe: Recipe, width: int | None, density: Density, ascii: bool, spare: int
) -> None:
    plan = build(*recipe[0], **recipe[1])
    drawing = Drawing(plan, density, width=width, ascii=ascii).change(spare=spare)
    for line in (*drawing.header(), *drawing.lines()):
        assert cell_width(plain(line)) == drawing.width
    text = to_text(drawing)
    assert text.endswith("\n")
    assert all(line == line.rstrip() for line in text.split("\n"))
    assert text.replace("\n", "").isprintable() or "\u3000" in text or "\xa0" in text
    assert not ascii or (text.isascii() and to_svg(drawing).isascii())
    bare = re.sub(r"\x1b\[[\d;]*m", "", to_ansi(drawing))
    assert [line.rstrip() for line in bare.split("\n")] == text.split("\n")


def scattered(node: int, index: int) -> DeviceSample | None:
    """Live data of every kind, as a place is numbered."""
    total = 80 << 30
    return (
        None,
        DeviceSample(index),
        DeviceSample(index, memory_used=total, memory_total=total, utilization=100),
        DeviceSample(index, memory_used=5, memory_total=total, stale=True),
        DeviceSample(index, memory_used=total // 3, memory_total=total, utilization=7),
        DeviceSample(index, memory_used=0, memory_total=0),
    )[(node + index) % 6]


def any_state(component: str, rank: int) -> State:
    return get_args(State)[rank % 5]  # type: ignore[no-any-return]


@given(recipe=recipes(), width=WIDTHS, density=st.sampled_from(DENSITIES), ascii=st.booleans(), spare=SPARE)
def test_live_data_keeps_columns_straight(
    build: Build, lay_over: LayOver, recipe: Recipe, width: int | None, density: Density, ascii: bool, spare: int
) -> None:
    plan = build(*recipe[0], **recipe[1])
    marked = [(node, index) for node in range(len(plan.nodes)) for index in range(node % 3, plan.nodes[node].gpus, 6)]
    overlay = lay_over(plan, scattered, any_state, stale=[1], marked=marked)
    drawing = Drawing(plan, density, width=width, ascii=ascii, overlay=overlay).change(spare=spare)
    for line in (*drawing.header(), *drawing.lines()):
        assert cell_width(plain(line)) == drawing.width
    assert not ascii or to_text(drawing).isascii()
    calm = drawing.change(overlay=None)
    for device in plan.devices:
        at = (device.node, device.index, device.kind)
        assert (drawing.locate(*at) is None) == (calm.locate(*at) is None)
    if density == "tile" and not spare:
        assert 0 <= drawing.height - calm.height <= len(plan.nodes)


@given(recipe=recipes(), density=st.sampled_from(["card", "tile", "small", "letters"]), data=st.data())
def test_nodes_in_any_order_look_the_same(build: Build, recipe: Recipe, density: Density, data: st.DataObject) -> None:
    plan = build(*recipe[0], **recipe[1])
    order = data.draw(st.permutations(range(len(plan.nodes))))
    lines = {nodes: lines_by_node(Drawing(plan, density, nodes=nodes)) for nodes in (None, tuple(order))}
    assert lines[None] == lines[tuple(order)]


def lines_by_node(drawing: Drawing) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for y in range(drawing.height):
        found.setdefault(drawing.nodes_at(y)[0], []).append(plain(drawing.line(y)))
    return {node: [line for line in lines if line.strip()] for node, lines in found.items()}


@given(recipe=recipes(), density=st.sampled_from(DENSITIES))
def test_only_the_nodes_asked_for_are_drawn(build: Build, recipe: Recipe, density: Density) -> None:
    plan = build(*recipe[0], **recipe[1])
    chosen = range(0, len(plan.nodes), 2)
    drawing = Drawing(plan, density, nodes=chosen)
    shown = {device.node for device in plan.devices if drawing.locate(device.node, device.index, device.kind)}
    assert {node for node in chosen if plan.nodes[node].gpus} <= shown <= set(chosen)
