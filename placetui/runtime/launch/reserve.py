"""Reserving devices: a placement group, a look into each of its bundles, and their order.

`up`, groups of workers from Python and `create_placement_groups` all go this way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from placetui.frameworks.shortage import NODE_ID
from placetui.runtime.errors import ClusterError, NotPossible
from placetui.runtime.gcs.client import PLACED, Head
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.model import DEVICES, RayNode, Tables
from placetui.runtime.launch.demand import Demand
from placetui.runtime.launch.feasibility import NodeCheck, check, free_slots
from placetui.runtime.launch.ordering import Order, Probed, order
from placetui.runtime.launch.probe import probe
from placetui.runtime.policy import Deadline
from placetui.runtime.scheduling.pending import waiting_group
from placetui.runtime.scheduling.picture import ClusterPicture

Tell = Callable[[str], None]


def fit(
    head: Head, demand: Demand, nodes: Sequence[RayNode], stop: Callable[[], object]
) -> tuple[list[NodeCheck], Tables]:
    """See that there is room: the numbers of each node, and the tables they are from. `NotPossible` if there is none
    now.
    """
    end = time.monotonic() + head.policy.freed
    while True:
        tables = Tables(head.nodes(), head.living_actors(PLACED), available=head.available())
        checks = check(demand, nodes, tables)
        short = [one for one in checks if not one.fits]
        if not short:
            return checks, tables
        if any(not one.possible for one in short) or time.monotonic() > end:
            break
        stop()
        time.sleep(head.policy.poll)
    # Who holds what is asked only now: a head remembers removed groups forever.
    short = [one for one in check(demand, nodes, replace(tables, groups=head.groups())) if not one.fits]
    impossible = [one for one in short if not one.possible]
    why = "the plan does not fit" if impossible else "the cluster is busy"
    raise NotPossible(
        f"{why}: {'; '.join(one.sentence() for one in impossible or short)}",
        hint="plan for what there is" if impossible else "wait, or stop the job that has it",
        shortages=[one.to_dict() for one in short],
    )


def reserve_planned(
    ray: Any,
    head: Head,
    demand: Demand,
    nodes: Sequence[RayNode],
    tables: Tables,
    deadline: Deadline,
    *,
    job: str | None = None,
    tell: Tell | None = None,
    reserved: Callable[[], None] | None = None,
) -> tuple[Any, Order]:
    """Reserve the devices of a plan: each bundle on its planned node, and on the planned GPU if that is free. Of a
    `job` the group has the name, and outlives this process; else it ends with it. `tell` hears what is waited for,
    `reserved` is called when the group stands, before it is probed. Gives the placement group, and what it has for each
    device of the plan.
    """
    with planned_gpus_next(head, demand, nodes, tables, deadline):
        group, devices = reserve(
            ray,
            head,
            [bundle.resources(nodes[bundle.node].device) for bundle in demand.bundles],
            nodes,
            deadline,
            pins=[nodes[bundle.node] for bundle in demand.bundles],
            job=job,
            tell=tell,
            reserved=reserved,
        )
    try:
        return group, order(demand, nodes, devices)
    except ClusterError:
        if not job:
            remove(head, group.id.hex())
        raise


def reserve(
    ray: Any,
    head: Head,
    bundles: Sequence[Mapping[str, float]],
    nodes: Sequence[RayNode],
    deadline: Deadline,
    *,
    pins: Sequence[RayNode] = (),
    job: str | None = None,
    tell: Tell | None = None,
    reserved: Callable[[], None] | None = None,
) -> tuple[Any, list[Probed]]:
    """Create a placement group, wait until it stands, and learn what is in it: by node in the given order, then by
    position of the GPU. `pins` has the node of each bundle; without it, Ray decides. All else is as for
    `reserve_planned`.
    """
    group = _create(bundles, pins, **({"name": job, "lifetime": "detached"} if job else {}))
    number = group.id.hex()

    def waiting_for() -> str:
        row = head.group(number)
        if row is None:
            return "the placement group is gone"
        return waiting_group(row, ClusterPicture.read(head)).shortage.sentence

    try:
        _wait(head, number, deadline, waiting_for, tell)
        if reserved:
            reserved()
        row = head.group(number)
        if row is None or row.state != "CREATED":
            raise ClusterError("the placement group was removed by someone else in the meantime")
        probed = probe(ray, group, [bundle.node for bundle in row.bundles], deadline, device_in(bundles))
    except BaseException:
        if not job:
            remove(head, number)
        raise
    rank = {node.id: number for number, node in enumerate(nodes)}
    return group, sorted(probed, key=lambda one: (rank.get(one.node, len(rank)), one.position))


def device_in(bundles: Sequence[Mapping[str, float]]) -> str:
    """The name that devices have in these bundles."""
    return next((name for bundle in bundles for name in bundle if name in DEVICES), DEVICES[0])


def remove(head: Head, group: str) -> None:
    """Remove a placement group, once it can be without loss."""
    end = time.monotonic() + head.policy.settle
    while time.monotonic() < end and (row := head.group(group)) and not row.settled:
        time.sleep(head.policy.poll)
    head.remove_group(group)


@contextmanager
def planned_gpus_next(
    head: Head, demand: Demand, nodes: Sequence[RayNode], tables: Tables, deadline: Deadline
) -> Iterator[None]:
    """While this lasts, the next bundles get the planned GPUs: others that are free are held by groups of ours.

    Ray gives a bundle the lowest GPU that is free: a plan that leaves out GPU 0 would get it all the same.
    """
    held: list[str] = []
    try:
        for rank, node in enumerate(nodes):
            planned = [bundle.position for bundle in demand.bundles if bundle.node == rank]
            free = free_slots(node, tables)
            if free is not None:
                _hold(head, node, in_the_way(planned, free), len(free), deadline, held)
        yield
    finally:
        for group in held:
            # At the end the driver may have gone already, and its groups with it.
            with suppress(ClusterError):
                remove(head, group)


def _hold(
    head: Head, node: RayNode, slots: Sequence[tuple[int, bool]], free: int, deadline: Deadline, held: list[str]
) -> None:
    """Hold those of the slots that are to be kept from the job; their groups are added to `held`."""
    released: list[str] = []
    for _, keep in slots:
        # One after the other: each gets the lowest that is left.
        group = _create([{node.device: 1}], [node]).id.hex()
        held.append(group)
        _wait(head, group, deadline, lambda: f"GPUs of {node.ip} cannot be held for a moment")
        if not keep:
            released.append(group)
    for group in released:
        remove(head, group)
        held.remove(group)
    if released:
        free -= len(slots) - len(released)
        # Not longer than that: somebody else may have taken one, and what the job got is checked afterwards.
        end = time.monotonic() + head.policy.settle
        deadline.until(
            lambda: head.available().get(node.id, {}).get(node.device, 0) >= free or time.monotonic() > end or None,
            lambda: f"GPUs of {node.ip} that were held for a moment are not free again",
        )


def in_the_way(planned: Sequence[int], free: Sequence[int]) -> list[tuple[int, bool]]:
    """Free GPUs up to the last planned one, each with whether to keep it from the job; none if all is well."""
    if not planned or not set(planned) <= set(free) or list(planned) == list(free[: len(planned)]):
        return []
    before = [slot for slot in free if slot < max(planned)]
    last_unplanned = max(slot for slot in before if slot not in planned)
    return [(slot, slot not in planned) for slot in before if slot <= last_unplanned]


def _create(bundles: Sequence[Mapping[str, float]], pins: Sequence[RayNode], **options: Any) -> Any:
    if pins:
        options["bundle_label_selector"] = [{NODE_ID: node.id} for node in pins]
    create = import_ray("ray.util.placement_group").placement_group
    return create([dict(one) for one in bundles], strategy="PACK", **options)


def _wait(head: Head, group: str, deadline: Deadline, waiting_for: Callable[[], str], tell: Tell | None = None) -> None:
    deadline.until(lambda: head.wait_for_group(group) or None, waiting_for, tell)
