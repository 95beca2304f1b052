"""How a plan fits on its GPUs: what is promised too often, where there is room, and what holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from placetui.grid.densities.rows import Census, Extent
from placetui.grid.look.style import BODY, ERROR, FAINT, MUTED, NAME, OK, TEXT, Line, Run
from placetui.grid.panels.entries import spread, wrapped
from placetui.grid.pen import Pen
from placetui.placement.diff import Difference
from placetui.placement.plan import SHARE_UNITS, Plan
from placetui.placement.problems import Problem
from placetui.placement.wording import count, plain, ranges, share_figure

LEAST_ROOM = SHARE_UNITS // 100
"""Less than this of a GPU is not worth mentioning."""


@dataclass(slots=True)
class Spot:
    """GPUs that are alike in one way."""

    number: int = 0
    most: int = 0
    """Of one of them, in 1/10000."""

    where: str = ""
    """The first node with such a GPU, and which."""

    named: int = 0
    """GPUs that are meant by this."""

    alike: int = 0
    """GPUs that have as much, on other nodes too."""

    @property
    def words(self) -> str:
        """Where they are; if these are not all of them, where the first are or those with the most."""
        return f"{'' if self.named == self.number else 'first ' if self.alike == self.number else 'most '}{self.where}"


@dataclass(slots=True)
class Fits:
    """How full the GPUs of a plan are. Nodes that look alike are counted at once."""

    total: int = 0
    promised: int = 0
    """Of all GPUs together, in 1/10000."""

    over: Spot = field(default_factory=Spot)
    roomy: Spot = field(default_factory=Spot)
    free: Spot = field(default_factory=Spot)

    @classmethod
    def of(cls, plan: Plan, census: Census) -> Fits:
        fits = cls()
        known: dict[Extent, tuple[int, list[tuple[Spot, int, int, list[int]]]]] = {}
        for node in plan.nodes:
            extent = census[node.rank]
            if extent not in known:
                known[extent] = fits._sorted(extent.promised)
            promised, spots = known[extent]
            fits.total += extent.gpus
            fits.promised += promised
            for spot, number, most, which in spots:
                spot.number += number
                if most > spot.most:
                    spot.most, spot.where = most, f"{node.name} {ranges(which)}"
                    spot.named, spot.alike = len(which), 0
                spot.alike += len(which) if most == spot.most else 0
        return fits

    def _sorted(self, held: list[int | None]) -> tuple[int, list[tuple[Spot, int, int, list[int]]]]:
        """How much of a node is promised; of GPUs that are alike, how many, and how much of which ones at most."""
        room = {index: SHARE_UNITS - units for index, units in enumerate(held) if units}
        spots = [
            (self.over, {index: SHARE_UNITS - left for index, left in room.items() if left < 0}),
            (self.roomy, {index: left for index, left in room.items() if left >= LEAST_ROOM}),
            (self.free, {index: SHARE_UNITS for index, units in enumerate(held) if units is None}),
        ]
        found = []
        for spot, units in spots:
            if units:
                most = max(units.values())
                found.append((spot, len(units), most, [index for index in units if units[index] == most]))
        return sum(units or 0 for units in held), found


def fit_lines(
    pen: Pen,
    fits: Fits,
    width: int,
    *,
    wrong: Problem | None = None,
    difference: Difference | None = None,
    planned: bool = True,
) -> Iterator[Line]:
    """What is wrong on its ground, where there is room, and of a text that is `planned` what holds."""
    cross = pen.glyphs.states["dead"]
    if wrong is not None:
        yield spread(pen, [Run(f"{cross} ", ERROR), Run(wrong.rule or "not possible", ERROR)], [], width, "error")
        yield from wrapped(pen, plain(wrong.message), width, TEXT, "error")
        yield ()
    if fits.over.number:
        words = f"{count(fits.over.number, 'GPU')} over 1.0"
        yield spread(pen, [Run(f"{cross} ", ERROR), Run(words, ERROR)], [], width, "error")
        where = f"  {fits.over.words}: {share_figure(fits.over.most / SHARE_UNITS)}"
        yield spread(pen, [Run(where, BODY)], [], width, "error")
        yield ()
    if fits.total:
        promised, over = fits.promised / SHARE_UNITS, fits.over.number > 0
        figure = f" {promised:,.{0 if fits.total >= 1000 else 1}f}"
        right = [Run(figure, ERROR if over else NAME), Run(f"/{fits.total:,}", MUTED)]
        room = max(0, width - 9 - pen.width(right))
        meter = pen.thin(min(1.0, promised / fits.total), room, ERROR if over else BODY) if room > 3 else ()
        yield (Run("promised ", FAINT), *meter, *right)
    sign = Run(f"{pen.glyphs.empty} ", FAINT)
    if fits.roomy.number:
        yield (sign, Run(f"{count(fits.roomy.number, 'GPU')} {'has' if fits.roomy.number == 1 else 'have'} room", TEXT))
        where = f"  {fits.roomy.words}: {share_figure(fits.roomy.most / SHARE_UNITS)}"
        yield pen.fitted([Run(where, MUTED)], width)
    if fits.free.number:
        yield (sign, Run(f"{count(fits.free.number, 'GPU')} free", TEXT))
        yield pen.fitted([Run(f"  {fits.free.words}", MUTED)], width)
    if planned:
        yield from ((Run(f"{pen.glyphs.done} ", OK), Run(words, BODY)) for words in _holds(pen.plan, fits, difference))


def _holds(plan: Plan, fits: Fits, difference: Difference | None) -> Iterator[str]:
    if plan.components and not any(problem.blocking for problem in plan.problems):
        yield f"{count(sum(one.world_size for one in plan.components.values()), 'rank')} placed"
        if all(one.parts_per_engine in (None, 1) for one in plan.components.values()):
            yield "no process over nodes"
    if fits.total and not fits.over.number:
        yield "no GPU over 1.0"
    if difference is not None and sum(bool(one.moves) for one in difference.components) <= 1:
        yield "other components stay"
