"""All that waits for resources of a cluster, of any program, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.demand import ActorDemand, BundleDemand, GroupDemand
from placetui.frameworks.preflight import amounts
from placetui.frameworks.scheduling import Request, schedule
from placetui.frameworks.shortage import Shortage, amount_text, explain_wait
from placetui.placement.wording import listing
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import SAMPLER_NAMESPACE, RayActor, RayGroup, Tables, to_units
from placetui.runtime.scheduling.picture import ClusterPicture

WAITING_GROUPS = ("PENDING", "RESCHEDULING")
_IN_BUNDLE = re.compile(r"(\w+?)_group_(\d+)_([0-9a-f]+)$")
_IN_GROUP = re.compile(r"(\w+?)_group_([0-9a-f]+)$")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A placement group or an actor that waits."""

    kind: Literal["group", "actor"]
    id: str
    name: str
    job: str
    since: float
    """Seconds since the epoch; 0 where Ray does not say."""

    needs: tuple[BundleDemand, ...]
    shortage: Shortage

    def to_dict(self, picture: ClusterPicture) -> dict[str, Any]:
        """An entry of `placetui pending --json`."""
        return {
            "kind": self.kind,
            "id": self.id,
            "name": self.name,
            "job": self.job,
            "since": self.since or None,
            "needs": [{"resources": dict(one.resources), "count": one.count} for one in self.needs],
            "reason": self.shortage.sentence,
            "hint": self.shortage.hint,
            "nodes": [{"name": picture.title(gap.node), "missing": amounts(gap.missing)} for gap in self.shortage.gaps],
        }


def pending(head: Head) -> dict[str, Any]:
    """As `placetui pending --json` prints it."""
    picture, found = find_waiting(head, Tables(head.nodes(), head.living_actors(), head.groups()))
    return {"address": head.address, "schema": 1, "waiting": [one.to_dict(picture) for one in found] if picture else []}


def find_waiting(
    head: Head, tables: Tables, jobs: Sequence[RayJobSeen] | None = None
) -> tuple[ClusterPicture | None, list[Waiting]]:
    """What waits, longest first; what is free, and whose the rest is, is asked only if something does."""
    actors = [one for one in tables.actors if waits(one) and one.namespace != SAMPLER_NAMESPACE]
    groups = [one for one in tables.groups if one.state in WAITING_GROUPS]
    if not actors and not groups:
        return None, []
    if not tables.available:
        tables = replace(tables, available=head.available())
    picture = ClusterPicture.read(head, tables, jobs)
    by_id = {one.id: one for one in tables.groups}
    found = [waiting_group(one, picture) for one in groups]
    found += [_waiting_actor(one, by_id.get(one.group), picture) for one in actors]
    return picture, sorted(found, key=lambda one: one.since)


def waits(actor: RayActor) -> bool:
    """Whether an actor has no process yet: while Ray looks for one, the row names the node that was asked last."""
    return actor.state in ("PENDING_CREATION", "DEPENDENCIES_UNREADY", "RESTARTING") and not actor.worker


def waiting_group(group: RayGroup, picture: ClusterPicture) -> Waiting:
    """Why a group waits."""
    bundles: list[BundleDemand] = []
    for one in group.bundles:
        # Of one that lost a node, only what has to find another.
        if not one.node or group.state == "PENDING":
            last = bundles[-1] if bundles else None
            if last and (last.resources, last.labels) == (one.resources, one.labels):
                bundles[-1] = BundleDemand(one.resources, last.count + 1, one.labels)
            else:
                bundles.append(BundleDemand(one.resources, 1, one.labels))
    strategy: Any = group.strategy or "PACK"
    name = f"placement group {group.name}" if group.name else f"placement group {group.id[:12]}"
    request = GroupDemand(name, strategy, tuple(bundles))
    job = picture.owners.name(group.job, group.name, group.namespace)
    return Waiting("group", group.id, group.name, job, group.requested, tuple(bundles), _why(request, picture))


def _waiting_actor(actor: RayActor, group: RayGroup | None, picture: ClusterPicture) -> Waiting:
    needs, bundle = _asked(actor)
    name = f"actor {actor.title}"
    if actor.state == "DEPENDENCIES_UNREADY":
        shortage = Shortage(f"{name} waits for the results that it is created with", "see what computes them")
    elif group is not None and group.state in WAITING_GROUPS:
        shortage = Shortage(f"{name} waits for its placement group {group.title}", "see why the group waits")
    elif group is not None:
        shortage = _in_group(name, needs, bundle, group, picture)
    else:
        shortage = _why(ActorDemand(name, needs, 1, labels=actor.labels), picture)
    job = picture.owners.name(actor.job, actor.name, actor.namespace)
    return Waiting("actor", actor.id, actor.title, job, actor.since, (BundleDemand(needs),), shortage)


def _asked(actor: RayActor) -> tuple[dict[str, float], int | None]:
    """What an actor asks for, by the plain names of resources, and the bundle it wants."""
    needs: dict[str, float] = {}
    bundle = None
    for name, amount in actor.required.items():
        if found := _IN_BUNDLE.match(name):
            bundle = int(found[2])
        found = found or _IN_GROUP.match(name)
        plain = found[1] if found else name
        if plain != "bundle":
            needs[plain] = amount
    return needs, bundle


def _in_group(
    name: str, needs: Mapping[str, float], bundle: int | None, group: RayGroup, picture: ClusterPicture
) -> Shortage:
    """An actor that finds no room in its bundle."""
    which = "its group" if bundle is None else f"bundle {bundle}"
    inside = [one for one in picture.tables.actors if one.group == group.id]
    texts: list[str] = []
    for resource, amount in needs.items():
        key = f"{resource}_group_{group.id}" if bundle is None else f"{resource}_group_{bundle}_{group.id}"
        free = max((picture.tables.free(node, key) for node in picture.tables.available), default=0)
        if to_units(amount) > free:
            held = [
                f"{one.title} {one.required[key]:g}" for one in inside if one.required.get(key) and one.state == "ALIVE"
            ]
            by = f", reserved by {listing(held, 4)}" if held else ""
            texts.append(f"{amount_text(resource, to_units(amount))}, of which {free / 10_000:g} are free{by}")
    if not texts:
        return _unknown(name)
    where = f"{which} of placement group {group.title}"
    return Shortage(f"{name} needs in {where} {listing(texts)}", "lower its share, or those of the actors that have it")


def _why(request: Request, picture: ClusterPicture) -> Shortage:
    if schedule(picture.resources, [request])[0].verdict == "waits":
        return explain_wait(request, picture.resources, picture.holdings, picture.title)
    return _unknown(request.name)


def _unknown(name: str) -> Shortage:
    return Shortage(
        f"there is room for {name}: Ray is about to place it, or it is bound to a node",
        "check again in a moment, or check the node that it is bound to",
    )
