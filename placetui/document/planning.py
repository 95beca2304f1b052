"""From a file and options to a plan whose problems have line numbers."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from placetui.document.document import Document
from placetui.document.reading.misreadings import misreadings
from placetui.document.report import DocumentError
from placetui.frameworks.base import Override
from placetui.frameworks.planner import Planner
from placetui.frameworks.registry import choose, framework_of
from placetui.placement.config.reader import Reader, Unresolved
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
    letters: Mapping[str, str] = field(default_factory=dict)
    """Role of components → the letter that the user has set for it."""

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
    reader = Reader(config, Problems())
    plan = (request.planner or Planner()).plan(
        config,
        nodes=request.nodes,
        topology_source=request.topology_source,
        mode=request.mode,
        source=document.source,
        files=named_files(document.source, reader, choose(reader).references(reader)),
    )
    place = document.place if composition is None else partial(composition.place, document=document)
    found = [place(problem) for problem in plan.problems]
    found += document.problems_in(read.read)
    found += misreadings(document, framework_of(plan).texts)
    if composition is not None and composition.reason and any(_misses_a_key(problem) for problem in found):
        found.append(document.place(_hydra_defaults(composition.reason)))
    found.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    return replace(plan, problems=found, letters=request.letters)


def named_files(source: str, reader: Reader, paths: Iterable[Path]) -> dict[Path, Mapping[str, Any]]:
    """What the files say that values of a configuration name, such as slime's `sglang_config`.

    Relative names count from the folder of `source`. Files that cannot be read, or that have problems, are left out.
    """
    found: dict[Path, Mapping[str, Any]] = {}
    for path in paths:
        named = reader.get(*path, default=None)
        if isinstance(named, str) and named.strip() and not isinstance(named, Unresolved):
            file = os.path.join(os.path.dirname(source), os.path.expanduser(named.strip()))
            with suppress(DocumentError):
                document = Document.from_file(file)
                if not document.problems_in(document.config):
                    found[path] = document.config
    return found


class _Recorder(ChainMap[str, Any]):
    """Records which sections of a configuration are read: only their YAML errors concern the plan."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(cast(dict[str, Any], config))
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.read[name] = None
        return super().__getitem__(name)


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
