"""The file of a job that runs, found by what its command line names."""

from __future__ import annotations

import os
from dataclasses import dataclass

from placetui.document.document import Document
from placetui.document.options import parse_override
from placetui.document.planning import PlanRequest, plan_document
from placetui.document.report import DocumentError
from placetui.document.storage.files import read_text
from placetui.frameworks.base import Framework, Override
from placetui.frameworks.entrypoint import JobConfiguration
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems
from placetui.placement.topology import Node


@dataclass(frozen=True, slots=True)
class RunningFile:
    """A file, with what the command line replaces in it."""

    document: Document
    overrides: tuple[Override, ...] = ()

    def plan(self, framework: Framework, nodes: tuple[Node, ...] | None = None) -> Plan:
        """The plan of the job, with the names that its processes have."""
        request = PlanRequest(nodes, "ray", overrides=self.overrides)
        return with_names(framework, self.document, plan_document(self.document, request), self.overrides)


def with_names(framework: Framework, document: Document, plan: Plan, overrides: tuple[Override, ...] = ()) -> Plan:
    """A plan with the names that a job of this file is known by."""
    from placetui.document.options import with_overrides

    config = with_overrides(document.composed, overrides) if overrides else document.composed
    return framework.with_names(plan, Reader(config, Problems()))


def read_configuration(found: JobConfiguration, title: str) -> RunningFile | None:
    """The file that a command line names, or is as good as (then with this title); None if it is not readable."""
    if found.text:
        return RunningFile(Document(found.text, title))
    for folder in found.folders:
        for name in (found.name, f"{found.name}.yaml", f"{found.name}.yml"):
            path = os.path.join(folder, name)
            if not found.name or not os.path.isfile(path):
                continue
            try:
                return RunningFile(Document(read_text(path).text, path), tuple(_overrides(found)))
            except DocumentError:
                continue
    return None


def _overrides(found: JobConfiguration) -> list[Override]:
    """Those of Hydra's overrides that replace or add a value."""
    overrides = []
    for text in found.overrides:
        if not text.startswith("~"):
            try:
                overrides.append(parse_override(text.lstrip("+")))
            except DocumentError:
                continue  # a group of Hydra's, or a value in its own grammar
    return overrides
