"""The result of `placetui preflight` in lines: on stdout, and in the dashboard."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from placetui.grid.look.text import table
from placetui.placement.problems import Problem
from placetui.placement.wording import clean, listing

MOST_HOLDERS = 3
"""Of a node, that are named."""


def preflight_lines(found: Mapping[str, Any], file: str) -> Iterator[str]:
    """What fits and what does not, why, and then the nodes; `found` as `placetui preflight --json` prints it."""
    where = f" on {found['address']}" if found.get("address") else ""
    yield f"{clean(os.path.basename(file))}{where}: {'fits' if found['fits'] else 'does not fit'}"
    asked = [_group(one) for one in found["groups"]]
    asked += [_actors(one) for one in found["actors"] if one["resources"] or not one["fits"]]
    if asked:
        yield from table([("REQUEST", "NEEDS", "VERDICT"), *asked])
    else:
        yield "the framework reserves no GPUs or CPUs in Ray, so Ray always starts its actors"
    for problem in found["problems"]:
        fields = {name: problem[name] for name in ("rule", "message", "severity", "hint", "file", "line", "column")}
        yield from Problem(**fields).format().splitlines()
    for note in found["notes"]:
        yield f"note: {clean(note['message'])}"
        yield f"  hint: {clean(note['hint'])}"
    yield ""
    yield from table([("NODE", "GPU", "CPU", "RESERVED BY"), *map(_node, found["nodes"])])


def _group(one: Mapping[str, Any]) -> tuple[str, ...]:
    needs = listing(f"{bundle['count']} × {_amounts(bundle['resources'])}" for bundle in one["bundles"])
    return one["name"], f"{one['strategy']} {needs}", _verdict(one)


def _actors(one: Mapping[str, Any]) -> tuple[str, ...]:
    inside = f" in {one['group']}" if one["group"] else ""
    return one["name"], f"{one['count']} × {_amounts(one['resources'])}{inside}", _verdict(one)


def _verdict(one: Mapping[str, Any]) -> str:
    names, used = one.get("nodes") or [], one.get("node_count", 0)
    if one["verdict"] != "fits" or not names:
        return str(one["verdict"])
    return f"fits on {f'{used} of ' if used < len(names) else ''}{listing(names, 4)}"


def _node(one: Mapping[str, Any]) -> tuple[str, ...]:
    holders = [f"{held['who']}: {_amounts(held['resources'])}" for held in one["held_by"]]
    kinds = ("NPU" if "NPU" in one["total"] else "GPU", "CPU")
    counted = [(one["free"].get(name, 0), one["total"].get(name, 0)) for name in kinds]
    free = ["?" if total is None else f"{unused:g}/{total:g}" for unused, total in counted]
    return one["name"], *free, listing(holders, MOST_HOLDERS)


def _amounts(resources: Mapping[str, float]) -> str:
    shown = {name: amount for name, amount in resources.items() if amount}
    return " + ".join(f"{amount:g} {name}" for name, amount in shown.items()) or "nothing"
