"""Who uses the GPUs that a job would get: Ray does not know processes that reserve nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from placetui import masking, observe, telemetry
from placetui.frameworks.cluster_facts import NODE_RANK, RankSeen
from placetui.frameworks.recognition import RecognisedJob, recognise
from placetui.observe.attribution import ActorFact, NodeFacts, attribute
from placetui.observe.model import NodeSample
from placetui.observe.rows import ProcessRow, rows_of
from placetui.placement.wording import GIB, listing
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import ship_by_value
from placetui.runtime.gcs.model import RayActor, RayNode, Tables
from placetui.runtime.launch.demand import Demand
from placetui.runtime.launch.feasibility import expected_slots
from placetui.runtime.launch.probe import ask_nodes
from placetui.runtime.policy import Deadline
from placetui.runtime.remote.rank_actor import RankActor
from placetui.runtime.remote.sampler import read_once
from placetui.runtime.watch.recognition import cluster_facts
from placetui.runtime.watch.samplers import GpuOrder, Reading
from placetui.runtime.watch.view import ShownNode, actor_facts, bare_node
from placetui.telemetry.node import NodeReader


@dataclass(frozen=True, slots=True)
class UsedGpu:
    """A GPU that the plan wants and somebody uses."""

    node_rank: int
    node: str
    """Address of that node."""

    gpu_id: str
    used_by: tuple[str, ...]

    def sentence(self) -> str:
        return f"GPU {self.gpu_id} of node {self.node_rank} ({self.node}) is used by {listing(self.used_by, 3)}"


class UseCheck:
    """Looks at the GPUs that a job would get, by NVML and by what running jobs claim through their environment."""

    def __init__(self, ray: Any, head: Head, demand: Demand, nodes: Sequence[RayNode], tables: Tables) -> None:
        self._ray = ray
        self._head = head
        self._nodes = {rank: node for rank, node in enumerate(nodes) if node.gpus}
        slots = expected_slots(demand, nodes, tables)
        self._wanted: dict[int, set[int]] = {}
        for bundle, slot in zip(demand.bundles, slots, strict=True):
            self._wanted.setdefault(bundle.node, set()).add(bundle.position if slot is None else slot)

    def run(self, deadline: Deadline) -> list[UsedGpu]:
        """Those that are used; what somebody has just left has a moment to become free."""
        end = time.monotonic() + self._head.policy.freed
        while True:
            found = list(self.look(deadline))
            if not found or time.monotonic() > end:
                return found
            deadline.check(lambda: "GPUs that are used")
            time.sleep(self._head.policy.poll)

    def look(self, deadline: Deadline) -> Iterator[UsedGpu]:
        nodes = {rank: node for rank, node in self._nodes.items() if rank in self._wanted}
        ship_by_value(masking, observe, telemetry)
        # NVML may hang or crash. A GPU that cannot be read is no reason to refuse.
        said = ask_nodes(
            self._ray,
            read_once,
            lambda node: (partial(NodeReader, node.gpus, NODE_RANK),),
            list(nodes.values()),
            deadline,
            "the use of the GPUs",
            tolerate=True,
        )
        actors = self._head.living_actors()
        tables = Tables(tuple(nodes.values()), actors, self._head.groups())
        jobs = recognise(cluster_facts(tables, self._head.jobs()))
        seen = {one.actor: (job, one) for job in jobs for one in (*job.ranks, *job.services)}
        for rank, node in nodes.items():
            yield from self._on_node(rank, node, said.get(node.id), actors, seen)

    def _on_node(
        self,
        rank: int,
        node: RayNode,
        body: Mapping[str, Any] | None,
        actors: Sequence[RayActor],
        seen: Mapping[str, tuple[RecognisedJob, RankSeen]],
    ) -> Iterator[UsedGpu]:
        reading = Reading.of(0, body, node.gpus) if body else None
        slots = reading.slots if reading else GpuOrder(node.gpus)
        bare = bare_node(ShownNode(rank, node), "")
        sample: NodeSample = reading.node if reading and reading.node.devices else bare
        ours = {actor.id for actor in actors if actor.class_name == RankActor.__name__}
        known = [
            _recognised(fact, *seen[fact.claim.actor_id], slots)
            if fact.claim.actor_id in seen
            # What a rank of ours uses is reserved; one without a GPU of its own merely sees those of its node.
            else replace(fact, claimed=())
            if fact.claim.actor_id in ours
            else fact
            for fact in actor_facts(actors, (), {node.id: sample.rank}, {node.id: slots})
        ]
        facts = reading.facts if reading else NodeFacts(complete=False)
        users: dict[int, list[str]] = {}
        for row in rows_of(attribute(sample, facts, known)):
            if row.device.index in self._wanted[rank]:
                users.setdefault(row.device.index, []).append(_words(row))
        for place, by in sorted(users.items()):
            yield UsedGpu(rank, node.ip, slots.physical(place), tuple(dict.fromkeys(by)))


def _recognised(fact: ActorFact, job: RecognisedJob, one: RankSeen, slots: GpuOrder) -> ActorFact:
    """With what its framework says: a rank uses the GPUs that it owns, a service none of those that it sees."""
    if one.service:
        return replace(fact, claimed=())
    claimed = slots.meant(",".join(map(str, one.devices)))
    claim = replace(fact.claim, component=one.component, rank=one.rank, job=job.name)
    return replace(fact, claimed=claimed, claim=claim)


def refuse_used(used: Sequence[UsedGpu]) -> NotPossible:
    """What to say about a launch on GPUs that others use."""
    more = f"; and {len(used) - 8} more" if len(used) > 8 else ""
    return NotPossible(
        f"planned GPUs are in use: {'; '.join(one.sentence() for one in used[:8])}{more}",
        hint="plan for other GPUs or stop what uses them; --on-used-gpus starts the job there anyway",
        used=list(map(asdict, used)),
    )


def _words(row: ProcessRow) -> str:
    """`RolloutGroup:3 of 01000000 (pid 17, 40 GiB)`."""
    of = f" of {row.job}" if row.job else ""
    held = f"{row.memory / GIB:.1f} GiB" if row.memory else ""
    details = [part for part in (f"pid {row.pid}" if row.pid else "", row.user or "", held) if part]
    return f"{row.who}{of}" + (f" ({', '.join(details)})" if details else "")
