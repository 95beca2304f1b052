"""Whether what a framework will ask of Ray fits a cluster: group by group, node by node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from placetui.frameworks.demand import ActorDemand, GroupDemand, RayDemand
from placetui.frameworks.scheduling import UNITS, NodeResources, Request, Scheduled, Verdict, schedule, units
from placetui.frameworks.shortage import Holding, Shortage, explain_wait, needs_text, remaining, taken
from placetui.placement.problems import Problem
from placetui.placement.topology import Node

ANY_CPUS = 1_000_000
"""Of a node of which nobody says how many it has: whether they suffice is not judged."""


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node and what people call it."""

    title: str
    ip: str
    resources: NodeResources


@dataclass(frozen=True, slots=True)
class Judged:
    """A request, and whether it fits."""

    scheduled: Scheduled
    shortage: Shortage | None
    """Why it waits, or may."""

    @property
    def request(self) -> Request:
        return self.scheduled.request

    @property
    def verdict(self) -> Verdict:
        return self.scheduled.verdict

    def problem(self, source: str) -> Problem | None:
        """An error where it waits for a reason of its own."""
        if self.shortage is None or not self.shortage.hint or self.verdict == "may":
            return None
        return Problem("does_not_schedule", self.shortage.sentence, "error", self.shortage.hint, file=source)


@dataclass(frozen=True, slots=True)
class Note:
    """What a person should know before the job starts, though Ray would place it."""

    message: str
    hint: str


CPUS_NOT_KNOWN = Note(
    "the number of CPUs of the nodes is unknown: CPUs are not checked",
    "write `cpus` under placetui.topology, or check against a running cluster",
)


@dataclass(frozen=True, slots=True)
class Preflight:
    """What would happen if the job were started now."""

    requests: tuple[Judged, ...]
    nodes: tuple[ClusterNode, ...]
    holdings: tuple[Holding, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Of the file and of the requests."""

    notes: tuple[Note, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether nothing is known to wait."""
        return all(one.verdict != "waits" for one in self.requests) and all(
            problem.severity != "error" for problem in self.problems
        )

    def to_dict(self) -> dict[str, Any]:
        """As `placetui preflight --json` prints it."""
        titles = {node.resources.name: node.title for node in self.nodes}
        return {
            "schema": 1,
            "fits": self.fits,
            "groups": [_request_dict(one, titles) for one in self.requests if isinstance(one.request, GroupDemand)],
            "actors": [_request_dict(one, titles) for one in self.requests if isinstance(one.request, ActorDemand)],
            "nodes": [self._node(node) for node in self.nodes],
            "problems": [problem.to_dict() for problem in self.problems],
            "notes": [asdict(note) for note in self.notes],
        }

    def _node(self, node: ClusterNode) -> dict[str, Any]:
        own = [one for one in self.holdings if one.node == node.resources.name]
        unknown = {"CPU": None} if node.resources.total.get("CPU") == units(ANY_CPUS) else {}
        return {
            "name": node.title,
            "ip": node.ip,
            "total": amounts(node.resources.total) | unknown,
            "free": amounts(node.resources.free) | unknown,
            "held_by": [{"who": one.who, "resources": amounts(one.resources)} for one in own],
        }


def preflight(
    demand: RayDemand,
    nodes: Sequence[ClusterNode],
    holdings: Sequence[Holding] = (),
    problems: Iterable[Problem] = (),
    notes: Iterable[Note] = (),
    source: str = "",
) -> Preflight:
    """Follow Ray through all requests of a job; `holdings` say who has what is not free of the nodes."""
    titles = {node.resources.name: node.title for node in nodes}
    resources = [node.resources for node in nodes]
    found = schedule(resources, demand.requests)
    judged: list[Judged] = []
    own: list[Holding] = []
    for number, one in enumerate(found):
        shortage = None
        if one.verdict != "fits" and getattr(one.request, "group", None) is None:
            left = remaining(resources, found[:number])
            shortage = explain_wait(one.request, left, [*holdings, *own], titles.__getitem__)
        elif one.verdict != "fits":
            shortage = _in_group(one, found[:number])
        judged.append(Judged(one, shortage))
        own += _own_holdings(one)
    new = [problem for one in judged if (problem := one.problem(source))]
    may = [_depends(one) for one in judged if one.verdict == "may"]
    return Preflight(tuple(judged), tuple(nodes), tuple(holdings), (*problems, *new), (*notes, *may))


def _depends(one: Judged) -> Note:
    request = one.request
    message = f"{request.name} needs {needs_text(request)}; whether it fits depends on the nodes that Ray takes"
    return Note(message, one.shortage.hint if one.shortage else "")


def preflight_planned(demand: RayDemand, nodes: Sequence[Node], problems: Iterable[Problem], source: str) -> Preflight:
    """Follow Ray on nodes that are only described."""
    asked = {name for one in demand.groups for bundle in one.bundles for name in bundle.resources}
    notes = [CPUS_NOT_KNOWN] if any(node.cpus is None for node in nodes) else []
    return preflight(demand, planned_nodes(nodes, "NPU" if "NPU" in asked else "GPU"), (), problems, notes, source)


def planned_nodes(nodes: Iterable[Node], accelerator: str = "GPU") -> list[ClusterNode]:
    """Nodes of a description, all of them free but for what it says is in use."""
    found: list[ClusterNode] = []
    for number, node in enumerate(nodes):
        title = node.name or f"node{number}"
        cpus = ANY_CPUS if node.cpus is None else node.cpus
        total = {accelerator: units(node.gpus), "CPU": units(cpus)}
        free = {accelerator: units(node.gpus - node.gpus_in_use), "CPU": units(cpus - node.cpus_in_use)}
        found.append(ClusterNode(title, node.ip or "", NodeResources(f"{number}", total, free)))
    return found


def amounts(resources: Mapping[str, int]) -> dict[str, float]:
    """Amounts as people write them; zero is left out, except of GPUs and CPUs."""
    return {
        name: round(units / UNITS, 4)
        for name, units in resources.items()
        if (units or name in ("GPU", "CPU")) and not name.startswith("node:")
    }


def _own_holdings(one: Scheduled) -> list[Holding]:
    """What a request of the same job has taken for those after it."""
    if one.verdict == "waits":
        return []
    held: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for node, needs in taken(one):
        held[node].update(needs)
    return [Holding(node, f"{one.request.name} of this job", resources, own=True) for node, resources in held.items()]


def _in_group(one: Scheduled, before: Sequence[Scheduled]) -> Shortage:
    """Actors that wait for their group, which says why itself, or that do not fit into it."""
    group = getattr(one.request, "group", "")
    if any(other.request.name == group and other.verdict != "fits" for other in before):
        return Shortage(f"{one.request.name} waits for group {group}", "")
    return Shortage(
        f"{one.request.name} needs {needs_text(one.request)} in group {group}, which has no room for them",
        "lower the shares of its components, or make the bundles larger",
    )


def _request_dict(one: Judged, titles: Mapping[str, str]) -> dict[str, Any]:
    request, shortage = one.request, one.shortage
    verdict = {
        "fits": one.verdict != "waits",
        "verdict": one.verdict,
        "reason": shortage.sentence if shortage else None,
        "hint": shortage.hint if shortage else None,
    }
    if not isinstance(request, GroupDemand):
        actors = {"count": request.count, "resources": dict(request.resources), "group": request.group}
        return {"name": request.name, **actors, **verdict}
    return {
        "name": request.name,
        "strategy": request.strategy,
        "bundles": [{"resources": dict(bundle.resources), "count": bundle.count} for bundle in request.bundles],
        **verdict,
        "missing": [
            {"node": titles[gap.node], "resources": amounts(gap.missing)} for gap in (shortage.gaps if shortage else ())
        ],
        "nodes": sorted({titles[name] for choices in one.scheduled.choices for name in choices}),
        "node_count": len(set(one.scheduled.nodes)),
    }
