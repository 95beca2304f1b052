"""From an operation on the grid to changes of the file, or to a refusal. Pure: nothing is changed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.frameworks.registry import framework_of
from placetui.placement.config.settings import SECTION
from placetui.placement.edits import (
    Edit,
    EditRefused,
    Operation,
    Refusal,
    SetMode,
    SetShare,
    SetValue,
)
from placetui.placement.plan import SHARE_UNITS, Plan
from placetui.placement.wording import listing, quoted


def propose(plan: Plan, operation: Operation, config: Mapping[str, Any]) -> Edit | Refusal:
    """What an operation would change in the file, whose values are given as written."""
    try:
        if isinstance(operation, SetShare):
            return _share(plan, operation)
        if isinstance(operation, SetMode):
            return _mode(plan, operation)
        framework = framework_of(plan)
        if framework.edit is None:
            raise EditRefused(f"{framework.title} files cannot be edited here", "edit the text")
        return framework.edit(plan, operation, config)
    except EditRefused as refused:
        return refused.refusal


def _share(plan: Plan, operation: SetShare) -> Edit:
    name, share = operation.component, operation.share
    component = plan.components.get(name)
    if component is None:
        raise EditRefused(f"the file has no component `{name}`", f"it has {listing(quoted(plan.components))}")
    path = (SECTION, "shares", name)
    if share is None:
        return Edit(f"default share of {name}", (SetValue(path, None),))
    if component.units is None:
        raise EditRefused(f"`{name}` is placed on nodes or robots, which have no shares")
    units = round(share * SHARE_UNITS) if 0 < share <= 1 else 0
    if not units:
        raise EditRefused(
            f"{share:g} is not a share", "write a fraction of a GPU: above 0, at most 1, in steps of 0.0001"
        )
    return Edit(f"share of {name}: {units / SHARE_UNITS:g}", (SetValue(path, units / SHARE_UNITS),))


def _mode(plan: Plan, operation: SetMode) -> Edit:
    framework = framework_of(plan)
    if not framework.modes:
        raise EditRefused(f"{framework.title} files have no other mode")
    if operation.mode is not None and operation.mode not in framework.modes:
        raise EditRefused(f"there is no mode `{operation.mode}`", f"choose one of {listing(quoted(framework.modes))}")
    label = f"mode {operation.mode}" if operation.mode else "default mode"
    return Edit(label, (SetValue((SECTION, "mode"), operation.mode),), free=True)
