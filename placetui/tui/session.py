"""An open file, its options, and the resulting plan. No Textual here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from placetui.document import Document, DocumentError, PlanRequest, plan_document
from placetui.document.draft import Draft
from placetui.document.edit import Edited, write
from placetui.document.planning import DEFAULT_REQUEST
from placetui.document.splice import difference
from placetui.frameworks.planner import Planner
from placetui.frameworks.registry import framework_of
from placetui.placement.config.settings import SECTION
from placetui.placement.edits import Change, EditRefused, Refusal, Remove, SetRule
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Problem, Span
from placetui.placement.topology import CLUSTER, Node

if TYPE_CHECKING:
    from placetui.frameworks.new_job import Layout
    from placetui.observe.model import JobSummary, Observation
    from placetui.placement.diff import Difference

PICTURE = "cluster.yaml"
"""What the file of a cluster as it is would be called."""


@dataclass(frozen=True, slots=True)
class Session:
    """One moment of the dashboard's file: immutable, so that a thread can make the next one."""

    file: str
    """As the user named it; empty when nothing is open."""

    document: Document
    """The text that `plan` was made from."""

    plan: Plan
    """The last plan without blocking problems; the first one whatever it has."""

    problems: tuple[Problem, ...]
    """Of the text as it is now."""

    plan_request: PlanRequest = DEFAULT_REQUEST
    asked: PlanRequest = DEFAULT_REQUEST
    """What was requested when the file was opened; `plan_request` may try something else."""

    old: bool = False
    """Whether the file has moved on and cannot be resolved: `plan` is of an earlier text."""

    written: Document | None = None
    """The file as it is now, where that is not `document`."""

    recorded: bool = False
    """Whether the plan comes from a job's record, and no file says it."""

    pictured: bool = False
    """Whether the text tells the cluster as it is: there is no file, and nothing can differ from it."""

    @classmethod
    def open(cls, file: str, plan_request: PlanRequest) -> Session:
        """Read a file.

        Raises:
            DocumentError: it cannot be read.
        """
        return cls._of(file, Document.from_file(file), plan_request)

    @classmethod
    def of_text(cls, file: str, text: str, plan_request: PlanRequest) -> Session:
        """A text that is not in its file yet."""
        return cls._of(file, Document(text, file), plan_request)

    @classmethod
    def _of(cls, file: str, document: Document, plan_request: PlanRequest) -> Session:
        plan_request = replace(plan_request, planner=Planner())
        plan = plan_document(document, plan_request)
        return cls(file, document, plan, tuple(plan.problems), plan_request, plan_request)

    @classmethod
    def of_observation(cls, observation: Observation, letters: Mapping[str, str]) -> Session:
        """The cluster as it is, without a file."""
        session = cls.of_text(PICTURE, _picture_text(observation), PlanRequest(letters=letters))
        return replace(session, pictured=True)

    def followed(self, observation: Observation) -> Session:
        """The cluster as it is now; the same session if nothing changed."""
        text = _picture_text(observation)
        return self if text == self.text else Session.of_observation(observation, self.asked.letters)

    def reread(self) -> Session:
        """The file as it is now; what is broken keeps the last good plan."""
        if self.pictured:
            return self
        try:
            document = Document.from_file(self.file)
        except DocumentError as error:
            return replace(self, problems=tuple(error.problems), old=True)
        return self._with(document, self.plan_request)

    def wish(self, plan_request: PlanRequest) -> Session:
        """The same text with other options; an invalid text stays invalid."""
        plan = plan_document(self.document, plan_request)
        problems = self.problems if self.old else tuple(plan.problems)
        return replace(self, plan=plan, problems=problems, plan_request=plan_request)

    def with_text(self, text: str) -> Session:
        """Another text of the same file, as it is being edited; only the section that changed is read again."""
        current = self.written or self.document
        splice = difference(current.text, text)
        return self if splice is None else self._with(current.change([splice]), self.plan_request)

    def edited(self, edited: Edited) -> Session:
        """After an edit that was tried out."""
        return self._planned(edited.document, edited.plan, self.plan_request)

    def _with(self, document: Document, plan_request: PlanRequest) -> Session:
        plan = plan_document(document, plan_request)
        if any(problem.blocking for problem in plan.problems) and not self.broken:
            return replace(self, problems=tuple(plan.problems), old=True, written=document, pictured=False)
        return self._planned(document, plan, plan_request)

    def _planned(self, document: Document, plan: Plan, plan_request: PlanRequest) -> Session:
        return replace(
            self,
            document=document,
            plan=plan,
            problems=tuple(plan.problems),
            plan_request=plan_request,
            old=False,
            written=None,
            pictured=False,
        )

    def on_nodes(self, nodes: tuple[Node, ...]) -> Session:
        """The same text on the nodes of a cluster, as if they had been asked for."""
        plan_request = replace(self.asked, nodes=nodes, topology_source="ray")
        return replace(self.wish(plan_request), asked=plan_request)

    @property
    def broken(self) -> bool:
        """Whether the plan on screen has blocking problems of its own."""
        return any(problem.blocking for problem in self.plan.problems)

    @property
    def errors(self) -> int:
        return sum(problem.severity == "error" for problem in self.problems)

    @property
    def warnings(self) -> int:
        return sum(problem.severity == "warning" for problem in self.problems)

    def locate(self, path: Path) -> tuple[int, int] | None:
        """Line and column of a value in `text`; None for what is only tried and not written there."""
        tried = self.plan_request.overrides if self.tried else ()
        if any(path[: len(other)] == other for other, _ in tried):
            return None
        return (self.written or self.document).locate(path)

    def rule_text(self, component: str) -> str | None:
        """The rule of a component as it is written, whether it can be placed or not; None where the file has none."""
        placed = self.plan.components.get(component)
        if placed is not None:
            return placed.rule.text.strip()
        found = self._unplaced_rule(component)
        if found is None:
            return None
        rule = found[1].get("placement") if isinstance(found[1], Mapping) else found[1]
        return "" if rule is None else str(rule).strip()

    def _unplaced_rule(self, component: str) -> tuple[Path, Any] | None:
        """Where the file has the rule of a component that cannot be placed, and what it says."""
        path: Path = framework_of(self.plan).rules_at or ()
        rules: Any = self.document.config if component in self.plan.unplaced and path else {}
        for part in path:
            rules = rules.get(part) if isinstance(rules, Mapping) else None
        for key, rule in rules.items() if isinstance(rules, Mapping) else ():
            if component in (name.strip() for name in key.split(",")):
                return (*path, key), rule
        return None

    def rule_spans(self, component: str) -> tuple[Span | None, Span | None]:
        """Where a component's rule is in the text, and the shares of all components."""
        placed, found = self.plan.components.get(component), self._unplaced_rule(component)
        path = placed.rule.path if placed else found[0] if found else ()
        document, shares = self.document, (SECTION, "shares")
        rule = document.span((*path, "placement")) or document.span(path) if path else None
        key, value = document.span(shares, at_key=True), document.span(shares)
        return rule, (key[0], value[1]) if key and value else None

    @property
    def name(self) -> str:
        """Of the file, without its folder."""
        return os.path.basename(self.file)

    @property
    def text(self) -> str:
        """The file as it is now, as far as it could be read."""
        return (self.written or self.document).text

    @property
    def tried(self) -> bool:
        """Whether something is tried that the file does not say."""
        return self.plan_request != self.asked


@dataclass(frozen=True, slots=True)
class Preview:
    """A rule while it is typed, and what it would change."""

    component: str
    text: str
    """As it is typed."""

    before: Session
    after: Session
    """With the text; the session before where the text gives no plan."""

    difference: Difference | None = None
    """Between their plans; None until it is worked out."""

    refusal: Refusal | None = None
    """Why the text gives no plan."""

    @property
    def was(self) -> str:
        return self.before.rule_text(self.component) or ""

    @property
    def shown(self) -> str:
        """The rule of the plan that is shown."""
        return self.after.rule_text(self.component) or ""

    @property
    def differs(self) -> bool:
        return self.text.strip() != self.was

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the rule, or would be wrong because of it."""
        if self.refusal is not None:
            why = self.refusal
            return (Problem(why.rule, why.reason, hint=why.hint, span=why.span, component=self.component),)
        known = {(one.rule, one.message) for one in self.before.problems}
        return tuple(
            one
            for one in self.after.problems
            if one.component == self.component or (one.rule, one.message) not in known
        )


def _picture_text(observation: Observation) -> str:
    """The file of a cluster as it is."""
    from placetui.document.new_file import picture_text
    from placetui.observe.picture import picture_of

    return picture_text(picture_of(observation))


def saved_text(observation: Observation, title: str) -> tuple[str, Sequence[str]]:
    """A file of the followed job, else of the whole cluster, and what a file cannot express.

    A job whose command line says where its ranks are is saved as started.
    """
    from placetui.document.new_file import picture_text
    from placetui.observe.picture import picture_of

    job = next((one for one in observation.jobs if one.name == observation.job), None)
    if job is not None and (text := _as_started(job, observation)):
        return f"# {title}\n{text}", ()
    picture = picture_of(observation, job.name if job is not None else "")
    return picture_text(picture, title), picture.notes


def _as_started(job: JobSummary, observation: Observation) -> str:
    """The file that a job's command line stands for, on the nodes as they are; empty if that is not what runs."""
    from placetui.frameworks.cluster_facts import RayJobSeen
    from placetui.frameworks.picture import topology_entry
    from placetui.frameworks.registry import framework
    from placetui.observe.drift import drift
    from placetui.observe.settled import SettledPlan

    try:
        said = framework(job.framework).configuration(RayJobSeen(job.ray_job, job.entrypoint), {})
        if said is None or not said.text:
            return ""
        nodes = nodes_of(observation)
        draft = Draft(Document(said.text, PICTURE))
        draft.put((SECTION, "topology"), {"nodes": [topology_entry(node) for node in nodes]})
    except (ValueError, EditRefused):
        return ""
    plan = plan_document(draft.document, PlanRequest(nodes, "ray"))
    settled = SettledPlan(plan).update(observation)
    fits = plan.components and not any(one.blocking for one in plan.problems) and not drift(settled, observation)
    return draft.document.text if fits else ""


def nodes_of(observation: Observation) -> tuple[Node, ...]:
    """The nodes that were seen, as something to place on; none if there are gaps."""
    ranks = [node.rank for node in observation.nodes]
    if ranks != list(range(len(ranks))):
        return ()
    return tuple(Node(len(node.devices), name=node.name, ip=node.ip) for node in observation.nodes)


def arranged(
    session: Session, plan_request: PlanRequest, layout: Layout | None, nodes: int, training: int | None
) -> Session:
    """The session for another request; a topology of another size also changes the file's number of nodes.

    `training` is the number of GPUs for training when disaggregated; None for what the framework gives it.
    """
    overrides: list[Any] = list(plan_request.overrides)
    framework = framework_of(session.plan)
    if plan_request.nodes is not None:
        overrides += framework.resize(nodes)
    plain = session.wish(replace(plan_request, overrides=tuple(overrides)))
    if layout is None or framework.arrange is None:
        return plain
    overrides += framework.arrange(plain.plan, layout, training, session.document.config)
    return session.wish(replace(plan_request, overrides=tuple(overrides)))


def what_if_applied(session: Session) -> Session | Refusal:
    """The session with what is tried written into its text."""
    tried, asked = session.plan_request, session.asked
    if tried.nodes != asked.nodes:
        asked = replace(asked, nodes=None, topology_source=DEFAULT_REQUEST.topology_source)
    plain = session.wish(session.asked).plan
    draft = Draft(session.document)
    try:
        for path, value in tried.overrides[len(session.asked.overrides) :]:
            if path == framework_of(plain).rules_at:
                draft = _with_rules(draft, plain, value)
            else:
                draft.put(path, value)
        if tried.nodes is not None and tried.nodes != session.asked.nodes:
            sizes = {"nodes": len(tried.nodes), "gpus_per_node": max(node.gpus for node in tried.nodes)}
            draft.put((SECTION, "topology"), sizes)
        if tried.mode != session.asked.mode:
            asked = replace(asked, mode=None)
            draft.put((SECTION, "mode"), tried.mode or plain.mode)
    except EditRefused as refused:
        return refused.refusal
    applied = replace(session, plan_request=asked, asked=asked)._with(draft.document, asked)
    if applied.old or applied.broken:
        problem = next(one for one in applied.problems if one.blocking)
        return Refusal.of(problem)
    return applied


def _with_rules(draft: Draft, before: Plan, rules: Mapping[str, Any]) -> Draft:
    """The rules of an arrangement, each in the place where the file has that component's."""
    changes: list[Change] = []
    for name, component in before.components.items():
        rule = rules.get(name)
        if rule is None:
            changes.append(Remove(name))
        elif isinstance(rule, str) and rule != component.rule.text.strip():
            changes.append(SetRule(name, rule, None if component.rule.groups == (CLUSTER,) else (CLUSTER,)))
    written = write(draft.document, changes)
    if isinstance(written, Refusal):
        raise EditRefused(written.reason, written.hint)
    return written
