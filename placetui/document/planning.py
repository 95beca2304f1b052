"""From a file and options to a plan whose problems have line numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from placetui.document.document import Document
from placetui.document.reading.misreadings import misreadings
from placetui.frameworks.base import Override
from placetui.frameworks.planner import Planner
from placetui.frameworks.registry import choose, framework_of
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan, TopologySource
from placetui.placement.problems import Path, PlacementError, Problem, Problems
from placetui.placement.topology import Node


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan depends on besides the file."""

    nodes: tuple[Node, ...] | None = None
    """None: the file's topology, else the assumed one."""

    topology_source: TopologySource = "flag"
    mode: str | None = None
    overrides: tuple[Override, ...] = ()
    isolate_accelerator: bool = True
    planner: Planner | None = field(default=None, compare=False)
    """Keeps what did not change from one plan to the next; without it nothing is kept."""


DEFAULT_REQUEST = PlanRequest()


def plan_document(document: Document, request: PlanRequest = DEFAULT_REQUEST) -> Plan:
    """The plan of a file as far as it resolves, with all problems in the order of their lines."""
    if any(problem.blocking for problem in document.problems) and not document.config:
        return Plan(document.source, "", "hybrid", None, "assumed", problems=list(document.problems))
    composition = document.composition
    read = _Recorder(document.composed)
    config: Mapping[str, Any] = read
    if request.overrides:
        from placetui.document.options import with_overrides

        config = with_overrides(read, request.overrides)
    plan = (request.planner or Planner()).plan(
        config,
        nodes=request.nodes,
        topology_source=request.topology_source,
        mode=request.mode,
        isolate_accelerator=request.isolate_accelerator,
        source=document.source,
        files=_named_files(document.source, config),
    )
    place = document.place if composition is None else partial(composition.place, document=document)
    found = [place(problem) for problem in plan.problems]
    found += document.problems_in(read.read)
    found += misreadings(document, framework_of(plan).texts)
    if composition is not None and composition.reason and any(_misses_a_key(problem) for problem in found):
        found.append(document.place(_hydra_defaults(composition.reason)))
    return replace(plan, problems=_in_order(found))


def _named_files(source: str, config: Mapping[str, Any]) -> dict[Path, Mapping[str, Any]]:
    """What the files say that the configuration names; those that cannot be read are left out."""
    reader = Reader(config, Problems())
    paths = choose(reader).references(reader)
    if not paths:
        return {}
    from placetui.document.reading.references import read_references  # few files need it

    found = read_references(source, config, paths)
    return {path: one.config for path, one in found.items() if one.document is not None and not one.problems}


class _Recorder(Mapping[str, Any]):
    """Records which sections of a configuration are read: only their YAML errors concern the plan."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.read[name] = None
        return self._config[name]

    def __contains__(self, name: object) -> bool:
        return name in self._config

    def __iter__(self) -> Iterator[str]:
        return iter(self._config)

    def __len__(self) -> int:
        return len(self._config)


def _misses_a_key(problem: Problem) -> bool:
    """Whether placement needs a key that the file does not have; by convention the rule says so."""
    return problem.rule in ("no_layout", "interpolation") or "missing" in problem.rule


def _hydra_defaults(reason: str) -> Problem:
    return Problem(
        "hydra_defaults",
        f"`defaults:` names other files, which are not read here; what is missing may be in them ({reason})",
        "warning",
        "pass the composed file: run your program with `--cfg job` and save what it prints",
        path=("defaults",),
        at_key=True,
    )


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
        from placetui.document.options import read_cluster_option

        nodes = read_cluster_option(os.fspath(cluster))
    document = Document.from_file(path)
    plan = plan_document(document, PlanRequest(nodes=None if nodes is None else tuple(nodes), mode=mode))
    if any(problem.blocking for problem in plan.problems):
        raise PlacementError(plan.problems)
    return plan
