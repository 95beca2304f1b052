"""What `up` is asked for, and the plan of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placetui.document import Document, Wishes, parse_override, plan_document
from placetui.placement.plan import Plan
from placetui.placement.problems import count
from placetui.placement.topology import Node
from placetui.runtime import records
from placetui.runtime.errors import Refused, WrongFile

NEED_OTHER_NODES = frozenset(
    {
        "hardware_rank_out_of_range",
        "node_rank_out_of_range",
        "node_ranks_out_of_range",
        "not_enough_nodes",
        "process_across_nodes",
        "resource_out_of_range",
        "slime_not_enough_gpus",
    }
)
"""Errors that a file may have on one cluster and not on another."""


@dataclass(frozen=True, slots=True)
class Request:
    """What `up` is asked for."""

    text: str
    """Of the file."""

    source: str
    job: str
    address: str
    nodes: tuple[Node, ...] | None
    mode: str | None
    overrides: tuple[str, ...]
    timeout: float
    dry_run: bool
    accept_moved: bool
    ask: tuple[str, ...]
    """What to ask about rather than decide: `launch`, `moved`."""

    python_path: tuple[str, ...]

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Request:
        """Read the body of a request."""
        nodes = body.get("nodes")
        return cls(
            text=str(body["text"]),
            source=str(body["source"]),
            job=records.check_name(str(body["job"])),
            address=str(body["address"]),
            nodes=None if nodes is None else tuple(Node(**node) for node in nodes),
            mode=body.get("mode"),
            overrides=tuple(body.get("overrides") or ()),
            timeout=float(body.get("patience", 300)),
            dry_run=bool(body.get("dry_run")),
            accept_moved=bool(body.get("accept_moved")),
            ask=tuple(body.get("ask") or ()),
            python_path=tuple(body.get("python_path") or ()),
        )

    def plan(self, found: Sequence[Node] | None = None) -> Plan:
        """The plan on the nodes that were asked for, else on those that were found, else on assumed ones.

        Raises:
            Refused: it does not fit on these nodes.
            WrongFile: it would fit on none.
        """
        wishes = Wishes(
            nodes=self.nodes if found is None else tuple(found),
            topology_source="flag" if found is None else "ray",
            mode=self.mode,
            overrides=tuple(parse_override(text) for text in self.overrides),
        )
        plan = plan_document(Document(self.text, self.source), wishes)
        errors = [problem for problem in plan.problems if problem.severity == "error"]
        if plan.topology_source == "assumed":
            errors = [problem for problem in errors if problem.rule not in NEED_OTHER_NODES]
        if not errors:
            return plan
        told = [problem.format() for problem in errors]
        if all(problem.rule in NEED_OTHER_NODES for problem in errors):
            raise Refused(f"the plan does not fit: {errors[0].message}", hint=errors[0].hint, problems=told)
        raise WrongFile(f"{count(len(errors), 'error')} in {self.source}", problems=told)
