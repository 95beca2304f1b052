"""A cluster as Ray's scheduler sees it: its nodes, what is free, who holds the rest, and what could be added."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.preflight import ClusterNode
from placetui.frameworks.scheduling import UNIT_INSTANCES, NodeResources, allocate, units
from placetui.frameworks.shortage import Holding
from placetui.placement.environment import NAMESPACE
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.wording import age
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import SAMPLER_NAMESPACE, RayActor, RayBundle, RayGroup, RayNode, Tables, to_units
from placetui.runtime.gcs.rows import read_node_types
from placetui.runtime.jobs import records
from placetui.runtime.jobs.records import Record
from placetui.runtime.watch.recognition import with_user

PLACED_GROUPS = ("PREPARED", "CREATED", "RESCHEDULING")
"""States of groups whose bundles hold something."""

_AUTOSCALER = b"__autoscaler"
_AUTOSCALER_CONFIG = b"__autoscaler_cluster_config"


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

    @cached_property
    def _record_by_ray_job(self) -> Mapping[str, Record]:
        """Of drivers that launched one job; one that launched several, as the dashboard's may, tells nothing."""
        launched = Counter(record.ray_job for record in self.records)
        return {one.ray_job: one for one in self.records if one.ray_job and launched[one.ray_job] == 1}

    def record(self, ray_job: str, name: str, namespace: str) -> Record | None:
        """The job that placetui launched to which something belongs: its driver ends as soon as it is launched."""
        found = self._record_by_name.get(name.partition("/")[0]) if namespace == NAMESPACE else None
        return found or self._record_by_ray_job.get(ray_job)

    def of(self, ray_job: str, name: str, namespace: str, *, left_behind: str = "") -> tuple[str, str]:
        """Whose something is, in words, and how to end that; `left_behind` says what it is where its program ended."""
        if record := self.record(ray_job, name, namespace):
            return _job(record.job, record.owner, age(record.created, self.now)), f"placetui down {record.job}"
        if seen := self._job_by_id.get(ray_job):
            if seen.dead or left_behind:
                return f"{left_behind or name or 'something'} left behind by job {seen.title}, which has ended", ""
            return _job(
                seen.title, seen.user or seen.driver_ip, age(seen.started, self.now)
            ), f"placetui down {seen.title}"
        return _job(ray_job, "", ""), ""

    def name(self, ray_job: str, name: str, namespace: str) -> str:
        """Name of the job that something belongs to."""
        if record := self.record(ray_job, name, namespace):
            return record.job
        seen = self._job_by_id.get(ray_job)
        return seen.title if seen else ray_job


def _job(name: str, owner: str, since: str) -> str:
    details = ", ".join(part for part in (owner, since) if part)
    return f"job {name}{f' ({details})' if details else ''}"


@dataclass(frozen=True, slots=True)
class ClusterPicture:
    """Read at one moment."""

    tables: Tables
    nodes: tuple[ClusterNode, ...]
    holdings: tuple[Holding, ...]
    owners: Owners
    titles: Mapping[str, str]
    """What people call nodes, by id."""

    @classmethod
    def read(cls, head: Head, tables: Tables | None = None, jobs: Sequence[RayJobSeen] | None = None) -> ClusterPicture:
        """Of a cluster whose tables and jobs are known, or are read first."""
        tables = tables or head.tables()
        jobs = head.jobs() if jobs is None else jobs
        owners = Owners(tuple(map(with_user, jobs)), records.find_all(head), time.time())
        titles = node_titles(tables.nodes)
        by_id = {node.id: node for node in tables.nodes}
        nodes = tuple(ClusterNode(titles[one.name], by_id[one.name].ip, one) for one in node_resources(tables))
        return cls(tables, nodes, tuple(holdings(tables, owners)), owners, titles)

    @property
    def resources(self) -> list[NodeResources]:
        return [node.resources for node in self.nodes]

    def title(self, node: str) -> str:
        return self.titles.get(node, node[:12])


def node_titles(nodes: Sequence[RayNode]) -> dict[str, str]:
    """By id: the host, with its address where hosts have one name, and numbered where these are equal, too."""
    hosts = Counter(node.host or node.ip for node in nodes)
    seen: Counter[str] = Counter()
    found: dict[str, str] = {}
    for node in nodes:
        host = node.host or node.ip
        text = f"{host} ({node.ip})" if hosts[host] > 1 else host
        seen[text] += 1
        found[node.id] = text if seen[text] == 1 else f"{text} #{seen[text]}"
    return found


# What is free


def node_resources(tables: Tables) -> list[NodeResources]:
    """The nodes on which Ray places something new, under their ids."""
    actors: defaultdict[str, list[RayActor]] = defaultdict(list)
    bundles: defaultdict[str, list[tuple[str, int, RayBundle]]] = defaultdict(list)
    for actor in tables.actors:
        actors[actor.node].append(actor)
    for group in sorted(tables.groups, key=lambda one: one.requested):
        if group.state in PLACED_GROUPS:
            for index, bundle in enumerate(group.bundles):
                bundles[bundle.node].append((group.id, index, bundle))
    found = []
    for node in tables.nodes:
        if node.draining:
            continue
        total = {name: to_units(amount) for name, amount in node.resources.items() if "_group_" not in name}
        free = {name: tables.free(node.id, name) for name in total}
        parts = {}
        for name in (one for one in total if one in UNIT_INSTANCES):
            placed = actors[node.id] if name == node.device else []
            parts[name] = _devices(name, total[name], free[name], placed, bundles[node.id])
        found.append(NodeResources(node.id, total, free, node.labels, parts))
    return found


def _devices(
    resource: str,
    total: int,
    free: int,
    actors: Iterable[RayActor],
    bundles: Iterable[tuple[str, int, RayBundle]],
) -> tuple[int, ...]:
    """What is free of each device. Where the head does not say which one is held, it is the one a raylet takes."""
    devices = [SHARE_UNITS] * (total // SHARE_UNITS)
    if free == total or not devices:
        return tuple(devices)
    slot_of: dict[tuple[str, int], int] = {}
    for actor in actors:
        for slot, part in actor.slots.items():
            if actor.group:
                slot_of[actor.group, actor.bundles.get(slot, -1)] = slot
            elif slot < len(devices):
                devices[slot] -= to_units(part)
    for group, index, bundle in bundles:
        amount = to_units(bundle.resources.get(resource, 0))
        slot = slot_of.get((group, index), len(devices))
        if 0 < amount <= SHARE_UNITS and slot < len(devices) and devices[slot] >= amount:
            devices[slot] -= amount
        elif amount:
            allocate(devices, amount)
    # Tasks hold devices, too, and nobody says which.
    rest = sum(devices) - free
    if rest > 0:
        allocate(devices, rest)
    return tuple(max(0, part) for part in devices)


# Who holds the rest


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
        if actor.namespace == SAMPLER_NAMESPACE:
            continue
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
    left_behind = f"placement group {group.title}" if group.abandoned else ""
    return owners.of(group.job, group.name, group.namespace, left_behind=left_behind)


def _rest(node: RayNode, tables: Tables, held: Sequence[dict[str, int]]) -> dict[str, int]:
    rest = {
        name: node.units(name) - tables.free(node.id, name) - sum(one.get(name, 0) for one in held)
        for name in (node.device, "CPU")
    }
    return {name: units for name, units in rest.items() if units > 0}


# What could be added


@dataclass(frozen=True, slots=True)
class NodeType:
    """A kind of node that an autoscaler can add."""

    name: str
    resources: dict[str, int]
    most: int

    def nodes(self) -> list[NodeResources]:
        return [NodeResources(f"{self.name} #{number}", self.resources, self.resources) for number in range(self.most)]


def addable(head: Head, nodes: Sequence[RayNode]) -> list[NodeType]:
    """What the cluster's autoscaler may add, as it told the head; nothing where there is none."""
    written = head.get(_AUTOSCALER, _AUTOSCALER_CONFIG)
    found: list[NodeType] = []
    for kind in read_node_types(written) if written else ():
        there = sum(node.labels.get("ray.io/node-group") == kind.name for node in nodes)
        most = min(64, max(0, kind.max_count - there))
        if most:
            found.append(NodeType(kind.name, {name: units(amount) for name, amount in kind.resources.items()}, most))
    return found
