"""Who is on which GPU: the processes that NVML names, brought together with the actors that Ray knows.

The number of a process says little: it is given out again, and within a container the same process has another one.
So a number that fits has to be confirmed by the time at which the process began, or by its title. What cannot be
confirmed is left foreign, with a note that says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import is_

from placetui.frameworks.cluster_facts import DeviceSource
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample


@dataclass(frozen=True, slots=True)
class ProcessFact:
    """A process, as the /proc of its node tells."""

    pid: int
    started: float | None = None
    """Seconds since the epoch."""

    parent: int | None = None
    leader: int | None = None
    """Its process group, which bears the number of the process that leads it."""

    user: str | None = None
    command: str | None = None
    """Its title or command line."""

    inner_pid: int | None = None
    """Its number inside the container it runs in (the last of `NSpid`), where that is another one."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The processes of a node: those on its GPUs, and their ancestors."""

    processes: Mapping[int, ProcessFact] = field(default_factory=dict)
    complete: bool = True
    """Whether every process of the machine can be seen from where this was read: within a container they cannot."""


@dataclass(frozen=True, slots=True)
class ActorFact:
    """An actor that lives, or a worker that runs a task, as Ray tells."""

    node: int
    claim: Claim
    """What is true of it on each of its GPUs."""

    reserved: Mapping[int, float] = field(default_factory=dict)
    """Reserved by Ray: GPU (its index on the node) to the fraction of it."""

    claimed: tuple[int, ...] = ()
    """GPUs that the environment it was started with names."""

    bundles: Mapping[int, int] = field(default_factory=dict)
    """GPU (its place on the node) to the bundle of its placement group that holds it."""

    began: float | None = None
    """When its process began, where it has said so itself; seconds since the epoch, by its node's clock."""

    created: float | None = None
    """When it came to life, by the head's clock: its process had begun by then."""

    claimed_by: DeviceSource = "environment"
    """Who says that the claimed GPUs are its own."""

    def on(self, index: int) -> Claim:
        """Its claim on a GPU."""
        source: DeviceSource = "ray" if index in self.reserved else "nvml"
        if source == "nvml" and index in self.claimed:
            source = self.claimed_by
        return replace(
            self.claim,
            reserved=self.reserved.get(index),
            claimed=index in self.claimed,
            bundle=self.bundles.get(index),
            device_from=source if self.claim.component is not None else None,
        )


CLOCKS = 10.0
"""Seconds by which the clocks of two nodes may differ."""

ROUNDING = 1.5
"""Seconds by which the time at which a process began may differ from one reading to the other."""

UNSEEN = 2**30
"""Bytes in use beyond those of all processes, from which on somebody must hold them."""

_DEEPEST = 64
"""Ancestors that are asked at most."""

NO_FACTS = NodeFacts(complete=False)
"""Nobody has looked."""


class Attribution:
    """Names the processes of each observation; what did not change is not worked out again."""

    def __init__(self) -> None:
        self._nodes: dict[int, _Node] = {}
        self._actors: Iterable[ActorFact] = ()
        self._by_node: dict[int, tuple[ActorFact, ...]] = {}

    def apply(
        self, observation: Observation, facts: Mapping[int, NodeFacts], actors: Iterable[ActorFact]
    ) -> Observation:
        """The observation, with everybody on its GPUs named; `facts` by the rank of the node."""
        if actors is not self._actors:
            self._actors = actors
            grouped: defaultdict[int, list[ActorFact]] = defaultdict(list)
            for actor in actors:
                grouped[actor.node].append(actor)
            self._by_node = {rank: tuple(found) for rank, found in grouped.items()}
        nodes, named = self._nodes, []
        self._nodes = {}
        for sample in observation.nodes:
            known = nodes.get(sample.rank)
            here, who = facts.get(sample.rank, NO_FACTS), self._by_node.get(sample.rank, ())
            if known is None or not known.fits(here, who):
                known = _Node(here, who)
            self._nodes[sample.rank] = known
            named.append(known.name(sample))
        return replace(observation, nodes=tuple(named))


def attribute(node: NodeSample, facts: NodeFacts, actors: Iterable[ActorFact]) -> NodeSample:
    """A node with everybody on its GPUs named; `actors` are those of this node."""
    return _Node(facts, tuple(actors)).name(node)


class _Node:
    """What is known of a node, and what follows from it."""

    def __init__(self, facts: NodeFacts, actors: tuple[ActorFact, ...]) -> None:
        self._facts = facts
        self._actors = actors
        self._by_pid: defaultdict[int, list[ActorFact]] = defaultdict(list)
        self._owners: dict[ProcessFact, tuple[ActorFact | None, str | None]] = {}
        self._claims: defaultdict[int, dict[str, Claim]] = defaultdict(dict)
        self._sample: NodeSample | None = None
        self._named: NodeSample | None = None
        for actor in actors:
            self._by_pid[actor.claim.pid or 0].append(actor)
            for index in sorted({*actor.reserved, *actor.claimed}):
                self._claims[index][actor.claim.actor_id] = actor.on(index)

    def fits(self, facts: NodeFacts, actors: tuple[ActorFact, ...]) -> bool:
        same = facts is self._facts or facts == self._facts
        return same and (actors is self._actors or actors == self._actors)

    def name(self, sample: NodeSample) -> NodeSample:
        if sample is not self._sample or self._named is None:
            self._sample = sample
            devices = tuple(map(self._device, sample.devices))
            unchanged = all(map(is_, devices, sample.devices))
            self._named = sample if unchanged else replace(sample, devices=devices)
        return self._named

    def _device(self, device: DeviceSample) -> DeviceSample:
        base = self._claims.get(device.index, {})
        if not device.processes and not base and not device.memory_used:
            return device
        claims = dict(base)
        processes = []
        for process in device.processes:
            actor, named = self._process(process, device.index)
            processes.append(named)
            if actor is not None:
                claims.setdefault(actor.claim.actor_id, actor.on(device.index))
        unseen = self._unseen(device)
        if unseen is not None:
            processes.append(unseen)
        return replace(device, processes=tuple(processes), claims=tuple(claims.values()))

    def _process(self, process: ProcessSample, index: int) -> tuple[ActorFact | None, ProcessSample]:
        fact = self._facts.processes.get(process.pid)
        if fact is None and process.command is not None and self._facts is NO_FACTS:
            # Read by NVML alone. Where /proc was read too, a process that is missing there has ended since.
            fact = ProcessFact(process.pid, user=process.user, command=process.command)
        if fact is None:
            if self._facts.complete:
                note = "its process is gone, the memory is still in use"
                return None, ProcessSample(process.pid, process.memory, kind="gone", note=note)
            whose = "it belongs to another container or user, or has another id there"
            note = f"pid {process.pid} is not visible here: {whose}"
            return None, ProcessSample(process.pid, process.memory, note=note)
        if fact not in self._owners:
            self._owners[fact] = self._owner(fact)
        actor, unconfirmed = self._owners[fact]
        if actor is None:
            return None, ProcessSample(
                process.pid, process.memory, user=fact.user, command=fact.command, note=unconfirmed
            )
        own = actor.claim.pid in (fact.pid, fact.inner_pid)
        return actor, actor.on(index).process(
            process.pid,
            process.memory,
            # The actor's name says it all; what a child is, its command says. A task has its user besides.
            user=None if own and not actor.claim.task else fact.user,
            command=None if own else fact.command,
            group=actor.claim.group,
        )

    def _owner(self, process: ProcessFact) -> tuple[ActorFact | None, str | None]:
        """The actor that a process is, or belongs to; or none, with a word on one that it may be."""
        unconfirmed = None
        fact: ProcessFact | None = process
        for _ in range(_DEEPEST):
            if fact is None:
                break
            actor, doubt = self._match(fact)
            if actor is not None:
                return actor, None
            unconfirmed = unconfirmed or doubt
            fact = self._parent(fact)
        leader = self._facts.processes.get(process.leader) if process.leader is not None else None
        if leader is not None and leader.pid != process.pid and _not_after(leader, process):
            actor, _ = self._match(leader)
            if actor is not None:
                return actor, None
        return None, unconfirmed

    def _parent(self, child: ProcessFact) -> ProcessFact | None:
        parent = self._facts.processes.get(child.parent) if child.parent is not None else None
        # A parent that is younger has the reused pid of one that is gone.
        return parent if parent is not None and _not_after(parent, child) else None

    def _match(self, fact: ProcessFact) -> tuple[ActorFact | None, str | None]:
        doubt = None
        # Of several with one number the youngest is the likeliest.
        for number in (fact.pid, fact.inner_pid):
            if number is None:
                continue
            for actor in sorted(self._by_pid.get(number, ()), key=lambda one: -(one.created or 0.0)):
                confirmed = _confirmed(fact, actor, inner=number != fact.pid)
                if confirmed:
                    return actor, None
                if confirmed is None:
                    doubt = doubt or f"it may be {actor.claim.actor}, which has pid {number}; this is not confirmed"
        return None, doubt

    def _unseen(self, device: DeviceSample) -> ProcessSample | None:
        """Memory that no process in the list holds."""
        if device.memory_used is None or device.stale:
            return None
        memories = [process.memory for process in device.processes]
        rest = device.memory_used - sum(memory or 0 for memory in memories)
        if None in memories or rest <= UNSEEN:
            return None
        why = "of a process that is gone, or of clients of MPS"
        if not self._facts.complete:
            why = "of a process of another container, of one that is gone, or of clients of MPS"
        return ProcessSample(0, rest, kind="gone", note=f"no visible process uses this memory: it is {why}")


def _confirmed(fact: ProcessFact, actor: ActorFact, *, inner: bool) -> bool | None:
    """Whether a process with an actor's number is the actor; None if nothing tells."""
    titled = (fact.command or "").startswith("ray::") and not (fact.command or "").startswith("ray::IDLE")
    if fact.started is not None and actor.began is not None:
        return abs(fact.started - actor.began) <= ROUNDING
    if fact.started is not None and actor.created is not None:
        if fact.started > actor.created + CLOCKS:
            return False
        # Numbers within containers are small, and each container has the same ones.
        return True if titled or not inner else None
    return True if titled else None


def _not_after(elder: ProcessFact, younger: ProcessFact) -> bool:
    return elder.started is None or younger.started is None or elder.started <= younger.started + ROUNDING
