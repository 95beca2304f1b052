"""Which jobs of a cluster are whose: every Ray job is offered to the frameworks, and one of them knows its ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from placetui.frameworks.cluster_facts import ActorSeen, ClusterFacts, JobPhase, RankSeen, RayJobSeen
from placetui.frameworks.registry import frameworks
from placetui.placement.plan import Plan

_WITH_DRIVER = ("", "OWNER_DIED", "REF_DELETED", "OUT_OF_SCOPE")
"""Why actors die when their driver ends without an error."""


@dataclass(frozen=True)
class RecognisedJob:
    """A running or ended job of a framework, and its ranks."""

    framework: str
    job: RayJobSeen
    ranks: tuple[RankSeen, ...]
    """By component and rank, one of each; of several actors the one that lives, else the one that came last."""

    services: tuple[RankSeen, ...]
    actors: Mapping[str, ActorSeen]
    """Rows of both, by id."""

    @property
    def name(self) -> str:
        """Its submission id, else the id of its Ray job."""
        return self.job.title

    @cached_property
    def world_sizes(self) -> Mapping[str, int]:
        """By component, in the order in which they were started."""
        found: dict[str, int] = {}
        for one in sorted(self.ranks, key=lambda one: (not self.actors[one.actor].started, one.component)):
            found[one.component] = max(found.get(one.component, 0), one.world_size or 0, one.rank + 1)
        return found

    @cached_property
    def by_rank(self) -> Mapping[tuple[str, int], RankSeen]:
        return {(one.component, one.rank): one for one in self.ranks}

    @cached_property
    def node_ranks(self) -> Mapping[int, str]:
        """Ids of its nodes by rank, as far as its actors say it."""
        seen = (*self.ranks, *self.services)
        found = {one.node_rank: self.actors[one.actor].node for one in seen if one.node_rank is not None}
        return {rank: node for rank, node in found.items() if node}

    def order_nodes(self, ids: Sequence[str]) -> Sequence[str]:
        """Nodes at the ranks that the job gives them; those that it says nothing of take the places that are left."""
        at = {rank: node for rank, node in self.node_ranks.items() if rank < len(ids) and node in ids}
        if len(set(at.values())) < len(at):
            return ids
        rest = iter([node for node in ids if node not in at.values()])
        return [at[rank] if rank in at else next(rest) for rank in range(len(ids))]

    @property
    def ended(self) -> bool:
        """Whether its driver has ended, or nothing of it lives."""
        return self.job.dead or all(actor.is_dead for actor in self.actors.values())

    @cached_property
    def lost_services(self) -> tuple[RankSeen, ...]:
        """Services that had a GPU and died: what they served cannot go on."""
        living = {one.note for one in self.services if not self.actors[one.actor].is_dead}
        rows = [(one, self.actors[one.actor]) for one in self.services]
        return tuple(one for one, row in rows if row.is_dead and row.share and one.note not in living)

    @property
    def phase(self) -> JobPhase:
        """Where it is in its life, as far as its actors tell."""
        rows = [self.actors[one.actor] for one in self.ranks if not one.released]
        if self.ended:
            # One that failed before it had ranks has lost its services.
            gone = rows if self.ranks else [self.actors[one.actor] for one in self.services]
            return "failed" if any(row.is_dead and row.cause not in _WITH_DRIVER for row in gone) else "ended"
        if self.lost_services or any(row.is_dead for row in rows):
            return "degraded"
        alive = sum(row.state == "ALIVE" for row in rows) + len(self.ranks) - len(rows)
        return "running" if alive and alive == sum(self.world_sizes.values()) else "starting"


NAMES_DEVICES = ("CUDA_VISIBLE_DEVICES", "VISIBLE_DEVICES")
"""Variables by which any program may say which GPUs it uses, the first that is set."""


def environment_read() -> frozenset[str]:
    """Variables of an actor's environment that say where it belongs: nothing else of it is ever kept."""
    return frozenset(NAMES_DEVICES).union(*(one.environment_read for one in frameworks()))


def recognise(facts: ClusterFacts, plans: Mapping[str, Plan] | None = None) -> tuple[RecognisedJob, ...]:
    """The jobs whose framework is known, by job id; `plans` are of the jobs' own configurations, where known."""
    found = (_recognise(facts, job, (plans or {}).get(job)) for job in sorted(facts.actors_by_job))
    return tuple(one for one in found if one is not None)


def _recognise(facts: ClusterFacts, job: str, plan: Plan | None) -> RecognisedJob | None:
    mine = replace(facts, actors=tuple(facts.actors_by_job[job]))
    rows = {actor.id: actor for actor in mine.actors}
    for framework in frameworks():
        seen = list(framework.identify(mine, plan))
        if not seen:
            continue
        ranks: dict[tuple[str, int], RankSeen] = {}
        for one in (_as_planned(one, plan) for one in seen):
            known = ranks.get((one.component, one.rank))
            if not one.service and (known is None or _later(rows[one.actor], rows[known.actor])):
                ranks[one.component, one.rank] = one
        services = tuple(one for one in seen if one.service)
        ids = {one.actor for one in (*ranks.values(), *services)}
        return RecognisedJob(
            framework.name,
            facts.job_by_id.get(job, RayJobSeen(job)),
            tuple(ranks[key] for key in sorted(ranks)),
            services,
            {one: rows[one] for one in ids},
        )
    return None


def _as_planned(one: RankSeen, plan: Plan | None) -> RankSeen:
    """The rank under its number in the plan, where the framework leaves some numbers out."""
    component = plan.components.get(one.component) if plan is not None and not one.service else None
    numbers = {part.number: rank for rank, part in enumerate(component.engines)} if component is not None else {}
    rank = numbers.get(one.rank, one.rank)
    return one if rank == one.rank else replace(one, rank=rank, note=f"its framework calls it rank {one.rank}")


def _later(one: ActorSeen, other: ActorSeen) -> bool:
    return (not one.is_dead, one.started) > (not other.is_dead, other.started)
