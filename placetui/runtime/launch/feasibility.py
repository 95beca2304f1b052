"""Whether a plan fits on the nodes it is matched with, in integers; if not, what is missing and who holds it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from placetui.placement.plan import SHARE_UNITS
from placetui.placement.wording import listing
from placetui.runtime.gcs.model import RayNode, Tables, amount, to_units
from placetui.runtime.launch.demand import Demand

RESOURCES = ("GPU", "CPU")


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """One resource of one node: what is asked, what there is."""

    node: int
    address: str
    resource: str
    needed: int
    """In 1/10000, as the others."""

    free: int
    """GPUs: whole ones, since a bundle takes a whole one."""

    total: int
    holders: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return self.needed <= self.free

    @property
    def possible(self) -> bool:
        """Whether it would fit if nobody else were there."""
        return self.needed <= self.total

    def sentence(self) -> str:
        """`node 1 (10.0.0.2) needs 8 GPU, 3 of its 8 are free; reserved by …`."""
        text = f"node {self.node} ({self.address}) needs {amount(self.needed)} {self.resource}, "
        if not self.possible:
            text += f"it has {amount(self.total)}"
        else:
            text += f"{amount(self.free)} of its {amount(self.total)} are free"
        return f"{text}; reserved by {listing(self.holders, 6)}" if self.holders else text

    def to_dict(self) -> dict[str, Any]:
        return {
            "node_rank": self.node,
            "node": self.address,
            "resource": self.resource,
            "needed": self.needed / SHARE_UNITS,
            "free": self.free / SHARE_UNITS,
            "total": self.total / SHARE_UNITS,
            "held_by": list(self.holders),
        }


def check(demand: Demand, nodes: Sequence[RayNode], tables: Tables) -> list[NodeCheck]:
    """GPU and CPU of every node that the plan uses, the nodes by planned rank."""
    found: list[NodeCheck] = []
    for rank, node in enumerate(nodes):
        needed = needed_on(demand, rank)
        for resource in RESOURCES:
            if not needed[resource]:
                continue
            name = node.device if resource == "GPU" else resource
            free = whole_gpus(node, tables) * SHARE_UNITS if resource == "GPU" else tables.free(node.id, resource)
            fits = needed[resource] <= free
            holders = () if fits else tuple(holders_of(node, name, tables))
            found.append(NodeCheck(rank, node.ip, name, needed[resource], free, node.units(name), holders))
    return found


def needed_on(demand: Demand, node: int) -> dict[str, int]:
    """What the plan takes of a planned node, in 1/10000."""
    bundles = [bundle for bundle in demand.bundles if bundle.node == node]
    cpus = sum(bundle.cpu_units for bundle in bundles)
    cpus += sum(needs.cpu_units for needs in demand.ranks if needs.node == node and not needs.bundles)
    cpus += sum(units for where, units in demand.outside if where == node)
    return {"GPU": len(bundles) * SHARE_UNITS, "CPU": cpus}


def used_slots(node: RayNode, tables: Tables) -> set[int]:
    """GPU slots of which some actor holds a part."""
    return {
        slot
        for actor in tables.actors
        if actor.node == node.id and actor.state in ("ALIVE", "RESTARTING")
        for slot in actor.slots
    }


def whole_gpus(node: RayNode, tables: Tables) -> int:
    """GPUs that nobody has any part of, as far as the head knows."""
    by_amount = tables.free(node.id, node.device) // SHARE_UNITS
    # Halves of two GPUs add up to one that nobody can have.
    by_slot = node.gpus - len(used_slots(node, tables))
    return max(0, min(by_amount, by_slot))


def free_slots(node: RayNode, tables: Tables) -> list[int] | None:
    """GPU slots that are free; None when somebody holds some of which the head does not say which."""
    used = used_slots(node, tables)
    free = [slot for slot in range(node.gpus) if slot not in used]
    return free if len(free) == whole_gpus(node, tables) else None


def expected_slots(demand: Demand, nodes: Sequence[RayNode], tables: Tables) -> list[int | None]:
    """For each bundle the GPU that it will probably get: its own if free, else the j-th free one."""
    found: list[int | None] = []
    for rank, node in enumerate(nodes):
        planned = [bundle.position for bundle in demand.bundles if bundle.node == rank]
        free = free_slots(node, tables)
        if free is None:
            found += [None] * len(planned)
        elif set(planned) <= set(free):
            found += planned
        else:
            found += [*free, *[None] * len(planned)][: len(planned)]
    return found


def holders_of(node: RayNode, resource: str, tables: Tables) -> Iterator[str]:
    """Who has reserved some of a resource on a node, in words."""
    rest = node.units(resource) - tables.free(node.id, resource)
    for group in tables.groups:
        if group.state not in ("CREATED", "RESCHEDULING", "PREPARED"):
            continue
        held = sum(to_units(one.resources.get(resource, 0)) for one in group.bundles if one.node == node.id)
        if held:
            rest -= held
            inside = [actor.title for actor in tables.actors if actor.group == group.id and actor.state == "ALIVE"]
            of = f" of {listing(inside, 3)}" if inside else ""
            yield f"placement group {group.title}{of} ({amount(held)} {resource})"
    for actor in tables.actors:
        held = to_units(actor.required.get(resource, 0))
        if held and actor.node == node.id and not actor.group and actor.state in ("ALIVE", "RESTARTING"):
            rest -= held
            yield f"actor {actor.title} ({amount(held)} {resource}, pid {actor.pid})"
    if rest > 0:
        yield f"tasks or others ({amount(rest)} {resource})"
