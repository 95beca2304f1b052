"""`Tasks`: who runs in a worker of Ray's that is no actor, where one holds memory of a GPU.

The head does not know of tasks; the raylets do. So only those are asked on whose nodes such a worker is, seldom, and
in a separate thread: a raylet may not answer. The name of a task is in the title of its process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from placetui.observe.attribution import ActorFact, NodeFacts, ProcessFact
from placetui.observe.model import Claim
from placetui.placement.environment import NAMESPACE
from placetui.runtime.gcs.client import workers_of
from placetui.runtime.gcs.model import RayGroup, RayNode, RayWorker
from placetui.runtime.watch.latest import Latest
from placetui.runtime.watch.view import ClusterView

PERIOD = 3.0
"""Seconds between two questions."""

MOST_NODES = 64
"""Raylets that are asked at one time; others have their turn with the next question."""

_TITLE = "ray::"
_IDLE = "IDLE"


class Tasks:
    """Knows the tasks on the GPUs of a cluster."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._workers: dict[str, Mapping[int, RayWorker]] = {}
        """By node id and pid, what its raylet said last."""

        self._wanted: tuple[RayNode, ...] = ()
        self._question: Latest[None] = Latest("raylets", self._ask, clock)
        self._due = 0.0
        self._candidates: dict[int, tuple[NodeFacts, tuple[ProcessFact, ...]]] = {}
        self._actors: tuple[ActorFact, ...] = ()
        """Of the last time; and with the tasks."""

        self._everybody: tuple[ActorFact, ...] = ()

    @property
    def awaited(self) -> bool:
        """Whether raylets are yet to answer."""
        return self._question.busy

    def with_actors(self, known: ClusterView, groups: Iterable[RayGroup], deadline: float) -> tuple[ActorFact, ...]:
        """The actors of a cluster, and the tasks on its GPUs; the same object as long as nothing changed. Raylets that
        are asked have `deadline` seconds.
        """
        found = self._find(known)
        if not found:
            return known.actors
        nodes = {place.rank: place.node for place in known.places}
        self._refresh([nodes[rank] for rank in found], deadline)
        by_id = {group.id: group for group in groups}
        tasks = [
            _task(fact, worker, rank, by_id.get(worker.group))
            for rank, facts in found.items()
            for fact in facts
            if (worker := self._worker(nodes[rank], fact)) is not None
        ]
        everybody = (*known.actors, *tasks)
        if everybody != self._everybody:
            self._everybody = everybody
        return self._everybody if tasks else known.actors

    def _find(self, known: ClusterView) -> dict[int, tuple[ProcessFact, ...]]:
        """By rank of the node, workers that are none of its actors."""
        before, self._candidates = self._candidates, {}
        if known.actors is not self._actors:
            self._actors, before = known.actors, {}
        pids: dict[int, set[int]] = {}
        for rank, facts in known.facts.items():
            last = before.get(rank)
            if last is None or last[0] is not facts:
                if not pids:
                    for actor in known.actors:
                        pids.setdefault(actor.node, set()).add(actor.claim.pid or 0)
                actors = pids.get(rank, set())
                last = (
                    facts,
                    tuple(
                        one
                        for one in facts.processes.values()
                        if (one.command or "").startswith(_TITLE) and not actors & {one.pid, one.inner_pid}
                    ),
                )
            self._candidates[rank] = last
        return {rank: workers for rank, (_, workers) in self._candidates.items() if workers}

    def _refresh(self, nodes: list[RayNode], deadline: float) -> None:
        now = self._clock()
        if not self._question.busy:
            if now < self._due:
                return
            self._due = now + PERIOD
            asked = {node.id for node in self._wanted}
            # Those that had no turn the last time come first.
            self._wanted = tuple(sorted(nodes, key=lambda node: node.id in asked)[:MOST_NODES])
        self._question.refresh(deadline)

    def _ask(self) -> None:
        answers = workers_of(self._wanted)
        # Replaced as a whole, because another thread reads it. Nodes that do not answer keep their last state.
        self._workers = {**self._workers, **{name: {one.pid: one for one in said} for name, said in answers.items()}}

    def _worker(self, node: RayNode, fact: ProcessFact) -> RayWorker | None:
        workers = self._workers.get(node.id, {})
        return workers.get(fact.pid) or (workers.get(fact.inner_pid) if fact.inner_pid is not None else None)


def _task(fact: ProcessFact, worker: RayWorker, node: int, group: RayGroup | None) -> ActorFact:
    name = (fact.command or "").removeprefix(_TITLE)
    claim = Claim(
        worker.id,
        "Ray worker without a task" if name == _IDLE else f"Ray task {name}",
        worker.pid,
        job=worker.job or None,
        group=group.name if group and group.namespace == NAMESPACE else None,
        placement_group=group.title if group else None,
        task=True,
    )
    return ActorFact(node, claim, worker.slots, bundles=worker.bundles, began=fact.started)
