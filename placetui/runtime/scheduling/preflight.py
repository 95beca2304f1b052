"""Whether a job would start on a cluster as it is now: read from the head's tables; nothing is started."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

from placetui.bridge.work import Work
from placetui.document import Document, PlanRequest, plan_document
from placetui.document.options import parse_override
from placetui.frameworks.cluster_facts import NODE_RANK, OUR_NAMESPACES
from placetui.frameworks.demand import PortDemand, RayDemand
from placetui.frameworks.preflight import Note, Preflight, preflight
from placetui.frameworks.registry import framework_of
from placetui.frameworks.scheduling import schedule
from placetui.observe.operations import job_name
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems
from placetui.placement.topology import Node
from placetui.placement.wording import count, listing
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import PLACED, Head
from placetui.runtime.gcs.driver import driver
from placetui.runtime.gcs.model import RayActor, RayNode
from placetui.runtime.jobs.state import is_taken
from placetui.runtime.launch.demand import demand_of
from placetui.runtime.launch.matching import match_by, usable
from placetui.runtime.launch.used import UseCheck
from placetui.runtime.policy import Deadline
from placetui.runtime.scheduling.picture import PLACED_GROUPS, ClusterPicture, NodeType, addable

_PATIENCE = 0.5
"""Seconds that a host has to answer."""

_MOST_PROBES = 64
"""Hosts of which a port is tried; the job chooses one of them."""


def preflight_job(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """`preflight` of a file, as a request to the child."""
    address = resolve_address(str(body["address"]))
    with closing(open_head(address)) as head:
        return {"address": address, **examine(head, body, work).to_dict()}


def examine(head: Head, body: Mapping[str, Any], work: Work) -> Preflight:
    """What would happen if the file were launched by its framework now."""
    picture = ClusterPicture.read(head)
    source = str(body["source"])
    nodes = usable(picture.tables.nodes)
    document = Document(str(body["text"]), source)
    plan, matched = _plan(document, body, nodes)
    # That there are too few GPUs is what Ray's scheduling says, with the reason.
    problems = [one for one in plan.problems if one.rule != "slime_not_enough_gpus"]
    resources = {picture.title(node.id): node.resources for node in nodes}
    named = {(one.namespace, one.name) for one in picture.tables.actors if one.name and one.state != "DEAD"}
    problems += framework_of(plan).cluster_problems(plan, resources, named)
    demand = framework_of(plan).demand(plan)
    ports = framework_of(plan).ports(Reader(document.config, Problems()))
    notes = [
        *_leftovers(head, picture, source),
        *port_notes(ports, {picture.title(node.id): node.ip for node in nodes}),
        *_used(head, plan, matched, picture, work),
    ]
    found = preflight(demand, picture.nodes, picture.holdings, problems, notes, source)
    if not found.fits and (hint := _with_more_nodes(demand, picture, addable(head, nodes))):
        hinted = [replace(one, hint=hint) if one.rule == "does_not_schedule" else one for one in found.problems]
        found = replace(found, problems=tuple(hinted))
    return found


def _plan(document: Document, body: Mapping[str, Any], nodes: Sequence[RayNode]) -> tuple[Plan, tuple[RayNode, ...]]:
    """The plan on the nodes of the cluster, and these in its framework's order."""
    request = PlanRequest(
        mode=body.get("mode"), overrides=tuple(parse_override(text) for text in body.get("overrides") or ())
    )
    plan = plan_document(document, request)
    ranks = {node.id: node.labels.get(NODE_RANK) for node in nodes}
    matched = match_by(framework_of(plan), nodes, "", ranks).nodes
    if plan.topology_source == "assumed":
        plan = plan_document(document, replace(request, nodes=tuple(map(planned, matched)), topology_source="ray"))
    return plan, matched


def _used(head: Head, plan: Plan, matched: Sequence[RayNode], picture: ClusterPicture, work: Work) -> Iterator[Note]:
    """GPUs of the plan in use, reserved in Ray or not: a small task on each node reads NVML."""
    wanted = demand_of(plan)
    if not wanted.bundles or len(plan.nodes) > len(matched):
        return
    try:
        with driver(head, matched) as ray:
            check = UseCheck(ray, head, wanted, matched[: len(plan.nodes)], picture.tables)
            used = list(check.look(Deadline(work, head.policy.node_ranks)))
    except ClusterError as problem:
        yield Note(f"who uses the GPUs could not be read: {problem}", problem.hint)
        return
    for one in used:
        yield Note(one.sentence(), "stop what uses it, or plan for other GPUs")


def planned(node: RayNode) -> Node:
    """A node of the cluster as a plan has it."""
    return replace(node.planned(), cpus=node.resources.get("CPU", 0))


def _leftovers(head: Head, picture: ClusterPicture, source: str) -> list[Note]:
    """Things of earlier runs that hold resources, or the name that a launch would take."""
    found: list[Note] = []
    name = job_name(source)
    if is_taken(head, name):
        message = f"there is already a job {name}, the name that placetui up would use"
        found.append(Note(message, f"placetui down {name}, or placetui up --job NAME"))
    return [*found, *left_groups(picture), *left_actors(picture)]


def left_groups(picture: ClusterPicture) -> Iterator[Note]:
    """Detached placement groups outlive the program that made them; those of a job of ours are the job's."""
    for group in picture.tables.groups:
        known = picture.owners.record(group.job, group.name, group.namespace)
        if group.abandoned and group.state in PLACED_GROUPS and not known:
            message = f"placement group {group.title} holds {count(len(group.bundles), 'bundle')}"
            hint = "remove it with ray.util.remove_placement_group"
            yield Note(f"{message}, and the program that created it has ended", hint)


def left_actors(picture: ClusterPicture) -> Iterator[Note]:
    """Detached actors outlive the program that made them."""
    ended = {job.id: job for job in picture.owners.jobs if job.dead}
    by_job: dict[str, list[RayActor]] = {}
    for actor in picture.tables.actors:
        if actor.job not in ended or actor.namespace in OUR_NAMESPACES or actor.state not in PLACED:
            continue
        if not picture.owners.record(actor.job, actor.name, actor.namespace):
            by_job.setdefault(actor.job, []).append(actor)
    for job, actors in by_job.items():
        kinds = listing(dict.fromkeys(one.class_name.rpartition(".")[2] or one.title for one in actors), 3)
        named = next((one for one in actors if one.name), None)
        get = f"ray.get_actor({named.name!r}, {named.namespace!r})" if named else "the actor"
        yield Note(
            f"job {ended[job].title} has ended, but {count(len(actors), 'detached actor')} of it still "
            f"{'runs' if len(actors) == 1 else 'run'}: {kinds}",
            f"end what is not needed with ray.kill({get})",
        )


def _with_more_nodes(demand: RayDemand, picture: ClusterPicture, kinds: Sequence[NodeType]) -> str:
    """What to say if it fits once the autoscaler has added nodes."""
    for kind in kinds:
        for number in range(1, kind.most + 1):
            more = kind.nodes()[:number]
            if all(one.verdict != "waits" for one in schedule([*picture.resources, *more], demand.requests)):
                return f"the autoscaler can add {count(number, 'node')} of type {kind.name}, and then it fits"
    return ""


def port_notes(ports: Sequence[PortDemand], nodes: Mapping[str, str]) -> list[Note]:
    """What is known of ports that a file fixes before its job starts; `nodes` are addresses by title."""
    probes = [
        (one, title, address)
        for one in ports
        for title, address in ([(one.host, one.host)] if one.host else list(nodes.items())[:_MOST_PROBES])
    ]
    if not probes:
        return []
    with ThreadPoolExecutor(max_workers=32) as pool:
        listens = list(pool.map(lambda probe: _listens(probe[2], probe[0].port), probes))
    notes: list[Note] = []
    for port in ports:
        found = [(title, there) for (one, title, _), there in zip(probes, listens, strict=True) if one is port]
        taken = [title for title, there in found if there]
        if port.serves and not taken:
            message = f"nothing listens on {port.host}:{port.port} ({port.setting})"
            notes.append(Note(message, "start it first, or correct the address"))
        elif taken and not port.serves:
            message = f"port {port.port} ({port.setting}) is in use on {listing(taken, 4)}"
            notes.append(Note(message, "end what an earlier run left there, or choose another port"))
    return notes


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE):
            return True
    except (OSError, UnicodeError):
        return False
