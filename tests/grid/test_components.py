"""The panel of components."""

from __future__ import annotations

from collections.abc import Callable

from placetui.grid import cell_width, plain
from placetui.grid.panels.components import component_entries
from placetui.grid.pen import Pen
from placetui.observe.totals import Totals
from placetui.placement.plan import Plan


def test_a_rule_without_room_has_a_line_of_its_own(make_plan: Callable[..., Plan]) -> None:
    ranks = [(rank // 8, (rank % 8,)) for rank in range(8192)]
    plan = make_plan([8] * 1024, {"actor": ("0-8191", None, ranks)})
    pen = Pen(plan, False, cell_width)
    (entry,) = component_entries(pen, 25, totals=Totals(alive={"actor": 8192}))
    lines = [plain(line) for line in entry.lines]
    assert "…" not in "".join(lines)
    assert lines[1].strip() == "0-8191"
