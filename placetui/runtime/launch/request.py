"""What `up` is asked for, and the plan of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from placetui.document import Document, PlanRequest, plan_document
from placetui.document.options import parse_override
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from placetui.placement.wording import count
from placetui.runtime.errors import NotPossible, WrongFile
from placetui.runtime.jobs import records

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
    source: str
    job: str
    address: str
    nodes: tuple[Node, ...] | None = None
    mode: str | None = None
    overrides: Sequence[str] = ()
    patience: float = 300.0
    dry_run: bool = False
    accept_moved: bool = False
    ask: Sequence[str] = ()
    """What to ask about rather than decide: `launch`, or `moved` ranks and `used` GPUs."""

    python_path: Sequence[str] = ()
    working_dir: str = ""
    """Sent to all nodes, for components whose runtime environment has none."""

    wait_for_nodes: float = 0.0
    """Seconds for an autoscaler to bring what is missing."""

    on_used_gpus: bool = False
    """Whether to start also on GPUs that others use without having reserved them."""

    def asks(self, about: str) -> bool:
        """Whether a person can answer questions, about moved ranks and about used GPUs."""
        return not self.dry_run and ("moved" if about == "used" else about) in self.ask

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Request:
        """What the body of a request says; null is as good as nothing."""
        known = {one.name: body[one.name] for one in fields(cls) if body.get(one.name) is not None}
        if "nodes" in known:
            known["nodes"] = tuple(map(Node.from_given, known["nodes"]))
        return cls(**{**known, "job": records.check_name(str(body["job"]))})

    def plan(self, found: Sequence[Node] | None = None) -> Plan:
        """The plan on the nodes that were asked for, else on those that were found, else on assumed ones.

        Raises:
            NotPossible: it does not fit on these nodes.
            WrongFile: it would fit on none.
        """
        plan_request = PlanRequest(
            nodes=self.nodes if found is None else tuple(found),
            topology_source="flag" if found is None else "ray",
            mode=self.mode,
            overrides=tuple(parse_override(text) for text in self.overrides),
        )
        plan = plan_document(Document(self.text, self.source), plan_request)
        errors = [problem for problem in plan.problems if problem.severity == "error"]
        if plan.topology_source == "assumed":
            errors = [problem for problem in errors if problem.rule not in NEED_OTHER_NODES]
        if not errors:
            return plan
        told = [problem.format() for problem in errors]
        if all(problem.rule in NEED_OTHER_NODES for problem in errors):
            raise NotPossible(f"the plan does not fit: {errors[0].message}", hint=errors[0].hint, problems=told)
        raise WrongFile(f"{count(len(errors), 'error')} in {self.source}", problems=told)
