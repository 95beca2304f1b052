"""From an operation on the grid to splices of the text, tried out before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from placetui.placement.components import COMPONENTS, split_labels
from placetui.placement.edit_types import (
    AddRule,
    Change,
    Edit,
    JoinComponents,
    Operation,
    Refusal,
    Refused,
    RemoveComponent,
    RenameComponent,
    SetRule,
    SetValue,
    Wanted,
)
from placetui.placement.edits import propose
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Problem, listing, quoted
from placetui.placement.seats import makes_its_processes
from placetui.placement.settings import SECTION
from placetui.placement.topology import CLUSTER

from .document import Document
from .draft import Draft, Written
from .nodes import Alias
from .planning import NO_WISHES, Wishes, plan_document
from .splice import Splice

BETWEEN_COMPONENTS = frozenset(
    {
        "mp_neither_mode",
        "mp_inference_in_collocated",
        "mp_auto_order",
        "mp_auto_not_disaggregated",
        "ma_actor_reward",
        "ma_rollout_subset",
        "ma_conflict",
    }
)
"""Rules about how components stand to each other. From one sound layout to another there may be no way that keeps to
them at every step: these are shown, not refused."""

_BY_COMPONENT = ("shares", "memory", "launch")
"""Parts of the `placetui:` section whose keys are components."""


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit that was tried out and gives what was asked for."""

    label: str
    splices: tuple[Splice, ...]
    """From the old text to the new, each counted in the text that the one before left."""

    document: Document
    plan: Plan
    """Of the new text."""

    problems: tuple[Problem, ...] = ()
    """Errors that the edit brings about between components; a second edit may solve them."""


def attempt(document: Document, plan: Plan, operation: Operation, wishes: Wishes = NO_WISHES) -> Edited | Refusal:
    """Try an operation: the new text with its plan, or why not. `document` stays as it is.

    Args:
        document: the text.
        plan: of this text, under the same wishes.
        operation: what is asked for.
        wishes: what the user asks for beside the file.
    """
    if any(problem.blocking for problem in document.problems):
        return Refusal(f"the file is broken: {document.problems[0].message}", "correct its text first")
    edit = propose(plan, operation, document.config)
    if isinstance(edit, Refusal):
        return edit
    draft = write(document, edit.changes)
    if isinstance(draft, Refusal):
        return draft
    after = plan_document(draft.document, wishes)
    known = {(problem.rule, problem.message) for problem in plan.problems}
    fresh = [one for one in after.problems if one.blocking and (one.rule, one.message) not in known]
    for problem in fresh:
        if problem.rule not in BETWEEN_COMPONENTS:
            return Refusal(problem.message, problem.hint)
    reason = _unwanted(plan, after, edit)
    if reason:
        hint = "a value that is tried out (`--set`) may hide the change" if wishes.overrides else ""
        return Refusal(reason, hint)
    return Edited(edit.label, tuple(draft.splices), draft.document, after, tuple(fresh))


def write(document: Document, changes: Iterable[Change]) -> Draft | Refusal:
    """The text after changes, whatever plan it then gives; `document` stays as it is."""
    draft = Draft(document)
    try:
        for change in changes:
            _write(draft, change)
    except Refused as refused:
        return refused.refusal
    return draft


def _unwanted(before: Plan, after: Plan, edit: Edit) -> str | None:
    """What the new plan has that was not asked for, in a sentence."""
    wanted: dict[str, Wanted | None] = {}
    if not edit.free and edit.wanted:
        for name, component in before.components.items():
            wanted[name] = Wanted.of(component, makes_its_processes(before, component))
    wanted.update(edit.wanted)
    for name, seats in wanted.items():
        found = after.components.get(name)
        if seats is None and found is not None:
            return f"`{name}` would still be there"
        if seats is not None and (found is None or not seats.met_by(found)):
            return f"`{name}` would {'not be where it is wanted' if name in edit.wanted else 'move as well'}"
    strangers = [name for name in after.components if name not in wanted]
    if strangers and not edit.free and edit.wanted:
        return f"{listing(quoted(strangers))} would appear"
    return None


# From changes to entries


def _write(draft: Draft, change: Change) -> None:
    if isinstance(change, SetRule):
        _set_rule(draft, change)
    elif isinstance(change, AddRule):
        draft.put((*COMPONENTS, change.component), _rule(change.text, change.groups))
    elif isinstance(change, RemoveComponent):
        _take_out(draft, change.component)
        for path in _mentions(draft, change.component):
            _remove(draft, path)
    elif isinstance(change, RenameComponent):
        _rename(draft, change.component, change.name)
    elif isinstance(change, JoinComponents):
        _take_out(draft, change.component)
        key = _key_of(draft, change.into)
        draft.rename((*COMPONENTS, key), f"{key},{change.component}")
    else:
        _set_value(draft, change)


def _set_rule(draft: Draft, change: SetRule) -> None:
    key = _key_of(draft, change.component)
    path = (*COMPONENTS, key)
    value = _components(draft)[key]
    if len(_names(key)) > 1:
        groups = change.groups or _groups(value)
        left = _take_out(draft, change.component)
        draft.insert_after((*COMPONENTS, left), change.component, _rule(change.text, groups))
    elif not isinstance(value, Mapping) or isinstance(draft.document.walk(path)[-1][1], Alias):
        draft.put(path, _rule(change.text, change.groups or _groups(value)))
    else:
        if change.groups is not None:
            draft.put((*path, "node_group"), ",".join(change.groups))
        draft.put((*path, "placement"), change.text)


def _rule(text: str, groups: tuple[str, ...]) -> Written:
    return text if groups == (CLUSTER,) else {"node_group": ",".join(groups), "placement": text}


def _groups(value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping) and "node_group" in value:
        return split_labels(value["node_group"])
    return (CLUSTER,)


def _take_out(draft: Draft, component: str) -> str:
    """Remove a component from its key, or the whole entry; return the key that is left."""
    key = _key_of(draft, component)
    names = _names(key)
    if len(names) == 1:
        draft.remove((*COMPONENTS, key))
        return ""
    parts = key.split(",")
    del parts[names.index(component)]
    left = ",".join(parts).strip()
    draft.rename((*COMPONENTS, key), left)
    return left


def _rename(draft: Draft, component: str, name: str) -> None:
    key = _key_of(draft, component)
    parts = key.split(",")
    index = _names(key).index(component)
    parts[index] = parts[index].replace(component, name)
    draft.rename((*COMPONENTS, key), ",".join(parts))
    for path in _mentions(draft, component):
        draft.rename(path, name)
    train = _section(draft.document.config, SECTION).get("train")
    if isinstance(train, list) and component in train:
        draft.put((SECTION, "train", train.index(component)), name)


def _mentions(draft: Draft, component: str) -> list[Path]:
    """Where the `placetui:` section speaks of a component."""
    section = _section(draft.document.config, SECTION)
    return [(SECTION, part, component) for part in _BY_COMPONENT if component in _section(section, part)]


def _set_value(draft: Draft, change: SetValue) -> None:
    if change.value is not None:
        draft.put(change.path, change.value)
    elif len(draft.document.walk(change.path)) > len(change.path):
        _remove(draft, change.path)


def _remove(draft: Draft, path: Path) -> None:
    """Remove an entry, and the sections that it leaves empty unless somebody wrote a comment there."""
    while len(path) > 1:
        holder: Any = draft.document.config
        for part in path[:-1]:
            holder = holder[part]
        key, node = draft.document.walk(path[:-1])[-1]
        if len(holder) > 1 or isinstance(node, Alias) or key is None or "#" in draft.text[key.start : node.end]:
            break
        path = path[:-1]
    draft.remove(path)


def _components(draft: Draft) -> Mapping[str, Any]:
    return _section(_section(draft.document.config, COMPONENTS[0]), COMPONENTS[1])


def _section(config: Mapping[str, Any], name: str | int) -> Mapping[str, Any]:
    value = config.get(str(name))
    return value if isinstance(value, Mapping) else {}


def _key_of(draft: Draft, component: str) -> str:
    for key in _components(draft):
        if component in _names(key):
            return key
    raise Refused(f"the file has no component `{component}`")


def _names(key: str) -> list[str]:
    return [name.strip() for name in key.split(",")]
