"""Memory at a glance: the heat density over what is live."""

from __future__ import annotations

from placetui.grid import DeviceLive, Drawing, RankState, plain
from placetui.placement.resolve import resolve
from placetui.placement.topology import Node


class Memory:
    """Every GPU of a node at one level of memory, in percent."""

    def __init__(self, *levels: float | None) -> None:
        self.levels = levels

    def device(self, node: int, index: int) -> DeviceLive | None:
        level = self.levels[node]
        return None if level is None else DeviceLive(round(level), 100)

    def rank(self, component: str, rank: int) -> RankState | None:
        return None


def rows(*levels: float | None, ascii: bool = False) -> list[str]:
    plan = resolve({"cluster": {"num_nodes": 4, "component_placement": {"actor": "0-15"}}}, [Node(8)] * 4)
    drawing = Drawing(plan, "heat", width=80, overlay=Memory(*levels), ascii=ascii)
    return plain(drawing.line(0)).split()[1:]


def test_the_fuller_the_higher() -> None:
    assert rows(0, 50, None, None) == ["▁▁▁▁", "▄▄▄▄", "····", "····"]
    assert rows(100, None, None, None, ascii=True)[0] == "####"


def test_memory_on_a_gpu_that_nobody_is_planned_on_is_seen() -> None:
    assert rows(100, 100, 1, 60) == ["████", "████", "····", "▅▅▅▅"]
