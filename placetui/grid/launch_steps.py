"""The steps of a launch in words, as `up` and the dashboard show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from placetui.placement.wording import count, listing


def connected(step: Mapping[str, Any]) -> str:
    """`10.0.0.1:6379, Ray 2.54.1, 2 nodes`."""
    return f"{step['address']}, Ray {step['ray']}, {count(step['nodes'], 'node')}"


def matched(step: Mapping[str, Any], most: int) -> str:
    """Which node is which, of at most this many; or what it waits for."""
    if "waiting_for" in step:
        return f"waiting: {step['waiting_for']}"
    nodes = (f"{one['rank']} = {one['ip']} ({count(one['gpus'], 'GPU')})" for one in step["nodes"])
    return f"node {listing(nodes, most)}, by {step['by']}"


def needed(step: Mapping[str, Any]) -> str:
    """What the plan takes in all: `16 GPUs and 16 CPUs`."""
    amounts: Counter[str] = Counter()
    for one in step["nodes"]:
        amounts[one["resource"]] += one["needed"]
    named = {name: f"{name}s" if name.endswith("PU") and number != 1 else name for name, number in amounts.items()}
    return listing(f"{number:g} {named[name]}" for name, number in amounts.items()) or "nothing"


def reserved(step: Mapping[str, Any]) -> str:
    """How many bundles stand, or what they wait for."""
    return count(step["bundles"], "bundle") if "bundles" in step else f"waiting: {step['waiting_for']}"


def moved(step: Mapping[str, Any]) -> str:
    """Whether the probe found the planned devices."""
    return f"{count(len(step['moved']), 'rank')} moved" if step["moved"] else "as planned"
