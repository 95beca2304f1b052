"""Which actor of a running verl job is which rank.

Ray's tables say it all: names of groups and actors, bundles, and RANK in the runtime environment. A rank of training is
a worker. A rank of `rollout`, `reward_model` or a teacher is a server; the workers that hold its GPUs are services.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placetui.frameworks.cluster_facts import ActorSeen, ClusterFacts, DeviceSource, RankSeen
from placetui.frameworks.verl.layout import ROLE_ORDER
from placetui.placement.plan import Plan
from placetui.placement.wording import listing

RUNNERS = frozenset({"TaskRunnerV1", "FullyAsyncTaskRunner", "FullyAsyncTrainer", "OneStepTaskRunner"})
"""Classes that only verl has. `TaskRunner` alone may be anybody's."""

SERVICES = {
    "TaskRunnerV1": "task runner",
    "TaskRunner": "task runner",
    "FullyAsyncTaskRunner": "task runner",
    "OneStepTaskRunner": "task runner",
    "FullyAsyncTrainer": "trainer process",
    "FullyAsyncRollouter": "rollouter",
    "MessageQueue": "message queue",
    "RewardLoopWorker": "reward loop worker",
    "RewardComputeWorker": "reward compute worker",
    "AgentLoopWorker": "agent loop worker",
    "AgentLoopWorkerTQ": "agent loop worker",
    "GlobalRequestLoadBalancer": "load balancer",
    "TransferQueueController": "transfer queue controller",
    "SimpleStorageUnit": "transfer queue storage",
    "WorkerGroupRegisterCenter": "register center",
    "RewardManagerWorker": "reward manager",
}
"""What the other actors of such a job are, by class."""

_OWN_POOLS = {"reward": "reward_model", "critic": "critic", "rollout": "rollout"}
"""Components of workers that do not train the policy, by the first word of their pool."""

_GROUP = re.compile(r"(?P<pool>.*)verl_group_(?P<sizes>\d+(?:_\d+)*):(?P<index>\d+)")
_WORKER_CLASSES = ("WorkerDict", "TrainingWorker")
_REPLICA_CLASSES = ("CheckpointEngineWorker", "vLLMAsyncRollout", "ServerAdapter")
"""Of workers that hold the GPUs of a replica; the last two up to 0.7.0, by engine."""

_WORKER = re.compile(
    rf"(?P<prefix>.*?)(?P<class>{'|'.join(_WORKER_CLASSES + _REPLICA_CLASSES)})_(?P<group>\d+):(?P<bundle>\d+)"
)
_REPLICA = re.compile(
    r"rollout_(?:(?P<kind>reward|teacher)_)?(?P<mode>standalone|colocate)_(?P<replica>\d+)(?:_(?P<teacher>.+))?"
)
_SERVER = re.compile(
    r"(?P<engine>vllm|sglang)_server_(?:(?P<kind>reward|teacher|decode)_)?(?P<replica>\d+)_(?P<part>\d+)"
    r"(?:_(?P<teacher>.+))?"
)
_WHOLE_SERVER = re.compile(r"(?:trtllm_server_(?:(?P<kind>reward)_)?|async_llm_server_)(?P<replica>\d+)")
"""Of TensorRT-LLM, and of any engine up to 0.5."""

_TASK = re.compile(r"WorkerDict\.(actor_rollout_ref|actor_rollout|actor|critic|ref|rm)_")


class _Server(NamedTuple):
    """A server actor, by what its name says."""

    actor: ActorSeen
    component: str
    replica: int
    part: int
    decode: bool = False


def identify(facts: ClusterFacts, plan: Plan | None) -> Iterator[RankSeen]:
    """The ranks and services of a job, if it is one of verl."""
    if not is_verl(facts):
        return
    plan = plan if plan is not None and plan.framework == "verl" else None
    workers: list[ActorSeen] = []
    replicas: dict[tuple[str, int], list[ActorSeen]] = {}
    servers: list[_Server] = []
    for actor in facts.actors:
        name = actor.bare_class
        if name in _WORKER_CLASSES:
            workers.append(actor)
        elif name in _REPLICA_CLASSES and (found := _replica_of(actor)) is not None:
            replicas.setdefault(found, []).append(actor)
        elif (server := _server_of(actor)) is not None:
            servers.append(server)
        elif name in SERVICES:
            yield RankSeen(actor.id, actor.job, SERVICES[name], service=True)
    pools: dict[str, list[ActorSeen]] = {}
    for actor in workers:
        pools.setdefault(_pool_of(facts, actor) or _prefix(actor), []).append(actor)
    named = {pool: _OWN_POOLS.get(pool.split("_")[0], "") for pool in pools}
    training = [one for pool, found_here in pools.items() if not named[pool] for one in found_here]
    hold = {named[pool]: found_here for pool, found_here in pools.items() if named[pool]}
    yield from _servers(facts, servers, replicas, lambda component: hold.get(component, training), plan)
    served = {one.component for one in servers}
    shared = any(one.component == "rollout" and ("rollout", one.replica) not in replicas for one in servers)
    serves = shared and "rollout" not in hold if "rollout" in served else "trainer_pool" not in pools
    for pool, found_here in pools.items():
        name, note = (named[pool], "") if named[pool] else _training(found_here, plan, serves=serves)
        for actor in found_here:
            if name in served:
                yield RankSeen(actor.id, actor.job, f"{name} worker", service=True)
            else:
                yield _worker(facts, actor, name, note)
    for (component, number), found_workers in replicas.items():
        for actor in found_workers:
            note = f"worker {_rank(facts, actor)} of replica {number} of {component}"
            yield RankSeen(actor.id, actor.job, f"{component} worker", service=True, note=note)


def is_verl(facts: ClusterFacts) -> bool:
    """Whether the actors of a job are verl's: its own runner, or a group with a name of its pattern."""
    own = {actor.group for actor in facts.actors if actor.group}
    jobs = {actor.job for actor in facts.actors}
    if any(actor.bare_class in RUNNERS for actor in facts.actors):
        return True
    return any(_GROUP.fullmatch(one.name) for one in facts.groups if one.id in own or one.job in jobs)


def _pool_of(facts: ClusterFacts, actor: ActorSeen) -> str:
    group = facts.group_by_id.get(actor.group)
    found = _GROUP.fullmatch(group.name) if group is not None else None
    return found["pool"] if found else ""


def _replica_of(actor: ActorSeen) -> tuple[str, int] | None:
    """Component and number of the replica whose GPUs a worker holds."""
    worker = _WORKER.fullmatch(actor.name)
    prefix = actor.environment.get("WG_PREFIX") or (worker["prefix"] if worker else "")
    found = _REPLICA.fullmatch(prefix)
    return (_component(found["kind"], found["teacher"]), int(found["replica"])) if found else None


def _server_of(actor: ActorSeen) -> _Server | None:
    found = _SERVER.fullmatch(actor.name)
    if found:
        component = _component(found["kind"], found["teacher"])
        return _Server(actor, component, int(found["replica"]), int(found["part"]), found["kind"] == "decode")
    found = _WHOLE_SERVER.fullmatch(actor.name)
    return _Server(actor, _component(found["kind"], None), int(found["replica"]), 0) if found else None


def _component(kind: str | None, teacher: str | None) -> str:
    return f"teacher:{teacher or 'default'}" if kind == "teacher" else "reward_model" if kind == "reward" else "rollout"


def _rank(facts: ClusterFacts, actor: ActorSeen) -> int:
    """RANK of its environment; failing that, as its name counts."""
    told = actor.environment.get("RANK", "")
    if told.isdecimal():
        return int(told)
    found = _WORKER.fullmatch(actor.name)
    group = facts.group_by_id.get(actor.group)
    return int(found["group"]) * len(group.bundles if group else ()) + int(found["bundle"]) if found else 0


def _training(actors: Sequence[ActorSeen], plan: Plan | None, *, serves: bool) -> tuple[str, str]:
    """What the workers of a pool are called, and what to say of them. Their tasks tell, else the plan."""
    keys = {found[1] for actor in actors for task in actor.tasks if (found := _TASK.search(task))}
    components = plan.components.values() if plan is not None else ()
    planned = next((one for one in components if one.roles or one.name == "trainer"), None)
    name = next((key for key in ("actor_rollout_ref", "actor_rollout", "actor") if key in keys), "")
    if actors[0].bare_class == "TrainingWorker":
        name = "trainer"
    elif not name:
        name = planned.name if planned is not None else "actor_rollout" if serves else "actor"
    roles = sorted({role for key in keys for role in key.split("_")}, key=ROLE_ORDER.index)
    if planned is not None and planned.name == name:
        roles = list(planned.roles)
    return name, f"{listing(roles)} in one process" if len(roles) > 1 else ""


def _prefix(actor: ActorSeen) -> str:
    found = _WORKER.fullmatch(actor.name)
    return found["prefix"] if found else actor.environment.get("WG_PREFIX", "")


def _worker(facts: ClusterFacts, actor: ActorSeen, component: str, note: str = "") -> RankSeen:
    world = actor.environment.get("WORLD_SIZE", "")
    group = facts.group_by_id.get(actor.group)
    sizes = _GROUP.fullmatch(group.name) if group is not None else None
    size = int(world) if world.isdecimal() else sum(map(int, sizes["sizes"].split("_"))) if sizes else None
    return RankSeen(
        actor.id, actor.job, component, _rank(facts, actor), size, *_devices(facts, actor, [actor]), note=note
    )


def _devices(
    facts: ClusterFacts, actor: ActorSeen, workers: Iterable[ActorSeen]
) -> tuple[tuple[int, ...], DeviceSource | None]:
    """The GPUs that Ray gave the workers of an actor, else those that it was measured on; and who says so."""
    if devices := tuple(sorted({gpu for one in workers for gpu in facts.booked(one)})):
        return devices, "ray"
    measured = facts.measured(actor)
    return measured, "nvml" if measured else None


def _servers(
    facts: ClusterFacts,
    servers: Sequence[_Server],
    replicas: Mapping[tuple[str, int], Sequence[ActorSeen]],
    holders: Callable[[str], Sequence[ActorSeen]],
    plan: Plan | None,
) -> Iterator[RankSeen]:
    """Servers as parts of replicas: rank = replica x parts + part."""
    for component in dict.fromkeys(one.component for one in servers):
        mine = [one for one in servers if one.component == component]
        planned = plan.components.get(component) if plan is not None else None
        ordered = {
            replica: _by_part(one for one in mine if one.replica == replica)
            for replica in sorted({one.replica for one in mine})
        }
        parts = 1 + max(part for found in ordered.values() for part in found)
        sizes: tuple[int, ...] = ()
        # Prefill and decode have sizes of their own, which only the configuration says.
        is_known = planned is not None or not any(one.decode for one in mine)
        if planned is not None and planned.engines:
            parts = max(parts, planned.parts_per_engine or 1)
            sizes = tuple(len(one.devices) for one in planned.placements[:parts])
        # Replicas on the GPUs of training have the first numbers.
        own = [number for name, number in replicas if name == component]
        hybrid = min(own, default=1 + max(ordered))
        for replica, found in ordered.items():
            workers = _Workers(facts, replicas.get((component, replica), ()))
            first, size = 0, workers.size
            if not workers.by_rank:
                workers = _Workers(facts, holders(component))
                size = sum(sizes) or workers.size // max(1, hybrid)
                first = replica * size
            for part, server in found.items():
                cut = workers.of(first, size, part, parts, sizes) if is_known else ()
                here = [one for one in cut if one.node == server.actor.node]
                booked = (component, replica) in replicas
                yield RankSeen(
                    server.actor.id,
                    server.actor.job,
                    component,
                    replica * parts + part,
                    planned.world_size if planned is not None else (max(ordered) + 1) * parts,
                    *_devices(facts, server.actor, here),
                    note="" if booked else "on the GPUs of training; Ray reserves nothing for it",
                )


def _by_part(servers: Iterable[_Server]) -> dict[int, _Server]:
    """The servers of a replica: prefill or parts first, then those that decode. Of two with a name, the last one."""
    found = sorted(servers, key=lambda one: (one.decode, one.part, not one.actor.is_dead, one.actor.started))
    first = 1 + max((one.part for one in found if not one.decode), default=0 if found[0].decode else -1)
    return {one.part + (first if one.decode else 0): one for one in found}


class _Workers:
    """Workers by rank, some of which may be missing."""

    def __init__(self, facts: ClusterFacts, actors: Iterable[ActorSeen]) -> None:
        self.by_rank = {
            _rank(facts, one): one for one in sorted(actors, key=lambda one: (not one.is_dead, one.started))
        }
        told = [one.environment.get("WORLD_SIZE", "") for one in self.by_rank.values()]
        self.size = max((int(text) for text in told if text.isdecimal()), default=1 + max(self.by_rank, default=-1))

    def of(self, first: int, size: int, part: int, parts: int, sizes: tuple[int, ...]) -> Iterator[ActorSeen]:
        """The workers of a part of the replica that begins at `first`: as the plan has it, else equal parts."""
        cut = sizes if len(sizes) == parts and sum(sizes) == size else (size // parts,) * parts
        begin = first + sum(cut[:part])
        return (self.by_rank[rank] for rank in range(begin, begin + cut[part]) if rank in self.by_rank)
