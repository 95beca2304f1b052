"""Drawings as a reviewer reads them: the text, and below it the style of each character.

PLACETUI_UPDATE_GOLDENS=1 writes them anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from placetui.document import Document, plan_document
from placetui.grid import DENSITIES, Drawing, Line, Overlay, Style, cell_width, plain
from placetui.observe.model import DeviceSample, State
from placetui.placement.plan import Plan
from placetui.resources import samples

GOLDEN = Path(__file__).parent / "golden"
# Read at import: the environment of a test is emptied.
UPDATE = bool(os.environ.get("PLACETUI_UPDATE_GOLDENS"))
GIB = 1 << 30

ROLES = {
    "white": "w",
    "text": "T",
    "body": "B",
    "muted": "M",
    "faint": "F",
    "ghost": "g",
    "track": "K",
    "border": "b",
    "heat": "H",
    "ok": "O",
    "warning": "W",
    "error": "!",
    "warning_border": "y",
    "error_border": "r",
}
KEY = (
    "styles: hue of a component 0-7 (none: ?); w white, T text, B body, M muted, F faint, g ghost, K track, b border, "
    "H heat, O ok, W warning, ! error; then grounds: t tile, k track, W warning, ! error, c component, h heat, w white"
)
GROUNDS = {"tile": "t", "track": "k", "warning": "W", "error": "!", "alarm": "!", "component": "c", "heat": "h"}


def sampled(node: int, index: int) -> DeviceSample | None:
    """Live data that depends on nothing but the place."""
    if index == 3:
        return None
    if index == 5:
        return DeviceSample(index)
    used = (9 + (index * 7 + node * 13) % 71) * GIB
    return DeviceSample(index, memory_used=used, memory_total=80 * GIB, utilization=index * 12, stale=index == 4)


def state_of(component: str, rank: int) -> State | None:
    states: tuple[State, ...] = ("alive", "alive", "pending", "starting", "restarting", "dead", "alive")
    return states[rank % 7] if rank < 14 else None


def style_letter(style: Style) -> str:
    if style.role == "component":
        return "?" if style.hue is None else str(style.hue)
    return ROLES[style.role]


def style_map(line: Line) -> str:
    """A letter per column; blanks are blank."""
    return "".join(
        " " if character == " " else style_letter(run.style)
        for run in line
        for character in run.text
        if cell_width(character)
    ).rstrip()


def ground_map(line: Line) -> str:
    return "".join(
        " " if run.style.ground is None else GROUNDS.get(run.style.ground, "w")
        for run in line
        for character in run.text
        if cell_width(character)
    ).rstrip()


def golden(drawing: Drawing) -> str:
    lines = [*drawing.header(), *drawing.lines(), (), *drawing.legend()]
    text = [plain(line).rstrip() for line in lines]
    grounds = [ground_map(line) for line in drawing.lines()]
    return "\n".join([*text, "", KEY, *(style_map(line) for line in lines), *grounds]) + "\n"


def compare(name: str, drawings: Iterable[Drawing]) -> None:
    """All drawings in one golden."""
    path = GOLDEN / f"{name}.txt"
    headed = (f"# {one.density}{', ASCII' if one.ascii else ''}\n\n{golden(one)}" for one in drawings)
    found = "\n".join(headed)
    if UPDATE:
        path.write_text(found, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == found


def all_of(drawing: Drawing) -> Iterator[Drawing]:
    """In all densities."""
    return (drawing.change(density=density) for density in DENSITIES)


def test_samples_look_as_reviewed(sample: tuple[str, Plan]) -> None:
    name, plan = sample
    compare(name, [*all_of(Drawing(plan)), Drawing(plan, ascii=True)])


@pytest.mark.parametrize("file", samples(), ids=lambda file: file.stem)
def test_sample_files_look_as_reviewed(file: Path) -> None:
    """Of the large one its first and last nodes."""
    plan = plan_document(Document.from_file(file))
    nodes = [*range(2), len(plan.nodes) - 1] if len(plan.nodes) > 16 else None
    compare(f"files/{file.stem}", [Drawing(plan, nodes=nodes), Drawing(plan, "letters", nodes=nodes)])


def test_live_data_looks_as_reviewed(two_nodes: Plan, lay_over: Callable[..., Overlay]) -> None:
    overlay = lay_over(two_nodes, sampled, state_of, marked=[(0, 6), (1, 6)])
    compare("live", all_of(Drawing(two_nodes, overlay=overlay)))
    compare("live-ascii", all_of(Drawing(two_nodes, overlay=overlay, ascii=True)))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_widths_look_as_reviewed(large_plan: Plan, width: int) -> None:
    few, many = range(99, 101), range(99, 159)
    drawing = Drawing(large_plan, width=width)
    compare(f"width-{width}", (one.change(nodes=many if one.density == "heat" else few) for one in all_of(drawing)))


def test_every_golden_belongs_to_a_test() -> None:
    expected = {"colocated", "disaggregated", "strided", "uneven", "live", "live-ascii"}
    expected |= {f"width-{width}" for width in (40, 80, 120)}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == expected
    assert {path.stem for path in GOLDEN.glob("files/*")} == {file.stem for file in samples()}
