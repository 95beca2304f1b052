"""Whether what a framework will ask of Ray fits a cluster: group by group, node by node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from placetui.frameworks.demand import GroupDemand, RayDemand
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
            "groups": [_group(one, titles) for one in self.requests if isinstance(one.request, GroupDemand)],
            "actors": [_actors(one) for one in self.requests if not isinstance(one.request, GroupDemand)],
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
    """Follow Ray through all requests of a job.

    Args:
        demand: What its framework asks for.
        nodes: Of the cluster, with what is free.
        holdings: Who has the rest.
        problems: Of the file.
        notes: What else is known.
        source: The file.
    """
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
    held: dict[str, dict[str, int]] = {}
    for node, needs in taken(one):
        here = held.setdefault(node, {})
        for name, amount in needs.items():
            here[name] = here.get(name, 0) + amount
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


def _bundles(request: GroupDemand) -> list[dict[str, Any]]:
    return [{"resources": dict(one.resources), "count": one.count} for one in request.bundles]


def _group(one: Judged, titles: Mapping[str, str]) -> dict[str, Any]:
    assert isinstance(one.request, GroupDemand)
    places = [sorted(titles[name] for name in choices) for choices in one.scheduled.choices]
    return {
        "name": one.request.name,
        "strategy": one.request.strategy,
        "bundles": _bundles(one.request),
        "fits": one.verdict != "waits",
        "verdict": one.verdict,
        "reason": one.shortage.sentence if one.shortage else None,
        "hint": one.shortage.hint if one.shortage else None,
        "missing": [
            {"node": titles[gap.node], "resources": amounts(gap.missing)}
            for gap in (one.shortage.gaps if one.shortage else ())
        ],
        "nodes": sorted({name for names in places for name in names}),
        "node_count": len(set(one.scheduled.nodes)),
    }


def _actors(one: Judged) -> dict[str, Any]:
    assert not isinstance(one.request, GroupDemand)
    return {
        "name": one.request.name,
        "count": one.request.count,
        "resources": dict(one.request.resources),
        "group": one.request.group,
        "fits": one.verdict != "waits",
        "verdict": one.verdict,
        "reason": one.shortage.sentence if one.shortage else None,
        "hint": one.shortage.hint if one.shortage else None,
    }
