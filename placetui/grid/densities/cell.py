"""What is known of one GPU: who is on it, what is wrong with it, and figures of a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from placetui.grid.densities.rows import is_oversubscribed
from placetui.grid.look.style import ERROR, FAINT, MUTED, TEXT, WARNING, Ground, Run, Style
from placetui.grid.overlay import Overlay
from placetui.grid.pen import Pen
from placetui.observe.alerts import AlertKind
from placetui.observe.model import DeviceSample, NodeSample
from placetui.placement.plan import Device
from placetui.placement.wording import GIB


@dataclass(slots=True)
class Sign:
    """What is wrong with a GPU."""

    text: str
    words: str
    style: Style
    tint: Ground


class Cell:
    """What is known of one GPU."""

    def __init__(self, pen: Pen, device: Device, overlay: Overlay | None) -> None:
        self.device = device
        self.index = device.index
        self._before = pen.plan.topology.first_gpu[device.node] if pen.compared else 0
        self.sample: DeviceSample | None = overlay.sample(device.node, device.index) if overlay else None
        self.overlay = overlay
        self.sign = self._look_at(pen, overlay)
        is_used = bool(device.occupants) or self.sample is not None
        self.ground: Ground | None = self.sign.tint if self.sign else "tile" if is_used else None

    @property
    def number(self) -> str:
        """The id by which the driver knows it, as far as that is seen; where plans are compared, over all nodes."""
        return str(self.index + self._before if self.sample is None else self.sample.gpu_id)

    def _look_at(self, pen: Pen, overlay: Overlay | None) -> Sign | None:
        signs, node, index = pen.glyphs, self.device.node, self.device.index
        state = overlay.state_on(node, index) if overlay else None
        if state == "dead":
            return Sign(signs.states["dead"], "dead", ERROR, "error")
        if is_oversubscribed(self.device):
            return Sign(signs.states["dead"], f"{self.device.total_share:.2f}", ERROR, "error")
        if overlay is None:
            return None
        if overlay.is_slow(node, index):
            return Sign(signs.above, "slow", WARNING, "warning")
        if overlay.is_drifting(node, index):
            return Sign(signs.differs, "plan", WARNING, "warning")
        if alerts := overlay.alerts_on(node, index):
            kind = min(alerts, key=list(_ALERTS).index)
            sign = signs.below if kind == "load_below" else signs.above
            words = _ALERTS[kind]
            if kind == "temperature_above" and self.sample and self.sample.temperature is not None:
                words = f"{self.sample.temperature:.0f}{signs.degree}"
            return Sign(sign, words, WARNING, "warning")
        if overlay.is_stale(node, index):
            return Sign(signs.states["stale"], "stale", WARNING, "warning")
        if state == "restarting":
            return Sign(signs.states["restarting"], "again", WARNING, "warning")
        return None

    @cached_property
    def held(self) -> dict[tuple[str | None, int | None], int]:
        """Memory of each rank, in bytes."""
        found: dict[tuple[str | None, int | None], int] = {}
        for one in self.sample.processes if self.sample else ():
            key = (one.component, one.rank) if one.kind == "rank" else (None, None)
            found[key] = found.get(key, 0) + (one.memory or 0)
        return found

    @property
    def unknown(self) -> float:
        """Percent of the memory that unknown processes use."""
        if self.sample is None or not self.sample.memory_total:
            return 0.0
        foreign = sum(one.memory or 0 for one in self.sample.processes if one.kind == "foreign")
        return 100 * foreign / self.sample.memory_total


_ALERTS: dict[AlertKind, str] = {
    "memory_above": "mem",
    "temperature_above": "temp",
    "load_above": "load",
    "load_below": "load",
}
"""What alerts are called in a tile; the one that is shown where there are several first."""


def worst(cells: Sequence[Cell]) -> Run | None:
    """`✗ 2`: what needs attention most on a node, and on how many GPUs."""
    signs = [cell.sign for cell in cells if cell.sign]
    if not signs:
        return None
    errors = [sign for sign in signs if sign.tint == "error"]
    first = (errors or signs)[0]
    number = sum(sign.text == first.text for sign in signs)
    return Run(f"{first.text} {number}" if number > 1 else first.text, first.style)


def memory_figure(used: int | None) -> str:
    """`71.0`, `141`: memory in GiB."""
    amount = (used or 0) / GIB
    return f"{amount:.1f}" if amount < 100 else f"{amount:.0f}"


def node_figures(pen: Pen, sample: NodeSample | None, cells: Sequence[Cell], *, roomy: bool) -> Iterator[list[Run]]:
    """`cpu 26%`, `ram 168/2048G`, `mem 582/640G`, `load 89%`; each with a meter where there is room."""
    if sample is None:
        return
    if sample.stale:
        yield [Run(f"stale for {sample.age:.0f} s", WARNING)]
    entries: list[tuple[str, float, str, str]] = []
    if sample.cpu_percent is not None:
        entries.append(("cpu", sample.cpu_percent, f"{sample.cpu_percent:.0f}", "%"))
    if sample.memory_used is not None and sample.memory_total:
        entries.append(_amount("ram", sample.memory_used, sample.memory_total))
    seen = [cell.sample for cell in cells if cell.sample and cell.sample.memory_used is not None]
    total = sum(one.memory_total or 0 for one in seen)
    if total:
        entries.append(_amount("memory" if roomy else "mem", sum(one.memory_used or 0 for one in seen), total))
    loads = [cell.sample.utilization for cell in cells if cell.sample and cell.sample.utilization is not None]
    if loads:
        entries.append(("load", sum(loads) / len(loads), f"{sum(loads) / len(loads):.0f}", "%"))
    for name, percent, value, unit in entries:
        meter = [*pen.meter(percent, 8), Run(" ", TEXT)] if roomy else []
        shown = value.rjust(3) if unit == "%" and roomy else value
        yield [Run(f"{name} ", FAINT), *meter, Run(shown, TEXT), Run(unit, MUTED)]


def _amount(name: str, used: int, total: int) -> tuple[str, float, str, str]:
    return name, 100 * used / total, f"{used / GIB:.0f}", f"/{total / GIB:.0f}G"
