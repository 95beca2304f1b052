"""From a file to a plan whose problems have their places."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placetui.placement.plan import Plan, TopologySource
from placetui.placement.problems import Path, PlacementError, Problem, Problems
from placetui.placement.resolve import make_plan
from placetui.placement.settings import parse_cluster, read_topology
from placetui.placement.topology import Node

from .document import Document
from .errors import DocumentError, refuse
from .overrides import Override, with_overrides


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a user asks for beside the file itself."""

    nodes: tuple[Node, ...] | None = None
    """None: the file's topology, else the assumed one."""

    topology_source: TopologySource = "flag"
    mode: str | None = None
    overrides: tuple[Override, ...] = ()
    isolate_accelerator: bool = True


NO_WISHES = Wishes()


def plan_document(document: Document, wishes: Wishes = NO_WISHES) -> Plan:
    """The plan of a file as far as it resolves, with all problems in the order of their lines."""
    if any(problem.blocking for problem in document.problems) and not document.config:
        return Plan(document.source, "hybrid", None, "assumed", (), {}, list(document.problems))
    plan = make_plan(
        with_overrides(document.config, wishes.overrides) if wishes.overrides else document.config,
        nodes=wishes.nodes,
        topology_source=wishes.topology_source,
        mode=wishes.mode,
        isolate_accelerator=wishes.isolate_accelerator,
        source=document.source,
    )
    found = [document.place(problem) for problem in plan.problems]
    return replace(plan, problems=_in_order([*document.problems, *found, *document.surprises()]))


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))


def load(
    path: str | os.PathLike[str],
    *,
    cluster: str | os.PathLike[str] | None = None,
    nodes: Sequence[Node] | None = None,
    mode: str | None = None,
) -> Plan:
    """The plan of a file.

    Args:
        path: an RLinf or slime-style YAML file.
        cluster: `"2x8"`, or a file with a topology; without it and `nodes`, what the file says or 8 GPUs per node.
        nodes: the nodes themselves, in rank order.
        mode: see the file format; by default what the file says.

    Raises:
        PlacementError: with all problems, when a component cannot be placed or the file cannot be read.
    """
    if nodes is None and cluster is not None:
        nodes = read_cluster_option(os.fspath(cluster))
    document = Document.from_file(path)
    plan = plan_document(document, Wishes(nodes=None if nodes is None else tuple(nodes), mode=mode))
    if any(problem.blocking for problem in plan.problems):
        raise PlacementError(plan.problems)
    return plan


def read_cluster_option(text: str) -> list[Node]:
    """Nodes of `--cluster NxG` or `--cluster FILE`.

    Raises:
        DocumentError: it is neither.
    """
    nodes = parse_cluster(text)
    if nodes is not None:
        return nodes
    if not os.path.exists(text):
        raise refuse(
            "bad_cluster",
            f"`{text}` is neither nodes x GPUs nor a file",
            hint="write for example `2x8`, or name a file with `nodes:` and `gpus_per_node:`",
        )
    document = Document.from_file(text)
    value: Any = dict(document.config)
    path: Path = ()
    for key in ("placetui", "topology"):
        if isinstance(value, dict) and key in value:
            value, path = value[key], (*path, key)
    problems = Problems()
    nodes = read_topology(value, problems, path)
    if nodes is None or document.problems.blocking:
        raise DocumentError([*document.problems, *map(document.place, problems)])
    return nodes
