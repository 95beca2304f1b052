"""From an editing operation to splices of the text, verified before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from placetui.document.document import Document
from placetui.document.draft import Draft, Written
from placetui.document.planning import DEFAULT_REQUEST, PlanRequest, plan_document
from placetui.document.reading.parsing import AliasNode
from placetui.document.splice import Splice
from placetui.frameworks.editing import propose
from placetui.frameworks.registry import framework_for, framework_of
from placetui.placement.config.settings import SECTION
from placetui.placement.edits import (
    AddRule,
    Change,
    Edit,
    EditRefused,
    Join,
    Operation,
    Refusal,
    Remove,
    Rename,
    SetRule,
    Wanted,
)
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Problem
from placetui.placement.shares import DEFAULT_TRAIN
from placetui.placement.topology import CLUSTER, split_labels
from placetui.placement.wording import listing, quoted

_BY_COMPONENT = ("shares", "memory", "launch")
"""Parts of the `placetui:` section whose keys are components."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A verified edit: the new plan is what was requested."""

    label: str
    splices: tuple[Splice, ...]
    """From the old text to the new; positions refer to the text after the previous splice."""

    document: Document
    plan: Plan
    """Of the new text."""

    problems: tuple[Problem, ...] = ()
    """New errors between components, which a further edit may resolve."""


def attempt(
    document: Document, plan: Plan, operation: Operation, request: PlanRequest = DEFAULT_REQUEST
) -> Edited | Refusal:
    """Apply an operation to a document, given its plan under the same request: the new document, or why not."""
    broken = [problem for problem in document.problems_in(document.config) if problem in plan.problems]
    if broken:
        return Refusal(f"the file has errors: {broken[0].message}", "fix them first")
    edit = propose(plan, operation, document.config)
    if isinstance(edit, Refusal):
        return edit
    draft = write(document, edit.changes)
    if isinstance(draft, Refusal):
        return draft
    after = plan_document(draft.document, request)
    known = {(problem.rule, problem.message) for problem in plan.problems}
    fresh = [one for one in after.problems if one.blocking and (one.rule, one.message) not in known]
    tolerated = framework_of(plan).tolerated_rules
    for problem in fresh:
        if problem.rule not in tolerated:
            return Refusal.of(problem)
    reason = _unwanted(plan, after, edit)
    if reason:
        hint = "an overridden value (`--set`) may hide the change" if request.overrides else ""
        return Refusal(reason, hint)
    return Edited(edit.label, tuple(draft.splices), draft.document, after, tuple(fresh))


def write(document: Document, changes: Iterable[Change]) -> Draft | Refusal:
    """The draft after changes, without checking the plan."""
    draft = Draft(document)
    writer = _ChangeWriter(draft, framework_for(document.config).rules_at or ())
    try:
        for change in changes:
            writer.write(change)
    except EditRefused as refused:
        return refused.refusal
    return draft


def _unwanted(before: Plan, after: Plan, edit: Edit) -> str | None:
    """How the new plan differs from what was requested, in a sentence."""
    wanted: dict[str, Wanted | None] = {}
    if not edit.free and edit.wanted:
        for name, component in before.components.items():
            wanted[name] = Wanted.of(component, not component.sized_elsewhere)
    wanted.update(edit.wanted)
    for name, seats in wanted.items():
        found = after.components.get(name)
        if seats is None and found is not None:
            return f"`{name}` would still be there"
        if seats is not None and (found is None or not seats.met_by(found)):
            return f"`{name}` would {'not be where requested' if name in edit.wanted else 'also move'}"
    others = [name for name in after.components if name not in wanted]
    if others and not edit.free and edit.wanted:
        return f"{listing(quoted(others))} would appear"
    return None


class _ChangeWriter:
    """Applies changes to a draft."""

    def __init__(self, draft: Draft, rules: Path) -> None:
        self.draft = draft
        self.rules = rules
        """Where the file maps components to rules."""

    def write(self, change: Change) -> None:
        if isinstance(change, SetRule):
            self._set_rule(change)
        elif isinstance(change, AddRule):
            self.draft.put((*self.rules, change.component), _rule(change.text, change.groups))
        elif isinstance(change, Remove):
            self._take_out(change.component)
            for path in self._mentions(change.component):
                self._remove(path)
        elif isinstance(change, Rename):
            self._rename(change.component, change.name)
        elif isinstance(change, Join):
            self._take_out(change.component)
            key = self._key_of(change.into)
            self.draft.rename((*self.rules, key), f"{key},{change.component}")
        elif change.value is not None:
            self.draft.put(change.path, change.value)
        elif len(self.draft.document.walk(change.path)) > len(change.path):
            self._remove(change.path)

    def _set_rule(self, change: SetRule) -> None:
        draft = self.draft
        key = self._key_of(change.component)
        path = (*self.rules, key)
        value = self._entries(*self.rules)[key]
        if len(_names(key)) > 1:
            left = self._take_out(change.component)
            rule = _rule(change.text, change.groups or _groups(value))
            draft.insert_after((*self.rules, left), change.component, rule)
        elif not isinstance(value, Mapping) or isinstance(draft.document.walk(path)[-1][1], AliasNode):
            draft.put(path, _rule(change.text, change.groups or _groups(value)))
        else:
            if change.groups is not None:
                draft.put((*path, "node_group"), ",".join(change.groups))
            draft.put((*path, "placement"), change.text)

    def _take_out(self, component: str) -> str:
        """Remove a component from its key, or the whole entry; return the key that is left."""
        key = self._key_of(component)
        names = _names(key)
        if len(names) == 1:
            self.draft.remove((*self.rules, key))
            return ""
        parts = key.split(",")
        del parts[names.index(component)]
        left = ",".join(parts).strip()
        self.draft.rename((*self.rules, key), left)
        return left

    def _rename(self, component: str, name: str) -> None:
        self._keep_training(component, name)
        key = self._key_of(component)
        parts = key.split(",")
        index = _names(key).index(component)
        parts[index] = parts[index].replace(component, name)
        self.draft.rename((*self.rules, key), ",".join(parts))
        for path in self._mentions(component):
            self.draft.rename(path, name)

    def _keep_training(self, component: str, name: str) -> None:
        """Make the renamed component count as training if and only if it did before."""
        path = (SECTION, "train")
        train = self._entries(SECTION).get("train")
        if isinstance(train, list) and component in train:
            self.draft.put((*path, train.index(component)), name)
        elif isinstance(train, str) and component in _names(train):
            self.draft.put(path, ",".join(name if one == component else one for one in _names(train)))
        elif train is None and not {component, name}.isdisjoint(DEFAULT_TRAIN):
            components = [one for key in self._entries(*self.rules) for one in _names(key)]
            if len(components) > 1:
                self.draft.put(path, [name if one == component else one for one in components if one in DEFAULT_TRAIN])

    def _mentions(self, component: str) -> list[Path]:
        return [(SECTION, part, component) for part in _BY_COMPONENT if component in self._entries(SECTION, part)]

    def _remove(self, path: Path) -> None:
        """Remove an entry, and parent sections that become empty unless they contain a comment."""
        draft = self.draft
        while len(path) > 1:
            key, node = draft.document.walk(path[:-1])[-1]
            shared = len(self._entries(*path[:-1])) > 1 or isinstance(node, AliasNode)
            if shared or key is None or "#" in draft.text[key.start : node.end]:
                break
            path = path[:-1]
        draft.remove(path)

    def _entries(self, *path: str | int) -> Mapping[str, Any]:
        """The mapping at a path; empty where there is none."""
        value: Any = self.draft.document.config
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping) else {}

    def _key_of(self, component: str) -> str:
        for key in self._entries(*self.rules):
            if component in _names(key):
                return key
        raise EditRefused(f"the file has no component `{component}`")


def _rule(text: str, groups: tuple[str, ...]) -> Written:
    return text if groups == (CLUSTER,) else {"node_group": ",".join(groups), "placement": text}


def _groups(value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping) and "node_group" in value:
        return split_labels(value["node_group"])
    return (CLUSTER,)


def _names(key: str) -> list[str]:
    return [name.strip() for name in key.split(",")]
