"""Which actor of a running RLinf job is which rank: its name and its environment say it all.

RLinf reserves nothing in Ray. A worker owns the devices that its environment lists, by their physical ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from placetui.frameworks.cluster_facts import ActorSeen, ClusterFacts, RankSeen
from placetui.placement.plan import Plan

PROBE = "_RemoteNodeProbe"
MANAGERS = {
    "WorkerManager": "worker manager",
    "CollectiveManager": "collective manager",
    "NodeManager": "node manager",
    "DeviceLockManager": "device lock manager",
    "PortLockManager": "port lock manager",
    "NetEmulationManager": "network emulation manager",
    "Tracer": "tracer",
}
"""Actors whose name is their class."""

CHANNEL = "ChannelWorker"
"""A queue, which may be called as the group of a component that is not launched."""

SERVICE_CLASSES = {
    CHANNEL: "channel",
    "SchedulerWorker": "scheduler",
    "SGLangRouterWorker": "router",
    "OnlineRouterWorker": "router",
    "ServerRolloutWorker": "rollout server",
    "AgentLightningRolloutWorker": "rollout server",
    "HttpToolWorker": "tool",
}
"""Workers that no rule places, by class."""

_STARTED_BY_ENV = re.compile(r"(?:\w+Controller|EmbodiedRewardWorker)-\d+-\d+")
"""Groups that a worker of `env` makes for itself."""

NO_ACCELERATOR = "NO_ACCEL"


def identify(facts: ClusterFacts, plan: Plan | None) -> Iterator[RankSeen]:
    """The ranks and services of a job, if it is RLinf's."""
    workers = [actor for actor in facts.actors if is_worker(actor)]
    managers = [actor for actor in facts.actors if _manager(actor)]
    if not workers and not any(actor.class_name == PROBE or _has_namespace(actor) for actor in managers):
        return
    components = {part.group_name: name for name, part in plan.components.items() if part.group_name} if plan else {}
    robots = frozenset(plan.topology.robot_kinds) if plan else None
    for actor in workers:
        group = actor.environment["GROUP_NAME"]
        service = _service(actor, group, components)
        yield RankSeen(
            actor.id,
            actor.job,
            components.get(group, group) if service is None else f"{service} {group}",
            int(actor.environment["RANK"]),
            _number(actor.environment.get("WORLD_SIZE")),
            owned(actor.environment, robots),
            "environment",
            service is not None,
            _number(actor.environment.get("CLUSTER_NODE_RANK")),
        )
    for actor in managers:
        yield RankSeen(actor.id, actor.job, _manager(actor), service=True)
    for actor in facts.actors:
        # Made by a worker: it has inherited that one's environment.
        if not actor.name and "GROUP_NAME" in actor.environment:
            yield RankSeen(actor.id, actor.job, f"child of {actor.environment['GROUP_NAME']}", service=True)


def is_worker(actor: ActorSeen) -> bool:
    """Whether its environment says that it is what it is called."""
    said = actor.environment
    name = f"{said.get('GROUP_NAME')}:{said.get('RANK')}"
    return (
        bool(actor.name)
        and actor.name == said.get("WORKER_NAME") == name
        and actor.namespace == said.get("CLUSTER_NAMESPACE")
        and said["RANK"].isdecimal()
    )


def owned(environment: Mapping[str, str], robots: frozenset[str] | None = None) -> tuple[int, ...]:
    """Physical ids of the devices that a worker owns; none on a node, on a robot, or without an accelerator.

    `robots` are the node groups of robots, where the file is known.
    """
    numbers = _numbers(environment.get("LOCAL_HARDWARE_RANKS", ""))
    if environment.get("ACCELERATOR_TYPE", NO_ACCELERATOR) == NO_ACCELERATOR:
        return ()
    if robots is not None:
        return () if environment.get("NODE_GROUP_LABEL") in robots else numbers
    # A process on a node or a robot sees all GPUs of the node; one on GPUs sees those that it owns.
    return numbers if set(numbers) == set(_numbers(environment.get("VISIBLE_DEVICES", ""))) else ()


def _service(actor: ActorSeen, group: str, components: Mapping[str, str]) -> str | None:
    """What a worker that is no rank is; None: a rank."""
    if group in components and actor.class_name != CHANNEL:
        return None
    if actor.class_name in SERVICE_CLASSES:
        return SERVICE_CLASSES[actor.class_name]
    if _STARTED_BY_ENV.fullmatch(group):
        return "controller"
    # The file has all components; a group that it does not name is a helper.
    return "worker" if components else None


def _manager(actor: ActorSeen) -> str:
    if actor.class_name == PROBE:
        return "node probe"
    return MANAGERS.get(actor.class_name, "") if actor.name == actor.class_name else ""


def _has_namespace(actor: ActorSeen) -> bool:
    return actor.environment.get("CLUSTER_NAMESPACE") == actor.namespace


def _numbers(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    return tuple(int(word) for word in words) if all(map(str.isdecimal, words)) else ()


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
