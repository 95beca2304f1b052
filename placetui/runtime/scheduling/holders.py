"""Who holds what of each node, by the job it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.shortage import Holding
from placetui.placement.environment import NAMESPACE
from placetui.placement.wording import age
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode, Tables, to_units
from placetui.runtime.jobs.records import Record
from placetui.runtime.scheduling.free import PLACED_GROUPS


@dataclass(frozen=True)
class Owners:
    """The jobs of a cluster, to say whose something is."""

    jobs: Sequence[RayJobSeen]
    records: Sequence[Record]
    now: float

    @cached_property
    def _job_by_id(self) -> Mapping[str, RayJobSeen]:
        return {job.id: job for job in self.jobs}

    @cached_property
    def _record_by_name(self) -> Mapping[str, Record]:
        return {record.job: record for record in self.records}

    def of(self, ray_job: str, name: str, namespace: str, *, left_behind: bool = False) -> tuple[str, str]:
        """Whose something is, in words, and how to end that."""
        if namespace == NAMESPACE:
            job = name.partition("/")[0]
            if record := self._record_by_name.get(job):
                return _job(job, record.owner, age(record.created, self.now)), f"placetui down {job}"
        if seen := self._job_by_id.get(ray_job):
            if seen.dead or left_behind:
                return f"{name or 'something'} left behind by job {seen.title}, which has ended", ""
            return _job(
                seen.title, seen.user or seen.driver_ip, age(seen.started, self.now)
            ), f"placetui down {seen.title}"
        return _job(ray_job, "", ""), ""

    def name(self, ray_job: str, name: str, namespace: str) -> str:
        """Name of the job that something belongs to."""
        if namespace == NAMESPACE and name.partition("/")[0] in self._record_by_name:
            return name.partition("/")[0]
        seen = self._job_by_id.get(ray_job)
        return seen.title if seen else ray_job


def _job(name: str, owner: str, since: str) -> str:
    details = ", ".join(part for part in (owner, since) if part)
    return f"job {name}{f' ({details})' if details else ''}"


def holdings(tables: Tables, owners: Owners) -> list[Holding]:
    """What is held of the nodes, by job; the rest are tasks."""
    found: dict[tuple[str, str, str], dict[str, int]] = {}

    def add(node: str, owner: tuple[str, str], resources: Iterable[tuple[str, float]]) -> None:
        held = found.setdefault((node, *owner), {})
        for name, amount in resources:
            held[name] = held.get(name, 0) + to_units(amount)

    for group in tables.groups:
        if group.state in PLACED_GROUPS:
            owner = _owner(group, owners)
            for bundle in group.bundles:
                if bundle.node:
                    add(bundle.node, owner, bundle.resources.items())
    for actor in tables.actors:
        if actor.node and not actor.group and actor.state in ("ALIVE", "RESTARTING"):
            add(actor.node, owners.of(actor.job, actor.title, actor.namespace), actor.required.items())
    by_node: dict[str, list[dict[str, int]]] = {}
    for (where, *_), held in found.items():
        by_node.setdefault(where, []).append(held)
    for node in tables.nodes:
        rest = _rest(node, tables, by_node.get(node.id, []))
        if rest:
            found[node.id, "tasks, or processes that are starting", ""] = rest
    return [Holding(node, who, held, end) for (node, who, end), held in found.items() if any(held.values())]


def _owner(group: RayGroup, owners: Owners) -> tuple[str, str]:
    title = f"placement group {group.title}" if group.abandoned else group.name
    return owners.of(group.job, title, group.namespace, left_behind=group.abandoned)


def _rest(node: RayNode, tables: Tables, held: Sequence[dict[str, int]]) -> dict[str, int]:
    rest = {
        name: node.units(name) - tables.free(node.id, name) - sum(one.get(name, 0) for one in held)
        for name in (node.device, "CPU")
    }
    return {name: units for name, units in rest.items() if units > 0}


def waits(actor: RayActor) -> bool:
    """Whether an actor has no process yet: while Ray looks for one, the row names the node that was asked last."""
    return actor.state in ("PENDING_CREATION", "DEPENDENCIES_UNREADY", "RESTARTING") and not actor.worker
