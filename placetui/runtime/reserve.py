"""The placement group of a job: a bundle for each occupied device, tied to the node that the plan names."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from placetui.runtime.demand import Demand
from placetui.runtime.errors import Refused, Silent
from placetui.runtime.feasibility import NodeCheck, check, free_slots
from placetui.runtime.jobs import SETTLE_PATIENCE
from placetui.runtime.model import RayNode, Tables
from placetui.runtime.private import Head
from placetui.runtime.waiting import Patience

NODE_ID = "ray.io/node-id"
"""A label that every node has."""

BUSY_PATIENCE = 3.0
"""Seconds in which what somebody has just let go becomes free."""


def fit(
    head: Head, demand: Demand, nodes: Sequence[RayNode], stop: Callable[[], object]
) -> tuple[list[NodeCheck], Tables]:
    """See that there is room: the numbers of each node, and the tables they are from.

    Raises:
        Refused: there is not, or not now.
    """
    deadline = time.monotonic() + BUSY_PATIENCE
    while True:
        tables = head.tables()
        checks = check(demand, nodes, tables)
        short = [one for one in checks if not one.fits]
        if not short:
            return checks, tables
        if any(not one.possible for one in short) or time.monotonic() > deadline:
            break
        stop()
        time.sleep(0.2)
    impossible = [one for one in short if not one.possible]
    why = "the plan does not fit" if impossible else "the cluster is busy"
    raise Refused(
        f"{why}: {'; '.join(one.sentence() for one in impossible or short)}",
        hint="plan for what there is" if impossible else "wait for them, or end what holds it",
        shortages=[one.to_dict() for one in short],
    )


def reserve(
    head: Head,
    job: str | None,
    demand: Demand,
    nodes: Sequence[RayNode],
    patience: Patience,
    tell: Callable[[str], None] | None = None,
) -> Any:
    """Create the group, and wait until it stands; `tell` hears what it waits for.

    That of a job has its name and outlives this process; without a job it ends with it.
    """
    placed = [nodes[bundle.node] for bundle in demand.bundles]
    options = {"name": job, "lifetime": "detached"} if job else {}
    group = _create([bundle.resources for bundle in demand.bundles], placed, **options)
    number = group.id.hex()

    def lacking() -> str:
        try:
            tables = head.tables()
        except Silent as problem:
            return problem.message
        short = [one.sentence() for one in check(demand, nodes, tables) if not one.fits]
        state = next((f"{one.state}, {one.scheduling}" for one in tables.groups if one.id == number), "gone")
        return "; ".join(short) or f"the placement group is {state}"

    try:
        _wait(head, number, patience, lacking, tell)
    except BaseException:
        if not job:
            remove(head, number)
        raise
    return group


def remove(head: Head, group: str) -> None:
    """Remove a placement group, once it can be without loss."""
    deadline = time.monotonic() + SETTLE_PATIENCE
    while time.monotonic() < deadline and any(one.id == group and not one.settled for one in head.groups()):
        time.sleep(0.005)
    head.remove_group(group)


class Fillers:
    """Groups that hold GPUs for a moment, so that the job's bundles get the planned ones.

    Ray gives a bundle the lowest GPU that is free: a plan that leaves out GPU 0 would get it all the same.
    """

    def __init__(self, head: Head, patience: Patience) -> None:
        self._head = head
        self._patience = patience
        self._groups: list[Any] = []

    def fill(self, demand: Demand, nodes: Sequence[RayNode], tables: Tables) -> None:
        """Hold every free GPU before the last planned one that the plan leaves out."""
        for rank, node in enumerate(nodes):
            planned = [bundle.position for bundle in demand.bundles if bundle.node == rank]
            free = free_slots(node, tables)
            if free is not None:
                self._fill_node(node, in_the_way(planned, free), len(free))

    def _fill_node(self, node: RayNode, slots: Sequence[tuple[int, bool]], free: int) -> None:
        wanted: list[Any] = []
        for _, keep in slots:
            # One after the other: each gets the lowest that is left.
            group = _create([{"GPU": 1}], [node])
            self._groups.append(group)
            _wait(self._head, group.id.hex(), self._patience, lambda: f"GPUs of {node.ip} cannot be held for a moment")
            if not keep:
                wanted.append(group)
        for group in wanted:
            self._remove(group)
        if wanted:
            free -= len(slots) - len(wanted)
            # Not longer than that: somebody else may have taken one, and what the job gets is looked at afterwards.
            end = time.monotonic() + SETTLE_PATIENCE
            self._patience.until(
                lambda: self._head.available().get(node.id, {}).get("GPU", 0) >= free or time.monotonic() > end or None,
                lambda: f"GPUs of {node.ip} that were held for a moment are not free again",
            )

    def release(self) -> None:
        """Let everything go that is still held."""
        for group in list(self._groups):
            self._remove(group)

    def _remove(self, group: Any) -> None:
        self._groups.remove(group)
        # At the end the driver may have gone already, and its fillers with it.
        with suppress(Exception):
            remove(self._head, group.id.hex())


def in_the_way(planned: Sequence[int], free: Sequence[int]) -> list[tuple[int, bool]]:
    """Free GPUs up to the last planned one, each with whether to keep it from the job; none if all is well."""
    if not planned or not set(planned) <= set(free) or list(planned) == list(free[: len(planned)]):
        return []
    before = [slot for slot in free if slot < max(planned)]
    last_unplanned = max(slot for slot in before if slot not in planned)
    return [(slot, slot not in planned) for slot in before if slot <= last_unplanned]


def _create(resources: list[dict[str, float]], nodes: Sequence[RayNode], **options: Any) -> Any:
    from ray.util.placement_group import placement_group

    selectors = [{NODE_ID: node.id} for node in nodes]
    return placement_group(resources, strategy="PACK", bundle_label_selector=selectors, **options)


def _wait(
    head: Head,
    group: str,
    patience: Patience,
    lacking: Callable[[], str],
    tell: Callable[[str], None] | None = None,
) -> None:
    def created() -> bool | None:
        return True if any(one.id == group and one.state == "CREATED" for one in head.groups()) else None

    patience.until(created, lacking, tell)
