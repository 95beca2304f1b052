"""Drawings as a reviewer reads them: the text, and below it the style of each character.

PLACETUI_UPDATE_GOLDENS=1 writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from placetui.document import Document, plan_document
from placetui.grid import DENSITIES, Density, DeviceLive, Drawing, Line, RankState, Style, cell_width, plain
from placetui.placement.plan import Plan
from placetui.resources import samples

GOLDEN = Path(__file__).parent / "golden"
# Read at import: the environment of a test is emptied.
UPDATE = bool(os.environ.get("PLACETUI_UPDATE_GOLDENS"))
GIB = 1 << 30

ROLES = {
    "text": "T",
    "muted": "M",
    "faint": "F",
    "header": "H",
    "node": "N",
    "rank": "R",
    "share": "S",
    "track": "K",
    "empty": "E",
    "absent": "X",
    "service": "V",
    "memory": "G",
    "memory_used": "U",
    "ok": "O",
    "warning": "W",
    "error": "!",
}
COMPONENT_ROLES = {"component": "0123456", "bar": "abcdefg", "tile": "hijklmn", "link": "pqrstuv"}
KEY = (
    "styles: component 0-6, its bar a-g, tile h-n, link p-v (without a component: ?); T text, M muted, F faint, "
    "H header, N node, R rank, S share, K track, E empty, X absent, V service, G memory, U memory used, O ok, "
    "W warning, ! error"
)


class Sampled:
    """Live data that depends on nothing but the place."""

    def device(self, node: int, index: int) -> DeviceLive | None:
        if index == 3:
            return None
        if index == 5:
            return DeviceLive()
        used = (9 + (index * 7 + node * 13) % 71) * GIB
        states: tuple[RankState, ...] = ("alive", "starting", "dead")
        return DeviceLive(used, 80 * GIB, float(index * 12), states[index % 3], stale=index == 4, alert=index == 6)

    def rank(self, component: str, rank: int) -> RankState | None:
        states: tuple[RankState, ...] = ("alive", "alive", "pending", "starting", "restarting", "dead", "stale")
        return states[rank % 7] if rank < 14 else None


def style_letter(style: Style) -> str:
    if style.role in COMPONENT_ROLES:
        return "?" if style.component is None else COMPONENT_ROLES[style.role][style.component]
    return ROLES[style.role]


def style_map(line: Line) -> str:
    """A letter per column; blanks on no ground are blank."""
    return "".join(
        " " if character == " " and run.style.role not in ("memory", "memory_used") else style_letter(run.style)
        for run in line
        for character in run.text
        if cell_width(character)
    ).rstrip()


def golden(drawing: Drawing) -> str:
    lines = [*drawing.header(), *drawing.lines(), (), *drawing.legend()]
    text = [plain(line).rstrip() for line in lines]
    return "\n".join([*text, "", KEY, *(style_map(line) for line in lines)]) + "\n"


def compare(name: str, found: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if UPDATE:
        path.write_text(found, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == found


@pytest.mark.parametrize("ascii", [False, True], ids=["unicode", "ascii"])
@pytest.mark.parametrize("density", DENSITIES)
def test_samples_look_as_reviewed(sample: tuple[str, Plan], density: Density, ascii: bool) -> None:
    name, plan = sample
    compare(f"{name}-{density}-{'ascii' if ascii else 'unicode'}", golden(Drawing(plan, density, ascii=ascii)))


@pytest.mark.parametrize("file", samples(), ids=lambda file: file.stem)
def test_sample_files_look_as_reviewed(file: Path) -> None:
    """All densities of a file in one golden; of the large one its first and last nodes."""
    plan = plan_document(Document.from_file(file))
    nodes = [*range(2), len(plan.nodes) - 1] if len(plan.nodes) > 16 else None
    drawings = [
        Drawing(plan, density, ascii=plain_text, nodes=nodes) for density in DENSITIES for plain_text in (False, True)
    ]
    headed = (f"# {one.density}, {'ASCII' if one.ascii else 'Unicode'}\n\n{golden(one)}" for one in drawings)
    compare(f"files/{file.stem}", "\n".join(headed))


@pytest.mark.parametrize("ascii", [False, True], ids=["unicode", "ascii"])
@pytest.mark.parametrize("density", DENSITIES)
def test_live_data_looks_as_reviewed(two_nodes: Plan, density: Density, ascii: bool) -> None:
    drawing = Drawing(two_nodes, density, ascii=ascii, overlay=Sampled())
    compare(f"live-{density}-{'ascii' if ascii else 'unicode'}", golden(drawing))


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("density", DENSITIES)
def test_widths_look_as_reviewed(large_plan: Plan, density: Density, width: int) -> None:
    nodes = range(99, 159) if density == "heat" else range(99, 101)
    compare(f"width-{density}-{width}", golden(Drawing(large_plan, density, width=width, nodes=nodes)))


def test_every_golden_belongs_to_a_test() -> None:
    plans = {"colocated", "disaggregated", "strided", "uneven", "live"}
    expected = {f"{one}-{density}-{set_}" for one in plans for density in DENSITIES for set_ in ("ascii", "unicode")}
    expected |= {f"width-{density}-{width}" for density in DENSITIES for width in (40, 80, 120, 200)}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == expected
    assert {path.stem for path in GOLDEN.glob("files/*")} == {file.stem for file in samples()}
