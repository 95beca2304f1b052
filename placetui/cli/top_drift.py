"""`placetui top FILE`: what is seen of this machine, against a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from placetui.observe.drift import Drift, DriftWatch
from placetui.observe.model import NodeSample, Observation
from placetui.placement.plan import Plan


class NoSuchNode(Exception):
    """It cannot be told which node of the plan this machine is."""


class Reality:
    """Compares what is seen with a plan, again and again."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._watch = DriftWatch(plan)

    def compare(self, seen: Observation) -> tuple[Observation, Sequence[Drift]]:
        """The observation, its nodes numbered as in the plan, and where it differs from that.

        Raises:
            NoSuchNode: a node is none of the plan's.
        """
        if seen.source == "nvml":
            nodes = [replace(node, rank=_rank_of(node, self.plan)) for node in seen.nodes]
            seen = replace(seen, nodes=tuple(sorted(nodes, key=lambda node: node.rank)))
        return seen, self._watch.update(seen)


def _rank_of(node: NodeSample, plan: Plan) -> int:
    """The node of the plan that has this name or address; of a plan with one node that one."""
    if len(plan.nodes) == 1:
        return 0
    found = [one.rank for one in plan.nodes if one.name == node.name or (one.ip and one.ip == node.ip)]
    if len(found) == 1:
        return found[0]
    raise NoSuchNode(
        f"which node of {plan.source or 'the plan'} is this? {len(found) or 'None'} of its {len(plan.nodes)} nodes "
        f"{'is' if not found else 'are'} called {node.name} or {'has' if not found else 'have'} the address "
        f"{node.ip or '?'}; name them under `placetui.topology`"
    )
