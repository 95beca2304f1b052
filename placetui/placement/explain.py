"""Why is actor 3 there? Who is on node0/gpu5? Where is rollout?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from placetui.placement.explain_places import explain_component, explain_device, explain_node
from placetui.placement.explain_rank import Locate, explain_rank
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Span
from placetui.placement.targets import find_target

__all__ = ["Explanation", "Locate", "explain"]


class Explanation(Protocol):
    """An answer, as data and in words. `docs/json.md` describes the data."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `placetui explain --json`."""

    def lines(self) -> Iterator[str]:
        """The answer for people."""


def explain(plan: Plan, what: str, locate: Locate | None = None) -> Explanation:
    """What a plan says about a rank, a device, a node or a component.

    Args:
        plan: As far as it resolves.
        what: `actor:3`, `node0/gpu5`, `node0` or `actor`; see `find_target`.
        locate: Finds values in the file, for line and column of rules.

    Raises:
        UnknownTarget: nothing in the plan is called so.
    """
    target = find_target(plan, what)
    locate = locate or _nowhere
    if target.kind == "rank":
        return explain_rank(plan, target.component, target.rank, locate)
    if target.kind == "device":
        return explain_device(plan, target.node, target.device, target.index, locate)
    if target.kind == "node":
        return explain_node(plan, target.node)
    return explain_component(plan, target.component, locate)


def _nowhere(path: Path, span: Span | None) -> None:
    """For plans that come from no file."""
