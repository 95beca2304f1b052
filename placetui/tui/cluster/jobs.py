"""The jobs of a cluster, and what it takes to look at one of them. No Textual here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placetui.document import Document, DocumentError, PlanRequest
from placetui.frameworks.registry import modes
from placetui.observe.model import Observation
from placetui.observe.operations import is_other, may_still_run
from placetui.placement.recorded import plan_from_dict
from placetui.placement.topology import Node
from placetui.placement.wording import listing
from placetui.tui.session import Session


@dataclass(frozen=True, slots=True)
class Job:
    """One job of `placetui ps --json`."""

    name: str
    state: str
    """As `placetui ps` has it."""

    file: str = ""
    created: float = 0.0
    """Seconds since the epoch; 0 if unknown."""

    alive: int = 0
    world_size: int = 0
    owner: str = ""
    """`user@host` that started it; empty if unknown."""

    entrypoint: str = ""
    """Command line of a job that placetui did not launch, without secrets."""

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Job:
        groups: Mapping[str, Mapping[str, int]] = value.get("groups") or {}
        return cls(
            str(value["name"]),
            str(value["state"]),
            str(value.get("file") or ""),
            float(value.get("created") or 0.0),
            sum(one["alive"] for one in groups.values()),
            sum(one["world_size"] for one in groups.values()),
            str(value.get("owner") or ""),
            str(value.get("entrypoint") or ""),
        )


def stopped_words(job: str, outcome: Mapping[str, Any]) -> str:
    """How to report that a job was stopped, with what may still run on nodes that do not answer."""
    silent = may_still_run(outcome.get("silent") or ())
    left = [f"detached actors outlive it: {listing(outcome['left'])}"] if outcome.get("left") else []
    return "; ".join([f"stopped {job}", *left, *silent])


def confirmation(question: str, name: str, owner: str) -> tuple[str, str]:
    """The question before something ends, and what must be typed: for somebody else's job also whose it is."""
    if not is_other(owner):
        return question, name
    return f"{question}\nIt belongs to {owner}.", f"{owner.partition('@')[0]}/{name}"


def session_of(
    name: str, told: Mapping[str, Any], letters: Mapping[str, str], seen: Observation | None = None
) -> Session:
    """A job as something that can be opened.

    Its file, where that is here and still gives the recorded plan; else the recorded plan. Of a job that placetui did
    not launch, the file that its command line names; else the cluster as it is. `letters` are those of roles that the
    user has set.

    Raises:
        ValueError: there is no plan in the answer to `job`.
    """
    if configuration := told.get("configuration"):
        return _running_session(configuration, letters)
    if seen is not None and (told.get("job") or {}).get("framework", "placetui") != "placetui":
        return Session.of_observation(seen, letters)
    recorded: Mapping[str, Any] = told.get("plan") or {}
    if not recorded.get("components"):
        raise ValueError(f"the record of `{name}` has no plan")
    nodes: Sequence[Mapping[str, Any]] = told.get("nodes") or ()
    file = str((told.get("job") or {}).get("file") or "")
    mode = recorded.get("mode")
    plan_request = PlanRequest(
        tuple(Node(int(one["gpus"]), name=str(one.get("host") or ""), ip=str(one.get("ip") or "")) for one in nodes)
        or None,
        "ray",
        mode if mode in modes() else None,
        letters=letters,
    )
    if os.path.isfile(file):
        try:
            session = Session.open(file, plan_request)
        except DocumentError:
            pass
        else:
            if _placements(session.plan.to_dict()) == _placements(recorded):
                return session
    plan = plan_from_dict(recorded, nodes)
    plan = replace(plan, topology_source="ray", letters=letters)
    text = f"# The plan of job {name} as recorded at launch.\n# Its file"
    text += f" {json.dumps(file)} is not on this machine or has changed.\n" if file else " is not known.\n"
    return Session(file or name, Document(text, file or name), plan, (), plan_request, plan_request, recorded=True)


def _running_session(configuration: Mapping[str, Any], letters: Mapping[str, str]) -> Session:
    """A job that placetui did not launch: the file that its command line names, or one that says the same."""
    overrides = tuple((tuple(path), value) for path, value in configuration.get("overrides") or ())
    request = PlanRequest(overrides=overrides, letters=letters)
    file = str(configuration["file"])
    if os.path.isfile(file):
        return Session.open(file, request)
    return Session.of_text(file, str(configuration["text"]), request)


def same_places(one: Session, other: Session) -> bool:
    """Whether two sessions are of the same file, with every rank in the same place."""
    if os.path.abspath(one.file) != os.path.abspath(other.file) or list(one.plan.nodes) != list(other.plan.nodes):
        return False
    mine, theirs = one.plan.components, other.plan.components
    return mine.keys() == theirs.keys() and all(
        list(mine[name].placements) == list(theirs[name].placements) for name in mine
    )


def _placements(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part["placements"] for name, part in plan["components"].items()}
