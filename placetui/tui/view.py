"""What the user looks at: density, highlight, hits, filter, order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placetui.grid import Density
from placetui.grid.find import ORDERS, Hits, Order, matching_nodes, order_nodes
from placetui.observe.model import Observation
from placetui.placement.plan import Plan

NOTHING = Hits("")


@dataclass(frozen=True, slots=True)
class View:
    """The state of looking; immutable, the screen keeps the current one."""

    density: Density = "full"
    component: str | None = None
    """The component that stands out."""

    hits: Hits = NOTHING
    at: int = -1
    """Which of the stops the cursor is on."""

    filtered: bool = False
    order: Order = "rank"

    @property
    def narrowed(self) -> bool:
        """Whether nodes are left out."""
        return self.filtered and bool(self.hits.places)

    def nodes(self, plan: Plan, observation: Observation | None) -> Sequence[int] | None:
        """Nodes to draw, in order; None for all by rank."""
        if self.order == "rank":
            return matching_nodes(self.hits, plan) if self.narrowed else None
        ordered = order_nodes(plan, self.order, observation)
        if not self.narrowed:
            return ordered
        wanted = set(matching_nodes(self.hits, plan))
        return [node for node in ordered if node in wanted]

    def next_order(self) -> Order:
        """The order after this one."""
        return ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
