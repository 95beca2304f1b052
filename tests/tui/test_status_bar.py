"""The top line: what gives way in a narrow terminal, and what never does."""

from __future__ import annotations

import pytest

from placetui.grid import Run
from placetui.grid.look.style import TEXT
from placetui.tui.widgets.status_bar import GIVES_WAY, BarPart, fitted


def part(text: str, *shorter: tuple[str, str]) -> BarPart:
    return BarPart((Run(text, TEXT),), tuple((name, (Run(one, TEXT),) if one else ()) for name, one in shorter))


PARTS = [
    part("file.yaml"),
    part("2 nodes × 8 GPUs", ("model", "2 nodes × 8"), ("unit", "2 × 8"), ("topology", "")),
    part("✗ 1 dead", ("words", "✗ 1")),
    part("47/48 ranks alive", ("ranks", "")),
    part("load ███ 88 %", ("meter", "load 88 %"), ("load", "")),
]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "file.yaml  2 nodes × 8 GPUs  ✗ 1 dead  47/48 ranks alive  load ███ 88 %"),
        (70, "file.yaml  2 nodes × 8 GPUs  ✗ 1  47/48 ranks alive  load ███ 88 %"),
        (60, "file.yaml  2 nodes × 8  ✗ 1  47/48 ranks alive  load 88 %"),
        (50, "file.yaml  2 nodes × 8  ✗ 1  47/48 ranks alive"),
        (44, "file.yaml  2 × 8  ✗ 1  47/48 ranks alive"),
        (36, "file.yaml  ✗ 1  47/48 ranks alive"),
        (26, "file.yaml  2 × 8  ✗ 1 dead"),
        (5, "file.yaml  ✗ 1"),
    ],
)
def test_the_least_important_gives_way_and_what_has_room_comes_back(width: int, shown: str) -> None:
    runs = [run.text for one in fitted(PARTS, width + 2) for run in one.runs]
    assert "  ".join(runs) == shown


def test_every_part_gives_way_in_its_order() -> None:
    for one in PARTS:
        order = [GIVES_WAY.index(name) for name, _ in one.shorter]
        assert order == sorted(order)
