"""`placetui top FILE`: what is seen of a cluster or of this machine, against a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placetui.document import Document, Wishes, plan_document
from placetui.observe.drift import Drift, DriftWatch
from placetui.observe.model import NodeSample, Observation
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.placement.topology import Node


class NoSuchNode(Exception):
    """It cannot be told which node of the plan this machine is."""


class DoesNotFit(Exception):
    """The plan cannot be made on the nodes that are there."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("the plan does not fit")
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Opened:
    """A file, and its plan before anything was seen."""

    document: Document
    wishes: Wishes
    plan: Plan

    def plan_on(self, nodes: Sequence[NodeSample]) -> Plan:
        """The plan on the nodes of a cluster, if the file does not say what they are.

        Raises:
            DoesNotFit: there is none.
        """
        if self.plan.topology_source != "assumed":
            return self.plan
        there = {node.rank: node for node in nodes}
        found = [
            Node(len(there[rank].devices), name=there[rank].name, ip=there[rank].ip) if rank in there else Node(0)
            for rank in range(max(there, default=-1) + 1)
        ]
        wishes = replace(self.wishes, nodes=tuple(found), topology_source="ray")
        plan = plan_document(self.document, wishes)
        if any(problem.blocking for problem in plan.problems):
            raise DoesNotFit(plan.problems)
        return plan


class Reality:
    """Compares what is seen with a plan, again and again."""

    def __init__(self, opened: Opened) -> None:
        self.plan = opened.plan
        self._opened = opened
        self._watch: DriftWatch | None = None

    def compare(self, seen: Observation) -> tuple[Observation, Sequence[Drift]]:
        """The observation, its nodes numbered as in the plan, and where it differs from that.

        Raises:
            NoSuchNode: a node is none of the plan's.
            DoesNotFit: there is no plan for these nodes.
        """
        if self._watch is None:
            # Nodes that are lost later are missed, not planned without.
            self.plan = self._opened.plan_on(seen.nodes) if seen.source == "ray" else self.plan
            self._watch = DriftWatch(self.plan)
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
